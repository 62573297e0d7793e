//! Looking at tasks.

use clap::Args;
use ringer_teams::{DELIVERABLE_PATH, PRIORITY, RESULT_SUMMARY, Task, Tasks, Team, Waits};
use serde_json::{Value, json};

use super::change::status;
use super::warn_of_broken;
use super::watch::watch;
use crate::cli::TeamArg;
use crate::context::Context;
use crate::failure::{Failure, one_line};
use crate::output::{BOLD, DIM, cell, clean, count};

/// List the tasks: how far each is, who has it, what it still waits for
///
/// With --json: one object with `tasks`. There, `waits_for` are the tasks that still block one, `blocked_by` all that
/// it was made to wait for.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub(super) struct List {
    /// Only those that are `pending`, `in_progress` or `completed`
    #[arg(long)]
    status: Option<String>,
    /// Only those of this member
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// Go on, and show them anew whenever something changes; with --json one object a line
    #[arg(long, short)]
    watch: bool,
}

impl List {
    pub(super) fn run(self, context: &Context, team: &TeamArg) -> Result<(), Failure> {
        let wanted = self.status.as_deref().map(status).transpose()?;
        let is_wanted = |task: &Task| {
            !task.is_deleted()
                && wanted.is_none_or(|wanted| task.status == wanted.as_str())
                && self.owner.as_ref().is_none_or(|owner| task.is_owned_by(owner))
        };
        let team = context.team(team)?;
        if !self.watch {
            let tasks = team.tasks()?;
            warn_of_broken(context, &tasks);
            return show(context, &team, &tasks, &is_wanted);
        }
        watch(context, &team, &is_wanted)
    }
}

pub(in crate::verbs) const HEADINGS: [&str; 6] =
    ["ID", "STATUS", "PRIORITY", "OWNER", "BLOCKED BY", "SUBJECT"];

pub(in crate::verbs) fn row(task: &Task, waits: &Waits<'_>) -> [String; 6] {
    let blockers = waits.blockers(&task.id);
    let blockers: Vec<String> = blockers.iter().map(|id| format!("#{}", cell(id))).collect();
    [
        task.id.clone(),
        cell(&task.status),
        priority(task).to_owned(),
        task.owner.as_deref().map_or_else(|| "-".to_owned(), cell),
        if blockers.is_empty() { "-".to_owned() } else { blockers.join(" ") },
        cell(&task.subject),
    ]
}

pub(in crate::verbs) fn style(task: &Task) -> &'static str {
    match task.status.as_str() {
        "in_progress" => BOLD,
        "completed" => DIM,
        _ => "",
    }
}

pub(super) fn show(
    context: &Context,
    team: &Team,
    tasks: &Tasks,
    is_wanted: &dyn Fn(&Task) -> bool,
) -> Result<(), Failure> {
    let waits = tasks.waits();
    let chosen: Vec<&Task> = tasks.found.iter().filter(|task| is_wanted(task)).collect();
    if context.out.json {
        let describe = |task: &&Task| task.describe(&waits.blockers(&task.id));
        let chosen: Vec<Value> = chosen.iter().map(describe).collect();
        let broken = tasks.broken.iter();
        let broken: Vec<Value> = broken
            .map(|(path, e)| json!({"path": path, "error": e.code(), "message": one_line(e)}))
            .collect();
        let all = json!({"success": true, "team": team.name(), "tasks": chosen, "broken": broken});
        return Ok(context.out.data(&all)?);
    }
    if chosen.is_empty() {
        let which = if tasks.total() == 0 { "no tasks" } else { "no such tasks" };
        context.out.note(&format!("{which} on {}", team.name()));
        return Ok(());
    }
    let rows: Vec<_> = chosen.iter().map(|task| row(task, &waits)).collect();
    let styles: Vec<_> = chosen.iter().map(|task| style(task)).collect();
    context.out.table_in(HEADINGS, &rows, &styles)?;
    context.out.detail(&format!("{} of {}", count(chosen.len(), "task"), tasks.total()));
    Ok(())
}

fn priority(task: &Task) -> &'static str {
    match task.priority() {
        0 => "-",
        1 => "high",
        _ => "urgent",
    }
}

/// Show all that is known of a task
#[derive(Debug, Args)]
pub(super) struct Get {
    /// Its number
    id: String,
}

impl Get {
    pub(super) fn run(self, context: &Context, team: &TeamArg) -> Result<(), Failure> {
        let team = context.team(team)?;
        let task = team.board().get(&self.id)?;
        if context.out.json {
            let task = task.describe(&team.tasks()?.waits().blockers(&task.id));
            return Ok(context
                .out
                .data(&json!({"success": true, "team": team.name(), "task": task}))?);
        }
        let tasks = team.tasks()?;
        let others = |ids: &[String]| {
            let name = |id: &String| match tasks.get(id) {
                Some(task) => format!("{} [{}]", task.title(), task.status),
                None => format!("#{id}"),
            };
            ids.iter().map(name).collect::<Vec<_>>().join(", ")
        };
        let mut facts = task.facts();
        let written = facts.get(DELIVERABLE_PATH).and_then(Value::as_str);
        let deliverable = written.unwrap_or_default().to_owned();
        facts
            .retain(|key, _| ![PRIORITY, RESULT_SUMMARY, DELIVERABLE_PATH].contains(&key.as_str()));
        let lines = [
            ("status", task.status.clone()),
            ("owner", task.owner.clone().unwrap_or_default()),
            ("doing", task.active_form.clone().unwrap_or_default()),
            ("priority", priority(&task).trim_matches('-').to_owned()),
            ("waits for", others(&tasks.waits().blockers(&task.id))),
            ("blocks", others(&task.blocks)),
            ("result", task.result_summary().unwrap_or_default()),
            ("in full", deliverable),
            ("metadata", if facts.is_empty() { String::new() } else { json!(facts).to_string() }),
        ];
        context.out.styled(BOLD, &format!("#{} {}", task.id, clean(&task.subject)))?;
        for (name, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
            context
                .out
                .line(&format!("{name:<10} {}", clean(value).replace('\n', "\n           ")))?;
        }
        if !task.description.is_empty() {
            context.out.line(&format!("\n{}", task.description))?;
        }
        Ok(())
    }
}
