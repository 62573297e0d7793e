//! The daemon learns of every message, whatever happens to directories, events, watches and clocks.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod scene;

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use ringer_testkit::{command, put};
use rustix::process::Signal;
use scene::{QUICK, Scene, TEAM, within};
use serde_json::{Value, json};

fn rename(from: &Path, to: &Path) {
    assert!(command("mv").args([from, to]).status().unwrap().success());
}

fn entry(text: &str) -> String {
    json!({"from": "team-lead", "text": text, "timestamp": "t", "read": false}).to_string()
}

#[test]
fn a_claude_directory_that_appears_later_is_watched_from_then_on() {
    let scene = Scene::new();
    let claude = scene.world.claude();
    fs::remove_dir_all(&claude).unwrap();
    let _daemon = scene.start();
    // Step by step, as slowly as a person or as quickly as a program.
    for slowly in [true, false] {
        fs::create_dir(&claude).unwrap();
        if slowly {
            settled(&scene);
        }
        fs::create_dir(claude.join("teams")).unwrap();
        if slowly {
            settled(&scene);
        }
        scene.world.team(TEAM);
        let worker = scene.worker(if slowly { "slow" } else { "quick" });
        scene.send(&worker.name, "hello");
        scene.arrive(&worker, &["hello"]);
        fs::remove_dir_all(&claude).unwrap();
        scene.wait("no team", || scene.state_of(&worker.name) == "no team");
    }
}

/// Waits until the daemon has answered: it has then handled what it was told before.
fn settled(scene: &Scene) {
    for _ in 0..3 {
        scene.status();
    }
}

#[test]
fn a_claude_directory_that_is_moved_away_is_left_for_the_one_that_takes_its_place() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let _daemon = scene.start();
    scene.send("w", "one");
    scene.arrive(&worker, &["one"]);
    let (claude, away) = (scene.world.claude(), scene.world.path().join("claude.bak"));
    rename(&claude, &away);
    scene.wait("no team", || scene.state_of("w") == "no team");
    let old = away.join("teams").join(TEAM).join("inboxes/w.json");
    put(&old, &format!("[{}]", entry("not for us")));

    fs::create_dir_all(claude.join("teams")).unwrap();
    scene.world.team(TEAM);
    scene.wait("its return", || scene.state_of("w") == "ready");
    scene.send("w", "two");
    scene.arrive(&worker, &["one", "two"]);

    // And the old one back, with what was in it.
    fs::remove_dir_all(&claude).unwrap();
    rename(&away, &claude);
    scene.arrive(&worker, &["one", "two", "not for us"]);
    scene.send("w", "three");
    scene.arrive(&worker, &["one", "two", "not for us", "three"]);
}

#[test]
fn a_daemon_that_starts_before_claude_code_puts_its_members_on_the_team_that_comes() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let away = scene.world.path().join("claude.bak");
    rename(&scene.world.claude(), &away);
    let _daemon = scene.start();
    scene.wait("no team", || scene.state_of("w") == "no team");
    fs::create_dir_all(scene.world.claude().join("teams")).unwrap();
    scene.world.team(TEAM);
    scene.wait("its return", || scene.state_of("w") == "ready");
    assert_eq!(scene.world.config(TEAM)["members"][1]["name"], "w");
    scene.send("w", "one");
    scene.arrive(&worker, &["one"]);
}

const MANY: usize = 5000;

/// A team of so many members of ours, as `register` would have left it, all of them with an inbox.
fn crowd(scene: &Scene) {
    let world = &scene.world;
    let (mut members, mut roster) = (String::new(), String::new());
    let inboxes = world.team_dir(TEAM).join("inboxes");
    fs::create_dir_all(&inboxes).unwrap();
    for n in 0..MANY {
        let name = format!("m{n}");
        let member = json!({
            "agentId": format!("{name}@{TEAM}"), "name": name, "agentType": "gemini-worker",
            "model": "default", "joinedAt": 1, "tmuxPaneId": "", "cwd": world.work(),
            "subscriptions": [], "backendType": "ringer",
        });
        write!(members, ",{member}").unwrap();
        let entry = json!({
            "team_dir": world.team_dir(TEAM), "team": TEAM, "name": name, "model": "default",
            "agent_type": "gemini-worker", "cwd": world.work(), "pane": "none",
        });
        write!(roster, "{}{entry}", if n == 0 { "" } else { "," }).unwrap();
        put(&inboxes.join(format!("{name}.json")), "[]");
    }
    let config = world.config(TEAM).to_string();
    let config = config.replacen("}]", &format!("}}{members}]"), 1);
    serde_json::from_str::<Value>(&config).unwrap();
    put(&world.team_dir(TEAM).join("config.json"), &config);
    fs::create_dir_all(scene.state()).unwrap();
    put(&scene.state().join("roster.json"), &format!("{{\"members\":[{roster}]}}"));
}

#[test]
fn five_thousand_inboxes_are_no_burden() {
    let scene = Scene::new();
    crowd(&scene);
    let workers = ["m0", "m2500", "m4999"].map(|name| scene.worker(name));
    let started = Instant::now();
    let daemon = scene.start();
    let ready = started.elapsed();
    for round in 0..5 {
        let texts: Vec<String> = (0..=round).map(|n| format!("number {n}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for worker in &workers {
            let sent = Instant::now();
            scene.send(&worker.name, texts[round]);
            scene.arrive(worker, &texts);
            assert!(sent.elapsed() < Duration::from_secs(2), "{:?}", sent.elapsed());
        }
    }
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.0.id())).unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = memory.trim().trim_end_matches(" kB").parse().unwrap();
    let asked = Instant::now();
    assert_eq!(scene.status()["members"].as_array().unwrap().len(), MANY);
    println!(
        "{MANY} inboxes: ready in {ready:.1?}, {kilobytes} kB, status in {:.0?}",
        asked.elapsed()
    );
    assert!(ready < Duration::from_secs(10), "ready after {ready:?}");
    assert!(kilobytes < 128 << 10, "{kilobytes} kB");
    let (status, time) = daemon.stop();
    assert!(status.success() && time < Duration::from_secs(2), "{status} after {time:?}");
}

#[test]
fn a_message_among_more_events_than_the_system_keeps_is_found() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    let inboxes = scene.world.team_dir(TEAM).join("inboxes");
    fs::create_dir_all(&inboxes).unwrap();
    let daemon = scene.start();
    daemon.signal(Signal::STOP);
    // Each is made and closed, and no two events in a row are alike.
    for n in 0..limit {
        File::options()
            .create(true)
            .append(true)
            .open(inboxes.join((n % 100).to_string()))
            .and_then(|mut file| file.write_all(b"x"))
            .unwrap();
    }
    scene.send("w", "lost among others");
    daemon.signal(Signal::CONT);
    scene.arrive(&worker, &["lost among others"]);
    scene.wait("a word about it", || scene.log().contains("the system lost events"));
    scene.send("w", "next");
    scene.arrive(&worker, &["lost among others", "next"]);
}

#[test]
fn where_the_system_allows_too_few_watches_mail_arrives_by_looking_now_and_then() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let few = "echo 4 > /proc/sys/user/max_inotify_watches && exec \"$@\"";
    let few = ["unshare", "--user", "--map-root-user", "sh", "-c", few, "sh"];
    let mut daemon = within(&few.map(str::to_owned), &scene.ringer(&["daemon"]));
    let daemon = scene.begin(&mut daemon);
    scene.wait("the daemon to be ready", || {
        let output = scene.ringer(&["status", "--json"]).output().unwrap();
        let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        status["ready"] == true && status["pid"] == daemon.0.id()
    });
    let watching = scene.status()["watching"].clone();
    assert_eq!(watching["mode"], "poll", "{watching}");
    assert_eq!(watching["poll_ms"], 100, "{watching}");
    let why = watching["why"].as_str().unwrap();
    assert!(why.contains("max_user_watches") && why.contains("sysctl"), "{why}");
    let texts = ["by rename", "in place", "once more"];
    scene.send("w", texts[0]);
    scene.arrive(&worker, &texts[..1]);
    let inbox = scene.world.inbox(TEAM, "w");
    scene.wait("its mark", || fs::read_to_string(&inbox).unwrap().contains("\"read\": true"));
    put(&inbox, &format!("[{}]", entry(texts[1])));
    scene.arrive(&worker, &texts[..2]);
    // A team that is made anew, and a member that comes later, are found that way too.
    fs::remove_dir_all(scene.world.team_dir(TEAM)).unwrap();
    scene.wait("no team", || scene.state_of("w") == "no team");
    scene.world.team(TEAM);
    scene.wait("its return", || scene.state_of("w") == "ready");
    let later = scene.worker("later");
    scene.send("later", "hello");
    scene.arrive(&later, &["hello"]);
    scene.send("w", texts[2]);
    scene.arrive(&worker, &texts);
    let said = scene.log().matches("no more directories can be watched").count();
    assert!(said <= 4, "it was said {said} times: not once, but each time it looked");
}

/// Programs started with this go by a clock that is wrong by as many seconds as a file says.
fn wrong_clock(scene: &Scene, file: &Path) -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clock.c");
    let library = scene.world.path().join("clock.so");
    let mut cc = command("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]);
    assert!(cc.status().unwrap().success());
    let preload = format!("LD_PRELOAD={}", library.display());
    vec!["env".to_owned(), preload, format!("WRONG_BY={}", file.display())]
}

#[test]
fn mail_goes_on_in_order_when_the_clock_jumps_back() {
    let mut scene = Scene::new();
    let clock = scene.world.path().join("clock");
    let set = |days: i64| {
        put(&clock.with_extension("new"), &(days * 86_400).to_string());
        rename(&clock.with_extension("new"), &clock);
    };
    set(0);
    // tmux goes by the same clock.
    scene.tmux.kill().unwrap();
    let socket = scene.tmux.socket().to_owned();
    let mut tmux = command("tmux");
    tmux.args(["-S", &socket, "-f", "/dev/null", "-u", "new-session", "-d", "-s", "wrong", "cat"]);
    let wrong = wrong_clock(&scene, &clock);
    assert!(within(&wrong, &tmux).status().unwrap().success());
    scene.tmux.restart().unwrap();
    let worker = scene.worker("w");
    scene.prefix.clone_from(&wrong);
    let _daemon = scene.start();
    scene.prefix.clear();

    let texts: Vec<String> = (0..30).map(|n| format!("number {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (at, text) in texts.iter().enumerate() {
        match at {
            // With mail on its way, and with mail that waits.
            10 => set(-1),
            20 => {
                scene.arrive(&worker, &texts[..20]);
                scene.block(&worker);
            }
            25 => {
                scene.wait("a reason", || scene.state_of("w") == "waiting: copy mode");
                set(-2);
                scene.unblock(&worker);
            }
            _ => {}
        }
        scene.send("w", text);
    }
    scene.arrive(&worker, &texts);
    let log: Value = serde_json::from_str(&scene.run(&["log", "--json"])).unwrap();
    let times = log["messages"].as_array().unwrap().iter().map(|m| m["received_at"].as_i64());
    let times: Vec<i64> = times.map(Option::unwrap).collect();
    let day = 23 * 3_600_000;
    assert!(times[0] - times[15] > day && times[15] - times[29] > day, "no jump: {times:?}");
}

#[test]
fn a_lock_that_a_crash_left_delays_what_is_written_in_place_and_not_for_long() {
    let scene = Scene::new();
    scene.settings(&format!("debounce_ms = 700\n{QUICK}"));
    let worker = scene.worker("w");
    let _daemon = scene.start();
    let inbox = scene.world.inbox(TEAM, "w");
    let unread = || fs::read_to_string(&inbox).unwrap().contains("\"read\": false");
    // The first makes the directory; when the second is marked as read, all is quiet.
    for count in 1..=2 {
        scene.send("w", ["first", "second"][count - 1]);
        scene.arrive(&worker, &["first", "second"][..count]);
        scene.wait("its mark", || !unread());
    }
    let took = |texts: &[&str]| {
        let written = Instant::now();
        scene.arrive(&worker, texts);
        written.elapsed()
    };
    let lock = inbox.with_extension("json.lock");
    fs::create_dir(&lock).unwrap();
    let temporary = inbox.with_extension("tmp");
    put(&temporary, &format!("[{}]", entry("renamed")));
    rename(&temporary, &inbox);
    let renamed = took(&["first", "second", "renamed"]);
    put(&inbox, &format!("[{},{}]", entry("renamed"), entry("in place")));
    let in_place = took(&["first", "second", "renamed", "in place"]);
    println!("renamed after {renamed:.0?}, in place after {in_place:.0?}");
    assert!(lock.exists(), "the lock was somebody's");
    assert!(renamed < Duration::from_millis(500), "{renamed:?}");
    let debounce = Duration::from_millis(700);
    assert!(in_place >= debounce && in_place < debounce * 2, "{in_place:?}");
}

#[test]
fn a_message_in_two_halves_arrives_once_and_whole() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let _daemon = scene.start();
    let texts = ["first", "second half comes later", "third"];
    for count in 1..=texts.len() {
        let inbox = scene.world.inbox(TEAM, "w");
        fs::create_dir_all(inbox.parent().unwrap()).unwrap();
        let entries: Vec<String> = texts[..count].iter().map(|text| entry(text)).collect();
        let all = format!("[{}]", entries.join(","));
        let (first, rest) = all.split_at(all.len() - 20);
        let mut file =
            OpenOptions::new().create(true).write(true).truncate(true).open(&inbox).unwrap();
        file.write_all(first.as_bytes()).unwrap();
        let torn = Instant::now();
        scene.wait("300 ms to pass", || torn.elapsed() > Duration::from_millis(300));
        assert_eq!(worker.texts().len(), count - 1);
        file.write_all(rest.as_bytes()).unwrap();
        drop(file);
        scene.arrive(&worker, &texts[..count]);
    }
}
