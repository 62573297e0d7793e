//! Tasks that wait for nothing any more: whoever has one is told, once.
//!
//! Owns `waiting.json`: of each team the tasks that were seen to wait, and those whose owners were told that they
//! need not any more. A task can be freed by a Ringer, which tells its owner itself, or by Claude Code, which tells
//! nobody; then the daemon does it. Both come here, one at a time.

use std::collections::BTreeMap;

use ringer_teams::{Task, Tasks, Team};

use super::lead_of;
use super::word::freed;
use crate::error::Result;
use crate::roster::Roster;
use crate::state::StateDir;

const FILE: &str = "waiting.json";

/// Of each team, by its directory, the tasks by their number: what each had waited for when its owner was told, or
/// nothing if that is still to be done.
type Waiting = BTreeMap<String, BTreeMap<String, Option<Vec<String>>>>;

/// Tells of these tasks, which were freed just now, by `tell`, which says whether it could; not of one that somebody
/// else has told of already.
pub(super) fn tell(
    state: &StateDir,
    team: &Team,
    tasks: &[&Task],
    mut tell: impl FnMut(&Task) -> bool,
) -> Result<()> {
    if tasks.is_empty() {
        return Ok(());
    }
    state.edit(FILE, |waiting: &mut Waiting| {
        let told = waiting.entry(key(team)).or_default();
        for task in tasks {
            let waited_for = Some(task.blocked_by.clone());
            if told.get(&task.id) != Some(&waited_for) {
                let is_told = tell(task);
                told.insert(task.id.clone(), waited_for.filter(|_| is_told));
            }
        }
        Ok(())
    })
}

/// Looks at a board that somebody has changed: which tasks of workers of ours wait, and which do not any more. Their
/// owners are told.
pub(crate) fn look(state: &StateDir, team: &Team) -> Result<()> {
    let roster = Roster::load(state)?;
    let tasks = team.tasks()?;
    let seen: Waiting = state.read(FILE)?;
    if !seen.contains_key(&key(team)) && !is_of_interest(&tasks, team, &roster) {
        return Ok(());
    }
    let mut untold = None;
    state.edit(FILE, |waiting: &mut Waiting| {
        // Read again: whoever had the file may have told of what has changed since.
        let tasks = team.tasks()?;
        let waits = tasks.waits();
        let known = waiting.entry(key(team)).or_default();
        known.retain(|id, _| tasks.get(id).is_some_and(Task::is_open));
        for task in tasks.open() {
            let Some(owner) = task.owner.as_deref() else { continue };
            if roster.find(team.dir(), owner).is_none() {
                continue;
            }
            if !waits.blockers(&task.id).is_empty() {
                known.insert(task.id.clone(), None);
            } else if known.get(&task.id) == Some(&None) {
                // Who is at it already has found out.
                if !task.is_active() {
                    let word = freed(task, owner, &whose_doing(task, &tasks, team));
                    if let Err(error) = word.send(state, team) {
                        untold = Some(error);
                        continue;
                    }
                }
                known.insert(task.id.clone(), Some(task.blocked_by.clone()));
            }
        }
        if known.is_empty() {
            waiting.remove(&key(team));
        }
        Ok(())
    })?;
    untold.map_or(Ok(()), Err)
}

fn is_of_interest(tasks: &Tasks, team: &Team, roster: &Roster) -> bool {
    let waits = tasks.waits();
    let is_ours = |task: &Task| {
        let owner = task.owner.as_deref();
        owner.is_some_and(|owner| roster.find(team.dir(), owner).is_some())
    };
    tasks.open().any(|task| is_ours(task) && !waits.blockers(&task.id).is_empty())
}

/// Whose work it waited for last, as far as that can be told; else the lead's.
fn whose_doing(task: &Task, tasks: &Tasks, team: &Team) -> String {
    let mut done = task.blocked_by.iter().rev().filter_map(|id| tasks.get(id)?.owner.as_deref());
    let owner = done.find(|owner| team.config.member(owner).is_some() && !task.is_owned_by(owner));
    owner.unwrap_or(lead_of(team)).to_owned()
}

fn key(team: &Team) -> String {
    team.dir().display().to_string()
}
