//! A call and its answer, which come in different lines.

use ringer_observe::TIME_TO_LIVE_MS;
use serde_json::json;

use crate::stage::{Stage, error_of, names, result_of, said, says, use_block, use_of};

const CREATED: &[&str] = &["team:created"];

#[test]
fn an_answer_is_waited_for_thirty_seconds_of_the_streams_time() {
    assert_eq!(TIME_TO_LIVE_MS, 30_000);
    for (wait, told) in [
        (0, CREATED),
        (29_000, CREATED),
        (30_000 - 1, CREATED),
        (30_000, &[]),
        (86_400_000 / 8, &[]),
    ] {
        let mut stage = Stage::new();
        stage.line(&use_of("a", "TeamCreate", json!({"team_name": "t"})));
        // The answer itself comes a millisecond later.
        stage.waits(wait);
        let events = stage.line(&result_of("a", json!({}))).events;
        assert_eq!(names(&events), told, "after {wait} ms");
        assert_eq!(stage.observer.pending(), 0);
    }
}

#[test]
fn what_is_too_old_is_forgotten_by_whatever_line_comes() {
    let mut stage = Stage::new();
    stage.line(&use_of("a", "TeamCreate", json!({"team_name": "t"})));
    stage.waits(20_000);
    stage.line(&use_of("b", "TaskList", json!({})));
    assert_eq!(stage.observer.pending(), 2);
    stage.waits(20_000);
    stage.line(&says("m"));
    assert_eq!(stage.observer.pending(), 1);
}

#[test]
fn a_stream_without_times_waits_for_ever() {
    let mut stage = Stage::new();
    stage.bytes(use_of("a", "TeamCreate", json!({"team_name": "t"})).to_string().as_bytes());
    for n in 0..100 {
        stage.bytes(says(&format!("m{n}")).to_string().as_bytes());
    }
    let events = stage.bytes(result_of("a", json!({})).to_string().as_bytes()).events;
    assert_eq!(names(&events), CREATED);
}

#[test]
fn a_repeated_id_replaces() {
    let mut stage = Stage::new();
    stage.line(&use_of("a", "TeamCreate", json!({"team_name": "old"})));
    stage.line(&use_of("a", "TeamCreate", json!({"team_name": "new"})));
    assert_eq!(stage.observer.pending(), 1);
    assert_eq!(names(&stage.line(&result_of("a", json!({}))).events), CREATED);
    assert_eq!(stage.team().name, "new");
}

#[test]
fn an_error_is_passed_on_and_changes_nothing() {
    let mut stage = Stage::with_team(&["alice"]);
    stage.line(&use_of("a", "TeamDelete", json!({})));
    let team = stage.team().clone();
    let seen = stage.line(&error_of("a"));
    assert!(seen.events.is_empty());
    assert_eq!(
        serde_json::to_value(&seen.supplements).unwrap(),
        json!([{
            "type": "team_state_change", "role": "system",
            "metadata": {"toolName": "TeamDelete", "teamToolUseId": "a", "result": "Error: no", "isError": true},
        }])
    );
    assert_eq!((stage.team(), stage.observer.pending()), (&team, 0));
}

#[test]
fn an_answer_without_a_call_is_ignored() {
    let mut stage = Stage::with_team(&["alice"]);
    let before = stage.observer.state();
    let spawned = json!({"status": "teammate_spawned", "name": "bob", "team_name": "t"});
    for answer in [result_of("nobody", spawned), error_of("nobody"), result_of("", json!(null))] {
        let seen = stage.line(&answer);
        assert!(seen.events.is_empty() && seen.supplements.is_empty() && seen.warnings.is_empty());
        assert_eq!(stage.observer.state(), before);
    }
}

#[test]
fn parallel_calls_meet_their_answers_in_any_order() {
    for order in [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]] {
        let mut stage = Stage::with_team(&[]);
        let create =
            |id: &str| use_block(id, "TaskCreate", json!({"subject": format!("subject {id}")}));
        stage.line(&said("m", vec![create("a"), create("b"), create("c")]));
        assert_eq!((stage.observer.pending(), stage.observer.state().pending), (3, 3));
        for (n, id) in order.iter().enumerate() {
            stage.line(&result_of(id, json!({"task": {"id": format!("#{id}")}})));
            assert_eq!(stage.observer.pending(), 2 - n);
        }
        for id in order {
            assert_eq!(stage.task(&format!("#{id}"))["subject"], format!("subject {id}"));
        }
    }
}

#[test]
fn several_answers_in_a_line_are_taken_from_what_the_model_was_told() {
    let mut stage = Stage::with_team(&[]);
    stage.line(&said(
        "m",
        vec![
            use_block("a", "Task", json!({"team_name": "t", "name": "alice", "prompt": "p"})),
            use_block("b", "TaskCreate", json!({"subject": "s"})),
            use_block("c", "SendMessage", json!({"to": "alice", "message": "hi"})),
        ],
    ));
    let answer = |id: &str, words: &str| json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": words}]});
    let line = json!({"type": "user", "message": {"role": "user", "content": [
        answer("a", "Spawned successfully.\nagent_id: alice@t\nname: alice\nteam_name: t\nThe agent is now running."),
        answer("b", "Task #1 created successfully: s"),
        answer("c", "{\"success\":true,\"routing\":{\"sender\":\"team-lead\",\"target\":\"@alice\"}}"),
    // Whose this would be is not known.
    ]}, "toolUseResult": {"status": "teammate_spawned", "name": "mallory", "taskId": "66"}});
    let events = stage.line(&line).events;
    assert_eq!(
        names(&events),
        ["team:member:joined", "team:task:created", "team:message:received"]
    );
    let ids: Vec<_> = events.iter().map(|event| event.tool_use_id.as_deref()).collect();
    assert_eq!(ids, [Some("a"), Some("b"), Some("c")]);
    assert_eq!(stage.team().member("alice").unwrap().agent_id, "alice@t");
    assert_eq!(stage.team().task("1").unwrap().subject, "s");
}

#[test]
fn memory_is_bounded_however_many_are_never_answered() {
    let mut stage = Stage::new();
    let mut most = 0;
    for n in 0..5_000 {
        let line = use_of(&format!("a{n}"), "TaskList", json!({}));
        stage.bytes(line.to_string().as_bytes());
        most = most.max(stage.observer.pending());
    }
    assert_eq!(most, 1024);
    let events = stage.line(&use_of("new", "TeamCreate", json!({"team_name": "t"}))).events;
    assert!(events.is_empty());
    assert_eq!(names(&stage.line(&result_of("new", json!({}))).events), CREATED);
}
