//! What is said of tasks, to whom.

use std::time::SystemTime;

use ringer_teams::{Actor, Changed, Known, TEXT_LIMIT, Task, Team};

use super::lead_of;
use crate::error::Result;
use crate::post::{Letter, iso, post};
use crate::state::StateDir;

/// Behind the part of a description that fits into a message.
const CUT: &str = "… (get_task, or `ringer tasks get`, has the rest)";

/// A word to somebody.
#[derive(Debug)]
pub(crate) struct Word {
    from: String,
    pub(crate) to: String,
    text: String,
    summary: Option<String>,
}

impl Word {
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
}

/// A task was given to somebody.
pub(super) fn handed_over(task: &Task, to: &str, by: &str) -> Word {
    let timestamp = iso(SystemTime::now());
    let text = |description: String| {
        let assignment = Known::TaskAssignment {
            task_id: task.id.clone(),
            subject: task.subject.clone(),
            description,
            assigned_by: by.to_owned(),
            timestamp: timestamp.clone(),
        };
        assignment.to_text()
    };
    // A structured message that was cut would be none.
    let mut whole = text(task.description.clone());
    let mut keep = task.description.chars().count();
    while whole.chars().count() > TEXT_LIMIT {
        keep /= 2;
        let head: String = task.description.chars().take(keep).collect();
        whole = text(head + CUT);
    }
    Word { from: by.to_owned(), to: to.to_owned(), text: whole, summary: None }
}

/// A task was completed.
pub(super) fn completed(changed: &Changed, by: &str, lead: &str) -> Word {
    let task = &changed.task;
    let mut text = format!("Task {} is completed.", task.title());
    if let Some(result) = task.result_summary() {
        text = format!("{text}\nResult: {result}");
    }
    if task.facts().contains_key(ringer_teams::DELIVERABLE_PATH) {
        text = format!("{text}\nThe whole of it is in {}", task.deliverable_path());
    }
    if !changed.unblocked.is_empty() {
        let freed: Vec<String> = changed.unblocked.iter().map(whose).collect();
        text = format!("{text}\nIt was all that these waited for: {}", freed.join(", "));
    }
    let summary = Some(format!("task {} completed", task.id));
    Word { from: by.to_owned(), to: lead.to_owned(), text, summary }
}

fn whose(task: &Task) -> String {
    let owner = task.owner.as_deref().unwrap_or("nobody's yet");
    format!("#{} ({}; {owner})", task.id, task.subject)
}

/// A task waits for nothing any more.
pub(super) fn freed(task: &Task, owner: &str, by: &str) -> Word {
    let text = format!(
        "Task {} waits for nothing any more: you can begin.{}",
        task.title(),
        how_to_do(&task.id, &task.deliverable_path())
    );
    let summary = Some(format!("task {} can begin", task.id));
    Word { from: by.to_owned(), to: owner.to_owned(), text, summary }
}

/// How a worker takes a task and says what came of it, with a tool or a command.
pub(crate) fn how_to_do(id: &str, deliverable: &str) -> String {
    // It stands in a command line: what is no number is somebody's trick.
    if id.is_empty() || !id.bytes().all(|b| b.is_ascii_digit()) {
        return String::new();
    }
    format!(
        "\n\nBegin with the tool claim_task of the server ringer (task_id \"{id}\"), or run: ringer tasks claim {id}\n\
         When it is done, say what came of it with update_task_status (task_id \"{id}\", status \"completed\", \
         result_summary), or run: ringer tasks update {id} --status completed --result TEXT\n\
         What does not fit there belongs into the file {deliverable}"
    )
}

/// Gives back what a member has not completed, and tells the lead: first, so that a crash in between leads to a second
/// word and not to none. How many there were.
pub(crate) fn give_back(state: &StateDir, team: &Team, name: &str, why: &str) -> Result<usize> {
    let board = team.board();
    let unfinished = board.unfinished(name)?;
    if unfinished.is_empty() {
        return Ok(0);
    }
    let lead = lead_of(team);
    if lead != name {
        let titles: Vec<String> = unfinished.iter().map(Task::title).collect();
        let (what, are) = match titles.len() {
            1 => ("This task", "is"),
            _ => ("These tasks", "are"),
        };
        let text = format!(
            "{name} has gone ({why}) and did not complete what it had. {what} {are} pending again, without an owner: {}",
            titles.join(", ")
        );
        let summary = Some("tasks given back".to_owned());
        Word { from: name.to_owned(), to: lead.to_owned(), text, summary }.send(state, team)?;
    }
    let me = Actor::Member(name.to_owned());
    for task in &unfinished {
        // If the rules say no, it was completed, given to another or deleted meanwhile.
        match board.release(&task.id, &me) {
            Ok(_) | Err(ringer_teams::Error::Task(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(unfinished.len())
}
