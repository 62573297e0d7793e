//! A real tmux server of a test's own, with workers in its windows.
//!
//! Owns one server on a socket of its own; it never sees the user's.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::process::{command, wait_for};

const PATIENCE: Duration = Duration::from_secs(10);

/// A tmux server that ends with the test.
#[derive(Debug)]
pub struct Tmux {
    socket: PathBuf,
    /// The server's process, if it runs.
    pid: Cell<Option<i32>>,
}

impl Tmux {
    /// Starts one with its socket in this directory.
    pub fn start(dir: &Path) -> Result<Self> {
        let tmux = Self { socket: dir.join("tmux"), pid: Cell::new(None) };
        tmux.restart()?;
        Ok(tmux)
    }

    /// Starts it again after [`Self::kill`], on the same socket. No pane is as it was.
    pub fn restart(&self) -> Result<()> {
        self.kill()?;
        // A first window that stays, so that the server does when the workers end.
        self.run(&["new-session", "-d", "-s", "main", "-x", "200", "-y", "50", "cat"])?;
        self.pid.set(Some(self.run(&["display-message", "-p", "#{pid}"])?.parse()?));
        Ok(())
    }

    /// The path of its socket.
    pub fn socket(&self) -> &str {
        self.socket.to_str().expect("temporary directories have plain names")
    }

    /// Runs a tmux command; what it printed, without the last newline.
    pub fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = command("tmux")
            .arg("-S")
            .arg(&self.socket)
            .args(["-f", "/dev/null", "-u"])
            .args(arguments)
            .env_remove("TMUX")
            .output()
            .context("tmux is needed for this test; `tools/setup` installs it")?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "tmux {arguments:?}: {stderr}");
        Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
    }

    /// Opens a window of 200×50 in which this program runs, with no shell around it; its pane.
    pub fn worker(&self, program: &[&str]) -> Result<String> {
        let mut arguments = vec!["new-window", "-d", "-P", "-F", "#{pane_id}", "--"];
        if program.len() == 1 {
            // A single argument would be given to a shell.
            arguments.push("env");
        }
        arguments.extend(program);
        self.run(&arguments)
    }

    /// What is visible in a pane.
    pub fn screen(&self, pane: &str) -> Result<String> {
        self.run(&["capture-pane", "-p", "-t", pane])
    }

    /// Stops the server in its tracks, so that it answers nobody.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Ends the server and everything in it, and waits until it is gone.
    pub fn kill(&self) -> Result<()> {
        let Some(pid) = self.pid.get() else { return Ok(()) };
        // By signal: the socket may have been removed with its directory, and a stopped server takes
        // no command.
        self.signal(Signal::TERM).ok();
        self.resume().ok();
        if wait_for("tmux to end", PATIENCE / 5, || ended(pid).then_some(())).is_err() {
            // It waits for clients that cannot go.
            self.signal(Signal::KILL).ok();
            wait_for("tmux to end", PATIENCE, || ended(pid).then_some(()))?;
        }
        self.pid.set(None);
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self.pid.get().and_then(Pid::from_raw).context("the server does not run")?;
        Ok(kill_process(pid, signal)?)
    }
}

/// In a container nobody may be there to bury it: a zombie has ended too.
pub(crate) fn ended(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.starts_with(" Z"))
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.kill().ok();
    }
}
