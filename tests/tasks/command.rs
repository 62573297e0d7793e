//! The command as users and scripts see it: whole stdout, whole stderr, exit status.

use std::fmt::Write as _;
use std::process::Command;

use ringer_testkit::{World, put};
use serde_json::{Value, json};

fn world() -> World {
    let world = World::new(env!("CARGO_BIN_EXE_ringer"));
    world.team("exo-root");
    world
}

fn shown(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let part = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (stdout, stderr) = (part(&output.stdout), part(&output.stderr));
    format!("status: {}\n--- stdout\n{stdout}--- stderr\n{stderr}", output.status.code().unwrap())
}

fn json(world: &World, arguments: &[&str]) -> Value {
    let output = world.ringer().args(arguments).arg("--json").output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_board_is_filled_worked_off_and_looked_at() {
    let world = world();
    for name in ["gem", "cod"] {
        assert!(world.ringer().args(["register", name]).output().unwrap().status.success());
    }
    let mut log = String::new();
    let mut step = |member: Option<&str>, arguments: &[&str]| {
        let mut ringer = world.ringer();
        ringer.args(["tasks"]).args(arguments);
        if let Some(member) = member {
            ringer.env("RINGER_MEMBER", member).env("RINGER_TEAM", "exo-root");
        }
        let who = member.map(|member| format!("RINGER_MEMBER={member} ")).unwrap_or_default();
        let shown = shown(&mut ringer);
        writeln!(log, "$ {who}ringer tasks {}\n{shown}", arguments.join(" ")).unwrap();
    };
    step(None, &["list"]);
    step(
        None,
        &[
            "create",
            "-s",
            "Fix the parser",
            "-d",
            "It breaks.",
            "--owner",
            "gem",
            "--priority",
            "2",
        ],
    );
    step(None, &["create", "-s", "Write \u{202e}docs", "--blocked-by", "1", "--owner", "cod"]);
    step(None, &["list"]);
    step(Some("cod"), &["claim", "2"]);
    step(Some("cod"), &["claim", "1"]);
    step(Some("gem"), &["claim", "1"]);
    step(Some("gem"), &["claim", "1"]);
    step(Some("gem"), &["claim", "2", "--as", "cod"]);
    step(Some("gem"), &["create", "-s", "One more"]);
    step(Some("gem"), &["delete", "2"]);
    step(None, &["update", "1", "--add-blocked-by", "2"]);
    step(None, &["update", "1", "--status", "pending"]);
    step(None, &["update", "1", "--status", "done"]);
    step(None, &["update", "1"]);
    step(None, &["update", "1", "--meta", "x"]);
    step(None, &["update", "1", "--description", "-", "--result", "-"]);
    step(None, &["create", "-s", "a\u{1b}[31mb"]);
    step(None, &["create", "-s", "a", "--priority", "highest"]);
    step(None, &["--owner", "gem", "get", "1"]);
    step(None, &["update", "1", "--owner", "nobody"]);
    step(
        Some("gem"),
        &[
            "update",
            "#1",
            "--status",
            "completed",
            "--result",
            "3 tests\nadded",
            "--meta",
            "lines=12",
        ],
    );
    step(None, &["get", "1"]);
    step(None, &["get", "2"]);
    step(None, &["list", "--status", "completed"]);
    step(None, &["list", "--owner", "nobody"]);
    step(Some("cod"), &["claim", "2"]);
    step(Some("gem"), &["release", "2"]);
    step(Some("cod"), &["release", "2"]);
    step(None, &["delete", "1"]);
    step(None, &["get", "1"]);
    step(None, &["get", "../../teams/exo-root/config"]);
    step(None, &["list"]);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.bind(|| insta::assert_snapshot!("tasks", log));
}

#[test]
fn scripts_get_the_codes_of_the_board() {
    let world = world();
    assert!(world.ringer().args(["register", "gem"]).output().unwrap().status.success());
    for subject in ["one", "two", "three"] {
        let task = json(&world, &["tasks", "create", "-s", subject]);
        assert_eq!((&task["success"], &task["task"]["subject"]), (&json!(true), &json!(subject)));
    }
    let done = |words: &[&str]| {
        let answer = json(&world, &[&["tasks"], words].concat());
        assert_eq!(answer["success"], true, "{answer}");
        answer
    };
    done(&["update", "2", "--add-blocked-by", "1"]);
    done(&["claim", "1", "--as", "gem"]);
    for (words, code, detail) in [
        (&["claim", "9"][..], "task_not_found", ("task_id", json!("9"))),
        (&["claim", "1"], "conflict", ("owner", json!("gem"))),
        (&["claim", "2"], "blocked", ("blocked_by", json!(["1"]))),
        (&["claim", "3", "--as", "gem"], "busy", ("task_id", json!("1"))),
        (
            &["update", "1", "--add-blocked-by", "2"],
            "circular_dependency",
            ("path", json!(["1", "2", "1"])),
        ),
        (
            &["update", "1", "--status", "pending"],
            "invalid_status",
            ("allowed", json!(["completed", "deleted"])),
        ),
        (
            &["update", "1", "--status", "x"],
            "invalid_status",
            ("allowed", json!(["pending", "in_progress", "completed", "deleted"])),
        ),
        (&["release", "1", "--as", "team-lead"], "permission_denied", ("hint", json!(null))),
        (&["update", "1", "--meta", "priority=3"], "invalid_task", ("hint", json!(null))),
        (&["create", "-s", &"x".repeat(201)], "too_large", ("limit", json!(200))),
    ] {
        let answer = json(&world, &[&["tasks"], words].concat());
        assert_eq!(
            (&answer["success"], &answer["error"]),
            (&json!(false), &json!(code)),
            "{words:?}: {answer}"
        );
        assert_eq!(answer["details"].get(detail.0).unwrap_or(&json!(null)), &detail.1, "{answer}");
    }
    // A thousand in a day is enough.
    let created = world.path().join("state/ringer/tasks-created.json");
    let text = std::fs::read_to_string(&created).unwrap();
    put(&created, &text.replace("\"tasks\": 3", "\"tasks\": 1000"));
    let answer = json(&world, &["tasks", "create", "-s", "one too many"]);
    assert_eq!(answer["error"], "rate_limit", "{answer}");
    assert!(answer["message"].as_str().unwrap().ends_with("possible in 24 hours"), "{answer}");
    assert_eq!(done(&["list"])["tasks"].as_array().unwrap().len(), 3);
}
