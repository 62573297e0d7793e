//! `ringer spawn`: ready and on the team when it returns, or nothing at all.

use std::fs;

use ringer_testkit::{Zellij, command, put};

use crate::scene::{Scene, TEAM, said};
use crate::{files_left, runs};

#[test]
fn workers_are_ready_on_the_team_and_have_their_first_prompt() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let prompt = scene.world.work().join("prompt.md");
    put(&prompt, "READ THE SOURCES\n");
    let (code, words) = scene.spawn(&["--prompt", "@prompt.md", "--in", "host"], "w");
    assert_eq!(code, Some(0), "{words}");
    assert!(words.contains(&format!("w is on {TEAM}; `ringer attach w` shows it")), "{words}");
    assert!(words.contains("w: starting") && words.contains("w: ready after"), "{words}");
    assert_eq!(scene.members(TEAM), ["w"]);
    scene.wait("the first prompt", || !scene.texts("w").is_empty());
    let texts = scene.texts("w");
    assert_eq!(texts, ["[message from team-lead · first prompt]\nREAD THE SOURCES"]);
    let row = scene.worker_row("w").unwrap();
    assert_eq!((&row["state"], &row["profile"]), (&"ready".into(), &"shell".into()), "{row}");
    assert_eq!(row["pid"], scene.pid("w", "process"));
    scene.run(&["stop", "w"]);
}

#[test]
fn many_at_once_have_names_of_their_own() {
    let scene = Scene::new();
    let _daemon = scene.start();
    // By two who ask at the same time.
    let spawn = || scene.ringer(&["spawn", "shell", "--name", "w", "--count", "5", "--", "cat"]);
    let (mut one, mut two) = (spawn(), spawn());
    std::thread::scope(|scope| {
        for command in [&mut one, &mut two] {
            scope.spawn(move || {
                let output = command.output().unwrap();
                assert!(output.status.success(), "{}", said(&output));
            });
        }
    });
    let mut members = scene.members(TEAM);
    members.sort_by_key(|name| (name.len(), name.clone()));
    let all = ["w", "w-2", "w-3", "w-4", "w-5", "w-6", "w-7", "w-8", "w-9", "w-10"];
    assert_eq!(members, all);
    // And no more.
    let output = spawn().output().unwrap();
    let words = said(&output);
    assert_eq!(output.status.code(), Some(1), "{words}");
    let why = format!("error: team `{TEAM}` has 10 of at most 10 workers: 5 more is too many");
    assert!(words.contains(&why) && words.contains("spawn.max_workers"), "{words}");
    let hosts: Vec<i32> = all.iter().map(|name| scene.pid(name, "process")).collect();
    scene.run(&["remove", "--all", "--team", TEAM]);
    assert!(scene.members(TEAM).is_empty() && !hosts.into_iter().any(runs));
    assert_eq!(files_left(&scene), [""; 0]);
}

#[test]
fn a_worker_that_does_not_get_ready_leaves_nothing_behind() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let before = scene.world.config(TEAM);
    // It never shows a prompt.
    let dir = scene.settings_file().with_file_name("workers");
    fs::create_dir_all(&dir).unwrap();
    put(
        &dir.join("odd.toml"),
        "command = [\"sh\", \"-c\", \"echo LAST WORDS; echo $$ > pid; sleep 100\"]\n\
         [ready]\nscreen = 'NEVER'\n[prompt]\nscreen = '(?<text>NEVER)'\n",
    );
    for (words, why) in [
        (vec!["odd", "--timeout", "1"], "was not at its prompt after 1 s: starting"),
        (
            vec!["shell", "--", "sh", "-c", "echo LAST WORDS; sleep 0.2; exit 3"],
            "ended before it was ready",
        ),
    ] {
        let output = scene.ringer(&[&["spawn"], &words[..]].concat()).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(why) && said.contains("  | LAST WORDS"), "{said}");
    }
    let output = scene.ringer(&["spawn", "shell", "--", "no-such-program"]).output().unwrap();
    assert!(
        said(&output).contains("error: could not start `no-such-program`"),
        "{}",
        said(&output)
    );
    let pid = fs::read_to_string(scene.world.work().join("pid")).unwrap();
    assert!(!runs(pid.trim().parse().unwrap()));
    assert_eq!(scene.world.config(TEAM), before);
    assert_eq!(scene.roster()["members"], serde_json::json!([]));
    assert_eq!(files_left(&scene), [""; 0]);
    assert_eq!(scene.run(&["ps", "--all", "--json"]).trim(), r#"{"success":true,"workers":[]}"#);
}

#[test]
fn who_is_interrupted_while_a_worker_starts_leaves_nothing_behind() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let dir = scene.settings_file().with_file_name("workers");
    fs::create_dir_all(&dir).unwrap();
    put(
        &dir.join("odd.toml"),
        "command = [\"sleep\", \"100\"]\n[ready]\nscreen = 'NEVER'\n[prompt]\nscreen = '(?<text>NEVER)'\n",
    );
    let mut spawn = scene.ringer(&["spawn", "odd"]);
    let spawn = ringer_testkit::Running::start(&mut spawn).unwrap();
    // It has a name before it has a process.
    let is_starting = || {
        let row = scene.worker_row("odd");
        row.is_some_and(|row| row["state"] == "starting" && row["pid"].is_number())
    };
    scene.wait("it to start", is_starting);
    assert!(scene.members(TEAM).is_empty());
    let pid = scene.pid("odd", "process");
    spawn.kill().unwrap();
    scene.wait("its end", || !runs(pid) && scene.roster()["members"] == serde_json::json!([]));
    scene.wait("no files", || files_left(&scene).is_empty());
}

#[test]
fn within_tmux_it_is_a_pane_that_closes_with_it_and_takes_no_focus() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let before = scene.tmux.run(&["list-panes", "-a", "-F", "#{pane_id} #{pane_active}"]).unwrap();
    let pane = before.split_whitespace().next().unwrap().to_owned();
    let socket = scene.tmux.socket().to_owned();
    let spawn = |name: &str| {
        let mut spawn = scene.ringer(&["spawn", "shell", "--name", name, "--", "cat"]);
        spawn.env("TMUX", format!("{socket},1,0")).env("TMUX_PANE", &pane).env("SECRET", "42");
        let output = spawn.output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        assert!(said(&output).contains("in a pane of tmux"), "{}", said(&output));
    };
    spawn("w");
    let panes = || scene.tmux.run(&["list-panes", "-a", "-F", "#{pane_id}"]).unwrap();
    assert_eq!(panes().lines().count(), before.lines().count() + 1);
    let active = scene.tmux.run(&["display-message", "-p", "#{pane_id}"]).unwrap();
    assert_eq!(active, pane, "the focus stays");
    // It has the environment of who asked for it.
    let environ = fs::read(format!("/proc/{}/environ", scene.pid("w", "process"))).unwrap();
    let has = |pair: &str| environ.split(|byte| *byte == 0).any(|one| one == pair.as_bytes());
    assert!(has("SECRET=42") && has("RINGER_MEMBER=w"));
    scene.send("w", "hello");
    scene.wait("the message", || scene.state_of("w") == "ready");
    scene.run(&["stop", "w"]);
    scene.wait("the pane to close", || panes().lines().count() == before.lines().count());
    assert!(scene.members(TEAM).is_empty());
}

#[test]
fn within_tmux_no_pane_is_split_that_has_no_room_for_two() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let pane = scene.tmux.run(&["display-message", "-p", "#{pane_id}"]).unwrap();
    let mut spawn = scene.ringer(&["spawn", "shell", "--name", "w", "--count", "5", "--", "cat"]);
    spawn.env("TMUX", format!("{},1,0", scene.tmux.socket())).env("TMUX_PANE", &pane);
    let output = spawn.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let format = "#{pane_width} #{pane_height}";
    let panes = scene.tmux.run(&["list-panes", "-a", "-F", format]).unwrap();
    assert_eq!(panes.lines().count(), 6, "{panes}");
    for line in panes.lines() {
        let sides: Vec<usize> = line.split(' ').map(|side| side.parse().unwrap()).collect();
        assert!(sides[0] >= 80 && sides[1] >= 24, "{panes}");
    }
    let active = scene.tmux.run(&["display-message", "-p", "#{pane_id}"]).unwrap();
    assert_eq!(active, pane, "the focus stays");
    scene.run(&["remove", "--all", "--team", TEAM]);
}

#[test]
fn within_zellij_it_is_a_pane_that_closes_with_it() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let zellij = Zellij::start_session(scene.world.path(), "main").unwrap();
    let mut spawn = scene.ringer(&["spawn", "shell", "--name", "w", "--", "cat"]);
    spawn.env("ZELLIJ_SESSION_NAME", zellij.session()).env("ZELLIJ_PANE_ID", "0");
    let output = spawn.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(scene.members(TEAM), ["w"]);
    let row = scene.worker_row("w").unwrap();
    assert_eq!(row["state"], "ready", "{row}");
    let host = scene.pid("w", "host");
    let parent = command("ps").args(["-o", "ppid=", "-p", &host.to_string()]).output().unwrap();
    let parent: i32 = String::from_utf8_lossy(&parent.stdout).trim().parse().unwrap();
    let name = fs::read_to_string(format!("/proc/{parent}/comm")).unwrap();
    assert_eq!(name.trim(), "zellij");
    scene.run(&["stop", "w"]);
    assert!(scene.members(TEAM).is_empty() && !runs(host));
}

#[test]
fn mistakes_are_named() {
    let scene = Scene::new();
    for (words, code, why) in [
        (vec!["nobody"], 1, "there is no profile `nobody`"),
        (vec!["shell"], 2, "the profile `shell` has no command"),
        (vec!["shell", "--in", "tmux", "--", "cat"], 1, "this is not within tmux"),
        (vec!["shell", "--cwd", "nowhere", "--", "cat"], 2, "there is no directory"),
        (vec!["shell", "--prompt", "@missing", "--", "cat"], 1, "could not read"),
        (vec!["shell", "--prompt", " ", "--", "cat"], 1, "the message is empty"),
        (vec!["shell", "--name", "a b", "--", "cat"], 1, "invalid name `a b`"),
        (vec!["shell", "--count", "0", "--", "cat"], 2, "0 is not in 1..=50"),
        (vec!["shell", "--team", "exo-rot", "--", "cat"], 1, "did you mean `exo-root`?"),
    ] {
        let output = scene.ringer(&[&["spawn"], &words[..]].concat()).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.contains(why), "{words:?}: {said}");
    }
    scene.run(&["down"]);
    assert!(scene.members(TEAM).is_empty());
}
