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
    /// Too many broadcasts.
    #[error(
        "team `{team}` had a broadcast a moment ago; the next is possible in {wait:.1} s",
        wait = wait.as_secs_f32()
    )]
    RateLimit {
        /// The team.
        team: String,
        /// How long to wait.
        wait: Duration,
    },
    /// A pane that is not written as panes are.
    #[error(
        "`{pane}` is not a pane: write tmux:%N, tmux:SOCKET:%N, zellij:SESSION:terminal_N or none",
        pane = pane.escape_debug()
    )]
    InvalidPane {
        /// What was given.
        pane: String,
    },
    /// A file of our own that somebody broke.
    #[error("`{path}` is not a file of Ringer's any more", path = path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
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
            Self::InvalidPane { .. } => "invalid_pane",
            Self::Broken { .. } => "unreadable",
            Self::Busy { .. } => "locked",
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
