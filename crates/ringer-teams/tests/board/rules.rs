//! Each rule of the board, and what a refusal says.

use std::fs;

use ringer_teams::{Actor, Error, NewTask, TASKS_LIMIT, TaskChange, TaskStatus};
use serde_json::{Value, json};

use crate::Place;

pub(crate) const LEAD: Actor = Actor::Lead;

pub(crate) fn member(name: &str) -> Actor {
    Actor::Member(name.into())
}

pub(crate) fn status(status: TaskStatus) -> TaskChange {
    TaskChange { status: Some(status), ..TaskChange::default() }
}

pub(crate) fn said<T: std::fmt::Debug>(result: ringer_teams::Result<T>) -> (String, String) {
    let error = result.unwrap_err();
    (error.code().to_owned(), error.to_string())
}

#[test]
fn a_new_task_is_written_as_claude_code_writes_one() {
    let place = Place::new(&["w"]);
    place.make("first", &[]);
    let new = NewTask {
        subject: "second".into(),
        description: "do it".into(),
        active_form: Some("Doing it".into()),
        owner: Some("w".into()),
        priority: Some(2),
        blocked_by: vec!["#1".into(), "1".into()],
        ..NewTask::default()
    };
    let task = place.team.board().create(&new).unwrap();
    assert_eq!((task.id.as_str(), task.priority()), ("2", 2));
    assert_eq!(task.deliverable_path(), ".ringer/tasks/2-second.md");
    assert_eq!(
        place.text("2.json"),
        "{\n  \"id\": \"2\",\n  \"subject\": \"second\",\n  \"description\": \"do it\",\n  \"activeForm\": \"Doing it\",\n  \"owner\": \"w\",\n  \"status\": \"pending\",\n  \"blocks\": [],\n  \"blockedBy\": [\n    \"1\"\n  ],\n  \"metadata\": {\n    \"priority\": 2\n  }\n}"
    );
    assert_eq!(
        place.text("1.json"),
        "{\n  \"id\": \"1\",\n  \"subject\": \"first\",\n  \"description\": \"\",\n  \"status\": \"pending\",\n  \"blocks\": [\n    \"2\"\n  ],\n  \"blockedBy\": []\n}"
    );
    assert_eq!(place.text(".lock"), "");
    let names: Vec<_> =
        fs::read_dir(place.file("")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(names.len(), 3, "nothing is left beside: {names:?}");
}

#[test]
fn numbers_go_on_after_the_largest_file_and_the_mark() {
    let place = Place::new(&[]);
    assert_eq!(place.make("a", &[]).id, "1");
    place.put("7.json", r#"{"id": "7", "subject": "Claude's", "status": "pending"}"#);
    assert_eq!(place.make("b", &[]).id, "8");
    place.team.board().delete("8", &LEAD).unwrap();
    assert!(!place.file("8.json").exists());
    assert_eq!(place.text(".highwatermark"), "8");
    assert_eq!(place.make("c", &[]).id, "9");
    place.put(".highwatermark", "41\n");
    assert_eq!(place.make("d", &[]).id, "42");
    place.put(".highwatermark", "nonsense");
    assert_eq!(place.make("e", &[]).id, "43");
    // A broken file has its number, too.
    place.put("50.json", "{");
    assert_eq!(place.make("f", &[]).id, "51");
}

#[test]
fn a_claim_is_for_one_and_says_who_has_it() {
    let place = Place::new(&["a", "b"]);
    let board = place.team.board();
    place.make("one", &[]);
    place.make("two", &[]);
    place.make("three", &["1"]);
    let task = board.claim("#1", &member("a"), "a").unwrap().task;
    assert_eq!((task.owner.as_deref(), task.status.as_str()), (Some("a"), "in_progress"));
    let before = place.text("1.json");
    board.claim("1", &member("a"), "a").unwrap();
    assert_eq!(place.text("1.json"), before, "what is so already is not written");

    let refused = said(board.claim("1", &member("b"), "b"));
    assert_eq!(refused, ("conflict".into(), "task 1 belongs to a".into()));
    let refused = said(board.claim("2", &member("a"), "a"));
    assert_eq!(refused, ("busy".into(), "a is at task 1 (one) already".into()));
    let refused = said(board.claim("3", &member("b"), "b"));
    assert_eq!(refused, ("blocked".into(), "task 3 is blocked by task 1".into()));
    let refused = said(board.claim("2", &member("a"), "b"));
    assert_eq!(refused.0, "permission_denied");
    assert_eq!(said(board.claim("9", &member("b"), "b")).0, "task_not_found");
    assert_eq!(said(board.claim("../1", &member("b"), "b")).0, "task_not_found");
    assert_eq!(said(board.claim("01", &member("b"), "b")).0, "task_not_found");
    assert_eq!(said(board.claim("2", &LEAD, "nobody")).0, "agent_not_found");
    assert_eq!(board.claim("2", &LEAD, "b").unwrap().task.owner.as_deref(), Some("b"));
}

#[test]
fn a_task_given_to_one_can_be_begun_by_no_other() {
    let place = Place::new(&["a", "b"]);
    let board = place.team.board();
    place.make("one", &[]);
    let give = TaskChange { owner: Some("a".into()), ..TaskChange::default() };
    assert_eq!(said(board.change("1", &member("b"), &give)).0, "permission_denied");
    board.change("1", &LEAD, &give).unwrap();
    assert_eq!(said(board.claim("1", &member("b"), "b")).0, "conflict");
    assert_eq!(
        said(board.change("1", &member("b"), &status(TaskStatus::InProgress))).0,
        "conflict"
    );
    assert_eq!(
        said(board.change("1", &member("b"), &status(TaskStatus::Completed))).0,
        "permission_denied"
    );
    assert_eq!(board.claim("1", &member("a"), "a").unwrap().task.status, "in_progress");
    // Who is at it can be changed by the lead, unless the other is at something.
    place.make("two", &[]);
    board.claim("2", &member("b"), "b").unwrap();
    let give = TaskChange { owner: Some("b".into()), ..TaskChange::default() };
    assert_eq!(said(board.change("1", &LEAD, &give)).0, "busy");
}

#[test]
fn a_status_goes_forward_and_a_refusal_says_where_it_can_go() {
    use TaskStatus::{Completed, Deleted, InProgress, Pending};
    for (from, wanted, ok) in [
        ("pending", Pending, true),
        ("pending", InProgress, true),
        ("pending", Completed, false),
        ("in_progress", Pending, false),
        ("in_progress", InProgress, true),
        ("in_progress", Completed, true),
        ("completed", Pending, false),
        ("completed", InProgress, false),
        ("completed", Completed, true),
        ("paused", InProgress, false),
        ("paused", Deleted, true),
        ("pending", Deleted, true),
        ("in_progress", Deleted, true),
        ("completed", Deleted, true),
    ] {
        let place = Place::new(&["w"]);
        place.make("one", &[]);
        place.put("1.json", &place.text("1.json").replace("pending", from));
        let give = Some("w".to_owned()).filter(|_| wanted == InProgress && from == "pending");
        let change = TaskChange { owner: give, ..status(wanted) };
        let done = place.team.board().change("1", &LEAD, &change);
        match (done, ok) {
            (Ok(_), true) => assert_eq!(place.file("1.json").exists(), wanted != Deleted),
            (Err(error), false) => {
                assert_eq!(error.code(), "invalid_status", "{from} to {wanted}");
                assert_eq!(
                    error.to_string(),
                    format!("task 1 is {from} and cannot become {wanted}")
                );
                let Error::Task(error) = error else { panic!("{error}") };
                assert!(error.details()["allowed"].is_array() && error.hint().is_some());
            }
            (done, _) => panic!("{from} to {wanted}: {done:?}"),
        }
    }
}

#[test]
fn circles_are_refused_with_the_way_round() {
    let place = Place::new(&[]);
    let board = place.team.board();
    place.make("one", &[]);
    place.make("two", &["1"]);
    place.make("three", &["2"]);
    let waits = |ids: &[&str]| TaskChange {
        add_blocked_by: ids.iter().map(ToString::to_string).collect(),
        ..TaskChange::default()
    };
    let (code, message) = said(board.change("1", &LEAD, &waits(&["3"])));
    assert_eq!(code, "circular_dependency");
    assert_eq!(message, "tasks would wait for each other: 1 waits for 3 waits for 2 waits for 1");
    assert_eq!(said(board.change("1", &LEAD, &waits(&["1"]))).0, "circular_dependency");
    let both = TaskChange { add_blocks: vec!["3".into()], ..waits(&["3"]) };
    assert_eq!(said(board.change("1", &LEAD, &both)).0, "circular_dependency");
    let new = NewTask {
        subject: "between".into(),
        blocked_by: vec!["3".into()],
        blocks: vec!["1".into()],
        ..NewTask::default()
    };
    assert_eq!(said(board.create(&new)).0, "circular_dependency");
    assert_eq!(said(board.change("1", &LEAD, &waits(&["9"]))).0, "task_not_found");
    assert!(place.task("1").blocked_by.is_empty());
    assert!(!place.file("4.json").exists());
}

#[test]
fn completing_frees_those_that_waited_for_nothing_else() {
    let place = Place::new(&["w"]);
    let board = place.team.board();
    place.make("one", &[]);
    place.make("two", &[]);
    place.make("waits for one", &["1"]);
    place.make("waits for both", &["1", "2"]);
    board.claim("1", &member("w"), "w").unwrap();
    let change = TaskChange {
        status: Some(TaskStatus::Completed),
        metadata: json!({"result_summary": "it works"}).as_object().unwrap().clone(),
        ..TaskChange::default()
    };
    let done = board.change("1", &member("w"), &change).unwrap();
    assert_eq!(done.task.result_summary().as_deref(), Some("it works"));
    let free: Vec<_> = done.unblocked.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(free, ["3"]);
    // Once more is not once again.
    assert!(board.change("1", &member("w"), &change).unwrap().unblocked.is_empty());
    assert!(board.delete("1", &LEAD).unwrap().unblocked.is_empty(), "nobody waited for it");
    let deleted = board.delete("2", &LEAD).unwrap();
    assert_eq!(deleted.unblocked[0].id, "4");
    assert!(place.task("4").blocked_by.is_empty());
    assert_eq!(said(board.delete("4", &member("w"))).0, "permission_denied");
}

#[test]
fn a_dependency_can_be_taken_away_and_may_have_been_all() {
    let place = Place::new(&["w"]);
    let board = place.team.board();
    place.make("one", &[]);
    place.make("two", &[]);
    place.make("three", &["1", "2"]);
    let no_more =
        |id: &str| TaskChange { remove_blocked_by: vec![id.into()], ..TaskChange::default() };
    assert!(board.change("3", &LEAD, &no_more("1")).unwrap().unblocked.is_empty());
    assert_eq!(
        (place.task("3").blocked_by, place.task("1").blocks),
        (vec!["2".to_owned()], vec![])
    );
    assert_eq!(board.change("3", &LEAD, &no_more("#2")).unwrap().unblocked[0].id, "3");
    assert!(board.change("3", &LEAD, &no_more("2")).unwrap().unblocked.is_empty());
    board.change("3", &LEAD, &no_more("../../teams/exo/config")).unwrap();
    // In one go with the beginning.
    place.make("four", &["1"]);
    let start = TaskChange {
        status: Some(TaskStatus::InProgress),
        owner: Some("w".into()),
        ..no_more("1")
    };
    assert_eq!(board.change("4", &LEAD, &start).unwrap().task.status, "in_progress");
    // Who has to wait does not do away with what it waits for.
    let refused = said(board.change("4", &member("w"), &no_more("1")));
    assert_eq!(refused.1, "only the lead takes away what a task waits for");
}

#[test]
fn who_begins_what_nobody_has_has_it() {
    let place = Place::new(&["w"]);
    let start = status(TaskStatus::InProgress);
    for (by, owner) in [(LEAD, "team-lead"), (member("w"), "w")] {
        let id = place.make("one", &[]).id;
        let task = place.team.board().change(&id, &by, &start).unwrap().task;
        assert_eq!(task.owner.as_deref(), Some(owner));
    }
    place.make("one", &[]);
    assert_eq!(said(place.team.board().change("3", &LEAD, &start)).0, "busy");
}

#[test]
fn a_task_is_given_back_by_its_owner_or_the_lead() {
    let place = Place::new(&["a", "b"]);
    let board = place.team.board();
    place.make("one", &[]);
    board.claim("1", &member("a"), "a").unwrap();
    assert_eq!(said(board.release("1", &member("b"))).0, "permission_denied");
    let task = board.release("1", &member("a")).unwrap().task;
    assert_eq!((task.owner, task.status.as_str()), (None, "pending"));
    assert!(!place.text("1.json").contains("owner"), "Claude Code takes a null for a broken task");
    assert_eq!(board.claim("1", &LEAD, "b").unwrap().task.owner.as_deref(), Some("b"));
    board.release("1", &LEAD).unwrap();
    board.release("1", &LEAD).unwrap();
    board.claim("1", &member("b"), "b").unwrap();
    board.change("1", &LEAD, &status(TaskStatus::Completed)).unwrap();
    assert_eq!(said(board.release("1", &LEAD)).0, "invalid_status");
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let place = Place::new(&["w"]);
    let board = place.team.board();
    let new = |subject: &str, description: String| NewTask {
        subject: subject.into(),
        description,
        ..NewTask::default()
    };
    board.create(&new(&"ä".repeat(200), "ü".repeat(5000))).unwrap();
    assert_eq!(said(board.create(&new(&"ä".repeat(201), String::new()))).0, "too_large");
    assert_eq!(said(board.create(&new("s", "ü".repeat(5001)))).0, "too_large");
    assert_eq!(said(board.create(&new(" ", String::new()))).0, "invalid_task");
    assert_eq!(said(board.create(&new("a\nb", String::new()))).0, "invalid_task");
    let owned = NewTask { owner: Some("nobody".into()), ..new("s", String::new()) };
    assert_eq!(said(board.create(&owned)).0, "agent_not_found");
    let facts = [
        json!({"priority": 3}),
        json!({"priority": "high"}),
        json!({"": 1}),
        json!({"result_summary": 7}),
        json!({"deliverable_path": "../../etc/passwd"}),
        json!({"deliverable_path": "/etc/passwd"}),
        json!({"big": "x".repeat(30_000)}),
    ];
    for facts in facts {
        let metadata = facts.as_object().unwrap().clone();
        let change = TaskChange { metadata, ..TaskChange::default() };
        let refused = said(board.change("1", &LEAD, &change));
        assert!(
            ["invalid_task", "too_large"].contains(&refused.0.as_str()),
            "{facts}: {refused:?}"
        );
    }
    assert!(place.task("1").metadata.is_none());
    assert_eq!(place.team.tasks().unwrap().found.len(), 1);
}

#[test]
fn a_team_has_at_most_a_thousand_tasks() {
    let place = Place::new(&[]);
    place.make("one", &[]);
    for id in 2..=TASKS_LIMIT {
        let text = format!("{{\"id\": \"{id}\", \"subject\": \"s\", \"status\": \"pending\"}}");
        place.put(&format!("{id}.json"), &text);
    }
    let new = NewTask { subject: "one more".into(), ..NewTask::default() };
    assert_eq!(said(place.team.board().create(&new)).0, "limit_reached");
    place.team.board().delete("500", &LEAD).unwrap();
    assert_eq!(place.team.board().create(&new).unwrap().id, "1001");
}

#[test]
fn facts_are_merged_and_what_is_not_ours_stays() {
    let place = Place::new(&[]);
    place.make("one", &[]);
    let text =
        place.text("1.json").replace("\"blocks\"", "\"future\": {\"x\": 1.0e5},\n  \"blocks\"");
    place.put("1.json", &text);
    let merge = |facts: Value| {
        let metadata = facts.as_object().unwrap().clone();
        let change = TaskChange { metadata, ..TaskChange::default() };
        place.team.board().change("1", &LEAD, &change).unwrap().task.facts()
    };
    merge(json!({"a": 1, "b": {"c": [1, null]}}));
    let facts = merge(json!({"a": null, "d": "x", "priority": 1}));
    assert_eq!(Value::Object(facts), json!({"b": {"c": [1, null]}, "d": "x", "priority": 1}));
    assert!(place.text("1.json").contains("\"future\": {\"x\": 1.0e5}"));
}
