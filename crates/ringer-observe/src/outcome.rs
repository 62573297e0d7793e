//! What came of a call.
//!
//! Owns finding it: in what Claude Code keeps for itself (`tool_use_result`), or, where that is missing, in what the
//! model was told.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::call::{plain, text};
use crate::line::{Block, words};

/// What a tool answered.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    is_error: bool,
    fields: Map<String, Value>,
    words: String,
}

/// What the model is told when a teammate was spawned begins like this.
const SPAWNED: &str = "Spawned successfully";

impl Outcome {
    /// `kept` is what Claude Code keeps for itself; it belongs to a line, so it has to be that line's only answer.
    pub(crate) fn read(block: &Block<'_>, kept: Option<&RawValue>) -> Self {
        let is_error = block.is_error.unwrap_or(false);
        let words = words(block.content);
        let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
        let fields = kept.and_then(|kept| object(kept.get())).or_else(|| object(&words));
        let mut fields = fields.unwrap_or_default();
        if fields.is_empty() && words.starts_with(SPAWNED) {
            fields = spawned(&words);
        }
        Self { is_error, fields, words }
    }

    /// Whether it did not do what it was asked to.
    pub(crate) fn failed(&self) -> bool {
        self.is_error || self.fields.get("success") == Some(&Value::Bool(false))
    }

    pub(crate) fn is_error(&self) -> bool {
        self.is_error
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        text(&self.fields, key)
    }

    /// What it says of itself.
    pub(crate) fn message(&self) -> Option<String> {
        self.text("message").or_else(|| self.text("error"))
    }

    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        let all = self.fields.get(key).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(|one| one.as_str().map(str::to_owned)).collect()
    }

    /// The number of a task that was created.
    pub(crate) fn task_id(&self) -> Option<String> {
        let task = self.fields.get("task").and_then(Value::as_object);
        let said = || {
            let (number, _) = self.words.strip_prefix("Task #")?.split_once(' ')?;
            Some(number.to_owned())
        };
        task.and_then(|task| text(task, "id"))
            .or_else(|| self.text("taskId"))
            .or_else(|| self.text("id"))
            .or_else(said)
    }

    /// Whether it says that there is a new teammate.
    pub(crate) fn is_teammate(&self) -> bool {
        self.text("status").as_deref() == Some("teammate_spawned")
    }

    /// The many ways to say who it is about.
    pub(crate) fn agent_id(&self) -> Option<String> {
        ["teammate_id", "agent_id", "agentId", "name"].iter().find_map(|key| self.text(key))
    }

    /// Where a message went; only what went to an inbox has it.
    pub(crate) fn routing(&self) -> Option<Routing> {
        let routing = self.fields.get("routing")?.as_object()?;
        Some(Routing {
            sender: text(routing, "sender").map(|id| plain(&id)),
            target: text(routing, "target").map(|id| plain(&id)),
        })
    }
}

/// From whom to whom.
#[derive(Debug)]
pub(crate) struct Routing {
    pub(crate) sender: Option<String>,
    pub(crate) target: Option<String>,
}

/// `key: value`, one a line.
fn spawned(words: &str) -> Map<String, Value> {
    let lines = words.lines().filter_map(|line| line.split_once(": "));
    let mut fields: Map<String, Value> =
        lines.map(|(key, value)| (key.to_owned(), value.into())).collect();
    fields.insert("status".to_owned(), "teammate_spawned".into());
    fields
}
