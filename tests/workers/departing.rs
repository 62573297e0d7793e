//! Off the team: whatever ends a worker, nothing of it is left, and its mail goes back.

use std::fs;

use ringer_testkit::{Lead, Writing};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::scene::{Scene, TEAM};
use crate::{HERE, files_left, runs};

/// A worker of a profile that never takes a message, with a child that ignores what it is told.
fn deaf(scene: &Scene, name: &str) {
    let dir = scene.settings_file().with_file_name("workers");
    fs::create_dir_all(&dir).unwrap();
    // Ready while it starts; once there is a file, its prompt is gone.
    ringer_testkit::put(
        &dir.join("deaf.toml"),
        "[ready]\nscreen = 'PROMPT>\\z'\n[prompt]\nscreen = 'PROMPT>(?<text>)\\z'\n",
    );
    let script = format!(
        "sh -c \"trap '' TERM HUP; echo \\$\\$ > child-{name}; while :; do sleep 1; done\" & \
         printf '\\033[?2004hPROMPT>'; while [ ! -e deaf ]; do sleep 0.05; done; printf ' BUSY'; cat > /dev/null"
    );
    scene.run(&["spawn", "deaf", "--name", name, "--", "sh", "-c", &script]);
}

fn child(scene: &Scene, name: &str) -> i32 {
    let file = scene.world.work().join(format!("child-{name}"));
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

fn kill(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[test]
fn whatever_ends_a_worker_its_member_its_processes_and_its_files_go_and_its_mail_goes_back() {
    for (how, why) in [
        ("stop", "it was stopped"),
        ("worker killed", "it was ended by signal 9"),
        ("host killed", "its host was killed"),
        ("host ended", "its host was told to end"),
        ("terminal closed", "its terminal was closed"),
        ("remove", "it was stopped"),
    ] {
        let scene = Scene::new();
        let _daemon = scene.start();
        let before = scene.world.config(TEAM);
        deaf(&scene, "w");
        ringer_testkit::put(&scene.world.work().join("deaf"), "");
        scene.wait("it to be busy", || {
            scene.worker_row("w").is_some_and(|row| row["reason"] == "not at prompt")
        });
        let (worker, host) = (scene.pid("w", "process"), scene.pid("w", "host"));
        let child = child(&scene, "w");
        scene.send("w", "FIRST WORDS");
        scene.send("w", "SECOND WORDS");
        scene.wait("both to wait", || scene.state_of("w") == "waiting: not at prompt");
        scene.run(&["tasks", "create", "-s", "half done", "--team", TEAM]);
        let mut claim = scene.ringer(&["tasks", "claim", "1", "--team", TEAM]);
        assert!(claim.env("RINGER_MEMBER", "w").status().unwrap().success());
        match how {
            "stop" => drop(scene.run(&["stop", "w"])),
            "remove" => drop(scene.run(&["remove", "w", "--team", TEAM])),
            "worker killed" => kill(worker, Signal::KILL),
            "host killed" => kill(host, Signal::KILL),
            "host ended" => kill(host, Signal::TERM),
            _ => kill(host, Signal::HUP),
        }
        let is_over = || scene.world.config(TEAM) == before && !runs(worker) && !runs(child);
        scene.wait(&format!("the end after {how}"), is_over);
        scene.wait("its host to end", || !runs(host));
        scene.wait("the mail", || scene.told(TEAM).len() == 2);
        let task = scene.run(&["tasks", "get", "1", "--json", "--team", TEAM]);
        assert!(
            task.contains("\"owner\":null") && task.contains("\"status\":\"pending\""),
            "{task}"
        );
        let tasks = format!(
            "w has gone ({why}) and did not complete what it had. This task is pending again, without an owner: #1 (half done)"
        );
        assert_eq!(scene.told(TEAM)[1], tasks);
        let text = &scene.told(TEAM)[0];
        let head = format!(
            "not delivered: worker ended ({why})\nw did not get these 2 messages of yours:"
        );
        assert!(text.starts_with(&head), "{how}: {text}");
        assert!(text.contains("1.\nFIRST WORDS") && text.contains("2.\nSECOND WORDS"), "{text}");
        let log = scene.run(&["log", "--state", "returned", "--json"]);
        assert_eq!(log.matches("\"state\":\"returned\"").count(), 2, "{how}: {log}");
        assert!(log.contains(&format!("\"reason\":\"{why}\"")), "{how}: {log}");
        let row = scene.worker_row("w").unwrap();
        assert_eq!((&row["state"], &row["reason"]), (&json!("gone"), &json!(why)), "{how}");
        assert_eq!(files_left(&scene), [""; 0], "{how}");
        // Nobody gets it twice: who has the name next is not given what went back.
        let (code, words) = scene.spawn(&HERE, "w");
        assert_eq!(code, Some(0), "{words}");
        scene.send("w", "THIRD WORDS");
        scene.wait("the third", || !scene.texts("w").is_empty());
        assert_eq!(scene.texts("w"), ["[message from team-lead]\nTHIRD WORDS"], "{how}");
        scene.run(&["stop", "w"]);
    }
}

#[test]
fn what_was_left_while_no_daemon_ran_is_cleared_away_when_one_starts() {
    let scene = Scene::new();
    let daemon = scene.start();
    let before = scene.world.config(TEAM);
    deaf(&scene, "w");
    let (worker, host) = (scene.pid("w", "process"), scene.pid("w", "host"));
    let child = child(&scene, "w");
    ringer_testkit::put(&scene.world.work().join("deaf"), "");
    drop(daemon);
    scene.send("w", "ANYBODY THERE?");
    kill(host, Signal::KILL);
    scene.wait("the host to end", || !runs(host));
    assert_eq!(scene.members(TEAM), ["w"]);
    let _daemon = scene.start();
    let is_over = || scene.world.config(TEAM) == before && !runs(worker) && !runs(child);
    scene.wait("the end", is_over);
    scene.wait("the mail", || scene.told(TEAM).iter().any(|text| text.contains("ANYBODY THERE?")));
    assert_eq!(files_left(&scene), [""; 0]);
}

#[test]
fn what_came_for_a_worker_when_it_had_ended_goes_back_when_a_daemon_starts() {
    let scene = Scene::new();
    let daemon = scene.start();
    assert_eq!(scene.spawn(&HERE, "w").0, Some(0));
    assert_eq!(scene.spawn(&HERE, "v").0, Some(0));
    scene.send("w", "IN TIME");
    scene.wait("it to arrive", || scene.texts("w").len() == 1);
    let (worker, host) = (scene.pid("w", "process"), scene.pid("w", "host"));
    drop(daemon);
    kill(worker, Signal::KILL);
    scene.wait("its host to end", || !runs(host));
    assert_eq!(scene.members(TEAM), ["v"]);
    // By a Claude Code that had looked who is there a moment ago. Another name is somebody else's.
    let write = |name: &str, text: &str| {
        let message = json!({"text": text, "summary": "s"});
        let lead = Lead::new(Writing::Rename).to(&scene.world.inbox(TEAM, name), &[message]);
        lead.send(&scene.world).unwrap();
    };
    write("w", "TOO LATE");
    write("somebody", "NOT OURS");
    let _daemon = scene.start();
    scene.wait("the mail", || !scene.told(TEAM).is_empty());
    let back = "not delivered: worker ended (it had ended before)\n\
                w did not get this message of yours:\n\n1. s\nTOO LATE";
    assert_eq!(scene.told(TEAM), [back]);
    scene.run(&["stop", "v"]);
    assert_eq!(scene.told(TEAM), [back]);
}

#[test]
fn a_member_that_was_struck_off_by_somebody_who_was_killed_is_taken_off() {
    let scene = Scene::new();
    scene.run(&["register", "w", "--team", TEAM]);
    let mut roster = scene.roster();
    let team_dir = roster["members"][0]["team_dir"].clone();
    roster["members"] = json!([]);
    roster["leaving"] = json!([{"team_dir": team_dir, "name": "w"}]);
    ringer_testkit::put(&scene.state().join("roster.json"), &roster.to_string());
    let _daemon = scene.start();
    scene.wait("it to be gone", || scene.members(TEAM).is_empty());
    scene.wait("the note to be gone", || scene.roster().get("leaving").is_none());
}

#[test]
fn what_runs_in_a_pane_of_the_users_goes_on_when_its_team_is_gone_and_it_is_removed() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let worker = scene.worker("w");
    fs::remove_dir_all(scene.world.team_dir(TEAM)).unwrap();
    let said = scene.run(&["remove", "w", "--team", TEAM]);
    assert_eq!(said, "exo-root is gone; forgot w\n");
    let dead =
        ["display-message", "-p", "-t", &worker.pane, "#{pane_dead} #{pane_current_command}"];
    assert_eq!(scene.tmux.run(&dead).unwrap(), "0 receiver");
}

#[test]
fn a_worker_that_runs_is_not_said_to_be_elsewhere() {
    let scene = Scene::new();
    let _daemon = scene.start();
    assert_eq!(scene.spawn(&HERE, "w").0, Some(0));
    let worker = scene.open("x");
    let pane = worker.address(&scene.tmux);
    let output =
        scene.ringer(&["register", "w", "--team", TEAM, "--pane", &pane]).output().unwrap();
    let said = crate::scene::said(&output);
    assert!(said.contains("a worker of that name runs"), "{said}");
    scene.send("w", "still there?");
    scene.wait("the message", || scene.texts("w").len() == 1);
    scene.run(&["stop", "w"]);
}

#[test]
fn a_daemon_that_a_worker_has_started_outlives_it() {
    let scene = Scene::new();
    let ringer = env!("CARGO_BIN_EXE_ringer");
    scene.run(&["spawn", "shell", "--name", "w", "--", "cat"]);
    scene.run(&["down"]);
    let script = format!("{ringer} up > up; exec cat");
    scene.run(&["spawn", "shell", "--name", "x", "--", "sh", "-c", &script]);
    // Whoever was faster: one that was started by hand is not the worker's.
    scene.run(&["down"]);
    scene.run(&["stop", "x"]);
    let script = format!("while ! {ringer} up > up; do sleep 0.1; done; touch is-up; exec cat");
    scene.run(&[
        "spawn",
        "shell",
        "--name",
        "y",
        "--",
        "sh",
        "-c",
        &format!("sleep 1; {ringer} down; {script}"),
    ]);
    scene.wait("the daemon", || scene.world.work().join("is-up").exists());
    scene.run(&["stop", "y"]);
    assert_eq!(scene.status()["running"], true);
    scene.run(&["stop", "w"]);
    scene.run(&["down"]);
}

#[test]
fn a_broken_inbox_keeps_nobody_on_the_team() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let before = scene.world.config(TEAM);
    assert_eq!(scene.spawn(&HERE, "w").0, Some(0));
    fs::create_dir_all(scene.world.inbox(TEAM, "w").parent().unwrap()).unwrap();
    ringer_testkit::put(&scene.world.inbox(TEAM, "w"), "[{\"from\": \"te");
    scene.run(&["stop", "w"]);
    assert_eq!(scene.world.config(TEAM), before);
    let row = scene.worker_row("w").unwrap();
    assert_eq!((&row["state"], &row["reason"]), (&json!("gone"), &json!("it was stopped")));
}

#[test]
fn a_worker_in_a_pane_of_the_users_is_away_until_it_is_back_and_off_after_a_while() {
    let scene = Scene::new();
    scene.settings(&format!("{}[place]\naway_s = 8\n", crate::scene::QUICK));
    let _daemon = scene.start();
    let worker = scene.worker("w");
    scene.send("w", "one");
    scene.arrive(&worker, &["one"]);
    let active = || {
        let config = scene.world.config(TEAM);
        let members = config["members"].as_array().unwrap();
        members.iter().find(|member| member["name"] == "w").map(|w| w["isActive"].clone())
    };
    assert_eq!(active(), Some(json!(true)));
    scene.tmux.run(&["respawn-pane", "-k", "-t", &worker.pane]).unwrap();
    scene.tmux.run(&["kill-pane", "-t", &worker.pane]).unwrap();
    scene.wait("it to be away", || active() == Some(json!(false)));
    scene.send("w", "two");
    scene.wait("its end", || active().is_none());
    let back = |text: &String| text.contains("(it did not come back)") && text.contains("two");
    scene.wait("its mail", || scene.told(TEAM).iter().any(back));
}
