//! A temporary world: a Claude Code directory, a state directory, and nothing of the user's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{command, end_all_with};

/// Directories of a test's own, gone with it.
#[derive(Debug)]
pub struct World {
    dir: TempDir,
    program: PathBuf,
}

impl World {
    /// An empty one, for the `ringer` at `program`.
    pub fn new(program: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("ringer-world-").tempdir();
        let world = Self { dir: dir.expect("a temporary directory"), program: program.into() };
        for sub in ["claude/teams", "state", "work"] {
            fs::create_dir_all(world.path().join(sub)).expect("directories in a temporary one");
        }
        world
    }

    /// All of it.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Claude Code's directory.
    pub fn claude(&self) -> PathBuf {
        self.path().join("claude")
    }

    /// Where a lead works.
    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// A team's directory.
    pub fn team_dir(&self, team: &str) -> PathBuf {
        self.claude().join("teams").join(team)
    }

    /// A member's inbox file.
    pub fn inbox(&self, team: &str, member: &str) -> PathBuf {
        self.team_dir(team).join("inboxes").join(format!("{member}.json"))
    }

    /// Makes a team with a lead, as Claude Code does, with some fields that nobody knows.
    pub fn team(&self, name: &str) {
        self.team_with(name, &json!({}));
    }

    /// The same with more fields in the configuration.
    pub fn team_with(&self, name: &str, more: &Value) {
        let mut config = json!({
            "name": name,
            "createdAt": 1_794_793_693_625_i64,
            "leadAgentId": format!("team-lead@{name}"),
            "leadSessionId": "33d98fe4-6f3d-4460-8833-9ec8058846d3",
            "futureField": {"kept": [1, 2.50, null]},
            "members": [{
                "agentId": format!("team-lead@{name}"),
                "name": "team-lead",
                "agentType": "team-lead",
                "joinedAt": 1_794_793_693_625_i64,
                "cwd": self.work(),
                "subscriptions": [],
                "unknownInMember": "kept",
            }],
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            config[key] = value.clone();
        }
        fs::create_dir_all(self.team_dir(name)).expect("a team's directory");
        put(&self.team_dir(name).join("config.json"), &format!("{config:#}"));
    }

    /// The team's configuration as it is now.
    pub fn config(&self, team: &str) -> Value {
        let text = fs::read_to_string(self.team_dir(team).join("config.json"));
        serde_json::from_str(&text.expect("a config.json")).expect("JSON in config.json")
    }

    /// The program under test, in this world and with an environment of nothing else.
    pub fn ringer(&self) -> Command {
        let mut command = command(&self.program);
        command
            .env_clear()
            .env("HOME", self.path())
            .env("CLAUDE_CONFIG_DIR", self.claude())
            .env("XDG_STATE_HOME", self.path().join("state"))
            // Never the tmux server of whoever runs the tests.
            .env("TMUX_TMPDIR", self.path())
            .current_dir(self.work());
        command
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Workers that were spawned outlive who asked for them, and a test that fails.
        end_all_with("RINGER_STATE_DIR", &self.path().join("state/ringer"));
    }
}

/// Writes a file in place, as a careless program does.
#[expect(clippy::disallowed_methods, reason = "plays the program that writes in place")]
pub fn put(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}
