//! One daemon per state directory.
//!
//! Owns `daemon.lock`: locked while a daemon runs, by the system, so that a crash leaves no
//! obstacle. What is written in it says who holds it and where it listens.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::state::StateDir;

const FILE: &str = "daemon.lock";

/// Who the daemon is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identification {
    /// Its process.
    pub pid: u32,
    /// Where it listens.
    pub socket: PathBuf,
    /// When it was started; milliseconds since 1970.
    pub started_at: i64,
    /// Its version.
    pub version: String,
}

/// The right to be the daemon, until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Instance {
    _lock: File,
    path: PathBuf,
}

impl Instance {
    /// Becomes the daemon of a state directory, or says who is.
    pub(crate) fn claim(state: &StateDir, who: &Identification) -> Result<Self> {
        state.make()?;
        let path = state.path().join(FILE);
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        let mut file = open.map_err(Error::io("open", &path))?;
        // Somebody who only asks whether a daemon runs holds it for a moment, too.
        let patience = Instant::now() + Duration::from_millis(300);
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < patience => {
                    thread::sleep(Duration::from_millis(10));
                    continue;
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(e)) => return Err(Error::io("lock", &path)(e)),
            }
            let holder = fs::read_to_string(&path).unwrap_or_default();
            let pid = serde_json::from_str::<Identification>(&holder).ok().map(|who| who.pid);
            return Err(Error::AlreadyRunning { path, pid });
        }
        let text = serde_json::to_string(who).expect("plain data always serialises");
        let mut write = || {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{text}")
        };
        write().map_err(Error::io("write", &path))?;
        Ok(Self { _lock: file, path })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Emptied, not removed: another may have it open and be about to lock it.
        OpenOptions::new().write(true).truncate(true).open(&self.path).ok();
    }
}

/// The daemon that runs now, if one does.
pub(crate) fn running(state: &StateDir) -> Result<Option<Identification>> {
    let path = state.path().join(FILE);
    let file = match OpenOptions::new().read(true).write(true).open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io("open", &path)(e)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::Error(e)) => Err(Error::io("lock", &path)(e)),
        // It may have the lock and not have said yet who it is.
        Err(TryLockError::WouldBlock) => {
            Ok(serde_json::from_str(&fs::read_to_string(&path).unwrap_or_default()).ok())
        }
    }
}
