//! Who has completed a task and not begun another in the same answer of the model is idle, as soon as the next begins.

use ringer_observe::{Event, Standing};
use serde_json::{Value, json};

use crate::stage::{Stage, names, result_of, said, says, use_block};

/// Alice is at task 1; tasks 2 and 3 are nobody's.
fn stage() -> Stage {
    let mut stage = Stage::with_team(&["alice", "bob"]);
    for id in ["1", "2", "3"] {
        stage.creates_task(id);
    }
    stage.updates(json!({"taskId": "1", "status": "in_progress", "owner": "alice"}));
    stage
}

fn complete(id: &str, task: &str) -> Value {
    use_block(id, "TaskUpdate", json!({"taskId": task, "status": "completed"}))
}

fn claim(id: &str, task: &str, owner: &str) -> Value {
    use_block(id, "TaskUpdate", json!({"taskId": task, "status": "in_progress", "owner": owner}))
}

fn answers(stage: &mut Stage, ids: &[&str]) -> Vec<Event> {
    let one = |id: &&str| stage.line(&result_of(id, json!({"success": true}))).events;
    ids.iter().flat_map(one).collect()
}

#[test]
fn who_completes_is_idle_when_the_next_answer_begins() {
    let mut stage = stage();
    stage.line(&said("m1", vec![complete("a", "1")]));
    assert_eq!(names(&answers(&mut stage, &["a"])), ["team:task:completed"]);
    assert_eq!(stage.standing("alice"), Standing::Active);
    assert_eq!(names(&stage.line(&says("m1")).events), [""; 0], "it is still the same answer");
    let events = stage.line(&says("m2")).events;
    assert_eq!(names(&events), ["team:member:idle"]);
    let event = serde_json::to_value(&events[0]).unwrap();
    assert_eq!(
        (&event["member"]["name"], &event["member"]["status"]),
        (&json!("alice"), &json!("idle"))
    );
    assert_eq!(stage.standing("alice"), Standing::Idle);
    assert!(stage.line(&says("m3")).events.is_empty(), "it is told once");
}

#[test]
fn who_completes_last_is_idle_at_the_end() {
    for end in [
        None,
        Some(json!({"type": "result"})),
        Some(json!({"type": "cost-state"})),
        Some(json!({"type": "user", "message": {"content": "go on"}})),
    ] {
        let mut stage = stage();
        stage.line(&said("m1", vec![complete("a", "1")]));
        answers(&mut stage, &["a"]);
        let told = match &end {
            Some(line) => stage.line(line).events,
            None => stage.observer.finish(),
        };
        assert_eq!(names(&told).first(), Some(&"team:member:idle"), "{end:?}");
        assert_eq!(stage.standing("alice"), Standing::Idle);
        assert!(stage.observer.finish().is_empty());
    }
}

#[test]
fn who_begins_another_in_the_same_answer_is_not_idle() {
    let lines: [Vec<Value>; 4] = [
        vec![said("m1", vec![complete("a", "1"), claim("b", "2", "alice")])],
        vec![said("m1", vec![claim("b", "2", "alice"), complete("a", "1")])],
        vec![said("m1", vec![complete("a", "1")]), said("m1", vec![claim("b", "2", "alice")])],
        // Streams without ids: a line is all that was said.
        vec![
            json!({"type": "assistant", "message": {"content": [complete("a", "1"), claim("b", "2", "alice")]}}),
        ],
    ];
    for lines in lines {
        for order in [["a", "b"], ["b", "a"]] {
            let mut stage = stage();
            for line in &lines {
                stage.line(line);
            }
            let mut told = names(&answers(&mut stage, &order));
            told.sort_unstable();
            assert_eq!(told, ["team:task:claimed", "team:task:completed"]);
            assert!(stage.line(&says("m2")).events.is_empty(), "{lines:?} {order:?}");
            assert_eq!(
                (stage.standing("alice"), stage.observer.finish().len()),
                (Standing::Active, 0)
            );
        }
    }
}

#[test]
fn an_answer_may_come_between_the_lines_of_what_is_said() {
    let mut stage = stage();
    stage.line(&said("m1", vec![complete("a", "1")]));
    answers(&mut stage, &["a"]);
    stage.line(&said("m1", vec![claim("b", "2", "alice")]));
    answers(&mut stage, &["b"]);
    assert!(stage.line(&says("m2")).events.is_empty());
    assert_eq!(stage.standing("alice"), Standing::Active);
}

#[test]
fn what_another_begins_does_not_keep_somebody_busy() {
    let mut stage = stage();
    stage.line(&said("m1", vec![complete("a", "1"), claim("b", "2", "bob")]));
    answers(&mut stage, &["a", "b"]);
    assert_eq!(names(&stage.line(&says("m2")).events), ["team:member:idle"]);
    assert_eq!(
        (stage.standing("alice"), stage.standing("bob")),
        (Standing::Idle, Standing::Active)
    );
}

#[test]
fn who_is_idle_and_begins_something_is_not_idle() {
    let mut stage = stage();
    stage.line(&said("m1", vec![complete("a", "1")]));
    answers(&mut stage, &["a"]);
    let events = stage.line(&said("m2", vec![claim("b", "2", "alice")])).events;
    assert_eq!(names(&events), ["team:member:idle"], "it began in another answer");
    assert_eq!(names(&answers(&mut stage, &["b"])), ["team:task:claimed"]);
    assert_eq!(stage.standing("alice"), Standing::Active);
}

#[test]
fn who_is_at_another_task_is_not_idle() {
    let mut stage = stage();
    stage.updates(json!({"taskId": "2", "status": "in_progress", "owner": "alice"}));
    stage.line(&said("m1", vec![complete("a", "1")]));
    answers(&mut stage, &["a"]);
    assert!(stage.line(&says("m2")).events.is_empty());
    assert_eq!(stage.standing("alice"), Standing::Active);
}

#[test]
fn a_task_that_was_not_begun_makes_nobody_idle() {
    let mut stage = stage();
    stage.updates(json!({"taskId": "3", "owner": "bob"}));
    stage.line(&said("m1", vec![complete("a", "3")]));
    assert_eq!(names(&answers(&mut stage, &["a"])), ["team:task:completed"]);
    assert!(stage.line(&says("m2")).events.is_empty());
    assert_eq!(stage.standing("bob"), Standing::Active);
}

#[test]
fn an_error_makes_nobody_idle() {
    let mut stage = stage();
    stage.line(&said("m1", vec![complete("a", "1")]));
    stage.line(&crate::stage::error_of("a"));
    assert!(stage.line(&says("m2")).events.is_empty());
    assert_eq!(stage.standing("alice"), Standing::Active);
}
