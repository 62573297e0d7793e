//! The Router: for every member one queue, and one task that delivers from it, in order.
//!
//! Owns those tasks. The queues themselves are in the journal, so nothing grows in memory, however
//! long a pane is away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ringer_panes::{Address, Fault, Occupant, Pane, Screen, TmuxPane, TmuxServers};
use tokio::sync::{Notify, OwnedMutexGuard, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::deliver::{Delivery, Glimpse, Later, Note, one_line};
use super::marker;
use crate::error::Result;
use crate::journal::{Journal, MemberId, Message};
use crate::settings::Settings;
use crate::state::StateDir;

/// The pause after the first try that failed.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// At most so many messages are delivered before the inbox is told.
const UNMARKED_LIMIT: u32 = 200;

/// Where a member's worker is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) id: MemberId,
    pub(crate) pane: Address,
    pub(crate) occupant: Option<Occupant>,
}

/// What all deliveries share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) journal: Journal,
    pub(crate) state: StateDir,
    pub(crate) servers: TmuxServers,
    pub(crate) typing: Semaphore,
    settings: watch::Receiver<Arc<Settings>>,
    stop: watch::Receiver<bool>,
    troubles: Mutex<HashMap<MemberId, String>>,
    bells: Mutex<HashMap<MemberId, Arc<Bell>>>,
    /// One at a time types into a pane, also if two members are said to be in it.
    writers: Mutex<HashMap<Address, Arc<tokio::sync::Mutex<()>>>>,
}

/// How a courier hears of mail.
#[derive(Debug, Default)]
struct Bell {
    /// There is some.
    mail: Notify,
    /// There may be some in a moment.
    coming: Notify,
}

impl Shared {
    pub(crate) fn new(
        journal: Journal,
        state: StateDir,
        settings: watch::Receiver<Arc<Settings>>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let typing = Semaphore::new(settings.borrow().delivery.parallel);
        let servers = TmuxServers::new();
        Self {
            journal,
            state,
            servers,
            typing,
            settings,
            stop,
            troubles: Mutex::default(),
            bells: Mutex::default(),
            writers: Mutex::default(),
        }
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.settings.borrow().clone()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Waits for so long; whether the daemon ends meanwhile.
    pub(crate) async fn pause_or_stop(&self, pause: Duration) -> bool {
        let mut stop = self.stop.clone();
        tokio::time::timeout(pause, stop.wait_for(|stop| *stop)).await.is_ok()
    }

    /// Tells whoever delivers to a member that there is mail; whether anybody does.
    pub(crate) fn ring(&self, id: &MemberId) -> bool {
        self.bell(id).map(|bell| bell.mail.notify_one()).is_some()
    }

    /// Tells it that mail is probably coming, so that it can look at the pane meanwhile.
    pub(crate) fn expect(&self, id: &MemberId) {
        if let Some(bell) = self.bell(id) {
            bell.coming.notify_one();
        }
    }

    /// The right to type into a pane, when everybody else is done.
    async fn writer(&self, pane: &Address) -> OwnedMutexGuard<()> {
        let turn = {
            let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
            writers.entry(pane.clone()).or_default().clone()
        };
        turn.lock_owned().await
    }

    fn bell(&self, id: &MemberId) -> Option<Arc<Bell>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// What keeps a member's mail or its marks from going on, for `status`.
    pub(crate) fn trouble(&self, id: &MemberId, trouble: Option<&str>) {
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        match trouble {
            Some(trouble) => troubles.insert(id.clone(), trouble.to_owned()),
            None => troubles.remove(id),
        };
    }

    pub(crate) fn trouble_of(&self, id: &MemberId) -> Option<String> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }
}

/// Runs something that blocks for a moment, most often, right here: the other tasks of this thread
/// go on in another.
pub(crate) fn here<T>(work: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(work)
}

/// Runs something that blocks beside everything else.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("blocking work does not panic")
}

/// All deliveries.
#[derive(Debug)]
pub(crate) struct Router {
    shared: Arc<Shared>,
    places: HashMap<MemberId, Place>,
    couriers: HashMap<MemberId, watch::Sender<Option<Place>>>,
    tasks: JoinSet<()>,
}

impl Router {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, places: HashMap::new(), couriers: HashMap::new(), tasks: JoinSet::new() }
    }

    /// Says where all members are now.
    pub(crate) fn assign(&mut self, places: Vec<Place>) {
        self.places = places.into_iter().map(|place| (place.id.clone(), place)).collect();
        for (id, courier) in &self.couriers {
            let place = self.places.get(id).cloned();
            courier.send_if_modified(|old| {
                let changed = *old != place;
                *old = place;
                changed
            });
        }
        let used: Vec<Option<String>> = self
            .places
            .values()
            .filter_map(|place| match &place.pane {
                Address::Tmux { socket, .. } => Some(socket.clone()),
                _ => None,
            })
            .collect();
        self.shared.servers.retain(|socket| used.iter().any(|s| s.as_deref() == socket));
    }

    /// There is something for a member, or to be marked for it.
    pub(crate) fn wake(&mut self, id: &MemberId) {
        if self.shared.ring(id) {
            return;
        }
        if let Some(place) = self.places.get(id) {
            let bell = Arc::new(Bell::default());
            let bells = self.shared.bells.lock();
            bells.unwrap_or_else(PoisonError::into_inner).insert(id.clone(), bell.clone());
            let (send, receive) = watch::channel(Some(place.clone()));
            let courier = Courier {
                id: id.clone(),
                shared: self.shared.clone(),
                bell,
                place: receive,
                pane: None,
                glimpse: None,
                unmarked: 0,
                mark_at: None,
                mark_pause: FIRST_PAUSE,
                blank: None,
            };
            self.tasks.spawn(courier.run());
            self.couriers.insert(id.clone(), send);
        }
    }

    /// Waits for the deliveries in hand, but not for long.
    pub(crate) async fn finish(mut self, limit: Duration) {
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(limit, all).await.is_err() {
            warn!(
                "some deliveries did not end in time; they are looked at when the daemon is back"
            );
        }
        self.tasks.abort_all();
    }
}

/// Delivers to one member.
struct Courier {
    id: MemberId,
    shared: Arc<Shared>,
    bell: Arc<Bell>,
    place: watch::Receiver<Option<Place>>,
    /// The pane that was used last, with its address.
    pane: Option<(Address, TmuxPane)>,
    /// What was in it a moment ago.
    glimpse: Option<Glimpse>,
    unmarked: u32,
    /// When the inbox is to be told again after it could not be.
    mark_at: Option<Instant>,
    mark_pause: Duration,
    blank: Option<Screen>,
}

impl Courier {
    async fn run(mut self) {
        let mut stop = self.shared.stop.clone();
        let mut pause = FIRST_PAUSE;
        while !self.shared.is_stopping() {
            let place = self.place.borrow_and_update().clone();
            let next = here(|| self.shared.journal.next(&self.id));
            let outcome = match (&next, &place) {
                (Ok(None), _) => {
                    self.shared.trouble(&self.id, None);
                    self.mark().await;
                    loop {
                        tokio::select! {
                            () = self.bell.mail.notified() => break,
                            _ = self.place.changed() => break,
                            _ = stop.wait_for(|stop| *stop) => return,
                            () = until(self.mark_at) => break,
                            () = self.bell.coming.notified() => {}
                        }
                        self.look_ahead(place.as_ref()).await;
                    }
                    continue;
                }
                (Err(error), _) => {
                    Err(Later { reason: "journal", detail: one_line(error), note: Note::Nothing })
                }
                (Ok(Some(_)), None) => Err(Later {
                    reason: "removed",
                    detail: "the member was removed".to_owned(),
                    note: Note::Waiting,
                }),
                (Ok(Some(message)), Some(place)) => {
                    match reach(&mut self.pane, &self.shared.servers, &place.pane) {
                        Err(fault) => Err(fault.into()),
                        Ok(pane) => {
                            let _turn = self.shared.writer(&place.pane).await;
                            let delivery = Delivery {
                                pane,
                                place,
                                message,
                                shared: &self.shared,
                                glimpse: self.glimpse.take(),
                                blank: &mut self.blank,
                            };
                            delivery.run().await
                        }
                    }
                }
            };
            match outcome {
                Ok(()) => {
                    pause = FIRST_PAUSE;
                    self.blank = None;
                    self.shared.trouble(&self.id, None);
                    self.unmarked += 1;
                    if self.unmarked >= UNMARKED_LIMIT {
                        self.mark().await;
                    }
                }
                Err(later) => {
                    self.put_off(next.ok().flatten().as_ref(), &later);
                    self.mark().await;
                    // A new pane comes with news; anything else has to be looked for.
                    let wait = if matches!(later.reason, "no pane" | "not supported" | "removed") {
                        None
                    } else {
                        Some(Instant::now() + pause)
                    };
                    pause = (pause * 2).min(self.shared.settings().retry_max());
                    tokio::select! {
                        _ = self.place.changed() => pause = FIRST_PAUSE,
                        _ = stop.wait_for(|stop| *stop) => return,
                        () = until(wait) => {}
                        () = until(self.mark_at) => {}
                    }
                }
            }
        }
    }

    /// Looks at the pane while the mail is still being read: by the time it is there, it is known
    /// whether it can be typed.
    async fn look_ahead(&mut self, place: Option<&Place>) {
        self.glimpse = None;
        if let Some(place) = place
            && let Ok(pane) = reach(&mut self.pane, &self.shared.servers, &place.pane)
            && let Ok(sight) = pane.look().await
        {
            self.glimpse = Some(Glimpse { at: std::time::Instant::now(), sight });
        }
    }

    /// Writes down why a message waits, if that is news.
    fn put_off(&mut self, message: Option<&Message>, later: &Later) {
        self.shared.trouble(&self.id, Some(&later.detail));
        let Some(message) = message else {
            return;
        };
        let known = message.reason.as_deref() == Some(later.reason);
        if later.note == Note::Nothing || (later.note == Note::Waiting && known) {
            return;
        }
        if later.note == Note::Failed {
            warn!(member = %self.id, message = message.id, "given up: {}", later.detail);
        } else if !known {
            info!(member = %self.id, message = message.id, "waits: {}", later.detail);
        }
        let (journal, id, reason) = (&self.shared.journal, message.id, later.reason);
        let now = SystemTime::now();
        let written = here(|| match later.note {
            Note::Waiting => journal.waiting(id, reason, now),
            Note::NotTyped => journal.not_typed(id, reason, now),
            Note::NotEntered => journal.not_entered(id, reason, now),
            Note::Failed => journal.failed_for(id, reason, now),
            Note::Nothing => Ok(()),
        });
        if let Err(error) = written {
            warn!(member = %self.id, "{}", one_line(&error));
        }
    }

    /// Tells the inboxes what was delivered: once for all that was, when there is a moment.
    async fn mark(&mut self) {
        if self.mark_at.is_some_and(|at| Instant::now() < at) {
            return;
        }
        self.unmarked = 0;
        let (journal, id) = (self.shared.journal.clone(), self.id.clone());
        let tail = self.shared.settings().inbox.keep_read;
        let marked = blocking(move || -> Result<()> {
            for path in journal.unmarked_inboxes(&id)? {
                let tidied = marker::mark(&journal, &path, tail)?;
                debug!(member = %id, marked = tidied.marked, pruned = tidied.pruned, "inbox tidied");
            }
            Ok(())
        });
        match marked.await {
            Ok(()) => {
                self.mark_at = None;
                self.mark_pause = FIRST_PAUSE;
            }
            Err(error) => {
                let why = format!("delivered mail is not marked as read: {}", one_line(&error));
                if self.mark_at.is_none() {
                    warn!(member = %self.id, "{why}");
                }
                self.shared.trouble(&self.id, Some(&why));
                self.mark_at = Some(Instant::now() + self.mark_pause);
                self.mark_pause = (self.mark_pause * 2).min(Duration::from_mins(1));
            }
        }
    }
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}

/// The pane at an address: the one from before if it is still that.
fn reach<'a>(
    pane: &'a mut Option<(Address, TmuxPane)>,
    servers: &TmuxServers,
    address: &Address,
) -> std::result::Result<&'a mut TmuxPane, Fault> {
    if pane.as_ref().is_none_or(|(old, _)| old != address) {
        let new = match address {
            Address::None => return Err(Fault::NoPane),
            Address::Zellij { .. } => return Err(Fault::Unsupported { kind: "Zellij" }),
            Address::Tmux { socket, pane } => servers.pane(socket.as_deref(), pane),
        };
        *pane = Some((address.clone(), new));
    }
    let (_, pane) = pane.as_mut().expect("it was just made");
    Ok(pane)
}
