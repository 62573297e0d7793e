//! What whoever reads the state may rely on.

use std::collections::BTreeSet;

use ringer_observe::{Observer, SessionState, Standing, Status};
use serde_json::{Value, json};

use crate::stage::{Stage, names, result_of, use_of};

/// A whole life: what each step tells, and the state after it.
fn life() -> Vec<(&'static str, Vec<&'static str>, SessionState)> {
    let mut stage = Stage::new();
    let mut steps = Vec::new();
    let mut step =
        |what, stage: &mut Stage, run: &dyn Fn(&mut Stage) -> Vec<ringer_observe::Event>| {
            let told = names(&run(stage));
            steps.push((what, told, stage.observer.state()));
        };
    let update = |input: Value| move |stage: &mut Stage| stage.updates(input.clone());
    let send = |input: Value| move |stage: &mut Stage| stage.sends(input.clone());
    step("create", &mut stage, &|s| {
        s.does("TeamCreate", json!({"team_name": "t"}), json!({"team_name": "t"}))
    });
    step("task 1", &mut stage, &|s| s.creates_task("1"));
    step("task 2", &mut stage, &|s| s.creates_task("2"));
    step("task 3", &mut stage, &|s| s.creates_task("3"));
    step("alice", &mut stage, &|s| s.spawns("alice"));
    step("bob", &mut stage, &|s| s.spawns("bob"));
    step(
        "claim",
        &mut stage,
        &update(json!({"taskId": "1", "owner": "alice", "status": "in_progress"})),
    );
    step("say", &mut stage, &send(json!({"to": "alice", "message": "how is it?"})));
    step("complete", &mut stage, &update(json!({"taskId": "1", "status": "completed"})));
    step(
        "claim another",
        &mut stage,
        &update(json!({"taskId": "2", "owner": "bob", "status": "in_progress"})),
    );
    step("delete a task", &mut stage, &update(json!({"taskId": "3", "status": "deleted"})));
    step(
        "ask alice",
        &mut stage,
        &send(json!({"to": "alice", "message": {"type": "shutdown_request"}})),
    );
    step("alice refuses", &mut stage, &|s| {
        s.hears("alice", r#"{"type":"shutdown_rejected","reason":"busy"}"#)
    });
    step(
        "ask again",
        &mut stage,
        &send(json!({"to": "alice", "message": {"type": "shutdown_request"}})),
    );
    step("alice ends", &mut stage, &|s| s.hears("alice", r#"{"type":"shutdown_approved"}"#));
    step("bob ends", &mut stage, &|s| s.hears("bob", r#"{"type":"shutdown_approved"}"#));
    step("delete", &mut stage, &|s| s.does("TeamDelete", json!({}), json!({"success": true})));
    steps
}

#[test]
fn a_whole_life_is_told_as_it_goes() {
    let told: Vec<_> = life().into_iter().map(|(what, told, _)| (what, told)).collect();
    let expected: [(&str, &[&str]); 17] = [
        ("create", &["team:created"]),
        ("task 1", &["team:task:created"]),
        ("task 2", &["team:task:created"]),
        ("task 3", &["team:task:created"]),
        ("alice", &["team:member:joined"]),
        ("bob", &["team:member:joined"]),
        ("claim", &["team:task:claimed"]),
        ("say", &["team:message:received"]),
        ("complete", &["team:task:completed"]),
        ("claim another", &["team:member:idle", "team:task:claimed"]),
        ("delete a task", &[]),
        ("ask alice", &["team:shutdown:requested"]),
        ("alice refuses", &["team:shutdown:response"]),
        ("ask again", &["team:shutdown:requested"]),
        ("alice ends", &["team:shutdown:response", "team:member:shutdown"]),
        ("bob ends", &["team:shutdown:response", "team:member:shutdown"]),
        ("delete", &["team:deleted"]),
    ];
    assert_eq!(told, expected.map(|(what, told)| (what, told.to_vec())));
}

#[test]
fn there_is_a_team_from_its_creation_to_its_deletion() {
    let steps = life();
    for (what, _, state) in &steps {
        assert_eq!(state.team.is_some(), *what != "delete", "{what}");
    }
    let mut stage = Stage::new();
    assert!(stage.observer.team().is_none());
    stage.line(&use_of("x", "TeamCreate", json!({"team_name": "t"})));
    assert!(stage.observer.team().is_none(), "it was only asked for");
    stage.line(&result_of("x", json!({})));
    assert!(stage.observer.team().is_some());
}

#[test]
fn members_are_never_taken_away_and_their_names_are_unique() {
    let mut before = Vec::new();
    for (what, _, state) in life().into_iter().filter(|(what, ..)| *what != "delete") {
        assert!(state.agents.starts_with(&before), "{what}");
        assert_eq!(
            state.agents.iter().collect::<BTreeSet<_>>().len(),
            state.agents.len(),
            "{what}"
        );
        before = state.agents;
    }
    assert_eq!(before, ["alice", "bob"]);
}

#[test]
fn tasks_are_only_taken_away_when_they_are_deleted_and_their_numbers_are_unique() {
    let mut before = BTreeSet::new();
    for (what, _, state) in life().into_iter().filter(|(what, ..)| *what != "delete") {
        let tasks = state.team.unwrap().tasks;
        let ids: BTreeSet<_> = tasks.iter().map(|task| task.id.clone()).collect();
        assert_eq!(ids.len(), tasks.len(), "{what}");
        assert!(before.is_subset(&ids) || what == "delete a task", "{what}");
        assert!(tasks.iter().all(|task| task.status != Status::Deleted), "{what}");
        before = ids;
    }
    assert_eq!(before.len(), 2);
}

#[test]
fn agents_are_the_names_of_the_members_wherever_they_are() {
    for (what, _, state) in life() {
        let names: Vec<_> =
            state.team.iter().flat_map(|team| &team.members).map(|m| m.name.clone()).collect();
        assert_eq!(state.agents, names, "{what}");
        let json = serde_json::to_value(&state).unwrap();
        assert_eq!(json["agents"], json!(names), "{what}");
        if state.team.is_some() {
            assert_eq!(json["team"]["agents"], json!(names), "{what}");
        }
    }
}

#[test]
fn the_state_survives_being_written_down() {
    let mut stage = Stage::with_team(&["alice"]);
    stage.creates_task("1");
    let text = serde_json::to_string(&stage.observer).unwrap();
    let restored: Observer = serde_json::from_str(&text).unwrap();
    assert_eq!(restored.state(), stage.observer.state());
    let team: ringer_observe::TeamState =
        serde_json::from_value(serde_json::to_value(stage.team()).unwrap()).unwrap();
    assert_eq!(&team, stage.team());
}

#[test]
fn a_new_team_has_nothing_of_the_one_before() {
    let mut stage = Stage::with_team(&["alice"]);
    stage.creates_task("1");
    stage.does("TeamDelete", json!({}), json!({"success": true}));
    assert_eq!(stage.observer.state().agents, Vec::<String>::new());
    stage.does("TeamCreate", json!({"team_name": "u"}), json!({}));
    let team = stage.team();
    assert_eq!((team.name.as_str(), team.members.len(), team.tasks.len()), ("u", 0, 0));
    stage.spawns("alice");
    assert_eq!(stage.standing("alice"), Standing::Active);
}

#[test]
fn a_deletion_that_comes_twice_is_told_once() {
    let mut stage = Stage::with_team(&["alice"]);
    assert_eq!(
        names(&stage.does("TeamDelete", json!({}), json!({"success": true}))),
        ["team:deleted"]
    );
    assert!(stage.does("TeamDelete", json!({}), json!({"success": true})).is_empty());
}
