//! The roster: the members that Ringer wants on teams, and where each can be reached.
//!
//! Owns `roster.json`. It says what should be; `config.json` says what is. Who is struck off is noted as leaving until
//! `config.json` does not name it any more, so that a crash in between leaves nobody there.

mod birth;
mod entry;
mod follows;

use std::path::{Path, PathBuf};

use ringer_panes::{Address, Occupant};
use ringer_teams::{Error as TeamsError, NewMember, Team};
use serde::{Deserialize, Serialize};

use crate::claim::Claim;
use crate::error::{Error, Result};
use crate::journal::MemberId;
use crate::state::StateDir;

pub use self::birth::{Birth, WORKER};
pub use self::entry::{Former, Reach, RosterEntry};
pub use self::follows::{Follows, TwoLeads, leads_in};

const FILE: &str = "roster.json";

/// So many teams that a worker was on before are remembered.
const MOST_FORMER: usize = 16;

/// Who should be on which team.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roster {
    /// In the order in which they were registered.
    pub members: Vec<RosterEntry>,
    /// Who may still stand in a `config.json` and should not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaving: Vec<Leaving>,
}

/// A member that was struck off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaving {
    /// The team's directory.
    pub team_dir: PathBuf,
    /// The member's name.
    pub name: String,
}

/// How a new worker wants to be called.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// The name.
    pub name: &'a str,
    /// That name or none; else one with a number behind it will do.
    pub exact: bool,
    /// At most so many workers on the team, with this one.
    pub limit: Option<usize>,
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
            if let Some(reach) = &reach {
                roster.check_pane(team, &member.name, &reach.pane)?;
            }
            let mut entry = RosterEntry::new(team, member);
            if let Some(old) = old.map(|at| &roster.members[at])
                && reach.as_ref().is_none_or(|reach| reach.pane == old.pane)
            {
                let RosterEntry { agent_type, model, cwd, color, .. } = entry;
                entry = RosterEntry { agent_type, model, cwd, color, ..old.clone() };
                entry.retiring = false;
            }
            if let Some(reach) = reach {
                (entry.pane, entry.occupant, entry.profile) =
                    (reach.pane, reach.occupant, reach.profile);
                entry.away_since = None;
            }
            let how = |entry: &RosterEntry| (entry.pane.clone(), entry.profile.clone());
            let moved = old.is_some_and(|at| how(&roster.members[at]) != how(&entry));
            roster.put(entry, old);
            Ok(moved)
        })
    }

    /// Refuses to say that a worker of ours is elsewhere while it runs: nobody would know of it any more.
    pub fn check_pane(&self, team: &Team, name: &str, pane: &Address) -> Result<()> {
        if self.find(team.dir(), name).is_some_and(|old| old.runs_elsewhere(pane)) {
            let (team, name) = (team.name().to_owned(), name.to_owned());
            let taken_by = "a worker of that name runs; `ringer stop` ends it".to_owned();
            return Err(TeamsError::AgentAlreadyExists { team, name, taken_by }.into());
        }
        Ok(())
    }

    /// Gives a new worker a name that nobody on the team has, before it is started. `is_taken` says whether somebody
    /// who is not on the roster has one.
    pub fn reserve(
        state: &StateDir,
        team: &Team,
        wish: Wish<'_>,
        entry: &RosterEntry,
        is_taken: impl Fn(&str) -> bool,
    ) -> Result<RosterEntry> {
        state.edit(FILE, |roster: &mut Self| {
            let workers = roster.on(team.dir()).filter(|m| m.birth.is_some() && !m.leads).count();
            if let Some(limit) = wish.limit.filter(|limit| workers >= *limit) {
                let team = team.name().to_owned();
                return Err(Error::TooManyWorkers { team, there: workers, wanted: 1, limit });
            }
            let is_taken = |name: &str| is_taken(name) || roster.find(team.dir(), name).is_some();
            let name = if wish.exact && is_taken(wish.name) {
                let (team, name) = (team.name().to_owned(), wish.name.to_owned());
                let taken_by = "a worker of that name runs".to_owned();
                return Err(TeamsError::AgentAlreadyExists { team, name, taken_by }.into());
            } else {
                numbered(wish.name).find(|name| !is_taken(name)).expect("numbers have no end")
            };
            let entry = RosterEntry { name, ..entry.clone() };
            roster.put(entry.clone(), None);
            Ok(entry)
        })
    }

    fn put(&mut self, entry: RosterEntry, at: Option<usize>) {
        self.leaving.retain(|one| !entry.is(&one.team_dir, &one.name));
        match at {
            Some(at) => self.members[at] = entry,
            None => self.members.push(entry),
        }
    }

    /// Takes a member off it, or all of a team's; who they were.
    pub fn strike(
        state: &StateDir,
        team_dir: &Path,
        name: Option<&str>,
    ) -> Result<Vec<RosterEntry>> {
        Self::strike_if(state, |m| name.map_or(m.is_on(team_dir), |name| m.is(team_dir, name)))
    }

    /// Takes those off it that `goes` picks; who they were.
    pub fn strike_if(
        state: &StateDir,
        goes: impl Fn(&RosterEntry) -> bool,
    ) -> Result<Vec<RosterEntry>> {
        state.edit(FILE, |roster: &mut Self| {
            let (gone, stay): (Vec<_>, Vec<_>) =
                std::mem::take(&mut roster.members).into_iter().partition(|m| goes(m));
            roster.members = stay;
            for entry in gone.iter().filter(|entry| !entry.native) {
                roster.leave(Path::new(&entry.team_dir), &entry.name);
            }
            Ok(gone)
        })
    }

    fn leave(&mut self, team_dir: &Path, name: &str) {
        let leaving = Leaving { team_dir: team_dir.to_owned(), name: name.to_owned() };
        if !self.leaving.contains(&leaving) {
            self.leaving.push(leaving);
        }
    }

    /// `config.json` does not name it any more.
    pub fn has_left(state: &StateDir, team_dir: &Path, name: &str) -> Result<()> {
        state.edit(FILE, |roster: &mut Self| {
            roster.leaving.retain(|one| one.team_dir != team_dir || one.name != name);
            Ok(())
        })
    }

    /// Notes that a member agreed to shut down: whoever runs the daemon ends it; whether it is there.
    pub fn retire(state: &StateDir, team_dir: &Path, name: &str) -> Result<bool> {
        Ok(Self::change(state, &MemberId::new(team_dir, name), |entry| entry.retiring = true)?
            .is_some())
    }

    /// Changes a member; what it is now, if it is there.
    pub fn change(
        state: &StateDir,
        id: &MemberId,
        change: impl FnOnce(&mut RosterEntry),
    ) -> Result<Option<RosterEntry>> {
        state.edit(FILE, |roster: &mut Self| {
            let entry = roster.members.iter_mut().find(|m| m.is(&id.team_dir, &id.name));
            Ok(entry.map(|entry| {
                change(entry);
                entry.clone()
            }))
        })
    }

    /// Changes the worker with this identity, wherever it is; what it is now, if it is there.
    pub fn change_worker(
        state: &StateDir,
        worker: &str,
        change: impl FnOnce(&mut RosterEntry),
    ) -> Result<Option<RosterEntry>> {
        state.edit(FILE, |roster: &mut Self| {
            let is_it = |m: &&mut RosterEntry| m.birth.as_ref().is_some_and(|b| b.id == worker);
            Ok(roster.members.iter_mut().find(is_it).map(|entry| {
                change(entry);
                entry.clone()
            }))
        })
    }

    /// Moves a member to another team, where it gets a number behind its name if somebody else has that, and goes by
    /// another rule from then on if there is one. What it is now; nothing if it is not there any more.
    pub fn relocate(
        state: &StateDir,
        id: &MemberId,
        to: &Team,
        rule: Option<&Follows>,
    ) -> Result<Option<RosterEntry>> {
        state.edit(FILE, |roster: &mut Self| {
            let Some(at) = roster.members.iter().position(|m| m.is(&id.team_dir, &id.name)) else {
                return Ok(None);
            };
            let mut entry = roster.members.remove(at);
            roster.leave(&id.team_dir, &id.name);
            let theirs = |name: &str| to.config.member(name).is_some_and(|m| !m.is_synthetic());
            let is_taken = |name: &str| theirs(name) || roster.find(to.dir(), name).is_some();
            let own = entry.own_name.take().unwrap_or_else(|| entry.name.clone());
            let name = numbered(&own).find(|name| !is_taken(name)).expect("numbers have no end");
            entry.own_name = Some(own).filter(|own| *own != name);
            entry.former.retain(|former| former.team_dir != to.dir());
            let (team_dir, name_there) = (PathBuf::from(&entry.team_dir), entry.name.clone());
            entry.former.push(Former { team_dir, name: name_there });
            let surplus = entry.former.len().saturating_sub(MOST_FORMER);
            entry.former.drain(..surplus);
            (entry.team_dir, entry.team) = (to.dir().display().to_string(), to.name().to_owned());
            entry.name = name;
            if let Some(rule) = rule {
                entry.follows = rule.clone();
            }
            roster.put(entry.clone(), None);
            Ok(Some(entry))
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
        let id = MemberId::new(team_dir, name);
        let bind = |entry: &mut RosterEntry| {
            if entry.pane == *pane {
                entry.occupant = Some(occupant.clone());
            }
        };
        Self::change(state, &id, bind).map(drop)
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

    /// The worker with this identity.
    pub fn worker(&self, id: &str) -> Option<&RosterEntry> {
        self.members.iter().find(|m| m.birth.as_ref().is_some_and(|birth| birth.id == id))
    }

    /// The worker that this process is, or hosts: in its first moments only its host is known.
    pub fn worker_at(&self, pid: u32) -> Option<&RosterEntry> {
        let is_it = |one: &Claim| one.pid() == pid && one.is_alive();
        self.members.iter().find(|entry| {
            let birth = entry.birth.as_ref();
            let seen = entry.occupant.as_ref().and_then(|who| who.foreground.as_ref());
            birth.is_some_and(|birth| {
                is_it(&birth.host) || birth.process.as_ref().is_some_and(is_it)
            }) || seen.is_some_and(|one| one.pid == pid && one.is_running())
        })
    }

    /// The worker of ours that leads a team with a session of its own: the team is a subtree.
    pub fn leader_of(&self, team: &Team) -> Option<&RosterEntry> {
        let session = team.config.lead_session_id.as_deref();
        let process = team.config.lead_process.as_ref();
        let is_process = |birth: &Birth| {
            let (Some(own), Some(lead)) = (&birth.process, process) else { return false };
            let started = lead.proc_start.as_deref().and_then(|start| start.parse().ok());
            lead.pid == i64::from(own.pid()) && started.is_none_or(|at: u64| own.started() == at)
        };
        self.members.iter().find(|entry| {
            let Some(birth) = &entry.birth else { return false };
            birth.session.is_some() && birth.session.as_deref() == session || is_process(birth)
        })
    }
}

/// A name, then the same with numbers behind it.
pub(crate) fn numbered(name: &str) -> impl Iterator<Item = String> {
    let more = (2..).map(move |number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(more)
}
