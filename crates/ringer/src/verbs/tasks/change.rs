//! Creating, changing, taking and deleting tasks.

use clap::Args;
use ringer_teams::{DELIVERABLE_PATH, NewTask, PRIORITY, RESULT_SUMMARY, TaskChange, TaskStatus};
use serde_json::json;

use super::{answer, facts};
use crate::cli::TeamArg;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::cell;
use crate::verbs::send::message_text;

/// Put a task on the board
///
/// Workers may do this only if `tasks.anybody_creates` is set in config.toml.
#[derive(Debug, Args)]
pub(super) struct Create {
    /// A line that says what is to be done, at most 200 characters
    #[arg(long, short)]
    subject: String,
    /// The whole of it, at most 5,000 characters; `-` reads standard input
    #[arg(long, short, default_value = "", allow_hyphen_values = true)]
    description: String,
    /// What is being done, while it is: "Fixing the parser"
    #[arg(long, value_name = "TEXT")]
    active_form: Option<String>,
    /// Who is to do it; gets a message
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// 0 normal, 1 high, 2 urgent
    #[arg(long, value_name = "0-2", allow_negative_numbers = true, value_parser = priority)]
    priority: Option<u64>,
    /// A task that has to be completed first; may be given several times
    #[arg(long, value_name = "ID")]
    blocked_by: Vec<String>,
    /// A task that has to wait for this one
    #[arg(long, value_name = "ID")]
    blocks: Vec<String>,
    /// A further fact; the value is JSON, or else text
    #[arg(long, value_name = "KEY=VALUE")]
    meta: Vec<String>,
}

impl Create {
    pub(super) fn run(self, context: &Context, team: &TeamArg) -> Result<(), Failure> {
        let desk = context.desk(team)?;
        let done = desk.create(&NewTask {
            subject: self.subject,
            description: message_text(self.description)?,
            active_form: self.active_form,
            owner: self.owner,
            priority: self.priority,
            metadata: facts(&self.meta)?,
            blocks: self.blocks,
            blocked_by: self.blocked_by,
        })?;
        let task = &done.changed.task;
        let people =
            format!("created task {} on {}: {}", task.id, desk.team().name(), cell(&task.subject));
        answer(context, &desk, &done, &people)
    }
}

/// Change a task: how far it is, who has it, what it says, what it waits for
///
/// A status goes from `pending` to `in_progress` to `completed`; `deleted` can follow on each. To give a task back, use
/// `ringer tasks release`. A worker can change what it owns.
#[derive(Debug, Args)]
pub(super) struct Update {
    /// The task's number
    id: String,
    /// `in_progress`, `completed` or `deleted`
    #[arg(long)]
    status: Option<String>,
    /// What came of it, at most 5,000 characters; `-` reads standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    result: Option<String>,
    /// The file with the whole of what came of it [default: .ringer/tasks/ID-SUBJECT.md, if it is there]
    #[arg(long, value_name = "PATH")]
    deliverable: Option<String>,
    /// Who is to do it; gets a message
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// A line that says what is to be done
    #[arg(long, short)]
    subject: Option<String>,
    /// The whole of it; `-` reads standard input
    #[arg(long, short, allow_hyphen_values = true)]
    description: Option<String>,
    /// What is being done, while it is
    #[arg(long, value_name = "TEXT")]
    active_form: Option<String>,
    /// 0 normal, 1 high, 2 urgent
    #[arg(long, value_name = "0-2", allow_negative_numbers = true, value_parser = priority)]
    priority: Option<u64>,
    /// A task that has to be completed first; may be given several times
    #[arg(long, value_name = "ID")]
    add_blocked_by: Vec<String>,
    /// A task that need not be completed first any more
    #[arg(long, value_name = "ID")]
    remove_blocked_by: Vec<String>,
    /// A task that has to wait for this one
    #[arg(long, value_name = "ID")]
    add_blocks: Vec<String>,
    /// A further fact; the value is JSON, or else text, and null takes it away
    #[arg(long, value_name = "KEY=VALUE")]
    meta: Vec<String>,
}

impl Update {
    pub(super) fn run(self, context: &Context, team: &TeamArg) -> Result<(), Failure> {
        let desk = context.desk(team)?;
        let from_stdin = [&self.result, &self.description].map(|text| text.as_deref() == Some("-"));
        if from_stdin == [true, true] {
            return Err(Failure::usage("standard input can be read only once"));
        }
        let mut metadata = facts(&self.meta)?;
        if let Some(result) = self.result {
            metadata.insert(RESULT_SUMMARY.to_owned(), message_text(result)?.into());
        }
        if let Some(path) = self.deliverable {
            metadata.insert(DELIVERABLE_PATH.to_owned(), path.into());
        }
        if let Some(priority) = self.priority {
            metadata.insert(PRIORITY.to_owned(), priority.into());
        }
        let change = TaskChange {
            status: self.status.as_deref().map(status).transpose()?,
            owner: self.owner,
            subject: self.subject,
            description: self.description.map(message_text).transpose()?,
            active_form: self.active_form,
            metadata,
            add_blocks: self.add_blocks,
            add_blocked_by: self.add_blocked_by,
            remove_blocked_by: self.remove_blocked_by,
        };
        if change == TaskChange::default() {
            return Err(Failure::usage(
                "there is nothing to change: say what, as in `--status completed`",
            ));
        }
        let is_deleted = change.status == Some(TaskStatus::Deleted);
        let done = desk.change(&self.id, change)?;
        let task = &done.changed.task;
        let people = if is_deleted {
            format!("deleted task {}", task.id)
        } else {
            let owner = task.owner.as_deref().map(|owner| format!(", {owner}'s"));
            format!("task {} is {}{}", task.id, task.status, owner.unwrap_or_default())
        };
        answer(context, &desk, &done, &people)
    }
}

/// Take a task, or give it to a member: its status is `in_progress` then
///
/// Of several that claim a task at once, one gets it; the others are told `conflict`. One that waits for others is
/// `blocked`, and who is at another task is `busy`.
#[derive(Debug, Args)]
pub(super) struct Claim {
    /// The task's number
    id: String,
    /// Who is to have it [default: $RINGER_MEMBER, else team-lead]
    #[arg(long = "as", value_name = "NAME")]
    who: Option<String>,
}

impl Claim {
    pub(super) fn run(self, context: &Context, team: &TeamArg) -> Result<(), Failure> {
        let desk = context.desk(team)?;
        let done = desk.claim(&self.id, self.who.as_deref())?;
        let task = &done.changed.task;
        let owner = task.owner.as_deref().unwrap_or_default();
        let people = format!("task {} is {owner}'s now: {}", task.id, cell(&task.subject));
        answer(context, &desk, &done, &people)
    }
}

/// Give a task back: it is `pending` again, without an owner
#[derive(Debug, Args)]
pub(super) struct Release {
    /// The task's number
    id: String,
    /// Only if it is this member's
    #[arg(long = "as", value_name = "NAME")]
    who: Option<String>,
}

impl Release {
    pub(super) fn run(self, context: &Context, team: &TeamArg) -> Result<(), Failure> {
        let desk = context.desk(team)?;
        let done = desk.release(&self.id, self.who.as_deref())?;
        let people = format!("task {} is pending again, without an owner", done.changed.task.id);
        answer(context, &desk, &done, &people)
    }
}

/// Take a task off the board; those that wait for it do not any more
#[derive(Debug, Args)]
pub(super) struct Delete {
    /// The task's number
    id: String,
}

impl Delete {
    pub(super) fn run(self, context: &Context, team: &TeamArg) -> Result<(), Failure> {
        let desk = context.desk(team)?;
        let done = desk.delete(&self.id)?;
        let people = format!("deleted task {}", done.changed.task.id);
        answer(context, &desk, &done, &people)
    }
}

/// A priority from outside.
fn priority(text: &str) -> Result<u64, String> {
    match text {
        "0" | "normal" => Ok(0),
        "1" | "high" => Ok(1),
        "2" | "urgent" => Ok(2),
        _ => Err("it is none of 0 (normal), 1 (high), 2 (urgent)".to_owned()),
    }
}

/// A status from outside.
pub(super) fn status(text: &str) -> Result<TaskStatus, Failure> {
    text.parse::<TaskStatus>().map_err(|why| {
        let allowed = TaskStatus::ALL.map(TaskStatus::as_str);
        Failure::new("invalid_status", format!("status `{text}`: {why}"))
            .detail("allowed", json!(allowed))
    })
}
