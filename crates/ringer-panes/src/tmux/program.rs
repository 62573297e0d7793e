//! The tmux program: how it is started, and what its complaints mean.
//!
//! Owns the only place where this crate starts a process. It never starts a server, and never goes
//! through a shell.

use std::process::Stdio;

use tokio::process::Command;

use crate::fault::Fault;

const TMUX: &str = "tmux";

/// The program, for the server on one socket.
#[derive(Debug, Clone)]
pub(super) struct Program {
    socket: Option<String>,
}

impl Program {
    pub(super) fn new(socket: Option<String>) -> Self {
        Self { socket }
    }

    /// A tmux that is killed when it is dropped, to be told what to do.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(TMUX);
        // UTF-8 whatever the daemon's locale is, or every letter that is not ASCII is read as `_`.
        command.args(["-u", "-N"]);
        match &self.socket {
            Some(path) if path.contains('/') => command.args(["-S", path]),
            Some(name) => command.args(["-L", name]),
            None => &mut command,
        };
        // The server that Ringer itself was started in is not the one that is meant.
        command.env_remove("TMUX").env_remove("TMUX_PANE");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        command
    }

    /// Why a tmux could not be started or talked to.
    pub(super) fn unusable(error: &std::io::Error) -> Fault {
        match error.kind() {
            std::io::ErrorKind::NotFound => Fault::NoProgram { program: TMUX },
            _ => Fault::Refused { program: TMUX, said: error.to_string() },
        }
    }

    /// What it means that tmux says this.
    pub(super) fn fault(&self, said: &str, pane: &str) -> Fault {
        let said: String =
            said.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let has = |text| said.contains(text);
        if has("can't find pane") || has("can't find window") {
            return Fault::Gone { pane: pane.to_owned() };
        }
        let denied = has("denied") || has("not permitted");
        let lost = has("no server running") || has("error connecting to");
        let ended = has("lost server") || has("server exited") || has("no sessions");
        if (lost || ended) && !denied {
            let socket = socket_name(self.socket.as_deref());
            return Fault::NoServer { server: format!("the tmux server on socket `{socket}`") };
        }
        Fault::Refused { program: TMUX, said }
    }
}

/// What a socket is called before the user.
pub(super) fn socket_name(socket: Option<&str>) -> &str {
    socket.unwrap_or("default")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_understood() {
        for (said, reason) in [
            ("can't find pane: %99", "pane gone"),
            ("no server running on /tmp/tmux-0/default\n", "no server"),
            ("error connecting to /tmp/x (No such file or directory)", "no server"),
            ("error connecting to /tmp/x (Permission denied)", "refused"),
            ("server exited unexpectedly", "no server"),
            ("unknown command: paste-buffer", "refused"),
        ] {
            assert_eq!(Program::new(None).fault(said, "%1").reason(), reason, "{said}");
        }
    }
}
