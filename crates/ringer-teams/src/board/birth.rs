//! New tasks, and the numbers that they get.
//!
//! Owns that no number is given twice, neither by us nor by Claude Code. It gives the next one after the largest file
//! and after what `.highwatermark` says, which it writes when it deletes tasks. So do we; a new file is put there under
//! its lock.

use std::fs;
use std::io::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};

use super::rules::{self, TASKS_LIMIT};
use super::turn::LOCK;
use super::{Board, TaskError};
use crate::edit::{self, Change};
use crate::error::{Error, Result};
use crate::json::{NotWhole, pretty};
use crate::lock::DirLock;
use crate::read::open;
use crate::task::{PRIORITY, Task};
use crate::tasks::{number, whole_number};

/// Where the largest number is written down that a deleted task had.
const MARK: &str = ".highwatermark";

/// Prepared outside the lock this often before it is done under the lock.
const OUTSIDE: u32 = 5;

/// A task to be made.
#[derive(Debug, Clone, Default)]
pub struct NewTask {
    /// A line.
    pub subject: String,
    /// The whole of it.
    pub description: String,
    /// What its owner is doing, while it is being done.
    pub active_form: Option<String>,
    /// The member that is to do it.
    pub owner: Option<String>,
    /// 0 to 2.
    pub priority: Option<u64>,
    /// Further facts.
    pub metadata: Map<String, Value>,
    /// Tasks that wait for it.
    pub blocks: Vec<String>,
    /// Tasks that it waits for.
    pub blocked_by: Vec<String>,
}

impl NewTask {
    /// Whether it can be a task at all.
    pub(super) fn check(&self) -> std::result::Result<(), TaskError> {
        rules::check_subject(&self.subject)?;
        rules::check_description(&self.description)?;
        rules::check_active_form(self.active_form.as_deref())?;
        rules::check_metadata(&self.facts())
    }

    fn facts(&self) -> Map<String, Value> {
        let mut facts = self.metadata.clone();
        facts.retain(|_, value| !value.is_null());
        if let Some(priority) = self.priority {
            facts.insert(PRIORITY.to_owned(), priority.into());
        }
        facts
    }
}

/// A task as Claude Code writes it, in its order. It takes a task with `null` in it for none.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    id: String,
    subject: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    active_form: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a str>,
    status: &'a str,
    blocks: &'a [String],
    blocked_by: &'a [String],
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
}

/// Writes a new task under the next number.
pub(super) fn create(board: &Board<'_>, new: &NewTask) -> Result<Task> {
    for tries in 1.. {
        let lock = || DirLock::of(&board.dir().join(LOCK), DirLock::DEFAULT_WAIT);
        // Claude Code gives up on a lock after a while, and nothing is as slow as the disk: all is on it before the
        // lock is taken, unless others make tasks all the time.
        let early = if tries > OUTSIDE { Some(lock()?) } else { None };
        let (last, _) = highest(board)?;
        let id = (last + 1).to_string();
        let written = Written {
            id: id.clone(),
            subject: &new.subject,
            description: &new.description,
            active_form: new.active_form.as_deref(),
            owner: new.owner.as_deref(),
            status: "pending",
            blocks: &new.blocks,
            blocked_by: &new.blocked_by,
            metadata: new.facts(),
        };
        let text = pretty(&written, 0);
        let path = board.path(&id);
        let mut temp = edit::temp_beside(&path).map_err(Error::io("write beside", &path))?;
        let stored = temp.write_all(text.as_bytes()).and_then(|()| temp.as_file().sync_all());
        stored.map_err(Error::io("write beside", &path))?;
        let lock = match early {
            Some(lock) => lock,
            None => lock()?,
        };
        let (now, there) = highest(board)?;
        if now != last || !lock.is_ours() {
            continue;
        }
        if there >= TASKS_LIMIT {
            let team = board.team.name().to_owned();
            return Err(TaskError::Full { team, limit: TASKS_LIMIT }.into());
        }
        temp.persist_noclobber(&path).map_err(|e| Error::io("create", &path)(e.error))?;
        lock.release();
        edit::sync_parent(&path).map_err(|source| Error::Unsynced { path, source })?;
        return Ok(Task::parse(&text).expect("it was just made"));
    }
    unreachable!("one of so many tries is under the lock")
}

/// The largest number that was ever given, as far as is known, and how many tasks there are.
pub(super) fn highest(board: &Board<'_>) -> Result<(u64, usize)> {
    let dir = board.dir();
    let entries = fs::read_dir(dir).map_err(Error::io("list", dir))?;
    let files: Vec<u64> = entries.flatten().filter_map(|entry| number(&entry.path())).collect();
    let mark = match open(&dir.join(MARK))? {
        Some((_, text)) => whole_number(text.trim()).unwrap_or(0),
        None => 0,
    };
    Ok((files.iter().copied().max().unwrap_or(0).max(mark), files.len()))
}

/// Writes down that a number is not to be given again.
pub(super) fn raise_mark(board: &Board<'_>, number: u64) -> Result<()> {
    let path = board.dir().join(MARK);
    let raise = |text: &str| {
        if whole_number(text.trim()).is_some_and(|mark| mark >= number) {
            return Change::Keep(());
        }
        Change::Write { text: number.to_string(), sync: true, value: () }
    };
    let done = edit::edit(&path, Some("0"), |text| {
        // Claude Code writes it in place: for a moment it is empty.
        if text.is_empty() { Err(NotWhole::new("it is empty")) } else { Ok(raise(text)) }
    });
    match done {
        // One that stays empty says nothing; the largest file does.
        Err(Error::Unreadable { .. }) => edit::edit(&path, Some("0"), |text| Ok(raise(text))),
        other => other,
    }?;
    Ok(())
}
