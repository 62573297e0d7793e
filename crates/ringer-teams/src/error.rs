//! What can go wrong with Claude Code's files, and the code that scripts see for it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::board::TaskError;

/// The result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something was not done. Nothing was written when one of these comes back, but for
/// [`Error::Unsynced`] and [`Error::Unsettled`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such team under the root.
    #[error("there is no team `{team}`")]
    TeamNotFound {
        /// The name asked for.
        team: String,
        /// The teams there are.
        known: Vec<String>,
    },
    /// No member of that name on the team.
    #[error("`{name}` is not on team `{team}`")]
    AgentNotFound {
        /// The team looked at.
        team: String,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The name of a team to found is taken.
    #[error("team `{team}` cannot be founded: `{taken_by}` has that name", taken_by = taken_by.display())]
    TeamAlreadyExists {
        /// The name wanted.
        team: String,
        /// The directory that has it.
        taken_by: PathBuf,
    },
    /// As many teams as there may be.
    #[error("there are {limit} teams already, and no more are founded")]
    LimitReached {
        /// How many there may be.
        limit: usize,
    },
    /// The team exists, but Ringer did not found it.
    #[error("team `{team}` is not one that Ringer founded")]
    NotOurTeam {
        /// The team.
        team: String,
    },
    /// The name is taken by a member that is not ours, or by one with the same inbox file.
    #[error("`{name}` cannot join team `{team}`: {taken_by}")]
    AgentAlreadyExists {
        /// The team.
        team: String,
        /// The name wanted.
        name: String,
        /// Who has it.
        taken_by: String,
    },
    /// The member exists, but Ringer did not put it there.
    #[error("`{name}` on team `{team}` is not a member that Ringer added")]
    NotOurs {
        /// The team.
        team: String,
        /// The member.
        name: String,
    },
    /// A name that cannot be used.
    #[error("invalid name `{name}`: {reason}", name = name.escape_debug())]
    InvalidName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A message of no content.
    #[error("the message is empty")]
    EmptyMessage,
    /// A message beyond what is taken at all.
    #[error("the message has {bytes} bytes; at most {limit} are taken")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The lock could not be had in time.
    #[error(
        "`{path}` is locked: its holder refreshed it {age} ms ago, waited {waited} ms",
        path = path.display(),
        age = age.as_millis(),
        waited = waited.as_millis()
    )]
    Locked {
        /// The lock directory.
        path: PathBuf,
        /// Since the holder last touched it.
        age: Duration,
        /// How long we tried.
        waited: Duration,
    },
    /// A change was undone by another program again and again.
    #[error("`{path}` is rewritten by another program all the time; the change did not stay", path = path.display())]
    Unsettled {
        /// The file.
        path: PathBuf,
    },
    /// The team's directory vanished while we worked on it.
    #[error("the team is gone: there is no `{path}` any more", path = path.display())]
    TeamGone {
        /// What is missing.
        path: PathBuf,
    },
    /// The change is in the file, but may not survive a crash of the machine.
    #[error("`{path}` was written, but could not be synced to the disk", path = path.display())]
    Unsynced {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that stayed unreadable for as long as a write could take. It is left as it is.
    #[error("`{path}` cannot be read: {why}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        why: String,
    },
    /// A path that leads out of the directory it should be in.
    #[error("`{path}` leads out of the directory it should be in", path = path.display())]
    OutsideRoot {
        /// The path.
        path: PathBuf,
    },
    /// The rules of the board say no.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Other Ringers are at the board, and one of them does not go on.
    #[error("`{path}` is in use: waited {waited} ms", path = path.display(), waited = waited.as_millis())]
    BoardInUse {
        /// The file that says whose turn it is.
        path: PathBuf,
        /// How long we tried.
        waited: Duration,
    },
    /// The operating system said no.
    #[error("could not {action} `{path}`", path = path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl Error {
    /// The stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TeamNotFound { .. } | Self::TeamGone { .. } => "team_not_found",
            Self::AgentNotFound { .. } => "agent_not_found",
            Self::AgentAlreadyExists { .. } => "agent_already_exists",
            Self::TeamAlreadyExists { .. } => "team_already_exists",
            Self::LimitReached { .. } => "limit_reached",
            Self::InvalidName { .. } => "invalid_name",
            Self::EmptyMessage => "empty_message",
            Self::TooLarge { .. } => "too_large",
            Self::Locked { .. } | Self::Unsettled { .. } | Self::BoardInUse { .. } => "locked",
            Self::Task(error) => error.code(),
            Self::Unreadable { .. } => "unreadable",
            Self::Unsynced { .. } => "internal_error",
            Self::NotOurs { .. } | Self::NotOurTeam { .. } | Self::OutsideRoot { .. } => {
                "permission_denied"
            }
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "permission_denied"
                }
                _ => "internal_error",
            },
        }
    }

    /// For `map_err`: what was tried, on what.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Io { action, path, source }
    }
}
