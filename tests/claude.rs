//! Real Claude Code builds send to a member that Ringer registered, all the way into its pane, and
//! hear it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use ringer_testkit::{CLAUDE_VERSIONS, Claude, Running, Tmux, Worker, World, wait_for};
use serde_json::Value;

const MEMBER: &str = "rust-impl";

fn command(world: &World, claude: &Claude) -> Command {
    let mut ringer = world.ringer();
    ringer.env("CLAUDE_CONFIG_DIR", claude.dir()).current_dir(claude.work());
    ringer
}

fn ringer(world: &World, claude: &Claude, arguments: &[&str]) -> Value {
    let output = command(world, claude).args(arguments).arg("--json").output().unwrap();
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{arguments:?}: {answer}");
    serde_json::from_str(&answer).unwrap()
}

/// No team is named: the one whose lead works in this directory is found.
fn round_trip(version: &str) {
    let world = World::new(env!("CARGO_BIN_EXE_ringer"));
    let claude = Claude::start(version, world.path()).unwrap();
    claude.team("exo-root").unwrap();
    ringer(&world, &claude, &["register", MEMBER]);

    let text = "Use a \"BTreeMap\" 😀\n$(touch x)";
    claude.act([claude.send_message(MEMBER, text, "Change map")]).unwrap();
    let inbox = ringer(&world, &claude, &["inbox", MEMBER, "--unread", "--mark-read"]);
    assert_eq!(inbox["entries"][0]["text"], text, "{version}: {}", claude.screen());
    assert_eq!(inbox["entries"][0]["from"], "team-lead");

    // Claude Code goes on writing to an inbox that we have edited.
    claude.act([claude.send_message(MEMBER, "second", "More")]).unwrap();
    let inbox = ringer(&world, &claude, &["inbox", MEMBER]);
    let read: Vec<_> = inbox["entries"].as_array().unwrap().iter().map(|e| &e["read"]).collect();
    assert_eq!(read, [true, false], "{version}");

    // With a daemon and a pane, what is still unread and what comes now is typed to the worker.
    let dir = world.path().join("workers");
    fs::create_dir(&dir).unwrap();
    let tmux = Tmux::start(&dir).unwrap();
    let worker = Worker::open(&world, &tmux, MEMBER, &[]).unwrap();
    let mut daemon = command(&world, &claude);
    daemon.arg("daemon").stdout(Stdio::null()).stderr(Stdio::null());
    let _daemon = Running::start_as_it_is(&mut daemon).unwrap();
    ringer(&world, &claude, &["register", MEMBER, "--pane", &worker.address(&tmux)]);
    claude.act([claude.send_message(MEMBER, text, "Change map")]).unwrap();
    let shown = worker.wait_for(2, Duration::from_secs(30)).unwrap();
    let expected = [
        "[message from team-lead · More]\nsecond".to_owned(),
        format!("[message from team-lead · Change map]\n{text}"),
    ];
    assert_eq!(shown, expected, "{version}");
    let all_read = || {
        let inbox = ringer(&world, &claude, &["inbox", MEMBER, "--unread"]);
        inbox["entries"].as_array().unwrap().is_empty().then_some(())
    };
    wait_for("the inbox to be marked", Duration::from_secs(10), all_read).unwrap();

    // Versions before 2.1.178 read the lead's inbox even if all members are synthetic.
    ringer(&world, &claude, &["send", "--from", MEMBER, "--to", "team-lead", "ALL TESTS PASS"]);
    let patch: u32 = version.rsplit('.').next().unwrap().parse().unwrap();
    if patch < 178 {
        let heard = || claude.model().saw("ALL TESTS PASS").then_some(());
        wait_for("the lead to hear it", Duration::from_secs(30), heard).unwrap();
    }
    ringer(&world, &claude, &["remove", MEMBER]);
    let members = ringer(&world, &claude, &["members"]);
    assert_eq!(members["members"].as_array().unwrap().len(), 1);
}

#[test]
fn claude_code_of_every_generation_sends_to_a_registered_member() {
    for version in CLAUDE_VERSIONS {
        round_trip(version);
    }
}
