//! What is said between who asks for a worker and the process that is its host: a line of JSON each.
//!
//! Owns the words. The asker listens on a socket that only the user can open; the host connects to it. If either side
//! goes before the worker is on the team, the other clears everything away.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use ringer_bridge::Follows;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// A worker that somebody wants.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) profile: String,
    /// What is run.
    pub(crate) words: Vec<String>,
    pub(crate) cwd: PathBuf,
    /// The directory of the team, below `teams/`.
    pub(crate) team: String,
    pub(crate) follows: Follows,
    /// What it is to be called.
    pub(crate) name: String,
    /// That name or none.
    pub(crate) exact: bool,
    /// At most so many workers on the team.
    pub(crate) limit: usize,
    /// Whether it leads the team.
    pub(crate) leads: bool,
    /// Whether nobody is in front of it.
    pub(crate) detached: bool,
}

/// What the asker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "lowercase")]
pub(crate) enum Asker {
    /// The environment that the host is to run in.
    Environment { variables: Vec<(String, String)> },
    /// What is to be started.
    Start { order: Box<Order> },
    /// It is ready: put it on the team.
    Join,
}

/// What the host says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "lowercase")]
pub(crate) enum Teller {
    /// In which environment?
    Environment,
    /// What is to be started?
    Order,
    /// It runs.
    Started { name: String, pid: u32, socket: PathBuf },
    /// It is on the team.
    Joined,
    /// It cannot be started.
    Failed { failure: Failure },
}

/// One end of it.
pub(crate) struct Talk {
    stream: BufReader<UnixStream>,
    /// Who is at the other end.
    other: &'static str,
}

impl Talk {
    pub(crate) fn new(stream: UnixStream, other: &'static str) -> Self {
        Self { stream: BufReader::new(stream), other }
    }

    pub(crate) fn say(&mut self, what: &impl Serialize) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(what).expect("plain data always serialises");
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).map_err(|e| self.failed(&e))
    }

    /// What the other end says; an error if it is gone.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => Err(self.failed(&io::ErrorKind::UnexpectedEof.into())),
            Ok(_) => serde_json::from_str(&line).map_err(|e| self.failed(&e.into())),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn failed(&self, error: &io::Error) -> Failure {
        let what = match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "does not answer",
            _ => "is gone",
        };
        Failure::new("not_started", format!("{} {what}", self.other))
    }
}
