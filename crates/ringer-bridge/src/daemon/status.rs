//! What the daemon says of itself.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::unheard::Unheard;

/// Everything that `ringer status` shows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// When it was started; milliseconds since 1970.
    pub started_at: i64,
    /// Whether it has looked at everything once.
    pub ready: bool,
    /// Where Claude Code's teams are.
    pub teams_dir: PathBuf,
    /// Where Ringer's own files are.
    pub state_dir: PathBuf,
    /// The settings that it goes by.
    pub config: PathBuf,
    /// How it learns of changes.
    pub watching: WatchStatus,
    /// Servers that workers' panes are on, and how each is spoken to.
    pub servers: Vec<ServerStatus>,
    /// The teams of our members.
    pub teams: Vec<TeamStatus>,
    /// The members of ours.
    pub members: Vec<MemberStatus>,
    /// Directories that workers belong to and that have more than one live lead.
    #[serde(default)]
    pub crowded: Vec<Crowded>,
    /// Who does not read what we wrote to it.
    #[serde(default)]
    pub unheard: Vec<Unheard>,
    /// What does not work.
    pub problems: Vec<String>,
}

/// A directory with more than one live lead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crowded {
    /// The directory.
    pub directory: PathBuf,
    /// The teams of its leads, from new to old.
    pub teams: Vec<String>,
}

/// How the daemon learns of changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WatchStatus {
    /// `inotify`, or `poll` where something cannot be watched.
    pub mode: String,
    /// How many directories are watched.
    pub watches: usize,
    /// Milliseconds between two looks, if it polls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_ms: Option<u64>,
    /// Why it polls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A server of panes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerStatus {
    /// `tmux` or `zellij`.
    pub kind: String,
    /// Its socket, or the session.
    pub socket: String,
    /// How it is spoken to.
    pub mode: String,
}

/// A team that members of ours are on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeamStatus {
    /// Its name.
    pub team: String,
    /// Its directory.
    pub dir: PathBuf,
    /// Whether it is there; if not, its members wait for it.
    pub exists: bool,
    /// How many members of ours are on it.
    pub members: usize,
}

/// One member of ours.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MemberStatus {
    /// The team's name.
    pub team: String,
    /// The team's directory.
    pub team_dir: PathBuf,
    /// The member's name.
    pub name: String,
    /// What kind of agent it is.
    pub agent_type: String,
    /// Where its worker is.
    pub pane: String,
    /// The profile of its worker.
    pub profile: String,
    /// `ready`, `delivering`, `waiting`, or `no team`.
    pub state: String,
    /// How many messages are to be delivered.
    pub queued: u32,
    /// How many were given up.
    pub failed: u32,
    /// Why the first of them waits.
    pub reason: Option<String>,
    /// The whole story.
    pub detail: Option<String>,
    /// Since when it waits; milliseconds since 1970.
    pub waiting_since: Option<i64>,
    /// When the last one was delivered.
    pub last_delivery: Option<i64>,
}
