//! The board: rules one by one, and any sequence of operations.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod laws;
mod others;
mod rules;

use std::fs;
use std::path::{Path, PathBuf};

use ringer_teams::{ClaudeDir, NewTask, Task, Team};
use ringer_testkit::put;

/// A team of a lead and some members, in a directory of its own.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    pub(crate) team: Team,
}

impl Place {
    pub(crate) fn new(members: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let team_dir = dir.path().join("teams/exo");
        fs::create_dir_all(&team_dir).unwrap();
        let names = ["team-lead"].iter().chain(members);
        let members: Vec<_> = names.map(|name| serde_json::json!({"name": name})).collect();
        let config = serde_json::json!({"name": "exo", "members": members});
        put(&team_dir.join("config.json"), &config.to_string());
        let team = ClaudeDir::new(dir.path()).team("exo").unwrap();
        Self { dir, team }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join("tasks/exo").join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        put(Path::new(&self.file(name)), text);
    }

    pub(crate) fn make(&self, subject: &str, blocked_by: &[&str]) -> Task {
        let blocked_by = blocked_by.iter().map(ToString::to_string).collect();
        let new = NewTask { subject: subject.into(), blocked_by, ..NewTask::default() };
        self.team.board().create(&new).unwrap()
    }

    pub(crate) fn task(&self, id: &str) -> Task {
        self.team.tasks().unwrap().get(id).unwrap().clone()
    }
}
