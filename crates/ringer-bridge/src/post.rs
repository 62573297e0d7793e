//! Sending: one message from one member to another, or to everybody else.
//!
//! Owns the rules that every way in shares, be it the command line or a tool: who may be written
//! to, what a long text becomes, how often a whole team may be addressed.

use std::time::SystemTime;

use jiff::Timestamp;
use ringer_teams::{Appended, Draft, Member, Team};

use crate::broadcast;
use crate::daemon::read_receipts;
use crate::error::{Error, Result};
use crate::journal::{Journal, Outgoing};
use crate::roster::Roster;
use crate::state::StateDir;

/// As the recipient: everybody but the sender.
pub const EVERYBODY: &str = "*";

/// A message to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Letter<'a> {
    /// The sender's name on the team.
    pub from: &'a str,
    /// A member's name, or [`EVERYBODY`].
    pub to: &'a str,
    /// What it says.
    pub text: &'a str,
    /// A few words for people.
    pub summary: Option<&'a str>,
    /// Also to, and from, a name that is not on the team.
    pub force: bool,
}

/// What became of a letter for one recipient.
#[derive(Debug)]
pub struct Posted {
    /// The recipient.
    pub to: String,
    /// Its place in the inbox, or why it has none.
    pub outcome: ringer_teams::Result<Appended>,
}

/// What became of a letter.
#[derive(Debug)]
pub struct Sent {
    /// For each recipient.
    pub posted: Vec<Posted>,
    /// Why the journal does not know of it, though it was sent.
    pub unrecorded: Option<Error>,
}

/// Writes a letter into the inboxes of its recipients. Of a broadcast some may fail and the others
/// arrive, so each has its own outcome.
pub fn post(state: &StateDir, team: &Team, letter: &Letter<'_>, now: SystemTime) -> Result<Sent> {
    let sender = match team.member(letter.from) {
        Err(_) if letter.force => None,
        found => Some(found?),
    };
    let others = || team.config.members.iter().map(|m| &m.name).filter(|name| *name != letter.from);
    let recipients: Vec<String> = if letter.to == EVERYBODY {
        others().cloned().collect()
    } else {
        if !letter.force {
            team.member(letter.to)?;
        }
        vec![letter.to.to_owned()]
    };
    let mut draft = Draft::new(letter.from, letter.text, &iso(now))?
        .color(sender.and_then(|member| member.color.as_deref()));
    if let Some(summary) = letter.summary {
        draft = draft.summary(summary);
    }
    if letter.to == EVERYBODY && !recipients.is_empty() {
        broadcast::admit(state, team.name(), team.dir(), now)?;
    }
    let draft = draft.fit(&state.messages())?;
    let send = |to: String| {
        let outcome = team.mailbox(&to).and_then(|mailbox| mailbox.append(&draft.copy()));
        Posted { to, outcome }
    };
    let posted: Vec<Posted> = recipients.into_iter().map(send).collect();
    let unrecorded = record(state, team, letter, &posted, now).err();
    Ok(Sent { posted, unrecorded })
}

/// Enters what was sent into the journal. What is for members of ours is left to the daemon, which
/// enters it when it finds it in their inboxes.
fn record(
    state: &StateDir,
    team: &Team,
    letter: &Letter<'_>,
    posted: &[Posted],
    now: SystemTime,
) -> Result<()> {
    // Also those that Claude Code started through us.
    let roster = Roster::load(state)?;
    let is_ours = |name: &str| {
        team.config.member(name).is_some_and(Member::is_synthetic)
            || roster.find(team.dir(), name).is_some()
    };
    let mut journal = None;
    for Posted { to, outcome } in posted.iter().filter(|one| !is_ours(&one.to)) {
        let Ok(appended) = outcome else {
            continue;
        };
        let journal = match &mut journal {
            Some(journal) => journal,
            none => none.insert(Journal::open(state)?),
        };
        let mailbox = team.mailbox(to)?;
        let sent = Outgoing {
            team_dir: team.dir(),
            team: team.name(),
            from: letter.from,
            to,
            path: mailbox.path(),
            msg_id: &appended.msg_id,
            summary: letter.summary,
            text: letter.text,
            sent_at: &iso(now),
        };
        journal.written(&sent, now)?;
        // A lead that hears at once may have taken it before this was written down, and then nothing more
        // happens to the inbox that would tell the daemon.
        read_receipts(journal, mailbox.path())?;
    }
    Ok(())
}

/// The time as JavaScript's `toISOString` writes it.
pub(crate) fn iso(time: SystemTime) -> String {
    Timestamp::try_from(time).map_or_else(|_| String::new(), |time| format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_always_have_milliseconds() {
        let at = |ms| iso(SystemTime::UNIX_EPOCH + Duration::from_millis(ms));
        assert_eq!(at(1_794_793_693_000), "2026-11-16T01:48:13.000Z");
        assert_eq!(at(1_794_793_693_625), "2026-11-16T01:48:13.625Z");
    }
}
