//! Everybody writes to one inbox at once, real processes all: nothing is lost, nothing twice.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ringer_testkit::{Running, World, node_with};
use serde_json::Value;

const TEAM: &str = "exo-root";
const MEMBER: &str = "rust-impl";
const EACH: usize = 200;

fn node(world: &World, tag: &str, how: &str) -> Running {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/node/append.cjs");
    let mut node = node_with("proper-lockfile", "4.1.2").unwrap();
    let inbox = world.inbox(TEAM, MEMBER);
    Running::start(node.arg(script).arg(inbox).args([&EACH.to_string(), tag, how])).unwrap()
}

/// 200 times `ringer send`, one after the other.
fn ringer(world: &World, tag: &str) {
    for number in 0..EACH {
        let text = format!("{tag}-{number}");
        let sent =
            world.ringer().args(["send", "--team", TEAM, "--to", MEMBER, &text]).output().unwrap();
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    }
}

/// Reads what is new, marks it, and prunes all that was read; the texts in the order they came.
fn janitor(world: &World) -> Vec<String> {
    let read =
        ["inbox", MEMBER, "--team", TEAM, "--unread", "--mark-read", "--prune", "3", "--json"];
    let output = world.ringer().args(read).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["odd"].as_array().unwrap().len(), 0);
    let text = |entry: &Value| entry["text"].as_str().unwrap().to_owned();
    answer["entries"].as_array().unwrap().iter().map(text).collect()
}

/// Says that it is over, also if a check fails: else the janitor would go on for ever.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn eight_writers_and_a_janitor_lose_nothing_and_repeat_nothing() {
    let world = World::new(env!("CARGO_BIN_EXE_ringer"));
    world.team(TEAM);
    let register = ["register", MEMBER, "--team", TEAM];
    assert!(world.ringer().args(register).output().unwrap().status.success());
    std::fs::create_dir_all(world.team_dir(TEAM).join("inboxes")).unwrap();
    ringer_testkit::put(&world.inbox(TEAM, MEMBER), "[]");

    let nodes = [("n0", "in-place"), ("n1", "in-place"), ("n2", "rename"), ("n3", "rename")];
    let nodes = nodes.map(|(tag, how)| node(&world, tag, how));
    let done = AtomicBool::new(false);
    let mut arrived = Vec::new();
    thread::scope(|scope| {
        let world = &world;
        let over = SetOnDrop(&done);
        let senders: Vec<_> =
            (0..4).map(|n| scope.spawn(move || ringer(world, &format!("r{n}")))).collect();
        let cleaner = scope.spawn(|| {
            let mut seen = Vec::new();
            while !done.load(Ordering::SeqCst) {
                seen.extend(janitor(world));
            }
            seen
        });
        for node in nodes {
            let output = node.finish().unwrap();
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
                panic!("a node writer crashed: {}", String::from_utf8_lossy(&output.stderr))
            });
            assert_eq!(answer["failed"], 0, "a lock was held too long: {answer}");
        }
        for sender in senders {
            sender.join().unwrap();
        }
        drop(over);
        arrived.extend(cleaner.join().unwrap());
    });
    arrived.extend(janitor(&world));

    assert_eq!(arrived.len(), 8 * EACH);
    let mut by_writer: HashMap<&str, Vec<usize>> = HashMap::new();
    for text in &arrived {
        let (writer, number) = text.split_once('-').unwrap();
        by_writer.entry(writer).or_default().push(number.parse().unwrap());
    }
    assert_eq!(by_writer.len(), 8);
    for (writer, numbers) in by_writer {
        assert_eq!(numbers, (0..EACH).collect::<Vec<_>>(), "{writer}: each once, in order");
    }
}
