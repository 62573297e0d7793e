//! Keeping the members of one team as the roster says.
//!
//! Owns the daemon's half of the `SyntheticMemberService`: a member of ours that somebody's rewrite
//! of `config.json` swallowed is put back; one that was removed from the roster is not.

use std::path::{Path, PathBuf};

use ringer_teams::{ClaudeDir, NewMember, Outcome, SyntheticMemberService, Team};
use tracing::info;

use crate::error::Result;
use crate::journal::MemberId;
use crate::roster::{Roster, RosterEntry};
use crate::state::StateDir;

use super::intake::Owner;

/// What a visit found.
#[derive(Debug, Default)]
pub(crate) struct Visit {
    /// Whether there is a team at all.
    pub(crate) exists: bool,
    /// Whether somebody had to be put back.
    pub(crate) restored: bool,
    /// The inboxes of our members.
    pub(crate) inboxes: Vec<(PathBuf, Owner)>,
    /// Members that could not be put back, and why.
    pub(crate) problems: Vec<(MemberId, String)>,
}

/// Puts the members that belong on the team in `dir` on it, and says where their mail is.
pub(crate) fn visit(claude: &ClaudeDir, state: &StateDir, dir: &Path) -> Result<Visit> {
    let mut visit = Visit::default();
    let roster = Roster::load(state)?;
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    if roster.on(dir).next().is_none() {
        return Ok(visit);
    }
    let Some(team) = claude.team_in(&name)?.filter(|team| team.dir() == dir) else {
        return Ok(visit);
    };
    visit.exists = true;
    team.recover(roster.on(dir).map(|entry| &*entry.name));
    let is_there = |entry: &&RosterEntry| {
        team.config.member(&entry.name).is_some_and(|m| m.is_synthetic() || entry.native)
    };
    let mut ours: Vec<&RosterEntry> = roster.on(dir).filter(is_there).collect();
    // Who was put there by Claude Code is not ours to put back, nor is who is about to go.
    let is_missing = |entry: &&RosterEntry| !is_there(entry) && !entry.native && !entry.retiring;
    let missing: Vec<&str> = roster.on(dir).filter(is_missing).map(|entry| &*entry.name).collect();
    if !missing.is_empty() {
        visit.restored = true;
        for (name, outcome) in put_back(state, &team, &missing)? {
            match outcome {
                Ok(_) => ours.extend(roster.find(dir, &name)),
                // Whose inbox that is now is not ours to say.
                Err(error) => visit.problems.push((MemberId::new(dir, &name), error.to_string())),
            }
        }
    }
    for entry in ours {
        let member = entry.id();
        match team.mailboxes(&entry.name) {
            Ok(boxes) => visit.inboxes.extend(boxes.into_iter().map(|mailbox| {
                let owner = Owner { member: member.clone(), team: team.name().to_owned() };
                (mailbox.path().to_owned(), owner)
            })),
            Err(error) => visit.problems.push((member, error.to_string())),
        }
    }
    Ok(visit)
}

/// Registers members again, but for those that `ringer remove` was faster with: it strikes a name off
/// the roster first, and nobody can do that while we hold it.
fn put_back(
    state: &StateDir,
    team: &Team,
    names: &[&str],
) -> Result<Vec<(String, ringer_teams::Result<Outcome>)>> {
    Roster::hold(state, |roster| {
        let joined_at = jiff::Timestamp::now().as_millisecond();
        let members: Vec<NewMember> = names
            .iter()
            .filter_map(|name| roster.find(team.dir(), name))
            .map(|entry| NewMember {
                name: entry.name.clone(),
                agent_type: entry.agent_type.clone(),
                model: entry.model.clone(),
                cwd: entry.cwd.clone(),
                color: entry.color.clone(),
                joined_at,
            })
            .collect();
        let outcomes = SyntheticMemberService::register_all(team, &members)?;
        for (member, outcome) in members.iter().zip(&outcomes) {
            if matches!(outcome, Ok(Outcome::Added)) {
                info!(member = %member.name, team = team.name(), "put back on the team");
            }
        }
        Ok(members.into_iter().map(|member| member.name).zip(outcomes).collect())
    })
}
