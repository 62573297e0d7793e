//! Claude's own Agent call makes a worker: both directions are Claude Code's own then.

use std::fs;

use ringer_testkit::{Turn, put};
use serde_json::{Value, json};

use crate::stage::{Stage, agree, ask_to_shut_down, notify};

const VERSION: &str = "2.1.325";

fn spawn(name: &str, prompt: &str) -> Turn {
    Turn::call(
        "Agent",
        &json!({"name": name, "prompt": prompt, "description": "help", "subagent_type": "general-purpose"}),
    )
}

fn panes(stage: &Stage) -> Vec<String> {
    let listed = stage.claude.tmux(&["list-panes", "-a", "-F", "#{pane_id} #{pane_dead}"]).unwrap();
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn claude_spawns_gemini_itself() {
    let stage = Stage::new(VERSION, &["init", "--spawn"]);
    let gemini = stage.gemini("gemini");
    stage.profile("gemini", &gemini);
    gemini.model.queue([notify("success", "FIRST TASK DONE"), Turn::say("reported")]);
    let before = panes(&stage);
    stage.claude.act([spawn("gemini-one", "FIRST PROMPT: count the files")]).unwrap();
    stage.wait("the first prompt", || gemini.model.saw("FIRST PROMPT: count the files"));
    stage.lead_sees("FIRST TASK DONE");
    let config = stage.scene.world.config(&stage.scene.team);
    let members = config["members"].as_array().unwrap();
    let member = members.iter().find(|m| m["name"] == "gemini-one").unwrap();
    assert_eq!(member["backendType"], "tmux", "it is Claude Code's own: {member}");
    let inbox = fs::read_to_string(stage.scene.world.inbox(&stage.scene.team, "gemini-one"));
    let inbox: Value = serde_json::from_str(&inbox.unwrap()).unwrap();
    assert!(inbox[0]["lead_sig"].is_string(), "it is kept: {inbox}");

    gemini.model.queue([notify("success", "SECOND TASK DONE"), Turn::say("reported")]);
    stage
        .claude
        .act([stage.claude.send_message("gemini-one", "and the directories", "more")])
        .unwrap();
    stage.lead_sees("SECOND TASK DONE");

    gemini.model.queue([agree(), Turn::say("bye")]);
    stage.claude.act([ask_to_shut_down(VERSION, "gemini-one")]).unwrap();
    stage.wait("it to be off the team", || !stage.members().contains(&"gemini-one".to_owned()));
    stage.lead_sees("shutdown_approved");
    stage.wait("its pane to close", || panes(&stage) == before);
    let is_empty = || stage.scene.status()["members"].as_array().unwrap().is_empty();
    stage.wait("it to be off the roster", is_empty);
}

#[test]
fn any_other_name_is_claude_code_with_the_same_arguments() {
    let stage = Stage::new(VERSION, &["init", "--spawn"]);
    stage.claude.act([spawn("helper-one", "HELPER PROMPT")]).unwrap();
    stage.wait("a Claude of that name", || stage.claude.model().saw("HELPER PROMPT"));
    let pid = || {
        let panes = stage.claude.tmux(&["list-panes", "-a", "-F", "#{pane_pid} #{pane_dead}"]);
        let panes = panes.unwrap();
        let last = panes.lines().last()?.strip_suffix(" 0")?;
        let words = fs::read_to_string(format!("/proc/{last}/cmdline")).ok()?;
        words.contains("helper-one").then_some(words)
    };
    stage.wait("its process", || pid().is_some());
    let words = pid().unwrap();
    let words: Vec<&str> = words.split('\0').collect();
    assert!(words[0].contains("claude"), "{words:?}");
    assert_eq!(words[words.iter().position(|w| *w == "--agent-name").unwrap() + 1], "helper-one");
    assert!(words.contains(&"--lead-verify-key") && !words.contains(&"teammate"), "{words:?}");
}

#[test]
fn a_worker_that_cannot_be_started_is_reported_to_the_lead() {
    let stage = Stage::new(VERSION, &["init", "--spawn"]);
    let dir = stage.scene.settings_file().with_file_name("workers");
    fs::create_dir_all(&dir).unwrap();
    put(&dir.join("gemini.toml"), "command = [\"no-such-gemini\"]\n");
    stage.claude.act([spawn("gemini-two", "hello")]).unwrap();
    stage.lead_sees("gemini-two was not started: could not start `no-such-gemini`");
}
