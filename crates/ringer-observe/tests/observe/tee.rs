//! What is added to a stream that is passed through.

use serde_json::{Value, json};

use crate::stage::{Stage, error_of, result_of, said, use_block, use_of};

fn added(stage: &mut Stage, line: &Value) -> Value {
    serde_json::to_value(stage.line(line).supplements).unwrap()
}

#[test]
fn a_use_is_added_with_its_input_and_an_answer_with_its_result() {
    for (tool, input, result, category) in [
        (
            "TeamCreate",
            json!({"team_name": "t", "description": "d"}),
            json!({"team_name": "t"}),
            "team_state_change",
        ),
        ("TeamDelete", json!({}), json!({"success": false, "message": "no"}), "team_state_change"),
        (
            "Task",
            json!({"team_name": "t", "name": "a", "prompt": "p"}),
            json!({"status": "teammate_spawned"}),
            "team_state_change",
        ),
        ("TaskCreate", json!({"subject": "s"}), json!({"task": {"id": "1"}}), "team_task_update"),
        (
            "TaskUpdate",
            json!({"taskId": 1, "metadata": {"x": [1.50]}}),
            json!({"success": true}),
            "team_task_update",
        ),
        ("TaskGet", json!({"taskId": "1"}), json!({"task": null}), "team_task_update"),
        ("TaskList", json!({}), json!({"tasks": []}), "team_task_update"),
        (
            "SendMessage",
            json!({"to": "a", "message": "m"}),
            json!({"success": true}),
            "team_message",
        ),
    ] {
        let mut stage = Stage::new();
        let metadata = json!({"toolName": tool, "teamToolUseId": "toolu_a", "input": input});
        let use_line = use_of("toolu_a", tool, input);
        assert_eq!(
            added(&mut stage, &use_line),
            json!([{"type": category, "role": "system", "metadata": metadata}])
        );
        let metadata = json!({"toolName": tool, "teamToolUseId": "toolu_a", "result": result, "isError": false});
        let answer = result_of("toolu_a", result);
        assert_eq!(
            added(&mut stage, &answer),
            json!([{"type": category, "role": "system", "metadata": metadata}])
        );
    }
}

#[test]
fn nothing_is_added_to_what_is_not_a_teams() {
    let mut stage = Stage::with_team(&["alice"]);
    for (tool, input) in [
        ("Bash", json!({"command": "ls"})),
        ("Task", json!({"description": "d", "prompt": "p"})),
        ("Agent", json!({"name": "helper", "prompt": "p"})),
        ("TeamCreate", json!({})),
        ("TeamInvite", json!({})),
    ] {
        assert_eq!(
            added(&mut stage, &use_of("a", tool, input.clone())),
            json!([]),
            "{tool} {input}"
        );
        assert_eq!(
            added(&mut stage, &result_of("a", json!({"status": "async_launched"}))),
            json!([]),
            "{tool} {input}"
        );
    }
}

#[test]
fn a_spawn_that_only_its_answer_shows_is_added_with_that() {
    let mut stage = Stage::new();
    assert_eq!(
        added(&mut stage, &use_of("a", "Agent", json!({"name": "alice", "prompt": "p"}))),
        json!([])
    );
    let result =
        json!({"status": "teammate_spawned", "name": "alice", "team_name": "session-0657d5f2"});
    let answer = added(&mut stage, &result_of("a", result.clone()));
    assert_eq!(
        (&answer[0]["type"], &answer[0]["metadata"]["result"]),
        (&json!("team_state_change"), &result)
    );
}

#[test]
fn each_of_several_uses_is_added_in_its_order() {
    let mut stage = Stage::new();
    let line = said(
        "m",
        vec![
            use_block("a", "TaskCreate", json!({"subject": "s"})),
            use_block("b", "Bash", json!({"command": "ls"})),
            use_block("c", "SendMessage", json!({"to": "x", "message": "m"})),
        ],
    );
    let added = added(&mut stage, &line);
    let ids: Vec<_> =
        added.as_array().unwrap().iter().map(|line| &line["metadata"]["teamToolUseId"]).collect();
    assert_eq!(ids, ["a", "c"]);
}

#[test]
fn what_the_model_was_told_is_added_where_nothing_else_was_kept() {
    let mut stage = Stage::new();
    stage.line(&use_of("a", "TaskList", json!({})));
    let mut answer = result_of("a", Value::Null);
    answer.as_object_mut().unwrap().remove("toolUseResult");
    assert_eq!(added(&mut stage, &answer)[0]["metadata"]["result"], "done");
    stage.line(&use_of("b", "TaskList", json!({})));
    let mut answer = error_of("b");
    answer.as_object_mut().unwrap().remove("toolUseResult");
    let metadata = &added(&mut stage, &answer)[0]["metadata"];
    assert_eq!((&metadata["result"], &metadata["isError"]), (&json!("no"), &json!(true)));
}

#[test]
fn what_is_added_has_no_line_ends_in_it() {
    let mut stage = Stage::new();
    let text = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"SendMessage","input":{"to":"x","message":"one\ntwo"}}]}}"#;
    let seen = stage.bytes(text.as_bytes());
    let line = serde_json::to_string(&seen.supplements[0]).unwrap();
    assert!(!line.contains('\n') && line.contains(r"one\ntwo"), "{line}");
}
