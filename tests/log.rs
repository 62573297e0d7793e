//! `ringer log` shows what became of every message, while it happens and afterwards.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod scene;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use scene::{Daemon, Scene, TEAM, said};
use serde_json::Value;

/// The ids of the messages that these filters let through.
fn ids(scene: &Scene, filters: &[&str]) -> Vec<i64> {
    let answer = scene.run(&[&["log", "--json"], filters].concat());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["success"], true);
    answer["messages"].as_array().unwrap().iter().map(|m| m["id"].as_i64().unwrap()).collect()
}

#[test]
fn without_a_journal_there_is_nothing_yet() {
    let scene = Scene::new();
    let output = scene.ringer(&["log"]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(said(&output), "nothing yet\n");
    assert_eq!(scene.run(&["log", "--json"]), "{\"messages\":[],\"success\":true}\n");
    assert!(!scene.state().exists(), "looking leaves nothing behind");
}

#[test]
fn messages_are_found_by_member_team_state_and_number() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    scene.run(&["register", "nowhere", "--team", TEAM]);
    scene.world.team("second");
    scene.run(&["register", "w", "--team", "second"]);
    let mut daemon = Some(scene.start());
    scene.send("w", "one\nof two lines");
    scene.arrive(&worker, &["one\nof two lines"]);
    scene.send("nowhere", "two");
    scene.wait("a reason", || scene.state_of("nowhere") == "waiting: no pane");
    scene.run(&["send", "--team", "second", "--to", "w", "three"]);
    scene.wait("three", || ids(&scene, &["--state", "waiting"]).len() == 2);
    let four =
        ["send", "--team", TEAM, "--to", "team-lead", "--from", "w", "--summary", "s", "four"];
    scene.run(&four);

    // With the daemon, and without it.
    for _ in 0..2 {
        assert_eq!(ids(&scene, &[]), [1, 2, 3, 4]);
        assert_eq!(ids(&scene, &["--member", "w"]), [1, 3, 4]);
        assert_eq!(ids(&scene, &["-m", "w", "--team", TEAM]), [1, 4]);
        assert_eq!(ids(&scene, &["--team", "second"]), [3]);
        assert_eq!(ids(&scene, &["--state", "delivered"]), [1]);
        assert_eq!(ids(&scene, &["--state", "waiting"]), [2, 3]);
        assert_eq!(ids(&scene, &["--state", "written"]), [4]);
        assert_eq!(ids(&scene, &["-n", "2"]), [3, 4]);
        assert_eq!(ids(&scene, &["--member", "nobody"]), [0; 0]);
        let table = scene.run(&["log", "--member", "w", "--team", TEAM, "--text"]);
        assert!(table.starts_with("ID  TIME"), "{table}");
        assert!(table.contains("delivered"), "{table}");
        assert!(table.ends_with("--- 1\none\nof two lines\n--- 4\nfour\n"), "{table}");
        if let Some(daemon) = daemon.take() {
            assert!(daemon.stop().0.success());
        }
    }
    let output = scene.ringer(&["log", "--state", "lost"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let known = "it is none of received, waiting, delivering";
    assert!(said(&output).contains(known), "{}", said(&output));
}

/// Starts it with its output in a file.
fn follow(scene: &Scene, name: &str, command: &mut Command) -> (Daemon, PathBuf) {
    let path = scene.world.path().join(name);
    let file = File::options().create(true).append(true).open(&path).unwrap();
    let command = command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
    (Daemon(command.spawn().unwrap()), path)
}

#[test]
fn those_who_make_the_journal_at_once_do_not_get_in_each_others_way() {
    let scene = Scene::new();
    for round in 0..12 {
        fs::remove_dir_all(scene.state()).ok();
        let start =
            |n| follow(&scene, &format!("{round}-{n}"), &mut scene.ringer(&["log", "--follow"]));
        for (_follower, file) in (0..4).map(start).collect::<Vec<_>>() {
            scene.wait("its first line", || {
                let said = fs::read_to_string(&file).unwrap();
                assert!(!said.contains("error"), "round {round}: {said}");
                said.starts_with("ID  TIME")
            });
        }
    }
}

#[test]
fn a_follower_sees_each_change_when_it_happens() {
    let scene = Scene::new();
    // It can be started before anything else.
    let (_json, json) = follow(&scene, "json", &mut scene.ringer(&["log", "--follow", "--json"]));
    let (_text, text) = follow(&scene, "text", &mut scene.ringer(&["log", "--follow"]));
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    // Soon, and not only when the next thing happens.
    let see_in = |file: &Path, what: &str, count| {
        let started = Instant::now();
        scene.wait(what, || read(file).matches(what).count() >= count);
        let took = started.elapsed();
        assert!(took < Duration::from_secs(2), "`{what}` was seen after {took:?}{}", scene.all());
    };
    let see = |what: &str, count| see_in(&text, what, count);
    see("ID  TIME", 1);
    let worker = scene.worker("w");
    scene.run(&["register", "nowhere", "--team", TEAM]);
    let _daemon = scene.start();
    scene.send("w", "one");
    see("  delivered  ", 1);
    scene.block(&worker);
    scene.send("w", "two");
    see("  waiting: copy mode  ", 1);
    see_in(&json, "\"reason\":\"copy mode\"", 1);
    scene.unblock(&worker);
    see("  delivered  ", 2);
    see_in(&json, "\"state\":\"delivered\"", 2);
    scene.arrive(&worker, &["one", "two"]);
    let changes: Vec<Value> =
        read(&json).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(changes.is_sorted_by_key(|change| change["revision"].as_i64().unwrap()), "{changes:?}");
    let waited = |change: &Value| change["id"] == 2 && change["state"] == "waiting";
    assert!(changes.iter().any(waited), "{changes:?}");

    for count in 1..=30 {
        scene.send("nowhere", &format!("number {count}."));
        see("  waiting: no pane  ", 1);
        see(&format!("number {count}."), 1);
    }
}
