//! What is done now and then, whether or not something happened.
//!
//! Owns finding out what events did not tell.

use std::time::SystemTime;

use jiff::Timestamp;
use ringer_teams::ClaudeDir;
use tokio::time::Instant;
use tracing::{info, warn};

use super::super::intake;
use super::super::jobs::Job;
use super::super::later::one_line;
use super::super::shared::blocking;
use super::super::watcher::Stage;
use super::{Core, Event, Left, SWEEP, now};
use crate::error::Result;
use crate::journal::{Journal, Life, MemberId};
use crate::roster::Roster;

/// Workers that have ended are looked at again for so long, and so many of them.
const LATELY_MS: i64 = 24 * 60 * 60 * 1000;
const LAST: u32 = 100;

impl Core {
    /// What the journal says is still to be done, whoever left it undone. Who was asked something by then
    /// need be found only once: later it is seen as it comes.
    pub(super) fn catch_up(&self, at_first: bool) {
        let (journal, events) = (self.shared.journal.clone(), self.events.clone());
        let claude = self.claude.clone();
        tokio::spawn(async move {
            let left = blocking(move || -> Result<_> {
                let mut members = journal.members_with_mail()?;
                members.extend(journal.members_with_marks()?);
                let asked = if at_first { journal.asked_to_shut_down()? } else { Vec::new() };
                let ended = if at_first { lately_ended(&journal, &claude)? } else { Vec::new() };
                Ok(Left { members, asked, ended, inboxes: journal.inboxes_with_receipts_due()? })
            });
            events.send(Event::Left(left.await)).await.ok();
        });
    }

    /// The slow way to learn of changes: for what cannot be watched, and for what was missed.
    pub(super) fn sweep(&mut self) {
        tokio::task::block_in_place(|| self.watcher.follow());
        let mut paths = vec![Roster::path_in(&self.options.state), self.options.config.clone()];
        paths.extend(self.team_dirs().iter().map(|dir| dir.join("config.json")));
        paths.extend(self.inboxes.keys().cloned());
        let changed = tokio::task::block_in_place(|| self.signatures.changed(&paths));
        for path in changed {
            self.path_changed(&path, now(Stage::Closed));
        }
        self.router.bury();
        self.compare_heard();
        self.catch_up(false);
        // Tasks come without mail.
        self.watch();
        let trouble = self.watcher.watching().trouble.is_some();
        if trouble {
            for dir in self.team_dirs() {
                self.jobs.start(Job::Board(dir), now(Stage::Closed));
            }
        }
        let pause = if trouble { self.shared.settings().poll() } else { SWEEP };
        self.next_sweep = Instant::now() + pause;
    }

    pub(super) fn prune(&self) {
        let (journal, keep) = (self.shared.journal.clone(), self.shared.settings().keep());
        tokio::spawn(async move {
            let pruned = blocking(move || {
                let then = SystemTime::now().checked_sub(keep).unwrap_or(SystemTime::UNIX_EPOCH);
                journal.prune(then, intake::is_team_gone)
            });
            match pruned.await {
                Ok(0) => {}
                Ok(count) => info!(count, "old messages pruned from the journal"),
                Err(error) => warn!("the journal was not pruned: {}", one_line(&error)),
            }
        });
    }
}

/// Workers that ended lately, on teams that are there: somebody may have written to one in that very moment, while no
/// daemon ran that could have seen to it.
fn lately_ended(journal: &Journal, claude: &ClaudeDir) -> Result<Vec<MemberId>> {
    let since = Timestamp::now().as_millisecond() - LATELY_MS;
    let lives = journal.ended_workers(LAST)?.into_iter();
    let lately = lives.filter(|life| life.ended_at.is_some_and(|at| at > since));
    let member = |life: Life| Some(MemberId::new(claude.team(&life.team).ok()?.dir(), &life.name));
    Ok(lately.filter_map(member).collect())
}
