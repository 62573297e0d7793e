//! Children of tests: started in one place, and gone when the test is.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// A command to run.
#[expect(clippy::disallowed_methods, reason = "the one place where tests start programs")]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// A child that is killed when this is dropped.
#[derive(Debug)]
pub struct Running(Option<Child>);

impl Running {
    /// Starts it with its output captured.
    pub fn start(command: &mut Command) -> Result<Self> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(Self(Some(command.spawn()?)))
    }

    /// Starts it with its input and output as the command has them.
    pub fn start_as_it_is(command: &mut Command) -> Result<Self> {
        Ok(Self(Some(command.spawn()?)))
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.0.as_ref().expect("taken only at the end").id()
    }

    /// Its input, once, if that is a pipe.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.0.as_mut().and_then(|child| child.stdin.take())
    }

    /// Its output, once, if that is a pipe.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.0.as_mut().and_then(|child| child.stdout.take())
    }

    /// Kills it with SIGKILL and waits until it is gone; whether it had ended well before.
    pub fn kill(mut self) -> Result<bool> {
        let mut child = self.0.take().expect("taken only at the end");
        let killed = child.kill();
        let status = child.wait()?;
        killed?;
        Ok(status.success())
    }

    /// Kills it with SIGKILL; what it had written by then, and how it ended.
    pub fn kill_with_output(mut self) -> Result<Output> {
        let mut child = self.0.take().expect("taken only at the end");
        child.kill().ok();
        Ok(child.wait_with_output()?)
    }

    /// Closes its input and waits for its end.
    pub fn finish(mut self) -> Result<Output> {
        let mut child = self.0.take().expect("taken only at the end");
        drop(child.stdin.take());
        Ok(child.wait_with_output()?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Waits until `condition` gives something; fails with `what` after `limit`.
pub fn wait_for<T>(what: &str, limit: Duration, condition: impl Fn() -> Option<T>) -> Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(value) = condition() {
            return Ok(value);
        }
        if Instant::now() > deadline {
            bail!("waited {limit:?} for {what}");
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The processes that have this variable in their environment, and have not ended.
pub(crate) fn processes_with(name: &str, value: &Path) -> Vec<Pid> {
    let wanted = format!("{name}={}", value.display());
    let is_one = |process: &Path| {
        // Of a process that has ended, nothing can be read any more.
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes())
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .map(|entry| entry.path())
        .filter(|process| is_one(process))
        .filter_map(|process| process.file_name()?.to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .collect()
}

/// Kills them all.
pub(crate) fn end_all_with(name: &str, value: &Path) {
    // Again and again, since they may start others meanwhile.
    let gone = || {
        let there = processes_with(name, value);
        for process in &there {
            kill_process(*process, Signal::KILL).ok();
        }
        there.is_empty().then_some(())
    };
    wait_for("everybody to end", Duration::from_secs(10), gone).ok();
}
