//! Starting, asking and ending the daemon.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod scene;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use ringer_testkit::Worker;
use rustix::process::{Pid, Signal, kill_process};
use scene::{QUICK, Scene, TEAM, said};
use serde_json::{Value, json};

/// A daemon that was started with `ringer up`: nobody's child, so it has to be ended.
struct Background(Pid);

impl Background {
    fn of(scene: &Scene) -> Self {
        let pid = i32::try_from(scene.status()["pid"].as_i64().unwrap()).unwrap();
        Self(Pid::from_raw(pid).unwrap())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        kill_process(self.0, Signal::KILL).ok();
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(output)))
}

#[test]
fn up_and_down_can_be_said_twice() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["down"]), "the daemon was not running\n");
    let first = scene.run(&["up"]);
    let daemon = Background::of(&scene);
    let pid = daemon.0.as_raw_nonzero();
    assert_eq!(first, format!("the daemon is ready, process {pid}\n"));
    assert_eq!(scene.run(&["up"]), format!("the daemon runs already, process {pid}\n"));
    let answer = json(&scene.ringer(&["up", "--json"]).output().unwrap());
    assert_eq!(answer, json!({"success": true, "pid": pid.get(), "already_running": true}));
    let worker = scene.worker("w");
    scene.send("w", "hello");
    scene.arrive(&worker, &["hello"]);
    assert_eq!(scene.run(&["down"]), format!("the daemon, process {pid}, has ended\n"));
    assert!(!scene.state().join("control.sock").exists());
    assert_eq!(scene.run(&["down"]), "the daemon was not running\n");
    let answer = json(&scene.ringer(&["down", "--json"]).output().unwrap());
    assert_eq!(answer, json!({"success": true, "was_running": false}));
}

#[test]
fn of_many_who_start_it_at_once_one_does_and_all_are_told_who() {
    let scene = Scene::new();
    let mut ups: Vec<_> = (0..8)
        .map(|_| {
            let mut up = scene.ringer(&["up", "--json"]);
            up.stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let answers: Vec<Value> =
        ups.drain(..).map(|up| json(&up.wait_with_output().unwrap())).collect();
    let daemon = Background::of(&scene);
    assert!(
        answers.iter().all(|answer| answer["pid"] == daemon.0.as_raw_nonzero().get()),
        "{answers:?}{}",
        scene.all()
    );
    let first = answers.iter().filter(|answer| answer["already_running"] == false).count();
    assert_eq!(first, 1, "{answers:?}");
    scene.run(&["down"]);
}

#[test]
fn a_second_daemon_is_told_who_the_first_is() {
    let scene = Scene::new();
    let daemon = scene.start();
    let pid = daemon.0.id();
    let output = scene.ringer(&["daemon"]).output().unwrap();
    let lock = scene.state().join("daemon.lock").display().to_string();
    let expected = format!(
        "error: a daemon runs already, process {pid}: it holds `{lock}`\n\
         hint: `ringer status` shows it, `ringer down` ends it\n"
    );
    assert_eq!((said(&output), output.status.code()), (expected, Some(1)));
    assert_eq!(scene.status()["pid"], pid, "the first one still answers");
}

#[test]
fn what_a_killed_daemon_leaves_is_no_obstacle() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    for round in 0..3 {
        let daemon = scene.start();
        scene.send("w", &format!("round {round}"));
        let texts: Vec<String> = (0..=round).map(|n| format!("round {n}")).collect();
        scene.arrive(&worker, &texts.iter().map(String::as_str).collect::<Vec<_>>());
        daemon.signal(Signal::KILL);
        drop(daemon);
        assert!(scene.state().join("control.sock").exists(), "nobody could clean up");
        let status = scene.run(&["status"]);
        assert!(
            status.starts_with("daemon    not running; start it with `ringer up`\n"),
            "{status}"
        );
        assert_eq!(scene.run(&["down"]), "the daemon was not running\n");
    }
}

#[test]
fn status_says_all_there_is_to_say() {
    let scene = Scene::new();
    let expected = "daemon    not running; start it with `ringer up`\n\n\
                    no members yet; `ringer run gemini` starts one\n";
    assert_eq!(scene.run(&["status"]), expected);
    assert!(!scene.state().exists(), "asking leaves nothing behind");
    let worker = scene.worker("w");
    let none = scene.status();
    assert_eq!(
        (&none["running"], &none["members"][0]["state"]),
        (&json!(false), &json!("no daemon"))
    );

    let daemon = scene.start();
    scene.send("w", "hello");
    scene.arrive(&worker, &["hello"]);
    scene.wait("it to be ready", || scene.state_of("w") == "ready");
    let mut status = scene.status();
    let member = status["members"][0].take();
    assert!(status["started_at"].take().as_i64().unwrap() > 1_700_000_000_000);
    let expected = json!({
        "success": true, "running": true, "ready": true, "pid": daemon.0.id(),
        "version": env!("CARGO_PKG_VERSION"), "started_at": null, "problems": [], "unheard": [], "crowded": [],
        "teams_dir": scene.world.claude().join("teams"), "state_dir": scene.state(),
        "config": scene.settings_file(), "members": [null],
        "watching": {"mode": "inotify", "watches": status["watching"]["watches"]},
        "servers": [{"kind": "tmux", "socket": scene.tmux.socket(), "mode": "control mode"}],
        "teams": [{
            "team": TEAM, "dir": scene.world.team_dir(TEAM), "exists": true, "members": 1,
        }],
    });
    assert_eq!(status, expected);
    let expected = json!({
        "team": TEAM, "team_dir": scene.world.team_dir(TEAM), "name": "w", "queued": 0, "failed": 0,
        "agent_type": "gemini-worker", "pane": worker.address(&scene.tmux), "state": "ready",
        "profile": "shell",
        "reason": null, "detail": null, "waiting_since": null,
        "last_delivery": member["last_delivery"],
    });
    assert_eq!(member, expected);
    assert!(member["last_delivery"].as_i64().unwrap() > 1_700_000_000_000);
}

#[test]
fn nobody_else_can_read_what_ringer_keeps_or_talk_to_it() {
    let mut scene = Scene::new();
    let worker = scene.worker("w");
    let daemon = scene.start();
    scene.send("w", "private");
    scene.arrive(&worker, &["private"]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&scene.state().join("control.sock")), 0o600);
    assert_eq!(mode(&scene.state()), 0o700);
    for file in fs::read_dir(scene.state()).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{} can be read", path.display());
    }
    assert!(daemon.stop().0.success());
    // Where the system has a better place for sockets, it is there.
    let runtime = scene.world.path().join("run");
    scene.prefix = vec!["env".to_owned(), format!("XDG_RUNTIME_DIR={}", runtime.display())];
    let _daemon = scene.start();
    assert!(!scene.state().join("control.sock").exists());
    assert_eq!(mode(&runtime.join("ringer")), 0o700);
    let sockets: Vec<_> = fs::read_dir(runtime.join("ringer")).unwrap().flatten().collect();
    assert_eq!((sockets.len(), mode(&sockets[0].path())), (1, 0o600));
}

/// Ends the daemon when `busy`, and sees that it ends well, in time, and loses and repeats nothing.
fn ends_in_time(settings: &str, begin: impl Fn(&Scene, &Worker), finish: impl Fn(&Scene, &Worker)) {
    for signal in [Signal::TERM, Signal::INT] {
        let scene = Scene::new();
        scene.settings(settings);
        let worker = scene.worker("w");
        let mut daemon = scene.start();
        scene.send("w", "one");
        scene.arrive(&worker, &["one"]);
        begin(&scene, &worker);
        let asked = std::time::Instant::now();
        daemon.signal(signal);
        let status = daemon.0.wait().unwrap();
        let took = asked.elapsed();
        assert!(status.success() && took < Duration::from_secs(2), "{took:?}{}", scene.all());
        finish(&scene, &worker);
        let _daemon = scene.start();
        scene.arrive(&worker, &["one", "two"]);
        scene.send("w", "three");
        scene.arrive(&worker, &["one", "two", "three"]);
    }
}

fn screen_shows(scene: &Scene, worker: &Worker, text: &str) -> bool {
    scene.tmux.screen(&worker.pane).unwrap().contains(text)
}

#[test]
fn it_ends_at_once_and_finishes_the_delivery_in_hand() {
    let slow = "[delivery]\nsettle_ms = 700\nretry_max_ms = 200";
    let begin = |scene: &Scene, worker: &Worker| {
        scene.send("w", "two");
        scene.wait("the text on the screen", || screen_shows(scene, worker, "two"));
        assert_eq!(worker.texts().len(), 1, "Enter comes later");
    };
    ends_in_time(slow, begin, |_, worker| assert_eq!(worker.texts().len(), 2, "it was finished"));
}

#[test]
fn it_ends_at_once_though_mail_waits() {
    let begin = |scene: &Scene, worker: &Worker| {
        scene.block(worker);
        scene.send("w", "two");
        scene.wait("a reason", || scene.state_of("w") == "waiting: copy mode");
    };
    ends_in_time(QUICK, begin, Scene::unblock);
}

#[test]
fn it_ends_in_time_though_tmux_does_not_answer() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let daemon = scene.start();
    scene.send("w", "one");
    scene.arrive(&worker, &["one"]);
    scene.tmux.pause().unwrap();
    scene.send("w", "two");
    scene.wait("its turn", || scene.status()["members"][0]["queued"] == 1);
    let (status, took) = daemon.stop();
    assert!(status.success() && took < Duration::from_secs(2), "{took:?}{}", scene.all());
    scene.tmux.resume().unwrap();
    let _daemon = scene.start();
    let two = "[message from team-lead]\ntwo";
    scene.wait("it", || worker.texts()[1..].iter().any(|text| text.ends_with(two)));
    scene.wait("its end", || scene.state_of("w") == "ready");
    // Whether tmux had it already, nobody could know.
    let (texts, again) = (worker.texts(), "[second copy: the first one may have arrived] ");
    assert!(texts.len() < 4 && texts[2..].iter().all(|text| text.starts_with(again)), "{texts:?}");
}

#[test]
fn it_ends_in_time_though_somebody_holds_the_lock_of_an_inbox() {
    let lock = |scene: &Scene| scene.world.inbox(TEAM, "w").with_extension("json.lock");
    let begin = |scene: &Scene, worker: &Worker| {
        let mark = || fs::read_to_string(scene.world.inbox(TEAM, "w")).unwrap();
        scene.wait("its mark", || mark().contains("\"read\": true"));
        scene.send("w", "two");
        fs::create_dir(lock(scene)).ok();
        scene.arrive(worker, &["one", "two"]);
    };
    ends_in_time(QUICK, begin, |scene, _| drop(fs::remove_dir(lock(scene))));
}

#[test]
fn garbage_on_the_control_socket_does_no_harm() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let daemon = scene.start();
    let socket = scene.state().join("control.sock");
    let connect = || {
        let stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    };
    // Half a line, and then nothing, many times over.
    let hanging: Vec<UnixStream> = (0..200)
        .map(|_| {
            let mut stream = connect();
            stream.write_all(b"{\"do\": \"sta").unwrap();
            stream
        })
        .collect();
    for line in
        [&b"\xff\xfe\x00garbage\n"[..], b"{\"do\": \"dance\"}\n", b"[]\n", b"\n", b"\0\0\0\0"]
    {
        let mut stream = connect();
        stream.write_all(line).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.is_empty() || answer.contains("invalid_request"), "{answer}");
    }
    let mut huge = connect();
    let block = vec![b'x'; 64 << 10];
    // It hangs up long before the end.
    let refused = (0..1000).any(|_| huge.write_all(&block).is_err());
    assert!(refused, "64 MB were taken");
    let mut several = connect();
    several.write_all(b"nonsense\n{\"do\": \"status\"}\n").unwrap();
    several.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answers = String::new();
    several.read_to_string(&mut answers).unwrap();
    assert!(answers.contains("invalid_request") && answers.contains("\"ready\":true"), "{answers}");

    assert_eq!(scene.status()["pid"], daemon.0.id());
    scene.send("w", "hello");
    scene.arrive(&worker, &["hello"]);
    // Those who say nothing are sent away.
    for mut stream in hanging {
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(answer.is_empty());
    }
}

#[test]
fn a_daemon_that_does_not_answer_is_said_not_to() {
    let scene = Scene::new();
    let daemon = scene.start();
    daemon.signal(Signal::STOP);
    let pid = daemon.0.id();
    let socket = scene.state().join("control.sock").display().to_string();
    let output = scene.ringer(&["status"]).output().unwrap();
    let expected = format!("error: the daemon does not answer on `{socket}`\n");
    assert!(said(&output).starts_with(&expected), "{}", said(&output));
    assert_eq!(output.status.code(), Some(1));
    let output = scene.ringer(&["down"]).output().unwrap();
    let expected = format!(
        "error: the daemon, process {pid}, does not end\nhint: kill -9 {pid} loses nothing\n"
    );
    assert_eq!((said(&output), output.status.code()), (expected, Some(1)));
    daemon.signal(Signal::CONT);
    let process = Path::new("/proc").join(pid.to_string()).join("exe");
    scene.wait("its end", || fs::read_link(&process).is_err());
}

#[test]
fn status_of_a_daemon_that_is_just_ending_is_no_error() {
    let scene = Scene::new();
    for _ in 0..5 {
        let daemon = scene.start();
        daemon.signal(Signal::TERM);
        scene.wait("its end", || {
            let status = scene.status();
            assert!(status["running"] == false || status["pid"] == daemon.0.id(), "{status}");
            status["running"] == false
        });
    }
}
