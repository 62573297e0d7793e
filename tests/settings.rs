//! The daemon's settings and its log: taken over while it runs, and refused with a reason.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod scene;

use std::fs;
use std::os::unix::fs::symlink;

use ringer_testkit::{Worker, command, put};
use rustix::process::Signal;
use scene::{QUICK, Scene, said};
use serde_json::{Value, json};

#[test]
fn up_says_why_the_daemon_cannot_start() {
    let scene = Scene::new();
    scene.settings("debouce_ms = 5");
    let why = format!(
        "`{}` is not understood: there is no key `debouce_ms`; did you mean `debounce_ms`?",
        scene.settings_file().display()
    );
    let output = scene.ringer(&["daemon"]).output().unwrap();
    assert_eq!((said(&output), output.status.code()), (format!("error: {why}\n"), Some(1)));
    let output = scene.ringer(&["up"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains(&why), "{}", said(&output));
    let log = scene.state().join("daemon.log");
    assert!(said(&output).contains(log.to_str().unwrap()), "{}", said(&output));
    let output = scene.ringer(&["up", "--json"]).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["success"], &answer["error"]), (&json!(false), &json!("not_ready")));
    assert!(answer["details"]["log"].as_str().unwrap().contains(&why), "{answer}");
}

fn template(word: &str) -> String {
    QUICK.replace("settle_ms", &format!("template = \"{word}: {{text}}\"\nsettle_ms"))
}

/// Sends and waits for what the worker sees of it.
fn sees(scene: &Scene, worker: &Worker, text: &str, seen: &str) {
    let before = worker.texts().len();
    scene.send("w", text);
    scene.wait(seen, || worker.texts().len() > before);
    assert_eq!(worker.texts()[before], seen, "{}", scene.all());
}

#[test]
fn a_changed_settings_file_is_taken_over_and_a_broken_one_refused() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let settings = scene.settings_file();
    fs::remove_dir_all(scene.world.path().join(".config")).unwrap();
    let _daemon = scene.start();
    let changes = || scene.log().matches("settings changed").count();
    sees(&scene, &worker, "one", "[message from team-lead]\none");
    scene.settings(&template("first"));
    scene.wait("the settings", || changes() == 1);
    sees(&scene, &worker, "two", "first: two");

    put(&settings, "[delivery]\ntemplat = \"x\"");
    let problems = || scene.status()["problems"].to_string();
    let expected = "there is no key `delivery.templat`; did you mean `delivery.template`?; \
                    the old settings stay";
    scene.wait("the problem", || problems().contains(expected));
    assert!(scene.run(&["status"]).contains(expected));
    sees(&scene, &worker, "three", "first: three");

    // As editors do.
    let new = settings.with_extension("new");
    put(&new, &template("second"));
    assert!(command("mv").args([&new, &settings]).status().unwrap().success());
    scene.wait("no problem", || problems() == "[]");
    sees(&scene, &worker, "four", "second: four");
    fs::remove_file(&settings).unwrap();
    scene.wait("the settings", || changes() == 3);
    sees(&scene, &worker, "five", "[message from team-lead]\nfive");
}

#[test]
fn sighup_takes_settings_over_that_nobody_could_see_change() {
    let scene = Scene::new();
    let worker = scene.worker("w");
    let (settings, real) = (scene.settings_file(), scene.world.path().join("real.toml"));
    put(&real, &template("first"));
    fs::remove_file(&settings).unwrap();
    symlink(&real, &settings).unwrap();
    let daemon = scene.start();
    sees(&scene, &worker, "one", "first: one");
    put(&real, &template("second"));
    daemon.signal(Signal::HUP);
    scene.wait("the settings", || scene.log().contains("settings changed"));
    sees(&scene, &worker, "two", "second: two");
    put(&real, "no settings");
    daemon.signal(Signal::HUP);
    scene.wait("the problem", || scene.status()["problems"][0].is_string());
    sees(&scene, &worker, "three", "second: three");
}

/// Ends the daemon that nobody holds: that its terminal is gone is no reason for it to end.
struct Down<'a>(&'a Scene);

impl Drop for Down<'_> {
    fn drop(&mut self) {
        self.0.ringer(&["down"]).output().ok();
    }
}

#[test]
fn the_log_is_json_unless_somebody_reads_it_and_never_has_texts_in_it() {
    let mut scene = Scene::new();
    let worker = scene.worker("w");
    scene.prefix = vec!["env".to_owned(), "RINGER_LOG=trace".to_owned()];
    let daemon = scene.start();
    scene.send("w", "private");
    scene.arrive(&worker, &["private"]);
    scene.block(&worker);
    scene.send("w", "very-private");
    scene.wait("a reason", || scene.state_of("w") == "waiting: copy mode");
    scene.unblock(&worker);
    scene.arrive(&worker, &["private", "very-private"]);
    assert!(daemon.stop().0.success());
    let log = scene.log();
    assert!(!log.contains("private"), "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["level"].is_string() && line["timestamp"].is_string()));
    for message in ["started", "ready", "ended"] {
        assert!(lines.iter().any(|line| line["message"] == message), "{message}: {log}");
    }
    // A key that is there twice is there once for most readers.
    let twice = |line: &&str| line.matches("\"message\":").count() > 1;
    assert_eq!(log.lines().find(twice), None);

    let mut daemon = vec!["env".to_owned(), "-i".to_owned()];
    let ringer = scene.ringer(&["daemon"]);
    daemon.extend(
        ringer
            .get_envs()
            .filter_map(|(name, value)| Some(format!("{}={}", name.to_str()?, value?.to_str()?))),
    );
    daemon.extend([env!("CARGO_BIN_EXE_ringer").to_owned(), "daemon".to_owned()]);
    let daemon: Vec<&str> = daemon.iter().map(String::as_str).collect();
    let down = Down(&scene);
    let pane = scene.tmux.worker(&daemon).unwrap();
    let screen = || scene.tmux.screen(&pane).unwrap();
    scene.wait("text on the terminal", || screen().contains("INFO ready members=1"));
    assert!(!screen().contains('{'), "{}", screen());
    drop(down);

    scene.prefix = vec!["env".to_owned(), "RINGER_LOG=loud".to_owned()];
    let output = scene.ringer(&["daemon"]).output().unwrap();
    let expected = "error: RINGER_LOG is none of error, warn, info, debug and trace\n";
    assert_eq!((said(&output).as_str(), output.status.code()), (expected, Some(2)));
}

/// A mistake in Ringer's settings must not keep Claude's own teammates from starting.
#[test]
fn claude_s_own_teammates_start_whatever_the_settings_say() {
    let scene = Scene::new();
    scene.settings("nonsense = 1\n");
    let bin = scene.world.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let claude = bin.join("claude");
    ringer_testkit::put(&claude, "#!/bin/sh\necho \"$@\"\n");
    fs::set_permissions(&claude, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let arguments =
        ["--agent-name", "bob", "--agent-id", "bob@t", "--team-name", "t", "--json", "-v"];
    let mut teammate = scene.ringer(&arguments);
    teammate.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let output = teammate.output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        arguments.join(" ") + "\n",
        "{}",
        said(&output)
    );
}
