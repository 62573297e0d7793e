//! A team on disk: what is there, and what a bridge does to it.
//!
//! Owns the member that nobody spawned. All writes come at quiet moments, when Claude Code writes
//! nothing; they still hold its locks.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ringer_testkit::put;
use serde_json::{Value, json};

/// A team below a `.claude` directory.
#[derive(Debug)]
pub(crate) struct Team {
    dir: PathBuf,
    tasks: PathBuf,
    name: String,
    lead: Value,
}

impl Team {
    /// The only one that has a configuration.
    pub(crate) fn find(claude: &Path) -> Option<Self> {
        let teams = fs::read_dir(claude.join("teams")).ok()?.flatten();
        let dir = teams.map(|entry| entry.path()).find(|dir| dir.join("config.json").exists())?;
        let name = dir.file_name()?.to_str()?.to_owned();
        let lead = read(&dir.join("config.json")).ok()?["leadSessionId"].clone();
        Some(Self { tasks: claude.join("tasks").join(&name), dir, name, lead })
    }

    /// The session of its lead.
    pub(crate) fn lead_session(&self) -> &str {
        self.lead.as_str().unwrap_or_default()
    }

    /// What a checkpoint has of it; nothing but the lead if it is gone. None while a file is being
    /// written.
    pub(crate) fn state(&self, lines: usize) -> Option<Value> {
        if !self.dir.exists() {
            return Some(json!({"lines": lines, "members": [], "tasks": [], "team": null,
                               "leadSessionId": self.lead}));
        }
        let mut members = read(&self.dir.join("config.json")).ok()?["members"].as_array()?.clone();
        members.retain(|member| member["name"] != "team-lead");
        let files = fs::read_dir(&self.tasks).into_iter().flatten().flatten();
        let files = files.map(|entry| entry.path());
        let files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let mut tasks = files.map(|path| read(&path).ok()).collect::<Option<Vec<_>>>()?;
        let number = |task: &Value| task["id"].as_str().and_then(|id| id.parse::<u32>().ok());
        tasks.sort_by_key(number);
        Some(json!({"lines": lines, "members": members, "tasks": tasks, "team": self.name,
                    "leadSessionId": self.lead}))
    }

    /// Whether it has this member.
    pub(crate) fn has(&self, name: &str) -> bool {
        let config = read(&self.dir.join("config.json")).unwrap_or_default();
        let mut members = config["members"].as_array().into_iter().flatten();
        members.any(|member| member["name"] == name)
    }

    /// Whether the lead has messages that it has not taken yet.
    pub(crate) fn has_mail(&self) -> bool {
        let inbox = read(&self.inbox("team-lead")).unwrap_or_default();
        inbox.as_array().into_iter().flatten().any(|entry| entry["read"] != true)
    }

    /// Puts in the member that nobody spawned.
    pub(crate) fn add_gemini(&self, cwd: &Path) -> Result<()> {
        change(&self.dir.join("config.json"), |config| {
            let member = json!({
                "agentId": format!("gemini@{}", self.name), "name": "gemini",
                "agentType": "gemini-worker", "model": "default", "joinedAt": 1,
                "tmuxPaneId": "synthetic", "cwd": cwd, "subscriptions": [],
                "backendType": "ringer", "color": "green", "isActive": true,
            });
            config["members"].as_array_mut().context("members")?.push(member);
            Ok(())
        })
    }

    /// Takes it out again.
    pub(crate) fn remove_gemini(&self) -> Result<()> {
        change(&self.dir.join("config.json"), |config| {
            let members = config["members"].as_array_mut().context("members")?;
            members.retain(|member| member["name"] != "gemini");
            Ok(())
        })
    }

    /// It answers the lead. What the lead wrote to it has the form of this version's messages.
    pub(crate) fn reply_of_gemini(&self, text: &str) -> Result<()> {
        let mut entry = read(&self.inbox("gemini"))?[0].clone();
        for (key, value) in
            [("from", "gemini"), ("text", text), ("summary", "reply"), ("color", "green")]
        {
            entry[key] = json!(value);
        }
        entry["read"] = json!(false);
        if entry["msg_id"].is_string() {
            entry["msg_id"] = json!("00000000-0000-4000-8000-000000000001");
        }
        let inbox = self.inbox("team-lead");
        if !inbox.exists() {
            put(&inbox, "[]");
        }
        change(&inbox, |entries| {
            entries.as_array_mut().context("an array")?.push(entry);
            Ok(())
        })
    }

    fn inbox(&self, name: &str) -> PathBuf {
        self.dir.join("inboxes").join(format!("{name}.json"))
    }
}

fn read(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// Changes a file as Claude Code does: while a directory beside it is the lock.
fn change(path: &Path, change: impl FnOnce(&mut Value) -> Result<()>) -> Result<()> {
    let lock = path.with_added_extension("lock");
    fs::create_dir(&lock).with_context(|| lock.display().to_string())?;
    let changed = read(path).and_then(|mut all| {
        change(&mut all)?;
        put(path, &format!("{all:#}"));
        Ok(())
    });
    fs::remove_dir(&lock)?;
    changed
}
