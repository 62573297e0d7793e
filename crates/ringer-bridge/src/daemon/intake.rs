//! Reading an inbox that changed, into the journal.
//!
//! Owns the wait for a writer that is not done yet. Blocks, so it runs beside everything else, one
//! read of an inbox at a time.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ringer_teams::{Entry, Mailbox};

use super::watcher::{Noted, Stage};
use crate::error::Result;
use crate::journal::{Intake, Journal, MemberId, SHUTDOWN_REQUEST};

/// Whose inbox a file is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Owner {
    pub(crate) member: MemberId,
    pub(crate) team: String,
}

/// What an inbox had.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mail {
    /// So many new messages.
    pub(crate) count: usize,
    /// Whether somebody may be asked to shut down.
    pub(crate) asks: bool,
}

/// Takes in what is new in an inbox.
pub(crate) fn read_inbox(
    journal: &Journal,
    path: &Path,
    owner: &Owner,
    noted: Noted,
    debounce: Duration,
) -> Result<Mail> {
    // What was renamed in is whole. Anything else may be followed by more from the same writer.
    if noted.stage != Stage::Renamed {
        wait_for_unlock(path, noted.since + debounce);
    }
    let inbox = Mailbox::new(path).read()?;
    let count = journal.receive(&Intake {
        member: &owner.member,
        team: &owner.team,
        path,
        inbox: &inbox,
        read: noted.since.elapsed(),
        now: SystemTime::now(),
    })?;
    let asks = |entry: &Entry| !entry.read && entry.text.contains(SHUTDOWN_REQUEST);
    Ok(Mail { count, asks: count > 0 && inbox.entries().any(asks) })
}

/// Whether the team is gone that an inbox belongs to.
pub(crate) fn is_team_gone(inbox: &Path) -> bool {
    inbox.ancestors().nth(2).is_some_and(|dir| !dir.exists())
}

/// Sees which of our own messages were taken from somebody else's inbox. With a team that is deleted
/// they are gone, too, but nobody has taken them.
pub(crate) fn read_receipts(journal: &Journal, path: &Path) -> Result<()> {
    let due = journal.receipts_due(path)?;
    if due.is_empty() || is_team_gone(path) {
        return Ok(());
    }
    let inbox = Mailbox::new(path).read()?;
    journal.receipts(&due, &inbox, SystemTime::now())
}

/// Until the writer's lock directory is gone, but not beyond the deadline: one that a crash left
/// there must not hold up the mail.
fn wait_for_unlock(path: &Path, deadline: Instant) {
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    let lock = PathBuf::from(lock);
    let mut pause = Duration::from_micros(200);
    while lock.exists() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}
