//! What the session is on its team.

use ringer_observe::{Role, Standing};
use serde_json::{Value, json};

use crate::stage::{SESSION, Stage, mail, names, result_of, use_of};

/// The team that a session of this id has without making it.
const OWN: &str = "session-0657d5f2";

fn spawned(team: &str) -> Value {
    json!({"status": "teammate_spawned", "agent_id": format!("alice@{team}"), "name": "alice", "team_name": team})
}

fn role(stage: &Stage) -> (&str, Role) {
    (stage.team().name.as_str(), stage.team().role)
}

#[test]
fn who_makes_the_team_leads_it() {
    for (tool, input) in [
        ("TeamCreate", json!({"team_name": "t"})),
        ("Teammate", json!({"operation": "spawnTeam", "team_name": "t"})),
    ] {
        let mut stage = Stage::new();
        stage.does(tool, input, json!({"team_name": "t"}));
        assert_eq!(role(&stage), ("t", Role::Lead));
    }
}

#[test]
fn the_answer_says_what_the_team_is_called() {
    let mut stage = Stage::new();
    stage.does("TeamCreate", json!({"team_name": "t"}), json!({"team_name": "t-2"}));
    assert_eq!(role(&stage), ("t-2", Role::Lead));
}

#[test]
fn who_spawns_on_the_sessions_own_team_leads_it() {
    assert!(SESSION.starts_with("0657d5f2"));
    let mut stage = Stage::new();
    let events = stage.does("Agent", json!({"name": "alice", "prompt": "p"}), spawned(OWN));
    assert_eq!(names(&events), ["team:created", "team:member:joined"]);
    assert_eq!(role(&stage), (OWN, Role::Lead));
    assert_eq!(stage.observer.state().agents, ["alice"]);
}

#[test]
fn who_spawns_on_another_team_without_having_made_it_is_a_teammate() {
    for team in ["t", "session-ffffffff", "session-", "session-0657D5F2"] {
        let mut stage = Stage::new();
        stage.does(
            "Task",
            json!({"team_name": team, "name": "alice", "prompt": "p"}),
            spawned(team),
        );
        assert_eq!(role(&stage), (team, Role::Teammate));
    }
}

#[test]
fn an_id_that_is_no_hex_has_no_team_of_its_own() {
    for session in ["short", "", "zzzzzzzz-1", "0657d5é2-f6d5", "ééééééééé"] {
        let mut stage = Stage::new();
        for line in [
            use_of("a", "SendMessage", json!({"to": "x", "message": "m"})),
            result_of("a", json!({"routing": {"target": "@x"}})),
        ] {
            let mut line = line;
            line["sessionId"] = json!(session);
            assert!(stage.line(&line).events.is_empty(), "{session}");
        }
        assert!(stage.observer.team().is_none(), "{session}");
    }
}

#[test]
fn a_message_that_went_to_an_inbox_shows_the_sessions_own_team() {
    let mut stage = Stage::new();
    let (input, routed) = (
        json!({"to": "alice", "message": "m"}),
        json!({"success": true, "routing": {"sender": "team-lead", "target": "@alice"}}),
    );
    // To a helper, there is no routing.
    assert!(stage.does("SendMessage", input.clone(), json!({"success": true})).is_empty());
    assert_eq!(
        names(&stage.does("SendMessage", input, routed)),
        ["team:created", "team:message:received"]
    );
    assert_eq!(role(&stage), (OWN, Role::Lead));
}

#[test]
fn tasks_that_were_there_before_the_team_was_seen_are_on_it() {
    let mut stage = Stage::new();
    assert!(stage.creates_task("1").is_empty());
    assert!(stage.updates(json!({"taskId": "1", "subject": "renamed"})).is_empty());
    let events = stage.does("Agent", json!({"name": "alice", "prompt": "p"}), spawned(OWN));
    assert_eq!(names(&events), ["team:created", "team:task:created", "team:member:joined"]);
    assert_eq!(stage.task("1")["subject"], "renamed");
}

#[test]
fn the_transcript_of_a_teammate_says_who_it_is() {
    let mut stage = Stage::new();
    let place = |mut line: Value| {
        (line["teamName"], line["agentName"]) = (json!("t"), json!("alice"));
        line
    };
    let events = stage.line(&place(mail("team-lead", "do task 1"))).events;
    assert_eq!(names(&events), ["team:created", "team:message:received"]);
    assert_eq!(serde_json::to_value(&events[1]).unwrap()["to"], "alice");
    assert_eq!(role(&stage), ("t", Role::Teammate));
    let mut does = |id: &str, tool: &str, input: Value, result: Value| {
        stage.line(&place(use_of(id, tool, input)));
        let events = stage.line(&place(result_of(id, result))).events;
        serde_json::to_value(events).unwrap()
    };
    does("a", "TaskCreate", json!({"subject": "s"}), json!({"taskId": "1"}));
    let claimed = does(
        "b",
        "TaskUpdate",
        json!({"taskId": "1", "status": "in_progress"}),
        json!({"success": true, "updatedFields": ["owner", "status"]}),
    );
    assert_eq!(claimed[0]["task"]["owner"], "alice");
    let said = does(
        "c",
        "SendMessage",
        json!({"to": "team-lead", "message": "done"}),
        json!({"success": true}),
    );
    assert_eq!((&said[0]["from"], &said[0]["to"]), (&json!("alice"), &json!("team-lead")));
    let answered = does(
        "d",
        "SendMessage",
        json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "r", "approve": true}}),
        json!({"success": true}),
    );
    assert_eq!((&answered[0]["member"], &answered[0]["approved"]), (&json!("alice"), &json!(true)));
}

#[test]
fn the_transcript_of_a_lead_says_its_team_and_no_name() {
    let mut stage = Stage::new();
    let mut line = mail("alice", "hello");
    line["teamName"] = json!("t");
    assert_eq!(names(&stage.line(&line).events), ["team:created", "team:message:received"]);
    assert_eq!(role(&stage), ("t", Role::Lead));
}

#[test]
fn a_team_is_not_seen_twice() {
    let mut stage = Stage::with_team(&[]);
    let events = stage.does("Agent", json!({"name": "alice", "prompt": "p"}), spawned(OWN));
    assert_eq!(names(&events), ["team:member:joined"]);
    assert_eq!((role(&stage), stage.standing("alice")), (("t", Role::Lead), Standing::Active));
}
