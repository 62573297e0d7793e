//! A real Gemini CLI on a scripted model.
//!
//! Owns its home directory, with nothing to update or to report. It asks before its tool
//! `run_shell_command` runs a `command`, unless that only reads.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::Agent;
use super::home::Home;
use super::offline::offline;
use crate::model::Model;
use crate::npm::npm_package;
use crate::world::put;

/// The version that its profile was measured with.
const GEMINI_VERSION: &str = "0.61.0";

impl Agent {
    /// A Gemini CLI below `root`.
    pub fn gemini(root: &Path) -> Result<Self> {
        let program = npm_package("@google/gemini-cli", GEMINI_VERSION)?.join(".bin/gemini");
        let (home, cwd, model) = (Home::below(root)?, root.join("project"), Model::start()?);
        let own = home.path().join(".gemini");
        fs::create_dir_all(&own)?;
        fs::create_dir_all(&cwd)?;
        let settings = json!({
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
            "privacy": {"usageStatisticsEnabled": false},
        });
        put(&own.join("settings.json"), &settings.to_string());
        let mut env = offline();
        for (name, value) in [
            ("HOME", home.path().display().to_string()),
            ("GEMINI_API_KEY", "scripted".to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", model.url()),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
            // Where tests run by themselves, it would draw nothing.
            ("CI", "false".to_owned()),
        ] {
            env.push((name.to_owned(), value));
        }
        // Or it asks another model first, which one is to answer.
        let args = ["--model", "gemini-2.5-pro"].map(str::to_owned).to_vec();
        Ok(Self { program, args, env, cwd, _home: home, model })
    }
}
