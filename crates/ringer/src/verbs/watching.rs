//! Waiting until something in a directory changes.

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Where nothing can be watched, it is looked this often.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A directory that is watched, if that can be.
pub(crate) struct Watching {
    told: Receiver<()>,
    watcher: notify::Result<RecommendedWatcher>,
}

impl Watching {
    /// Watches what is in a directory.
    pub(crate) fn new(dir: &Path) -> Self {
        let (tell, told) = mpsc::sync_channel(1);
        let watcher = notify::recommended_watcher(move |_| {
            tell.try_send(()).ok();
        })
        .and_then(|mut watcher| {
            watcher.watch(dir, RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        Self { told, watcher }
    }

    /// Until something has changed, but not for longer.
    pub(crate) fn wait(&self, longest: Duration) {
        let pause = if self.watcher.is_ok() { longest } else { LOOK_AGAIN };
        self.told.recv_timeout(pause).ok();
    }
}
