//! What is told, in which form, and of whom.

use ringer_observe::{Event, Observer, Role, Standing};
use serde_json::{Value, json};

use crate::stage::{SESSION, Stage, mail, names, only, result_of, said, says, use_block, use_of};

#[test]
fn every_event_has_its_session_team_call_and_time() {
    let mut stage = Stage::new();
    stage.line(&use_of("toolu_a", "TeamCreate", json!({"team_name": "t"})));
    let event = only(&stage.line(&result_of("toolu_a", json!({}))).events);
    assert_eq!(
        event,
        json!({
            "event": "team:created", "sessionId": SESSION, "teamName": "t", "toolUseId": "toolu_a",
            "time": "2026-02-05T20:30:00.002Z",
        })
    );
    let event = only(&stage.does("TaskCreate", json!({"subject": "s"}), json!({"taskId": "1"})));
    assert_eq!(
        event["task"],
        json!({"id": "1", "subject": "s", "status": "pending", "blocks": [], "blockedBy": []})
    );
    assert!(event["toolUseId"].is_string());
    let heard = only(&stage.hears("alice", "hello"));
    assert_eq!(
        (&heard["event"], &heard["from"], &heard["to"], &heard["content"], heard.get("toolUseId")),
        (
            &json!("team:message:received"),
            &json!("alice"),
            &json!("team-lead"),
            &json!("hello"),
            None
        )
    );
}

#[test]
fn events_can_be_read_again() {
    let mut stage = Stage::with_team(&[]);
    let mut events = stage.spawns("alice");
    events.extend(stage.creates_task("1"));
    events.extend(stage.updates(json!({"taskId": "1", "owner": "alice", "status": "in_progress"})));
    events.extend(stage.updates(json!({"taskId": "1", "status": "completed"})));
    events.extend(stage.sends(json!({"to": "*", "message": "all"})));
    events.extend(stage.sends(json!({"type": "plan_approval_request"})));
    events.extend(stage.sends(json!({"to": "a", "message": {"type": "plan_approval_response", "request_id": "p", "approve": true}})));
    events.extend(stage.sends(json!({"to": "alice", "message": {"type": "shutdown_request"}})));
    events.extend(stage.hears("alice", r#"{"type":"shutdown_approved"}"#));
    events.extend(stage.line(&json!({"type": "result", "num_turns": 1})).events);
    events.extend(stage.does("TeamDelete", json!({}), json!({"success": true})));
    assert!(events.len() >= 12, "{:?}", names(&events));
    for event in events {
        let text = serde_json::to_string(&event).unwrap();
        assert!(text.starts_with(&format!("{{\"event\":\"{}\"", event.what.name())), "{text}");
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}

#[test]
fn nothing_is_told_of_a_team_in_a_session_without_one() {
    let mut stage = Stage::new();
    let mut told = stage.creates_task("1");
    told.extend(stage.updates(json!({"taskId": "1", "status": "in_progress", "owner": "me"})));
    told.extend(stage.updates(json!({"taskId": "1", "status": "completed"})));
    told.extend(stage.does("TaskList", json!({}), json!({"tasks": []})));
    told.extend(stage.does(
        "Task",
        json!({"description": "d", "prompt": "p"}),
        json!({"status": "completed"}),
    ));
    told.extend(stage.does(
        "Agent",
        json!({"name": "h", "prompt": "p"}),
        json!({"status": "async_launched"}),
    ));
    told.extend(stage.does("Bash", json!({"command": "ls"}), json!({"stdout": ""})));
    told.extend(stage.does("TeamDelete", json!({}), json!({"success": true})));
    told.extend(stage.hears("alice", r#"{"type":"idle_notification"}"#));
    told.extend(stage.hears("alice", "words"));
    told.extend(stage.line(&says("m")).events);
    told.extend(stage.observer.finish());
    assert!(told.is_empty(), "{told:?}");
    assert_eq!((stage.observer.team(), stage.observer.state().agents), (None, vec![]));
}

#[test]
fn mail_that_is_shown_is_told_with_who_it_is_from() {
    let cases: [(&str, &str, &[&str], Standing); 9] = [
        ("alice", "words", &["team:message:received"], Standing::Active),
        (
            "alice",
            r#"{"type":"idle_notification","from":"bob"}"#,
            &["team:member:idle"],
            Standing::Idle,
        ),
        (
            "alice",
            r#"{"type":"shutdown_approved"}"#,
            &["team:shutdown:response", "team:member:shutdown"],
            Standing::Shutdown,
        ),
        (
            "alice",
            r#"{"type":"shutdown_rejected","reason":"no"}"#,
            &["team:shutdown:response"],
            Standing::Active,
        ),
        (
            "alice",
            r#"{"type":"plan_approval_request","requestId":"p"}"#,
            &["team:plan:requested"],
            Standing::Active,
        ),
        (
            "system",
            r#"{"type":"teammate_terminated","message":"alice has shut down."}"#,
            &["team:member:shutdown"],
            Standing::Shutdown,
        ),
        (
            "bob",
            r#"{"type":"teammate_terminated","message":"alice has shut down."}"#,
            &[],
            Standing::Active,
        ),
        ("alice", r#"{"type":"something_new"}"#, &[], Standing::Active),
        ("system", "words of nobody", &[], Standing::Active),
    ];
    for (from, body, told, standing) in cases {
        let mut stage = Stage::with_team(&["alice", "bob"]);
        assert_eq!(names(&stage.hears(from, body)), told, "{body}");
        assert_eq!(stage.standing("alice"), standing, "{body}");
        assert_eq!(stage.standing("bob"), Standing::Active, "{body}");
        // Lines that are not the same bytes, but say the same: how somebody is, is told once.
        let again = names(&stage.hears(from, body));
        assert!(!again.iter().any(|name| name.starts_with("team:member:")), "{body}");
    }
}

#[test]
fn mail_may_be_among_pieces_and_several_in_one() {
    let mut stage = Stage::with_team(&["alice", "bob"]);
    let text = |from| mail(from, "hi")["message"]["content"].clone();
    let two = format!("{}\n\n{}", text("alice").as_str().unwrap(), text("bob").as_str().unwrap());
    let line = json!({"type": "user", "message": {"content": [{"type": "text", "text": two}, {"type": "text", "text": text("carl")}]}});
    let events = stage.line(&line).events;
    let from: Vec<_> =
        events.iter().map(|event| serde_json::to_value(event).unwrap()["from"].clone()).collect();
    assert_eq!(from, ["alice", "bob", "carl"]);
}

#[test]
fn who_ends_is_no_longer_shutting_down_whatever_it_says() {
    for body in [r#"{"type":"shutdown_approved"}"#, r#"{"type":"shutdown_rejected"}"#] {
        let mut stage = Stage::with_team(&["alice", "bob"]);
        stage.sends(json!({"to": "alice", "message": {"type": "shutdown_request"}}));
        stage.sends(json!({"to": "bob", "message": {"type": "shutdown_request"}}));
        assert_eq!(stage.team().shutting_down, ["alice", "bob"]);
        stage.hears("alice", body);
        assert_eq!(stage.team().shutting_down, ["bob"], "{body}");
    }
}

#[test]
fn who_has_ended_does_not_come_back_by_what_others_say() {
    let mut stage = Stage::with_team(&["alice"]);
    stage.creates_task("1");
    stage.hears("alice", r#"{"type":"shutdown_approved"}"#);
    assert!(stage.hears("alice", r#"{"type":"idle_notification"}"#).is_empty());
    stage.updates(json!({"taskId": "1", "status": "in_progress", "owner": "alice"}));
    stage.sends(json!({"to": "alice", "message": {"type": "shutdown_request"}}));
    assert_eq!(
        (stage.standing("alice"), stage.team().shutting_down.len()),
        (Standing::Shutdown, 0)
    );
}

#[test]
fn a_member_within_the_process_speaks_within_its_call_and_ends_with_it() {
    let mut stage = Stage::with_team(&[]);
    stage.line(&use_of("spawn", "Task", json!({"team_name": "t", "name": "alice", "prompt": "p"})));
    stage.line(&result_of("spawn", json!({"status": "teammate_spawned", "name": "alice"})));
    stage.creates_task("1");
    let mut within = said(
        "m1",
        vec![use_block("claim", "TaskUpdate", json!({"taskId": "1", "status": "in_progress"}))],
    );
    within["parent_tool_use_id"] = json!("spawn");
    stage.line(&within);
    let claimed = only(
        &stage
            .line(&result_of(
                "claim",
                json!({"success": true, "updatedFields": ["status", "owner"]}),
            ))
            .events,
    );
    assert_eq!(
        (&claimed["event"], &claimed["task"]["owner"]),
        (&json!("team:task:claimed"), &json!("alice"))
    );
    let note = |status: &str| json!({"type": "system", "subtype": "task_notification", "tool_use_id": "spawn", "status": status});
    assert!(stage.line(&note("running")).events.is_empty());
    let ended = only(&stage.line(&note("completed")).events);
    assert_eq!(
        (&ended["event"], &ended["toolUseId"]),
        (&json!("team:member:shutdown"), &json!("spawn"))
    );
    assert_eq!(stage.standing("alice"), Standing::Shutdown);
}

#[test]
fn who_begins_a_task_is_in_the_answer() {
    for (fields, input, owner) in [
        (
            json!(["status", "owner"]),
            json!({"taskId": "1", "status": "in_progress"}),
            json!("team-lead"),
        ),
        (json!(["status"]), json!({"taskId": "1", "status": "in_progress"}), Value::Null),
        (
            json!(["status", "owner"]),
            json!({"taskId": "1", "status": "in_progress", "owner": "bob"}),
            json!("bob"),
        ),
        (json!("owner"), json!({"taskId": "1", "status": "in_progress"}), Value::Null),
    ] {
        let mut stage = Stage::with_team(&["bob"]);
        stage.creates_task("1");
        let result = json!({"success": true, "taskId": "1", "updatedFields": fields});
        let claimed = only(&stage.does("TaskUpdate", input.clone(), result));
        assert_eq!(
            claimed["task"].get("owner").cloned().unwrap_or_default(),
            owner,
            "{fields} {input}"
        );
    }
}

#[test]
fn plans_are_told_with_what_they_refer_to() {
    let mut stage = Stage::with_team(&["alice"]);
    let asked = only(&stage.does(
        "SendMessage",
        json!({"type": "plan_approval_request", "content": "plan"}),
        json!({"success": true, "request_id": "plan-1"}),
    ));
    assert_eq!((&asked["from"], &asked["requestId"]), (&json!("team-lead"), &json!("plan-1")));
    for approve in [true, false] {
        let input = json!({"type": "plan_approval_response", "recipient": "alice", "request_id": "p", "approve": approve});
        let resolved = only(&stage.sends(input));
        assert_eq!(
            (&resolved["event"], &resolved["from"], &resolved["approved"]),
            (&json!("team:plan:resolved"), &json!("team-lead"), &json!(approve))
        );
    }
}

#[test]
fn a_team_that_is_known_beforehand_is_not_told_of() {
    let mut stage = Stage::new();
    stage.observer = Observer::on_team("t", Role::Lead);
    assert_eq!(names(&stage.spawns("alice")), ["team:member:joined"]);
    assert_eq!((stage.team().name.as_str(), stage.team().role), ("t", Role::Lead));
}

#[test]
fn the_cost_of_a_transcript_is_its_summary() {
    let mut stage = Stage::new();
    let line = json!({"type": "cost-state", "totalCostUSD": 0.5, "totalDuration": 12, "totalAPIDuration": 10,
        "modelUsage": {"m": {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 3, "cacheCreationInputTokens": 4, "costUSD": 0.5}}});
    assert!(stage.line(&line).events.is_empty());
    let summary = stage.observer.summary().unwrap();
    assert_eq!((summary.total_cost_usd, &summary.duration_ms), (Some(0.5), &Some(12.into())));
    assert_eq!(
        (summary.models["m"].output_tokens, summary.models["m"].cache_creation_input_tokens),
        (2, 4)
    );
}
