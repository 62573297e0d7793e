//! Whose turn it is to type into a pane, among all daemons of this user.
//!
//! Owns a file for each worker in use, locked while something is typed to it. Daemons with different
//! state directories know nothing of each other but that.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tracing::warn;

/// The files. Without a place for them, other daemons are not heeded.
#[derive(Debug)]
pub(crate) struct Turns {
    dir: Option<PathBuf>,
}

/// A turn; it ends when this is dropped, or when the process ends.
#[derive(Debug)]
pub(crate) struct Turn(Option<File>);

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            file.unlock().ok();
        }
    }
}

impl Turns {
    pub(crate) fn new(runtime_dir: Option<&Path>) -> Self {
        let user = rustix::process::getuid().as_raw();
        let dir = match runtime_dir {
            Some(dir) => dir.join("ringer"),
            None => std::env::temp_dir().join(format!("ringer-{user}")),
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).ok();
        // In a place where everybody can write, the name may be somebody else's.
        let ours = fs::symlink_metadata(&dir).is_ok_and(|m| m.is_dir() && m.uid() == user);
        if !ours {
            warn!(dir = %dir.display(), "other daemons that type into the same pane are not heeded");
        }
        Self { dir: ours.then_some(dir) }
    }

    /// The turn to type to the worker with this process, if nobody else has it.
    pub(crate) fn take(&self, pid: u32) -> Option<Turn> {
        let Some(file) = self.file(pid) else { return Some(Turn(None)) };
        match file.try_lock() {
            Ok(()) => Some(Turn(Some(file))),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(_)) => Some(Turn(None)),
        }
    }

    /// Opened anew each time: a lock belongs to who opened the file.
    fn file(&self, pid: u32) -> Option<File> {
        let path = self.dir.as_ref()?.join(format!("worker-{pid}.lock"));
        let mut open = OpenOptions::new();
        open.write(true).create(true).truncate(false).mode(0o600).open(path).ok()
    }
}
