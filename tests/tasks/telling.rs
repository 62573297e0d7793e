//! Who is told what, once, and what becomes of a worker's tasks.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use ringer_testkit::{Worker, put};

use serde_json::Value;

use crate::scene::{Scene, TEAM, said};

fn tasks(scene: &Scene, words: &[&str]) -> String {
    scene.run(&[&["tasks"], words, &["--team", TEAM]].concat())
}

/// As a worker does it.
fn tasks_as(scene: &Scene, name: &str, words: &[&str]) -> String {
    let mut ringer = scene.ringer(&[&["tasks"], words].concat());
    let output = ringer.env("RINGER_TEAM", TEAM).env("RINGER_MEMBER", name).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Claude Code changes a task: in place, all of it.
fn claude_writes(scene: &Scene, id: u32, from: &str, to: &str) {
    let path = scene.world.claude().join(format!("tasks/{TEAM}/{id}.json"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    put(&path, &text.replace(from, to));
}

fn told(worker: &Worker, part: &str) -> usize {
    worker.texts().iter().filter(|text| text.contains(part)).count()
}

/// What is in the lead's inbox.
fn lead_was_told(scene: &Scene) -> Vec<String> {
    let text = fs::read_to_string(scene.world.inbox(TEAM, "team-lead")).unwrap_or("[]".into());
    let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
    entries.iter().map(|entry| entry["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn who_is_given_a_task_is_told_all_that_it_takes() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let worker = scene.worker("w");
    tasks(
        &scene,
        &["create", "-s", "Fix {from} $(reboot)", "-d", "Line one\nline two", "--owner", "w"],
    );
    scene.wait("the assignment", || worker.texts().len() == 1);
    assert_eq!(
        worker.texts()[0],
        "[message from team-lead · task 1]\nteam-lead gave you task 1: Fix {from} $(reboot)\nLine one\nline two\n\n\
         Begin with the tool claim_task of the server ringer (task_id \"1\"), or run: ringer tasks claim 1\n\
         If it is blocked, wait: you are told when it can begin.\n\
         When it is done, say what came of it with update_task_status (task_id \"1\", status \"completed\", \
         result_summary), or run: ringer tasks update 1 --status completed --result TEXT\n\
         What does not fit there belongs into the file .ringer/tasks/1-fix-from-reboot.md"
    );
    // A claim for another is one, too; what one does oneself is no news.
    tasks(&scene, &["create", "-s", "two"]);
    tasks(&scene, &["claim", "2", "--as", "w"]);
    scene.wait("the second", || told(&worker, "gave you task 2: two") == 1);
    tasks_as(&scene, "w", &["update", "2", "--status", "completed", "--result", "did it"]);
    tasks_as(&scene, "w", &["claim", "1"]);
    scene.wait("the lead to be told", || !lead_was_told(&scene).is_empty());
    assert_eq!(lead_was_told(&scene), ["Task #2 (two) is completed.\nResult: did it"]);
    assert_eq!(worker.texts().len(), 2, "{:?}", worker.texts());
}

#[test]
fn a_description_that_does_not_fit_into_a_message_is_cut_and_the_rest_can_be_had() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let worker = scene.worker("w");
    tasks(&scene, &["create", "-s", "long", "-d", &"\"".repeat(5000)]);
    // Claude Code knows no limit.
    let long = format!("\"description\": \"{}END\"", "x".repeat(40_000));
    claude_writes(&scene, 1, &format!("\"description\": \"{}\"", "\\\"".repeat(5000)), &long);
    tasks(&scene, &["update", "1", "--owner", "w"]);
    scene.wait("the assignment", || told(&worker, "gave you task 1: long") == 1);
    assert_eq!(told(&worker, "`ringer tasks get`, has the rest"), 1);
    assert!(tasks(&scene, &["get", "1"]).contains("END"));
}

#[test]
fn a_worker_is_told_once_when_claude_code_completes_what_it_waits_for() {
    let scene = Scene::new();
    let daemon = scene.start();
    let worker = scene.worker("w");
    for _ in 0..2 {
        tasks(&scene, &["create", "-s", "first"]);
    }
    tasks(&scene, &["create", "-s", "later", "--blocked-by", "1", "--owner", "w"]);
    tasks(&scene, &["create", "-s", "last", "--blocked-by", "2", "--owner", "w"]);
    scene.wait("the assignments", || worker.texts().len() == 2);
    let waiting = || fs::read_to_string(scene.state().join("waiting.json")).unwrap_or_default();
    scene.wait("the daemon to know who waits", || {
        waiting().contains("\"3\": \"waits\"") && waiting().contains("\"4\": \"waits\"")
    });
    claude_writes(&scene, 1, "\"status\": \"pending\"", "\"status\": \"completed\"");
    let free = |id: u32| format!("Task #{id}");
    scene.wait("the word", || told(&worker, &free(3)) == 1);

    // Also if it happens while nobody looks.
    drop(daemon);
    claude_writes(&scene, 2, "\"status\": \"pending\"", "\"status\": \"completed\"");
    let daemon = scene.start();
    scene.wait("the other word", || told(&worker, &free(4)) == 1);
    drop(daemon);
    let _daemon = scene.start();
    scene.send("w", "THE END");
    scene.wait("the end", || told(&worker, "THE END") == 1);
    assert_eq!((told(&worker, &free(3)), told(&worker, &free(4))), (1, 1));

    // What is blocked again is told of again.
    tasks(&scene, &["create", "-s", "one more"]);
    tasks(&scene, &["update", "4", "--add-blocked-by", "5"]);
    scene.wait("the daemon to know", || waiting().contains("\"4\": \"waits\""));
    claude_writes(&scene, 5, "\"status\": \"pending\"", "\"status\": \"completed\"");
    scene.wait("the second word", || told(&worker, &free(4)) == 2);
}

#[test]
fn whoever_completes_a_task_and_whoever_sees_it_do_not_both_tell() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let worker = scene.worker("w");
    let rounds: u32 = 15;
    for round in 0..rounds {
        let (first, then) = ((2 * round + 1).to_string(), (2 * round + 2).to_string());
        tasks(&scene, &["create", "-s", "first"]);
        tasks(&scene, &["create", "-s", "then", "--blocked-by", &first, "--owner", "w"]);
        tasks(&scene, &["update", &first, "--status", "in_progress"]);
        tasks(&scene, &["update", &first, "--status", "completed"]);
        scene.wait("the word", || told(&worker, &format!("Task #{then}")) >= 1);
    }
    scene.send("w", "THE END");
    scene.wait("the end", || told(&worker, "THE END") == 1);
    for round in 0..rounds {
        assert_eq!(told(&worker, &format!("Task #{} ", 2 * round + 2)), 1, "{:?}", worker.texts());
    }
}

#[test]
fn who_loses_a_task_is_told_and_so_is_a_lead_whose_user_did_something() {
    let scene = Scene::new();
    for name in ["w", "x"] {
        scene.run(&["register", name, "--team", TEAM]);
    }
    let last = |name: &str| {
        let text = fs::read_to_string(scene.world.inbox(TEAM, name)).unwrap_or("[]".into());
        let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
        let last = entries.last().cloned().unwrap_or_default();
        (last["from"].as_str().unwrap().to_owned(), last["text"].as_str().unwrap().to_owned())
    };
    for words in [
        &["release", "1"][..],
        &["update", "1", "--owner", "x"],
        &["update", "1", "--status", "completed"],
        &["delete", "1"],
    ] {
        tasks(&scene, &["create", "-s", "one"]);
        tasks(&scene, &["claim", "1", "--as", "w"]);
        tasks(&scene, words);
        let (from, text) = last("w");
        assert_eq!(from, "team-lead");
        let what = match words {
            ["release", ..] => "it was given back",
            ["delete", ..] => "it is deleted",
            [_, _, "--owner", _] => "it is x's now",
            _ => "it is completed",
        };
        assert!(
            text.starts_with(&format!("Task #1 (one) is not yours to do any more: {what}.")),
            "{text}"
        );
        fs::remove_dir_all(scene.world.claude().join("tasks").join(TEAM)).unwrap();
    }
    assert!(last("x").1.contains("task_assignment"));
    // What its user gives Claude, it hears of.
    tasks(&scene, &["create", "-s", "for you", "--owner", "team-lead"]);
    let (from, text) = last("team-lead");
    assert_eq!(from, "ringer");
    assert!(text.contains("\"type\":\"task_assignment\""), "{text}");
    // An owner can be told again.
    tasks(&scene, &["create", "-s", "again", "--owner", "w"]);
    assert!(tasks(&scene, &["update", "2", "--owner", "w"]).contains("(told w)"));
}

#[test]
fn a_subject_without_end_is_cut() {
    let scene = Scene::new();
    scene.run(&["register", "w", "--team", TEAM]);
    tasks(&scene, &["create", "-s", "SUBJECT"]);
    claude_writes(&scene, 1, "SUBJECT", &"\\u0007".repeat(100_000));
    assert!(tasks(&scene, &["update", "1", "--owner", "w"]).contains("(told w)"));
}

#[test]
fn a_worker_that_forgets_who_it_is_does_not_become_the_lead() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let said = scene.world.path().join("said");
    let script = format!(
        "read line; env -u RINGER_WORKER -u RINGER_MEMBER -u RINGER_TEAM {} tasks create -s mutiny --team {TEAM} \
         > {} 2>&1; exec cat",
        env!("CARGO_BIN_EXE_ringer"),
        said.display()
    );
    scene.run(&["spawn", "shell", "--name", "rebel", "--team", TEAM, "--", "sh", "-c", &script]);
    scene.send("rebel", "now");
    let said = || fs::read_to_string(&said).unwrap_or_default();
    scene.wait("its try", || said().ends_with('\n'));
    assert_eq!(said(), "error: only the lead creates tasks (tasks.anybody_creates is off)\n");
    scene.run(&["stop", "rebel"]);
}

#[test]
fn who_is_moved_leaves_its_tasks_behind() {
    let scene = Scene::new();
    scene.world.team("elsewhere");
    let _daemon = scene.start();
    tasks(&scene, &["create", "-s", "one"]);
    for (words, why) in [
        (&["remove", "w", "--team", TEAM][..], "it was taken off the team"),
        (&["move", "w", "--team", "elsewhere"], "it is on elsewhere now"),
    ] {
        let _worker = scene.worker("w");
        tasks_as(&scene, "w", &["claim", "1"]);
        scene.run(words);
        let task = tasks(&scene, &["get", "1", "--json"]);
        assert!(
            task.contains(r#""owner":null"#) && task.contains(r#""status":"pending""#),
            "{task}"
        );
        let wanted = format!(
            "w has gone ({why}) and did not complete what it had. This task is pending again, without an owner: #1 (one)"
        );
        assert_eq!(lead_was_told(&scene).pop(), Some(wanted));
    }
}

#[test]
fn a_watcher_sees_every_change_as_a_line() {
    let scene = Scene::new();
    scene.run(&["register", "w", "--team", TEAM]);
    let mut watch = scene.ringer(&["tasks", "--watch", "--json", "--team", TEAM]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["tasks"].as_array().unwrap().len(), 0);
    tasks(&scene, &["create", "-s", "one"]);
    assert_eq!(next()["tasks"][0]["status"], "pending");
    // From now on there is a directory to watch, and nothing is asked again and again.
    std::thread::sleep(Duration::from_millis(1200));
    tasks_as(&scene, "w", &["claim", "1"]);
    assert_eq!(next()["tasks"][0]["owner"], "w");
    watch.kill().unwrap();
    watch.wait().unwrap();
}
