//! Messages to others, from the inbox they were written to until they are taken from it.
//!
//! Owns their states: `written → taken`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ringer_teams::Inbox;
use rusqlite::params;

use super::incoming::mailbox_id;
use super::message::text;
use super::{Journal, millis, next_revision};
use crate::error::Result;
use crate::unheard::{NO_NEWS, Unheard};

/// A message that is in somebody's inbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    pub(crate) team_dir: &'a Path,
    pub(crate) team: &'a str,
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    pub(crate) path: &'a Path,
    pub(crate) msg_id: &'a str,
    pub(crate) summary: Option<&'a str>,
    pub(crate) text: &'a str,
    pub(crate) sent_at: &'a str,
}

impl Journal {
    /// Remembers what was sent.
    pub(crate) fn written(&self, sent: &Outgoing<'_>, now: SystemTime) -> Result<()> {
        self.write(|connection| {
            let mailbox = mailbox_id(connection, &text(sent.path))?;
            let mut insert = connection.prepare_cached(
                "INSERT INTO messages (revision, direction, team_dir, team, member, peer, mailbox, \
                 identity, msg_id, summary, text, sent_at, state, received_at, changed_at) \
                 VALUES (?1, 'out', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'written', ?12, ?12)",
            )?;
            insert.execute(params![
                next_revision(connection)?,
                text(sent.team_dir),
                sent.team,
                sent.from,
                sent.to,
                mailbox,
                sent.msg_id.as_bytes(),
                sent.msg_id,
                sent.summary,
                sent.text,
                sent.sent_at,
                millis(now),
            ])?;
            Ok(())
        })
    }

    /// Inboxes with messages of ours that nobody has taken yet.
    pub fn inboxes_with_receipts_due(&self) -> Result<Vec<PathBuf>> {
        self.read(|connection| {
            let mut inboxes = connection.prepare_cached(
                "SELECT DISTINCT path FROM messages JOIN mailboxes ON mailboxes.id = mailbox \
                 WHERE state = 'written'",
            )?;
            inboxes.query_map([], |row| row.get::<_, String>(0).map(Into::into))?.collect()
        })
    }

    /// What was written before `then` and not taken since, by whom it is for.
    pub(crate) fn not_taken_since(&self, then: SystemTime) -> Result<Vec<Unheard>> {
        self.read(|connection| {
            let mut due = connection.prepare_cached(
                "SELECT team, team_dir, peer, count(*), min(received_at) FROM messages \
                 WHERE state = 'written' AND received_at < ?1 AND NOT instr(text, ?2) \
                 GROUP BY team_dir, peer",
            )?;
            let row = |row: &rusqlite::Row<'_>| {
                Ok(Unheard {
                    team: row.get(0)?,
                    team_dir: row.get::<_, String>(1)?.into(),
                    to: row.get(2)?,
                    is_lead: false,
                    count: row.get(3)?,
                    since: row.get(4)?,
                })
            };
            due.query_map(params![millis(then), NO_NEWS], row)?.collect()
        })
    }

    /// The messages of ours in an inbox that nobody has taken yet.
    pub(crate) fn receipts_due(&self, path: &Path) -> Result<Vec<Due>> {
        self.read(|connection| {
            let mut due = connection.prepare_cached(
                "SELECT messages.id, msg_id FROM messages JOIN mailboxes ON mailboxes.id = mailbox \
                 WHERE path = ?1 AND state = 'written'",
            )?;
            let row = |row: &rusqlite::Row<'_>| Ok(Due { id: row.get(0)?, msg_id: row.get(1)? });
            due.query_map([text(path)], row)?.collect()
        })
    }

    /// Notes which of them were taken: those that are marked as read, or gone.
    pub(crate) fn receipts(&self, due: &[Due], inbox: &Inbox, now: SystemTime) -> Result<()> {
        let unread: HashSet<&str> = inbox
            .entries()
            .filter(|entry| !entry.read)
            .filter_map(|entry| entry.msg_id.as_deref())
            .collect();
        let taken: Vec<&Due> =
            due.iter().filter(|due| !unread.contains(due.msg_id.as_str())).collect();
        if taken.is_empty() {
            return Ok(());
        }
        self.write(|connection| {
            let mut take = connection.prepare_cached(
                "UPDATE messages SET state = 'taken', revision = ?2, delivered_at = ?3, \
                 changed_at = ?3 WHERE id = ?1",
            )?;
            for due in &taken {
                take.execute(params![due.id, next_revision(connection)?, millis(now)])?;
            }
            Ok(())
        })
    }
}

/// A message of ours that somebody should take.
#[derive(Debug)]
pub(crate) struct Due {
    id: i64,
    msg_id: String,
}
