//! Who may do what on the board, and when.
//!
//! Pure: tasks in, what is to be written or a refusal out.

use serde_json::{Map, Value};

use super::TaskError;
use super::birth::NewTask;
use super::change::{Edits, TaskChange};
use crate::task::{DELIVERABLE_PATH, PRIORITY, RESULT_SUMMARY, Task, TaskStatus, URGENT};
use crate::tasks::{Tasks, Waits};

/// The most characters of a subject.
pub const SUBJECT_LIMIT: usize = 200;
/// The most characters of a description, and of what came of a task.
pub const DESCRIPTION_LIMIT: usize = 5000;
/// The most tasks of a team.
pub const TASKS_LIMIT: usize = 1000;
/// The most bytes of everything else that is known of a task.
const METADATA_LIMIT: usize = 20_000;

type Decision<T> = Result<T, TaskError>;

/// Who does something on the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// Whoever leads the team, or its user.
    Lead,
    /// A member that does not.
    Member(String),
}

/// The rules, for the board as it is.
pub(super) struct Rules<'t> {
    pub(super) tasks: &'t Tasks,
    pub(super) team: String,
    /// What the lead is called, if it is on the team.
    pub(super) lead: Option<String>,
}

impl Rules<'_> {
    /// Whether all of these are there.
    pub(super) fn exist(&self, ids: &[String]) -> Decision<()> {
        match ids.iter().find(|id| self.tasks.get(id).is_none_or(Task::is_deleted)) {
            None => Ok(()),
            Some(id) => Err(TaskError::NotFound { id: id.clone(), team: self.team.clone() }),
        }
    }

    /// A new task may stand between others, but not between one and itself.
    pub(super) fn check_new(&self, new: &NewTask) -> Decision<()> {
        let waits = self.tasks.waits();
        for blocker in &new.blocked_by {
            for blocked in &new.blocks {
                if let Some(path) = waits.path(blocker, blocked) {
                    let new = "the new one".to_owned();
                    let path = std::iter::once(new.clone()).chain(path).chain([new]).collect();
                    return Err(TaskError::Circular { path });
                }
            }
        }
        Ok(())
    }

    /// Whether the new dependencies close no circle.
    pub(super) fn no_circle(&self, id: &str, change: &TaskChange) -> Decision<()> {
        let mut waits = self.tasks.waits();
        let on = change.add_blocked_by.iter().map(|blocker| (id, blocker.as_str()));
        let of = change.add_blocks.iter().map(|blocked| (blocked.as_str(), id));
        for (blocked, blocker) in on.chain(of) {
            if let Some(mut path) = waits.path(blocker, blocked) {
                path.insert(0, blocked.to_owned());
                return Err(TaskError::Circular { path });
            }
            waits.add(blocked, blocker);
        }
        Ok(())
    }

    pub(super) fn claim(&self, task: &Task, by: &Actor, who: &str) -> Decision<Edits> {
        if let Actor::Member(me) = by
            && me != who
        {
            return Err(denied("only the lead gives tasks to others"));
        }
        let mut edits = Edits::default();
        if task.is_active() && task.is_owned_by(who) {
            return Ok(edits);
        }
        if !task.is_open() {
            return Err(TaskError::status(&task.id, &task.status, TaskStatus::InProgress));
        }
        if task.is_active() || task.owner.as_ref().is_some_and(|owner| owner != who) {
            return Err(TaskError::Conflict { id: task.id.clone(), owner: task.owner.clone() });
        }
        self.can_start(task, Some(who), self.tasks.waits())?;
        edits.set("status", TaskStatus::InProgress.as_str());
        if !task.is_owned_by(who) {
            edits.set("owner", who);
        }
        Ok(edits)
    }

    pub(super) fn release(&self, task: &Task, by: &Actor) -> Decision<Edits> {
        if let Actor::Member(me) = by
            && !task.is_owned_by(me)
        {
            return Err(denied(&match &task.owner {
                Some(owner) => format!("task {} belongs to {owner}", task.id),
                None => format!("task {} is not yours", task.id),
            }));
        }
        if !task.is_open() {
            return Err(TaskError::status(&task.id, &task.status, TaskStatus::Pending));
        }
        let mut edits = Edits::default();
        if task.is_active() {
            edits.set("status", TaskStatus::Pending.as_str());
        }
        // Not only an owner of some name: an empty one goes, too.
        edits.fields.push(("owner", None));
        Ok(edits)
    }

    pub(super) fn delete(&self, task: &Task, by: &Actor) -> Decision<()> {
        match by {
            Actor::Lead => Ok(()),
            Actor::Member(_) => {
                Err(denied(&format!("only the lead deletes tasks, such as {}", task.id)))
            }
        }
    }

    pub(super) fn change(&self, task: &Task, by: &Actor, change: &TaskChange) -> Decision<Edits> {
        let starts = change.status == Some(TaskStatus::InProgress) && !task.is_active();
        let mut owner = change.owner.clone();
        if let Actor::Member(me) = by {
            if owner.as_ref().is_some_and(|owner| owner != me) {
                return Err(denied("only the lead gives tasks to others"));
            }
            match &task.owner {
                Some(other) if other != me && (starts || owner.is_some()) => {
                    let owner = Some(other.clone());
                    return Err(TaskError::Conflict { id: task.id.clone(), owner });
                }
                Some(other) if other != me => {
                    return Err(denied(&format!("task {} belongs to {other}", task.id)));
                }
                Some(_) => {}
                // Whoever begins has it.
                None if starts => owner = Some(me.clone()),
                None if owner.is_some() && !task.is_active() => {}
                None if owner.is_some() => {
                    return Err(TaskError::Conflict { id: task.id.clone(), owner: None });
                }
                None => {
                    return Err(denied(&format!("task {} is not yours: claim it first", task.id)));
                }
            }
        }
        if let Actor::Member(me) = by {
            self.blocks_nobody_else(me, change)?;
            if !change.remove_blocked_by.is_empty() {
                return Err(denied("only the lead takes away what a task waits for"));
            }
        }
        if starts && task.owner.is_none() && owner.is_none() {
            owner.clone_from(&self.lead);
            if owner.is_none() {
                let why = format!("task {} has no owner: give it one, or claim it", task.id);
                return Err(invalid(why));
            }
        }
        let mut edits = Edits::default();
        if let Some(wanted) = change.status
            && task.status != wanted.as_str()
        {
            let next = task.status.parse().map_or(&[][..], TaskStatus::next);
            if !next.contains(&wanted) {
                return Err(TaskError::status(&task.id, &task.status, wanted));
            }
            edits.set("status", wanted.as_str());
        }
        let who = owner.as_deref().or(task.owner.as_deref());
        let completes = change.status == Some(TaskStatus::Completed);
        if starts {
            let mut waits = self.tasks.waits();
            for blocker in &change.remove_blocked_by {
                waits.remove(&task.id, blocker);
            }
            for blocker in &change.add_blocked_by {
                waits.add(&task.id, blocker);
            }
            self.can_start(task, who, waits)?;
        } else if task.is_active() && !completes && owner.is_some() {
            self.is_free(task, who)?;
        }
        if let Some(owner) = owner.filter(|owner| !task.is_owned_by(owner)) {
            edits.set("owner", &owner);
        }
        let texts = [
            ("subject", &change.subject),
            ("description", &change.description),
            ("activeForm", &change.active_form),
        ];
        for (key, value) in texts {
            if let Some(value) = value {
                edits.set(key, value);
            }
        }
        edits.metadata.clone_from(&change.metadata);
        edits.blocks.clone_from(&change.add_blocks);
        edits.blocked_by.clone_from(&change.add_blocked_by);
        edits.unlinks.clone_from(&change.remove_blocked_by);
        Ok(edits)
    }

    /// Whether what is to wait is this member's, or nobody's yet.
    fn blocks_nobody_else(&self, me: &str, change: &TaskChange) -> Decision<()> {
        let owner = |id: &String| self.tasks.get(id)?.owner.clone();
        match change.add_blocks.iter().find_map(|id| Some((id, owner(id).filter(|o| o != me)?))) {
            None => Ok(()),
            Some((id, owner)) => Err(denied(&format!(
                "task {id} belongs to {owner}: only the lead makes others wait"
            ))),
        }
    }

    fn can_start(&self, task: &Task, who: Option<&str>, mut waits: Waits<'_>) -> Decision<()> {
        self.is_free(task, who)?;
        // Claude Code may have made it wait for another since all of the board was read.
        let known = self.tasks.get(&task.id).map_or(&[][..], |known| &known.blocked_by);
        for blocker in task.blocked_by.iter().filter(|id| !known.contains(id)) {
            waits.add(&task.id, blocker);
        }
        let by = waits.blockers(&task.id);
        if by.is_empty() { Ok(()) } else { Err(TaskError::Blocked { id: task.id.clone(), by }) }
    }

    /// Whether a member is at nothing else.
    fn is_free(&self, task: &Task, who: Option<&str>) -> Decision<()> {
        let Some(who) = who else { return Ok(()) };
        let is_other =
            |other: &&Task| other.id != task.id && other.is_active() && other.is_owned_by(who);
        match self.tasks.found.iter().find(is_other) {
            None => Ok(()),
            Some(other) => Err(TaskError::Busy {
                who: who.to_owned(),
                task: other.id.clone(),
                subject: other.subject.clone(),
            }),
        }
    }
}

fn denied(why: &str) -> TaskError {
    TaskError::Denied { why: why.to_owned() }
}

fn invalid(why: impl Into<String>) -> TaskError {
    TaskError::Invalid { why: why.into() }
}

fn fits(what: &'static str, text: &str, limit: usize) -> Decision<()> {
    let chars = text.chars().count();
    if chars > limit { Err(TaskError::TooLong { what, chars, limit }) } else { Ok(()) }
}

pub(super) fn check_subject(subject: &str) -> Decision<()> {
    if subject.trim().is_empty() {
        return Err(invalid("a task needs a subject"));
    }
    if subject.contains(char::is_control) {
        let why = "a subject is one line without control characters; the rest belongs into the description";
        return Err(invalid(why));
    }
    fits("subject", subject, SUBJECT_LIMIT)
}

pub(super) fn check_description(description: &str) -> Decision<()> {
    fits("description", description, DESCRIPTION_LIMIT)
}

pub(super) fn check_active_form(active_form: Option<&str>) -> Decision<()> {
    active_form.map_or(Ok(()), |text| fits("active form", text, SUBJECT_LIMIT))
}

pub(super) fn check_metadata(facts: &Map<String, Value>) -> Decision<()> {
    if facts.keys().any(String::is_empty) {
        return Err(invalid("what is known of a task needs a name"));
    }
    let size = serde_json::to_string(facts).map_or(usize::MAX, |text| text.len());
    if size > METADATA_LIMIT {
        return Err(TaskError::TooLong { what: "metadata", chars: size, limit: METADATA_LIMIT });
    }
    match facts.get(PRIORITY) {
        None | Some(Value::Null) => {}
        Some(value) if value.as_u64().is_some_and(|priority| priority <= URGENT) => {}
        Some(value) => return Err(invalid(format!("the priority {value} is none of 0, 1, 2"))),
    }
    for key in [RESULT_SUMMARY, DELIVERABLE_PATH] {
        match facts.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if key == RESULT_SUMMARY => {
                fits("result", text, DESCRIPTION_LIMIT)?;
            }
            Some(Value::String(path)) if is_below(path) => {}
            Some(value) if key == DELIVERABLE_PATH => {
                let why =
                    "it is to be a path below the directory that its owner works in, without `..`";
                return Err(invalid(format!("`{key}` cannot be {value}: {why}")));
            }
            Some(value) => {
                return Err(invalid(format!("`{key}` cannot be {value}: it is to be text")));
            }
        }
    }
    Ok(())
}

/// Whether what is known of a task has not grown beyond measure. What others wrote may be there and may shrink.
pub(super) fn check_growth(before: &Task, after: &Task) -> Decision<()> {
    let size = |task: &Task| task.metadata.as_ref().map_or(0, String::len);
    let (was, is) = (size(before), size(after));
    if is > METADATA_LIMIT && is > was {
        return Err(TaskError::TooLong { what: "metadata", chars: is, limit: METADATA_LIMIT });
    }
    Ok(())
}

/// Whether a path stays in the directory that it is looked for in.
fn is_below(path: &str) -> bool {
    use std::path::{Component, Path};
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.trim().is_empty() && Path::new(path).components().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_task_has_come_to_wait_for_since_the_board_was_read_counts() {
        let task = |id: u32, more: &str| {
            let text = format!(r#"{{"id": "{id}", "subject": "s", "status": "pending"{more}}}"#);
            Task::parse(&text).unwrap()
        };
        let tasks = Tasks { found: vec![task(1, ""), task(2, "")], ..Tasks::default() };
        let rules = Rules { tasks: &tasks, team: "exo".to_owned(), lead: None };
        let now = task(2, r#", "blockedBy": ["1"]"#);
        let me = Actor::Member("w".to_owned());
        let by = vec!["1".to_owned()];
        let refusal = Some(TaskError::Blocked { id: "2".to_owned(), by });
        assert_eq!(rules.claim(&now, &me, "w").err(), refusal);
        let start = TaskChange { status: Some(TaskStatus::InProgress), ..TaskChange::default() };
        assert_eq!(rules.change(&now, &me, &start).err(), refusal);
        assert!(rules.claim(&task(2, ""), &me, "w").is_ok());
    }
}
