//! New panes, in a multiplexer that somebody works in.
//!
//! Owns how they are opened: beside the pane that asks for one, where there is room, and never in front. It goes
//! through no shell.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::address::Address;
use crate::fault::Fault;
use crate::zellij::is_no_session;

/// A pane is split only if both halves have at least so many columns and rows.
const COLUMNS: usize = 80;
const ROWS: usize = 24;

/// Zellij is asked so often, with a pause in between, before it is believed that there is no such session.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Several may be wanted at once, and how much room there is depends on the one before.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A multiplexer that somebody works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Multiplexer {
    /// A tmux server, with the pane that is worked in.
    Tmux {
        /// Its socket.
        socket: String,
        /// `%` and a number.
        pane: String,
    },
    /// A session of Zellij.
    Zellij {
        /// The session.
        session: String,
    },
}

impl Multiplexer {
    /// `tmux` or `zellij`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Tmux { .. } => "tmux",
            Self::Zellij { .. } => "zellij",
        }
    }

    /// Runs a program in a new pane, which closes with it; where that is. The focus stays where it is.
    pub fn open(&self, words: &[String], cwd: &Path) -> Result<Address, Fault> {
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        match self {
            Self::Tmux { socket, pane } => {
                let ask = "#{pane_width} #{pane_height} #{window_id}";
                let said =
                    run("tmux", tmux(socket).args(["display-message", "-p", "-t", pane, ask]))?;
                let mut said = said.split_whitespace();
                let mut side = || said.next().and_then(|side| side.parse().ok()).unwrap_or(0_usize);
                let (columns, rows) = (side(), side());
                let (how, beside): (&[&str], &str) = if columns > 2 * COLUMNS {
                    (&["split-window", "-h"], pane)
                } else if rows > 2 * ROWS {
                    (&["split-window", "-v"], pane)
                } else {
                    // A window is put behind a window: tmux takes no pane for that.
                    (&["new-window", "-a"], said.next().unwrap_or_default())
                };
                let mut command = tmux(socket);
                command.args(how).args(["-d", "-P", "-F", "#{pane_id}", "-t", beside, "-c"]);
                command.arg(cwd).arg("--").args(words);
                let pane = run("tmux", &mut command)?;
                Ok(Address::Tmux { socket: Some(socket.clone()), pane })
            }
            Self::Zellij { session } => {
                let mut command = program("zellij");
                command.arg(format!("--session={session}")).args(["action", "new-pane"]);
                command.args(["--no-focus", "--name", "", "--close-on-exit", "--cwd"]).arg(cwd);
                command.arg("--").args(words);
                let pane = patiently(|| run("zellij", &mut command))?;
                Ok(Address::Zellij { session: session.clone(), pane })
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where a pane is opened; it is waited for"
)]
fn program(name: &str) -> Command {
    Command::new(name)
}

fn tmux(socket: &str) -> Command {
    let mut command = program("tmux");
    command.arg(if socket.contains('/') { "-S" } else { "-L" }).arg(socket);
    command
}

/// Asks Zellij again if it denies a session that is there: on a busy machine it does that now and then, and has done
/// nothing.
fn patiently(mut ask: impl FnMut() -> Result<String, Fault>) -> Result<String, Fault> {
    for _ in 0..TRIES {
        match ask() {
            Err(Fault::Refused { said, .. }) if is_no_session(&said) => thread::sleep(PAUSE),
            done => return done,
        }
    }
    ask()
}

/// Runs a command until it ends; what it printed.
fn run(program: &'static str, command: &mut Command) -> Result<String, Fault> {
    let output = command.output().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Fault::NoProgram { program },
        _ => Fault::Refused { program, said: e.to_string() },
    })?;
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
    // Zellij may report success though it denies the session.
    if !output.status.success() || is_no_session(&said) {
        return Err(Fault::Refused { program, said });
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
