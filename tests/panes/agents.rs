//! Real agents as workers: Gemini CLI in every kind of terminal, Codex, OpenCode and Claude Code, each on
//! a scripted model. What the model was given is what counts: every message once and whole, no dialog
//! answered, no command run, no file handed over.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::scene::Scene;
use crate::seat::{Kind, Program, Seat};
use ringer_testkit::{Agent, Lead, Turn, Writing, put};
use serde_json::{Value, json};

/// An agent at work, and what its model has been given.
struct Stage<'s> {
    scene: &'s Scene,
    seat: Seat<'s>,
    agent: &'s Agent,
    told: Vec<String>,
}

impl<'s> Stage<'s> {
    fn set(scene: &'s Scene, kind: Kind, profile: &'s str, agent: &'s Agent) -> Self {
        let program = agent.program.display().to_string();
        let words = [&[program], &agent.args[..]].concat();
        let (env, cwd) = (agent.env.clone(), agent.cwd.clone());
        let program = Program { name: "w", profile, words, env, cwd };
        let seat = Seat::take(scene, kind, &program);
        Self { scene, seat, agent, told: Vec::new() }
    }

    /// The lead sends this, and it will arrive as `text`.
    fn send_as(&mut self, sent: &str, text: &str) {
        self.scene.send("w", sent);
        self.told.push(format!("[message from team-lead]\n{text}"));
    }

    fn send(&mut self, text: &str) {
        self.send_as(text, text);
    }

    /// Waits until the model was given all of it, and nothing else.
    fn arrive(&self) {
        let prompts = || self.agent.model.prompts();
        let what = format!("{} prompts", self.told.len());
        self.wait(&what, || prompts().len() >= self.told.len());
        for (got, expected) in prompts().iter().zip(&self.told) {
            assert_eq!(got.trim_end(), expected.trim_end(), "{}", self.seat.screen());
        }
        assert_eq!(prompts().len(), self.told.len(), "{:?}", prompts());
    }

    fn wait_for_state(&self, state: &str) {
        self.wait(state, || self.scene.state_of("w") == state);
    }

    fn wait(&self, what: &str, condition: impl Fn() -> bool) {
        let done =
            ringer_testkit::wait_for(what, Duration::from_mins(1), || condition().then_some(()));
        if let Err(error) = done {
            let prompts = self.agent.model.prompts();
            panic!("{error}\n{}\n{prompts:?}{}", self.seat.screen(), self.scene.all());
        }
    }

    fn screen_has(&self, text: &str) {
        self.wait(text, || self.seat.screen().contains(text));
    }

    /// Nothing happens for a while: nothing more comes to the model.
    fn nothing_comes(&self) {
        let before = self.agent.model.prompts();
        thread::sleep(Duration::from_millis(1500));
        assert_eq!(self.agent.model.prompts(), before);
    }
}

/// What is asked of every agent: idle, busy, during an approval, with a draft.
fn every_agent(stage: &mut Stage<'_>, tool: &str, input: &Value, dialog: &str) {
    let made = stage.agent.cwd.join("made");
    stage.send("while idle");
    stage.arrive();

    stage.agent.model.queue([Turn::hold("a long answer")]);
    stage.send("keeps you busy");
    stage.arrive();
    stage.scene.send("w", "while busy");
    stage.wait_for_state("waiting: busy");
    stage.nothing_comes();
    stage.agent.model.release();
    stage.told.push("[message from team-lead]\nwhile busy".to_owned());
    stage.arrive();

    stage.agent.model.queue([Turn::call(tool, input)]);
    stage.send("use a tool");
    stage.screen_has(dialog);
    stage.scene.send("w", "during an approval");
    stage.wait_for_state("waiting: dialog");
    stage.nothing_comes();
    assert!(stage.seat.screen().contains(dialog), "{}", stage.seat.screen());
    assert!(!made.exists(), "the command ran");
    stage.seat.presses("Escape");
    stage.told.push("[message from team-lead]\nduring an approval".to_owned());
    stage.arrive();
    assert!(!made.exists(), "the command ran");

    stage.wait_for_state("ready");
    stage.wait("idle", || stage.scene.state_of("w") == "ready");
    thread::sleep(Duration::from_millis(700));
    stage.seat.types("half");
    stage.screen_has("half");
    stage.scene.send("w", "with a draft");
    stage.wait_for_state("waiting: draft");
    stage.nothing_comes();
    for _ in 0..4 {
        stage.seat.presses("BSpace");
    }
    stage.told.push("[message from team-lead]\nwith a draft".to_owned());
    stage.arrive();
}

#[test]
fn codex() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let agent = Agent::codex(scene.world.path()).unwrap();
    let mut stage = Stage::set(&scene, Kind::Host, "codex", &agent);
    let input = json!({"cmd": "touch made", "sandbox_permissions": "require_escalated", "justification": "May I?"});
    every_agent(&mut stage, "exec_command", &input, "Would you like to run");
}

#[test]
fn opencode() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let agent = Agent::opencode(scene.world.path()).unwrap();
    let mut stage = Stage::set(&scene, Kind::Tmux, "opencode", &agent);
    let input = json!({"command": "touch made", "description": "makes a file"});
    every_agent(&mut stage, "bash", &input, "Permission required");
}

#[test]
fn claude() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let agent = Agent::claude(scene.world.path()).unwrap();
    put(&agent.cwd.join("secret.txt"), "SECRET");
    let mut stage = Stage::set(&scene, Kind::Host, "claude", &agent);
    let input = json!({"command": "touch made", "description": "makes a file"});
    every_agent(&mut stage, "Bash", &input, "Do you want to proceed?");
    stage.send_as("look at @secret.txt please", "look at \\@secret.txt please");
    stage.arrive();
    assert!(!agent.model.saw("SECRET"), "a file was handed over");
}

fn gemini(kind: Kind) {
    let scene = Scene::new();
    let _daemon = scene.start();
    let agent = Agent::gemini(scene.world.path()).unwrap();
    put(&agent.cwd.join("secret.txt"), "SECRET");
    let mut stage = Stage::set(&scene, kind, "gemini", &agent);
    let input = json!({"command": "touch made", "description": "makes a file"});
    every_agent(&mut stage, "run_shell_command", &input, "Allow execution");
    gemini_moods(&mut stage);
    gemini_texts(&mut stage);
    let ran = fs::read_dir(&agent.cwd).unwrap().flatten().map(|entry| entry.file_name());
    let files: Vec<_> = ran.filter(|name| !name.to_string_lossy().starts_with('.')).collect();
    assert_eq!(files, ["secret.txt"], "a command ran");
    assert!(!agent.model.saw("SECRET"), "a file was inlined");
}

/// Dialogs, modes and sizes.
fn gemini_moods(stage: &mut Stage<'_>) {
    let command = |stage: &Stage<'_>, text: &str| {
        stage.seat.types(text);
        stage.screen_has(&format!("> {text}"));
        thread::sleep(Duration::from_millis(300));
        stage.seat.presses("Enter");
    };
    command(stage, "/model");
    stage.screen_has("Select Model");
    stage.scene.send("w", "in the model dialog");
    stage.wait_for_state("waiting: dialog");
    stage.nothing_comes();
    stage.seat.presses("Escape");
    stage.told.push("[message from team-lead]\nin the model dialog".to_owned());
    stage.arrive();

    stage.wait_for_state("ready");
    thread::sleep(Duration::from_millis(700));
    stage.seat.types("!");
    stage.screen_has("shell mode enabled");
    stage.scene.send("w", "touch in-shell-mode");
    stage.wait_for_state("waiting: shell mode");
    stage.nothing_comes();
    stage.seat.presses("Escape");
    stage.told.push("[message from team-lead]\ntouch in-shell-mode".to_owned());
    stage.arrive();

    stage.wait_for_state("ready");
    thread::sleep(Duration::from_millis(700));
    command(stage, "/clear");
    stage.wait("an empty screen", || !stage.seat.screen().contains("in-shell-mode"));
    stage.send("after a clear");
    stage.arrive();

    stage.seat.resize(44, 30);
    stage.send("in a narrow pane, with a line that is a good deal longer than that");
    stage.arrive();
    stage.seat.resize(160, 50);
}

/// Texts that mean something to Gemini CLI, and long ones.
fn gemini_texts(stage: &mut Stage<'_>) {
    let lines = (1..=1000).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    for text in ["/about", " /about", "!touch x", "smile 🎉 and 你好", "a\n\n\tb", &lines] {
        stage.send(text);
        stage.arrive();
    }
    stage.send_as("@secret.txt", "\\@secret.txt (end)");
    stage.send_as("see @secret.txt, and a@b.c", "see \\@secret.txt, and a\\@b.c");
    stage.send_as("out\u{1b}[201~!touch x", "out[201~!touch x");
    stage.send_as("ends in \\", "ends in \\ (end)");
    stage.arrive();
    // As Claude Code writes it: `ringer send` would put so long a text into a file.
    let text = "0123456789 ".repeat(18_000);
    let mail = [json!({"text": text, "summary": "long"})];
    let inbox = stage.scene.world.inbox(crate::scene::TEAM, "w");
    Lead::new(Writing::Rename).to(&inbox, &mail).send(&stage.scene.world).unwrap();
    stage.told.push(format!("[message from team-lead · long]\n{text}"));
    stage.arrive();
}

#[test]
fn gemini_under_ringer_run() {
    gemini(Kind::Host);
}

#[test]
fn gemini_in_tmux() {
    gemini(Kind::Tmux);
}

#[test]
fn gemini_in_zellij() {
    gemini(Kind::Zellij);
}

/// Gemini CLI is killed with a message in its prompt, and started again in the same pane.
#[test]
fn gemini_that_crashes_gets_its_mail_when_it_is_back() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let agent = Agent::gemini(scene.world.path()).unwrap();
    let stage = Stage::set(&scene, Kind::Tmux, "gemini", &agent);
    scene.tmux.run(&["set-option", "-g", "remain-on-exit", "on"]).unwrap();
    stage.screen_has("Type your message");
    let pid: i32 = stage.seat.tmux("#{pane_pid}").parse().unwrap();
    let kill = rustix::process::kill_process;
    kill(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL).unwrap();
    stage.wait("its end", || stage.seat.tmux("#{pane_dead}") == "1");
    scene.send("w", "are you back?");
    stage.wait_for_state("waiting: pane dead");
    scene.tmux.run(&["respawn-pane", "-t", stage.seat.pane()]).unwrap();
    stage.wait("the message", || !agent.model.prompts().is_empty());
    assert_eq!(agent.model.prompts(), ["[message from team-lead]\nare you back?"]);
}
