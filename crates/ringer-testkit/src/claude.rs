//! A real Claude Code, of any version that npm has, in a terminal of its own.
//!
//! Owns its home directory, its tmux server and its model; all of them end with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use crate::agents::{environment, settle};
use crate::model::{Model, Turn};
use crate::npm::npm_package;
use crate::process::{command, wait_for};
use crate::tmux::ended;

/// The versions whose files Ringer is checked against, oldest first: every generation of the way
/// in which teams are kept.
pub const CLAUDE_VERSIONS: [&str; 6] =
    ["2.1.39", "2.1.100", "2.1.177", "2.1.200", "2.1.270", "2.1.325"];

/// The first version that makes a team for every session.
const IMPLICIT_TEAMS: u32 = 200;

const PATIENCE: Duration = Duration::from_mins(1);

/// Its pane: the first one. It opens others for teammates.
const PANE: &str = "lead:0.0";

/// A session of Claude Code.
#[derive(Debug)]
pub struct Claude {
    version: String,
    home: PathBuf,
    work: PathBuf,
    socket: PathBuf,
    size: (u16, u16),
    variables: Vec<(String, String)>,
    model: Model,
    turns: std::cell::Cell<u32>,
}

impl Claude {
    /// Starts this version below `root` and waits for its prompt.
    pub fn start(version: &str, root: &Path) -> Result<Self> {
        Self::start_with(version, root, (160, 50), &["--dangerously-skip-permissions"], &[])
    }

    /// The same, in a terminal of so many columns and rows, with these options, and these variables for it
    /// and whatever runs beside it.
    pub fn start_with(
        version: &str,
        root: &Path,
        size: (u16, u16),
        options: &[&str],
        variables: &[(String, String)],
    ) -> Result<Self> {
        let claude = Self {
            version: version.to_owned(),
            home: root.join("home"),
            work: root.join("project"),
            socket: root.join("tmux"),
            size,
            variables: variables.to_vec(),
            model: Model::start()?,
            turns: std::cell::Cell::new(0),
        };
        settle(&claude.home, &claude.work)?;
        claude.open(options)?;
        Ok(claude)
    }

    /// Starts it in its terminal and waits for its prompt.
    fn open(&self, options: &[&str]) -> Result<()> {
        let modules = npm_package("@anthropic-ai/claude-code", &self.version)?;
        let program = modules.join(".bin/claude").display().to_string();
        let (columns, rows) = (self.size.0.to_string(), self.size.1.to_string());
        let mut arguments = ["new-session", "-d", "-s", "lead", "-x", &columns, "-y", &rows, "-c"]
            .map(str::to_owned)
            .to_vec();
        arguments.push(self.work.display().to_string());
        let teams = ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS".to_owned(), "1".to_owned());
        let environment = environment(&self.home, &self.model.url());
        let variables = self.variables.iter().cloned();
        for (name, value) in environment.into_iter().chain([teams]).chain(variables) {
            arguments.extend(["-e".to_owned(), format!("{name}={value}")]);
        }
        arguments.extend([program, "--model".into(), "claude-opus-4-6".into()]);
        arguments.extend(options.iter().map(|&option| option.to_owned()));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.tmux(&arguments)?;
        self.wait("the prompt", || self.screen().contains('❯').then_some(()))
    }

    /// Somebody leaves it with `/exit`; waits until it has ended, and its terminal with it.
    pub fn exit(&self) -> Result<()> {
        let server = self.tmux(&["display-message", "-p", "#{pid}"])?;
        self.begin("/exit", [])?;
        // That was the server's last pane. Who comes before it is gone would be sent away.
        let server = server.trim().parse()?;
        self.wait("its end", || ended(server).then_some(()))
    }

    /// Starts it anew where it was, with these options, in front of a model that knows nothing. It has to have ended.
    pub fn start_again(&mut self, options: &[&str]) -> Result<()> {
        self.model = Model::start()?;
        self.open(options)
    }

    /// Where a Claude Code below `root` has its home, before it is started.
    pub fn home_below(root: &Path) -> PathBuf {
        root.join("home")
    }

    /// Its home.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Its tmux server, in which it opens panes for teammates.
    pub fn tmux_socket(&self) -> &Path {
        &self.socket
    }

    /// Claude Code's directory.
    pub fn dir(&self) -> PathBuf {
        self.home.join(".claude")
    }

    /// Where it works.
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// The model behind it.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Lets it do these things, one after another, and waits until it is done.
    pub fn act(&self, turns: impl IntoIterator<Item = Turn>) -> Result<()> {
        self.turns.set(self.turns.get() + 1);
        let end = format!("TURN-{}-ENDS", self.turns.get());
        let turns = turns.into_iter().chain([Turn::say(&end)]);
        self.ask(&format!("turn {}", self.turns.get()), turns, &end)
    }

    /// Somebody types this prompt, and it does these things; waits until its screen has `end`.
    /// Both have to fit on a line.
    pub fn ask(
        &self,
        prompt: &str,
        turns: impl IntoIterator<Item = Turn>,
        end: &str,
    ) -> Result<()> {
        self.begin(prompt, turns)?;
        self.wait("the end of the turn", || self.screen().contains(end).then_some(()))
    }

    /// Somebody types this prompt, and it begins to do these things.
    pub fn begin(&self, prompt: &str, turns: impl IntoIterator<Item = Turn>) -> Result<()> {
        self.model.queue(turns);
        let again = std::cell::Cell::new(false);
        let typed = || {
            // What was typed before may come late, and then stands there.
            if again.replace(true) {
                self.press("C-u").ok()?;
            }
            self.tmux(&["send-keys", "-t", PANE, "-l", prompt]).ok()?;
            std::thread::sleep(Duration::from_millis(300));
            self.screen().contains(prompt).then_some(())
        };
        self.wait("the typed prompt", typed)?;
        self.tmux(&["send-keys", "-t", PANE, "Enter"])?;
        Ok(())
    }

    /// Somebody presses this key, as tmux calls it.
    pub fn press(&self, key: &str) -> Result<()> {
        self.tmux(&["send-keys", "-t", PANE, key]).map(drop)
    }

    /// The team that it leads: made with `TeamCreate` where that exists, else the session's own.
    /// `name` is what it will be called in the former case.
    pub fn team(&self, name: &str) -> Result<PathBuf> {
        let patch = self.version.rsplit('.').next().unwrap_or_default();
        if patch.parse::<u32>()? < IMPLICIT_TEAMS {
            let find = json!({"query": "select:TeamCreate,SendMessage,TaskCreate,TaskUpdate", "max_results": 9});
            let create =
                json!({"team_name": name, "description": "a test", "agent_type": "team-lead"});
            self.act([Turn::call("ToolSearch", &find), Turn::call("TeamCreate", &create)])?;
        } else {
            let find =
                json!({"query": "select:SendMessage,TaskCreate,TaskUpdate", "max_results": 9});
            self.act([Turn::call("ToolSearch", &find)])?;
        }
        let found = || {
            let teams = fs::read_dir(self.dir().join("teams")).ok()?.flatten();
            teams.map(|entry| entry.path()).find(|path| path.join("config.json").exists())
        };
        self.wait("a team", found)
    }

    /// The model sends a message with `SendMessage`, in the form that this version takes.
    pub fn send_message(&self, to: &str, text: &str, summary: &str) -> Turn {
        let input = if self.version == "2.1.39" {
            json!({"type": "message", "recipient": to, "content": text, "summary": summary})
        } else {
            json!({"to": to, "message": text, "summary": summary})
        };
        Turn::call("SendMessage", &input)
    }

    /// What is on its screen.
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", PANE]).unwrap_or_default()
    }

    /// The same, with colours: as a terminal would be told.
    pub fn coloured_screen(&self) -> Result<String> {
        self.tmux(&["capture-pane", "-epN", "-t", PANE])
    }

    fn wait<T>(&self, what: &str, condition: impl Fn() -> Option<T>) -> Result<T> {
        wait_for(what, PATIENCE, condition)
            .with_context(|| format!("Claude Code {}, screen:\n{}", self.version, self.screen()))
    }

    /// Asks its tmux server.
    pub fn tmux(&self, arguments: &[&str]) -> Result<String> {
        let output = command("tmux")
            .arg("-S")
            .arg(&self.socket)
            .args(["-f", "/dev/null"])
            .args(arguments)
            .env_remove("TMUX")
            .output()
            .context("tmux is needed for this test; `tools/setup` installs it")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Claude {
    fn drop(&mut self) {
        // It writes to its home to the very end, so that is gone only when it is.
        let pid = self.tmux(&["display-message", "-p", "-t", PANE, "#{pane_pid}"]);
        self.tmux(&["kill-server"]).ok();
        let process = Path::new("/proc").join(pid.unwrap_or_default().trim());
        let gone = || (process == Path::new("/proc/") || !process.exists()).then_some(());
        wait_for("Claude Code to end", Duration::from_secs(10), gone).ok();
    }
}
