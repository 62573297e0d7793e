//! What a worker's hooks tell of its turns: that it got what was typed, and that it is done.
//!
//! Owns the link between a prompt that a worker was given and the message that it is.

use std::time::SystemTime;

use ringer_panes::{Payload, Profile};

use crate::daemon::Client;
use crate::error::Result;
use crate::journal::{Direction, Filter, Journal, Message, State};
use crate::render::{SECOND_COPY, render};
use crate::speaker::Speaker;

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

    /// Whether something is handed over to the worker and not known to have been shown to its model.
    pub fn is_being_handed_mail(&self) -> Result<bool> {
        let journal = Journal::open_existing(&self.state)?;
        Ok(journal
            .map(|journal| journal.claimed(&self.id()))
            .transpose()?
            .is_some_and(|m| !m.is_empty()))
    }

    /// The worker's model is shown this: what was handed over and is in it has got that far. Their number.
    pub fn shown_to_model(&self, text: &str, template: &str) -> Result<usize> {
        let Some(journal) = Journal::open_existing(&self.state)? else {
            return Ok(0);
        };
        let text = squeezed(&text.replace("&lt;", "<").replace("&gt;", ">"));
        let is_shown = |message: &Message| {
            let words = squeezed(&render(template, message, &message.text));
            let words = words.replace("&lt;", "<").replace("&gt;", ">");
            text.contains(&words) || words.chars().count() > LONG && text.contains(head(&words))
        };
        let claimed = journal.claimed(&self.id())?;
        let shown: Vec<Message> = claimed.into_iter().filter(is_shown).collect();
        journal.shown(&shown)?;
        Ok(shown.len())
    }

    /// The worker's model has answered: what it was shown before that, it has. Their number.
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
        // It marks what was delivered, sooner or later; now is better.
        if let Ok(mut daemon) = Client::connect(&self.state) {
            daemon.wake().ok();
        }
        Ok(had.len())
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
