//! The roster: the members that Ringer wants on teams, and where each can be reached.
//!
//! Owns `roster.json`. It says what should be; `config.json` says what is.

use std::path::{Path, PathBuf};

use ringer_panes::{Address, Occupant};
use ringer_teams::{NewMember, Team};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::journal::MemberId;
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
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_false(value: &bool) -> bool {
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
    /// Whether it has hooks of ours.
    pub hooks: bool,
    /// Whether Claude Code put it on the team.
    pub native: bool,
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

    /// Puts a member on it, or brings it up to date; whether it was there and is reached otherwise now.
    /// Without that, what is known stays.
    pub fn enter(
        state: &StateDir,
        team: &Team,
        member: &NewMember,
        reach: Option<Reach>,
    ) -> Result<bool> {
        state.edit(FILE, |roster: &mut Self| {
            let old = roster.members.iter().position(|m| m.is(team.dir(), &member.name));
            let known = old.map(|at| roster.members[at].reach());
            let reach = reach.or(known).unwrap_or_default();
            let entry = RosterEntry {
                team_dir: team.dir().display().to_string(),
                team: team.name().to_owned(),
                name: member.name.clone(),
                agent_type: member.agent_type.clone(),
                model: member.model.clone(),
                cwd: member.cwd.clone(),
                color: member.color.clone(),
                pane: reach.pane,
                profile: reach.profile,
                occupant: reach.occupant,
                hooks: reach.hooks,
                native: reach.native,
                retiring: false,
            };
            let how = |entry: &RosterEntry| (entry.pane.clone(), entry.profile.clone());
            let moved = old.is_some_and(|at| how(&roster.members[at]) != how(&entry));
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

    /// Notes that a member agreed to shut down: whoever runs the daemon ends it; whether it is there.
    pub fn retire(state: &StateDir, team_dir: &Path, name: &str) -> Result<bool> {
        state.edit(FILE, |roster: &mut Self| {
            let entry = roster.members.iter_mut().find(|m| m.is(team_dir, name));
            Ok(entry.map(|entry| entry.retiring = true).is_some())
        })
    }

    /// Remembers who runs in a member's pane, if that is still its pane.
    pub fn bind(
        state: &StateDir,
        team_dir: &Path,
        name: &str,
        pane: &Address,
        occupant: &Occupant,
    ) -> Result<()> {
        state.edit(FILE, |roster: &mut Self| {
            let entry = roster.members.iter_mut().find(|m| m.is(team_dir, name) && m.pane == *pane);
            if let Some(entry) = entry {
                entry.occupant = Some(occupant.clone());
            }
            Ok(())
        })
    }

    /// Does something while the roster is sure to stay as it is.
    pub(crate) fn hold<T>(state: &StateDir, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        state.edit(FILE, |roster: &mut Self| work(roster))
    }

    /// Where the roster of a state directory is.
    pub(crate) fn path_in(state: &StateDir) -> PathBuf {
        state.path().join(FILE)
    }

    /// The members on the team in that directory.
    pub fn on<'a>(&'a self, team_dir: &'a Path) -> impl Iterator<Item = &'a RosterEntry> {
        self.members.iter().filter(move |m| m.is_on(team_dir))
    }

    /// The member of that name on the team in that directory.
    pub fn find(&self, team_dir: &Path, name: &str) -> Option<&RosterEntry> {
        self.members.iter().find(|m| m.is(team_dir, name))
    }
}

impl RosterEntry {
    /// Who it is.
    pub fn id(&self) -> MemberId {
        MemberId::new(&self.team_dir, &self.name)
    }

    /// Where and how its worker can be reached.
    pub fn reach(&self) -> Reach {
        let (pane, occupant) = (self.pane.clone(), self.occupant.clone());
        let profile = self.profile.clone();
        Reach { pane, occupant, profile, hooks: self.hooks, native: self.native }
    }

    fn is_on(&self, team_dir: &Path) -> bool {
        Path::new(&self.team_dir) == team_dir
    }

    fn is(&self, team_dir: &Path, name: &str) -> bool {
        self.is_on(team_dir) && self.name == name
    }
}
