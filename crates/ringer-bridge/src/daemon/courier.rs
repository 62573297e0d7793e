//! A courier: takes one member's messages to its pane, one after another.
//!
//! Owns when: at once, after a pause that grows while the pane cannot take it, or when there is
//! another pane.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ringer_panes::{Address, AnyPane, Occupant, Pane, Sight};
use tokio::sync::watch;
use tracing::{info, warn};

use super::deliver::{Delivery, Glimpse, Loose};
use super::later::{Again, Later, Note, one_line};
use super::router::{Place, Where};
use super::shared::{About, Bell, Shared, here};
use crate::journal::{MemberId, Message, State};

/// The pause after the first try that failed.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause while a worker is not at its prompt.
const AWAITING: Duration = Duration::from_secs(1);

/// At least so long between two looks at a worker that is not at its prompt, in the long run.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// At most so many messages are delivered before the inbox is told.
const UNMARKED_LIMIT: u32 = 200;

/// Delivers to one member.
pub(crate) struct Courier {
    id: MemberId,
    shared: Arc<Shared>,
    bell: Arc<Bell>,
    place: watch::Receiver<Where>,
    /// The pane that was used last, with its address.
    pane: Option<(Address, AnyPane)>,
    /// What was in it a moment ago.
    glimpse: Option<Glimpse>,
    loose: Option<Loose>,
    newcomer: Option<(Occupant, std::time::Instant)>,
    /// Which process was at its prompt, and since when.
    at_prompt: Option<(u32, std::time::Instant)>,
    /// What was seen of the pane last.
    seen: Option<Sight>,
    /// Whether it was woken and its hook did not fetch anything.
    hookless: bool,
    unmarked: u32,
}

impl Courier {
    pub(crate) fn new(
        id: MemberId,
        shared: Arc<Shared>,
        bell: Arc<Bell>,
        place: watch::Receiver<Where>,
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
            at_prompt: None,
            seen: None,
            hookless: false,
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
                    if self.rest(&place).await {
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
                (Some(_), Where::Removed) => {
                    let removed = Later::new("removed", "the member was removed");
                    Err(Some(removed.again(Again::Never)))
                }
                (Some(_), Where::Moved) => {
                    let moved = Later::new("moved", "the worker is on another team now");
                    Err(Some(moved.again(Again::Never)))
                }
                (Some(_), Where::There(place)) if place.team_is_gone => {
                    let gone = "the team is gone; its mail is kept in case it comes back";
                    Err(Some(Later::new("no team", gone).again(Again::Never)))
                }
                (Some(message), Where::There(place)) => {
                    self.deliver(message, place).await.map_err(Some)
                }
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
                    let again = later.as_ref().map_or(Again::Later, |later| later.again);
                    if let Some(later) = later {
                        self.put_off(next.as_ref(), &later);
                    }
                    self.tell_marker();
                    let longest = self.shared.settings().retry_max();
                    let longest =
                        if again == Again::Later { longest } else { longest.min(AWAITING) };
                    pause = pause.min(longest);
                    tokio::select! {
                        changed = self.place.changed() => {
                            pause = FIRST_PAUSE;
                            if changed.is_err() {
                                return;
                            }
                        }
                        () = self.shared.stopping() => return,
                        () = self.shared.new_settings() => pause = FIRST_PAUSE,
                        () = until_worth_it(again, pause, &mut self.pane, self.seen.as_ref()) => {
                            pause = (pause * 2).min(longest);
                        }
                    }
                }
            }
        }
    }

    /// Waits for mail; `false` if there will be none.
    async fn rest(&mut self, place: &Where) -> bool {
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
        let (profile, settings) =
            (self.shared.profiles.get(&place.profile)?, self.shared.settings());
        let _turn = self.shared.writer(&place.pane).await;
        let delivery = Delivery {
            pane,
            place,
            profile: &profile,
            settings: &settings,
            message,
            shared: &self.shared,
            glimpse: self.glimpse.take(),
            loose: &mut self.loose,
            newcomer: &mut self.newcomer,
            at_prompt: &mut self.at_prompt,
            seen: &mut self.seen,
            hookless: &mut self.hookless,
            worker: None,
        };
        // On the heap: most of the thousands that there may be are at rest.
        Box::pin(delivery.run()).await
    }

    /// Makes the pane at an address the one at hand.
    fn reach(&mut self, address: &Address) -> Result<(), Later> {
        if self.pane.as_ref().is_none_or(|(old, _)| old != address) {
            self.pane = Some((address.clone(), self.shared.terminals.pane(address)?));
            self.seen = None;
            self.hookless = false;
        }
        Ok(())
    }

    /// Looks at the pane while the mail is still being read: by the time it is there, it is known
    /// whether it can be typed.
    async fn look_ahead(&mut self, place: &Where) {
        self.glimpse = None;
        if let Where::There(place) = place
            && self.reach(&place.pane).is_ok()
            && let Some((_, pane)) = &mut self.pane
            && let Ok(sight) = Box::pin(pane.look()).await
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
            message.state == State::Waiting && message.reason.as_deref() == Some(&*later.reason);
        if later.note == Note::Nothing || (later.note == Note::Waiting && known) {
            return;
        }
        if later.note == Note::Failed {
            warn!(member = %self.id, id = message.id, "given up: {}", later.detail);
        } else if !known {
            info!(member = %self.id, id = message.id, "waits: {}", later.detail);
        }
        let (journal, id, reason) = (&self.shared.journal, message.id, &*later.reason);
        let now = SystemTime::now();
        let written = here(|| match later.note {
            Note::Waiting | Note::Typed => journal.waiting(id, reason, now),
            Note::NotTyped => journal.not_typed(id, reason, now),
            Note::NotEntered => journal.not_entered(id, reason, now),
            Note::Failed => journal.failed_for(id, reason, now),
            Note::Nothing => Ok(true),
        });
        if let Err(error) = written {
            warn!(member = %self.id, "{}", one_line(&error));
        }
    }
}

/// Waits until it may be worth trying again. A new pane comes with news; whether a worker has come to
/// its prompt is told by its pane, or has to be looked for.
async fn until_worth_it(
    again: Again,
    pause: Duration,
    pane: &mut Option<(Address, AnyPane)>,
    seen: Option<&Sight>,
) {
    let at_least = match again {
        Again::Never => return std::future::pending().await,
        Again::Later => return tokio::time::sleep(pause).await,
        Again::Soon(at_least) => at_least,
    };
    // A worker that is busy draws all the time: it is not looked at every time.
    tokio::time::sleep(at_least.max(pause.min(BETWEEN_LOOKS))).await;
    match (pane, seen) {
        (Some((_, pane)), Some(seen)) => Box::pin(pane.changed(seen, pause)).await,
        _ => tokio::time::sleep(pause).await,
    }
}
