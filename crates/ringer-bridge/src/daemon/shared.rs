//! What all deliveries share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ringer_panes::{Address, Terminals};
use tokio::sync::{Notify, OwnedMutexGuard, Semaphore, watch};

use super::Options;
use super::profiles::Profiles;
use super::turn::Turns;
use super::watchdog::Watchdog;
use crate::journal::{Journal, MemberId};
use crate::observe::Listener;
use crate::settings::Settings;
use crate::state::StateDir;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) journal: Journal,
    pub(crate) state: StateDir,
    pub(crate) terminals: Terminals,
    pub(crate) profiles: Profiles,
    /// So many type at a time.
    pub(crate) typing: Semaphore,
    /// So many rewrite inboxes at a time; each may wait for somebody's lock.
    pub(crate) marking: Semaphore,
    settings: watch::Receiver<Arc<Settings>>,
    stop: watch::Receiver<bool>,
    troubles: Mutex<HashMap<(MemberId, About), String>>,
    bells: Mutex<HashMap<MemberId, Arc<Bell>>>,
    /// One at a time types into a pane, also if two members are said to be in it.
    writers: Mutex<HashMap<Address, Arc<tokio::sync::Mutex<()>>>>,
    pub(crate) turns: Turns,
    pub(crate) watchdog: Watchdog,
    pub(crate) listener: Listener,
}

/// What a trouble is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum About {
    Delivery,
    Marks,
}

/// How those who work for a member hear of it.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    /// There is mail.
    pub(crate) mail: Notify,
    /// There may be some in a moment.
    pub(crate) coming: Notify,
    /// Something was delivered that is to be marked.
    pub(crate) marks: Notify,
}

impl Shared {
    pub(crate) fn new(
        journal: Journal,
        options: &Options,
        settings: watch::Receiver<Arc<Settings>>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let typing = Semaphore::new(settings.borrow().delivery.parallel);
        let control_mode = settings.borrow().control_mode();
        Self {
            journal,
            state: options.state.clone(),
            terminals: if control_mode {
                Terminals::new()
            } else {
                Terminals::without_control_mode()
            },
            profiles: Profiles::new(options.workers_dir()),
            turns: Turns::new(options.runtime_dir.as_deref()),
            watchdog: Watchdog::default(),
            listener: Listener::default(),
            typing,
            marking: Semaphore::new(8),
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

    /// Waits until the settings change.
    pub(crate) async fn new_settings(&self) {
        let mut settings = self.settings.clone();
        settings.mark_unchanged();
        if settings.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Waits until the daemon ends.
    pub(crate) async fn stopping(&self) {
        let mut stop = self.stop.clone();
        // An error means that whoever could say so is gone.
        stop.wait_for(|stop| *stop).await.ok();
    }

    /// Waits for so long; whether the daemon ends meanwhile.
    pub(crate) async fn pause_or_stop(&self, pause: Duration) -> bool {
        tokio::time::timeout(pause, self.stopping()).await.is_ok()
    }

    /// A new bell for a member.
    pub(crate) fn hang_bell(&self, id: &MemberId) -> Arc<Bell> {
        let bell = Arc::new(Bell::default());
        lock(&self.bells).insert(id.clone(), bell.clone());
        bell
    }

    /// Nobody works for the member any more.
    pub(crate) fn take_bell(&self, id: &MemberId) {
        lock(&self.bells).remove(id);
        lock(&self.troubles).retain(|(member, _), _| member != id);
    }

    fn bell(&self, id: &MemberId) -> Option<Arc<Bell>> {
        lock(&self.bells).get(id).cloned()
    }

    /// Tells whoever delivers to a member that there is mail, or something to be marked; whether
    /// anybody does.
    pub(crate) fn ring(&self, id: &MemberId) -> bool {
        let bell = self.bell(id);
        if let Some(bell) = &bell {
            bell.mail.notify_one();
        }
        bell.is_some()
    }

    /// Tells it that mail is probably coming, so that it can look at the pane meanwhile.
    pub(crate) fn expect(&self, id: &MemberId) {
        if let Some(bell) = self.bell(id) {
            bell.coming.notify_one();
        }
    }

    /// The right to type into a pane, when all other deliveries of ours are done.
    pub(crate) async fn writer(&self, pane: &Address) -> OwnedMutexGuard<()> {
        let turn = lock(&self.writers).entry(pane.clone()).or_default().clone();
        turn.lock_owned().await
    }

    /// What keeps a member's mail or its marks from going on, for `status`.
    pub(crate) fn trouble(&self, id: &MemberId, about: About, trouble: Option<&str>) {
        let mut troubles = lock(&self.troubles);
        match trouble {
            Some(trouble) => troubles.insert((id.clone(), about), trouble.to_owned()),
            None => troubles.remove(&(id.clone(), about)),
        };
    }

    pub(crate) fn trouble_of(&self, id: &MemberId) -> Option<String> {
        let troubles = lock(&self.troubles);
        let of = |about| troubles.get(&(id.clone(), about)).cloned();
        of(About::Delivery).or_else(|| of(About::Marks))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
