//! Keeping the members of one team as the roster says.
//!
//! Owns the daemon's half of the `SyntheticMemberService`: a member of ours that somebody's rewrite
//! of `config.json` swallowed is put back; one that was removed from the roster is not.

use std::path::{Path, PathBuf};

use ringer_teams::{ClaudeDir, Member, NewMember, Outcome, SyntheticMemberService, Team};
use tracing::{info, warn};

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
    let ours: Vec<&RosterEntry> = roster.on(dir).collect();
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    if ours.is_empty() {
        return Ok(visit);
    }
    let Some(team) = claude.team_in(&name)?.filter(|team| team.dir() == dir) else {
        return Ok(visit);
    };
    visit.exists = true;
    for entry in ours {
        let id = MemberId::new(dir, &entry.name);
        let there = team.config.member(&entry.name).is_some_and(Member::is_synthetic);
        visit.restored |= !there;
        if !there && let Err(error) = put_back(state, &team, entry) {
            warn!(member = %id, "could not be put back on the team: {error}");
            visit.problems.push((id.clone(), error.to_string()));
            // Whose inbox that is now is not ours to say.
            continue;
        }
        match team.mailboxes(&entry.name) {
            Ok(boxes) => visit.inboxes.extend(boxes.into_iter().map(|mailbox| {
                let owner = Owner { member: id.clone(), team: team.name().to_owned() };
                (mailbox.path().to_owned(), owner)
            })),
            Err(error) => visit.problems.push((id, error.to_string())),
        }
    }
    Ok(visit)
}

/// Registers a member again, unless `ringer remove` was faster: it strikes the name off the roster
/// first, and nobody can do that while we hold it.
fn put_back(state: &StateDir, team: &Team, entry: &RosterEntry) -> Result<()> {
    Roster::while_on(state, team.dir(), &entry.name, |entry| {
        let member = NewMember {
            name: entry.name.clone(),
            agent_type: entry.agent_type.clone(),
            model: entry.model.clone(),
            cwd: entry.cwd.clone(),
            color: entry.color.clone(),
            joined_at: jiff::Timestamp::now().as_millisecond(),
        };
        let outcome = SyntheticMemberService::register(team, &member)?;
        if outcome == Outcome::Added {
            info!(member = %entry.name, team = team.name(), "put back on the team");
        }
        Ok(())
    })
}
