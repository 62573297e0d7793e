//! One member on the roster.

use std::path::{Path, PathBuf};

use ringer_panes::{Address, Occupant};
use ringer_teams::{NewMember, Team};
use serde::{Deserialize, Serialize};

use super::birth::Birth;
use super::follows::Follows;
use crate::journal::MemberId;

/// One member that Ringer keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
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
    pub pane: Address,
    /// The profile of its worker; the plain one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Who ran there when it was registered, or when the daemon first looked: a pane that somebody
    /// else has now is not typed into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupant: Option<Occupant>,
    /// Whether its worker has hooks of ours.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hooks: bool,
    /// Whether Claude Code put it on the team: then it is not ours to put back or to take off.
    #[serde(default, skip_serializing_if = "is_false")]
    pub native: bool,
    /// Whether it agreed to shut down, and is to be ended.
    #[serde(default, skip_serializing_if = "is_false")]
    pub retiring: bool,
    /// Whether it leads its team, which is then one of our own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub leads: bool,
    /// What decides which team it is on.
    #[serde(default, skip_serializing_if = "Follows::is_team")]
    pub follows: Follows,
    /// The worker, if Ringer started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub birth: Option<Birth>,
    /// The session of the lead that knows of it: each lead is told once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_to: Option<String>,
    /// What it was on other teams before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<Former>,
    /// What it would be called if nobody had that name where it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_name: Option<String>,
    /// Since when its worker is not to be found; milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_since: Option<i64>,
}

/// What a member was on a team that it has left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Former {
    /// The team's directory.
    pub team_dir: PathBuf,
    /// What it was called there.
    pub name: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
pub(super) fn is_false(value: &bool) -> bool {
    !value
}

/// Where and how a member's worker can be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// Its pane.
    pub pane: Address,
    /// Who runs there.
    pub occupant: Option<Occupant>,
    /// Its profile.
    pub profile: Option<String>,
}

impl RosterEntry {
    /// A member of that team, who can be reached nowhere yet.
    pub fn new(team: &Team, member: &NewMember) -> Self {
        Self {
            team_dir: team.dir().display().to_string(),
            team: team.name().to_owned(),
            name: member.name.clone(),
            agent_type: member.agent_type.clone(),
            model: member.model.clone(),
            cwd: member.cwd.clone(),
            color: member.color.clone(),
            pane: Address::None,
            profile: None,
            occupant: None,
            hooks: false,
            native: false,
            retiring: false,
            leads: false,
            follows: Follows::Team,
            birth: None,
            known_to: None,
            former: Vec::new(),
            own_name: None,
            away_since: None,
        }
    }

    /// Who it is.
    pub fn id(&self) -> MemberId {
        MemberId::new(&self.team_dir, &self.name)
    }

    /// Who it was on the teams that it left.
    pub fn former_ids(&self) -> impl Iterator<Item = MemberId> {
        self.former.iter().map(|former| MemberId::new(&former.team_dir, &former.name))
    }

    /// As it is written into `config.json`.
    pub fn as_member(&self, joined_at: i64) -> NewMember {
        NewMember {
            name: self.name.clone(),
            agent_type: self.agent_type.clone(),
            model: self.model.clone(),
            cwd: self.cwd.clone(),
            color: self.color.clone(),
            joined_at,
            active: self.away_since.is_none(),
        }
    }

    /// Where and how its worker can be reached.
    pub fn reach(&self) -> Reach {
        let (pane, occupant) = (self.pane.clone(), self.occupant.clone());
        Reach { pane, occupant, profile: self.profile.clone() }
    }

    /// Whether it should stand in `config.json`, and it is ours to put it there.
    pub fn belongs_on_team(&self) -> bool {
        !self.native && !self.retiring && !self.is_starting()
    }

    /// Whether its worker has yet to come to its prompt.
    pub fn is_starting(&self) -> bool {
        self.birth.as_ref().is_some_and(|birth| birth.starting)
    }

    /// Whether it is this very worker, whatever it is called now.
    pub fn is_same_worker(&self, other: &Self) -> bool {
        let id = |entry: &Self| entry.birth.as_ref().map(|birth| birth.id.clone());
        id(self) == id(other) && (self.birth.is_some() || self.pane == other.pane)
    }

    /// Whether its worker is one that Ringer started, and runs somewhere else.
    pub fn runs_elsewhere(&self, pane: &Address) -> bool {
        self.birth.as_ref().is_some_and(Birth::is_alive) && self.pane != *pane
    }

    pub(super) fn is_on(&self, team_dir: &Path) -> bool {
        Path::new(&self.team_dir) == team_dir
    }

    pub(super) fn is(&self, team_dir: &Path, name: &str) -> bool {
        self.is_on(team_dir) && self.name == name
    }
}
