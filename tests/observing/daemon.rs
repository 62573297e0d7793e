//! The daemon follows transcripts of leads, compares with the disk, and tells everything once.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::scene::{QUICK, Scene, TEAM};
use crate::told::{about, events, team, told};
use crate::transcript::{SESSION, Transcript, replace};

/// Waits until all of these were told, each once and in this order, whatever else was.
fn wait_for(scene: &Scene, expected: &[&str]) {
    scene.wait(&format!("{expected:?}"), || {
        let told = told(scene);
        let mut rest = told.iter();
        expected.iter().all(|one| rest.any(|told| told == one))
    });
    let told = told(scene);
    for one in expected {
        let count = told.iter().filter(|told| told == one).count();
        let wanted = expected.iter().filter(|other| *other == one).count();
        assert_eq!(count, wanted, "{one} in {told:?}");
    }
}

fn task(scene: &Scene, id: &str, status: &str) {
    let dir = scene.world.claude().join("tasks").join(TEAM);
    fs::create_dir_all(&dir).unwrap();
    let task = json!({
        "id": id, "subject": format!("Task {id}"), "description": "", "status": status,
        "owner": "w", "blocks": [], "blockedBy": [],
    });
    ringer_testkit::put(&dir.join(format!("{id}.json")), &task.to_string());
}

#[test]
fn what_a_lead_says_is_told_with_the_call_that_it_came_from_and_what_workers_do_is_added() {
    let scene = Scene::new();
    let lead = Transcript::of(&scene, SESSION);
    let call = lead.create_team(TEAM);
    let _daemon = scene.start();
    let worker = scene.worker("w");
    wait_for(&scene, &["team:created", "team:member:joined w"]);
    assert_eq!(events(&scene)[0]["toolUseId"], json!(call));

    // The lead gives it a task, and says something; the disk has both a moment before the transcript.
    task(&scene, "1", "pending");
    let made = json!({"subject": "Task 1"});
    let call = lead.act("TaskCreate", &made, &json!({"task": {"id": "1"}}));
    lead.say("w", "go on");
    wait_for(&scene, &["team:task:created 1", "team:message:received go on"]);
    let all = events(&scene);
    let created = all.iter().find(|event| about(event) == "team:task:created 1").unwrap();
    assert_eq!(created["toolUseId"], json!(call), "the transcript goes first");

    // What a worker does is on disk alone.
    scene.run(&["tasks", "claim", "1", "--as", "w", "--team", TEAM]);
    scene.run(&["tasks", "update", "1", "--status", "completed", "--team", TEAM]);
    let mut reply = scene.ringer(&["reply", "all is done"]);
    reply.env("RINGER_TEAM", TEAM).env("RINGER_MEMBER", "w");
    assert!(reply.output().unwrap().status.success());
    wait_for(&scene, &["team:task:completed 1", "team:message:received all is done"]);
    // The lead is shown the worker's words, too: they were said once.
    lead.write(&lead.mail("w", "all is done"));
    lead.write(&lead.mail("alice", "so am I"));
    wait_for(&scene, &["team:message:received all is done", "team:message:received so am I"]);

    let screen = team(&scene);
    assert_eq!(screen["agents"], json!(["w"]));
    assert_eq!(screen["role"], "lead");
    assert_eq!(screen["tasks"][0]["status"], "completed");
    let said: Vec<&str> = screen["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .filter(|text| !text.contains("Task"))
        .collect();
    assert_eq!(said, ["go on", "all is done", "so am I"]);
    let seqs: Vec<i64> = events(&scene).iter().map(|e| e["seq"].as_i64().unwrap()).collect();
    assert!(seqs.is_sorted_by(|a, b| a < b), "{seqs:?}");
    drop(worker);
}

#[test]
fn a_daemon_that_is_killed_again_and_again_tells_everything_once() {
    let scene = Scene::new();
    let lead = Transcript::of(&scene, SESSION);
    lead.create_team(TEAM);
    let mut expected = BTreeSet::new();
    for round in 0..6 {
        let daemon = scene.start();
        for n in 0..10 {
            let text = format!("message {round}-{n}");
            let (lines, _) = lead.call(
                "SendMessage",
                &json!({"to": "w", "message": text}),
                &json!({"success": true, "routing": {"sender": "team-lead", "target": "@w"}}),
            );
            // In pieces, wherever they are cut.
            for piece in lines.as_bytes().chunks(97 + round * 13 + n) {
                lead.write(std::str::from_utf8(piece).unwrap());
            }
            expected.insert(format!("team:message:received {text}"));
        }
        thread::sleep(Duration::from_millis(60 * u64::try_from(round).unwrap()));
        drop(daemon);
    }
    let _daemon = scene.start();
    scene.wait("all messages", || {
        let told: BTreeSet<String> = told(&scene).into_iter().collect();
        expected.is_subset(&told)
    });
    let said: Vec<String> =
        told(&scene).into_iter().filter(|one| one.starts_with("team:message")).collect();
    assert_eq!(said.len(), expected.len(), "each once: {said:?}");
    assert_eq!(told(&scene).iter().filter(|one| *one == "team:created").count(), 1);
}

#[test]
fn a_transcript_that_is_cut_short_or_replaced_is_read_again_and_nothing_is_told_twice() {
    let scene = Scene::new();
    let lead = Transcript::of(&scene, SESSION);
    lead.create_team(TEAM);
    lead.say("w", "one");
    let _daemon = scene.start();
    wait_for(&scene, &["team:message:received one"]);
    // Cut short, and written further.
    let whole = fs::read_to_string(&lead.path).unwrap();
    let first: String = whole.split_inclusive('\n').take(2).collect();
    ringer_testkit::put(&lead.path, &first);
    lead.say("w", "two");
    wait_for(&scene, &["team:message:received one", "team:message:received two"]);
    // Replaced by a copy with more in it.
    let copy = lead.path.with_extension("new");
    fs::copy(&lead.path, &copy).unwrap();
    let (lines, _) = lead.call(
        "SendMessage",
        &json!({"to": "w", "message": "three"}),
        &json!({"success": true, "routing": {"sender": "team-lead"}}),
    );
    crate::transcript::append(&copy, &lines);
    replace(&lead.path, &copy);
    lead.say("w", "four");
    let expected = ["one", "two", "three", "four"].map(|n| format!("team:message:received {n}"));
    wait_for(&scene, &expected.each_ref().map(String::as_str));
}

#[test]
fn lines_that_are_no_lines_hold_up_nothing() {
    let scene = Scene::new();
    let lead = Transcript::of(&scene, SESSION);
    lead.create_team(TEAM);
    let _daemon = scene.start();
    lead.write("{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"name\":\"SendMess\n");
    lead.write("\u{0}\u{1}garbage\n\n[]\n{\"type\":7,\"name\":\"TeamCreate\"}\n");
    lead.act("TeamExplode", &json!({}), &json!({}));
    lead.write(&format!("{{\"type\":\"user\",\"toolUseResult\":\"{}\"}}\n", "x".repeat(3_000_000)));
    lead.say("w", "after that");
    wait_for(&scene, &["team:created", "team:message:received after that"]);
}

#[test]
fn a_team_that_is_gone_is_told_once_and_its_name_can_come_again() {
    let scene = Scene::new();
    let lead = Transcript::of(&scene, SESSION);
    lead.create_team(TEAM);
    lead.say("w", "hello");
    let daemon = scene.start();
    wait_for(&scene, &["team:created", "team:message:received hello"]);
    // The disk is empty before the transcript says why.
    fs::remove_dir_all(scene.world.team_dir(TEAM)).unwrap();
    let call = lead.act("TeamDelete", &json!({}), &json!({"success": true, "team_name": TEAM}));
    wait_for(&scene, &["team:created", "team:deleted"]);
    let deleted = events(&scene).into_iter().find(|e| e["event"] == "team:deleted").unwrap();
    assert_eq!(deleted["toolUseId"], json!(call));
    // A killed lead says nothing.
    scene.world.team(TEAM);
    lead.create_team(TEAM);
    scene.wait("the second team", || {
        told(&scene).iter().filter(|one| *one == "team:created").count() == 2
    });
    fs::remove_dir_all(scene.world.team_dir(TEAM)).unwrap();
    scene.wait("its end", || told(&scene).iter().filter(|one| *one == "team:deleted").count() == 2);
    drop(daemon);
    assert_eq!(told(&scene).iter().filter(|one| one.contains("hello")).count(), 1);
}

#[test]
fn without_a_daemon_what_happened_is_found_out_when_somebody_asks() {
    let scene = Scene::new();
    let lead = Transcript::of(&scene, SESSION);
    lead.create_team(TEAM);
    lead.say("w", "hello");
    task(&scene, "1", "in_progress");
    for _ in 0..2 {
        let expected = [
            "team:created",
            "team:message:received hello",
            "team:task:created 1",
            "team:task:claimed 1",
        ];
        assert_eq!(told(&scene), expected);
    }
    let screen = scene.run(&["team", TEAM]);
    assert!(screen.contains("Task 1") && screen.contains("hello"), "{screen}");
    assert_eq!(team(&scene)["tasks"][0]["status"], "in_progress");
}

#[test]
fn the_session_after_clear_is_heard_as_well() {
    let scene = Scene::new();
    // The newest version: every session has its team, and says which session its process has now.
    let name = "session-33d98fe4";
    scene.lead_starts(name, 1, &scene.world.work());
    let first = Transcript::of(&scene, &format!("{name}-id"));
    let _daemon = scene.start();
    first.say("w", "before");
    scene.wait("the first", || told(&scene).contains(&"team:message:received before".to_owned()));
    let sessions = scene.world.claude().join("sessions");
    scene.lead_says("idle");
    let noted = sessions.join(format!("{}.json", std::process::id()));
    let mut session: Value = serde_json::from_str(&fs::read_to_string(&noted).unwrap()).unwrap();
    session["sessionId"] = json!("cleared-id");
    ringer_testkit::put(&noted, &session.to_string());
    let second = Transcript::of(&scene, "cleared-id");
    second.say("w", "after");
    scene.wait("the second", || told(&scene).contains(&"team:message:received after".to_owned()));
}

#[test]
fn transcripts_can_be_left_alone() {
    let scene = Scene::new();
    scene.settings(&format!("{QUICK}[observe]\ntranscripts = false\n"));
    let lead = Transcript::of(&scene, SESSION);
    lead.create_team(TEAM);
    lead.say("w", "not to be read");
    let worker = scene.worker("w");
    let _daemon = scene.start();
    scene.wait("the disk to be told", || told(&scene).contains(&"team:member:joined w".to_owned()));
    lead.say("w", "nor this");
    thread::sleep(Duration::from_secs(2));
    assert!(!told(&scene).iter().any(|one| one.contains("not to be read") || one.contains("nor")));
    drop(worker);
}
