//! Real Claude Code builds send to a member that Ringer registered, and hear it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use ringer_testkit::{CLAUDE_VERSIONS, Claude, World, wait_for};
use serde_json::Value;

const MEMBER: &str = "rust-impl";

fn ringer(world: &World, claude: &Claude, arguments: &[&str]) -> Value {
    let mut ringer = world.ringer();
    ringer.env("CLAUDE_CONFIG_DIR", claude.dir()).current_dir(claude.work());
    let output = ringer.args(arguments).arg("--json").output().unwrap();
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
