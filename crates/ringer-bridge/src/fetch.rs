//! A worker's mail, fetched by itself: through a hook in the middle of its work, or with a tool.
//!
//! Owns that it is then not typed as well, and not lost if whoever fetches it ends on the way.

use std::time::{Duration, SystemTime};

use ringer_teams::{Member, stored};

use crate::daemon::Client;
use crate::error::Result;
use crate::journal::{Fetch, Intake, Journal, Message};
use crate::render::{SECOND_COPY, render};
use crate::roster::Roster;
use crate::speaker::Speaker;
use crate::state::StateDir;

/// Mail in hand. The worker has it when [`Fetched::done`] was called.
#[derive(Debug)]
pub struct Fetched {
    state: StateDir,
    journal: Journal,
    messages: Vec<Message>,
}

impl Fetched {
    /// The messages, in order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// What the worker is to see, in the form that the template gives it. A text of more than `longest`
    /// bytes is in a file instead.
    pub fn words(&self, template: &str, longest: usize) -> Result<String> {
        let mut all = Vec::new();
        for message in &self.messages {
            let mark = if message.copies > 1 { SECOND_COPY } else { "" };
            let name = format!("message-{}", message.id);
            let text = if message.text.len() > longest {
                stored(&message.text, &self.state.messages(), &name)?
            } else {
                message.text.clone()
            };
            all.push(format!("{mark}{}", render(template, message, &text)));
        }
        Ok(all.join("\n\n"))
    }

    /// The worker has it.
    pub fn done(self) -> Result<()> {
        self.journal.handed_over(&self.messages, SystemTime::now())?;
        self.journal.sync()?;
        // It marks what was delivered, sooner or later; now is better.
        if let Ok(mut daemon) = Client::connect(&self.state) {
            daemon.wake().ok();
        }
        Ok(())
    }
}

impl Speaker {
    /// Fetches what waits for this worker, up to the first message that is being typed.
    pub fn fetch(&self, how: &Fetch) -> Result<Option<Fetched>> {
        let Some(journal) = self.read_in()? else {
            return Ok(None);
        };
        let messages = journal.claim(&self.id(), how)?;
        if messages.is_empty() {
            return Ok(None);
        }
        // From here on it is not typed any more; the machine may not forget that.
        journal.sync()?;
        Ok(Some(Fetched { state: self.state.clone(), journal, messages }))
    }

    /// The journal, with all in it that is in the worker's inboxes. None if it is not a worker of ours.
    pub(crate) fn read_in(&self) -> Result<Option<Journal>> {
        let is_synthetic = self.team.config.member(&self.name).is_some_and(Member::is_synthetic);
        let on_roster = || -> Result<bool> {
            Ok(Roster::load(&self.state)?.find(self.team.dir(), &self.name).is_some())
        };
        if !is_synthetic && !on_roster()? {
            return Ok(None);
        }
        let journal = Journal::open(&self.state)?;
        for mailbox in self.team.mailboxes(&self.name)? {
            journal.receive(&Intake {
                member: &self.id(),
                team: self.team.name(),
                path: mailbox.path(),
                inbox: &mailbox.read()?,
                read: Duration::ZERO,
                now: SystemTime::now(),
            })?;
        }
        Ok(Some(journal))
    }
}
