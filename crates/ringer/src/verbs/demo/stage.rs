//! What the demo runs: a daemon, and a tmux server with a worker in it.
//!
//! Owns both; they end with it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ringer_bridge::daemon::Client;
use ringer_bridge::{Filter, Journal, State, StateDir};
use ringer_panes::Address;
use ringer_teams::Mailbox;

use crate::failure::Failure;
use crate::program::program;

const PATIENCE: Duration = Duration::from_secs(10);

/// A daemon and a worker.
pub(super) struct Stage {
    daemon: Child,
    tmux: PathBuf,
}

impl Stage {
    /// Starts both below `world`, or says what is missing.
    pub(super) fn set(world: &Path) -> Result<Self, String> {
        let tmux = world.join("tmux");
        // A worker that does nothing with what it gets; the terminal shows it.
        let mut worker = command(&tmux);
        worker.args(["new-session", "-d", "-x", "80", "-y", "8", "exec cat > /dev/null"]);
        let started = worker.output().map_err(|_| "tmux is not installed".to_owned())?;
        if !started.status.success() {
            let said = String::from_utf8_lossy(&started.stderr).trim().to_owned();
            return Err(format!("tmux does not start: {said}"));
        }
        let ringer = std::env::current_exe().map_err(|e| e.to_string())?;
        let daemon = program(ringer)
            .arg("daemon")
            .arg("--claude-dir")
            .arg(world)
            .arg("--state-dir")
            .arg(world.join("ringer"))
            .env("XDG_CONFIG_HOME", world)
            .env_remove("XDG_RUNTIME_DIR")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match daemon {
            Ok(daemon) => Ok(Self { daemon, tmux }),
            Err(e) => {
                command(&tmux).arg("kill-server").output().ok();
                Err(format!("the daemon does not start: {e}"))
            }
        }
    }

    /// Where the worker is.
    pub(super) fn pane(&self) -> Address {
        Address::Tmux { socket: Some(self.tmux.display().to_string()), pane: "%0".to_owned() }
    }

    /// What the worker shows.
    pub(super) fn screen(&self) -> String {
        let shown = command(&self.tmux).args(["-u", "capture-pane", "-p", "-t", "%0"]).output();
        let text = shown.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.unwrap_or_default().trim_end().to_owned()
    }

    pub(super) fn wait_until_ready(&self, state: &StateDir) -> Result<(), Failure> {
        wait("the daemon", || {
            let status = Client::connect(state).and_then(|mut client| client.status()).ok()?;
            (status.ready && !status.members.is_empty()).then_some(())
        })
    }

    /// Waits until the first message is delivered, and read in the inbox; how long it took to be
    /// typed.
    pub(super) fn wait_until_delivered(
        &self,
        state: &StateDir,
        inbox: &Mailbox,
    ) -> Result<String, Failure> {
        let filter = Filter { state: Some(State::Delivered), ..Filter::default() };
        wait("the delivery", || {
            (inbox.read().ok()?.unread() == 0).then_some(())?;
            let journal = Journal::open_existing(state).ok()??;
            let message = journal.messages(&filter).ok()?.pop()?;
            let micros = message.read_us? + message.queued_us? + message.typed_us?;
            Some(format!("{} ms", micros / 1000))
        })
    }
}

fn wait<T>(what: &str, condition: impl Fn() -> Option<T>) -> Result<T, Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = condition() {
            return Ok(value);
        }
        if Instant::now() > deadline {
            return Err(Failure::new("internal_error", format!("{what} did not come in time")));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn command(socket: &Path) -> Command {
    let mut tmux = program("tmux");
    tmux.arg("-S").arg(socket).args(["-f", "/dev/null"]).env_remove("TMUX").stdin(Stdio::null());
    tmux
}

impl Drop for Stage {
    fn drop(&mut self) {
        command(&self.tmux).arg("kill-server").output().ok();
        self.daemon.kill().ok();
        self.daemon.wait().ok();
    }
}
