//! Marking what was delivered as read in the inbox, and pruning what was read long ago.
//!
//! Owns what the daemon writes to inboxes: one rewrite for all that was delivered since the last.

use std::path::Path;

use ringer_teams::{Mailbox, Tidied};

use crate::error::Result;
use crate::journal::{Journal, to_mark};

/// Brings an inbox up to date with the journal, keeping `tail` entries that were read.
pub(crate) fn mark(journal: &Journal, path: &Path, tail: usize) -> Result<Tidied> {
    // From here on the journal may be the only one that has the text.
    journal.sync()?;
    let delivered = journal.unmarked(path)?;
    let mailbox = Mailbox::new(path);
    let inbox = mailbox.read()?;
    let marked = to_mark(&inbox, &delivered);
    // The journal hears of it first: should we die in between, it finds these entries again,
    // marked as read, and counts them without delivering them.
    let read = inbox
        .rows
        .iter()
        .zip(&marked)
        .filter_map(|(row, marked)| row.as_entry().filter(|entry| entry.read || *marked));
    let read: Vec<_> = read.collect();
    journal.pruning(path, read[..read.len().saturating_sub(tail)].iter().copied())?;
    let done = mailbox.tidy(|inbox| to_mark(inbox, &delivered), tail)?;
    journal.marked(path, &delivered)?;
    Ok(done.value)
}
