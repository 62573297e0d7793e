//! What is put into Claude Code's files, and what comes out of it.
//!
//! Owns Ringer's part of them. Nothing is written here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ringer_panes::shell_word;
use ringer_teams::NotWhole;
use ringer_teams::claude_settings::{Added, Wanted, put_in, take_out};
use serde_json::{Value, json};

use crate::context::find_program;
use crate::failure::Failure;

/// What was put into which file.
pub(super) type Records = BTreeMap<String, Record>;

#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Record {
    pub(super) added: Added,
    /// Whether there was no file.
    pub(super) made: bool,
}

/// A file that has a part of it.
pub(super) struct File {
    pub(super) path: PathBuf,
    /// What its record is called.
    pub(super) key: String,
    pub(super) old: Option<String>,
    pub(super) record: Record,
    pub(super) wanted: Wanted,
    pub(super) plan: Plan,
    pub(super) uninstall: bool,
}

impl File {
    pub(super) fn changes(&self) -> bool {
        let before = self.old.as_deref().unwrap_or_default();
        self.plan.text != before && !(self.old.is_none() && self.uninstall)
    }
}

/// What is to be written.
pub(super) struct Plan {
    pub(super) text: String,
    pub(super) added: Added,
    pub(super) warnings: Vec<String>,
}

/// What becomes of the text of a file.
pub(super) fn plan(
    old: Option<&str>,
    record: &Record,
    wanted: &Wanted,
    uninstall: bool,
) -> Result<Plan, NotWhole> {
    let text = old.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
    // First what was put in before: this may be another version of it, or in another place. Without a
    // record, what can only be ours.
    let unrecorded = unrecorded(wanted);
    let added = if record.added == Added::default() { &unrecorded } else { &record.added };
    let bare = take_out(text, added, is_ours)?;
    if uninstall {
        return Ok(Plan { text: bare, added: Added::default(), warnings: Vec::new() });
    }
    let merged = put_in(&bare, wanted)?;
    let warnings = merged.kept.iter().map(|(name, there, wanted)| {
        format!("`env.{name}` is {there:?} in your settings and stays so; Ringer wants {wanted:?}")
    });
    Ok(Plan { warnings: warnings.collect(), text: merged.text, added: merged.added })
}

/// The program that teammates run through.
const COMMAND: &str = "CLAUDE_CODE_TEAMMATE_COMMAND";

/// The MCP server with the lead's tools.
pub(super) const SERVER: &str = "ringer-lead";

/// The rules that allow our tools.
const TOOLS: [&str; 2] = ["mcp__ringer", "mcp__ringer-lead"];

/// Where this program is: as it is found by its name, if that leads here, since that stays true when it is
/// installed anew. Always the whole path: hooks may have another search path.
pub(super) fn this_program() -> Result<String, Failure> {
    let exe = std::env::current_exe()?;
    let is_this = |path: &PathBuf| path.canonicalize().ok() == exe.canonicalize().ok();
    let found = find_program("ringer").filter(is_this);
    Ok(found.unwrap_or(exe).display().to_string())
}

/// What nobody but a Ringer puts there.
fn unrecorded(wanted: &Wanted) -> Added {
    let env = wanted.env.iter().filter(|(name, _)| name == COMMAND).cloned().collect();
    let servers = wanted.fields.iter().filter(|(pointer, _)| pointer.ends_with(SERVER));
    let fields = servers.map(|(pointer, value)| (pointer.clone(), value.to_string(), None));
    Added { env, allow: wanted.allow.clone(), fields: fields.collect(), ..Added::default() }
}

/// What Ringer needs in the settings.
pub(super) fn wanted(spawn: bool) -> Result<Wanted, Failure> {
    let program = this_program()?;
    let command = shell_word(&program);
    let wait = json!({"hooks": [{
        "type": "command", "command": format!("{command} hook wait"),
        "async": true, "asyncRewake": true, "timeout": 86400,
    }]});
    let post_tool = json!({"matcher": "*", "hooks": [{
        "type": "command", "command": format!("{command} hook post-tool"), "timeout": 10,
    }]});
    let mut hooks: Vec<(String, Value)> = ["SessionStart", "UserPromptSubmit", "Stop"]
        .map(|event| (event.to_owned(), wait.clone()))
        .to_vec();
    hooks.push(("PostToolUse".to_owned(), post_tool));
    let mode = spawn.then(|| ("teammateMode".to_owned(), json!("tmux")));
    Ok(Wanted {
        hooks,
        env: vec![
            ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS".to_owned(), "1".to_owned()),
            (COMMAND.to_owned(), program),
        ],
        allow: TOOLS.map(str::to_owned).to_vec(),
        fields: mode.into_iter().collect(),
    })
}

/// Whether a hook's command is one that some Ringer put in.
fn is_ours(command: &str) -> bool {
    let program = command.strip_suffix(" hook wait").or(command.strip_suffix(" hook post-tool"));
    program.is_some_and(|program| program.trim_matches('\'').rsplit('/').next() == Some("ringer"))
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn hooks_of_ours_are_known_by_their_command() {
        for (command, ours) in [
            ("ringer hook wait", true),
            ("/opt/my tools/ringer hook wait", true),
            ("'/opt/my tools/ringer' hook post-tool", true),
            ("stringer hook wait", false),
            ("echo ringer hook waits", false),
        ] {
            assert_eq!(is_ours(command), ours, "{command}");
        }
    }
}
