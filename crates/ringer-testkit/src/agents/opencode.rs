//! A real OpenCode on a scripted model.
//!
//! Owns its home directory, in which it asks before its tool `bash` runs a `command`, and shares, fetches
//! and updates nothing.

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
const OPENCODE_VERSION: &str = "1.18.33";

impl Agent {
    /// An OpenCode below `root`.
    pub fn opencode(root: &Path) -> Result<Self> {
        let program = npm_package("opencode-ai", OPENCODE_VERSION)?.join(".bin/opencode");
        let (home, cwd, model) = (Home::below(root)?, root.join("project"), Model::start()?);
        let own = home.path().join(".config/opencode");
        fs::create_dir_all(&own)?;
        fs::create_dir_all(&cwd)?;
        put(&own.join("opencode.json"), &config(&model.url()).to_string());
        let mut env = offline();
        env.push(("HOME".to_owned(), home.path().display().to_string()));
        for (name, dir) in [
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_CACHE_HOME", ".cache"),
        ] {
            env.push((name.to_owned(), home.path().join(dir).display().to_string()));
        }
        for switch in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
            env.push((format!("OPENCODE_DISABLE_{switch}"), "1".to_owned()));
        }
        Ok(Self { program, args: Vec::new(), env, cwd, _home: home, model })
    }
}

fn config(url: &str) -> Value {
    let limit = json!({"context": 400_000, "output": 8_000});
    json!({
        "autoupdate": false,
        "share": "disabled",
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "enabled_providers": ["scripted"],
        "permission": {"bash": "ask"},
        "provider": {"scripted": {
            // The one kind of provider that is built in and takes any address.
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "scripted"},
            "models": {"scripted": {"name": "Scripted", "tool_call": true, "limit": limit}},
        }},
    })
}
