//! A real Claude Code on a scripted model, as a worker. [`crate::Claude`] is one as a lead.
//!
//! Owns its home directory: welcomed, trusted, with nothing to update or to report. It asks before its
//! tool `Bash` runs a `command`, unless that only reads.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::Agent;
use super::home::Home;
use super::offline::offline;
use crate::model::Model;
use crate::npm::npm_package;
use crate::world::put;

/// The version that its profile was measured with.
const CLAUDE_VERSION: &str = "2.1.325";

const KEY: &str = "sk-ant-scripted-0000000000000000000000";

impl Agent {
    /// A Claude Code below `root`.
    pub fn claude(root: &Path) -> Result<Self> {
        settle(&root.join("home"), &root.join("project"))?;
        Self::settled_claude(CLAUDE_VERSION, root)
    }

    /// One of this version below `root`, where everything is settled already: in the home of a [`crate::Claude`] it may
    /// live with it, and ends with it.
    pub fn settled_claude(version: &str, root: &Path) -> Result<Self> {
        let program = npm_package("@anthropic-ai/claude-code", version)?.join(".bin/claude");
        let (home, cwd, model) = (Home::below(root)?, root.join("project"), Model::start()?);
        let mut env = offline();
        env.extend(environment(home.path(), &model.url()));
        let args = ["--permission-mode", "default", "--model", "claude-opus-4-6"];
        let args = args.map(str::to_owned).to_vec();
        Ok(Self { program, args, env, cwd, _home: home, model })
    }
}

/// Makes both directories, such that Claude Code has nothing to ask in them.
pub(crate) fn settle(home: &Path, work: &Path) -> Result<()> {
    fs::create_dir_all(home.join(".claude"))?;
    fs::create_dir_all(work)?;
    let file = home.join(".claude.json");
    // What somebody has set up before stays.
    let mut all: Value =
        fs::read_to_string(&file).map_or(Ok(json!({})), |text| serde_json::from_str(&text))?;
    let settled = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "bypassPermissionsModeAccepted": true,
        "customApiKeyResponses": {"approved": [&KEY[KEY.len() - 20..]], "rejected": []},
        "projects": {work.display().to_string(): {
            "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
        }},
    });
    if let (Some(all), Value::Object(settled)) = (all.as_object_mut(), settled) {
        all.extend(settled);
    }
    put(&file, &all.to_string());
    Ok(())
}

/// The environment in which it lives there and talks to the model at `url`.
pub(crate) fn environment(home: &Path, url: &str) -> Vec<(String, String)> {
    let home = home.display().to_string();
    [
        ("HOME", home.as_str()),
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_API_KEY", KEY),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("IS_SANDBOX", "1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}
