//! What jobs came to, and what follows from it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tokio::time::Instant;
use tracing::{debug, info};

use super::super::follow::Followed;
use super::super::intake::{Mail, Owner};
use super::super::jobs::{Finding, Job};
use super::super::visit::Visit;
use super::super::watcher::Stage;
use super::{COOLING, Core, now};

/// What the watchdog's problems are about begins like this.
const WATCHDOG: &str = "watchdog: ";

impl Core {
    /// Lets the watchdog have a look in a while.
    pub(super) fn watch(&mut self) {
        if let Some(every) = self.shared.settings().watchdog() {
            self.jobs.start_at(Instant::now() + every, Job::Watch, now(Stage::Closed));
        }
    }

    pub(super) fn is_wanted(&self, job: &Job) -> bool {
        match job {
            Job::Visit(dir) | Job::Board(dir) => self.roster.on(dir).next().is_some(),
            Job::Read(path, _) => self.inboxes.contains_key(path),
            Job::Requests(id) | Job::Retire(id) | Job::Check(id) => {
                self.roster.find(&id.team_dir, &id.name).is_some()
            }
            Job::Follow => self.somebody_follows(),
            Job::TakeOff(_) | Job::Leftovers(_) | Job::Watch => true,
            Job::Listen(dir) | Job::Compare(dir) => dir.exists(),
            Job::Receipts(_) => false,
        }
    }

    pub(super) fn found(&mut self, job: &Job, finding: Finding) {
        match (job, finding) {
            (Job::Visit(dir), Finding::Visit(visit)) => self.visited(dir, visit),
            (Job::Read(_, owner), Finding::Mail(Mail { count: count @ 1.., asks })) => {
                debug!(member = %owner.member, count, "new mail");
                self.router.wake(&owner.member);
                self.watch();
                if asks {
                    self.jobs.start(Job::Requests(owner.member.clone()), now(Stage::Closed));
                }
            }
            (Job::Follow, Finding::Followed(Followed { visits, again })) => {
                if !visits.is_empty() {
                    self.load_roster();
                }
                for dir in visits {
                    self.visit(dir, now(Stage::Closed));
                }
                if let Some(again) = again {
                    self.jobs.start_at(Instant::now() + again, job.clone(), now(Stage::Closed));
                }
            }
            (Job::Watch, Finding::Watched(round)) => {
                self.problems.replace(
                    WATCHDOG,
                    round.troubles.into_iter().map(|(id, why)| (format!("{WATCHDOG}{id}"), why)),
                );
                if round.again {
                    self.watch();
                }
            }
            (Job::Listen(dir) | Job::Compare(dir), Finding::Heard(heard)) => {
                self.heard(job, dir, &heard);
            }
            (Job::Requests(_), Finding::Requests(Some(again)))
            | (Job::Check(_), Finding::Checked(Some(again))) => {
                self.jobs.start_at(Instant::now() + again, job.clone(), now(Stage::Closed));
            }
            _ => {}
        }
    }

    fn visited(&mut self, dir: &Path, visit: Visit) {
        let has_members = self.roster.on(dir).next().is_some();
        self.router.team_is(dir, visit.exists || !has_members);
        if visit.exists {
            self.teams.insert(dir.to_owned());
            self.jobs.start(Job::Board(dir.to_owned()), now(Stage::Closed));
        } else if self.teams.remove(dir) && has_members {
            info!(dir = %dir.display(), "the team is gone; its members wait");
        }
        // What was ours and is somebody else's now is left to them.
        let ours: HashMap<PathBuf, Owner> = visit
            .inboxes
            .into_iter()
            .filter(|(_, owner)| self.roster.find(dir, &owner.member.name).is_some())
            .collect();
        self.inboxes.retain(|path, owner| owner.member.team_dir != dir || ours.contains_key(path));
        if visit.restored {
            self.cooling.insert(dir.to_owned(), Instant::now() + COOLING);
        }
        let about = format!("{} ", dir.display());
        let problems = visit.problems.into_iter();
        self.problems
            .replace(&about, problems.map(|(id, why)| (format!("{about}{}", id.name), why)));
        for (path, owner) in ours {
            if self.inboxes.insert(path.clone(), owner.clone()).is_none() {
                self.jobs.start(Job::Read(path, owner), now(Stage::Closed));
            }
        }
    }
}
