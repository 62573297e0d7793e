//! Tasks that wait for nothing any more: whoever has one is told, once.
//!
//! Owns `waiting.json`: the tasks that were seen to wait, and those whose owners were told that they need not any more.
//! A task can be freed by a Ringer, which tells its owner itself, or by Claude Code, which tells nobody; then the daemon
//! does it, if the owner is a worker of ours. Both come here, one at a time.

use std::collections::BTreeMap;

use ringer_teams::{ClaudeDir, Task, Tasks, Team};
use serde::{Deserialize, Serialize};

use super::lead_of;
use super::word::Word;
use crate::error::Result;
use crate::roster::Roster;
use crate::state::StateDir;

const FILE: &str = "waiting.json";

/// What is known of a task that waits, or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Known {
    /// It waits.
    Waits,
    /// It had waited for these when its owner was told that it can begin. If it is made to wait for more, that is news.
    Told(Vec<String>),
}

/// What is known of a team's tasks, by their number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Board {
    /// Of two teams of one name, this tells them apart.
    created_at: Option<i64>,
    tasks: BTreeMap<String, Known>,
}

/// All teams, each by the name of its directory.
type Boards = BTreeMap<String, Board>;

/// Notes that these tasks were freed just now, and lets `tell` say so to each one's owner, unless somebody has. It
/// answers whether the owner knows. Who was told by somebody else.
pub(super) fn note(
    state: &StateDir,
    team: &Team,
    tasks: &[Task],
    mut tell: impl FnMut(&Task, &str) -> bool,
) -> Result<Vec<String>> {
    let mut told_already = Vec::new();
    if tasks.iter().all(|task| task.owner.is_none()) {
        return Ok(told_already);
    }
    state.edit(FILE, |boards: &mut Boards| {
        let known = board_of(boards, team);
        for task in tasks {
            let Some(owner) = task.owner.as_deref() else { continue };
            let told = Known::Told(task.blocked_by.clone());
            if known.get(&task.id) == Some(&told) {
                told_already.push(owner.to_owned());
            } else {
                let is_told = tell(task, owner);
                known.insert(task.id.clone(), if is_told { told } else { Known::Waits });
            }
        }
        Ok(())
    })?;
    Ok(told_already)
}

/// Looks at a board that somebody has changed: which tasks of workers of ours wait, and which do not any more. Their
/// owners are told.
pub(crate) fn look(claude: &ClaudeDir, state: &StateDir, team: &Team) -> Result<()> {
    let roster = Roster::load(state)?;
    let boards: Boards = state.read(FILE)?;
    if !boards.contains_key(team.dir_name()) && !is_of_interest(&team.tasks()?, team, &roster) {
        return Ok(());
    }
    let mut untold = None;
    state.edit(FILE, |boards: &mut Boards| {
        boards.retain(|name, _| claude.teams_dir().join(name).join("config.json").exists());
        let known = board_of(boards, team);
        // Read now: whoever had the file may have told of what was changed before.
        let tasks = team.tasks()?;
        let waits = tasks.waits();
        known.retain(|id, _| tasks.get(id).is_some_and(Task::is_open));
        for task in tasks.open() {
            let Some(owner) = task.owner.as_deref() else { continue };
            if roster.find(team.dir(), owner).is_none() {
                continue;
            }
            if !waits.blockers(&task.id).is_empty() {
                known.insert(task.id.clone(), Known::Waits);
            } else if known.get(&task.id) == Some(&Known::Waits) {
                // Who is at it already has found out.
                let word = Word::freed(task, None, owner, lead_of(team));
                if !task.is_active()
                    && let Err(error) = word.send(state, team)
                {
                    untold = Some(error);
                    continue;
                }
                known.insert(task.id.clone(), Known::Told(task.blocked_by.clone()));
            }
        }
        boards.retain(|_, board| !board.tasks.is_empty());
        Ok(())
    })?;
    untold.map_or(Ok(()), Err)
}

fn board_of<'b>(boards: &'b mut Boards, team: &Team) -> &'b mut BTreeMap<String, Known> {
    let created_at = team.config.created_at;
    let board = boards.entry(team.dir_name().to_owned()).or_default();
    if board.created_at != created_at {
        *board = Board { created_at, ..Board::default() };
    }
    &mut board.tasks
}

fn is_of_interest(tasks: &Tasks, team: &Team, roster: &Roster) -> bool {
    let waits = tasks.waits();
    let is_ours = |task: &Task| {
        let owner = task.owner.as_deref();
        owner.is_some_and(|owner| roster.find(team.dir(), owner).is_some())
    };
    tasks.open().any(|task| is_ours(task) && !waits.blockers(&task.id).is_empty())
}
