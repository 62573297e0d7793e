//! Taking over a changed roster, and changed settings.
//!
//! Owns what follows from them. A file with a mistake in it changes nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ringer_panes::PLAIN;
use tokio::time::Instant;
use tracing::info;

use super::super::jobs::Job;
use super::super::later::one_line;
use super::super::router::Place;
use super::super::watcher::Stage;
use super::{Core, now};
use crate::journal::MemberId;
use crate::roster::{Roster, RosterEntry};
use crate::settings::Settings;

/// Before it is seen to what somebody who was killed may have left undone.
const STRAGGLERS: Duration = Duration::from_secs(1);

impl Core {
    pub(super) fn load_roster(&mut self) {
        let loaded = tokio::task::block_in_place(|| Roster::load(&self.options.state));
        let roster = match loaded {
            Ok(roster) => roster,
            Err(error) => return self.problems.report("roster", &one_line(&error)),
        };
        self.problems.solve("roster");
        if roster == self.roster && self.ready {
            return;
        }
        let before = std::mem::replace(&mut self.roster, roster);
        let mut alike: HashMap<&str, usize> = HashMap::new();
        for command in self.roster.members.iter().filter_map(command) {
            *alike.entry(command).or_default() += 1;
        }
        let there = self.roster.members.iter().filter(|entry| !entry.is_starting());
        let places = there.map(|entry| Place {
            id: entry.id(),
            pane: entry.pane.clone(),
            occupant: entry.occupant.clone(),
            profile: entry.profile.clone().unwrap_or_else(|| PLAIN.to_owned()),
            hooks: entry.hooks,
            unique: command(entry).is_some_and(|command| alike[command] == 1),
            needs_team: !entry.follows.is_team(),
            team_is_gone: false,
        });
        let moved: HashSet<MemberId> =
            self.roster.members.iter().flat_map(RosterEntry::former_ids).collect();
        self.router.assign(places.collect(), moved);
        self.presence.assign(&self.roster);
        let members: HashSet<MemberId> = self.roster.members.iter().map(RosterEntry::id).collect();
        self.inboxes.retain(|_, owner| members.contains(&owner.member));
        let known: HashSet<MemberId> = before.members.iter().map(RosterEntry::id).collect();
        for id in members.difference(&known) {
            self.router.wake(id);
            self.visit(id.team_dir.clone(), now(Stage::Closed));
        }
        let old: HashMap<MemberId, &RosterEntry> =
            before.members.iter().map(|entry| (entry.id(), entry)).collect();
        let mut visits = HashSet::new();
        for entry in &self.roster.members {
            let says = |entry: &RosterEntry| (entry.away_since, entry.is_starting());
            // It goes into `config.json` now, or is said to be away there.
            if old.get(&entry.id()).is_some_and(|old| says(old) != says(entry)) {
                visits.insert(entry.id());
            }
        }
        for id in visits {
            self.router.wake(&id);
            self.visit(id.team_dir.clone(), now(Stage::Closed));
        }
        for entry in before.members.iter().filter(|entry| entry.birth.is_some()) {
            // Somebody may have written to it in the very moment in which it was taken off.
            if !members.contains(&entry.id()) && !self.router.has_moved(&entry.id()) {
                let later = Instant::now() + STRAGGLERS;
                self.jobs.start_at(later, Job::Leftovers(entry.id()), now(Stage::Closed));
            }
        }
        for leaving in &self.roster.leaving {
            // Whoever struck it off is at it, unless it was killed.
            let id = MemberId::new(&leaving.team_dir, &leaving.name);
            self.jobs.start_at(Instant::now() + STRAGGLERS, Job::TakeOff(id), now(Stage::Closed));
        }
        self.watch();
        if self.ready && self.somebody_follows() {
            self.jobs.start(Job::Follow, now(Stage::Closed));
        }
        let retiring: Vec<MemberId> =
            self.roster.members.iter().filter(|m| m.retiring).map(RosterEntry::id).collect();
        for id in retiring {
            self.jobs.start(Job::Retire(id), now(Stage::Closed));
        }
    }

    pub(super) fn load_settings(&mut self) {
        let options = &self.options;
        let loaded =
            tokio::task::block_in_place(|| Settings::load(&options.config, options.config_named));
        match loaded {
            Err(error) => {
                self.problems.report("settings", &format!("{error}; the old settings stay"));
            }
            Ok(new) => {
                self.problems.solve("settings");
                let old = self.shared.settings();
                if *old == new {
                    return;
                }
                info!("settings changed");
                let (was, is) = (old.delivery.parallel, new.delivery.parallel);
                if is > was {
                    self.shared.typing.add_permits(is - was);
                } else {
                    self.shared.typing.forget_permits(was - is);
                }
                self.settings.send_replace(Arc::new(new));
            }
        }
    }
}

/// What a member's worker was started with.
fn command(entry: &RosterEntry) -> Option<&str> {
    entry.occupant.as_ref().map(|occupant| occupant.started_with.as_str())
}
