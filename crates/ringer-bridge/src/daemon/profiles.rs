//! The profiles in use, read again when the user changes them.
//!
//! Owns what was read. A file with a mistake changes nothing for workers whose profile was read before.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use ringer_panes::{Profile, ProfileError};
use tracing::warn;

/// Profiles by name.
#[derive(Debug)]
pub(crate) struct Profiles {
    dir: PathBuf,
    read: Mutex<HashMap<String, Read>>,
}

#[derive(Debug)]
struct Read {
    /// When the user's file was changed last, and its size; nothing if there is none.
    changed: Option<(SystemTime, u64)>,
    profile: Arc<Profile>,
}

impl Profiles {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir, read: Mutex::default() }
    }

    /// The profile of that name, as it is now.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Profile>, ProfileError> {
        let file = fs::metadata(self.dir.join(format!("{name}.toml"))).ok();
        let changed = file.and_then(|meta| Some((meta.modified().ok()?, meta.len())));
        let mut all = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(read) = all.get_mut(name) {
            if read.changed == changed {
                return Ok(read.profile.clone());
            }
            read.changed = changed;
            match Profile::load(name, &self.dir) {
                Ok(profile) => read.profile = Arc::new(profile),
                Err(error) => warn!("{error}; the old profile stays in use"),
            }
            return Ok(read.profile.clone());
        }
        let profile = Arc::new(Profile::load(name, &self.dir)?);
        all.insert(name.to_owned(), Read { changed, profile: profile.clone() });
        Ok(profile)
    }
}
