//! What a worker's hooks tell of its turns: that it got what was typed, and that it is done.
//!
//! Owns the link between a prompt that a worker was given and the message that it is.

use std::collections::BTreeMap;
use std::time::SystemTime;

use ringer_panes::{Payload, Profile};

use crate::daemon::{Client, JOINED};
use crate::error::Result;
use crate::journal::{Direction, Filter, Journal, MemberId, Message, State};
use crate::render::{SECOND_COPY, render};
use crate::roster::Roster;
use crate::speaker::Speaker;
use crate::state::StateDir;

impl Speaker {
    /// The worker was given this prompt: whatever message it is, or has in it, has arrived. Their number.
    pub fn confirm(&self, prompt: &str, template: &str, profile: &Profile) -> Result<usize> {
        let Some(journal) = Journal::open_existing(&self.state)? else {
            return Ok(0);
        };
        let prompt = squeezed(prompt);
        let mut confirmed = 0;
        for message in journal.unconfirmed(&self.id())? {
            if is_in(&message, &prompt, template, profile) {
                journal.confirmed(message.id, SystemTime::now())?;
                confirmed += 1;
            }
        }
        Ok(confirmed)
    }

    /// The worker was given a prompt: a new turn begins. What was handed over in the last one, and not
    /// answered to, is forgotten, unless the prompt is just that. Their number.
    pub fn turn_begins(&self, prompt: &str, template: &str) -> Result<usize> {
        let prompt = squeezed(prompt);
        self.forgotten(|message| {
            let words = squeezed(&render(template, message, &message.text));
            let is_long = words.chars().count() > LONG;
            !(prompt.contains(&words) || is_long && prompt.contains(head(&words)))
        })
    }

    /// The worker's turn was cancelled, and what it was handed is forgotten. Their number.
    pub fn turn_cancelled(&self) -> Result<usize> {
        self.forgotten(|_| true)
    }

    /// Lets go of what was handed over, if it is such that the worker has forgotten it.
    fn forgotten(&self, is_forgotten: impl Fn(&Message) -> bool) -> Result<usize> {
        let Some(journal) = Journal::open_existing(&self.state)? else {
            return Ok(0);
        };
        let claimed = journal.claimed(&self.id())?;
        let lost: Vec<Message> = claimed.into_iter().filter(is_forgotten).collect();
        if !lost.is_empty() {
            journal.let_go(&lost, SystemTime::now())?;
            self.forget_said()?;
            self.wake_daemon();
        }
        Ok(lost.len())
    }

    /// The worker's model is asked: what was handed over is in the request. `said` is what the model has
    /// said so far, if anybody wants to know. Their number.
    pub fn model_asked(&self, said: impl FnOnce() -> String) -> Result<usize> {
        let Some(journal) = Journal::open_existing(&self.state)? else {
            return Ok(0);
        };
        let claimed = journal.claimed(&self.id())?;
        if !claimed.is_empty() {
            let (key, said) = (self.id().to_string(), squeezed(&said()));
            self.state.change(SAID, |all: &mut BTreeMap<String, String>| {
                all.insert(key, tail(&said).to_owned());
            })?;
            journal.shown(&claimed)?;
        }
        Ok(claimed.len())
    }

    /// Whether the worker's model has said something since it was asked with mail in the request. A turn
    /// that is cancelled ends with what was said before. In doubt it has not: then mail comes twice, and
    /// says so.
    pub fn has_said_more(&self, response: &str) -> Result<bool> {
        let all: BTreeMap<String, String> = self.state.load(SAID)?;
        let response = squeezed(response);
        let before = all.get(&self.id().to_string());
        Ok(!response.is_empty() && before.is_none_or(|said| !said.ends_with(tail(&response))))
    }

    /// The worker's model has answered: what it was asked with, it has. Their number.
    pub fn model_answered(&self) -> Result<usize> {
        let Some(journal) = Journal::open_existing(&self.state)? else {
            return Ok(0);
        };
        let claimed = journal.claimed(&self.id())?;
        let had: Vec<Message> = claimed.into_iter().filter(|message| message.entering).collect();
        if had.is_empty() {
            return Ok(0);
        }
        journal.handed_over(&had, SystemTime::now())?;
        self.forget_said()?;
        self.wake_daemon();
        Ok(had.len())
    }

    /// What the model had said is of no interest once the mail is settled.
    fn forget_said(&self) -> Result<()> {
        forget_said(&self.state, &self.id())
    }

    /// It would find out by itself, sooner or later; now is better.
    fn wake_daemon(&self) {
        if let Ok(mut daemon) = Client::connect(&self.state) {
            daemon.wake().ok();
        }
    }

    /// Whether the worker has hooks of ours.
    pub fn has_hooks(&self) -> Result<bool> {
        let roster = Roster::load(&self.state)?;
        Ok(roster.find(self.team.dir(), &self.name).is_some_and(|entry| entry.hooks))
    }

    /// Whether the worker has written to the lead since it was last said to be idle.
    pub fn has_reported(&self) -> Result<bool> {
        let Some(journal) = Journal::open_existing(&self.state)? else {
            return Ok(false);
        };
        let last = journal.messages(&Filter {
            team_dir: Some(self.team.dir().to_owned()),
            member: Some(self.name.clone()),
            last: Some(50),
            ..Filter::default()
        })?;
        let to_lead = |message: &&Message| {
            message.direction == Direction::Out
                && message.from == self.name
                && message.to == self.lead()
                && message.summary.as_deref() != Some(JOINED)
        };
        let newest = last.iter().rev().find(to_lead);
        Ok(newest.is_some_and(|message| !message.text.contains("\"idle_notification\"")))
    }
}

/// Whether what was typed for a message is in a prompt. How long the text is in the file that stands for
/// it is not known here: then its beginning has to do.
fn is_in(message: &Message, prompt: &str, template: &str, profile: &Profile) -> bool {
    if message.state == State::Failed {
        return false;
    }
    let words = render(template, message, &message.text);
    [String::new(), SECOND_COPY.to_owned()].iter().any(|mark| {
        let typed = Payload::for_worker(&format!("{mark}{words}"), profile);
        let typed = squeezed(typed.as_str());
        prompt.contains(&typed) || typed.chars().count() > LONG && prompt.contains(head(&typed))
    })
}

/// What models had said when they were asked with mail, for each worker.
const SAID: &str = "said.json";

/// Forgets what a worker's model had said. Of one that has ended too: the next one of that name has said nothing yet.
pub(crate) fn forget_said(state: &StateDir, id: &MemberId) -> Result<()> {
    let key = id.to_string();
    let known: BTreeMap<String, String> = state.load(SAID)?;
    if known.contains_key(&key) {
        state.change(SAID, |all: &mut BTreeMap<String, String>| drop(all.remove(&key)))?;
    }
    Ok(())
}

/// The last part of a text, enough to know it by.
fn tail(text: &str) -> &str {
    let start = text.char_indices().rev().nth(1999).map_or(0, |(at, _)| at);
    &text[start..]
}

/// A text of more characters may have been put into a file.
const LONG: usize = 4000;

/// Of such a text, so much is in the message for sure.
fn head(text: &str) -> &str {
    let end = text.char_indices().nth(3000).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// Without blanks: programs trim and wrap.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
