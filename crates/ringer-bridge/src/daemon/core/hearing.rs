//! When the picture of a team is looked at again.
//!
//! Owns which transcripts are followed. What a lead did is on disk a moment before its transcript says so; the transcript
//! has the call that it came from, so it goes first, and the disk is compared a second later.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::jobs::Job;
use super::super::watcher::{Noted, Stage};
use super::{Core, now};
use crate::observe::Heard;

/// So long the transcript may take to say what is on disk already.
const LATER: Duration = Duration::from_secs(1);

/// While more and more changes, it is compared this often.
const LATEST: Duration = Duration::from_secs(5);

/// So many transcripts of others are remembered.
const MOST_STRANGERS: usize = 10_000;

impl Core {
    /// Something below a team's directory, or among its tasks, has changed.
    pub(super) fn picture_changed(&mut self, path: &Path) {
        let (teams, tasks) = (self.claude.teams_dir(), self.claude.tasks_dir());
        let below = path.strip_prefix(&teams).or_else(|_| path.strip_prefix(&tasks));
        if let Some(team) = below.ok().and_then(|below| below.components().next()) {
            let dir = teams.join(team);
            self.compare_later(dir);
        }
    }

    fn compare_later(&mut self, dir: PathBuf) {
        self.jobs.start_after(LATER, LATEST, Job::Compare(dir), now(Stage::Closed));
    }

    /// Every team that there is, or was when it was looked last.
    pub(super) fn compare_all(&mut self) {
        let pictured = tokio::task::block_in_place(|| self.shared.journal.pictured());
        let mut dirs = self.watcher.teams();
        // The journal's own trouble is told elsewhere.
        dirs.extend(pictured.unwrap_or_default());
        // There may be those of another directory of Claude Code's.
        let teams = self.claude.teams_dir();
        for dir in dirs.into_iter().filter(|dir| dir.starts_with(&teams)) {
            self.compare_later(dir);
        }
    }

    /// Every team whose lead is heard, in case an event was missed.
    pub(super) fn compare_heard(&mut self) {
        let dirs: Vec<_> = self.transcripts.values().flatten().cloned().collect();
        for dir in dirs {
            self.jobs.start(Job::Compare(dir), now(Stage::Closed));
        }
    }

    /// A transcript has grown, or there is a new directory for some.
    pub(super) fn transcript_changed(&mut self, path: &Path, noted: Noted) {
        if !self.shared.settings().observe.transcripts {
            return;
        }
        let Some(dirs) = self.transcripts.get(path).cloned() else {
            // It may be that of a lead that had none yet, or another one.
            if self.strangers.len() == MOST_STRANGERS {
                self.strangers.clear();
            }
            if self.strangers.insert(path.to_owned()) {
                self.compare_all();
            }
            return;
        };
        for dir in dirs {
            self.written(Job::Listen(dir), noted);
        }
    }

    pub(super) fn heard(&mut self, job: &Job, dir: &Path, heard: &Heard) {
        self.transcripts.retain(|path, dirs| {
            if !heard.transcripts.contains(path) {
                dirs.remove(dir);
            }
            !dirs.is_empty()
        });
        for path in &heard.transcripts {
            let is_new = !self.transcripts.contains_key(path);
            self.transcripts.entry(path.clone()).or_default().insert(dir.to_owned());
            self.strangers.remove(path);
            tokio::task::block_in_place(|| self.watcher.follow_transcript(path));
            // What was written before it was watched told nobody.
            if is_new || heard.more {
                self.jobs.start(job.clone(), now(Stage::Closed));
            }
        }
    }
}
