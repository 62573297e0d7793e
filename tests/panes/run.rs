//! `ringer run`: a program under it behaves as it does without, is on the team while it runs, and leaves
//! nothing behind.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::scene::{PATIENCE, Scene, TEAM, said};
use crate::terminal::Terminal;
use portable_pty::PtySize;
use ringer_testkit::{command, put, received, receiver_program, wait_for};
use rustix::process::{Pid, Signal, kill_process};

/// What a program wrote, without the line that `ringer run` says before it.
fn without_note(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    assert!(bytes[..end].ends_with(format!(" is on {TEAM}\r").as_bytes()), "{bytes:?}");
    bytes[end + 1..].to_vec()
}

fn members(scene: &Scene) -> Vec<String> {
    let config = scene.world.config(TEAM);
    let all = config["members"].as_array().unwrap().iter();
    all.map(|member| member["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_a_program_writes_and_reads_passes_unchanged() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let all: Vec<u8> = (0..=255).collect();
    let mut bytes =
        b"\x1b[?1049h\x1b[?2004h\x1b[?1006h\x1b[?1002h\x1b[>1u\x1b[38;2;1;2;3mcolour\x1b[m"
            .to_vec();
    bytes.extend(b"\x1b]0;a title\x07\x1b_Gkitty\x1b\\\x1bPq\x1b\\\x1b[?1049l\x1b[?2004l\x1b[<u\x1b[?1006l\x1b[?1002l");
    bytes.extend(&all);
    bytes.extend("你好 🎉".as_bytes());
    let file = scene.world.path().join("bytes");
    put_bytes(&file, &bytes);
    let got = scene.world.path().join("got");
    let script = format!(
        "stty raw -echo; cat {}; printf END; head -c {} > {}",
        file.display(),
        all.len(),
        got.display()
    );
    let mut terminal = Terminal::run(&scene, &["--name", "w", "--", "sh", "-c", &script]);
    terminal.wait_for("END");
    let written = without_note(&terminal.output());
    bytes.extend(b"END");
    assert_eq!(written, bytes);
    terminal.types(&all);
    let output = terminal.output.clone();
    assert_eq!(terminal.end(), 0);
    assert_eq!(fs::read(&got).unwrap(), all);
    // Modes that the program left on are turned off, and only those.
    let rest = without_note(&output.lock().unwrap())[bytes.len()..].to_vec();
    assert_eq!(String::from_utf8_lossy(&rest), "\x1b[m");
}

#[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
fn put_bytes(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}

#[test]
fn the_exit_status_is_the_workers() {
    let scene = Scene::new();
    let _daemon = scene.start();
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)]
    {
        assert_eq!(Terminal::run(&scene, &["--", "sh", "-c", script]).end(), code, "{script}");
    }
    assert_eq!(members(&scene), ["team-lead"]);
}

#[test]
fn the_terminal_is_as_it_was_whatever_happens() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let ringer = scene.ringer(&[]).get_program().to_string_lossy().into_owned();
    let modes = r"printf '\033[?1049h\033[?2004h\033[?1002h\033[?25l\033[>1u'; echo UP";
    for (how, end) in [("ends", "true"), ("is killed", "kill -9 $$"), ("hangs", "sleep 100")] {
        let script = format!(
            "stty -a > before; {ringer} run --team {TEAM} --name w -- sh -c '{}; {end}'; echo DOWN $?; stty -a > after",
            modes.replace('\'', "\"")
        );
        let terminal = Terminal::open(&scene, &["sh", "-c", &script]);
        terminal.wait_for("UP");
        if how == "hangs" {
            // The host is told to end.
            let host = children_of(terminal.child.process_id().unwrap());
            kill_process(Pid::from_raw(host[0]).unwrap(), Signal::TERM).unwrap();
        }
        terminal.wait_for("DOWN");
        let output = String::from_utf8_lossy(&terminal.output()).into_owned();
        terminal.end();
        let after = output.split("UP").nth(1).unwrap();
        for undone in ["\x1b[?1049l", "\x1b[?2004l", "\x1b[?1002l", "\x1b[?25h", "\x1b[<u"] {
            assert!(after.contains(undone), "{how}: {undone:?} in {after:?}");
        }
        let read = |name: &str| fs::read_to_string(scene.world.work().join(name)).unwrap();
        assert_eq!(read("before"), read("after"), "{how}");
        assert_eq!(members(&scene), ["team-lead"], "{how}");
    }
}

fn children_of(pid: u32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).unwrap();
    text.split_whitespace().map(|child| child.parse().unwrap()).collect()
}

#[test]
fn full_screen_programs_look_the_same_as_without_it() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let text = (0..200).map(|n| format!("line {n} of a text 你好")).collect::<Vec<_>>().join("\n");
    let file = scene.world.work().join("text");
    put(&file, &text);
    let file = file.display().to_string();
    let ringer = scene.ringer(&[]).get_program().display().to_string();
    for (program, keys) in [
        (
            vec!["vim", "-n", "-u", "NONE", "-N", &file],
            vec!["50G", "ohello", "Escape", ":set nu", "Enter", "C-f"],
        ),
        (vec!["less", &file], vec!["Space", "Space", "b", "/line 7", "Enter"]),
        (vec!["htop", "--readonly", "--pid=1", "--delay=1000"], vec!["Down"]),
    ] {
        if command("which").arg(program[0]).output().is_ok_and(|found| !found.status.success()) {
            assert!(std::env::var_os("CI").is_none(), "{} is not installed", program[0]);
            continue;
        }
        let open = |words: &[&str]| {
            let mut arguments =
                vec!["new-window", "-d", "-P", "-F", "#{pane_id}", "--", "env", "-i"];
            let environment: Vec<String> = scene
                .ringer(&[])
                .get_envs()
                .map(|(name, value)| format!("{}={}", name.display(), value.unwrap().display()))
                .collect();
            arguments.extend(environment.iter().map(String::as_str));
            arguments.extend(["TERM=screen-256color", "LANG=C.UTF-8"]);
            arguments.extend(words);
            scene.tmux.run(&arguments).unwrap()
        };
        let bare = open(&program);
        let hosted = open(
            &[&[ringer.as_str(), "run", "--team", TEAM, "--name", "w", "--"], &program[..]]
                .concat(),
        );
        let screen = |pane: &str| {
            let rows = scene.tmux.run(&["capture-pane", "-p", "-e", "-t", pane]).unwrap();
            // What it measures changes all the time.
            let is_fixed = |row: &&str| program[0] != "htop" || row.contains("PID");
            rows.lines().filter(is_fixed).collect::<Vec<_>>().join("\n")
        };
        let same = |step: &str| {
            let alike = || (screen(&bare) == screen(&hosted)).then_some(());
            let waited = wait_for("the same screen", Duration::from_secs(10), alike);
            let (one, other) = (screen(&bare), screen(&hosted));
            assert!(waited.is_ok(), "{program:?} after {step}:\n{one}\n---\n{other}");
        };
        wait_for("a screen", PATIENCE, || (screen(&bare).len() > 20).then_some(())).unwrap();
        same("the start");
        for key in keys {
            for pane in [&bare, &hosted] {
                scene.tmux.run(&["send-keys", "-t", pane, key]).unwrap();
            }
            same(key);
        }
        for pane in [&bare, &hosted] {
            scene.tmux.run(&["resize-window", "-t", pane, "-x", "70", "-y", "20"]).unwrap();
        }
        same("another size");
        for pane in [&bare, &hosted] {
            scene.tmux.run(&["kill-pane", "-t", pane]).unwrap();
        }
        scene.wait("it to be off the team", || members(&scene) == ["team-lead"]);
    }
}

#[test]
fn a_worker_is_on_the_team_while_it_runs_and_outlives_the_daemon() {
    let scene = Scene::new();
    let before = scene.world.config(TEAM);
    let daemon = scene.start();
    let file = scene.world.path().join("received");
    let (program, path) = (receiver_program(), file.display().to_string());
    let program = program.display().to_string();
    let mut terminal = Terminal::run(&scene, &["shell", "--name", "w", "--", &program, &path]);
    terminal.wait_for("> ");
    scene.wait("it to be on the team", || members(&scene) == ["team-lead", "w"]);
    let texts = || received(&file).into_iter().map(|one| one.text).collect::<Vec<_>>();
    scene.send("w", "one");
    scene.wait("the first", || texts().len() == 1);
    drop(daemon);
    scene.send("w", "two");
    terminal.types(b"still here\r");
    scene.wait("the keys", || texts().len() == 2);
    let _daemon = scene.start();
    scene.wait("the second", || texts().len() == 3);
    assert_eq!(
        texts(),
        ["[message from team-lead]\none", "still here", "[message from team-lead]\ntwo"]
    );
    // A second one of the name is refused; without a name it gets another.
    let refused =
        scene.ringer(&["run", "shell", "--name", "w", "--team", TEAM, "--", "cat"]).output();
    assert!(said(&refused.unwrap()).contains("a worker of that name runs"));
    drop(terminal);
    scene.wait("it to be off the team", || members(&scene) == ["team-lead"]);
    assert_eq!(scene.world.config(TEAM), before);
}

/// Of a longer line, a terminal would drop the rest.
#[test]
fn a_line_that_is_too_long_for_a_program_that_reads_lines_goes_into_a_file() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let terminal = Terminal::run(&scene, &["--name", "w", "--", "cat"]);
    terminal.wait_for("w is on");
    let fits = format!("{} fits", "x".repeat(3000));
    scene.send("w", &fits);
    scene.send("w", &format!("{} end", "y".repeat(10_000)));
    terminal.wait_for(&fits);
    terminal.wait_for("[This is the beginning of a message of 10004 characters");
    assert_eq!(scene.state_of("w"), "ready");
}

#[test]
fn the_daemon_is_started_if_it_does_not_run() {
    let scene = Scene::new();
    let terminal = Terminal::run(&scene, &["--name", "w", "--", "cat"]);
    terminal.wait_for("w is on");
    assert_eq!(scene.state_of("w"), "ready");
    drop(terminal);
    scene.run(&["down"]);
}

#[test]
fn a_worker_in_the_background_is_attached_to_and_stopped() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let pids = scene.world.path().join("pids");
    // It starts something of its own that does not want to go.
    let script = format!(
        "trap '' HUP TERM; (trap '' HUP TERM; sleep 300) & echo $$ $! > {}; echo READY; cat",
        pids.display()
    );
    let said = scene.run(&[
        "run", "shell", "--detach", "--name", "w", "--team", TEAM, "--", "sh", "-c", &script,
    ]);
    assert_eq!(said, format!("w is on {TEAM}; `ringer attach w` shows it\n"));
    let ringer = scene.ringer(&[]).get_program().display().to_string();
    let mut viewer = Terminal::open(&scene, &[&ringer, "attach", "w"]);
    viewer.wait_for("READY");
    viewer.wait_for(&format!("w · shell · {TEAM} · detach: Ctrl-\\"));
    viewer.types(b"typed by hand\r");
    viewer.wait_for("typed by hand");
    viewer.master.resize(PtySize { rows: 10, cols: 40, pixel_width: 0, pixel_height: 0 }).unwrap();
    scene.send("w", "from the lead");
    viewer.wait_for("from the lead");
    viewer.types(&[0x1c]);
    viewer.wait_for("detached; w goes on");
    assert_eq!(viewer.end(), 0);
    assert_eq!(members(&scene), ["team-lead", "w"]);
    let pids = fs::read_to_string(&pids).unwrap();
    let alive = || pids.split_whitespace().any(is_alive);
    assert!(alive());
    let start = Instant::now();
    assert_eq!(scene.run(&["stop", "w"]), format!("w has ended and is off {TEAM}\n"));
    assert!(!alive(), "after {:?}", start.elapsed());
    assert_eq!(members(&scene), ["team-lead"]);
    let again = scene.ringer(&["stop", "w"]).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
}

/// A process that nobody has buried yet has ended too.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn what_a_killed_host_leaves_is_cleared_away() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let answer = scene
        .run(&["run", "shell", "--detach", "--name", "w", "--team", TEAM, "--json", "--", "cat"]);
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let pid = i32::try_from(answer["pid"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    scene.wait("its end", || !is_alive(&pid.to_string()));
    scene.wait("it to be off the team", || members(&scene) == ["team-lead"]);
    // The name is free.
    let mut terminal = Terminal::run(&scene, &["--name", "w", "--", "cat"]);
    terminal.wait_for("w is on");
    scene.send("w", "anybody there?");
    terminal.wait_for("anybody there?");
    terminal.types(&[4]);
    assert_eq!(terminal.end(), 0);
}

#[test]
fn mistakes_are_told_in_one_line() {
    let scene = Scene::new();
    let run = |words: &[&str]| {
        let output = scene.ringer(&[&["run"], words].concat()).output().unwrap();
        (output.status.code().unwrap(), said(&output))
    };
    let (code, text) = run(&["gemny"]);
    assert_eq!(code, 1);
    assert!(text.contains("there is no profile `gemny`") && text.contains("`gemini`"), "{text}");
    let (code, text) = run(&["--team", TEAM, "--", "no-such-program"]);
    assert_eq!(code, 1);
    assert!(text.contains("could not start `no-such-program`"), "{text}");
    let (code, text) = run(&[]);
    assert_eq!(code, 2, "{text}");
    let (code, text) = run(&["gemini", "--name", "../x", "--team", TEAM]);
    assert_eq!(code, 1, "{text}");
    assert_eq!(members(&scene), ["team-lead"]);
    for verb in ["attach", "stop"] {
        let output = scene.ringer(&[verb, "nobody"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(
            said(&output).starts_with("error: no worker is called `nobody`\nhint: "),
            "{}",
            said(&output)
        );
    }
}
