//! The board from where somebody sits: what they may do there, and who is told of it.
//!
//! Owns the telling. The rules are the board's own, in `ringer-teams`; who sits here comes from their surroundings,
//! never from what they say.

mod freed;
mod quota;
mod returning;
mod word;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ringer_teams::{
    Actor, Changed, DELIVERABLE_PATH, LEAD, NewTask, Task, TaskChange, TaskError, TaskStatus,
    Tasks, Team,
};
use serde_json::{Map, Value, json};

pub(crate) use self::freed::look as look_for_freed;
pub(crate) use self::returning::return_tasks;
use self::word::Word;
pub(crate) use self::word::how_to_do;
use crate::error::{Result, one_line};
use crate::speaker::Speaker;
use crate::state::StateDir;

/// Who says what nobody on the team says.
pub(crate) const RINGER: &str = "ringer";

/// Somebody at the board of a team.
#[derive(Debug, Clone)]
pub struct Desk {
    state: StateDir,
    team: Team,
    actor: Actor,
    /// What they are called on the team.
    name: String,
    /// Whether it is the team's user, who acts for the lead, and of whose doings the lead knows nothing.
    is_user: bool,
    /// Where they work.
    cwd: PathBuf,
    /// Whether those who do not lead may make tasks.
    anybody_creates: bool,
}

/// What was done, and who heard of it.
#[derive(Debug)]
pub struct Done {
    /// The task, and what became of it.
    pub changed: Changed,
    /// Who was sent a word.
    pub told: Vec<String>,
    /// Who could not be, and why.
    pub untold: Vec<(String, String)>,
}

impl Desk {
    /// Whoever leads the team.
    pub fn of_lead(state: &StateDir, team: Team, cwd: impl Into<PathBuf>) -> Self {
        let name = lead_of(&team).to_owned();
        let (state, cwd, actor) = (state.clone(), cwd.into(), Actor::Lead);
        Self { state, team, actor, name, is_user: false, cwd, anybody_creates: true }
    }

    /// The team's user, who may do what the lead may.
    pub fn of_user(state: &StateDir, team: Team, cwd: impl Into<PathBuf>) -> Self {
        Self { is_user: true, ..Self::of_lead(state, team, cwd) }
    }

    /// A worker. `anybody_creates` is whether it may make tasks.
    pub fn of_worker(speaker: &Speaker, cwd: impl Into<PathBuf>, anybody_creates: bool) -> Self {
        let (state, team) = (speaker.state.clone(), speaker.team.clone());
        let (name, cwd) = (speaker.name.clone(), cwd.into());
        let actor = if name == lead_of(&team) { Actor::Lead } else { Actor::Member(name.clone()) };
        Self { state, team, actor, name, is_user: false, cwd, anybody_creates }
    }

    /// The team.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// What they are called there.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Everything on the board.
    pub fn tasks(&self) -> Result<Tasks> {
        Ok(self.team.tasks()?)
    }

    /// Everything that is known of a task, for programs.
    pub fn describe(&self, task: &Task) -> Result<Value> {
        let tasks = self.team.tasks()?;
        Ok(task.describe(&tasks.waits().blockers(&task.id)))
    }

    /// What was done, for programs.
    pub fn outcome(&self, done: &Done) -> Result<Value> {
        let freed: Vec<&str> = done.changed.unblocked.iter().map(|task| &*task.id).collect();
        let untold = done.untold.iter().map(|(name, why)| json!({"name": name, "message": why}));
        let untold: Vec<Value> = untold.collect();
        Ok(json!({
            "success": true, "team": self.team.name(), "task": self.describe(&done.changed.task)?,
            "unblocked": freed, "told": done.told, "not_told": untold,
        }))
    }

    /// Makes a task, and tells whoever is to do it.
    pub fn create(&self, new: &NewTask) -> Result<Done> {
        if let Actor::Member(me) = &self.actor {
            if !self.anybody_creates {
                return denied("only the lead creates tasks (tasks.anybody_creates is off)");
            }
            if new.owner.as_ref().is_some_and(|owner| owner != me) {
                return denied("only the lead gives tasks to others");
            }
        }
        let task = quota::within(&self.state, &self.team, SystemTime::now(), || {
            Ok(self.team.board().create(new)?)
        })?;
        let mut done = Done::of(Changed { before: task.clone(), task, unblocked: Vec::new() });
        if let Some(owner) = new.owner.as_deref() {
            self.assigned(&mut done, owner);
        }
        Ok(done)
    }

    /// Gives a task to a member, or takes it.
    pub fn claim(&self, id: &str, who: Option<&str>) -> Result<Done> {
        let who = who.unwrap_or(&self.name);
        let changed = self.team.board().claim(id, &self.actor, who)?;
        // Who had it before has been told already.
        let is_new = !changed.before.is_owned_by(who);
        let mut done = Done::of(changed);
        if is_new {
            self.assigned(&mut done, who);
        }
        Ok(done)
    }

    /// Changes a task.
    pub fn change(&self, id: &str, mut change: TaskChange) -> Result<Done> {
        self.note_deliverable(id, &mut change)?;
        let mut done = Done::of(self.team.board().change(id, &self.actor, &change)?);
        let (before, task) = (done.changed.before.clone(), done.changed.task.clone());
        // Also to one who has it already: whoever asks for that may know that the first word got lost.
        let given = change.owner.is_some() || task.owner != before.owner;
        if let Some(owner) = task.owner.as_deref().filter(|_| given && task.is_open()) {
            self.assigned(&mut done, owner);
        }
        self.lost(&mut done);
        if task.is_completed() && !before.is_completed() {
            self.completed(&mut done);
        }
        self.freed(&mut done);
        Ok(done)
    }

    /// Takes a task from its owner; only if that is `who`, if somebody is named.
    pub fn release(&self, id: &str, who: Option<&str>) -> Result<Done> {
        let actor = match (&self.actor, who) {
            (Actor::Lead, Some(who)) => Actor::Member(who.to_owned()),
            (Actor::Member(me), Some(who)) if me != who => {
                return denied("only the lead gives back what others have");
            }
            (actor, _) => actor.clone(),
        };
        let mut done = Done::of(self.team.board().release(id, &actor)?);
        self.lost(&mut done);
        Ok(done)
    }

    /// Takes a task off the board.
    pub fn delete(&self, id: &str) -> Result<Done> {
        let mut done = Done::of(self.team.board().delete(id, &self.actor)?);
        self.lost(&mut done);
        self.freed(&mut done);
        Ok(done)
    }

    /// A file is noted with a task that is completed as seen from where its owner works: the one that was named, or
    /// the one that lies where it belongs.
    fn note_deliverable(&self, id: &str, change: &mut TaskChange) -> Result<()> {
        let facts: &mut Map<String, Value> = &mut change.metadata;
        if let Some(Value::String(path)) = facts.get_mut(DELIVERABLE_PATH) {
            if let Ok(below) = Path::new(&*path).strip_prefix(&self.cwd) {
                *path = below.display().to_string();
            }
        } else if change.status == Some(TaskStatus::Completed) {
            let task = self.team.board().get(id)?;
            let path = task.deliverable_path();
            if !task.facts().contains_key(DELIVERABLE_PATH) && self.cwd.join(&path).is_file() {
                facts.insert(DELIVERABLE_PATH.to_owned(), path.into());
            }
        }
        Ok(())
    }

    /// Tells whoever has been given a task, as Claude Code does.
    fn assigned(&self, done: &mut Done, owner: &str) {
        let task = done.changed.task.clone();
        self.tell(done, owner, |from| Word::handed_over(&task, owner, from));
    }

    /// Tells whoever had a task and has it no more, or need not do it any more.
    fn lost(&self, done: &mut Done) {
        let (before, task) = (done.changed.before.clone(), done.changed.task.clone());
        let Some(owner) = before.owner.as_deref().filter(|_| before.is_open()) else { return };
        if task.is_open() && task.is_owned_by(owner) {
            return;
        }
        self.tell(done, owner, |from| Word::lost(&before, &task, owner, from));
    }

    /// Tells the lead, who would not see it: Claude Code may clear away its list when all of it is completed.
    fn completed(&self, done: &mut Done) {
        if let Actor::Member(me) = &self.actor {
            let word = Word::completed(&done.changed, me, lead_of(&self.team), &self.cwd);
            done.tell(&self.state, &self.team, &word);
        }
    }

    /// Tells whose tasks can begin now.
    fn freed(&self, done: &mut Done) {
        let (unblocked, by) = (done.changed.unblocked.clone(), done.changed.task.clone());
        let noted = freed::note(&self.state, &self.team, &unblocked, |task, owner| {
            let since = Some(&by).filter(|by| by.id != task.id);
            self.tell(done, owner, |from| Word::freed(task, since, owner, from))
        });
        match noted {
            // A daemon was faster.
            Ok(told) => done.told.extend(told),
            // The task is changed, whoever knows of it.
            Err(error) => done.untold.push(("everybody".to_owned(), one_line(&error))),
        }
    }

    /// Sends somebody a word, unless it is who sits here; whether they know.
    fn tell(&self, done: &mut Done, to: &str, word: impl FnOnce(&str) -> Word) -> bool {
        if to != self.name {
            return done.tell(&self.state, &self.team, &word(&self.name));
        }
        !self.is_user || done.tell(&self.state, &self.team, &word(RINGER))
    }
}

impl Done {
    fn of(changed: Changed) -> Self {
        Self { changed, told: Vec::new(), untold: Vec::new() }
    }

    fn tell(&mut self, state: &StateDir, team: &Team, word: &Word) -> bool {
        let sent = word.send(state, team);
        match &sent {
            Ok(()) => self.told.push(word.to.clone()),
            Err(error) => self.untold.push((word.to.clone(), one_line(error))),
        }
        sent.is_ok()
    }
}

fn denied<T>(why: &str) -> Result<T> {
    Err(ringer_teams::Error::from(TaskError::Denied { why: why.to_owned() }).into())
}

/// What the lead is called.
pub(crate) fn lead_of(team: &Team) -> &str {
    team.config.lead().map_or(LEAD, |lead| &lead.name)
}
