//! Makes the samples in `crates/ringer-teams/tests/samples`: runs real Claude Code builds and keeps
//! the files that they write. Usage: `cargo run -p ringer-testkit --bin capture -- OUT [VERSION…]`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ringer_testkit::{CLAUDE_VERSIONS, Claude, Turn, put};
use serde_json::json;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let out = PathBuf::from(arguments.next().context("usage: capture OUT [VERSION…]")?);
    let asked: Vec<String> = arguments.collect();
    let all = CLAUDE_VERSIONS.map(String::from);
    for version in if asked.is_empty() { &all[..] } else { &asked[..] } {
        capture(version, &out.join(version)).with_context(|| format!("Claude Code {version}"))?;
    }
    Ok(())
}

fn capture(version: &str, out: &Path) -> Result<()> {
    // A fixed place: its path ends up in the samples.
    let root = Path::new("/tmp/ringer-capture");
    fs::remove_dir_all(root).ok();
    let claude = Claude::start(version, root)?;
    let team = claude.team("exo-root")?;
    fs::create_dir_all(out.join("inboxes"))?;
    fs::create_dir_all(out.join("tasks"))?;
    keep(&team.join("config.json"), &out.join("config.json"))?;
    for name in ["rust-impl", "odd.name😀"] {
        add_member(&team.join("config.json"), name, &claude)?;
    }
    let shutdown = match version {
        "2.1.39" => {
            json!({"type": "shutdown_request", "recipient": "rust-impl", "content": "done"})
        }
        _ => json!({"to": "rust-impl", "message": {"type": "shutdown_request", "reason": "done"}}),
    };
    let first = json!({
        "subject": "Read the files", "description": "All of them.",
        "activeForm": "Reading the files", "metadata": {"size": 1.5},
    });
    let second = json!({"subject": "Write the files", "description": "Two of them."});
    claude.act([
        claude.send_message("rust-impl", "Switch to \"BTreeMap\", é 😀\n\ttwo lines", "Change map"),
        claude.send_message("odd.name😀", "hello", "greeting"),
        half_an_emoji(claude.send_message("rust-impl", "cut here: HALF", "Cut")),
        Turn::call("TaskCreate", &first),
        Turn::call("TaskCreate", &second),
        Turn::call(
            "TaskUpdate",
            &json!({"taskId": "2", "addBlockedBy": ["1"], "owner": "rust-impl"}),
        ),
        Turn::call("TaskUpdate", &json!({"taskId": "1", "status": "in_progress"})),
        Turn::call("SendMessage", &shutdown),
    ])?;
    for (from, to) in [
        (team.join("inboxes"), out.join("inboxes")),
        (claude.dir().join("tasks").join(team.file_name().context("a name")?), out.join("tasks")),
    ] {
        for entry in fs::read_dir(&from).with_context(|| claude.screen())?.flatten() {
            if entry.path().extension().is_some_and(|e| e == "json") {
                keep(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}

/// Models cut text between the two halves of a surrogate pair; Claude Code writes what is left.
fn half_an_emoji(turn: Turn) -> Turn {
    match turn {
        Turn::Use(tool, input) => Turn::Use(tool, input.replace("HALF", "\\ud83d")),
        other => other,
    }
}

fn keep(from: &Path, to: &Path) -> Result<()> {
    put(to, &fs::read_to_string(from)?);
    Ok(())
}

/// Adds a member without touching the rest of the text.
fn add_member(path: &Path, name: &str, claude: &Claude) -> Result<()> {
    let text = fs::read_to_string(path)?;
    let end = text.rfind("\n  ]").context("the end of the members")?;
    let member = json!({
        "agentId": format!("{name}@team"), "name": name, "agentType": "gemini-worker",
        "model": "default", "joinedAt": 1, "tmuxPaneId": "synthetic", "cwd": claude.work(),
        "subscriptions": [], "backendType": "ringer", "color": "green", "isActive": true,
    });
    put(path, &format!("{},\n    {member}{}", &text[..end], &text[end..]));
    Ok(())
}
