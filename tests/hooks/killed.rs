//! Hooks that are killed, and several at once: nothing is lost, and what comes twice says so.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use ringer_testkit::{Running, World, wait_for};
use serde_json::{Value, json};

use super::{PATIENCE, TEAM, lead, post_tool, reply, said, start, waiter, words, world};

/// A hook with mail in its hands: its output is a pipe that is full.
fn with_full_hands(world: &World) -> (Running, std::io::PipeReader) {
    let before = fs::read_to_string(world.inbox(TEAM, "team-lead")).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
    let mut command = world.ringer();
    command.args(["hook", "post-tool"]).stdin(Stdio::piped()).stdout(OwnedFd::from(writer));
    let mut hook = Running::start_as_it_is(&mut command).unwrap();
    // Or the pipe has another writer, and no end.
    drop(command);
    hook.stdin().unwrap().write_all(said(&json!({})).to_string().as_bytes()).unwrap();
    let taken = || {
        let inbox = fs::read_to_string(world.inbox(TEAM, "team-lead")).unwrap();
        (inbox != before).then_some(())
    };
    wait_for("it to be taken", PATIENCE, taken).unwrap();
    (hook, reader)
}

#[test]
fn what_a_killed_hook_had_in_hand_comes_again() {
    let world = world();
    reply(&world, &format!("IN HAND {}", "x".repeat(6000)));
    let (hook, mut reader) = with_full_hands(&world);
    // While it lives, it is its own.
    assert_eq!(post_tool(&world, &json!({})), None);
    hook.kill().unwrap();
    let mut half = String::new();
    reader.read_to_string(&mut half).unwrap();
    assert!(half.len() < 6000, "it was not full");
    let context = post_tool(&world, &json!({})).unwrap();
    assert!(context.contains("[second copy") && context.contains("IN HAND"), "{context}");
    assert_eq!(post_tool(&world, &json!({})), None, "once");
}

/// Killed at any moment: nothing is lost, and what comes twice says so.
#[test]
fn hooks_that_are_killed_at_random_lose_nothing() {
    let world = world();
    let mut given: Vec<String> = Vec::new();
    let mut killed = 0;
    for round in 0..60 {
        reply(&world, &format!("message {round}."));
        let mut hook = world.ringer();
        hook.args(["hook", "post-tool"]);
        let hook = start(hook, &said(&json!({})));
        thread::sleep(Duration::from_micros(250 * (round % 30)));
        let output = hook.kill_with_output().unwrap();
        killed += u32::from(!output.status.success());
        // Half of it is nothing to Claude Code.
        if let Ok(answer) = serde_json::from_slice::<Value>(&output.stdout) {
            given.push(answer["hookSpecificOutput"]["additionalContext"].to_string());
        }
    }
    while let Some(context) = post_tool(&world, &json!({})) {
        given.push(context);
    }
    println!("{killed} of 60 were killed before their end");
    assert!(killed > 5, "too few to mean anything");
    let mut twice = 0;
    for round in 0..60 {
        let text = format!("message {round}.");
        let with: Vec<&String> = given.iter().filter(|context| context.contains(&text)).collect();
        assert!(!with.is_empty(), "{text} is lost");
        for again in &with[1..] {
            let before = &again[..again.find(&text).unwrap()];
            assert!(before.ends_with("first one may have arrived] "), "{text} came twice: {again}");
            twice += 1;
        }
    }
    println!("{twice} second copies, all marked");
}

/// A hook that took mail and was killed.
fn dies_with_mail(world: &World) {
    let (hook, _reader) = with_full_hands(world);
    hook.kill().unwrap();
}

#[test]
fn of_several_hooks_at_once_exactly_one_hands_over_what_another_had() {
    let world = world();
    for round in 0..10 {
        reply(&world, &format!("round {round}: {}", "x".repeat(4100)));
        dies_with_mail(&world);
        let hooks: Vec<Running> = (0..4)
            .map(|_| {
                let mut hook = world.ringer();
                hook.args(["hook", "post-tool"]);
                start(hook, &said(&json!({})))
            })
            .collect();
        let outputs = hooks.into_iter().map(|hook| hook.finish().unwrap().stdout);
        let with = outputs.filter(|output| !output.is_empty()).count();
        assert_eq!(with, 1, "round {round}");
    }
}

#[test]
fn no_more_than_claude_code_shows_is_handed_over_at_a_time_and_nothing_is_left_out() {
    let world = world();
    for number in 0..12 {
        reply(&world, &format!("part {number}. {}", "<long-tag>".repeat(120)));
    }
    dies_with_mail(&world);
    for number in 12..16 {
        reply(&world, &format!("part {number}. {}", "y".repeat(1500)));
    }
    let mut all = String::new();
    while let Some(context) = post_tool(&world, &json!({})) {
        assert!(context.chars().count() < 10_000, "{}", context.len());
        all.push_str(&context);
    }
    for number in 0..16 {
        assert_eq!(all.matches(&format!("part {number}. ")).count(), 1, "part {number}");
    }
}

/// A waiter that has another hook's mail and cannot write the inbox tries again, and forgets nothing.
#[test]
fn a_waiter_that_failed_once_hands_over_all_of_it() {
    let world = world();
    let lead = lead();
    reply(&world, &format!("from a dead hook {}", "x".repeat(4100)));
    dies_with_mail(&world);
    reply(&world, "locked away");
    // Somebody holds the inbox for longer than anybody waits.
    let lock = world.inbox(TEAM, "team-lead").with_extension("json.lock");
    fs::create_dir(&lock).unwrap();
    let hook = waiter(&world, lead.id());
    let noted = world.path().join("state/ringer/handovers.json");
    let in_hand = || fs::read_to_string(&noted).ok()?.contains("locked away").then_some(());
    wait_for("the plan", PATIENCE, in_hand).unwrap();
    for _ in 0..60 {
        // Touched, as a holder does.
        fs::File::open(&lock).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
        thread::sleep(Duration::from_millis(100));
    }
    fs::remove_dir(&lock).unwrap();
    let output = hook.finish().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = words(&output);
    assert!(said.contains("from a dead hook") && said.contains("locked away"), "{said}");
    assert!(said.contains("[second copy"), "{said}");
    assert_eq!(post_tool(&world, &json!({})), None);
}
