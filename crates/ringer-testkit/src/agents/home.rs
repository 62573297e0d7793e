//! The home directory of an agent, in which nobody stays behind.
//!
//! Owns the end of the agent's processes: Gemini CLI lives on without its terminal, and Claude Code
//! and Codex may leave daemons. Whoever has this home in his environment is one of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process};

use crate::process::wait_for;

/// A home directory. Dropping it ends everyone who lives there.
#[derive(Debug)]
pub(super) struct Home(PathBuf);

impl Home {
    /// Makes one below `root`.
    pub(super) fn below(root: &Path) -> Result<Self> {
        let home = root.join("home");
        fs::create_dir_all(&home)?;
        Ok(Self(home))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The processes of those who live there and have not ended yet.
    fn inhabitants(&self) -> Vec<Pid> {
        let wanted = format!("HOME={}", self.0.display());
        let lives_here = |process: &Path| {
            // Of a process that has ended, nothing can be read any more.
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes())
        };
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        processes
            .map(|entry| entry.path())
            .filter(|process| lives_here(process))
            .filter_map(|process| process.file_name()?.to_str()?.parse().ok())
            .filter_map(Pid::from_raw)
            .collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Again and again, since they may start others meanwhile.
        let empty = || {
            let there = self.inhabitants();
            for process in &there {
                kill_process(*process, Signal::KILL).ok();
            }
            there.is_empty().then_some(())
        };
        wait_for("an agent to end", Duration::from_secs(10), empty).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Running, command};

    #[test]
    fn nobody_stays_behind() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::below(dir.path()).unwrap();
        let elsewhere = Home::below(&dir.path().join("elsewhere")).unwrap();
        let sleep = |home: &Home| {
            let mut command = command("sleep");
            command.arg("60").env("HOME", home.path());
            let running = Running::start(&mut command).unwrap();
            wait_for("it to run", Duration::from_secs(10), || home.inhabitants().pop()).unwrap();
            running
        };
        let (_ended, _stays) = (sleep(&home), sleep(&elsewhere));
        drop(home);
        assert!(Home(dir.path().join("home")).inhabitants().is_empty());
        assert_eq!(elsewhere.inhabitants().len(), 1);
    }
}
