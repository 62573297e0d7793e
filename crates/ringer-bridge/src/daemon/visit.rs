//! Keeping the members of one team as the roster says.
//!
//! Owns the daemon's half of the `SyntheticMemberService`: a member of ours that somebody's rewrite
//! of `config.json` swallowed is put back; one that was removed from the roster is not. A lead that does not know of a
//! worker yet is told, once.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ringer_teams::{ClaudeDir, NewMember, Outcome, SyntheticMemberService, Team};
use tracing::info;

use crate::error::Result;
use crate::journal::MemberId;
use crate::post::{Letter, post};
use crate::roster::{Roster, RosterEntry};
use crate::state::StateDir;

use super::intake::Owner;

/// What the summary of the word to a new lead is. It is said in the worker's name, and is no word of the worker's.
pub(crate) const JOINED: &str = "joined the team";

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

/// Puts the members that belong on the team in `dir` on it, and says where their mail is. `announce` if a lead that
/// a worker has followed is to be told.
pub(crate) fn visit(
    claude: &ClaudeDir,
    state: &StateDir,
    dir: &Path,
    announce: bool,
) -> Result<Visit> {
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
    let is_missing = |entry: &&RosterEntry| !is_there(entry) && entry.belongs_on_team();
    // Whether it works there is said, too.
    let is_wrong = |entry: &&RosterEntry| {
        let member = team.config.member(&entry.name).filter(|member| member.is_synthetic());
        let active = member.and_then(|member| member.is_active);
        !entry.native && active.is_some_and(|active| active == entry.away_since.is_some())
    };
    let wanted = roster.on(dir).filter(|entry| is_missing(entry) || is_wrong(entry));
    let wanted: Vec<&str> = wanted.map(|entry| &*entry.name).collect();
    if !wanted.is_empty() {
        visit.restored = true;
        for (name, outcome) in put_back(state, &team, &wanted)? {
            match outcome {
                Ok(Outcome::Added) => ours.extend(roster.find(dir, &name)),
                Ok(_) => {}
                // Whose inbox that is now is not ours to say.
                Err(error) => visit.problems.push((MemberId::new(dir, &name), error.to_string())),
            }
        }
    }
    for entry in ours {
        let member = entry.id();
        introduce(state, &team, entry, announce)?;
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
        let there = names.iter().filter_map(|name| roster.find(team.dir(), name));
        let members: Vec<NewMember> =
            there.filter(|e| e.belongs_on_team()).map(|entry| entry.as_member(joined_at)).collect();
        let outcomes = SyntheticMemberService::register_all(team, &members)?;
        for (member, outcome) in members.iter().zip(&outcomes) {
            if matches!(outcome, Ok(Outcome::Added)) {
                info!(member = %member.name, team = team.name(), "put on the team");
            }
        }
        Ok(members.into_iter().map(|member| member.name).zip(outcomes).collect())
    })
}

/// A worker that has come to another lead says so, once.
fn introduce(state: &StateDir, team: &Team, entry: &RosterEntry, announce: bool) -> Result<()> {
    let session = team.config.lead_session_id.as_deref();
    let Some(known_to) = entry.known_to.as_deref().filter(|_| entry.birth.is_some()) else {
        return Ok(());
    };
    let (Some(session), Some(lead)) = (session, team.config.lead()) else { return Ok(()) };
    if session == known_to || entry.native || entry.leads || lead.name == entry.name {
        return Ok(());
    }
    let told = |entry: &mut RosterEntry| entry.known_to = Some(session.to_owned());
    if Roster::change(state, &entry.id(), told)?.is_none() || !announce {
        return Ok(());
    }
    let (kind, cwd) = (&entry.agent_type, entry.cwd.display());
    let text = format!(
        "{} is on your team now ({kind}, works in {cwd}). Send it messages as you do to any teammate.",
        entry.name
    );
    let (from, to) = (&entry.name, &lead.name);
    let letter = Letter { from, to, text: &text, summary: Some(JOINED), force: true };
    post(state, team, &letter, SystemTime::now())?;
    Ok(())
}
