//! A real Codex CLI on a scripted model.
//!
//! Owns its home directory: trusted, with nothing to ask, to update or to report. Its model is of a
//! name that Codex does not know, so that it offers its plainest tools: `exec_command` takes `cmd`, and
//! asks before it runs with `"sandbox_permissions": "require_escalated"`.

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
const CODEX_VERSION: &str = "0.166.0";

impl Agent {
    /// A Codex below `root`.
    pub fn codex(root: &Path) -> Result<Self> {
        let program = npm_package("@openai/codex", CODEX_VERSION)?.join(".bin/codex");
        let (home, cwd, model) = (Home::below(root)?, root.join("project"), Model::start()?);
        let own = home.path().join(".codex");
        fs::create_dir_all(&own)?;
        fs::create_dir_all(&cwd)?;
        put(&own.join("config.toml"), &config(&cwd, &model.url()));
        let mut env = offline();
        for (name, dir) in [("HOME", home.path()), ("CODEX_HOME", &own)] {
            env.push((name.to_owned(), dir.display().to_string()));
        }
        // Or a daemon outlives the pane.
        let args = vec!["--no-daemon".to_owned()];
        Ok(Self { program, args, env, cwd, _home: home, model })
    }
}

fn config(cwd: &Path, url: &str) -> String {
    // A JSON string is a TOML string too.
    let (cwd, url) = (json!(cwd), json!(format!("{url}/v1")));
    format!(
        r#"model = "scripted"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = {url}
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[projects.{cwd}]
trust_level = "trusted"
"#
    )
}
