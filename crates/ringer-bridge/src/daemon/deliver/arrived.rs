//! Whether a text that was typed before has arrived.

use std::time::Duration;

use ringer_panes::{Holding, Needle, Pane, Sight};

use super::super::later::{Later, Note, mixed, not_entered, unseen};
use super::{Delivery, count};
use crate::journal::Via;

/// After so many copies that the screen never showed, a message is given up until the member is
/// registered again.
const MOST_COPIES: u32 = 10;

impl<P: Pane> Delivery<'_, P> {
    /// The text was typed before, by a daemon that then ended, or by us and never seen. Whether it
    /// has arrived by now; if the prompt holds it, it does now. If it cannot be told, it waits; if it
    /// is nowhere, it has not.
    pub(super) async fn arrived(&mut self, sight: &Sight) -> Result<bool, Later> {
        let message = self.message;
        let woken = message.via == Some(Via::Wake);
        let payload = self.payload(message.via.unwrap_or(Via::Keys), message.copies, sight)?;
        let (needle, screen) = (Needle::of(&payload), &sight.screen);
        match self.gate().holding(sight, &payload, None) {
            // Enter was pressed on it, and nothing has come of it.
            Holding::Ours if self.loose.as_ref().is_some_and(|loose| loose.screen == *screen) => {
                return Err(not_entered());
            }
            Holding::Ours => {
                self.submit(&payload, None, sight.clone()).await?;
                if woken {
                    self.wait_until_fetched().await?;
                }
                self.done(Duration::ZERO, None).await;
                return Ok(true);
            }
            // Whether it was woken or not, the hook would have fetched it by now.
            Holding::Nothing | Holding::NoPrompt if woken => return Ok(false),
            Holding::Mixed => {
                self.keep_loose(screen);
                return Err(mixed());
            }
            // It left the prompt.
            Holding::Nothing if message.entering && !self.profile.is_plain() => {
                self.done(Duration::ZERO, None).await;
                return Ok(true);
            }
            Holding::NoPrompt if message.entering => {
                return Err(self
                    .gate()
                    .held_by(sight)
                    .map_or_else(not_entered, Later::from)
                    .note(Note::Nothing));
            }
            Holding::Nothing | Holding::NoPrompt => {}
        }
        if count(&needle, screen) > message.shown_before.unwrap_or(0) {
            self.keep_loose(screen);
            let loose = self.loose.as_ref().map(|loose| &loose.screen);
            let moved = needle.rows_below(screen) > loose.and_then(|old| needle.rows_below(old));
            let at_prompt = screen.cursor.is_some() && !screen.hidden;
            if !(moved || message.entering && at_prompt) {
                return Err(not_entered());
            }
            self.done(Duration::ZERO, None).await;
            return Ok(true);
        }
        let Some(loose) = self.loose.as_ref() else {
            return Ok(false);
        };
        if self.is_blind() && !message.entering {
            // We typed it, and have heard since that this worker shows nothing.
            self.enter_blindly(sight).await?;
            self.done(Duration::ZERO, None).await;
            return Ok(true);
        }
        if message.copies >= MOST_COPIES {
            return Err(unseen().note(Note::Failed));
        }
        // Whatever swallowed it may still be there: not again before the screen has changed, nor too
        // soon.
        let pause = Duration::from_secs(5 * 6_u64.pow(message.copies.saturating_sub(1).min(2)));
        if loose.screen == *screen || loose.since.elapsed() < pause {
            return Err(unseen());
        }
        Ok(false)
    }
}
