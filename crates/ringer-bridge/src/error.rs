//! What can go wrong on our own side of the bridge.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something about Claude Code's files.
    #[error(transparent)]
    Teams(#[from] ringer_teams::Error),
    /// Too much of something.
    #[error("{what}; the next is possible in {wait}", wait = soon(*wait))]
    RateLimit {
        /// What there was too much of.
        what: String,
        /// How long to wait.
        wait: Duration,
    },
    /// A file of our own that somebody broke.
    #[error("`{path}` is not a file of Ringer's any more", path = path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A mistake in the settings.
    #[error("`{path}` is not understood: {why}", path = path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The journal could not be read or written.
    #[error("could not use the journal `{path}`", path = path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A journal that a newer Ringer has written.
    #[error(
        "`{path}` has version {version}; this Ringer knows up to {known}",
        path = path.display()
    )]
    NewerJournal {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: usize,
        /// The newest one known here.
        known: usize,
    },
    /// There is a daemon for this state directory already.
    #[error(
        "a daemon runs already{who}: it holds `{path}`",
        who = pid.map(|pid| format!(", process {pid}")).unwrap_or_default(),
        path = path.display()
    )]
    AlreadyRunning {
        /// What it holds.
        path: PathBuf,
        /// Its process, if it has said so.
        pid: Option<u32>,
    },
    /// There is no daemon for this state directory.
    #[error("the daemon is not running")]
    NotRunning,
    /// The daemon is there and does not answer as it should.
    #[error("the daemon does not answer on `{path}`", path = path.display())]
    NoAnswer {
        /// Its socket.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// A path that a socket cannot have.
    #[error("`{path}` is too long for a socket", path = path.display())]
    LongPath {
        /// The path.
        path: PathBuf,
    },
    /// Nobody asked that, or it was answered.
    #[error("no request `{id}` waits for an answer")]
    NoRequest {
        /// The id that was given.
        id: String,
        /// Those that do wait.
        open: Vec<String>,
    },
    /// No more workers are wanted on the team.
    #[error("team `{team}` has {there} of at most {limit} workers: {wanted} more is too many")]
    TooManyWorkers {
        /// The team.
        team: String,
        /// How many there are.
        there: usize,
        /// How many more were wanted.
        wanted: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// Another Ringer does not let go of a file of ours.
    #[error("`{path}` is held by another Ringer that does not go on", path = path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
}

impl Error {
    /// The stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Teams(error) => error.code(),
            Self::RateLimit { .. } => "rate_limit",
            Self::AlreadyRunning { .. } => "already_running",
            Self::NotRunning => "not_running",
            Self::NoAnswer { .. } => "no_answer",
            Self::LongPath { .. } => "invalid_path",
            Self::Broken { .. } | Self::NewerJournal { .. } => "unreadable",
            Self::Settings { .. } => "invalid_config",
            Self::Journal { .. } => "internal_error",
            Self::Busy { .. } => "locked",
            Self::NoRequest { .. } => "request_not_found",
            Self::TooManyWorkers { .. } => "limit_reached",
        }
    }

    /// What the operating system said of a file, ours or not, is the same error.
    pub(crate) fn io(
        action: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(io::Error) -> Self {
        let error = ringer_teams::Error::io(action, path);
        move |source| Self::Teams(error(source))
    }
}

/// An error and what caused it, on one line.
pub fn one_line(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// How long that is, in the unit that fits.
fn soon(wait: Duration) -> String {
    match wait.as_secs() {
        0..120 => format!("{:.1} s", wait.as_secs_f32()),
        seconds @ 120..7200 => format!("{} minutes", seconds.div_ceil(60)),
        seconds => format!("{} hours", seconds.div_ceil(3600)),
    }
}
