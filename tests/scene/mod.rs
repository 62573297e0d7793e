//! A world with a team, a tmux server with real workers in it, and a daemon in between.
//!
//! Owns what the tests of the daemon share. Whatever it waits for in vain, it shows all that is known.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ringer_testkit::{Tmux, Worker, World, command, put, wait_for, zellij_program};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub(crate) const TEAM: &str = "exo-root";
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Enter follows at once, and what cannot be delivered is tried again soon.
pub(crate) const QUICK: &str =
    "[delivery]\nsettle_ms = 0\nretry_max_ms = 200\n[watch]\npoll_ms = 100\n";

pub(crate) struct Scene {
    pub(crate) world: World,
    /// The team that everybody is on.
    pub(crate) team: String,
    pub(crate) tmux: Tmux,
    /// What commands are started with: nothing, or a program that starts them elsewhere.
    pub(crate) prefix: Vec<String>,
}

impl Scene {
    /// A team with its lead, settings for quick tests, and a tmux server.
    pub(crate) fn new() -> Self {
        let scene = Self::without_team();
        scene.world.team(TEAM);
        scene
    }

    /// The same, but somebody else makes the team.
    pub(crate) fn without_team() -> Self {
        let world = World::new(env!("CARGO_BIN_EXE_ringer"));
        let tmux = Tmux::start(world.path()).unwrap();
        let scene = Self { world, team: TEAM.to_owned(), tmux, prefix: Vec::new() };
        scene.settings(QUICK);
        scene
    }

    /// Where the settings are.
    pub(crate) fn settings_file(&self) -> PathBuf {
        self.world.path().join(".config/ringer/config.toml")
    }

    /// Writes the settings.
    pub(crate) fn settings(&self, text: &str) {
        fs::create_dir_all(self.settings_file().parent().unwrap()).unwrap();
        put(&self.settings_file(), text);
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.world.path().join("state/ringer")
    }

    /// The program under test.
    pub(crate) fn ringer(&self, arguments: &[&str]) -> Command {
        let mut ringer = self.world.ringer();
        // To find tmux and Zellij.
        ringer.args(arguments).env("PATH", search_path());
        ringer.env("ZELLIJ_SOCKET_DIR", self.world.path().join("z"));
        within(&self.prefix, &ringer)
    }

    /// Runs the program under test, which succeeds; what it printed.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = self.ringer(arguments).output().unwrap();
        assert!(output.status.success(), "ringer {arguments:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts a worker in a new pane.
    pub(crate) fn open(&self, name: &str) -> Worker {
        Worker::open(&self.world, &self.tmux, name, &[]).unwrap()
    }

    /// Puts a worker on the team, in its pane.
    pub(crate) fn register(&self, worker: &Worker) {
        let pane = worker.address(&self.tmux);
        self.run(&["register", &worker.name, "--team", &self.team, "--pane", &pane]);
    }

    /// Starts a worker in a new pane and puts it on the team.
    pub(crate) fn worker(&self, name: &str) -> Worker {
        let worker = self.open(name);
        self.register(&worker);
        worker
    }

    /// Makes a worker's pane take nothing. The daemon has to be connected, so something has to have
    /// been delivered: when a pane's mode changes just while somebody attaches in control mode, tmux
    /// up to 3.6a crashes (tmux/tmux#4980).
    pub(crate) fn block(&self, worker: &Worker) {
        self.tmux.run(&["copy-mode", "-t", &worker.pane]).unwrap();
    }

    /// Lets it take something again.
    pub(crate) fn unblock(&self, worker: &Worker) {
        self.tmux.run(&["send-keys", "-t", &worker.pane, "-X", "cancel"]).unwrap();
    }

    /// As the lead does.
    pub(crate) fn send(&self, to: &str, text: &str) {
        let mut send = self.ringer(&["send", "--team", &self.team, "--to", to, "-"]);
        let mut send = ringer_testkit::Running::start(&mut send).unwrap();
        send.stdin().unwrap().write_all(text.as_bytes()).unwrap();
        let output = send.finish().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }

    /// Waits until a worker has got as many messages, and sees that they are these.
    pub(crate) fn arrive(&self, worker: &Worker, texts: &[&str]) {
        let expected: Vec<String> =
            texts.iter().map(|text| format!("[message from team-lead]\n{text}")).collect();
        self.wait(&format!("{texts:?} for {}", worker.name), || {
            let got = worker.texts();
            assert!(got.len() <= expected.len(), "{got:?} instead of {texts:?}{}", self.all());
            got.len() == expected.len()
        });
        assert_eq!(worker.texts(), expected, "{}", self.all());
    }

    /// What `ringer status --json` says.
    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.run(&["status", "--json"])).unwrap()
    }

    /// What it says of a member, as `state: reason`.
    pub(crate) fn state_of(&self, name: &str) -> String {
        let status = self.status();
        let members = status["members"].as_array().unwrap();
        let member = members.iter().find(|member| member["name"] == name).unwrap();
        let word = |key: &str| member[key].as_str().map(str::to_owned);
        let state = word("state").unwrap();
        word("reason").map_or(state.clone(), |reason| format!("{state}: {reason}"))
    }

    /// Waits until something is so.
    pub(crate) fn wait(&self, what: &str, condition: impl Fn() -> bool) {
        let waited = wait_for(what, PATIENCE, || condition().then_some(()));
        assert!(waited.is_ok(), "waited {PATIENCE:?} for {what}{}", self.all());
    }

    /// Starts the daemon and waits until it is ready.
    pub(crate) fn start(&self) -> Daemon {
        let daemon = self.begin(&mut self.ringer(&["daemon"]));
        self.wait("the daemon to be ready", || {
            self.ringer(&["status", "--json"]).output().is_ok_and(|output| {
                let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
                status["ready"] == true && status["pid"] == daemon.0.id()
            })
        });
        daemon
    }

    /// Starts a daemon.
    pub(crate) fn begin(&self, daemon: &mut Command) -> Daemon {
        let log = OpenOptions::new().create(true).append(true).open(self.log_file()).unwrap();
        Daemon(daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    fn log_file(&self) -> PathBuf {
        self.world.path().join("daemon.log")
    }

    /// What the daemons said so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// All that is known, for somebody who wonders why a test failed.
    pub(crate) fn all(&self) -> String {
        let told = |verb: &str| said(&self.ringer(&[verb]).output().unwrap());
        let (log, status, journal) = (self.log(), told("status"), told("log"));
        format!("\n--- log\n{log}--- ringer status\n{status}--- ringer log\n{journal}")
    }
}

/// Where programs are, with the Zellij that the tests have installed.
fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(dir) = zellij_program().parent() {
        path.push(":");
        path.push(dir);
    }
    path
}

/// A daemon that ends with the test.
pub(crate) struct Daemon(pub(crate) Child);

impl Daemon {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Asks it to end; how it did, and after how long.
    pub(crate) fn stop(mut self) -> (ExitStatus, Duration) {
        let asked = Instant::now();
        self.signal(Signal::TERM);
        (self.0.wait().unwrap(), asked.elapsed())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Gently at first: a tmux that is killed together with who is attached to it never ends.
        kill_process(Pid::from_child(&self.0), Signal::TERM).ok();
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_secs(3) && matches!(self.0.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The same command, started by another program that does something before.
pub(crate) fn within(prefix: &[String], inner: &Command) -> Command {
    let mut outer = match prefix {
        [] => command(inner.get_program()),
        [program, arguments @ ..] => {
            let mut outer = command(program);
            outer.args(arguments).arg(inner.get_program());
            outer
        }
    };
    outer.args(inner.get_args()).env_clear();
    outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(dir) = inner.get_current_dir() {
        outer.current_dir(dir);
    }
    outer
}

/// All that a program printed.
pub(crate) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}
