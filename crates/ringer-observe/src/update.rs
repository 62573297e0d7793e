//! A change of a task.
//!
//! Owns what `TaskUpdate` can change, and how that goes. Both sides of a dependency agree afterwards, as on disk.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::call::text;
use crate::state::{Status, Task};

/// What is to be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Update {
    pub(crate) id: String,
    pub(crate) status: Option<Status>,
    /// An empty one is nobody.
    pub(crate) owner: Option<String>,
    subject: Option<String>,
    description: Option<String>,
    active_form: Option<String>,
    add_blocks: Vec<String>,
    add_blocked_by: Vec<String>,
}

impl Update {
    pub(crate) fn read(id: String, input: &Map<String, Value>) -> Self {
        let list = |key: &str| -> Vec<String> {
            let all = input.get(key).and_then(Value::as_array).into_iter().flatten();
            all.filter_map(|one| match one {
                Value::String(id) => Some(id.clone()),
                Value::Number(id) => Some(id.to_string()),
                _ => None,
            })
            .collect()
        };
        Self {
            id,
            status: text(input, "status").as_deref().and_then(Status::parse),
            owner: input.get("owner").and_then(Value::as_str).map(str::to_owned),
            subject: text(input, "subject"),
            description: text(input, "description"),
            active_form: text(input, "activeForm"),
            add_blocks: list("addBlocks"),
            add_blocked_by: list("addBlockedBy"),
        }
    }

    /// Changes the task, if there is one. What it was before, and what it is now: deleted, if it is not there any more.
    pub(crate) fn apply(&self, tasks: &mut Vec<Task>) -> Option<(Task, Task)> {
        let at = tasks.iter().position(|task| task.id == self.id)?;
        let before = tasks[at].clone();
        let mut task = before.clone();
        let set = |old: &mut String, new: &Option<String>| {
            if let Some(new) = new {
                old.clone_from(new);
            }
        };
        set(&mut task.subject, &self.subject);
        if self.description.is_some() {
            task.description.clone_from(&self.description);
        }
        if self.active_form.is_some() {
            task.active_form.clone_from(&self.active_form);
        }
        if let Some(owner) = &self.owner {
            task.owner = Some(owner.clone()).filter(|owner| !owner.is_empty());
        }
        task.status = self.status.unwrap_or(task.status);
        tasks[at] = task.clone();
        if task.status == Status::Deleted {
            tasks.remove(at);
            for other in tasks.iter_mut() {
                other.blocks.retain(|id| *id != self.id);
                other.blocked_by.retain(|id| *id != self.id);
            }
            return Some((before, task));
        }
        for blocker in &self.add_blocked_by {
            link(tasks, blocker, &self.id);
        }
        for blocked in &self.add_blocks {
            link(tasks, &self.id, blocked);
        }
        Some((before, tasks[at].clone()))
    }
}

/// One waits for the other, if both are there. Circles are Claude Code's business.
fn link(tasks: &mut [Task], first: &str, then: &str) {
    let is_there = |id: &str| tasks.iter().any(|task| task.id == id);
    if !is_there(first) || !is_there(then) {
        return;
    }
    for task in tasks.iter_mut() {
        if task.id == first && !task.blocks.iter().any(|id| id == then) {
            task.blocks.push(then.to_owned());
        }
        if task.id == then && !task.blocked_by.iter().any(|id| id == first) {
            task.blocked_by.push(first.to_owned());
        }
    }
}
