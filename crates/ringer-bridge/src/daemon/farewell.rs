//! The end of a worker that was asked to shut down.
//!
//! Owns what happens if it does not answer, and that an agreement is carried out: the worker is asked to
//! quit, then ended with everything that it started, and is off the team. Claude Code does not do that for
//! members of ours.

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ringer_panes::{Address, HostClient, Rule};
use ringer_teams::{ClaudeDir, Known, SyntheticMemberService};
use tracing::{info, warn};

use super::shared::Shared;
use crate::error::Result;
use crate::journal::MemberId;
use crate::roster::{Roster, RosterEntry};
use crate::speaker::Speaker;

/// A worker that agreed has this long to come to the end of what it says.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Before it is looked again whether a worker was shown a request.
const UNSEEN: Duration = Duration::from_secs(2);

/// One that was asked to quit has this long before it is made to.
const FAREWELL: Duration = Duration::from_secs(3);

/// How long Claude Code may take to take a member of its own off the team.
const CLAUDES_TURN: Duration = Duration::from_secs(5);

/// Answers for a worker that was asked to shut down and has not answered in time, as its profile says;
/// when to look again, if there is still time.
pub(super) fn unanswered(
    claude: &ClaudeDir,
    shared: &Shared,
    id: &MemberId,
) -> Result<Option<Duration>> {
    let roster = Roster::load(&shared.state)?;
    let (Some(entry), Some(speaker)) =
        (roster.find(&id.team_dir, &id.name), speaker(claude, shared, id)?)
    else {
        return Ok(None);
    };
    let profile = shared.profiles.get(entry.profile.as_deref().unwrap_or(ringer_panes::PLAIN));
    let rule = match profile {
        Ok(profile) => profile.shutdown,
        Err(error) => {
            warn!(member = %id, "{error}");
            return Ok(None);
        }
    };
    let mut again = None;
    for request in speaker.requests()? {
        if !matches!(request.asks, Known::ShutdownRequest { .. }) || rule.then == Rule::Wait {
            continue;
        }
        // It has to have seen it, if there is anybody to see it.
        let nobody = entry.pane == Address::None;
        let Some(since) = request.delivered_at.or(request.received_at.filter(|_| nobody)) else {
            again = Some(UNSEEN.min(again.unwrap_or(UNSEEN)));
            continue;
        };
        let since = Duration::from_millis(u64::try_from(since).unwrap_or(0));
        let waited = (SystemTime::UNIX_EPOCH + since).elapsed().unwrap_or_default();
        let left = rule.patience().saturating_sub(waited);
        if !left.is_zero() {
            again = Some(again.map_or(left, |other: Duration| other.min(left)));
            continue;
        }
        let approve = rule.then == Rule::Approve;
        info!(member = %id, approve, "asked to shut down and does not answer: its profile does");
        speaker.answer(&request.id, approve, Some("it did not answer in time"))?;
    }
    Ok(again)
}

/// Ends a worker that agreed to shut down, and takes it off the team. Blocks for some seconds.
pub(super) fn retire(claude: &ClaudeDir, shared: &Shared, id: &MemberId) -> Result<()> {
    let entry = || -> Result<Option<RosterEntry>> {
        let roster = Roster::load(&shared.state)?;
        Ok(roster.find(&id.team_dir, &id.name).filter(|entry| entry.retiring).cloned())
    };
    let Some(mut last) = entry()? else {
        return Ok(());
    };
    thread::sleep(LAST_WORDS);
    if last.native {
        // Claude Code ends members of its own when it has read that they agreed.
        let deadline = Instant::now() + CLAUDES_TURN;
        while let Some(now) = entry()? {
            if Instant::now() > deadline {
                break;
            }
            last = now;
            thread::sleep(Duration::from_millis(50));
        }
    }
    // Its place may have been taken, or given up, meanwhile.
    if let Some(now) = entry()? {
        end(&now);
        // A host takes its worker off by itself. If it could not, we do.
        Roster::strike(&shared.state, &id.team_dir, Some(&id.name))?;
        last = now;
    }
    // Somebody new may have the name by now.
    let is_free = Roster::load(&shared.state)?.find(&id.team_dir, &id.name).is_none();
    if is_free
        && !last.native
        && let Some(team) = team(claude, id)?
    {
        SyntheticMemberService::remove(&team, &id.name)?;
    }
    info!(member = %id, "shut down");
    Ok(())
}

/// Asks a worker to quit, and makes it.
fn end(entry: &RosterEntry) {
    match &entry.pane {
        Address::None => {}
        Address::Host { socket } => {
            if let Ok(mut host) = HostClient::connect(socket) {
                // It may end before it has answered.
                host.stop().ok();
            }
            let deadline = Instant::now() + FAREWELL * 2;
            while HostClient::connect(socket).is_ok() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(20));
            }
        }
        Address::Tmux { .. } | Address::Zellij { .. } => {
            // Only who was recognised there: whoever has the pane now is somebody else.
            let occupant = entry.occupant.as_ref();
            let worker = occupant.and_then(|occupant| occupant.foreground.as_ref());
            // A shell that waits for commands is the user's, whoever registered it.
            if let Some(worker) = worker.filter(|worker| !worker.is_at_prompt()) {
                worker.end_group(FAREWELL);
            }
        }
    }
}

fn team(claude: &ClaudeDir, id: &MemberId) -> Result<Option<ringer_teams::Team>> {
    let name = id.team_dir.file_name().unwrap_or_default().to_string_lossy();
    Ok(claude.team_in(&name)?.filter(|team| team.dir() == id.team_dir))
}

fn speaker(claude: &ClaudeDir, shared: &Shared, id: &MemberId) -> Result<Option<Speaker>> {
    let Some(team) = team(claude, id)?.filter(|team| team.config.member(&id.name).is_some()) else {
        return Ok(None);
    };
    Speaker::new(&shared.state, team, &id.name).map(Some)
}
