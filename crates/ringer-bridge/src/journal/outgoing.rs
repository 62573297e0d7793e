//! Messages to others, from the inbox they were written to until they are taken from it.
//!
//! Owns their states: `written → taken`.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ringer_teams::Inbox;
use rusqlite::params;

use super::incoming::mailbox_id;
use super::message::text;
use super::{Journal, Sync, millis, next_revision};
use crate::error::Result;

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
        self.write(Sync::Later, |connection| {
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

    /// Looks which of our messages were taken from an inbox, and returns how many are left there.
    pub fn receipts(&self, path: &Path, inbox: &Inbox, now: SystemTime) -> Result<usize> {
        let due: Vec<(i64, String)> = self.read(|connection| {
            let mut due = connection.prepare_cached(
                "SELECT messages.id, msg_id FROM messages JOIN mailboxes ON mailboxes.id = mailbox \
                 WHERE path = ?1 AND state = 'written'",
            )?;
            due.query_map([text(path)], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })?;
        let unread = |id: &str| {
            inbox.entries().any(|entry| !entry.read && entry.msg_id.as_deref() == Some(id))
        };
        let taken: Vec<i64> =
            due.iter().filter(|(_, msg_id)| !unread(msg_id)).map(|(id, _)| *id).collect();
        if !taken.is_empty() {
            self.write(Sync::Later, |connection| {
                for id in &taken {
                    connection
                        .prepare_cached(
                            "UPDATE messages SET state = 'taken', revision = ?2, \
                             delivered_at = ?3, changed_at = ?3 WHERE id = ?1",
                        )?
                        .execute(params![id, next_revision(connection)?, millis(now)])?;
                }
                Ok(())
            })?;
        }
        Ok(due.len() - taken.len())
    }
}
