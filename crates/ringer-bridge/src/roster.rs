//! The roster: the members that Ringer wants on teams, and where each can be reached.
//!
//! Owns `roster.json`. It says what should be; `config.json` says what is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ringer_teams::{NewMember, Team};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::state::StateDir;

const FILE: &str = "roster.json";

/// Who should be on which team.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roster {
    /// In the order in which they were registered.
    pub members: Vec<RosterEntry>,
}

/// One member that Ringer keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RosterEntry {
    /// The team's directory: names are not unique across Claude Code directories.
    pub team_dir: String,
    /// The team's name.
    pub team: String,
    /// The member's name.
    pub name: String,
    /// What kind of agent it is.
    pub agent_type: String,
    /// The model that it runs on.
    pub model: String,
    /// Where it works.
    pub cwd: PathBuf,
    /// The colour that the user chose, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Where its worker can be reached.
    pub pane: Pane,
}

/// Where a worker can be reached.
///
/// ```
/// use ringer_bridge::Pane;
/// assert!(matches!("tmux:%3".parse(), Ok(Pane::Tmux { socket: None, .. })));
/// assert!("tmux:3".parse::<Pane>().is_err());
/// assert_eq!("zellij:main:terminal_2".parse::<Pane>()?.to_string(), "zellij:main:terminal_2");
/// # Ok::<(), ringer_bridge::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pane {
    /// Nowhere yet: its mail waits.
    #[default]
    None,
    /// A pane of a tmux server.
    Tmux {
        /// The server's socket, by name or path; the default one if absent.
        socket: Option<String>,
        /// `%` and a number.
        pane: String,
    },
    /// A pane of a Zellij session.
    Zellij {
        /// The session.
        session: String,
        /// `terminal_` and a number.
        pane: String,
    },
}

impl FromStr for Pane {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = || Error::InvalidPane { pane: text.to_owned() };
        let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if text.chars().any(char::is_control) {
            return Err(invalid());
        }
        match text.split_once(':') {
            None if text == "none" => Ok(Self::None),
            Some(("tmux", rest)) => {
                // A path may have colons in it, a pane has none.
                let (socket, pane) = match rest.rsplit_once(':') {
                    Some((socket, pane)) => (Some(socket), pane),
                    None => (None, rest),
                };
                let good = pane.strip_prefix('%').is_some_and(number) && socket != Some("");
                let pane = Self::Tmux { socket: socket.map(Into::into), pane: pane.into() };
                good.then_some(pane).ok_or_else(invalid)
            }
            Some(("zellij", rest)) => {
                let (session, pane) = rest.rsplit_once(':').ok_or_else(invalid)?;
                let good =
                    pane.strip_prefix("terminal_").is_some_and(number) && !session.is_empty();
                let pane = Self::Zellij { session: session.into(), pane: pane.into() };
                good.then_some(pane).ok_or_else(invalid)
            }
            _ => Err(invalid()),
        }
    }
}

impl fmt::Display for Pane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Tmux { socket: None, pane } => write!(f, "tmux:{pane}"),
            Self::Tmux { socket: Some(socket), pane } => write!(f, "tmux:{socket}:{pane}"),
            Self::Zellij { session, pane } => write!(f, "zellij:{session}:{pane}"),
        }
    }
}

impl TryFrom<String> for Pane {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Pane> for String {
    fn from(pane: Pane) -> Self {
        pane.to_string()
    }
}

impl Roster {
    /// Reads it.
    pub fn load(state: &StateDir) -> Result<Self> {
        state.read(FILE)
    }

    /// Sees that it could be changed now, so that nothing else is changed in vain.
    pub fn check(state: &StateDir) -> Result<()> {
        state.edit(FILE, |_: &mut Self| Ok(()))
    }

    /// Puts a member on it, or brings it up to date; whether it was there and has another pane now.
    /// Without a pane, one that is known stays.
    pub fn enter(
        state: &StateDir,
        team: &Team,
        member: &NewMember,
        pane: Option<Pane>,
    ) -> Result<bool> {
        state.edit(FILE, |roster: &mut Self| {
            let old = roster.members.iter().position(|m| m.is(team.dir(), &member.name));
            let known = old.map(|at| roster.members[at].pane.clone());
            let entry = RosterEntry {
                team_dir: team.dir().display().to_string(),
                team: team.name().to_owned(),
                name: member.name.clone(),
                agent_type: member.agent_type.clone(),
                model: member.model.clone(),
                cwd: member.cwd.clone(),
                color: member.color.clone(),
                pane: pane.or(known).unwrap_or_default(),
            };
            let moved = old.is_some_and(|at| roster.members[at].pane != entry.pane);
            match old {
                Some(at) => roster.members[at] = entry,
                None => roster.members.push(entry),
            }
            Ok(moved)
        })
    }

    /// Takes a member off it, or all of a team's; their names.
    pub fn strike(state: &StateDir, team_dir: &Path, name: Option<&str>) -> Result<Vec<String>> {
        state.edit(FILE, |roster: &mut Self| {
            let goes =
                |m: &RosterEntry| name.map_or(m.is_on(team_dir), |name| m.is(team_dir, name));
            let struck =
                roster.members.iter().filter(|m| goes(m)).map(|m| m.name.clone()).collect();
            roster.members.retain(|m| !goes(m));
            Ok(struck)
        })
    }

    /// The member of that name on the team in that directory.
    pub fn find(&self, team_dir: &Path, name: &str) -> Option<&RosterEntry> {
        self.members.iter().find(|m| m.is(team_dir, name))
    }
}

impl RosterEntry {
    fn is_on(&self, team_dir: &Path) -> bool {
        Path::new(&self.team_dir) == team_dir
    }

    fn is(&self, team_dir: &Path, name: &str) -> bool {
        self.is_on(team_dir) && self.name == name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panes_are_read_and_written_alike() {
        for pane in [
            "none",
            "tmux:%0",
            "tmux:work:%12",
            "tmux:/tmp/a:b/default:%7",
            "zellij:main:terminal_3",
            "zellij:odd:name:terminal_3",
        ] {
            assert_eq!(pane.parse::<Pane>().unwrap().to_string(), pane);
        }
        for bad in [
            "",
            "tmux",
            "tmux:",
            "tmux:%",
            "tmux:3",
            "tmux::%3",
            "tmux:%3x",
            "zellij:%3",
            "zellij::terminal_1",
            "zellij:s:plugin_1",
            "screen:1",
            "tmux:a\u{1b}:%1",
            "None",
        ] {
            assert_eq!(bad.parse::<Pane>().unwrap_err().code(), "invalid_pane", "{bad}");
        }
    }
}
