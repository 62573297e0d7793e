//! When the picture of a team is looked at again.
//!
//! Owns which transcripts are followed. What a lead did is on disk a moment before its transcript says so; the transcript
//! has the call that it came from, so it goes first, and the disk is compared a second later.

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::super::jobs::Job;
use super::super::watcher::{Noted, Stage};
use super::{Core, now};
use crate::observe::Heard;

/// So long the transcript may take to say what is on disk already.
const LATER: Duration = Duration::from_secs(1);

impl Core {
    /// Something below a team's directory, or among its tasks, has changed.
    pub(super) fn picture_changed(&mut self, path: &Path) {
        let (teams, tasks) = (self.claude.teams_dir(), self.claude.tasks_dir());
        let below = path.strip_prefix(&teams).or_else(|_| path.strip_prefix(&tasks));
        if let Some(team) = below.ok().and_then(|below| below.components().next()) {
            let dir = teams.join(team);
            self.jobs.start_at(Instant::now() + LATER, Job::Compare(dir), now(Stage::Closed));
        }
    }

    /// Every team that there is, or was when it was looked last.
    pub(super) fn compare_all(&mut self) {
        let pictured = tokio::task::block_in_place(|| self.shared.journal.pictured());
        let mut dirs = self.watcher.teams();
        // The journal's own trouble is told elsewhere.
        dirs.extend(pictured.unwrap_or_default());
        for dir in dirs.into_iter().filter(|dir| dir.starts_with(self.claude.teams_dir())) {
            self.jobs.start_at(Instant::now() + LATER, Job::Compare(dir), now(Stage::Closed));
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
            // It may be that of a lead that had none yet.
            if noted.stage != Stage::Begun {
                let heard: Vec<_> = self.transcripts.values().flatten().cloned().collect();
                let unheard = self.watcher.teams().into_iter().filter(|dir| !heard.contains(dir));
                for dir in unheard.collect::<Vec<_>>() {
                    let later = Instant::now() + LATER;
                    self.jobs.start_at(later, Job::Compare(dir), now(Stage::Closed));
                }
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
            tokio::task::block_in_place(|| self.watcher.follow_transcript(path));
            // What was written before it was watched told nobody.
            if is_new || heard.more {
                self.jobs.start(job.clone(), now(Stage::Closed));
            }
        }
    }
}
