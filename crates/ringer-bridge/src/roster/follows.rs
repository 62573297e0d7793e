//! What decides which team a worker is on.
//!
//! Owns the rule, and which of the teams there are it means. Nothing is moved here.

use std::path::{Path, PathBuf};

use ringer_teams::{Liveness, Team};
use serde::{Deserialize, Serialize};

use super::Roster;

/// A worker's place, as a rule: teams come and go with their leads, workers stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Follows {
    /// The team of that name, whoever leads it.
    #[default]
    Team,
    /// The team of this session of Claude Code, resumed or not.
    Session(String),
    /// The live team whose lead works in this directory or above it.
    Directory(PathBuf),
    /// The team of this session; once that has ended, that of this directory.
    Lead {
        /// The session.
        session: String,
        /// The directory.
        directory: PathBuf,
    },
}

/// What to do while the lead that a worker works for is alive, and a newer one starts in its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TwoLeads {
    /// The worker goes to the newer one.
    Newest,
    /// It stays.
    Stay,
}

impl Follows {
    /// Whether it is a name and nothing else.
    pub fn is_team(&self) -> bool {
        *self == Self::Team
    }

    /// The directory that it is about.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(directory) | Self::Lead { directory, .. } => Some(directory),
            Self::Team | Self::Session(_) => None,
        }
    }

    /// The team that is meant, of these, which are sorted from new to old; none if there is none now.
    /// `current` is the directory of the team that the worker is on.
    pub fn choose<'t>(
        &self,
        teams: &'t [Team],
        roster: &Roster,
        current: &Path,
        two_leads: TwoLeads,
    ) -> Option<&'t Team> {
        let is_session =
            |team: &&Team, id: &str| team.config.lead_session_id.as_deref() == Some(id);
        match self {
            Self::Team => teams.iter().find(|team| team.dir() == current),
            Self::Session(id) => teams.iter().find(|team| is_session(team, id)),
            Self::Lead { session, directory } => {
                let own = teams.iter().find(|team| is_session(team, session));
                let own = own.filter(|team| team.lead_alive() != Liveness::Dead);
                own.or_else(|| newest(teams, roster, directory, current, TwoLeads::Stay))
            }
            Self::Directory(directory) => newest(teams, roster, directory, current, two_leads),
        }
    }
}

/// The newest team with a lead in this directory or above it. One whose lead is known to be alive comes before those of
/// which nothing is known; one that a worker of ours leads is that worker's business.
fn newest<'t>(
    teams: &'t [Team],
    roster: &Roster,
    directory: &Path,
    current: &Path,
    two_leads: TwoLeads,
) -> Option<&'t Team> {
    let here = leads_in(teams, roster, directory);
    let alive = |team: &&&Team| team.lead_alive() == Liveness::Alive;
    let stays = here.iter().find(|team| team.dir() == current).filter(alive);
    let stays = stays.filter(|_| two_leads == TwoLeads::Stay);
    stays.or_else(|| here.iter().find(alive)).or_else(|| here.first()).copied()
}

/// The teams whose leads work in this directory or above it and have not ended, from new to old. Teams that workers
/// of ours lead are not among them.
pub fn leads_in<'t>(teams: &'t [Team], roster: &Roster, directory: &Path) -> Vec<&'t Team> {
    let directory = real(directory);
    let is_here =
        |team: &&Team| team.lead_cwd().is_some_and(|cwd| directory.starts_with(real(cwd)));
    let others = teams.iter().filter(|team| roster.leader_of(team).is_none()).filter(is_here);
    others.filter(|team| team.lead_alive() != Liveness::Dead).collect()
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringer_teams::ClaudeDir;
    use serde_json::json;
    use std::fs;
    use std::io::Write as _;

    /// Teams as (name, created at, directory of the lead, its process).
    fn teams(root: &Path, all: &[(&str, i64, &str, Option<u32>)]) -> Vec<Team> {
        for (name, created, cwd, pid) in all {
            let dir = root.join("teams").join(name);
            fs::create_dir_all(&dir).unwrap();
            fs::create_dir_all(root.join(cwd)).unwrap();
            let process = pid.map(|pid| {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                let started = stat
                    .rsplit_once(')')
                    .map_or("1", |(_, rest)| rest.split_whitespace().nth(19).unwrap());
                json!({"pid": pid, "procStart": started})
            });
            let config = json!({
                "name": name, "createdAt": created, "leadAgentId": "l", "leadSessionId": format!("id-{name}"),
                "leadProcess": process, "members": [{"agentId": "l", "name": "team-lead", "cwd": root.join(cwd)}],
            });
            let file =
                fs::OpenOptions::new().write(true).create_new(true).open(dir.join("config.json"));
            file.unwrap().write_all(config.to_string().as_bytes()).unwrap();
        }
        ClaudeDir::new(root).teams().unwrap().found
    }

    fn chosen(follows: &Follows, teams: &[Team], current: &str, two_leads: TwoLeads) -> String {
        let current = teams.iter().find(|team| team.name() == current);
        let current = current.map_or(Path::new("/gone"), |team| team.dir());
        let team = follows.choose(teams, &Roster::default(), current, two_leads);
        team.map_or("none", |team| team.name()).to_owned()
    }

    #[test]
    fn a_directory_means_the_newest_live_lead_in_it_or_above() {
        let root = tempfile::tempdir().unwrap();
        let (me, dead) = (Some(std::process::id()), Some(u32::MAX >> 1));
        let all = teams(
            root.path(),
            &[
                ("old", 1, "work", me),
                ("new", 2, "work", me),
                ("ended", 3, "work", dead),
                ("elsewhere", 4, "other", me),
                ("unknown", 5, "work", None),
                ("below", 6, "work/deep/er", me),
            ],
        );
        let dir = |name: &str| Follows::Directory(root.path().join(name));
        for (rule, current, two_leads, team) in [
            (dir("work"), "gone", TwoLeads::Newest, "new"),
            (dir("work"), "old", TwoLeads::Newest, "new"),
            (dir("work"), "old", TwoLeads::Stay, "old"),
            (dir("work/deep"), "gone", TwoLeads::Newest, "new"),
            (dir("work/deep/er"), "gone", TwoLeads::Newest, "below"),
            (dir("nowhere"), "old", TwoLeads::Newest, "none"),
            (Follows::Session("id-old".into()), "new", TwoLeads::Newest, "old"),
            (Follows::Session("id-gone".into()), "new", TwoLeads::Newest, "none"),
            (Follows::Team, "ended", TwoLeads::Newest, "ended"),
            (Follows::Team, "gone", TwoLeads::Newest, "none"),
        ] {
            assert_eq!(chosen(&rule, &all, current, two_leads), team, "{rule:?} on {current}");
        }
    }

    #[test]
    fn where_nobody_knows_who_lives_the_newest_counts() {
        let root = tempfile::tempdir().unwrap();
        let all = teams(root.path(), &[("old", 1, "work", None), ("new", 2, "work", None)]);
        let rule = Follows::Directory(root.path().join("work"));
        assert_eq!(chosen(&rule, &all, "old", TwoLeads::Stay), "new");
    }

    #[test]
    fn who_was_asked_for_by_a_lead_stays_with_it_and_then_with_its_directory() {
        let root = tempfile::tempdir().unwrap();
        let me = Some(std::process::id());
        let all = teams(root.path(), &[("old", 1, "work", me), ("new", 2, "work", me)]);
        let rule = |session: &str| Follows::Lead {
            session: session.to_owned(),
            directory: root.path().join("work"),
        };
        assert_eq!(chosen(&rule("id-old"), &all, "old", TwoLeads::Newest), "old");
        assert_eq!(chosen(&rule("id-gone"), &all, "gone", TwoLeads::Newest), "new");
        assert_eq!(chosen(&rule("id-gone"), &all, "old", TwoLeads::Newest), "old");
    }
}
