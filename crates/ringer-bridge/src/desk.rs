//! The board from where somebody sits: what they may do there, and who is told of it.
//!
//! Owns the telling. The rules are the board's own, in `ringer-teams`; who sits here comes from their surroundings,
//! never from what they say.

mod freed;
mod quota;
mod word;

use std::path::PathBuf;
use std::time::SystemTime;

use ringer_teams::{
    Actor, Changed, DELIVERABLE_PATH, LEAD, NewTask, Task, TaskChange, TaskError, TaskStatus,
    Tasks, Team,
};
use serde_json::{Map, Value, json};

pub(crate) use self::freed::look as look_for_freed;
use self::word::{Word, completed, freed, handed_over};
pub(crate) use self::word::{give_back, how_to_do};
use crate::error::{Result, one_line};
use crate::speaker::Speaker;
use crate::state::StateDir;

/// Somebody at the board of a team.
#[derive(Debug, Clone)]
pub struct Desk {
    state: StateDir,
    team: Team,
    actor: Actor,
    /// What they are called on the team.
    name: String,
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
    /// Whoever leads the team, or its user.
    pub fn of_lead(state: &StateDir, team: Team, cwd: impl Into<PathBuf>) -> Self {
        let name = lead_of(&team).to_owned();
        let (state, cwd) = (state.clone(), cwd.into());
        Self { state, team, actor: Actor::Lead, name, cwd, anybody_creates: true }
    }

    /// A worker. `anybody_creates` is whether it may make tasks.
    pub fn of_worker(speaker: &Speaker, cwd: impl Into<PathBuf>, anybody_creates: bool) -> Self {
        let (state, team, name) =
            (speaker.state.clone(), speaker.team.clone(), speaker.name.clone());
        let actor = if name == lead_of(&team) { Actor::Lead } else { Actor::Member(name.clone()) };
        Self { state, team, actor, name, cwd: cwd.into(), anybody_creates }
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
        if let (Actor::Member(_), false) = (&self.actor, self.anybody_creates) {
            let why = "only the lead creates tasks (tasks.anybody_creates is off)".to_owned();
            return Err(ringer_teams::Error::from(TaskError::Denied { why }).into());
        }
        if let Actor::Member(me) = &self.actor
            && new.owner.as_ref().is_some_and(|owner| owner != me)
        {
            let why = "only the lead gives tasks to others".to_owned();
            return Err(ringer_teams::Error::from(TaskError::Denied { why }).into());
        }
        quota::admit(&self.state, &self.team, SystemTime::now())?;
        let task = self.team.board().create(new)?;
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
        let is_new = changed.before.status != changed.task.status;
        let mut done = Done::of(changed);
        if is_new {
            self.assigned(&mut done, who);
        }
        Ok(done)
    }

    /// Changes a task.
    pub fn change(&self, id: &str, mut change: TaskChange) -> Result<Done> {
        if change.status == Some(TaskStatus::Completed) {
            self.find_deliverable(id, &mut change.metadata)?;
        }
        let changed = self.team.board().change(id, &self.actor, &change)?;
        let mut done = Done::of(changed);
        let (before, task) = (&done.changed.before, &done.changed.task);
        let completes = task.is_completed() && !before.is_completed();
        if let Some(owner) = task.owner.clone().filter(|owner| !before.is_owned_by(owner)) {
            self.assigned(&mut done, &owner);
        }
        if completes {
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
                let why = "only the lead gives back what others have".to_owned();
                return Err(ringer_teams::Error::from(TaskError::Denied { why }).into());
            }
            (actor, _) => actor.clone(),
        };
        Ok(Done::of(self.team.board().release(id, &actor)?))
    }

    /// Takes a task off the board.
    pub fn delete(&self, id: &str) -> Result<Done> {
        let mut done = Done::of(self.team.board().delete(id, &self.actor)?);
        self.freed(&mut done);
        Ok(done)
    }

    /// What its owner wrote where the whole of the result belongs is noted with the task.
    fn find_deliverable(&self, id: &str, facts: &mut Map<String, Value>) -> Result<()> {
        if facts.contains_key(DELIVERABLE_PATH) {
            return Ok(());
        }
        let tasks = self.team.tasks()?;
        let path = tasks.get(id.trim().trim_start_matches('#')).map(Task::deliverable_path);
        if let Some(path) = path.filter(|path| self.cwd.join(path).is_file()) {
            facts.insert(DELIVERABLE_PATH.to_owned(), path.into());
        }
        Ok(())
    }

    /// Tells whoever has been given a task, as Claude Code does.
    fn assigned(&self, done: &mut Done, owner: &str) {
        if owner != self.name {
            let word = handed_over(&done.changed.task, owner, &self.name);
            done.tell(&self.state, &self.team, &word);
        }
    }

    /// Tells the lead, who would not see it: Claude Code clears away its list when all of it is completed.
    fn completed(&self, done: &mut Done) {
        if let Actor::Member(me) = &self.actor {
            let word = completed(&done.changed, me, lead_of(&self.team));
            done.tell(&self.state, &self.team, &word);
        }
    }

    /// Tells whose tasks can be begun now.
    fn freed(&self, done: &mut Done) {
        let freed_now = done.changed.unblocked.clone();
        let others = |task: &&Task| task.owner.as_ref().is_some_and(|owner| *owner != self.name);
        let theirs: Vec<&Task> = freed_now.iter().filter(others).collect();
        let noted = freed::tell(&self.state, &self.team, &theirs, |task| {
            let owner = task.owner.as_deref().unwrap_or_default();
            done.tell(&self.state, &self.team, &freed(task, owner, &self.name))
        });
        // The task is changed, whoever knows of it.
        if let Err(error) = noted {
            done.untold.push(("everybody".to_owned(), one_line(&error)));
        }
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

/// What the lead is called.
pub(crate) fn lead_of(team: &Team) -> &str {
    team.config.lead().map_or(LEAD, |lead| &lead.name)
}
