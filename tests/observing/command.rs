//! `ringer observe`, `ringer team`, `ringer events`: what they print.

use std::fs;
use std::io::Write as _;
use std::process::{Output, Stdio};
use std::time::Duration;

use ringer_testkit::{Running, put, wait_for};
use serde_json::{Value, json};

use crate::scene::{Scene, TEAM, said};
use crate::transcript::{SESSION, Transcript, append, replace};

/// Runs it with this on its standard input.
fn pipe(scene: &Scene, arguments: &[&str], input: &[u8]) -> Output {
    let mut ringer = Running::start(&mut scene.ringer(arguments)).unwrap();
    ringer.stdin().unwrap().write_all(input).unwrap();
    ringer.finish().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", said(output));
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A small life.
fn life(scene: &Scene) -> Transcript {
    let lead = Transcript::of(scene, SESSION);
    lead.create_team("rec");
    lead.act("TaskCreate", &json!({"subject": "One"}), &json!({"task": {"id": "1"}}));
    lead.say("alice", "hello");
    lead
}

#[test]
fn a_stream_in_a_pipe_is_events_one_a_line() {
    let scene = Scene::new();
    let lead = life(&scene);
    let text = fs::read(&lead.path).unwrap();
    let names = ["team:created", "team:task:created", "team:message:received"];
    for output in [
        pipe(&scene, &["observe"], &text),
        pipe(&scene, &["observe", "-", "--json"], &text),
        scene.ringer(&["observe", lead.path.to_str().unwrap()]).output().unwrap(),
    ] {
        let events = lines(&output);
        let told: Vec<&str> = events.iter().map(|e| e["event"].as_str().unwrap()).collect();
        assert_eq!(told, names);
        assert!(events.iter().all(|event| event["toolUseId"].is_string()), "{events:?}");
    }
    let state = &lines(&pipe(&scene, &["observe", "--state"], &text))[0];
    assert_eq!(state["team"]["name"], "rec");
    assert_eq!(state["team"]["tasks"][0]["subject"], "One");
    assert_eq!(state["agents"], json!([]));
    assert_eq!(state["counts"], json!({"lines": 6, "broken": 0, "odd": 0, "repeated": 0}));
}

#[test]
fn tee_passes_every_byte_and_adds_lines_behind_those_that_they_are_about() {
    let scene = Scene::new();
    let lead = life(&scene);
    let mut text = fs::read(&lead.path).unwrap();
    text.extend(b"\xff\xfe no line\r\n\n{\"half\": ");
    let output = pipe(&scene, &["observe", "--tee"], &text);
    assert!(output.status.success());
    let mut passed: Vec<u8> = Vec::new();
    let mut added: Vec<Value> = Vec::new();
    for line in output.stdout.split_inclusive(|byte| *byte == b'\n') {
        let value: Option<Value> = serde_json::from_slice(line).ok();
        match value.filter(|value| value["type"].as_str().is_some_and(|t| t.starts_with("team_"))) {
            Some(value) => added.push(value),
            None => passed.extend(line),
        }
    }
    assert_eq!(passed, text, "what is not ours is as it was");
    let kinds: Vec<&str> = added.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "team_state_change",
            "team_state_change",
            "team_task_update",
            "team_task_update",
            "team_message",
            "team_message",
        ]
    );
    assert_eq!(added[0]["metadata"]["input"], json!({"team_name": "rec"}));
    assert_eq!(added[1]["metadata"]["result"], json!({"team_name": "rec"}));
    let id = |n: usize| added[n]["metadata"]["teamToolUseId"].as_str().unwrap().to_owned();
    assert_eq!((id(0), id(2), id(4)), (id(1), id(3), id(5)));

    // A last line without its end is ended only if something follows it.
    let whole = fs::read(&lead.path).unwrap();
    let output = pipe(&scene, &["observe", "--tee"], &whole[..whole.len() - 1]);
    assert!(output.stdout.starts_with(&whole[..100]) && output.stdout.ends_with(b"}\n"));
}

#[test]
fn mistakes_are_told_in_a_line() {
    let scene = Scene::new();
    let lead = life(&scene);
    lead.act("TeamExplode", &json!({}), &json!({}));
    lead.act("TeamExplode", &json!({}), &json!({}));
    lead.act("TaskUpdate", &json!({"status": "completed"}), &json!({}));
    lead.write("{\"type\":\"assistant\",\"mess\n");
    let output = scene.ringer(&["observe", lead.path.to_str().unwrap()]).output().unwrap();
    assert_eq!(lines(&output).len(), 3);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        error,
        "warning: line 7: `TeamExplode` is not known; this Claude Code may be newer than this Ringer\n\
         warning: line 11: `TaskUpdate` without `taskId`\n\
         warning: 1 of 13 lines could not be read\n"
    );
    for (arguments, input, status, message) in [
        (&["observe", "/nowhere"][..], "", 1, "error: could not read /nowhere"),
        (&["observe"], "hello\nworld\n", 1, "error: no line of it is one of Claude Code's stream"),
        (&["observe", "--tee", "--state"], "", 2, "cannot be used with"),
        (&["observe"], "", 0, ""),
        (&["team", "nothing"], "", 1, "error: "),
        (&["events", "--last", "x"], "", 2, "invalid value"),
    ] {
        let output = pipe(&scene, arguments, input.as_bytes());
        assert_eq!(output.status.code(), Some(status), "{}", said(&output));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(message), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty(), "{}", said(&output));
    }
    let failure = pipe(&scene, &["observe", "/nowhere", "--json"], b"");
    let failure: Value = serde_json::from_slice(&failure.stdout).unwrap();
    assert_eq!((&failure["success"], &failure["error"]), (&json!(false), &json!("unreadable")));
}

#[test]
fn a_file_is_followed_through_its_replacement() {
    let scene = Scene::new();
    let lead = life(&scene);
    let out = scene.world.path().join("followed");
    let mut follow = scene.ringer(&["observe", "--follow", lead.path.to_str().unwrap()]);
    let mut follow = follow.stdout(fs::File::create_new(&out).unwrap()).spawn().unwrap();
    let has = |text: &str| fs::read_to_string(&out).unwrap().contains(text);
    let wait = |text: &str| {
        wait_for(text, Duration::from_secs(20), || has(text).then_some(())).unwrap();
    };
    wait("\"hello\"");
    lead.say("alice", "more");
    wait("\"more\"");
    let (line, _) = lead.call(
        "SendMessage",
        &json!({"to": "bob", "message": "anew"}),
        &json!({"success": true}),
    );
    let other = lead.path.with_extension("other");
    put(&other, "");
    append(&other, &line);
    replace(&lead.path, &other);
    wait("\"anew\"");
    follow.kill().unwrap();
    follow.wait().unwrap();
    assert_eq!(fs::read_to_string(&out).unwrap().matches("\"hello\"").count(), 1);
}

#[test]
fn whoever_reads_our_output_may_stop() {
    let scene = Scene::new();
    let lead = life(&scene);
    let text = fs::read_to_string(&lead.path).unwrap();
    let many: String = (0..2000).map(|n| text.replace("toolu_", &format!("toolu_{n}_"))).collect();
    for option in ["--tee", "--json"] {
        let mut ringer = scene.ringer(&["observe", option]);
        ringer.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut ringer = ringer.spawn().unwrap();
        drop(ringer.stdout.take());
        ringer.stdin.take().unwrap().write_all(many.as_bytes()).ok();
        let output = ringer.wait_with_output().unwrap();
        assert!(output.stderr.is_empty(), "{}", said(&output));
    }
}

#[test]
fn a_hostile_message_stays_text_on_the_screen() {
    let scene = Scene::new();
    let lead = Transcript::of(&scene, SESSION);
    lead.create_team(TEAM);
    lead.say("w\u{1b}[31m", "\u{1b}]0;owned\u{7}\u{202e}now\nTEAM  forged");
    let screen = scene.run(&["team", TEAM]) + &scene.run(&["events"]);
    assert!(!screen.contains('\u{1b}') && !screen.contains('\u{202e}'), "{screen:?}");
    assert!(screen.lines().all(|line| !line.starts_with("TEAM  forged")), "{screen}");
}

#[test]
fn events_are_taken_up_where_somebody_left_off() {
    let scene = Scene::new();
    let lead = Transcript::of(&scene, SESSION);
    lead.create_team(TEAM);
    for n in 0..5 {
        lead.say("w", &format!("message {n}"));
    }
    let ask = |arguments: &[&str]| -> Vec<Value> {
        let answer = scene.run(&[&["events", "--json"], arguments].concat());
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["events"].as_array().unwrap().clone()
    };
    let all = ask(&[]);
    assert_eq!(all.len(), 6);
    let third = all[2]["seq"].to_string();
    assert_eq!(ask(&["--after", &third]), all[3..]);
    assert_eq!(ask(&["-n", "2"]), all[4..]);
    assert_eq!(ask(&["--event", "team:message"]), all[1..]);
    assert_eq!(ask(&["--team", TEAM]), all);
    assert_eq!(ask(&["--team", "other"]), Vec::<Value>::new());
}
