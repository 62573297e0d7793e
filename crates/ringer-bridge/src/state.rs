//! The state directory: where Ringer keeps what is its own.
//!
//! Owns how files in it are changed: one process at a time, replaced whole, readable by the user
//! alone.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// How long another Ringer is waited for.
const PATIENCE: Duration = Duration::from_secs(15);

/// `$XDG_STATE_HOME/ringer`, or wherever the user wants it.
#[derive(Debug, Clone)]
pub struct StateDir {
    path: PathBuf,
}

impl StateDir {
    /// The directory at `path`; it is made when the first file is written.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where messages that are too long for an inbox are stored.
    pub fn messages(&self) -> PathBuf {
        self.path.join("messages")
    }

    /// Makes it, readable by the user alone.
    pub(crate) fn make(&self) -> Result<()> {
        let mut dir = DirBuilder::new();
        let made = dir.recursive(true).mode(0o700).create(&self.path);
        made.map_err(Error::io("create", &self.path))
    }

    /// Reads a file of a command's own; one that does not exist is the default.
    pub fn load<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T> {
        self.read(name)
    }

    /// Changes such a file while no other Ringer does.
    pub fn change<T>(&self, name: &str, change: impl FnOnce(&mut T)) -> Result<()>
    where
        T: Serialize + DeserializeOwned + Default + PartialEq + Clone,
    {
        self.edit(name, |value| {
            change(value);
            Ok(())
        })
    }

    /// Reads a file of ours; one that does not exist is the default.
    pub(crate) fn read<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T> {
        let path = self.path.join(name);
        match fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|source| Error::Broken { path, source })
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(T::default()),
            Err(e) => Err(Error::io("read", path)(e)),
        }
    }

    /// Changes a file of ours while no other Ringer does. It is written only if `change` returns
    /// `Ok`, and then replaced whole and synced.
    pub(crate) fn edit<T, R>(
        &self,
        name: &str,
        change: impl FnOnce(&mut T) -> Result<R>,
    ) -> Result<R>
    where
        T: Serialize + DeserializeOwned + Default + PartialEq + Clone,
    {
        let _lock = self.lock(name)?;
        let old: T = self.read(name)?;
        let mut new = old.clone();
        let value = change(&mut new)?;
        if new != old {
            self.replace(name, &new)?;
        }
        Ok(value)
    }

    /// Held until the file is dropped, or its process dies. Nobody holds it for more than a moment,
    /// unless it was stopped right there: then we give up instead of waiting with it.
    pub(crate) fn lock(&self, name: &str) -> Result<File> {
        self.make()?;
        let path = self.path.join(format!("{name}.lock"));
        let file =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(Error::io("open", &path))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(2));
                }
                Err(TryLockError::WouldBlock) => return Err(Error::Busy { path }),
                Err(TryLockError::Error(e)) => return Err(Error::io("lock", &path)(e)),
            }
        }
    }

    fn replace(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let path = self.path.join(name);
        let mut text = serde_json::to_string_pretty(value).expect("plain data always serialises");
        text.push('\n');
        let write = || {
            let mut temp = tempfile::NamedTempFile::new_in(&self.path)?;
            temp.write_all(text.as_bytes())?;
            temp.as_file().sync_all()?;
            temp.persist(&path).map_err(|e| e.error)?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(Error::io("write", &path))
    }
}
