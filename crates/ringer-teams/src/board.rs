//! The shared board: tasks that Claude Code and workers create, take and complete together.
//!
//! Owns every change to a team's tasks, and the rules for it. Claude Code keeps its own rules, which are fewer: it lets
//! tasks wait for each other in a circle, and anybody own as many as they like. So what is found on the board may be
//! against these rules; what is done here never makes it so.
//!
//! # Locks
//!
//! Claude Code locks one file at a time: `<n>.json.lock` to change a task, `.lock.lock` to make one. Rules such as
//! "one task at a time" need a view of all of them. So Ringers take turns, by an `flock` on the file `.lock` that Claude
//! Code keeps beside the tasks and locks by a directory alone, and inside a turn every file is changed under Claude
//! Code's own lock, by [`edit`](crate::edit()), looked at again in that very moment.
//!
//! # What a crash leaves
//!
//! | killed while … | what is on the board | mended by |
//! |---|---|---|
//! | one side of a dependency is written | it counts, from one side | the next change: writes the other side |
//! | a task was deleted, and others still name it | they wait for it | the next change: takes the name away |
//! | all else | before or after | |
//!
//! Who is to be told of a change is told after it, by whoever made it: killed in between, it has told nobody.

mod birth;
mod change;
mod error;
mod rules;
mod turn;
mod write;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub use self::birth::NewTask;
pub use self::change::TaskChange;
pub use self::error::TaskError;
pub use self::rules::{Actor, DESCRIPTION_LIMIT, SUBJECT_LIMIT, TASKS_LIMIT};

use self::change::Edits;
use self::rules::Rules;
use self::turn::Turn;
use crate::error::{Error, Result};
use crate::lock::DirLock;
use crate::task::{Task, TaskStatus};
use crate::tasks::{Tasks, whole_number};
use crate::team::Team;

/// What a change did.
#[derive(Debug, Clone)]
pub struct Changed {
    /// The task as it was.
    pub before: Task,
    /// The task as it is.
    pub task: Task,
    /// The tasks that waited for it, and now for nothing any more.
    pub unblocked: Vec<Task>,
}

/// The board of a team.
#[derive(Debug)]
pub struct Board<'a> {
    team: &'a Team,
    dir: PathBuf,
}

impl<'a> Board<'a> {
    pub(crate) fn of(team: &'a Team) -> Self {
        Self { team, dir: team.tasks_dir() }
    }

    /// Makes a task; who asked for it is to have seen to it that it may.
    pub fn create(&self, new: &NewTask) -> Result<Task> {
        let new = &NewTask {
            blocks: task_ids(&new.blocks),
            blocked_by: task_ids(&new.blocked_by),
            ..new.clone()
        };
        new.check()?;
        let turn = Turn::take(self)?;
        let rules = self.rules(&turn.tasks);
        if let Some(owner) = &new.owner {
            self.team.member(owner)?;
        }
        rules.exist(&new.blocked_by)?;
        rules.exist(&new.blocks)?;
        rules.check_new(new)?;
        let task = birth::create(self, new)?;
        for other in &new.blocked_by {
            self.relink(other, &Edits::blocks(&task.id))?;
        }
        for other in &new.blocks {
            self.relink(other, &Edits::blocked_by(&task.id))?;
        }
        Ok(task)
    }

    /// Changes a task.
    pub fn change(&self, id: &str, by: &Actor, change: &TaskChange) -> Result<Changed> {
        if change.status == Some(TaskStatus::Deleted) {
            return self.delete(id, by);
        }
        let change = &TaskChange {
            add_blocks: task_ids(&change.add_blocks),
            add_blocked_by: task_ids(&change.add_blocked_by),
            remove_blocked_by: task_ids(&change.remove_blocked_by),
            ..change.clone()
        };
        change.check()?;
        if let Some(owner) = &change.owner {
            self.team.member(owner)?;
        }
        let turn = Turn::take(self)?;
        let id = self.find(&turn.tasks, id)?;
        let rules = self.rules(&turn.tasks);
        rules.exist(&change.add_blocks)?;
        rules.exist(&change.add_blocked_by)?;
        rules.no_circle(&id, change)?;
        let mut changed = self.edit(&turn, &id, |task| rules.change(task, by, change))?;
        // What is not there says nothing, and what is no number is no file of ours.
        let there = |other: &&String| turn.tasks.get(other).is_some();
        for other in change.remove_blocked_by.iter().filter(there) {
            self.relink(other, &Edits::unlinks(&id))?;
        }
        for other in &change.add_blocked_by {
            self.relink(other, &Edits::blocks(&id))?;
        }
        for other in &change.add_blocks {
            self.relink(other, &Edits::blocked_by(&id))?;
        }
        // It may have been all that stood in its way.
        let was_blocked = !turn.tasks.waits().blockers(&id).is_empty();
        if was_blocked && !change.remove_blocked_by.is_empty() && changed.task.is_open() {
            let is_blocked = !self.team.tasks()?.waits().blockers(&id).is_empty();
            changed.unblocked.extend((!is_blocked).then(|| changed.task.clone()));
        }
        Ok(changed)
    }

    /// Gives a task to a member, who is at it from then on. Of several that want it at once, one gets it.
    pub fn claim(&self, id: &str, by: &Actor, who: &str) -> Result<Changed> {
        self.team.member(who)?;
        let turn = Turn::take(self)?;
        let id = self.find(&turn.tasks, id)?;
        let rules = self.rules(&turn.tasks);
        self.edit(&turn, &id, |task| rules.claim(task, by, who))
    }

    /// Takes a task from its owner: it is to be done again, by anybody.
    pub fn release(&self, id: &str, by: &Actor) -> Result<Changed> {
        let turn = Turn::take(self)?;
        let id = self.find(&turn.tasks, id)?;
        let rules = self.rules(&turn.tasks);
        self.edit(&turn, &id, |task| rules.release(task, by))
    }

    /// Takes a task off the board, and out of those that waited for it.
    pub fn delete(&self, id: &str, by: &Actor) -> Result<Changed> {
        let turn = Turn::take(self)?;
        let id = self.find(&turn.tasks, id)?;
        let task = turn.tasks.get(&id).expect("it was just found").clone();
        self.rules(&turn.tasks).delete(&task, by)?;
        // Its number is not given again: as long as its file is there, that says so, and from then on the mark.
        birth::raise_mark(self, whole_number(&id).unwrap_or(0))?;
        let path = self.path(&id);
        let lock = DirLock::of(&path, DirLock::DEFAULT_WAIT)?;
        match fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(Error::io("remove", path)(e)),
            _ => drop(lock),
        }
        for other in turn.tasks.found.iter().filter(|other| other.id != id) {
            if other.blocks.contains(&id) || other.blocked_by.contains(&id) {
                self.relink(&other.id, &Edits::unlinks(&id))?;
            }
        }
        let unblocked = turn.unblocked(self, &id)?;
        let before = task.clone();
        let task = Task { status: TaskStatus::Deleted.as_str().to_owned(), ..task };
        Ok(Changed { before, task, unblocked })
    }

    /// The task of that number.
    pub fn get(&self, id: &str) -> Result<Task> {
        let tasks = self.team.tasks()?;
        let id = self.find(&tasks, id)?;
        Ok(tasks.get(&id).expect("it was just found").clone())
    }

    /// What this member has and has not completed.
    pub fn unfinished(&self, who: &str) -> Result<Vec<Task>> {
        let mut tasks = self.team.tasks()?.found;
        tasks.retain(|task| task.is_open() && task.is_owned_by(who));
        Ok(tasks)
    }

    fn rules<'t>(&self, tasks: &'t Tasks) -> Rules<'t> {
        let lead = self.team.config.lead().map(|lead| lead.name.clone());
        Rules { tasks, team: self.team.name().to_owned(), lead }
    }

    /// The number of a task that is there, from what somebody has called it.
    fn find(&self, tasks: &Tasks, id: &str) -> Result<String> {
        let plain = task_id(id);
        if let Some(task) = tasks.get(plain).filter(|task| !task.is_deleted()) {
            return Ok(task.id.clone());
        }
        let path = self.path(plain);
        for (broken, error) in &tasks.broken {
            if *broken == path {
                let why = match error {
                    Error::Unreadable { why, .. } => why.clone(),
                    other => other.to_string(),
                };
                return Err(Error::Unreadable { path, why });
            }
        }
        Err(TaskError::NotFound { id: plain.to_owned(), team: self.team.name().to_owned() }.into())
    }

    fn path(&self, id: &str) -> PathBuf {
        self.dir.join(format!("{id}.json"))
    }

    /// Changes one task as the rules say, with what is in its file at that moment.
    fn edit(
        &self,
        turn: &Turn,
        id: &str,
        decide: impl Fn(&Task) -> std::result::Result<Edits, TaskError>,
    ) -> Result<Changed> {
        let (before, task) = self.gone(id, write::write(self, id, decide))??;
        let unblocked = if task.is_completed() && !before.is_completed() {
            turn.unblocked(self, id)?
        } else {
            Vec::new()
        };
        Ok(Changed { before, task, unblocked })
    }

    /// Changes what another task says of its dependencies. If that is gone, there is nothing to say.
    fn relink(&self, id: &str, edits: &Edits) -> Result<()> {
        match self.gone(id, write::write(self, id, |_| Ok(edits.clone()))) {
            Ok(_) | Err(Error::Task(TaskError::NotFound { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn gone<T>(&self, id: &str, done: Result<T>) -> Result<T> {
        done.map_err(|error| match error {
            Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
                TaskError::NotFound { id: id.to_owned(), team: self.team.name().to_owned() }.into()
            }
            other => other,
        })
    }

    fn dir(&self) -> &Path {
        &self.dir
    }
}

/// What a task is called, as people and Claude Code write it: with or without `#`.
fn task_id(text: &str) -> &str {
    text.trim().trim_start_matches('#')
}

/// Several of them, each once.
fn task_ids(texts: &[String]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::with_capacity(texts.len());
    for id in texts.iter().map(|text| task_id(text)) {
        if !ids.iter().any(|other| other == id) {
            ids.push(id.to_owned());
        }
    }
    ids
}
