//! Which session of Claude Code this is, and which team it leads.
//!
//! Owns how that is known: by its process, where Claude Code writes it down with the team; else by its id, which hooks
//! are told and which is kept for what else runs below the same process.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ringer_teams::{ClaudeDir, Liveness, Team};

use crate::claim::Claim;
use crate::error::{Error, Result};
use crate::roster::Roster;

/// How files are called that belong to a lead's process, for as long as it runs.
const NOTE: &str = "session-";
pub(super) const LOCK: &str = "lead-";

/// A session of Claude Code, as its hooks know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id. It changes when the conversation is cleared; the team's does not.
    pub id: String,
    /// Its process.
    pub pid: Option<u32>,
}

impl Session {
    /// The team that it leads, if it leads one.
    pub fn team(&self, claude: &ClaudeDir) -> Result<Option<Team>> {
        let mut teams = claude.teams()?.found;
        let is_process = |team: &Team| self.pid.is_some_and(|pid| is_lead(team, pid));
        let is_session = |team: &Team| team.config.lead_session_id.as_deref() == Some(&self.id);
        let found = teams.iter().position(is_process);
        let found = found.or_else(|| teams.iter().position(is_session));
        Ok(found.map(|at| teams.swap_remove(at)))
    }

    /// Writes down in `dir` which session its process is, for what runs below it and is not told. What processes left
    /// there that have ended goes.
    pub fn note(&self, dir: &Path) -> Result<()> {
        sweep(dir);
        let Some(pid) = self.pid.filter(|_| !self.id.is_empty()) else { return Ok(()) };
        let path = file(dir, NOTE, pid);
        let mut open = OpenOptions::new();
        let opened = open.write(true).create(true).truncate(true).mode(0o600).open(&path);
        let written = opened.and_then(|mut file| file.write_all(self.id.as_bytes()));
        written.map_err(Error::io("write", &path))
    }
}

/// The team that somebody leads: of the processes `above` this one, nearest first, the first that is a worker of ours
/// or a lead decides. `said` is the session that Claude Code says it is, and `dir` where sessions are noted; both count
/// only for teams of versions that do not write their process down.
pub fn led_team(
    teams: &[Team],
    roster: &Roster,
    above: &[u32],
    dir: &Path,
    said: Option<&str>,
) -> Option<Team> {
    let of_session = |id: &str| {
        let is_it = |team: &&Team| {
            // A team of our own has no session of Claude Code.
            !team.is_own()
                && team.config.lead_process.is_none()
                && team.config.lead_session_id.as_deref() == Some(id)
        };
        teams.iter().find(is_it).cloned()
    };
    for pid in above.iter().copied() {
        if let Some(team) = teams.iter().find(|team| is_lead(team, pid)) {
            return Some(team.clone());
        }
        if let Some(team) = noted(dir, pid).as_deref().and_then(of_session) {
            return Some(team);
        }
        if let Some(worker) = roster.worker_at(pid) {
            let id = worker.id();
            let leads = |team: &&Team| {
                if worker.leads {
                    return team.dir() == id.team_dir && team.is_own();
                }
                roster.leader_of(team).is_some_and(|leader| leader.id() == id)
            };
            return teams.iter().find(leads).cloned();
        }
    }
    said.and_then(of_session)
}

/// The session that a process was noted to be.
fn noted(dir: &Path, pid: u32) -> Option<String> {
    fs::read_to_string(file(dir, NOTE, pid)).ok()
}

fn is_lead(team: &Team, pid: u32) -> bool {
    let process = team.config.lead_process.as_ref();
    process.is_some_and(|lead| lead.pid == i64::from(pid)) && team.lead_alive() == Liveness::Alive
}

/// The file of that kind of a process. Numbers of processes are used again: what another one left there is not ours.
pub(super) fn file(dir: &Path, kind: &str, pid: u32) -> PathBuf {
    dir.join(format!("{kind}{}", Claim::of(pid).to_string().replace(':', "-")))
}

/// Removes the files of processes that have ended.
fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let lock = name.strip_prefix(LOCK).and_then(|rest| rest.strip_suffix(".lock"));
        let rest = name.strip_prefix(NOTE).or(lock);
        let numbers = rest.and_then(|rest| rest.split_once('-'));
        let number = |text: &str| text.parse::<u64>().ok();
        if let Some((pid, started)) = numbers
            && let (Some(pid), Some(started)) = (number(pid), number(started))
            && let Ok(pid) = u32::try_from(pid)
            && !Claim::new(pid, started).is_alive()
        {
            fs::remove_file(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roster::{Birth, Follows, RosterEntry};
    use ringer_teams::NewMember;
    use ringer_testkit::put;
    use serde_json::json;
    use std::process::id;

    fn teams(root: &Path, all: &[(&str, serde_json::Value)]) -> Vec<Team> {
        for (name, more) in all {
            let dir = root.join("teams").join(name);
            fs::create_dir_all(&dir).unwrap();
            let mut config = json!({
                "name": name, "leadSessionId": format!("id-{name}"),
                "members": [{"name": "team-lead"}],
            });
            config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            put(&dir.join("config.json"), &config.to_string());
        }
        ClaudeDir::new(root).teams().unwrap().found
    }

    fn process(pid: u32) -> serde_json::Value {
        let claim = Claim::of(pid).to_string();
        json!({"leadProcess": {"pid": pid, "procStart": claim.split_once(':').unwrap().1}})
    }

    #[test]
    fn a_session_is_known_by_its_id() {
        let root = tempfile::tempdir().unwrap();
        teams(root.path(), &[("chosen", json!({}))]);
        let claude = ClaudeDir::new(root.path());
        let of = |id: &str| Session { id: id.to_owned(), pid: Some(1) }.team(&claude).unwrap();
        assert!(of("id-chosen").is_some());
        assert!(of("id-cho").is_none());
    }

    #[test]
    fn who_leads_is_known_by_the_process_and_not_by_what_is_said() {
        let root = tempfile::tempdir().unwrap();
        let parent = std::os::unix::process::parent_id();
        let all = teams(
            root.path(),
            &[
                ("new", process(id())),
                ("old", json!({})),
                ("other", process(parent)),
                ("mine", json!({"founder": "ringer"})),
            ],
        );
        let led = |above: &[u32], said: Option<&str>| {
            let team = led_team(&all, &Roster::default(), above, root.path(), said);
            team.map(|team| team.name().to_owned()).unwrap_or_default()
        };
        assert_eq!(led(&[id(), parent], None), "new", "the nearest one");
        assert_eq!(led(&[parent, id()], None), "other");
        assert_eq!(led(&[1], None), "");
        assert_eq!(led(&[1], Some("id-new")), "", "it has a process, and that is not it");
        assert_eq!(led(&[1], Some("id-mine")), "", "no session leads a team of our own");
        assert_eq!(led(&[1], Some("id-old")), "old");
        Session { id: "id-old".to_owned(), pid: Some(1) }.note(root.path()).unwrap();
        assert_eq!(led(&[2, 1], None), "old", "its hooks have said so");
    }

    #[test]
    fn a_worker_leads_what_it_was_made_the_lead_of_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let all = teams(
            root.path(),
            &[("mine", json!({"founder": "ringer"})), ("theirs", json!({})), ("sub", json!({}))],
        );
        let team = |name: &str| all.iter().find(|team| team.name() == name).unwrap();
        let worker = |on: &str, leads: bool, session: Option<&str>| {
            let mut birth = Birth::now("x", 1);
            (birth.process, birth.session) = (Some(Claim::ours()), session.map(str::to_owned));
            let new = RosterEntry::new(team(on), &NewMember::new("w", root.path(), 1));
            RosterEntry { birth: Some(birth), leads, follows: Follows::Team, ..new }
        };
        for (on, leads, session, led) in [
            ("mine", true, None, "mine"),
            ("mine", false, None, ""),
            ("theirs", false, None, ""),
            ("theirs", false, Some("id-sub"), "sub"),
        ] {
            let roster = Roster { members: vec![worker(on, leads, session)], ..Roster::default() };
            // Whatever it says.
            let found = led_team(&all, &roster, &[id()], root.path(), Some("id-theirs"));
            let found = found.map(|team| team.name().to_owned()).unwrap_or_default();
            assert_eq!(found, led, "on {on}, {leads}, {session:?}");
        }
    }

    #[test]
    fn what_ended_processes_left_goes() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for name in ["session-1-99", "lead-4000000-1.lock", "session-4000000-5", "lead-x.lock"] {
            put(&at(name), "");
        }
        Session { id: "a".to_owned(), pid: Some(id()) }.note(root.path()).unwrap();
        let mut left: Vec<String> = fs::read_dir(root.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let ours = file(Path::new(""), NOTE, id()).display().to_string();
        assert_eq!(left, ["lead-x.lock".to_owned(), ours]);
    }
}
