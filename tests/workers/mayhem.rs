//! Ten at once, and everything killed in turn: nobody stays behind, and no message is lost.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::thread;
use std::time::Instant;

use ringer_testkit::{Agent, Model, Turn, Zellij, cache_dir, receiver_program, wait_for};
use rustix::process::Signal;
use serde_json::json;

use crate::books::Lead;
use crate::census::{Somebody, processes, signal};
use crate::files_left;
use crate::scene::{Daemon, PATIENCE, Scene, TEAM, said};

const WORKERS: usize = 10;

/// Where workers run.
#[derive(Debug)]
enum Place {
    Background,
    Tmux,
    Zellij(Zellij),
}

impl Place {
    fn zellij(scene: &Scene) -> Self {
        Self::Zellij(Zellij::start_session(scene.world.path(), "main").unwrap())
    }

    /// The environment of somebody who works there.
    fn surroundings(&self, scene: &Scene) -> Vec<(&'static str, String)> {
        match self {
            Self::Background => Vec::new(),
            Self::Tmux => {
                let pane = scene.tmux.run(&["display-message", "-p", "#{pane_id}"]).unwrap();
                vec![("TMUX", format!("{},1,0", scene.tmux.socket())), ("TMUX_PANE", pane)]
            }
            Self::Zellij(zellij) => {
                let session = zellij.session().to_owned();
                vec![("ZELLIJ_SESSION_NAME", session), ("ZELLIJ_PANE_ID", "0".to_owned())]
            }
        }
    }

    /// Kills the servers of all terminals.
    fn raze(&self, scene: &Scene) {
        let tmux = scene.tmux.run(&["display-message", "-p", "#{pid}"]).unwrap();
        signal(&[tmux.parse().unwrap()], Signal::KILL);
        if let Self::Zellij(zellij) = self {
            zellij.kill().unwrap();
        }
    }
}

/// Waits until these are on the team, and no process of anybody else is left.
fn only_these_are_left(scene: &Scene, names: &[String]) {
    scene.wait("the others to be off the team", || {
        let mut members = scene.members(TEAM);
        members.sort_by_key(|name| (name.len(), name.clone()));
        members == names
    });
    let is_left = |one: &Somebody| {
        let worker = one.variable("RINGER_MEMBER").filter(|_| one.is_of(scene));
        worker.is_some_and(|worker| !names.iter().any(|name| name == worker))
    };
    scene.wait("the others to end", || !Somebody::all().iter().any(is_left));
    let waited = wait_for("their files to go", PATIENCE, || {
        (files_left(scene).len() <= names.len()).then_some(())
    });
    assert!(waited.is_ok(), "{:?}{}", files_left(scene), scene.all());
}

/// Mail waits for workers that do not listen any more.
fn stop_listening(scene: &Scene, lead: &Lead, names: &[String]) {
    for name in names {
        // Not ours: nobody could have what one of those has locked.
        signal(&processes(scene, name, false), Signal::STOP);
    }
    write_in_vain(scene, lead, names);
}

fn write_in_vain(scene: &Scene, lead: &Lead, names: &[String]) {
    for name in names {
        for number in ["first", "second"] {
            lead.send(name, &format!("{number} words for {name}, which does not listen."));
        }
    }
    for name in names {
        scene.wait("mail to wait", || scene.state_of(name).starts_with("waiting"));
    }
}

/// Three workers are killed, each in another way.
fn kill_three(scene: &Scene, victims: &[String]) {
    let [worker, host, whole] = victims else { panic!("there are three ways") };
    signal(&[scene.pid(worker, "process")], Signal::KILL);
    signal(&[scene.pid(host, "host")], Signal::KILL);
    signal(
        &[&[scene.pid(whole, "host")], &processes(scene, whole, true)[..]].concat(),
        Signal::KILL,
    );
}

/// Kills the first three workers, the daemon, and the servers of all terminals. `write` sends more mail in between.
fn rage(
    scene: &Scene,
    place: &Place,
    lead: &Lead,
    daemon: Daemon,
    write: &dyn Fn(),
) -> (Daemon, Vec<String>) {
    let (victims, others) = lead.workers.split_at(3);
    kill_three(scene, victims);
    // At once: it may be about to clear away after them.
    daemon.signal(Signal::KILL);
    drop(daemon);
    write();
    let daemon = scene.start();
    only_these_are_left(scene, others);
    write();
    place.raze(scene);
    let left = if matches!(place, Place::Background) { others.to_vec() } else { Vec::new() };
    only_these_are_left(scene, &left);
    write();
    for name in &left {
        lead.send(name, &format!("are you still there, {name}?"));
    }
    (daemon, left)
}

/// Starts ten workers; their names.
fn spawn(scene: &Scene, spawn: &mut Command) -> Vec<String> {
    let output = spawn.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let mut names = scene.members(TEAM);
    names.sort_by_key(|name| (name.len(), name.clone()));
    assert_eq!(names.len(), WORKERS, "{}", said(&output));
    names
}

fn config(scene: &Scene) -> String {
    fs::read_to_string(scene.world.team_dir(TEAM).join("config.json")).unwrap()
}

/// The rest are asked to end. Nothing is left of anybody, and the team is as it was.
fn finish(scene: &Scene, daemon: Daemon, before: &str) {
    scene.run(&["finish", "--team", TEAM]);
    assert_eq!(config(scene), before);
    only_these_are_left(scene, &[]);
    scene.wait("an empty roster", || scene.roster() == json!({"members": []}));
    drop(daemon);
    let is_left = |one: &Somebody| one.is_of(scene);
    scene.wait("everybody to be gone", || !Somebody::all().iter().any(is_left));
}

/// Ten programs that read lines, each with a child that does not want to end.
fn ten_shells(place: impl FnOnce(&Scene) -> Place) {
    const SCRIPT: &str =
        "(trap '' HUP TERM; exec sleep 1000) & exec \"$0\" \"$1/$RINGER_MEMBER.got\"";
    let scene = Scene::new();
    let (place, before) = (place(&scene), config(&scene));
    let daemon = scene.start();
    let mut command = scene.ringer(&["spawn", "shell", "--count", "10", "--", "sh", "-c", SCRIPT]);
    command.arg(receiver_program()).arg(scene.world.path()).envs(place.surroundings(&scene));
    let names = spawn(&scene, &mut command);

    let lead = Lead::of(&scene, &names);
    lead.write();
    scene.wait("all to have it", || names.iter().all(|name| scene.texts(name).len() == 1));
    let (daemon, left) = thread::scope(|scope| {
        scope.spawn(|| lead.keep_writing());
        // However that ends, nobody writes any more then.
        let _pen = Pen(&lead);
        stop_listening(&scene, &lead, &names[..3]);
        rage(&scene, &place, &lead, daemon, &|| lead.wait_for_mail(&scene))
    });
    let books = lead.settle(&scene, &|name| scene.texts(name), &left);
    say(&books.to_string());
    assert!(books.returned >= 6, "two messages to each of the three");
    drop(place);
    finish(&scene, daemon, &before);
}

/// What the lead writes with; it is put down when this is dropped.
struct Pen<'l>(&'l Lead);

impl Drop for Pen<'_> {
    fn drop(&mut self) {
        self.0.stop_writing();
    }
}

/// The model does what it is told, and agrees to everything.
fn obey(prompt: &str) -> Turn {
    let last = prompt.lines().last().unwrap_or_default();
    match prompt.rfind("shutdown-") {
        Some(at) => {
            let id: String = prompt[at..].chars().take_while(|c| !"\" \n".contains(*c)).collect();
            let input = json!({"request_id": id, "approve": true});
            Turn::call("mcp_ringer_shutdown_response", &input)
        }
        None if last.starts_with("think") => Turn::hold(&format!("I think of {last}")),
        None => Turn::say(&format!("I have done {last}")),
    }
}

/// Ten real Gemini CLIs, with one home and one model.
fn ten_geminis(place: impl FnOnce(&Scene) -> Place) {
    let scene = Scene::new();
    let (place, before) = (place(&scene), config(&scene));
    let daemon = scene.start();
    let agent = Agent::gemini(&scene.world.path().join("gemini")).unwrap();
    let model = &agent.model;
    model.queue((0..1000).map(|_| Turn::React(obey)));
    // It takes no settings from below a directory that everybody can write to.
    fs::create_dir_all(cache_dir()).unwrap();
    let safe = tempfile::Builder::new().prefix("run-").tempdir_in(cache_dir()).unwrap();
    let bin = scene.world.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(&agent.program, bin.join("gemini")).unwrap();
    let mut command = scene.ringer(&["spawn", "gemini", "--team", TEAM, "--count", "10"]);
    let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
    let path = format!("{}:{}", bin.display(), path.unwrap().display());
    command.args(["--timeout", "180", "--cwd"]).arg(&agent.cwd);
    command.arg("--config").arg(scene.settings_file()).arg("--").args(&agent.args);
    command.envs(agent.env.clone()).env("XDG_RUNTIME_DIR", safe.path()).env("PATH", path);
    let begun = Instant::now();
    let names = spawn(&scene, command.envs(place.surroundings(&scene)));
    say(&format!("{} Gemini CLIs were ready after {:.0?}", names.len(), begun.elapsed()));

    let lead = Lead::of(&scene, &names);
    let answers = |text: String| scene.told(TEAM).iter().any(|told| told.contains(&text));
    lead.write();
    let answer = |name: &String| answers(format!("I have done round 0 for {name}."));
    scene.wait("all to answer", || names.iter().all(answer));
    say(&format!("all had answered after {:.0?}", begun.elapsed()));
    be_lost_in_thought(&scene, &lead, model, &names[..3]);
    let (daemon, left) = rage(&scene, &place, &lead, daemon, &|| lead.write());
    let books = lead.settle(&scene, &|name| lead.seen(name, |text| model.saw(text)), &left);
    say(&format!("{books}, after {:.0?}", begun.elapsed()));
    assert!(books.returned >= 6, "two messages to each of the three");
    let answer = |name: &String| answers(format!("I have done are you still there, {name}?"));
    scene.wait("those who are left to answer", || left.iter().all(answer));
    drop(place);
    finish(&scene, daemon, &before);
    let files: Vec<_> = fs::read_dir(safe.path().join("ringer")).unwrap().flatten().collect();
    assert!(files.is_empty(), "{files:?}");
    let said = fs::read_to_string(scene.state().join("said.json")).unwrap();
    assert_eq!(said.trim(), "{}", "nobody is remembered");
    say(&format!("all was over after {:.0?}", begun.elapsed()));
}

/// Mail waits for workers that are in the middle of a turn, and some was handed over to them there.
fn be_lost_in_thought(scene: &Scene, lead: &Lead, model: &Model, names: &[String]) {
    let thought = |name: &String, what: &str| format!("think of {what}, {name}.");
    for name in names {
        lead.send(name, &thought(name, "this"));
    }
    scene.wait("thoughts", || names.iter().all(|name| model.saw(&thought(name, "this"))));
    for name in names {
        lead.send(name, &thought(name, "that"));
        scene.wait("it to be busy", || scene.state_of(name) == "waiting: busy");
    }
    model.release();
    scene.wait("other thoughts", || names.iter().all(|name| model.saw(&thought(name, "that"))));
    write_in_vain(scene, lead, names);
}

/// A figure for whoever reads the output of the tests, also if they succeed.
fn say(figure: &str) {
    std::io::stderr().write_all(format!("{figure}\n").as_bytes()).unwrap();
}

#[test]
fn ten_programs_in_the_background_and_everything_killed_in_turn() {
    ten_shells(|_| Place::Background);
}

#[test]
fn ten_programs_in_tmux_and_everything_killed_in_turn() {
    ten_shells(|_| Place::Tmux);
}

#[test]
fn ten_programs_in_zellij_and_everything_killed_in_turn() {
    ten_shells(Place::zellij);
}

#[test]
fn ten_gemini_clis_in_the_background_and_everything_killed_in_turn() {
    ten_geminis(|_| Place::Background);
}

#[test]
fn ten_gemini_clis_in_tmux_and_everything_killed_in_turn() {
    ten_geminis(|_| Place::Tmux);
}

#[test]
fn ten_gemini_clis_in_zellij_and_everything_killed_in_turn() {
    ten_geminis(Place::zellij);
}
