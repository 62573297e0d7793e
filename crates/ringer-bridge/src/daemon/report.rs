//! How the daemon is, put together for whoever asks.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ringer_panes::PLAIN;
use ringer_teams::Liveness;

use super::shared::Shared;
use super::status::{Crowded, MemberStatus, ServerStatus, Status, TeamStatus, WatchStatus};
use super::watcher::Watching;
use super::{Identification, Options};
use crate::roster::{Roster, RosterEntry, leads_in};
use crate::unheard::unheard;

/// What the core knew when it was asked.
pub(crate) struct Report {
    pub(crate) who: Identification,
    pub(crate) ready: bool,
    pub(crate) options: Options,
    pub(crate) watching: Watching,
    pub(crate) poll: Duration,
    pub(crate) roster: Roster,
    pub(crate) teams: HashSet<PathBuf>,
    pub(crate) problems: Vec<String>,
    pub(crate) shared: Arc<Shared>,
}

impl Report {
    /// All of it. Asks the journal, so it blocks.
    pub(crate) fn status(self) -> Status {
        let polls = self.watching.trouble.is_some();
        let watching = WatchStatus {
            mode: if polls { "poll" } else { "inotify" }.to_owned(),
            watches: self.watching.watches,
            poll_ms: polls.then(|| u64::try_from(self.poll.as_millis()).unwrap_or(u64::MAX)),
            why: self.watching.trouble.clone(),
        };
        let servers = self.shared.terminals.modes();
        Status {
            pid: self.who.pid,
            version: self.who.version.clone(),
            started_at: self.who.started_at,
            ready: self.ready,
            teams_dir: self.options.claude.teams_dir(),
            state_dir: self.options.state.path().to_owned(),
            config: self.options.config.clone(),
            watching,
            servers: servers
                .into_iter()
                .map(|(kind, name, mode)| ServerStatus {
                    kind: kind.to_owned(),
                    socket: name,
                    mode: mode.to_owned(),
                })
                .collect(),
            teams: self.teams(),
            members: self.members().map(|entry| self.member(entry)).collect(),
            crowded: self.crowded(),
            unheard: unheard(&self.options.claude, &self.shared.journal).unwrap_or_default(),
            problems: self.problems.clone(),
        }
    }

    /// Those who are on a team: one that has yet to come to its prompt is not.
    fn members(&self) -> impl Iterator<Item = &RosterEntry> {
        self.roster.members.iter().filter(|entry| !entry.is_starting())
    }

    /// Where it is not plain which lead a worker belongs to.
    fn crowded(&self) -> Vec<Crowded> {
        let directories: BTreeSet<&Path> =
            self.members().filter_map(|entry| entry.follows.directory()).collect();
        if directories.is_empty() {
            return Vec::new();
        }
        let teams = self.options.claude.teams().unwrap_or_default().found;
        let crowded = directories.into_iter().map(|directory| {
            let mut here = leads_in(&teams, &self.roster, directory);
            here.retain(|team| team.lead_alive() == Liveness::Alive);
            let teams = here.iter().map(|team| team.name().to_owned()).collect();
            Crowded { directory: directory.to_owned(), teams }
        });
        crowded.filter(|one| one.teams.len() > 1).collect()
    }

    fn teams(&self) -> Vec<TeamStatus> {
        let mut teams: BTreeMap<&str, TeamStatus> = BTreeMap::new();
        for entry in self.members() {
            let new = || TeamStatus {
                team: entry.team.clone(),
                dir: entry.team_dir.clone().into(),
                exists: self.teams.contains(Path::new(&entry.team_dir)),
                members: 0,
            };
            teams.entry(&entry.team_dir).or_insert_with(new).members += 1;
        }
        teams.into_values().collect()
    }

    fn member(&self, entry: &RosterEntry) -> MemberStatus {
        let id = entry.id();
        let queue = self.shared.journal.queue(&id).ok();
        let queued = queue.as_ref().map_or(0, |queue| queue.queued);
        let reason = queue.as_ref().and_then(|queue| queue.reason.clone());
        let state = match (&reason, queued) {
            (Some(_), _) => "waiting",
            (None, 1..) => "delivering",
            (None, 0) if !self.teams.contains(&id.team_dir) => "no team",
            (None, 0) => "ready",
        };
        MemberStatus {
            team: entry.team.clone(),
            team_dir: id.team_dir.clone(),
            name: entry.name.clone(),
            agent_type: entry.agent_type.clone(),
            pane: entry.pane.to_string(),
            profile: entry.profile.clone().unwrap_or_else(|| PLAIN.to_owned()),
            state: state.to_owned(),
            queued,
            failed: queue.as_ref().map_or(0, |queue| queue.failed),
            detail: self.shared.trouble_of(&id),
            waiting_since: reason.is_some().then(|| queue.as_ref()?.waiting_since).flatten(),
            reason,
            last_delivery: queue.and_then(|queue| queue.last_delivery),
        }
    }
}
