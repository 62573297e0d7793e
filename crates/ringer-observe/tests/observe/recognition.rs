//! Which calls are a team's, and which are not.

use ringer_observe::Warning;
use serde_json::{Value, json};

use crate::stage::{Stage, result_of, said, use_block, use_of};

#[test]
fn tools_of_a_team_wait_for_their_answers_and_are_passed_on_by_what_they_are_about() {
    for (tool, input, category) in [
        ("TeamCreate", json!({"team_name": "t"}), "team_state_change"),
        ("TeamDelete", json!({}), "team_state_change"),
        ("Teammate", json!({"operation": "spawnTeam", "team_name": "t"}), "team_state_change"),
        ("Teammate", json!({"operation": "cleanup"}), "team_state_change"),
        ("Task", json!({"team_name": "t", "name": "a", "prompt": "p"}), "team_state_change"),
        ("Agent", json!({"team_name": "t", "name": "a", "prompt": "p"}), "team_state_change"),
        ("TaskCreate", json!({"subject": "s"}), "team_task_update"),
        ("TaskUpdate", json!({"taskId": "1"}), "team_task_update"),
        ("TaskGet", json!({"taskId": "1"}), "team_task_update"),
        ("TaskList", json!({}), "team_task_update"),
        ("SendMessage", json!({"type": "broadcast", "content": "c"}), "team_message"),
        ("SendMessage", json!({"to": "a", "message": "c"}), "team_message"),
        (
            "Teammate",
            json!({"operation": "requestShutdown", "target_agent_id": "a@t"}),
            "team_message",
        ),
    ] {
        let mut stage = Stage::new();
        let seen = stage.line(&use_of("x", tool, input.clone()));
        assert_eq!(stage.observer.pending(), 1, "{tool} {input}");
        assert!(seen.warnings.is_empty() && seen.events.is_empty());
        let passed_on = serde_json::to_value(&seen.supplements).unwrap();
        assert_eq!(passed_on[0]["type"], category, "{tool} {input}");
    }
}

#[test]
fn other_tools_are_nobodys_business() {
    for (tool, input) in [
        ("Read", json!({"file_path": "/x"})),
        ("Write", json!({"file_path": "/x", "content": "\"SendMessage\""})),
        ("Bash", json!({"command": "echo \"TeamCreate\""})),
        ("Task", json!({"description": "d", "prompt": "p"})),
        ("Task", json!({"team_name": "t", "prompt": "p"})),
        ("Agent", json!({"description": "d", "prompt": "p", "subagent_type": "Explore"})),
        ("TaskOutput", json!({"task_id": "1"})),
        ("TaskStop", json!({"task_id": "1"})),
        ("Teammate", json!({"operation": "discoverTeams"})),
    ] {
        let mut stage = Stage::with_team(&[]);
        let before = stage.observer.state();
        let seen = stage.line(&use_of("x", tool, input.clone()));
        assert_eq!(stage.observer.pending(), 0, "{tool} {input}");
        assert!(seen.warnings.is_empty() && seen.supplements.is_empty(), "{tool} {input}");
        let seen = stage.line(&result_of("x", json!({"team_name": "t", "success": true})));
        assert!(seen.supplements.is_empty() && seen.events.is_empty(), "{tool} {input}");
        assert_eq!(stage.observer.state(), before);
    }
}

#[test]
fn a_call_without_what_it_needs_is_passed_over_with_a_warning() {
    for (tool, input, field) in [
        ("TeamCreate", json!({}), "team_name"),
        ("TaskCreate", json!({"description": "d"}), "subject"),
        ("TaskUpdate", json!({"status": "completed"}), "taskId"),
        ("TaskGet", json!({}), "taskId"),
        ("SendMessage", json!({"recipient": "a"}), "type"),
        ("SendMessage", json!({"type": "message", "content": "c"}), "to"),
        ("TeamCreate", json!({"team_name": ["t"]}), "team_name"),
        ("TaskUpdate", json!({"taskId": {"id": 1}}), "taskId"),
        ("TaskCreate", json!("subject"), "input"),
        ("Teammate", json!({"team_name": "t"}), "operation"),
    ] {
        let mut stage = Stage::new();
        let seen = stage.line(&use_of("x", tool, input.clone()));
        let expected = Warning::Lacks { tool: tool.to_owned(), field };
        assert_eq!(seen.warnings, [expected], "{tool} {input}");
        assert_eq!(seen.warnings[0].to_string(), format!("`{tool}` without `{field}`"));
        assert_eq!((stage.observer.pending(), seen.supplements.len()), (0, 0), "{tool} {input}");
    }
}

#[test]
fn a_new_name_of_a_teams_kind_is_told_once() {
    let mut stage = Stage::new();
    for tool in ["TeamInvite", "TaskArchive", "AgentPause"] {
        let expected = Warning::UnknownTool(tool.to_owned());
        assert_eq!(stage.line(&use_of("x", tool, json!({}))).warnings, [expected]);
        assert!(stage.line(&use_of("y", tool, json!({}))).warnings.is_empty(), "{tool}");
    }
    for n in 0..1000 {
        stage.line(&use_of("x", &format!("Team{n}"), json!({})));
    }
    let late = stage.line(&use_of("x", "TeamLate", json!({})));
    assert!(late.warnings.is_empty(), "so many new names are no news");
}

#[test]
fn a_bad_call_takes_only_itself_away() {
    let mut stage = Stage::new();
    let blocks = vec![
        json!({"type": "text", "text": "words"}),
        json!(7),
        json!({"type": "tool_use", "id": 5, "name": "TeamCreate", "input": {"team_name": "t"}}),
        use_block("bad", "TeamCreate", json!({})),
        json!({"type": "tool_use", "name": "TeamCreate", "input": {"team_name": "t"}}),
        use_block("a", "TaskCreate", json!({"subject": "one"})),
        use_block("b", "TaskCreate", json!({"subject": "two"})),
        use_block("c", "Bash", json!({"command": "ls"})),
    ];
    let seen = stage.line(&said("m", blocks));
    let ids: Vec<_> =
        seen.supplements.iter().map(ringer_observe::Supplement::tool_use_id).collect();
    assert_eq!((ids, stage.observer.pending(), seen.warnings.len()), (vec!["a", "b"], 2, 1));
}

#[test]
fn helpers_never_become_members() {
    let launched = json!({"status": "async_launched", "agentId": "a1b2c3", "name": "helper"});
    let done = json!({"status": "completed", "agentId": "a1b2c3", "content": [{"type": "text", "text": "x"}]});
    for (tool, input, result) in [
        ("Task", json!({"description": "d", "prompt": "p"}), done.clone()),
        ("Agent", json!({"description": "d", "prompt": "p"}), done.clone()),
        ("Agent", json!({"name": "helper", "prompt": "p"}), launched.clone()),
        ("Agent", json!({"name": "helper", "prompt": "p", "run_in_background": true}), launched),
        ("Agent", json!({"name": "helper", "prompt": "p"}), done),
        ("Agent", json!({"name": "helper", "prompt": "p"}), Value::Null),
    ] {
        for mut stage in [Stage::new(), Stage::with_team(&["alice"])] {
            let before = stage.observer.team().cloned();
            assert!(stage.does(tool, input.clone(), result.clone()).is_empty(), "{input} {result}");
            assert_eq!(stage.observer.team(), before.as_ref(), "{input} {result}");
            assert_eq!(stage.observer.pending(), 0);
        }
    }
}

#[test]
fn both_forms_of_a_message_say_the_same() {
    let inputs = [
        json!({"type": "message", "recipient": "alice", "content": "c", "summary": "s"}),
        json!({"to": "alice", "message": "c", "summary": "s"}),
        json!({"to": "alice", "message": "c", "summary": "s", "type": "message", "recipient": "alice", "content": "c"}),
        json!({"to": "@alice", "message": "c", "summary": "s"}),
        json!({"to": "alice@t", "message": "c", "summary": "s"}),
    ];
    let said = inputs.map(|input| Stage::with_team(&["alice"]).sends(input));
    for events in &said {
        assert_eq!(events[0].what, said[0][0].what);
    }
    let broadcasts =
        [json!({"type": "broadcast", "content": "c"}), json!({"to": "*", "message": "c"})];
    let said = broadcasts.map(|input| Stage::with_team(&["alice"]).sends(input));
    assert_eq!(said[0][0].what, said[1][0].what);
    for response in [
        json!({"type": "shutdown_response", "request_id": "shutdown-1@alice", "approve": true, "reason": "r"}),
        json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "shutdown-1@alice", "approve": true, "reason": "r"}}),
    ] {
        let events = Stage::with_team(&["alice"]).sends(response);
        let event = serde_json::to_value(&events[0]).unwrap();
        assert_eq!(
            (&event["member"], &event["approved"], &event["reason"]),
            (&json!("alice"), &json!(true), &json!("r"))
        );
    }
}
