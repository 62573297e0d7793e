//! One task of the shared board, as Claude Code keeps it in `tasks/<team>/<n>.json`.
//!
//! Owns reading it. Writing tasks is the board's job.

use crate::json::{NotWhole, Object};

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
    /// `pending`, `in_progress`, `completed`, `deleted`.
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

    /// Whether it is done.
    pub fn is_completed(&self) -> bool {
        self.status == "completed"
    }

    /// Whether it does not count any more.
    pub fn is_deleted(&self) -> bool {
        self.status == "deleted"
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
            owner: object.string("owner"),
            blocks: object.strings("blocks"),
            blocked_by: object.strings("blockedBy"),
            metadata: object.get("metadata").map(str::to_owned),
            raw: text.to_owned(),
        })
    }
}
