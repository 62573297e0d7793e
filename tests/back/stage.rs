//! A real Claude Code with Ringer's hooks in its settings, a daemon, and real Gemini CLI workers.
//!
//! Owns how they find each other: Claude Code has a home of its own, and what is Ringer's there are links
//! into the scene.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ringer_testkit::{Agent, Claude, Turn, cache_dir, put, wait_for};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::scene::{Daemon, Scene, said};
use crate::seat::{Kind, Program, Seat};

pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// What Gemini CLI calls a worker's tool.
pub(crate) const NOTIFY: &str = "mcp_ringer_notify_parent";

pub(crate) struct Stage {
    pub(crate) claude: Claude,
    _daemon: Daemon,
    /// A directory that only we can write to, and no part of whose path others can.
    pub(crate) safe: TempDir,
    pub(crate) scene: Scene,
}

impl Stage {
    /// A lead of this version, after `ringer init` with these options.
    pub(crate) fn new(version: &str, init: &[&str]) -> Self {
        let mut scene = Scene::without_team();
        let root = scene.world.path().join("lead");
        let home = Claude::home_below(&root);
        fs::create_dir_all(home.join(".local")).unwrap();
        for (ours, theirs) in
            [("claude", ".claude"), ("state", ".local/state"), (".config", ".config")]
        {
            symlink(scene.world.path().join(ours), home.join(theirs)).unwrap();
        }
        if let [first, rest @ ..] = init {
            let mut ringer = scene.ringer(&[&[*first, "--yes"], rest].concat());
            // As its user does it: with that home, and no other directory chosen.
            let output =
                ringer.env("HOME", &home).env_remove("CLAUDE_CONFIG_DIR").output().unwrap();
            assert!(output.status.success(), "{}", said(&output));
        }
        fs::create_dir_all(cache_dir()).unwrap();
        let safe = tempfile::Builder::new().prefix("run-").tempdir_in(cache_dir()).unwrap();
        let variables = [("XDG_RUNTIME_DIR".to_owned(), safe.path().display().to_string())];
        let options = ["--dangerously-skip-permissions"];
        let claude = Claude::start_with(version, &root, (160, 50), &options, &variables).unwrap();
        let team = claude.team("exo-root").unwrap();
        let config: Value =
            serde_json::from_str(&fs::read_to_string(team.join("config.json")).unwrap()).unwrap();
        config["name"].as_str().unwrap().clone_into(&mut scene.team);
        let daemon = scene.start();
        Self { claude, _daemon: daemon, safe, scene }
    }

    /// A Gemini CLI that is not started yet.
    pub(crate) fn gemini(&self, name: &str) -> Agent {
        Agent::gemini(&self.scene.world.path().join(name)).unwrap()
    }

    /// Starts it as a worker. Outside `ringer run` its user has given it our tools.
    pub(crate) fn seat(&self, kind: Kind, name: &str, agent: &Agent) -> Seat<'_> {
        let program = agent.program.display().to_string();
        let words = [&[program], &agent.args[..]].concat();
        let (mut env, cwd) = (agent.env.clone(), agent.cwd.clone());
        // Gemini CLI takes no settings from below a directory that everybody can write to.
        env.push(("XDG_RUNTIME_DIR".to_owned(), self.safe.path().display().to_string()));
        if kind != Kind::Host {
            self.give_tools(name);
        }
        let program = Program { name, profile: "gemini", words, env, cwd };
        Seat::take(&self.scene, kind, &program)
    }

    /// Says how workers of this kind are started here: as this agent, in Claude Code's environment or anybody's.
    pub(crate) fn profile(&self, kind: &str, agent: &Agent) {
        let dir = self.scene.settings_file().with_file_name("workers");
        fs::create_dir_all(&dir).unwrap();
        let command = [&[agent.program.display().to_string()], &agent.args[..]].concat();
        let env = agent.env.iter().map(|(name, value)| format!("{name} = {}\n", json!(value)));
        let text = format!("command = {}\n[env]\n{}", json!(command), env.collect::<String>());
        put(&dir.join(format!("{kind}.toml")), &text);
    }

    /// Somebody starts a worker in the lead's directory with `ringer spawn`, which says this.
    pub(crate) fn spawn(&self, words: &[&str]) -> String {
        let mut spawn = self.scene.ringer(&[&["spawn"], words].concat());
        // The worker may be one who looks at the same variable.
        spawn.env_remove("CLAUDE_CONFIG_DIR").env("RINGER_CLAUDE_DIR", self.scene.world.claude());
        spawn.env("XDG_RUNTIME_DIR", self.safe.path()).current_dir(self.claude.work());
        let output = spawn.output().unwrap();
        assert!(output.status.success(), "ringer spawn {words:?}: {}", crate::scene::said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn give_tools(&self, name: &str) {
        let file = self.scene.world.path().join(name).join("home/.gemini/settings.json");
        let mut settings: Value =
            serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let path = |path: PathBuf| path.display().to_string();
        settings["mcpServers"] = json!({"ringer": {
            "command": self.scene.ringer(&[]).get_program().to_str().unwrap(),
            "args": ["mcp", "--claude-dir", path(self.scene.world.claude()),
                     "--state-dir", path(self.scene.state())],
            "trust": true,
        }});
        put(&file, &settings.to_string());
    }

    /// Waits until something is so.
    pub(crate) fn wait(&self, what: &str, condition: impl Fn() -> bool) {
        let waited = wait_for(what, PATIENCE, || condition().then_some(()));
        if waited.is_err() {
            let (screen, end) = (self.claude.screen(), self.claude.model().end());
            let all = self.scene.all();
            panic!("waited {PATIENCE:?} for {what}\n--- lead\n{screen}--- its model\n{end}{all}");
        }
    }

    /// Waits until the lead's model was shown this; when.
    pub(crate) fn lead_sees(&self, text: &str) -> Instant {
        self.wait(&format!("the lead to see {text:?}"), || self.claude.model().saw(text));
        self.claude.model().saw_at(text).unwrap()
    }

    /// What the journal says of a message with this in it.
    pub(crate) fn message(&self, part: &str) -> Option<Value> {
        let log: Value = serde_json::from_str(&self.scene.run(&["log", "--json"])).unwrap();
        let all = log["messages"].as_array().unwrap().clone();
        all.into_iter().find(|message| message["text"].as_str().unwrap().contains(part))
    }

    /// Waits until the journal says this of a message with this in it.
    pub(crate) fn message_is(&self, part: &str, state: &str) {
        let is = || self.message(part).is_some_and(|message| message["state"] == state);
        self.wait(&format!("{part:?} to be {state}"), is);
    }

    /// The names of all members.
    pub(crate) fn members(&self) -> Vec<String> {
        let args = ["members", "--team", &self.scene.team, "--json"];
        let all: Value = serde_json::from_str(&self.scene.run(&args)).unwrap();
        let all = all["members"].as_array().unwrap();
        all.iter().map(|member| member["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// A figure for whoever reads the output of the tests, also if they succeed.
pub(crate) fn say(figure: &str) {
    let line = format!("{figure}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// The worker's model reports this.
pub(crate) fn notify(status: &str, message: &str) -> Turn {
    Turn::call(NOTIFY, &json!({"status": status, "message": message}))
}

/// The worker's model agrees to the request to shut down that it was given.
pub(crate) fn agree() -> Turn {
    Turn::React(|prompt| {
        let at = prompt.rfind("shutdown-").unwrap_or_default();
        let id: String = prompt[at..].chars().take_while(|c| !"\" \n".contains(*c)).collect();
        Turn::call("mcp_ringer_shutdown_response", &json!({"request_id": id, "approve": true}))
    })
}

/// The lead asks a member to shut down, in the form that this version takes.
pub(crate) fn ask_to_shut_down(version: &str, name: &str) -> Turn {
    let input = if version == "2.1.39" {
        json!({"type": "shutdown_request", "recipient": name, "content": "all is done"})
    } else {
        json!({"to": name, "message": {"type": "shutdown_request", "reason": "all is done"}})
    };
    Turn::call("SendMessage", &input)
}
