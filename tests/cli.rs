//! The command line as users and scripts see it: whole stdout, whole stderr, exit status.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use ringer_testkit::{World, put};
use serde_json::{Value, json};

fn world() -> World {
    let world = World::new(env!("CARGO_BIN_EXE_ringer"));
    world.team("exo-root");
    world
}

/// Everything that a command printed, with what differs from run to run made plain.
fn shown(world: &World, command: &mut Command) -> String {
    let output = command.output().unwrap();
    text(world, &output)
}

fn text(world: &World, output: &Output) -> String {
    let part = |bytes: &[u8]| {
        String::from_utf8(bytes.to_vec())
            .unwrap()
            .replace(world.path().to_str().unwrap(), "[WORLD]")
    };
    let (stdout, stderr) = (part(&output.stdout), part(&output.stderr));
    format!("status: {}\n--- stdout\n{stdout}--- stderr\n{stderr}", output.status.code().unwrap())
}

fn run(world: &World, arguments: &[&str]) -> String {
    shown(world, world.ringer().args(arguments))
}

/// The command and all it printed, for a log of several.
fn step_shown(world: &World, arguments: &[&str]) -> String {
    format!("$ ringer {}\n{}\n", arguments.join(" "), run(world, arguments))
}

fn json(world: &World, arguments: &[&str]) -> Value {
    let output = world.ringer().args(arguments).arg("--json").output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn filters() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "[UUID]");
    settings.add_filter(r"\d+[smhd] ago", "[AGO]");
    settings.add_filter(r"  \d+[smhd] +", "  [AGE]  ");
    settings.add_filter(r"in \d\.\d s", "in [WAIT]");
    settings.set_snapshot_path("snapshots");
    settings
}

macro_rules! check {
    ($name:literal, $text:expr) => {
        filters().bind(|| insta::assert_snapshot!($name, $text))
    };
}

#[test]
fn a_member_is_registered_written_to_and_removed() {
    let world = world();
    let mut log = String::new();
    let mut step = |arguments: &[&str]| {
        log += &step_shown(&world, arguments);
    };
    step(&["teams"]);
    step(&["register", "rust-impl", "--model", "gemini-3", "--pane", "tmux:%3"]);
    step(&["register", "rust-impl", "--model", "gemini-3"]);
    step(&["register", "rust-impl", "--model", "gemini-4"]);
    step(&["members"]);
    step(&["send", "--to", "rust-impl", "--summary", "Change data structure", "Use a BTreeMap"]);
    step(&["send", "--to", "team-lead", "--from", "rust-impl", "done"]);
    step(&["inbox", "rust-impl"]);
    step(&["inbox", "rust-impl", "--unread", "--mark-read", "-v"]);
    step(&["inbox", "rust-impl", "--unread"]);
    step(&["inbox", "rust-impl", "--prune", "0", "-v"]);
    step(&["remove", "rust-impl"]);
    step(&["remove", "rust-impl"]);
    step(&["teams"]);
    check!("round_trip", log);
}

#[test]
fn mistakes_are_named_with_what_to_do() {
    let world = world();
    world.team("exo-other");
    let mut log = String::new();
    let mut step = |arguments: &[&str]| {
        log += &step_shown(&world, arguments);
    };
    step(&["members"]);
    step(&["members", "--team", "exo-rot"]);
    step(&["members", "--team", "../../etc"]);
    step(&["register", "team-lead", "--team", "exo-root"]);
    step(&["register", "a b", "--team", "exo-root"]);
    step(&["register", "x", "--team", "exo-root", "--pane", "tmux:3"]);
    step(&["remove", "team-lead", "--team", "exo-root"]);
    step(&["send", "--team", "exo-root", "--to", "team-led", "hi"]);
    step(&["send", "--team", "exo-root", "--to", "team-lead", "--from", "nobody", "hi"]);
    step(&["send", "--team", "exo-root", "--to", "team-lead", ""]);
    step(&["send", "--team", "exo-root", "--to", "*", "hi"]);
    step(&["inbox", "nobody", "--team", "exo-root"]);
    step(&["send"]);
    check!("mistakes", log);
}

#[test]
fn scripts_get_codes_and_details() {
    let world = world();
    let error = |arguments: &[&str]| {
        let answer = json(&world, arguments);
        assert_eq!(answer["success"], false);
        assert!(answer["message"].is_string());
        (answer["error"].as_str().unwrap().to_owned(), answer["details"].clone())
    };
    let (code, details) = error(&["members", "--team", "nope"]);
    assert_eq!((code.as_str(), &details["teams"]), ("team_not_found", &json!(["exo-root"])));
    let (code, details) = error(&["send", "--to", "team-leed", "hi"]);
    assert_eq!((code.as_str(), &details["nearest"]), ("agent_not_found", &json!(["team-lead"])));
    assert_eq!(error(&["register", "-", "-t", "exo-root"]).0, "invalid_name");
    assert_eq!(error(&["remove", "team-lead"]).0, "permission_denied");
    assert_eq!(error(&["send", "--to", "team-lead", "  "]).0, "empty_message");

    put(&world.team_dir("exo-root").join("config.json"), "{\"members\": ");
    let (code, details) = error(&["members", "--team", "exo-root"]);
    assert_eq!(code, "unreadable");
    assert!(details["path"].as_str().unwrap().ends_with("config.json"));
}

#[test]
fn a_broken_inbox_is_reported_and_left_as_it_is() {
    let world = world();
    std::fs::create_dir_all(world.team_dir("exo-root").join("inboxes")).unwrap();
    for broken in ["", "{}", "[{\"from\": ", "null"] {
        put(&world.inbox("exo-root", "team-lead"), broken);
        let answer = json(&world, &["send", "--to", "team-lead", "hi"]);
        assert_eq!(answer["error"], "unreadable", "{broken:?}");
        assert_eq!(std::fs::read_to_string(world.inbox("exo-root", "team-lead")).unwrap(), broken);
    }
    put(
        &world.inbox("exo-root", "team-lead"),
        "[7, {\"from\": \"x\", \"text\": \"y\", \"z\": 1.0}]",
    );
    assert_eq!(json(&world, &["send", "--to", "team-lead", "hi"])["success"], true);
    let answer = json(&world, &["inbox", "team-lead"]);
    assert_eq!(answer["odd"], json!([{"why": "it is not an object", "raw": 7}]));
    assert_eq!(answer["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_named() {
    let world = world();
    std::fs::create_dir_all(world.team_dir("exo-root").join("inboxes/team-lead.json.lock"))
        .unwrap();
    let answer = json(&world, &["send", "--to", "team-lead", "hi"]);
    assert_eq!(answer["error"], "locked");
    assert!(answer["details"]["age_ms"].as_u64().unwrap() >= 4000, "{answer}");
    assert!(!world.inbox("exo-root", "team-lead").exists());
}

#[test]
fn a_phantom_needs_force() {
    let world = world();
    assert_eq!(json(&world, &["send", "--to", "nobody", "hi"])["error"], "agent_not_found");
    assert!(!world.inbox("exo-root", "nobody").exists());
    assert_eq!(json(&world, &["send", "--to", "nobody", "--force", "hi"])["success"], true);
    assert!(world.inbox("exo-root", "nobody").exists());
}

#[test]
fn a_broadcast_goes_to_everybody_else_once_in_five_seconds() {
    let world = world();
    for name in ["a", "b"] {
        assert_eq!(json(&world, &["register", name])["outcome"], "added");
    }
    let sent = json(&world, &["send", "--to", "*", "--from", "a", "stop"]);
    let to: Vec<_> = sent["messages"].as_array().unwrap().iter().map(|m| &m["to"]).collect();
    assert_eq!(to, ["team-lead", "b"]);
    assert_ne!(sent["messages"][0]["msg_id"], sent["messages"][1]["msg_id"]);
    assert!(!world.inbox("exo-root", "a").exists());
    let again = json(&world, &["send", "--to", "*", "stop"]);
    assert_eq!(again["error"], "rate_limit");
    let wait = again["details"]["retry_after_ms"].as_u64().unwrap();
    assert!(wait > 0 && wait <= 5000, "{wait}");
    assert_eq!(json(&world, &["inbox", "b"])["entries"].as_array().unwrap().len(), 1);
}

#[test]
fn a_long_message_is_stored_whole_and_pointed_to() {
    let world = world();
    let long = "é".repeat(10_001);
    let mut send = world.ringer();
    send.args(["send", "--to", "team-lead", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = send.spawn().unwrap();
    child.stdin.take().unwrap().write_all(long.as_bytes()).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let inbox = json(&world, &["inbox", "team-lead"]);
    let text = inbox["entries"][0]["text"].as_str().unwrap();
    let path = text.rsplit_once("the file ").unwrap().1.trim_end_matches(']');
    assert!(path.starts_with(world.path().join("state/ringer/messages").to_str().unwrap()));
    assert_eq!(std::fs::read_to_string(path).unwrap(), long);
}

#[test]
fn nothing_in_a_message_acts_on_the_terminal() {
    let world = world();
    let hostile = "a\u{1b}[2J\u{1b}]0;owned\u{7}\rb\u{202e}c\u{7f}";
    world.team_with("evil", &json!({"name": hostile}));
    let send = ["send", "--team", "evil", "--to", "team-lead", "--summary", hostile, hostile];
    assert_eq!(json(&world, &send)["success"], true);
    for arguments in [&send[..], &["inbox", "team-lead", "--team", "evil"], &["teams"]] {
        // Escape sequences get through to what is no terminal only if one asks for it.
        let output = world.ringer().args(arguments).env("CLICOLOR_FORCE", "1").output().unwrap();
        for shown in [output.stdout, output.stderr] {
            let shown = String::from_utf8(shown).unwrap();
            let shown = shown.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
            let acts = ['\u{1b}', '\u{7}', '\r', '\u{202e}', '\u{7f}'];
            assert!(!shown.contains(acts), "{arguments:?}: {shown:?}");
        }
    }
    let inbox = json(&world, &["inbox", "team-lead", "--team", "evil"]);
    assert_eq!(inbox["entries"][0]["text"], hostile, "but scripts get it as it is");
}

#[test]
fn the_team_is_found_from_the_directory() {
    let world = world();
    let below = world.work().join("deep/er");
    std::fs::create_dir_all(&below).unwrap();
    let team = |command: &mut Command| -> Value {
        let output = command.args(["members", "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(team(world.ringer().current_dir(&below))["team"], "exo-root");
    assert_eq!(team(world.ringer().current_dir("/"))["error"], "team_not_found");
    assert_eq!(
        team(world.ringer().current_dir("/").env("RINGER_TEAM", "exo-root"))["team"],
        "exo-root"
    );

    // A second team in the same directory: nobody knows which is meant, unless one is alive.
    let me = std::process::id();
    let line = std::fs::read_to_string("/proc/self/stat").unwrap();
    let start = line.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    let process = |pid: u32| json!({"leadProcess": {"pid": pid, "procStart": start}});
    world.team_with("exo-dead", &process(u32::MAX >> 1));
    assert_eq!(
        team(world.ringer().current_dir(&below))["team"],
        "exo-root",
        "a dead lead is no rival"
    );
    world.team("exo-rival");
    let answer = team(world.ringer().current_dir(&below));
    assert_eq!(answer["details"]["teams"], json!(["exo-rival", "exo-root"]));
    world.team_with("exo-live", &process(me));
    assert_eq!(team(world.ringer().current_dir(&below))["team"], "exo-live");
}

#[test]
fn the_demo_shows_every_step() {
    let world = world();
    let demo = json(&world, &["demo"]);
    let files: Vec<_> = demo["steps"].as_array().unwrap().iter().map(|s| &s["file"]).collect();
    assert_eq!(files.len(), 6);
    assert_eq!(demo["steps"][0]["content"], demo["steps"][5]["content"], "nothing is left behind");
    assert!(demo["steps"][2]["content"].as_str().unwrap().contains("BTreeMap"));
    assert!(run(&world, &["demo"]).starts_with("status: 0\n"));
}

#[test]
fn output_that_nobody_reads_any_more_is_no_error() {
    let world = world();
    for arguments in [["teams", "-v"], ["teams", "--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = world.ringer().args(arguments).stdout(writer).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn doing_it_again_changes_only_what_is_given() {
    let world = world();
    json(
        &world,
        &["register", "w", "--model", "m", "--agent-type", "t", "--cwd", "/x", "--color", "pink"],
    );
    assert_eq!(json(&world, &["register", "w"])["outcome"], "unchanged");
    assert_eq!(json(&world, &["register", "w", "--pane", "tmux:%1"])["outcome"], "updated");
    assert_eq!(json(&world, &["register", "w", "--model", "n"])["outcome"], "updated");
    let member = &json(&world, &["members"])["members"][1];
    let fields =
        ["model", "agent_type", "cwd", "color", "pane"].map(|key| member[key].as_str().unwrap());
    assert_eq!(fields, ["n", "t", "/x", "pink", "tmux:%1"]);
}

#[test]
fn members_of_a_team_that_is_gone_can_be_forgotten() {
    let world = world();
    json(&world, &["register", "w"]);
    std::fs::remove_dir_all(world.team_dir("exo-root")).unwrap();
    assert_eq!(json(&world, &["remove", "w", "--team", "exo-root"])["removed"], json!(["w"]));
    assert_eq!(json(&world, &["remove", "w", "--team", "exo-root"])["error"], "team_not_found");
}

#[test]
fn text_that_looks_like_an_option_is_sent() {
    let world = world();
    for text in ["- done", "--- a/file", "-1", "--jason"] {
        assert_eq!(json(&world, &["send", "--to", "team-lead", text])["success"], true, "{text}");
    }
    let inbox = json(&world, &["inbox", "team-lead"]);
    assert_eq!(inbox["entries"].as_array().unwrap().len(), 4);
    assert_eq!(inbox["entries"][1]["text"], "--- a/file");
}

#[test]
fn scripts_get_json_for_wrong_usage_too() {
    let world = world();
    let output =
        world.ringer().args(["register", "w", "--pane", "bad", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["error"], "invalid_usage");
    assert!(answer["message"].as_str().unwrap().contains("tmux:%N"), "{answer}");
}

#[test]
fn bytes_that_are_no_text_do_not_hide_the_rest() {
    let world = world();
    json(&world, &["send", "--to", "team-lead", "BROKEN"]);
    json(&world, &["send", "--to", "team-lead", "whole"]);
    let path = world.inbox("exo-root", "team-lead");
    let text = std::fs::read(&path).unwrap();
    let at = text.windows(6).position(|window| window == b"BROKEN").unwrap();
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(at as u64)).unwrap();
    file.write_all(b"\xff").unwrap();
    assert_eq!(json(&world, &["send", "--to", "team-lead", "more"])["success"], true);
    let inbox = json(&world, &["inbox", "team-lead"]);
    let texts: Vec<_> = inbox["entries"].as_array().unwrap().iter().map(|e| &e["text"]).collect();
    assert_eq!(texts, ["\u{fffd}ROKEN", "whole", "more"]);
}

#[test]
fn a_broken_file_of_our_own_stops_a_change_before_it_begins() {
    let world = world();
    std::fs::create_dir_all(world.path().join("state/ringer")).unwrap();
    put(&world.path().join("state/ringer/roster.json"), "{");
    assert_eq!(json(&world, &["register", "w"])["error"], "unreadable");
    assert_eq!(world.config("exo-root")["members"].as_array().unwrap().len(), 1);
    assert!(run(&world, &["members"]).starts_with("status: 0"));
}
