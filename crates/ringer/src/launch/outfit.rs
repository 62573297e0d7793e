//! What a worker is run with: its command, our tools and hooks, and who it is.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ringer_bridge::RosterEntry;
use ringer_bridge::daemon::socket_dir;
use ringer_panes::{Outfit, Tailor, WorkerCommand};

use super::Launch;
use crate::context::{Context, variable};
use crate::failure::Failure;

impl Launch<'_> {
    /// The session that a worker is to be which can lead a team of its own, unless its arguments say which.
    pub(super) fn session(&self) -> Option<String> {
        let subtree = self.profile.subtree.as_ref()?;
        let is_set = self.words.iter().any(|word| subtree.unless.contains(word));
        (!is_set && !self.native).then(|| uuid::Uuid::new_v4().to_string())
    }

    /// What is run, with all that the worker is handed; whether it is handed our tools.
    pub(super) fn command(
        &self,
        file: Option<&Path>,
        entry: &RosterEntry,
    ) -> Result<(WorkerCommand, bool), Failure> {
        let (context, name) = (self.context, &entry.name);
        let birth = entry.birth.as_ref();
        let session = birth.and_then(|birth| birth.session.clone());
        let ringer = std::env::current_exe()?;
        let mut gear = self.profile.gear.clone();
        if let (Some(subtree), Some(_)) = (&self.profile.subtree, &session) {
            gear.args.extend(subtree.args.iter().cloned());
        }
        let words = session.map(|id| ("session".to_owned(), id));
        let tailor = Tailor {
            programs: &self.profile.programs,
            ringer: &ringer,
            file: file.unwrap_or(Path::new("")),
            words: words.as_slice(),
            variable,
        };
        let taken = gear.env.keys().find(|name| {
            let replaced = gear.base.as_ref().is_some_and(|(base, _)| base == *name);
            !replaced && variable(name).is_some()
        });
        let trouble = match taken {
            Some(name) => Some(format!("{name} is set already")),
            None if gear.file.is_some() && file.is_none() => {
                Some("there is no directory for its settings that only you can write to".to_owned())
            }
            None => None,
        };
        let outfit = match trouble {
            None => gear.outfit(self.words, &tailor),
            trouble => Outfit { words: self.words.to_vec(), trouble, ..Outfit::default() },
        };
        if let Some(trouble) = &outfit.trouble {
            context.out.note(&format!(
                "warning: {name} has none of Ringer's tools: {trouble}; it can answer with `ringer reply`"
            ));
        }
        if let (Some(text), Some(file)) = (&outfit.file, file) {
            let mut open = OpenOptions::new();
            let new = open.write(true).create(true).truncate(true).mode(0o600).open(file);
            new.and_then(|mut new| new.write_all(text.as_bytes()))?;
        }
        let geared = outfit.trouble.is_none() && !gear.is_empty();
        let mut env: Vec<(String, String)> = self.profile.env.clone().into_iter().collect();
        env.extend(outfit.env);
        env.extend(context.worker_env(self.team, name, birth.map_or("", |birth| &birth.id)));
        if self.detached && variable("TERM").is_none_or(|term| term == "dumb") {
            env.push(("TERM".to_owned(), "xterm-256color".to_owned()));
        }
        let cwd = self.cwd.clone();
        Ok((WorkerCommand { words: outfit.words, env, cwd }, geared))
    }
}

/// A settings file of ours; it goes with its worker.
pub(super) struct SettingsFile(Option<PathBuf>);

impl SettingsFile {
    /// Where a settings file can be that nobody else could have written: Gemini CLI takes none from a directory
    /// below one that others can write to.
    pub(super) fn place(context: &Context, name: &str) -> Self {
        let others_write = |dir: &Path| {
            let meta = dir.metadata();
            meta.map_or(true, |meta| !meta.is_dir() || meta.permissions().mode() & 0o022 != 0)
        };
        let dirs = [
            socket_dir(&context.state, context.runtime_dir.as_deref()).ok(),
            Some(context.state.path().to_owned()),
        ];
        let mut dirs = dirs.into_iter().flatten();
        let safe = dirs.find(|dir| !dir.ancestors().any(others_write));
        Self(safe.map(|dir| dir.join(name)))
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }
}

impl Drop for SettingsFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            std::fs::remove_file(path).ok();
        }
    }
}
