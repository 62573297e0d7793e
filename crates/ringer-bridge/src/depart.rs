//! Off the team: what is done when a worker has ended, whoever finds out.
//!
//! Owns the order, and with it what a crash at each step leaves:
//!
//! | the program ends … | what is left | the next daemon |
//! |---|---|---|
//! | before all | a member without a worker | does all of it |
//! | after mail went back, before that is noted | the same | sends it back again: the one case of a second copy |
//! | after the member was struck off the roster | a note that it is leaving | takes it off `config.json` |
//!
//! Mail that comes while this goes on is looked for again in the end. Nothing is dropped: what cannot go back stays
//! in the journal as failed.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use ringer_teams::{ClaudeDir, Error as TeamsError, Known, SyntheticMemberService, Team};
use tracing::warn;

use crate::daemon::mark_inbox;
use crate::desk::{self, lead_of};
use crate::error::{Result, one_line};
use crate::journal::{Intake, Journal, MemberId, Message};
use crate::post::{Letter, post};
use crate::roster::{Roster, RosterEntry};
use crate::state::StateDir;
use crate::turn::forget_said;

/// What a message says that brings back what was not delivered: because the worker has ended, or has left the team.
pub const NOT_DELIVERED: &str = "not delivered: worker ended";
pub(crate) const MOVED: &str = "not delivered: worker moved";

/// One at a time gives mail back, or it would go back twice.
const TURN: &str = "departing";

/// What became of a worker's mail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Departed {
    /// So many messages went back to who sent them.
    pub returned: usize,
    /// Of so many, nobody was left to be told.
    pub abandoned: usize,
}

/// Takes a worker that has ended off its team, and gives its mail back. `why` is what the journal says.
pub fn depart(
    claude: &ClaudeDir,
    state: &StateDir,
    entry: &RosterEntry,
    why: &str,
) -> Result<Departed> {
    let id = entry.id();
    // Somebody else may have been given the name meanwhile.
    let is_it = |other: &RosterEntry| other.id() == id && other.is_same_worker(entry);
    let taken = |roster: &Roster| {
        roster.find(&id.team_dir, &id.name).is_some_and(|other| !other.is_same_worker(entry))
    };
    let journal = Journal::open(state)?;
    let roster = Roster::load(state)?;
    if taken(&roster) {
        journal.ended(entry, why, SystemTime::now())?;
        return Ok(Departed::default());
    }
    let mut all = Departed::default();
    // Where it was before, somebody else may have its name now.
    let before = entry.former_ids().filter(|id| roster.find(&id.team_dir, &id.name).is_none());
    for id in std::iter::once(id.clone()).chain(before) {
        all += give_back(claude, state, &journal, &id, (NOT_DELIVERED, why))?;
        if let Some(team) = team_of(claude, &id)? {
            give_back_tasks(state, &team, &id.name, why)?;
        }
    }
    journal.ended(entry, why, SystemTime::now())?;
    forget_said(state, &id)?;
    if Roster::strike_if(state, is_it)?.is_empty() {
        return Ok(all);
    }
    if let Some(team) = team_of(claude, &id)? {
        if entry.native && !entry.retiring {
            take_leave(state, &team, &entry.name)?;
        } else if !entry.native {
            take_off(state, &team, &entry.name)?;
        }
    }
    Roster::has_left(state, &id.team_dir, &id.name)?;
    all += give_back(claude, state, &journal, &id, (NOT_DELIVERED, why))?;
    journal.sync()?;
    Ok(all)
}

/// Gives back the tasks that a member has not completed. A board that is broken keeps nobody here; one that is in use
/// does, until it is not.
pub fn give_back_tasks(state: &StateDir, team: &Team, name: &str, why: &str) -> Result<()> {
    match desk::return_tasks(state, team, name, why) {
        Err(error) if error.code() == "locked" => Err(error),
        Err(error) => {
            warn!(team = team.name(), member = name, "{}", one_line(&error));
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Takes a member of ours that was struck off the roster out of `config.json`, unless it is on the roster again.
pub(crate) fn take_off(state: &StateDir, team: &Team, name: &str) -> Result<()> {
    Roster::hold(state, |roster| {
        if roster.find(team.dir(), name).is_some() {
            return Ok(());
        }
        match SyntheticMemberService::remove(team, name) {
            // Whose name it is now is not ours to say, and a team that is gone names nobody.
            Ok(_) | Err(TeamsError::NotOurs { .. } | TeamsError::TeamGone { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    })
}

/// A member of Claude Code's own is taken off the team by Claude Code, when it hears that it has ended.
fn take_leave(state: &StateDir, team: &Team, name: &str) -> Result<()> {
    let Ok(member) = team.member(name) else { return Ok(()) };
    let raw: serde_json::Value = serde_json::from_str(&member.raw).unwrap_or_default();
    let field = |key: &str| raw[key].as_str().map(str::to_owned);
    let now = Timestamp::now();
    let ended = Known::ShutdownApproved {
        request_id: format!("shutdown-{}@{name}", now.as_millisecond()),
        from: name.to_owned(),
        timestamp: format!("{now:.3}"),
        pane_id: field("tmuxPaneId"),
        backend_type: field("backendType"),
    };
    let text = ended.to_text();
    let to = lead_of(team);
    let letter = Letter { from: name, to, text: &text, summary: Some("ended"), force: true };
    post(state, team, &letter, SystemTime::now())?;
    Ok(())
}

/// Gives back what was not delivered to a member, in one message to each who sent some. `what` has become of it:
/// [`NOT_DELIVERED`] or [`MOVED`].
pub(crate) fn give_back(
    claude: &ClaudeDir,
    state: &StateDir,
    journal: &Journal,
    id: &MemberId,
    (what, why): (&str, &str),
) -> Result<Departed> {
    let _turn = state.lock(TURN)?;
    let team = team_of(claude, id)?;
    if let Some(team) = &team
        && let Err(error) = read_in(journal, team, id)
    {
        // What is in a broken file stays there; what is known of it goes back, and the worker goes.
        warn!(member = %id, "{}", one_line(&error));
    }
    let undelivered = journal.undelivered(id)?;
    let ids = |some: &[&Message]| some.iter().map(|message| message.id).collect::<Vec<_>>();
    let mut done = Departed::default();
    let mut senders: Vec<&str> = Vec::new();
    for message in &undelivered {
        if !senders.contains(&&*message.from) {
            senders.push(&message.from);
        }
    }
    for sender in senders {
        let theirs: Vec<&Message> = undelivered.iter().filter(|m| m.from == sender).collect();
        let now = SystemTime::now();
        let told = match &team {
            Some(team) => tell(state, team, &id.name, sender, &theirs, (what, why))?,
            None => false,
        };
        if told {
            journal.returned(&ids(&theirs), why, now)?;
            done.returned += theirs.len();
        } else {
            journal.abandoned(&ids(&theirs), why, now)?;
            done.abandoned += theirs.len();
        }
    }
    if done.returned > 0 {
        // They are in good hands: whoever is given the name next is not to get them.
        for path in journal.unmarked_inboxes(id)? {
            if let Err(error) = mark_inbox(journal, &path, usize::MAX) {
                warn!(member = %id, "{}", one_line(&error));
            }
        }
    }
    Ok(done)
}

/// What no daemon has read yet is in the journal, too.
fn read_in(journal: &Journal, team: &Team, id: &MemberId) -> Result<()> {
    for mailbox in team.mailboxes(&id.name)? {
        journal.receive(&Intake {
            member: id,
            team: team.name(),
            path: mailbox.path(),
            inbox: &mailbox.read()?,
            read: Duration::ZERO,
            now: SystemTime::now(),
        })?;
    }
    Ok(())
}

/// Tells who sent these messages, or the lead if that one is gone, that they did not arrive; whether anybody was
/// told. Such a word that did not arrive itself is not sent on.
fn tell(
    state: &StateDir,
    team: &Team,
    name: &str,
    sender: &str,
    messages: &[&Message],
    (what, why): (&str, &str),
) -> Result<bool> {
    let lead = lead_of(team);
    let is_there = |who: &str| who != name && team.config.member(who).is_some();
    let Some(to) = [sender, lead].into_iter().find(|who| is_there(who)) else {
        return Ok(false);
    };
    let is_return = |m: &&&Message| matches!(m.summary.as_deref(), Some(summary) if summary == NOT_DELIVERED || summary == MOVED);
    let news: Vec<&&Message> = messages.iter().filter(|m| !is_return(m)).collect();
    if news.is_empty() {
        return Ok(true);
    }
    let text = words(name, sender, to, &news, (what, why));
    let letter = Letter { from: name, to, text: &text, summary: Some(what), force: true };
    // What goes wrong now may go well later: who asked for this tries again.
    for one in post(state, team, &letter, SystemTime::now())?.posted {
        one.outcome?;
    }
    Ok(true)
}

fn words(
    name: &str,
    sender: &str,
    to: &str,
    messages: &[&&Message],
    (head, why): (&str, &str),
) -> String {
    let whose = if sender == to { "yours".to_owned() } else { format!("{sender}'s") };
    let what = match messages.len() {
        1 => format!("this message of {whose}"),
        n => format!("these {n} messages of {whose}"),
    };
    let mut text = format!("{head} ({why})\n{name} did not get {what}:");
    for (number, message) in messages.iter().enumerate() {
        let summary = message.summary.as_deref().map(|s| format!(" {s}")).unwrap_or_default();
        let maybe = if message.copies > 0 { " (it may have arrived)" } else { "" };
        let (number, said) = (number + 1, &message.text);
        write!(text, "\n\n{number}.{summary}{maybe}\n{said}").expect("a string takes everything");
    }
    text
}

/// The team that a member is on, if it is there.
pub(crate) fn team_of(claude: &ClaudeDir, id: &MemberId) -> Result<Option<Team>> {
    let name = id.team_dir.file_name().unwrap_or_default().to_string_lossy();
    Ok(claude.team_in(&name)?.filter(|team| team.dir() == id.team_dir))
}

impl std::ops::AddAssign for Departed {
    fn add_assign(&mut self, other: Self) {
        self.returned += other.returned;
        self.abandoned += other.abandoned;
    }
}
