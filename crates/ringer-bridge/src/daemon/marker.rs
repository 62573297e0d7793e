//! Marking what was delivered as read in the inbox, and pruning what was read long ago.
//!
//! Owns what the daemon writes to inboxes: one rewrite for all that was delivered since the last.
//! It works beside the courier, so that an inbox which cannot be written holds up no message.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ringer_teams::{Mailbox, Tidied};
use tracing::{debug, warn};

use super::later::one_line;
use super::shared::{About, Bell, Shared, blocking};
use crate::error::Result;
use crate::journal::{Journal, MemberId, to_mark};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Marks a member's mail whenever the bell says so, until the daemon ends.
pub(crate) async fn run(shared: Arc<Shared>, id: MemberId, bell: Arc<Bell>) {
    loop {
        tokio::select! {
            () = bell.marks.notified() => {}
            () = shared.stopping() => return,
        }
        let mut pause = FIRST_PAUSE;
        while let Err(error) = mark_all(&shared, &id).await {
            let why = format!("delivered mail is not marked as read: {}", one_line(&error));
            if pause == FIRST_PAUSE {
                warn!(member = %id, "{why}");
            }
            shared.trouble(&id, About::Marks, Some(&why));
            if shared.pause_or_stop(pause).await {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        shared.trouble(&id, About::Marks, None);
    }
}

async fn mark_all(shared: &Arc<Shared>, id: &MemberId) -> Result<()> {
    let _permit = shared.marking.acquire().await.expect("it is never closed");
    let (journal, id) = (shared.journal.clone(), id.clone());
    let tail = shared.settings().inbox.keep_read;
    blocking(move || {
        for path in journal.unmarked_inboxes(&id)? {
            let tidied = mark_inbox(&journal, &path, tail)?;
            debug!(member = %id, marked = tidied.marked, pruned = tidied.pruned, "inbox tidied");
        }
        journal.shrink()
    })
    .await
}

/// Brings an inbox up to date with the journal, keeping `tail` entries that were read.
pub(crate) fn mark_inbox(journal: &Journal, path: &Path, tail: usize) -> Result<Tidied> {
    // From here on the journal may be the only one that has the text.
    journal.sync()?;
    let delivered = journal.unmarked(path)?;
    let done = Mailbox::new(path).tidy(|inbox| to_mark(inbox, &delivered), tail)?;
    journal.marked(path, &delivered)?;
    Ok(done.value)
}
