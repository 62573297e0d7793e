//! Workers go where their lead is: when a lead starts, ends or comes back, each worker's rule says which team it is
//! on now.
//!
//! Owns the move. Who is moved is struck off the old team first and put on the new one by a visit, like everybody
//! who is on the roster and not in `config.json`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use ringer_teams::{ClaudeDir, Liveness, Team};
use tracing::info;

use super::shared::Shared;
use crate::depart::{MOVED, give_back, give_back_tasks, take_off, team_of};
use crate::error::Result;
use crate::journal::{Journal, MemberId};
use crate::roster::{Follows, Roster, RosterEntry};
use crate::settings::Settings;
use crate::state::StateDir;

/// Before a lead that has yet to come to its prompt is looked at again.
const SOON: Duration = Duration::from_millis(30);

/// A lead that has not said in so long that it is at its prompt is taken to be one that never says it.
const STARTING: Duration = Duration::from_secs(3);

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Followed {
    /// The teams that are to be visited, since somebody has moved there.
    pub(crate) visits: Vec<PathBuf>,
    /// When to look again, if somebody is to move who could not yet.
    pub(crate) again: Option<Duration>,
}

/// Moves whoever is not where its rule says.
pub(crate) fn follow(claude: &ClaudeDir, shared: &Shared) -> Result<Followed> {
    let roster = Roster::load(&shared.state)?;
    let moves = |entry: &&RosterEntry| !entry.follows.is_team() && entry.belongs_on_team();
    let following: Vec<&RosterEntry> = roster.members.iter().filter(moves).collect();
    let mut followed = Followed::default();
    if following.is_empty() {
        return Ok(followed);
    }
    let (teams, settings) = (claude.teams()?.found, shared.settings());
    for entry in following {
        let current = entry.id().team_dir;
        let chosen = entry.follows.choose(&teams, &roster, &current, settings.place.two_leads);
        let Some(team) = chosen.filter(|team| team.dir() != current) else { continue };
        // A lead may make a team on its way to another one: who joins that keeps the lead there.
        if team.lead_is_starting() && is_new(team) {
            followed.again = Some(SOON);
            continue;
        }
        let there =
            relocate(claude, &shared.state, &shared.journal, &settings, &entry.id(), team, None)?;
        if let Some(there) = there {
            info!(member = %entry.id(), team = team.name(), "follows its lead");
            followed.visits.push(there.id().team_dir);
        }
    }
    Ok(followed)
}

fn is_new(team: &Team) -> bool {
    let created = team.config.created_at.and_then(|at| Timestamp::from_millisecond(at).ok());
    let age = created.and_then(|at| SystemTime::now().duration_since(at.into()).ok());
    age.is_some_and(|age| age < STARTING)
}

/// Moves a member to another team, with what the settings say of its mail; what it is there, if it was there still. By
/// another rule from then on, if there is one: both at once, or a daemon would take it back in between.
fn relocate(
    claude: &ClaudeDir,
    state: &StateDir,
    journal: &Journal,
    settings: &Settings,
    id: &MemberId,
    to: &Team,
    rule: Option<&Follows>,
) -> Result<Option<RosterEntry>> {
    let Some(entry) = Roster::relocate(state, id, to, rule)? else {
        return Ok(None);
    };
    let old = team_of(claude, id)?;
    if let Some(old) = &old {
        take_off(state, old, &id.name)?;
    }
    Roster::has_left(state, &id.team_dir, &id.name)?;
    let now = SystemTime::now();
    let why = format!("it is on {} now", to.name());
    if settings.place.carry_mail {
        journal.carry_over(id, &entry.id(), to.name(), now)?;
    } else if old.as_ref().is_some_and(|old| old.lead_alive() == Liveness::Alive) {
        // Somebody is there who waits for an answer.
        give_back(claude, state, journal, id, (MOVED, &why))?;
    } else {
        journal.put_aside(id, if old.is_some() { "moved" } else { "no team" }, now)?;
    }
    // A lead that has ended may come back, and its worker with it.
    if let Some(old) = old.filter(|old| old.lead_alive() != Liveness::Dead) {
        give_back_tasks(state, &old, &id.name, &why)?;
    }
    Ok(Some(entry))
}

/// Moves a member to a team because the user says so, and lets it stay there as `follows` says; what it is there.
pub fn move_to(
    claude: &ClaudeDir,
    state: &StateDir,
    settings: &Settings,
    id: &MemberId,
    to: &Team,
    follows: &Follows,
) -> Result<Option<RosterEntry>> {
    if to.dir() == id.team_dir {
        return Roster::change(state, id, |entry| entry.follows = follows.clone());
    }
    let journal = Journal::open(state)?;
    relocate(claude, state, &journal, settings, id, to, Some(follows))
}
