//! The home directory of an agent, in which nobody stays behind.
//!
//! Owns the end of the agent's processes: Gemini CLI lives on without its terminal, and Claude Code
//! and Codex may leave daemons. Whoever has this home in his environment is one of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::process::end_all_with;

const HOME: &str = "HOME";

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
}

impl Drop for Home {
    fn drop(&mut self) {
        end_all_with(HOME, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Running, command, processes_with, wait_for};
    use std::time::Duration;

    #[test]
    fn nobody_stays_behind() {
        let inhabitants = |home: &Path| processes_with(HOME, home);
        let dir = tempfile::tempdir().unwrap();
        let home = Home::below(dir.path()).unwrap();
        let elsewhere = Home::below(&dir.path().join("elsewhere")).unwrap();
        let sleep = |home: &Home| {
            let mut command = command("sleep");
            command.arg("60").env("HOME", home.path());
            let running = Running::start(&mut command).unwrap();
            wait_for("it to run", Duration::from_secs(10), || inhabitants(home.path()).pop())
                .unwrap();
            running
        };
        let (_ended, _stays) = (sleep(&home), sleep(&elsewhere));
        drop(home);
        assert!(inhabitants(&dir.path().join("home")).is_empty());
        assert_eq!(inhabitants(elsewhere.path()).len(), 1);
    }
}
