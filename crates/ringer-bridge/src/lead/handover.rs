//! Taking mail out of the lead's inbox for good, and not losing it on the way.
//!
//! Owns `handovers.json`: what was taken, or is about to be, and is not known to be out of our hands.
//!
//! | the hook ends … | where the mail is | the next hook |
//! |---|---|---|
//! | before it is noted | in the inbox | hands it over |
//! | after that, before it is taken | in the inbox, and noted | hands it over |
//! | after it is taken, before it is written out | noted | hands it over, marked as a second copy |
//! | after it is written out, before that is noted | noted | the same: the one case of a true second copy |
//! | after that, before it has ended with its status | with Claude Code, which may not look at it | nothing: microseconds that nobody can close |
//!
//! What the lead's own poller takes between our look and our taking is not there any more when we take,
//! and so is not ours.

use std::collections::HashSet;
use std::path::PathBuf;

use ringer_teams::{Entry, Inbox, Mailbox, Team, stored};
use serde::{Deserialize, Serialize};

use super::shape::{message, words};
use super::{inboxes, is_implicit, left_to_claude, wakes};
use crate::claim::Claim;
use crate::error::Result;
use crate::journal::Identity;
use crate::state::StateDir;

const FILE: &str = "handovers.json";

/// So many characters at a time: of more Claude Code cuts out the middle, or shows only the beginning. What is
/// over is handed over next time; one message that takes more than half of that goes to a file.
const LONGEST: usize = 80_000;
const LONGEST_MID_TURN: usize = 9_000;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Handovers {
    open: Vec<Open>,
}

/// What one hook has in hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Open {
    by: Claim,
    team_dir: PathBuf,
    /// As they stood in the inbox.
    entries: Vec<String>,
}

/// Mail that is ours to hand over. It is out of our hands when [`Handover::done`] was called.
#[derive(Debug)]
pub struct Handover {
    state: StateDir,
    by: Claim,
    words: String,
}

impl Handover {
    /// What the lead's model is to see.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// The lead has it.
    pub fn done(self) -> Result<()> {
        forget(&self.state, &self.by)
    }
}

/// Takes the mail of a team's lead that is ours to take: what Claude Code would not read by itself, and
/// what a hook that ended had in hand. Unless it is `mid_turn`, none if nothing of it is worth waking
/// the lead for.
pub fn take(state: &StateDir, team: &Team, mid_turn: bool) -> Result<Option<Handover>> {
    let noted: Handovers = state.read(FILE)?;
    let by = Claim::ours();
    // What is noted as ours is left from a try that failed: we have nothing in hand now.
    let is_lost =
        |open: &Open| open.team_dir == team.dir() && (open.by == by || !open.by.is_alive());
    let found = look(team)?.found;
    // Most often there is nothing, and nobody has to be kept from anything to see that.
    if found.is_empty() && !noted.open.iter().any(is_lost) {
        return Ok(None);
    }
    let longest = if mid_turn { LONGEST_MID_TURN } else { LONGEST };
    // Who is dead now has done to the inbox what it will ever do, so that is read after.
    let planned = state.edit(FILE, |all: &mut Handovers| {
        all.open.retain(|open| open.by.is_alive() || open.team_dir.exists());
        let (dead, others): (Vec<Open>, Vec<Open>) =
            std::mem::take(&mut all.open).into_iter().partition(is_lost);
        all.open = others;
        let Look { unread, found } = look(team)?;
        let is_taken = |entry: &Entry| !unread.contains(&Identity::of(entry));
        let lost = dead.iter().flat_map(|open| parse(&open.entries)).filter(is_taken);
        let mut plan = Plan::default();
        let mut room = Room { state, left: longest, longest: longest / 2 };
        for entry in lost {
            match room.fit(&entry, true)? {
                Some(words) => plan.again.push((entry, words)),
                None => plan.later.push(entry.raw),
            }
        }
        for (mailbox, entry) in found {
            let Some(words) = room.fit(&entry, false)? else { break };
            plan.wakes |= wakes(&entry);
            plan.new.push((mailbox, entry, words));
        }
        plan.wakes |= !plan.again.is_empty();
        let wanted = plan.wakes || mid_turn && !plan.new.is_empty();
        if !wanted {
            all.open.extend(dead);
            return Ok(None);
        }
        let team_dir = team.dir().to_owned();
        if !plan.later.is_empty() {
            let (by, entries) = (Claim::nobody(), std::mem::take(&mut plan.later));
            all.open.push(Open { by, team_dir: team_dir.clone(), entries });
        }
        let new = plan.new.iter().map(|(_, entry, _)| entry.raw.clone());
        let again = plan.again.iter().map(|(entry, _)| entry.raw.clone());
        let entries = again.chain(new).collect();
        all.open.push(Open { by: by.clone(), team_dir, entries });
        Ok(Some(plan))
    })?;
    let Some(plan) = planned else {
        return Ok(None);
    };
    // If that fails, all of it is still noted, for the next try, be it ours or somebody else's.
    let taken = take_out(team, &plan.new)?;
    let mut all: Vec<String> = plan.again.into_iter().map(|(_, words)| words).collect();
    let is_ours = |entry: &Entry| taken.contains(&Identity::of(entry));
    let new = plan.new.into_iter().filter(|(_, entry, _)| is_ours(entry));
    all.extend(new.map(|(_, _, words)| words));
    if all.is_empty() {
        forget(state, &by)?;
        return Ok(None);
    }
    Ok(Some(Handover { state: state.clone(), by, words: words(&all) }))
}

/// What is to be handed over, each with its words.
#[derive(Debug, Default)]
struct Plan {
    /// What somebody had in hand before.
    again: Vec<(Entry, String)>,
    /// What is in an inbox.
    new: Vec<(Mailbox, Entry, String)>,
    /// What somebody had in hand, and there is no room for now.
    later: Vec<String>,
    /// Whether any of it is worth waking the lead for.
    wakes: bool,
}

/// How much can be handed over at a time.
struct Room<'a> {
    state: &'a StateDir,
    left: usize,
    /// For one message.
    longest: usize,
}

impl Room<'_> {
    /// The words for an entry, if there is room for them. A text that is too long goes to a file, and is
    /// pointed to instead.
    fn fit(&mut self, entry: &Entry, again: bool) -> Result<Option<String>> {
        let mut words = message(entry, again);
        if words.chars().count() > self.longest {
            let id = entry.msg_id.clone().unwrap_or_default();
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let name = if !id.is_empty() && id.chars().all(plain) {
                id
            } else {
                uuid::Uuid::new_v4().to_string()
            };
            let text = stored(&entry.text, &self.state.messages(), &name)?;
            words = message(&Entry { text, ..entry.clone() }, again);
        }
        let length = words.chars().count() + 2;
        if length > self.left {
            return Ok(None);
        }
        self.left -= length;
        Ok(Some(words))
    }
}

/// What is in the lead's inboxes.
#[derive(Debug, Default)]
struct Look {
    /// What nobody has read.
    unread: HashSet<Identity>,
    /// What of it is ours to take.
    found: Vec<(Mailbox, Entry)>,
}

fn look(team: &Team) -> Result<Look> {
    let mut look = Look::default();
    for mailbox in inboxes(team)? {
        for entry in mailbox.read()?.entries().filter(|entry| !entry.read) {
            look.unread.insert(Identity::of(entry));
            if left_to_claude(team, entry, mailbox.path()).is_zero() {
                look.found.push((mailbox.clone(), entry.clone()));
            }
        }
    }
    Ok(look)
}

/// Takes entries from their inboxes, in the way in which this lead's version does it: newer ones remove
/// what they have read, older ones only mark it. Those that were still there.
fn take_out(team: &Team, new: &[(Mailbox, Entry, String)]) -> Result<HashSet<Identity>> {
    let mut taken = HashSet::new();
    let ids: HashSet<Identity> = new.iter().map(|(_, entry, _)| Identity::of(entry)).collect();
    for mailbox in inboxes(team)? {
        if !new.iter().any(|(from, ..)| *from == mailbox) {
            continue;
        }
        let is_ours = |entry: &Entry| !entry.read && ids.contains(&Identity::of(entry));
        let done = if is_implicit(team) {
            mailbox.take(is_ours)?
        } else {
            mailbox.take_marking(is_ours)?
        };
        taken.extend(done.value.iter().map(Identity::of));
    }
    Ok(taken)
}

fn forget(state: &StateDir, by: &Claim) -> Result<()> {
    state.edit(FILE, |all: &mut Handovers| {
        all.open.retain(|open| open.by != *by);
        Ok(())
    })
}

fn parse(raw: &[String]) -> Vec<Entry> {
    let inbox = Inbox::parse(&format!("[{}]", raw.join(","))).unwrap_or_default();
    inbox.entries().cloned().collect()
}
