//! The table of transitions, row by row, and what each does when it comes a second time.
//!
//! A second time means: the same call and the same answer, in lines that are not the same bytes, as after a reconnection.
//! Then nothing changes and nothing is told. Where a row has a guard of its own, so does another call of the same content.

use ringer_observe::{Role, Standing};
use serde_json::{Value, json};

use crate::stage::{Stage, error_of, names, result_of, said, use_block, use_of};

/// A row: what is called, with which answer, what is told, and what the state is then.
struct Row {
    what: &'static str,
    tool: &'static str,
    input: Value,
    result: Value,
    events: &'static [&'static str],
    /// Pointers into the state, and what is there afterwards; all else is as it was.
    changes: Vec<(&'static str, Value)>,
    /// Whether the same from another call changes and tells nothing either.
    is_guarded: bool,
}

/// A team with alice, who has task 1, and task 2, which nobody has.
fn stage() -> Stage {
    let mut stage = Stage::with_team(&["alice"]);
    stage.creates_task("1");
    stage.creates_task("2");
    stage.updates(json!({"taskId": "1", "status": "in_progress", "owner": "alice"}));
    stage
}

fn state(stage: &Stage) -> Value {
    serde_json::to_value(stage.observer.state()).unwrap()
}

fn message(what: &'static str, input: Value, events: &'static [&'static str]) -> Row {
    let result = json!({"success": true});
    Row { what, tool: "SendMessage", input, result, events, changes: vec![], is_guarded: false }
}

fn update(
    what: &'static str,
    input: Value,
    events: &'static [&'static str],
    changes: Vec<(&'static str, Value)>,
) -> Row {
    let result = json!({"success": true, "taskId": input["taskId"]});
    Row { what, tool: "TaskUpdate", input, result, events, changes, is_guarded: true }
}

#[expect(clippy::too_many_lines, reason = "it is a table")]
fn rows() -> Vec<Row> {
    let bob = json!({"name": "bob", "agentId": "bob@t", "agentType": "worker", "status": "active"});
    let third = json!({"id": "3", "subject": "s", "description": "d", "activeForm": "f", "status": "pending", "blocks": [], "blockedBy": []});
    let response = |approve: bool| json!({"type": "shutdown_response", "request_id": "shutdown-1@alice", "approve": approve});
    let plan = |approve: bool| json!({"type": "plan_approval_response", "request_id": "p", "recipient": "alice", "approve": approve});
    vec![
        Row {
            what: "a team that is there is not made again",
            tool: "TeamCreate",
            input: json!({"team_name": "other"}),
            result: json!({"team_name": "other"}),
            events: &[],
            changes: vec![],
            is_guarded: true,
        },
        Row {
            what: "the team is deleted",
            tool: "TeamDelete",
            input: json!({}),
            result: json!({"success": true}),
            events: &["team:deleted"],
            changes: vec![("/team", Value::Null), ("/agents", json!([]))],
            is_guarded: true,
        },
        Row {
            what: "a member joins",
            tool: "Task",
            input: json!({"team_name": "t", "name": "bob", "prompt": "p", "subagent_type": "worker"}),
            result: json!({"status": "teammate_spawned", "agent_id": "bob@t", "name": "bob"}),
            events: &["team:member:joined"],
            changes: vec![
                ("/team/members/1", bob),
                ("/team/agents/1", json!("bob")),
                ("/agents/1", json!("bob")),
            ],
            is_guarded: true,
        },
        Row {
            what: "who is a member does not join again",
            tool: "Task",
            input: json!({"team_name": "t", "name": "alice", "prompt": "p"}),
            result: json!({"status": "teammate_spawned", "agent_id": "alice@t", "name": "alice"}),
            events: &[],
            changes: vec![],
            is_guarded: true,
        },
        Row {
            what: "a task is created",
            tool: "TaskCreate",
            input: json!({"subject": "s", "description": "d", "activeForm": "f"}),
            result: json!({"task": {"id": "3", "subject": "s"}}),
            events: &["team:task:created"],
            changes: vec![("/team/tasks/2", third)],
            is_guarded: true,
        },
        Row {
            what: "a task that is there is not created again",
            tool: "TaskCreate",
            input: json!({"subject": "another"}),
            result: json!({"task": {"id": "1"}}),
            events: &[],
            changes: vec![],
            is_guarded: true,
        },
        update(
            "a task is claimed",
            json!({"taskId": "2", "status": "in_progress", "owner": "alice"}),
            &["team:task:claimed"],
            vec![
                ("/team/tasks/1/status", json!("in_progress")),
                ("/team/tasks/1/owner", json!("alice")),
            ],
        ),
        update(
            "a task is completed",
            json!({"taskId": "1", "status": "completed"}),
            &["team:task:completed"],
            vec![("/team/tasks/0/status", json!("completed"))],
        ),
        update(
            "a task is given to somebody",
            json!({"taskId": "2", "owner": "alice"}),
            &[],
            vec![("/team/tasks/1/owner", json!("alice"))],
        ),
        update(
            "a task waits for another",
            json!({"taskId": "2", "addBlockedBy": ["1"]}),
            &[],
            vec![("/team/tasks/0/blocks", json!(["2"])), ("/team/tasks/1/blockedBy", json!(["1"]))],
        ),
        update(
            "another waits for a task",
            json!({"taskId": "1", "addBlocks": ["2"]}),
            &[],
            vec![("/team/tasks/0/blocks", json!(["2"])), ("/team/tasks/1/blockedBy", json!(["1"]))],
        ),
        update(
            "a task is deleted",
            json!({"taskId": "2", "status": "deleted"}),
            &[],
            vec![("/team/tasks/1", Value::Null)],
        ),
        update(
            "a task that is not there is not updated",
            json!({"taskId": "99", "status": "completed"}),
            &[],
            vec![],
        ),
        Row {
            what: "a task is looked at",
            tool: "TaskGet",
            input: json!({"taskId": "1"}),
            result: json!({"task": {"id": "1", "subject": "x", "status": "completed"}}),
            events: &[],
            changes: vec![],
            is_guarded: true,
        },
        Row {
            what: "tasks are looked at",
            tool: "TaskList",
            input: json!({}),
            result: json!({"tasks": [{"id": "7", "subject": "x", "status": "pending"}]}),
            events: &[],
            changes: vec![],
            is_guarded: true,
        },
        message(
            "a message",
            json!({"type": "message", "recipient": "alice", "content": "c"}),
            &["team:message:received"],
        ),
        message(
            "a broadcast",
            json!({"type": "broadcast", "content": "c"}),
            &["team:message:received"],
        ),
        message(
            "who is not there is asked to end",
            json!({"type": "shutdown_request", "recipient": "nobody"}),
            &["team:shutdown:requested"],
        ),
        Row {
            what: "alice is asked to end",
            tool: "SendMessage",
            input: json!({"type": "shutdown_request", "recipient": "alice"}),
            result: json!({"request_id": "shutdown-1@alice", "target": "alice"}),
            events: &["team:shutdown:requested"],
            changes: vec![("/team/shuttingDown", json!(["alice"]))],
            is_guarded: false,
        },
        Row {
            what: "alice agrees to end",
            tool: "SendMessage",
            input: response(true),
            result: json!({"success": true}),
            events: &["team:shutdown:response", "team:member:shutdown"],
            changes: vec![("/team/members/0/status", json!("shutdown"))],
            is_guarded: false,
        },
        message("alice does not agree to end", response(false), &["team:shutdown:response"]),
        message(
            "who is not there agrees to end",
            json!({"type": "shutdown_response", "request_id": "shutdown-1@nobody", "approve": true}),
            &["team:shutdown:response"],
        ),
        message(
            "a plan is to be approved",
            json!({"type": "plan_approval_request", "content": "plan"}),
            &["team:plan:requested"],
        ),
        message("a plan is approved", plan(true), &["team:plan:resolved"]),
        message("a plan is not approved", plan(false), &["team:plan:resolved"]),
    ]
}

/// Puts what is given where it belongs; null takes away.
fn put(state: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match (state.pointer_mut(parent).unwrap(), key.parse::<usize>()) {
        (Value::Array(list), Ok(at)) if value.is_null() => drop(list.remove(at)),
        (Value::Array(list), Ok(at)) if at == list.len() => list.push(value),
        (Value::Array(list), Ok(at)) => list[at] = value,
        (parent, _) => parent[key] = value,
    }
}

#[test]
fn every_row_changes_what_it_says_and_a_second_time_nothing() {
    for row in rows() {
        let mut stage = stage();
        let mut expected = state(&stage);
        row.changes.iter().for_each(|(pointer, value)| put(&mut expected, pointer, value.clone()));
        let mut pair = |id: &str| {
            let line = said("m", vec![use_block(id, row.tool, row.input.clone())]);
            let mut seen = stage.line(&line).events;
            seen.extend(stage.line(&result_of(id, row.result.clone())).events);
            (names(&seen), state(&stage))
        };
        assert_eq!(pair("toolu_x"), (row.events.to_vec(), expected.clone()), "{}", row.what);
        assert_eq!(pair("toolu_x"), (vec![], expected.clone()), "again: {}", row.what);
        let (told, after) = pair("toolu_y");
        assert_eq!(after, expected, "by another call: {}", row.what);
        assert!(!row.is_guarded || told.is_empty(), "by another call: {}: {told:?}", row.what);
    }
}

#[test]
fn every_row_changes_nothing_if_the_answer_is_an_error() {
    for row in rows() {
        let mut stage = stage();
        let before = state(&stage);
        let mut seen = stage.line(&use_of("toolu_x", row.tool, row.input.clone())).events;
        seen.extend(stage.line(&error_of("toolu_x")).events);
        assert_eq!((names(&seen), state(&stage)), (vec![], before), "{}", row.what);
    }
}

#[test]
fn a_team_is_made_with_nothing_on_it() {
    let mut stage = Stage::new();
    stage.does("TeamCreate", json!({"team_name": "t"}), json!({}));
    let team = stage.team();
    assert_eq!((team.name.as_str(), team.role), ("t", Role::Lead));
    assert!(team.members.is_empty() && team.tasks.is_empty());
}

#[test]
fn an_error_keeps_what_the_last_failure_said() {
    let mut stage = stage();
    let failed =
        json!({"success": false, "message": "Cannot cleanup team with 1 active member(s): alice."});
    stage.does("TeamDelete", json!({}), failed);
    let before = state(&stage);
    assert_eq!(before["team"]["error"], "Cannot cleanup team with 1 active member(s): alice.");
    stage.line(&use_of("toolu_x", "TeamDelete", json!({})));
    stage.line(&error_of("toolu_x"));
    assert_eq!(state(&stage), before);
}

#[test]
fn what_is_written_last_is_what_a_task_is() {
    let mut stage = Stage::with_team(&["alice", "bob"]);
    stage.creates_task("1");
    stage.line(&use_of(
        "a",
        "TaskUpdate",
        json!({"taskId": "1", "status": "in_progress", "owner": "alice"}),
    ));
    stage.line(&use_of(
        "b",
        "TaskUpdate",
        json!({"taskId": "1", "status": "in_progress", "owner": "bob"}),
    ));
    stage.line(&result_of("b", json!({"success": true})));
    assert_eq!(stage.task("1")["owner"], "bob");
    stage.line(&result_of("a", json!({"success": true})));
    assert_eq!(stage.task("1")["owner"], "alice");
}

#[test]
fn tasks_may_wait_for_each_other_in_a_circle() {
    let mut stage = stage();
    stage.updates(json!({"taskId": "1", "addBlocks": ["2"]}));
    stage.updates(json!({"taskId": "2", "addBlocks": ["1"]}));
    for (id, other) in [("1", "2"), ("2", "1")] {
        let task = stage.task(id);
        assert_eq!((&task["blocks"], &task["blockedBy"]), (&json!([other]), &json!([other])));
    }
    stage.updates(json!({"taskId": "1", "addBlocks": ["99"], "addBlockedBy": ["98"]}));
    assert_eq!(stage.task("1")["blocks"], json!(["2"]), "only for what is there");
}

#[test]
fn a_deleted_task_is_waited_for_no_more() {
    let mut stage = stage();
    stage.updates(json!({"taskId": "1", "addBlocks": ["2"]}));
    stage.updates(json!({"taskId": "1", "status": "deleted"}));
    assert_eq!(stage.task("2")["blockedBy"], json!([]));
}

#[test]
fn numbers_may_be_numbers() {
    let mut stage = Stage::with_team(&["alice"]);
    let created = |id: i32| json!({"task": {"id": id}});
    stage.does("TaskCreate", json!({"subject": "one"}), created(1));
    stage.does("TaskCreate", json!({"subject": 2}), created(2));
    let events = stage
        .updates(json!({"taskId": 1, "status": "in_progress", "owner": "alice", "addBlocks": [2]}));
    assert_eq!(names(&events), ["team:task:claimed"]);
    let (one, two) = (stage.task("1"), stage.task("2"));
    assert_eq!((&one["owner"], &one["blocks"]), (&json!("alice"), &json!(["2"])));
    assert_eq!((&two["subject"], &two["blockedBy"]), (&json!("2"), &json!(["1"])));
}

#[test]
fn the_number_of_a_task_is_found_wherever_versions_say_it() {
    for result in [
        json!({"task": {"id": "5", "subject": "s"}}),
        json!({"taskId": "5"}),
        json!({"id": 5}),
        json!("Task #5 created successfully: s"),
    ] {
        let mut stage = Stage::with_team(&[]);
        let mut answer = result_of("x", result.clone());
        if let Some(words) = result.as_str() {
            answer["message"]["content"][0]["content"] = json!(words);
        }
        stage.line(&use_of("x", "TaskCreate", json!({"subject": "s"})));
        assert_eq!(names(&stage.line(&answer).events), ["team:task:created"], "{result}");
        assert_eq!(stage.task("5")["subject"], "s");
    }
}

#[test]
fn a_name_that_is_given_again_is_somebody_new() {
    let mut stage = stage();
    stage.hears("alice", r#"{"type":"shutdown_approved","requestId":"shutdown-1@alice"}"#);
    assert_eq!(stage.standing("alice"), Standing::Shutdown);
    assert_eq!(names(&stage.spawns("alice")), ["team:member:joined"]);
    assert_eq!((stage.standing("alice"), stage.team().members.len()), (Standing::Active, 1));
}
