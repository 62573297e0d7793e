//! Keeping a lock fresh for as long as it is held.
//!
//! Owns the thread that does it, which never outlives the lock by more than a moment.

use std::fs::File;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

/// How often a held lock is touched: well within the ten seconds after which it is abandoned.
pub(crate) const REFRESH: Duration = Duration::from_secs(2);

/// A thread that touches a lock directory until this is dropped.
///
/// It is started before the lock is taken, so that starting it costs no time under the lock. It
/// works on the open directory and can never touch one that somebody else put in its place. If it
/// cannot be started, the lock is good for ten seconds, a thousand times what an edit needs.
#[derive(Debug)]
pub(crate) struct Refresher(Option<mpsc::Sender<File>>);

impl Refresher {
    pub(crate) fn start() -> Self {
        let (held, takes) = mpsc::channel::<File>();
        let run = move || {
            let Ok(dir) = takes.recv() else { return };
            while let Err(mpsc::RecvTimeoutError::Timeout) = takes.recv_timeout(REFRESH) {
                dir.set_modified(SystemTime::now()).ok();
            }
        };
        let thread = thread::Builder::new().name("lock-refresh".into()).spawn(run);
        Self(thread.is_ok().then_some(held))
    }

    /// From now on this one.
    pub(crate) fn refresh(&mut self, dir: &File) {
        if let (Some(held), Ok(dir)) = (&self.0, dir.try_clone()) {
            held.send(dir).ok();
        }
    }

    pub(crate) fn stop(&mut self) {
        self.0.take();
    }
}
