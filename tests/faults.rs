//! What can go wrong around a daemon: teams, inboxes, panes, servers and disks go away and come back.
//! Mail waits, with a reason that the user can see, and arrives once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod scene;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ringer_testkit::{command, put};
use scene::{Scene, TEAM, said, within};
use serde_json::Value;

fn rename(from: &Path, to: &Path) {
    assert!(command("mv").args([from, to]).status().unwrap().success());
}

fn is_on_the_team(scene: &Scene, name: &str) -> bool {
    let config = fs::read_to_string(scene.world.team_dir(TEAM).join("config.json"));
    // It may be in the middle of being written.
    let config: Value = serde_json::from_str(&config.unwrap_or_default()).unwrap_or_default();
    let members = config["members"].as_array().cloned().unwrap_or_default();
    members.iter().any(|m| m["name"] == name && m["backendType"] == "ringer")
}

/// A message is received and cannot be delivered; `fault` takes the team away; the message still
/// arrives, and so does mail to the team that comes after.
fn team_goes_and_comes_back(fault: impl Fn(&Path)) {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let _daemon = scene.start();
    scene.send("w", "zero");
    scene.arrive(&worker, &["zero"]);
    scene.block(&worker);
    scene.send("w", "before");
    scene.wait("a reason", || scene.state_of("w") == "waiting: copy mode");

    let texts = ["zero", "before", "first", "second"];
    fault(&scene.world.team_dir(TEAM));
    scene.unblock(&worker);
    scene.arrive(&worker, &texts[..2]);
    scene.wait("no team", || scene.state_of("w") == "no team");
    for count in 3..=4 {
        scene.world.team(TEAM);
        scene.wait("its return", || is_on_the_team(&scene, "w"));
        assert_eq!(scene.world.config(TEAM)["members"][0]["unknownInMember"], "kept");
        scene.send("w", texts[count - 1]);
        scene.arrive(&worker, &texts[..count]);
        scene.wait("it to be ready", || scene.state_of("w") == "ready");
        if count == 3 {
            fault(&scene.world.team_dir(TEAM));
        }
    }
}

#[test]
fn a_team_that_is_deleted_and_made_again_has_its_member_back() {
    team_goes_and_comes_back(|dir| fs::remove_dir_all(dir).unwrap());
}

#[test]
fn a_team_that_is_renamed_away_and_made_again_has_its_member_back() {
    let uuids = ["33d98fe4-6f3d-4460-8833-9ec8058846d3", "0d98fe43-6f3d-4460-8833-9ec8058846d4"];
    let uuids = std::cell::RefCell::new(uuids.into_iter());
    team_goes_and_comes_back(|dir| {
        let away = format!("{TEAM}.deleted-{}", uuids.borrow_mut().next().unwrap());
        rename(dir, &dir.with_file_name(away));
    });
}

#[test]
fn a_team_that_is_made_again_at_once_has_its_member_back() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let _daemon = scene.start();
    let mut texts = Vec::new();
    for round in 0..10 {
        let dir = scene.world.team_dir(TEAM);
        if round % 2 == 0 {
            fs::remove_dir_all(&dir).unwrap();
        } else {
            rename(&dir, &dir.with_file_name(format!("away-{round}")));
        }
        scene.world.team(TEAM);
        scene.wait("its return", || is_on_the_team(&scene, "w"));
        texts.push(format!("round {round}"));
        scene.send("w", &texts[round]);
        scene.arrive(&worker, &texts.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn an_inbox_of_garbage_is_left_alone_and_a_good_one_after_it_is_delivered_once() {
    let scene = Scene::new();
    let (worker, other) = (scene.worker("w"), scene.worker("other"));
    let _daemon = scene.start();
    scene.send("w", "one");
    scene.arrive(&worker, &["one"]);
    let inbox = scene.world.inbox(TEAM, "w");
    scene.wait("its mark", || fs::read_to_string(&inbox).unwrap().contains("\"read\": true"));

    let garbage = "[{\"from\": \"team-lead\", \"text\": \"never whole";
    put(&inbox, garbage);
    scene.wait("a problem with its name", || {
        let problems = scene.status()["problems"].as_array().unwrap().clone();
        problems.iter().any(|problem| problem.as_str().unwrap().contains(inbox.to_str().unwrap()))
    });
    scene.send("other", "meanwhile");
    scene.arrive(&other, &["meanwhile"]);
    assert_eq!(fs::read_to_string(&inbox).unwrap(), garbage);

    let entry = |text: &str| {
        format!(
            "{{\"from\": \"team-lead\", \"text\": \"{text}\", \"timestamp\": \"t\", \"read\": false}}"
        )
    };
    put(&inbox, &format!("[{},{}]", entry("two"), entry("three")));
    scene.arrive(&worker, &["one", "two", "three"]);
    scene.wait("no problem", || scene.status()["problems"].as_array().unwrap().is_empty());
    scene.send("w", "four");
    scene.arrive(&worker, &["one", "two", "three", "four"]);
}

#[test]
fn mail_waits_for_a_server_that_was_killed_until_the_worker_runs_again() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let _daemon = scene.start();
    scene.send("w", "one");
    scene.arrive(&worker, &["one"]);

    scene.tmux.kill().unwrap();
    scene.send("w", "two");
    scene.wait("a reason", || scene.state_of("w") == "waiting: no server");
    scene.tmux.restart().unwrap();
    scene.wait("another reason", || scene.state_of("w") == "waiting: pane gone");
    assert_eq!(scene.open("w").pane, worker.pane, "tmux counts from the beginning");
    scene.arrive(&worker, &["one", "two"]);
    scene.send("w", "three");
    scene.arrive(&worker, &["one", "two", "three"]);

    // Without mail in between, nobody has seen it go.
    scene.tmux.restart().unwrap();
    let elsewhere = scene.open("elsewhere");
    let again = scene.open("w");
    assert_eq!(elsewhere.pane, worker.pane);
    scene.send("w", "four");
    scene.wait("a reason", || scene.state_of("w") == "waiting: pane changed");
    scene.register(&again);
    scene.arrive(&worker, &["one", "two", "three", "four"]);
    assert!(elsewhere.texts().is_empty());
    assert_eq!(scene.tmux.screen(&elsewhere.pane).unwrap().trim(), ">", "nothing was typed");
}

/// A program that needs a moment before it reads, and then keeps every byte in a file. Until then the
/// terminal itself shows what is typed, and makes a line break of Enter, as it does for any program.
const SLOW: &str = r#"
    $| = 1; select undef, undef, undef, 0.7; system "stty raw -echo"; print "> ";
    open F, ">>", $ARGV[0];
    while (sysread STDIN, $b, 4096) { syswrite F, $b; print $b =~ s/[\r\n]/\r\n/gr }
"#;

#[test]
fn a_worker_that_needs_a_moment_to_start_again_gets_what_is_typed() {
    let scene = Scene::new();
    let file = scene.world.path().join("slow");
    let start = || scene.tmux.worker(&["perl", "-e", SLOW, file.to_str().unwrap()]).unwrap();
    let pane = start();
    scene.wait("its prompt", || scene.tmux.screen(&pane).unwrap().contains('>'));
    let address = format!("tmux:{}:{pane}", scene.tmux.socket());
    scene.run(&["register", "w", "--team", TEAM, "--pane", &address]);
    let _daemon = scene.start();
    scene.tmux.kill().unwrap();
    scene.send("w", "one");
    scene.wait("a reason", || scene.state_of("w") == "waiting: no server");
    scene.tmux.restart().unwrap();
    assert_eq!(start(), pane);
    scene.wait("it to be ready", || scene.state_of("w") == "ready");
    scene.wait("it", || fs::read_to_string(&file).unwrap().contains("one"));
    let got = fs::read_to_string(&file).unwrap();
    assert_eq!(got, "[message from team-lead]\none\r", "{}", scene.all());
}

/// After a restart of tmux, or of the worker's pane alone, `other` is in the pane of that number.
fn nothing_is_typed_to(other: &[&str], shows: &str) {
    for server in [true, false] {
        let scene = Scene::new();
        let worker = scene.worker("w");
        let _daemon = scene.start();
        scene.send("w", "one");
        scene.arrive(&worker, &["one"]);
        let was = if server {
            scene.tmux.restart().unwrap();
            scene.tmux.worker(other).unwrap()
        } else {
            let mut respawn = vec!["respawn-pane", "-k", "-t", &worker.pane];
            respawn.extend(other);
            scene.tmux.run(&respawn).unwrap();
            worker.pane.clone()
        };
        assert_eq!(was, worker.pane);
        scene.wait("its screen", || scene.tmux.screen(&was).unwrap().contains(shows));
        let before = scene.tmux.screen(&was).unwrap();
        scene.send("w", "touch danger");
        scene.wait("a reason", || {
            ["waiting: pane changed", "waiting: shell"].contains(&scene.state_of("w").as_str())
        });
        let again = scene.open("w");
        scene.register(&again);
        scene.arrive(&worker, &["one", "touch danger"]);
        assert_eq!(scene.tmux.screen(&was).unwrap(), before, "something was typed");
    }
}

#[test]
fn nothing_is_typed_to_a_shell_in_the_pane_of_a_worker() {
    nothing_is_typed_to(&["env", "PS1=shell: ", "bash", "--norc"], "shell:");
}

#[test]
fn nothing_is_typed_to_another_program_in_the_pane_of_a_worker() {
    nothing_is_typed_to(&["sh", "-c", "echo other program; exec cat"], "other program");
}

#[test]
fn mail_for_a_closed_pane_waits_for_another() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let _daemon = scene.start();
    scene.send("w", "one");
    scene.arrive(&worker, &["one"]);
    scene.tmux.run(&["kill-pane", "-t", &worker.pane]).unwrap();
    scene.send("w", "two");
    scene.send("w", "three");
    scene.wait("a reason", || scene.state_of("w") == "waiting: pane gone");
    let again = scene.open("w");
    assert_ne!(again.pane, worker.pane);
    scene.register(&again);
    scene.arrive(&worker, &["one", "two", "three"]);
    scene.wait("it to be ready", || scene.state_of("w") == "ready");
}

/// A place of its own for mounts: they are gone with it, however the test ends.
struct Room {
    holder: Child,
    enter: Vec<String>,
}

impl Room {
    /// Does `mount` in it, a shell's script with `$1`; none if this machine does not allow that.
    fn new(script: &str, path: &Path) -> Option<Self> {
        let root = rustix::process::geteuid().is_root();
        let options: &[&str] =
            if root { &["--mount"] } else { &["--user", "--map-root-user", "--mount"] };
        let script = format!("set -e; {script}; echo ready; exec sleep 600");
        let mut holder = command("unshare");
        holder.args(options).args(["sh", "-c", &script, "sh"]).arg(path);
        let mut holder = holder.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(holder.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        if line != "ready\n" {
            holder.wait().unwrap();
            assert!(!root, "root cannot mount here");
            writeln!(std::io::stderr(), "SKIPPED: a mount of one's own is not to be had here").ok();
            return None;
        }
        let target = holder.id().to_string();
        let mut enter = vec!["nsenter", "--target", &target, "--mount"];
        if !root {
            enter.extend(["--user", "--preserve-credentials"]);
        }
        let enter = enter.into_iter().map(str::to_owned).collect();
        Some(Self { holder, enter })
    }

    /// Runs a shell's script in it, with `$1`.
    fn run(&self, script: &str, path: &Path) {
        let mut shell: Command = command("/bin/sh");
        shell.args(["-c", script, "sh"]).arg(path);
        let output = within(&self.enter, &shell).output().unwrap();
        assert!(output.status.success(), "{script}: {}", said(&output));
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.holder.kill().ok();
        self.holder.wait().ok();
    }
}

const FILL: &str = "cat /dev/zero > \"$1/filler\" 2>/dev/null || test -s \"$1/filler\"";
const FREE: &str = "rm -f \"$1/filler\"";

/// A scene with the state directory on a disk of one mebibyte.
fn small_disk() -> Option<(Scene, Room)> {
    let mut scene = Scene::new();
    fs::create_dir_all(scene.state()).unwrap();
    let room = Room::new("mount -t tmpfs -o size=1m,mode=700 none \"$1\"", &scene.state())?;
    scene.prefix.clone_from(&room.enter);
    Some((scene, room))
}

#[test]
fn mail_waits_for_room_on_a_full_disk() {
    let Some((scene, room)) = small_disk() else { return };
    let (worker, held) = (scene.worker("w"), scene.worker("held"));
    let _daemon = scene.start();
    scene.send("w", "one");
    scene.arrive(&worker, &["one"]);
    // One that is in the journal already, and one that is not.
    scene.block(&held);
    scene.send("held", "known");
    scene.wait("a reason", || scene.state_of("held") == "waiting: copy mode");
    room.run(FILL, &scene.state());
    scene.unblock(&held);
    scene.send("w", "two");
    let told = |scene: &Scene| {
        let status = scene.status();
        let told = |value: &Value| value.as_str().is_some_and(|text| text.contains("full"));
        let held = status["members"].as_array().unwrap().iter().find(|m| m["name"] == "held");
        told(&held.unwrap()["detail"]) && status["problems"].as_array().unwrap().iter().any(told)
    };
    scene.wait("the status to say that the disk is full", || told(&scene));
    scene.wait("the log to say that the disk is full", || scene.log().contains("is full"));
    assert_eq!((worker.texts().len(), held.texts().len()), (1, 0), "{}", scene.all());

    room.run(FREE, &scene.state());
    scene.arrive(&worker, &["one", "two"]);
    scene.arrive(&held, &["known"]);
    scene.send("w", "three");
    scene.arrive(&worker, &["one", "two", "three"]);
    scene.wait("no problem", || {
        scene.status()["problems"].as_array().unwrap().is_empty() && scene.state_of("w") == "ready"
    });
}

#[test]
fn nothing_is_lost_or_repeated_while_the_disk_is_full_now_and_then() {
    let Some((scene, room)) = small_disk() else { return };
    let worker = scene.worker("w");
    let _daemon = scene.start();
    let texts: Vec<String> = (0..40).map(|n| format!("number {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (at, text) in texts.iter().enumerate() {
        scene.send("w", text);
        // At whatever step of its way the last one is.
        room.run(if at % 2 == 0 { FILL } else { FREE }, &scene.state());
    }
    room.run(FREE, &scene.state());
    scene.arrive(&worker, &texts);
    scene.send("w", "last");
    scene.arrive(&worker, &[texts, vec!["last"]].concat());
}

#[test]
fn mail_from_an_inbox_that_cannot_be_written_is_delivered_once_and_marked_later() {
    let mut scene = Scene::new();
    let worker = scene.worker("w");
    scene.send("w", "one");
    let inbox = scene.world.inbox(TEAM, "w");
    let inboxes = inbox.parent().unwrap();
    let read_only = "mount --bind \"$1\" \"$1\"; mount -o remount,ro,bind \"$1\"";
    let Some(room) = Room::new(read_only, inboxes) else { return };
    scene.prefix.clone_from(&room.enter);
    let daemon = scene.start();
    scene.arrive(&worker, &["one"]);
    let told = |scene: &Scene| {
        let detail = scene.status()["members"][0]["detail"].clone();
        detail
            .as_str()
            .is_some_and(|text| text.contains("not marked as read") && text.contains("Read-only"))
    };
    scene.wait("the status to say that it is not marked", || told(&scene));
    let unread =
        |inbox: &Path| fs::read_to_string(inbox).unwrap().matches("\"read\": false").count();
    assert_eq!(unread(&inbox), 1);

    assert!(daemon.stop().0.success());
    let _daemon = scene.start();
    scene.wait("the status to say it again", || told(&scene));
    // The lead is outside, and can write.
    let outside = scene.world.ringer().args(["send", "--team", TEAM, "--to", "w", "two"]).output();
    assert!(outside.unwrap().status.success());
    scene.arrive(&worker, &["one", "two"]);
    assert_eq!(unread(&inbox), 2);

    room.run("mount -o remount,rw,bind \"$1\"", inboxes);
    scene.wait("the marks", || unread(&inbox) == 0);
    scene.wait("no complaint", || scene.status()["members"][0]["detail"].is_null());
    assert_eq!(worker.texts().len(), 2, "{}", scene.all());
}
