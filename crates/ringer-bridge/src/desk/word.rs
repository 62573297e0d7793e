//! What is said of tasks.
//!
//! Owns the wording. Who hears it is decided elsewhere.

use std::path::Path;
use std::time::SystemTime;

use ringer_teams::{Changed, DELIVERABLE_PATH, Known, TEXT_LIMIT, Task, Team};

use crate::error::Result;
use crate::post::{Letter, iso, post};
use crate::state::StateDir;

/// Behind the part of a description that fits into a message.
const CUT: &str = "… (get_task, or `ringer tasks get`, has the rest)";

/// So many characters of a subject; Claude Code knows no limit.
const LONGEST_SUBJECT: usize = 500;

/// A word to somebody.
#[derive(Debug)]
pub(crate) struct Word {
    from: String,
    pub(crate) to: String,
    text: String,
    summary: Option<String>,
}

impl Word {
    fn new(from: &str, to: &str, text: String, summary: String) -> Self {
        Self { from: from.to_owned(), to: to.to_owned(), text, summary: Some(summary) }
    }

    pub(crate) fn send(&self, state: &StateDir, team: &Team) -> Result<()> {
        // The lead of a team of our own may not be there yet, and who has ended is not there any more.
        let force = true;
        let summary = self.summary.as_deref();
        let letter = Letter { from: &self.from, to: &self.to, text: &self.text, summary, force };
        for one in post(state, team, &letter, SystemTime::now())?.posted {
            one.outcome?;
        }
        Ok(())
    }

    /// A task was given to somebody, in Claude Code's own form.
    pub(super) fn handed_over(task: &Task, to: &str, by: &str) -> Self {
        let timestamp = iso(SystemTime::now());
        let subject: String = task.subject.chars().take(LONGEST_SUBJECT).collect();
        let text = |description: String| {
            let assignment = Known::TaskAssignment {
                task_id: task.id.clone(),
                subject: subject.clone(),
                description,
                assigned_by: by.to_owned(),
                timestamp: timestamp.clone(),
            };
            assignment.to_text()
        };
        // A structured message that was cut would be none.
        let mut whole = text(task.description.clone());
        let mut keep = task.description.chars().count();
        while whole.chars().count() > TEXT_LIMIT && keep > 0 {
            keep /= 2;
            let head: String = task.description.chars().take(keep).collect();
            whole = text(head + CUT);
        }
        Self { from: by.to_owned(), to: to.to_owned(), text: whole, summary: None }
    }

    /// A task was completed by a worker, who works in that directory.
    pub(super) fn completed(changed: &Changed, by: &str, lead: &str, cwd: &Path) -> Self {
        let task = &changed.task;
        let mut text = format!("Task {} is completed.", task.title());
        if let Some(result) = task.result_summary() {
            text = format!("{text}\nResult: {result}");
        }
        if task.facts().contains_key(DELIVERABLE_PATH) {
            let (path, cwd) = (task.deliverable_path(), cwd.display());
            text = format!("{text}\nThe whole of it is in {path} (below {cwd})");
        }
        if !changed.unblocked.is_empty() {
            let freed: Vec<String> = changed.unblocked.iter().map(whose).collect();
            text = format!("{text}\nIt was all that these waited for: {}", freed.join(", "));
        }
        Self::new(by, lead, text, format!("task {} completed", task.id))
    }

    /// A task waits for nothing any more, `since` another one is done, if that is known.
    pub(super) fn freed(task: &Task, since: Option<&Task>, owner: &str, by: &str) -> Self {
        let mut text = format!("Task {} waits for nothing any more: you can begin.", task.title());
        if let Some(since) = since {
            text = format!("{text}\n{} is {}.", since.title(), since.status);
            if let Some(result) = since.result_summary() {
                text = format!("{text} Result: {result}");
            }
        }
        text.push_str(&how_to_do(&task.id, &task.deliverable_path()));
        Self::new(by, owner, text, format!("task {} can begin", task.id))
    }

    /// A task is not this member's to do any more.
    pub(super) fn lost(before: &Task, after: &Task, owner: &str, by: &str) -> Self {
        let what = match (&after.owner, after.status.as_str()) {
            (_, status @ ("deleted" | "completed")) => format!("it is {status}"),
            (Some(other), _) => format!("it is {other}'s now"),
            (None, _) => "it was given back".to_owned(),
        };
        let text = format!(
            "Task {} is not yours to do any more: {what}. Leave it, unless it is yours again since.",
            before.title()
        );
        Self::new(by, owner, text, format!("task {} is not yours", before.id))
    }

    /// Somebody is gone, and what it had is anybody's.
    pub(super) fn given_back(tasks: &[Task], name: &str, lead: &str, why: &str) -> Self {
        let titles: Vec<String> = tasks.iter().map(Task::title).collect();
        let what = if titles.len() == 1 { "This task is" } else { "These tasks are" };
        let text = format!(
            "{name} has gone ({why}) and did not complete what it had. {what} pending again, without an owner: {}",
            titles.join(", ")
        );
        Self::new(name, lead, text, "tasks given back".to_owned())
    }
}

fn whose(task: &Task) -> String {
    let owner = task.owner.as_deref().unwrap_or("nobody's yet");
    format!("#{} ({}; {owner})", task.id, task.subject)
}

/// How a worker takes a task and says what came of it, with a tool or a command.
pub(crate) fn how_to_do(id: &str, deliverable: &str) -> String {
    // It stands in a command line: what is no number is somebody's trick.
    if id.is_empty() || !id.bytes().all(|b| b.is_ascii_digit()) {
        return String::new();
    }
    format!(
        "\n\nBegin with the tool claim_task of the server ringer (task_id \"{id}\"), or run: ringer tasks claim {id}\n\
         If it is blocked, wait: you are told when it can begin.\n\
         When it is done, say what came of it with update_task_status (task_id \"{id}\", status \"completed\", \
         result_summary), or run: ringer tasks update {id} --status completed --result TEXT\n\
         What does not fit there belongs into the file {deliverable}"
    )
}
