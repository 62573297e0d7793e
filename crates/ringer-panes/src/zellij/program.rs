//! The `zellij` program: how it is started, and what its complaints mean.
//!
//! Owns the only place where a `zellij` is started. It never goes through a shell, never lets the
//! session that Ringer itself runs in stand in for the one that is meant, and leaves no child behind
//! when nobody waits for it any more.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use tokio::process::Command;
use tokio::time::{Instant, timeout_at};

use crate::fault::Fault;

const ZELLIJ: &str = "zellij";
/// The first version that can address a pane.
const OLDEST: (u32, u32) = (0, 44);
/// Where sockets are, if not in the usual place.
pub(super) const SOCKET_DIR: &str = "ZELLIJ_SOCKET_DIR";

/// The program, and where it finds its sessions.
#[derive(Debug, Clone, Default)]
pub(super) struct Program {
    /// The one in `PATH`, if absent.
    file: Option<PathBuf>,
    /// Where the environment says, if absent.
    pub(super) sockets: Option<PathBuf>,
}

/// What became of a command.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It was carried out; this is what it printed.
    Done(Vec<u8>),
    /// It says that the session is not there, so it did nothing. That need not be true.
    NoSession,
    /// It failed, and said this.
    Failed(String),
    /// It had not ended in time, and was killed.
    TooLate,
}

impl Program {
    pub(super) fn new(file: PathBuf, sockets: PathBuf) -> Self {
        Self { file: Some(file), sockets: Some(sockets) }
    }

    /// A `zellij` that is killed when it is dropped, to be told what to do.
    fn command(&self) -> Command {
        let mut command = Command::new(self.file.as_deref().unwrap_or(ZELLIJ.as_ref()));
        // The session that Ringer itself was started in is not the one that is meant.
        for variable in ["ZELLIJ", "ZELLIJ_SESSION_NAME", "ZELLIJ_PANE_ID"] {
            command.env_remove(variable);
        }
        if let Some(sockets) = &self.sockets {
            command.env(SOCKET_DIR, sockets);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        command
    }

    /// A `zellij` for a session, with its socket there if not where all are. What could be taken for an
    /// option is not: the name stands in the same word.
    pub(super) fn in_session(&self, session: &str, sockets: Option<&Path>) -> Command {
        let mut command = self.command();
        if let Some(sockets) = sockets {
            command.env(SOCKET_DIR, sockets);
        }
        command.arg(format!("--session={session}"));
        command
    }

    /// Runs a command until it ends, or until the deadline.
    pub(super) async fn run(command: &mut Command, deadline: Instant) -> Result<Outcome, Fault> {
        match timeout_at(deadline, command.output()).await {
            Ok(output) => Ok(outcome(output.map_err(unusable)?)),
            Err(_) => Ok(Outcome::TooLate),
        }
    }

    /// Whether the program is there, and new enough.
    pub(super) async fn check(&self, deadline: Instant) -> Result<(), Fault> {
        let said = match Self::run(self.command().arg("--version"), deadline).await? {
            Outcome::Done(said) => one_line(&said),
            Outcome::Failed(said) => return Err(Fault::Refused { program: ZELLIJ, said }),
            Outcome::NoSession | Outcome::TooLate => return Err(refused("no answer")),
        };
        let version = said.strip_prefix("zellij ").unwrap_or(&said);
        match numbers(version) {
            Some(version) if version >= OLDEST => Ok(()),
            Some(_) => Err(Fault::TooOld { program: ZELLIJ, version: version.to_owned() }),
            None => Err(refused(&format!("it says that it is `{said}`"))),
        }
    }
}

/// A fault with these words.
pub(super) fn refused(said: &str) -> Fault {
    Fault::Refused { program: ZELLIJ, said: said.to_owned() }
}

/// Why a `zellij` could not be started.
#[expect(clippy::needless_pass_by_value, reason = "fits `map_err`")]
pub(super) fn unusable(error: io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::NotFound => Fault::NoProgram { program: ZELLIJ },
        _ => refused(&error.to_string()),
    }
}

fn outcome(output: Output) -> Outcome {
    let said = one_line(&output.stderr);
    // First of all: where there are several sessions, it reports success all the same.
    if is_no_session(&said) {
        Outcome::NoSession
    } else if output.status.success() {
        Outcome::Done(output.stdout)
    } else {
        Outcome::Failed(said)
    }
}

/// Whether this is how Zellij says that a session is not there.
pub(crate) fn is_no_session(said: &str) -> bool {
    said.starts_with("There is no active session") || said.starts_with("Session '")
}

/// What was said, on one line and not too long.
pub(super) fn one_line(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    said.trim().chars().map(plain).take(300).collect()
}

/// The first two numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for (version, good) in [
            ("0.44.0", true),
            ("0.45.1", true),
            ("0.100.0", true),
            ("1.0", true),
            ("0.43.1", false),
            ("0.9.0", false),
        ] {
            assert_eq!(
                numbers(version).is_some_and(|version| version >= OLDEST),
                good,
                "{version}"
            );
        }
        assert_eq!((numbers("nightly"), numbers("0"), numbers("")), (None, None, None));
    }

    #[test]
    fn complaints_are_understood() {
        for (said, missing) in [
            ("There is no active session!\n", true),
            ("Session 'x' not found. The following sessions are active:\nmain", true),
            ("Pane with id Terminal(9) not found", false),
            ("", false),
        ] {
            for status in [0, 0x100] {
                let (status, stderr) = (ExitStatus::from_raw(status), said.into());
                let outcome = outcome(Output { status, stdout: Vec::new(), stderr });
                assert_eq!(matches!(outcome, Outcome::NoSession), missing, "{said}");
            }
        }
    }
}
