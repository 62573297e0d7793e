//! The end of a worker that was asked to shut down, or that is not there any more.
//!
//! Owns what happens if it does not answer, and that an agreement is carried out: the worker is asked to
//! quit, then ended with everything that it started, and is off the team. Claude Code does not do that for
//! members of ours. A worker of ours whose host is gone is off the team, too; one in a pane of the user's may come
//! back, and is said to be away until then.

use std::fs;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ringer_panes::{Address, Occupant, Rule, Verdict};
use ringer_teams::{ClaudeDir, Known};
use tracing::{info, warn};

use super::shared::Shared;
use crate::depart::{Departed, depart, team_of};
use crate::ending::end_worker;
use crate::error::Result;
use crate::journal::MemberId;
use crate::reach::occupant;
use crate::roster::{Roster, RosterEntry};
use crate::speaker::Speaker;

/// A worker that agreed has this long to come to the end of what it says.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Before it is looked again whether a worker was shown a request.
const UNSEEN: Duration = Duration::from_secs(2);

/// Between two looks for a worker that is away.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

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
        end_worker(&now);
        last = now;
    }
    // A host takes its worker off by itself. If it could not, we do.
    depart(claude, &shared.state, &last, "it agreed to shut down")?;
    info!(member = %id, "shut down");
    Ok(())
}

/// Sees whether a worker is there; when to look again, if it is away and may come back.
pub(super) fn check(
    claude: &ClaudeDir,
    shared: &Shared,
    id: &MemberId,
) -> Result<Option<Duration>> {
    let Some(entry) = Roster::load(&shared.state)?.find(&id.team_dir, &id.name).cloned() else {
        return Ok(None);
    };
    if let Some(birth) = &entry.birth {
        if !birth.is_alive() {
            birth.clear_away();
            if let Address::Host { socket } = &entry.pane {
                fs::remove_file(socket).ok();
                // Its settings are beside it, or where nobody else can write.
                let settings = socket.with_extension("json");
                fs::remove_file(&settings).ok();
                if let Some(name) = settings.file_name() {
                    fs::remove_file(shared.state.path().join(name)).ok();
                }
            }
            let why = birth.why_gone();
            let Departed { returned, .. } = depart(claude, &shared.state, &entry, why)?;
            info!(member = %id, returned, "off the team: {why}");
        }
        return Ok(None);
    }
    let Some(known) = &entry.occupant else { return Ok(None) };
    let now = occupant(&entry.pane).ok().flatten();
    let verdict = now.as_ref().map(|now| Occupant::judge(known, now));
    let since = match (verdict, entry.away_since) {
        (Some(Verdict::Same), None) => return Ok(None),
        (Some(Verdict::Same | Verdict::Restarted), _) => {
            Roster::change(&shared.state, id, |entry| {
                entry.away_since = None;
                entry.occupant = now;
            })?;
            return Ok(None);
        }
        (_, Some(since)) => since,
        (_, None) => {
            let now = jiff::Timestamp::now().as_millisecond();
            Roster::change(&shared.state, id, |entry| entry.away_since = Some(now))?;
            info!(member = %id, "its worker is away");
            now
        }
    };
    let away = jiff::Timestamp::now().as_millisecond().saturating_sub(since);
    let away = Duration::from_millis(u64::try_from(away).unwrap_or(0));
    let patience = shared.settings().away();
    if away < patience {
        return Ok(Some(LOOK_AGAIN.min(patience.saturating_sub(away))));
    }
    let Departed { returned, .. } = depart(claude, &shared.state, &entry, "it did not come back")?;
    info!(member = %id, returned, "off the team: it did not come back");
    Ok(None)
}

fn speaker(claude: &ClaudeDir, shared: &Shared, id: &MemberId) -> Result<Option<Speaker>> {
    let Some(team) = team_of(claude, id)?.filter(|team| team.config.member(&id.name).is_some())
    else {
        return Ok(None);
    };
    Speaker::new(&shared.state, team, &id.name).map(Some)
}
