//! The picture of a team that a real Claude Code leads: what the daemon tells is what its transcript says and what is on
//! disk, each once.

use ringer_testkit::Turn;
use serde_json::{Value, json};

use crate::stage::{Stage, say};

fn events(stage: &Stage) -> Vec<Value> {
    let answer: Value =
        serde_json::from_str(&stage.scene.run(&["events", "--json", "-n", "10000"])).unwrap();
    answer["events"].as_array().unwrap().clone()
}

/// The events of this name in which something is so.
fn told(stage: &Stage, name: &str, pointer: &str, value: &str) -> Vec<Value> {
    let is =
        |event: &Value| event["event"] == name && event.pointer(pointer) == Some(&json!(value));
    events(stage).into_iter().filter(is).collect()
}

fn told_once(stage: &Stage, name: &str, pointer: &str, value: &str) -> Value {
    let what = format!("{name} with {value:?}");
    stage.wait(&what, || !told(stage, name, pointer, value).is_empty());
    let mut found = told(stage, name, pointer, value);
    assert_eq!(found.len(), 1, "{what}: {found:?}");
    found.remove(0)
}

fn a_whole_life(version: &str) {
    let stage = Stage::new(version, &["init"]);
    let team = stage.scene.team.clone();
    stage.scene.run(&["register", "w", "--team", &team, "--pane", "none"]);
    let find = json!({"query": "select:TaskList,TaskGet,TaskCreate,TaskUpdate", "max_results": 9});
    stage.claude.act([Turn::call("ToolSearch", &find)]).unwrap();
    let create = |subject: &str| {
        Turn::call("TaskCreate", &json!({"subject": subject, "description": "All of it."}))
    };
    let update = |input: Value| Turn::call("TaskUpdate", &input);
    stage
        .claude
        .act([
            create("Find it"),
            create("Mend it"),
            update(json!({"taskId": "2", "addBlockedBy": ["1"]})),
            update(json!({"taskId": "1", "owner": "w"})),
            stage.claude.send_message("w", "Please begin with the first.", "Begin"),
        ])
        .unwrap();
    let first = told_once(&stage, "team:task:created", "/task/subject", "Find it");
    let said =
        told_once(&stage, "team:message:received", "/content", "Please begin with the first.");
    for event in [&first, &said] {
        assert!(event["toolUseId"].as_str().is_some_and(|id| id.starts_with("toolu_")), "{event}");
    }
    assert_eq!((&said["from"], &said["to"]), (&json!("team-lead"), &json!("w")));

    // The worker does it, and says so; the lead is shown that.
    let tasks = |words: &[&str]| stage.scene.run(&[&["tasks"], words, &["--team", &team]].concat());
    tasks(&["claim", "1", "--as", "w"]);
    told_once(&stage, "team:task:claimed", "/task/id", "1");
    tasks(&["update", "1", "--status", "completed"]);
    let mut reply = stage.scene.ringer(&["reply", "It was the parser."]);
    reply.env("RINGER_TEAM", &team).env("RINGER_MEMBER", "w");
    assert!(reply.output().unwrap().status.success());
    stage.lead_sees("It was the parser.");
    told_once(&stage, "team:task:completed", "/task/id", "1");
    told_once(&stage, "team:message:received", "/content", "It was the parser.");

    // The picture is what is on disk.
    stage
        .claude
        .act([update(json!({"taskId": "2", "status": "in_progress", "owner": "w"}))])
        .unwrap();
    told_once(&stage, "team:task:claimed", "/task/id", "2");
    let screen: Value = serde_json::from_str(&stage.scene.run(&["team", &team, "--json"])).unwrap();
    assert_eq!((&screen["name"], &screen["role"]), (&json!(team), &json!("lead")));
    assert_eq!(screen["agents"], json!(["w"]));
    let on_disk: Value = serde_json::from_str(&tasks(&["list", "--json"])).unwrap();
    let facts = |tasks: &Value, blockers: &str| -> Vec<Value> {
        let fact = |task: &Value| {
            json!([task["id"], task["subject"], task["status"], task["owner"], task[blockers]])
        };
        tasks.as_array().unwrap().iter().map(fact).collect()
    };
    assert_eq!(facts(&screen["tasks"], "blockedBy"), facts(&on_disk["tasks"], "blocked_by"));

    // Each once, also after all of it was read again.
    let before = events(&stage).len();
    let pid = stage.scene.status()["pid"].to_string();
    ringer_testkit::command("kill").args(["-HUP", &pid]).status().unwrap();
    stage.claude.act([stage.claude.send_message("w", "One more.", "More")]).unwrap();
    told_once(&stage, "team:message:received", "/content", "One more.");
    told_once(&stage, "team:message:received", "/content", "It was the parser.");
    say(&format!(
        "{version}: {before} events of a whole life, {} in the end",
        events(&stage).len()
    ));
    assert_eq!(told(&stage, "team:created", "/teamName", &team).len(), 1);

    stage.claude.exit().ok();
    if version == "2.1.325" {
        told_once(&stage, "team:deleted", "/teamName", &team);
    }
}

#[test]
fn the_daemon_tells_what_claude_code_2_1_39_does() {
    a_whole_life("2.1.39");
}

#[test]
fn the_daemon_tells_what_claude_code_2_1_177_does() {
    a_whole_life("2.1.177");
}

#[test]
fn the_daemon_tells_what_claude_code_2_1_325_does() {
    a_whole_life("2.1.325");
}
