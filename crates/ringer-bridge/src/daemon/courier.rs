//! A courier: takes one member's messages to its pane, one after another.
//!
//! Owns when: at once, after a pause that grows while the pane cannot take it, or when there is
//! another pane.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ringer_panes::{Address, Occupant, Pane, TmuxPane};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{info, warn};

use super::deliver::{Delivery, Glimpse, Later, Loose, Note, one_line};
use super::router::Place;
use super::shared::{About, Bell, Shared, here};
use crate::journal::{MemberId, Message, State};

/// The pause after the first try that failed.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// At most so many messages are delivered before the inbox is told.
const UNMARKED_LIMIT: u32 = 200;

/// Delivers to one member.
pub(crate) struct Courier {
    id: MemberId,
    shared: Arc<Shared>,
    bell: Arc<Bell>,
    place: watch::Receiver<Option<Place>>,
    /// The pane that was used last, with its address.
    pane: Option<(Address, TmuxPane)>,
    /// What was in it a moment ago.
    glimpse: Option<Glimpse>,
    loose: Option<Loose>,
    newcomer: Option<(Occupant, std::time::Instant)>,
    unmarked: u32,
}

impl Courier {
    pub(crate) fn new(
        id: MemberId,
        shared: Arc<Shared>,
        bell: Arc<Bell>,
        place: watch::Receiver<Option<Place>>,
    ) -> Self {
        Self {
            id,
            shared,
            bell,
            place,
            pane: None,
            glimpse: None,
            loose: None,
            newcomer: None,
            unmarked: 0,
        }
    }

    pub(crate) async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        while !self.shared.is_stopping() {
            let place = self.place.borrow_and_update().clone();
            let next = match here(|| self.shared.journal.next(&self.id)) {
                Ok(Some(message)) => Some(message),
                Ok(None) => {
                    if self.rest(place.as_ref()).await {
                        continue;
                    }
                    return;
                }
                Err(error) => {
                    let later = Later::new("journal", &one_line(&error));
                    self.put_off(None, &later);
                    None
                }
            };
            let outcome = match (&next, &place) {
                (None, _) => Err(None),
                (Some(_), None) => Err(Some(Later {
                    passing: false,
                    ..Later::new("removed", "the member was removed")
                })),
                (Some(message), Some(place)) => self.deliver(message, place).await.map_err(Some),
            };
            match outcome {
                Ok(()) => {
                    pause = FIRST_PAUSE;
                    self.loose = None;
                    self.shared.trouble(&self.id, About::Delivery, None);
                    self.unmarked += 1;
                    if self.unmarked >= UNMARKED_LIMIT {
                        self.tell_marker();
                    }
                }
                Err(later) => {
                    let passing = later.as_ref().is_none_or(|later| later.passing);
                    if let Some(later) = later {
                        self.put_off(next.as_ref(), &later);
                    }
                    self.tell_marker();
                    // A new pane comes with news; anything else has to be looked for.
                    let again = passing.then(|| Instant::now() + pause);
                    pause = (pause * 2).min(self.shared.settings().retry_max());
                    tokio::select! {
                        changed = self.place.changed() => {
                            pause = FIRST_PAUSE;
                            if changed.is_err() {
                                return;
                            }
                        }
                        () = self.shared.stopping() => return,
                        () = self.shared.new_settings() => pause = FIRST_PAUSE,
                        () = until(again) => {}
                    }
                }
            }
        }
    }

    /// Waits for mail; `false` if there will be none.
    async fn rest(&mut self, place: Option<&Place>) -> bool {
        self.shared.trouble(&self.id, About::Delivery, None);
        self.tell_marker();
        loop {
            tokio::select! {
                () = self.bell.mail.notified() => return true,
                changed = self.place.changed() => return changed.is_ok(),
                () = self.shared.stopping() => return false,
                () = self.bell.coming.notified() => {}
            }
            self.look_ahead(place).await;
        }
    }

    fn tell_marker(&mut self) {
        self.unmarked = 0;
        self.bell.marks.notify_one();
    }

    async fn deliver(&mut self, message: &Message, place: &Place) -> Result<(), Later> {
        self.reach(&place.pane)?;
        let Some((_, pane)) = &mut self.pane else {
            return Ok(());
        };
        let _turn = self.shared.writer(&place.pane).await;
        let delivery = Delivery {
            pane,
            place,
            message,
            shared: &self.shared,
            glimpse: self.glimpse.take(),
            loose: &mut self.loose,
            newcomer: &mut self.newcomer,
        };
        delivery.run().await
    }

    /// Makes the pane at an address the one at hand.
    fn reach(&mut self, address: &Address) -> Result<(), Later> {
        if self.pane.as_ref().is_none_or(|(old, _)| old != address) {
            self.pane = Some((address.clone(), self.shared.servers.pane_at(address)?));
        }
        Ok(())
    }

    /// Looks at the pane while the mail is still being read: by the time it is there, it is known
    /// whether it can be typed.
    async fn look_ahead(&mut self, place: Option<&Place>) {
        self.glimpse = None;
        if let Some(place) = place
            && self.reach(&place.pane).is_ok()
            && let Some((_, pane)) = &mut self.pane
            && let Ok(sight) = pane.look().await
        {
            self.glimpse = Some(Glimpse { at: std::time::Instant::now(), sight });
        }
    }

    /// Writes down why a message waits, if that is news.
    fn put_off(&self, message: Option<&Message>, later: &Later) {
        self.shared.trouble(&self.id, About::Delivery, Some(&later.detail));
        let Some(message) = message else {
            return;
        };
        let known =
            message.state == State::Waiting && message.reason.as_deref() == Some(later.reason);
        if later.note == Note::Nothing || (later.note == Note::Waiting && known) {
            return;
        }
        if later.note == Note::Failed {
            warn!(member = %self.id, id = message.id, "given up: {}", later.detail);
        } else if !known {
            info!(member = %self.id, id = message.id, "waits: {}", later.detail);
        }
        let (journal, id, reason) = (&self.shared.journal, message.id, later.reason);
        let now = SystemTime::now();
        let written = here(|| match later.note {
            Note::Waiting | Note::Typed => journal.waiting(id, reason, now),
            Note::NotTyped => journal.not_typed(id, reason, now),
            Note::NotEntered => journal.not_entered(id, reason, now),
            Note::Failed => journal.failed_for(id, reason, now),
            Note::Nothing => Ok(()),
        });
        if let Err(error) = written {
            warn!(member = %self.id, "{}", one_line(&error));
        }
    }
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}
