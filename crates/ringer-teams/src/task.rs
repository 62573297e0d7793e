//! One task of the shared board, as Claude Code keeps it in `tasks/<team>/<n>.json`.
//!
//! Owns what a task says, and where in it fields of our own are: Claude Code drops what it does not know, but for what
//! is in `metadata`. Changing tasks is the board's job.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};

use crate::json::{NotWhole, Object};
use crate::slug::slug;

/// Where in `metadata` our own fields are.
pub const PRIORITY: &str = "priority";
/// What came of it.
pub const RESULT_SUMMARY: &str = "result_summary";
/// The file with the whole of what came of it.
pub const DELIVERABLE_PATH: &str = "deliverable_path";

/// The highest priority.
pub(crate) const URGENT: u64 = 2;

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskStatus {
    /// To be done.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
    /// Not to be done: such a task has no file any more.
    Deleted,
}

impl TaskStatus {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Pending, Self::InProgress, Self::Completed, Self::Deleted];

    /// As it stands in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Deleted => "deleted",
        }
    }

    /// What can come after it.
    pub fn next(self) -> &'static [Self] {
        match self {
            Self::Pending => &[Self::InProgress, Self::Deleted],
            Self::InProgress => &[Self::Completed, Self::Deleted],
            Self::Completed => &[Self::Deleted],
            Self::Deleted => &[],
        }
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TaskStatus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| format!("it is none of {}", Self::ALL.map(Self::as_str).join(", ")))
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its number, as text.
    pub id: String,
    /// A line.
    pub subject: String,
    /// The whole of it.
    pub description: String,
    /// What its owner is doing, while it is being done.
    pub active_form: Option<String>,
    /// `pending`, `in_progress`, `completed`; whatever else a later Claude Code may write.
    pub status: String,
    /// The member that has it.
    pub owner: Option<String>,
    /// The tasks that wait for this one.
    pub blocks: Vec<String>,
    /// The tasks that this one waits for.
    pub blocked_by: Vec<String>,
    /// The JSON object of further facts, as written.
    pub metadata: Option<String>,
    /// The task as it stands in the file.
    pub raw: String,
}

impl Task {
    /// Whether it still has to be done.
    pub fn is_open(&self) -> bool {
        matches!(self.status.as_str(), "pending" | "in_progress")
    }

    /// Whether somebody is at it.
    pub fn is_active(&self) -> bool {
        self.status == "in_progress"
    }

    /// Whether it is done.
    pub fn is_completed(&self) -> bool {
        self.status == "completed"
    }

    /// Whether it does not count any more.
    pub fn is_deleted(&self) -> bool {
        self.status == "deleted"
    }

    /// Whether this member has it.
    pub fn is_owned_by(&self, name: &str) -> bool {
        self.owner.as_deref() == Some(name)
    }

    /// Its number and its line, for people and models.
    pub fn title(&self) -> String {
        format!("#{} ({})", self.id, self.subject)
    }

    /// Further facts, by name.
    pub fn facts(&self) -> Map<String, Value> {
        let facts = self.metadata.as_deref().and_then(|text| serde_json::from_str(text).ok());
        facts.unwrap_or_default()
    }

    /// 0 is normal, 1 high, 2 urgent. Anything else that stands there is somebody else's.
    pub fn priority(&self) -> u64 {
        priority(&self.facts())
    }

    /// What came of it, if its owner said so.
    pub fn result_summary(&self) -> Option<String> {
        text(&self.facts(), RESULT_SUMMARY)
    }

    /// The file with the whole of what came of it: what is written down, else where it belongs.
    pub fn deliverable_path(&self) -> String {
        let written = text(&self.facts(), DELIVERABLE_PATH);
        written.unwrap_or_else(|| deliverable_path(&self.id, &self.subject))
    }

    /// All of it for programs; `blockers` are the tasks that it still waits for.
    pub fn describe(&self, blockers: &[String]) -> Value {
        let facts = self.facts();
        let deliverable = text(&facts, DELIVERABLE_PATH);
        let deliverable = deliverable.unwrap_or_else(|| deliverable_path(&self.id, &self.subject));
        json!({
            "id": self.id, "subject": self.subject, "description": self.description,
            "active_form": self.active_form, "status": self.status, "owner": self.owner,
            "blocks": self.blocks, "blocked_by": self.blocked_by,
            "blocked": !blockers.is_empty(), "waits_for": blockers,
            "priority": priority(&facts), "result_summary": text(&facts, RESULT_SUMMARY),
            "deliverable_path": deliverable, "metadata": facts,
        })
    }

    /// Reads the text of a task file.
    pub fn parse(text: &str) -> Result<Self, NotWhole> {
        let object = Object::parse(text)?;
        let need = |key: &str| {
            object.string(key).ok_or_else(|| NotWhole(format!("the task has no string `{key}`")))
        };
        Ok(Self {
            id: need("id")?,
            subject: need("subject")?,
            description: object.string("description").unwrap_or_default(),
            active_form: object.string("activeForm"),
            status: need("status")?,
            // Claude Code's own way to take an owner away is an empty name.
            owner: object.string("owner").filter(|owner| !owner.is_empty()),
            blocks: object.strings("blocks"),
            blocked_by: object.strings("blockedBy"),
            metadata: object.get("metadata").map(str::to_owned),
            raw: text.to_owned(),
        })
    }
}

fn priority(facts: &Map<String, Value>) -> u64 {
    let priority = facts.get(PRIORITY).and_then(Value::as_u64);
    priority.filter(|priority| *priority <= URGENT).unwrap_or(0)
}

fn text(facts: &Map<String, Value>, key: &str) -> Option<String> {
    Some(facts.get(key)?.as_str()?.to_owned())
}

/// Where the whole of what came of a task belongs, in the directory that its owner works in.
pub fn deliverable_path(id: &str, subject: &str) -> String {
    let name = if subject.contains(|c: char| c.is_ascii_alphanumeric()) {
        slug(subject)
    } else {
        "task".to_owned()
    };
    format!(".ringer/tasks/{id}-{name}.md")
}
