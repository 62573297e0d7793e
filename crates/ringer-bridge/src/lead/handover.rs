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
//!
//! What the lead's own poller takes between our look and our taking is not there any more when we take,
//! and so is not ours.

use std::collections::HashSet;

use ringer_teams::{Entry, Inbox, Mailbox, Team, stored};
use serde::{Deserialize, Serialize};

use super::shape::words;
use super::{inboxes, is_implicit, left_to_claude, wakes};
use crate::claim::Claim;
use crate::error::Result;
use crate::journal::Identity;
use crate::state::StateDir;

const FILE: &str = "handovers.json";

/// So many characters at a time: of more Claude Code cuts out the middle, or shows only the beginning. What is
/// over is handed over next time; one message that is longer than half of that goes to a file.
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
    team_dir: String,
    /// As they stood in the inbox.
    entries: Vec<String>,
}

/// Mail that is ours to hand over. It is out of our hands when [`Handover::done`] was called.
#[derive(Debug)]
pub struct Handover {
    state: StateDir,
    by: Claim,
    words: String,
    /// How many messages.
    pub count: usize,
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
    let boxes = inboxes(team)?;
    let mut found: Vec<(&Mailbox, Entry)> = Vec::new();
    let mut unread: HashSet<Identity> = HashSet::new();
    for mailbox in &boxes {
        for entry in mailbox.read()?.entries().filter(|entry| !entry.read) {
            unread.insert(Identity::of(entry));
            if left_to_claude(team, entry, mailbox.path()).is_zero() {
                found.push((mailbox, entry.clone()));
            }
        }
    }
    let noted: Handovers = state.read(FILE)?;
    let team_dir = team.dir().display().to_string();
    let is_lost = |open: &&Open| open.team_dir == team_dir && !open.by.is_alive();
    let is_left = |entry: &Entry| !unread.contains(&Identity::of(entry));
    let lost: Vec<Entry> = noted
        .open
        .iter()
        .filter(is_lost)
        .flat_map(|open| parse(&open.entries))
        .filter(is_left)
        .collect();
    let worth_it = mid_turn || !lost.is_empty() || found.iter().any(|(_, entry)| wakes(entry));
    if !worth_it || lost.is_empty() && found.is_empty() {
        return Ok(None);
    }
    let longest = if mid_turn { LONGEST_MID_TURN } else { LONGEST };
    let length = |entry: &Entry| entry.text.chars().count().min(longest / 2) + 200;
    let mut used: usize = lost.iter().map(length).sum();
    found.retain(|(_, entry)| {
        used += length(entry);
        used < longest || used == length(entry)
    });
    let by = Claim::ours();
    let raw = |entries: &[&Entry]| -> Vec<String> {
        entries.iter().map(|entry| entry.raw.clone()).collect()
    };
    let planned: Vec<&Entry> = lost.iter().chain(found.iter().map(|(_, entry)| entry)).collect();
    let open = Open { by: by.clone(), team_dir: team_dir.clone(), entries: raw(&planned) };
    state.edit(FILE, |all: &mut Handovers| {
        all.open.retain(|open| open.by != by && (open.team_dir != team_dir || open.by.is_alive()));
        all.open.push(open);
        Ok(())
    })?;
    // If that fails, what we had from others is still noted: for the next one, since this process ends.
    let taken = take_out(team, &boxes, &found)?;
    if taken.len() < found.len() {
        let left: Vec<&Entry> = lost.iter().chain(&taken).collect();
        let entries = raw(&left);
        state.edit(FILE, |all: &mut Handovers| {
            if let Some(open) = all.open.iter_mut().find(|open| open.by == by) {
                open.entries = entries;
            }
            Ok(())
        })?;
    }
    let count = lost.len() + taken.len();
    if count == 0 {
        forget(state, &by)?;
        return Ok(None);
    }
    let shown: Vec<(Entry, bool)> = lost
        .into_iter()
        .map(|entry| (entry, true))
        .chain(taken.into_iter().map(|entry| (entry, false)))
        .map(|(entry, again)| Ok((fit(state, entry, longest / 2)?, again)))
        .collect::<Result<_>>()?;
    let words = words(shown.iter().map(|(entry, again)| (entry, *again)));
    Ok(Some(Handover { state: state.clone(), by, words, count }))
}

/// Takes entries from their inboxes, in the way in which this lead's version does it: newer ones remove
/// what they have read, older ones only mark it.
fn take_out(team: &Team, boxes: &[Mailbox], found: &[(&Mailbox, Entry)]) -> Result<Vec<Entry>> {
    let mut taken = Vec::new();
    for mailbox in boxes {
        let ids: HashSet<Identity> = found
            .iter()
            .filter(|(from, _)| *from == mailbox)
            .map(|(_, entry)| Identity::of(entry))
            .collect();
        if ids.is_empty() {
            continue;
        }
        let is_ours = |entry: &Entry| !entry.read && ids.contains(&Identity::of(entry));
        let done = if is_implicit(team) {
            mailbox.take(is_ours)?
        } else {
            mailbox.take_marking(is_ours)?
        };
        taken.extend(done.value);
    }
    Ok(taken)
}

fn forget(state: &StateDir, by: &Claim) -> Result<()> {
    state.edit(FILE, |all: &mut Handovers| {
        all.open.retain(|open| open.by != *by);
        Ok(())
    })
}

/// A text that is too long for a model at once is pointed to instead.
fn fit(state: &StateDir, mut entry: Entry, longest: usize) -> Result<Entry> {
    if entry.text.chars().count() > longest {
        let id = entry.msg_id.clone().unwrap_or_default();
        let plain = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && !id.is_empty();
        let name = if plain { id } else { uuid::Uuid::new_v4().to_string() };
        entry.text = stored(&entry.text, &state.messages(), &name)?;
    }
    Ok(entry)
}

fn parse(raw: &[String]) -> Vec<Entry> {
    let inbox = Inbox::parse(&format!("[{}]", raw.join(","))).unwrap_or_default();
    inbox.entries().cloned().collect()
}
