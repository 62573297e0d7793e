//! What is typed: the message, or a line that makes the worker's hook fetch it.

use std::time::{Duration, Instant};

use ringer_panes::{Body, LONGEST_LINE, Pane, Payload, Process, Sight};
use ringer_teams::stored;

use super::super::later::{Later, Note, handed_over, no_hook, one_line};
use super::super::shared::here;
use super::Delivery;
use crate::journal::Via;
use crate::render::{SECOND_COPY, render};

/// So long a hook may take to fetch what its worker was woken for.
const FETCHING: Duration = Duration::from_secs(5);

impl<P: Pane> Delivery<'_, P> {
    /// How the message gets there: typed, or fetched by the worker's hook when a line is typed.
    pub(super) fn via(&self) -> Via {
        let by_hook = self.place.hooks && self.profile.body == Body::Hook && !*self.hookless;
        if by_hook && self.profile.wake.is_some() { Via::Wake } else { Via::Keys }
    }

    /// Waits until the worker's hook has fetched the message that it was woken for. From then on it is
    /// handed over.
    pub(super) async fn wait_until_fetched(&mut self) -> Result<(), Later> {
        let deadline = Instant::now() + FETCHING;
        let mut pause = Duration::from_millis(5);
        while !here(|| self.shared.journal.is_fetched(self.message.id))? {
            if Instant::now() >= deadline {
                *self.hookless = true;
                return Err(no_hook().note(Note::NotEntered));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        if here(|| self.shared.journal.is_delivered(self.message.id))? {
            return Ok(());
        }
        Err(handed_over())
    }

    /// What the `copy`th time of typing it types.
    pub(super) fn payload(&self, via: Via, copy: u32, sight: &Sight) -> Result<Payload, Later> {
        let message = self.message;
        if let (Via::Wake, Some(line)) = (via, &self.profile.wake) {
            return Ok(Payload::for_worker(line, self.profile));
        }
        let mut text = message.text.clone();
        let longest = self.profile.longest_text.unwrap_or(self.settings.delivery.longest_text);
        let too_long = |text: &str| text.lines().any(|line| line.len() >= LONGEST_LINE);
        if text.len() > longest || too_long(&text) && Process::reads_lines(sight.occupant.pid) {
            let (dir, name) = (self.shared.state.messages(), format!("message-{}", message.id));
            let kept = here(|| stored(&text, &dir, &name));
            text = kept.map_err(|error| Later::new("long text", &one_line(&error)))?;
        }
        let words = render(&self.settings.delivery.template, message, &text);
        let mark = if copy > 1 { SECOND_COPY } else { "" };
        Ok(Payload::for_worker(&format!("{mark}{words}"), self.profile))
    }
}
