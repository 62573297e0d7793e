//! The board, from both sides: Claude Code's own list, and a real worker's tools.

use ringer_testkit::Turn;
use serde_json::json;

use crate::seat::Kind;
use crate::stage::{Stage, say};

const CLAIM: &str = "mcp_ringer_claim_task";
const UPDATE: &str = "mcp_ringer_update_task_status";

fn create(subject: &str, description: &str) -> Turn {
    Turn::call("TaskCreate", &json!({"subject": subject, "description": description}))
}

fn update(id: &str, what: &serde_json::Value) -> Turn {
    let mut input = json!({"taskId": id});
    input.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
    Turn::call("TaskUpdate", &input)
}

/// What Claude Code's own list says, in the eyes of its model.
fn listed(stage: &Stage, line: &str) {
    stage.claude.act([Turn::call("TaskList", &json!({}))]).unwrap();
    let seen = stage.claude.model().saw(line);
    assert!(seen, "no {line:?} in Claude Code's list\n{}", stage.claude.model().end());
}

fn both_sides(version: &str) {
    let stage = Stage::new(version, &["init"]);
    let find = json!({"query": "select:TaskList,TaskGet,TaskCreate,TaskUpdate", "max_results": 9});
    stage.claude.act([Turn::call("ToolSearch", &find)]).unwrap();
    let gemini = stage.gemini("gem");
    let _seat = stage.seat(Kind::Host, "gem", &gemini);

    // Claude makes two tasks, of which one waits for the other, and gives one away.
    let complete = json!({
        "task_id": "1", "status": "completed", "result_summary": "3 cases of 40 fail on empty input",
    });
    gemini.model.queue([
        Turn::call(CLAIM, &json!({"task_id": "2"})),
        Turn::call(CLAIM, &json!({"task_id": "1"})),
        Turn::call(UPDATE, &complete),
        Turn::say("done with task 1"),
    ]);
    let turns = [
        create("Test the parser", "Run all of tests/parser and say which cases fail."),
        create("Mend the parser", "Mend what fails."),
        update("2", &json!({"addBlockedBy": ["1"]})),
        update("1", &json!({"owner": "gem"})),
    ];
    stage.claude.act(turns).unwrap();
    let assignment = "gave you task 1: Test the parser\nRun all of tests/parser";
    stage.wait("the worker to be given its task", || gemini.model.saw(assignment));
    stage.wait("the worker to be told of the way", || {
        gemini.model.saw("task 2 is blocked by task 1") && gemini.model.called_at(UPDATE).is_some()
    });
    let seen = stage.lead_sees("Task #1 (Test the parser) is completed.");
    assert!(stage.claude.model().saw("Result: 3 cases of 40 fail on empty input"));
    let took = seen - gemini.model.called_at(UPDATE).unwrap();
    say(&format!("{version}: from the worker's call to the lead's model {took:.0?}"));
    listed(&stage, "#1 [completed] Test the parser (gem)\n#2 [pending] Mend the parser");

    // What we make is on Claude's list, under the next number, and Claude can go on with it.
    let tasks = |words: &[&str]| {
        stage.scene.run(&[&["tasks"], words, &["--team", &stage.scene.team]].concat())
    };
    let made = tasks(&["create", "-s", "From outside", "--blocked-by", "2"]);
    assert!(made.contains("created task 3"), "{made}");
    listed(&stage, "#3 [pending] From outside [blocked by #2]");
    let keep = json!({"owner": "gem", "metadata": {"reviewed": true}});
    stage.claude.act([update("3", &keep)]).unwrap();
    stage.wait("the second task", || gemini.model.saw("gave you task 3: From outside"));

    // Claude completes what the worker waits for: it is told, once, and goes on.
    gemini.model.queue([Turn::call(CLAIM, &json!({"task_id": "3"})), Turn::say("begun")]);
    let done = ["in_progress", "completed"].map(|status| update("2", &json!({"status": status})));
    stage.claude.act(done).unwrap();
    let free = "Task #3 (From outside) waits for nothing any more";
    stage.wait("the worker to be told", || gemini.model.saw(free));
    stage.wait("the worker to begin", || {
        let task = tasks(&["get", "3", "--json"]);
        task.contains(r#""status":"in_progress""#) && task.contains(r#""owner":"gem""#)
    });
    listed(&stage, "#3 [in_progress] From outside (gem)");
    let task = tasks(&["get", "3"]);
    assert!(task.contains("reviewed"), "{task}");
    assert_eq!(stage.scene.run(&["log", "--text", "-n", "500"]).matches(free).count(), 1);

    // It ends: what it had is anybody's again, and the lead knows.
    stage.scene.run(&["stop", "gem"]);
    stage.lead_sees("This task is pending again, without an owner: #3 (From outside)");
    stage.wait("the task to be given back", || {
        let task = tasks(&["get", "3", "--json"]);
        task.contains(r#""owner":null"#) && task.contains(r#""status":"pending""#)
    });
}

#[test]
fn tasks_go_both_ways_with_claude_code_2_1_325() {
    both_sides("2.1.325");
}

#[test]
fn tasks_go_both_ways_with_claude_code_2_1_39() {
    both_sides("2.1.39");
}
