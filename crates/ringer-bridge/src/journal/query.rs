//! Questions to the journal, and forgetting what is old.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::params;
use serde::Serialize;

use super::message::{MemberId, Message, State, text};
use super::{Journal, millis};
use crate::error::Result;

/// Which messages are wanted.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only of the team in this directory.
    pub team_dir: Option<PathBuf>,
    /// Only to or from this member.
    pub member: Option<String>,
    /// Only in this state.
    pub state: Option<State>,
    /// Only those that changed after this revision, in the order of their changes.
    pub after_revision: Option<i64>,
    /// At most so many, the last ones.
    pub last: Option<u32>,
}

/// What is to be delivered to one member.
#[derive(Debug, Clone, Serialize)]
pub struct Queue {
    /// The team's directory.
    pub team_dir: PathBuf,
    /// The member's name.
    pub member: String,
    /// How many messages are to be delivered.
    pub queued: u32,
    /// How many were given up.
    pub failed: u32,
    /// Why the first of them waits, if it does.
    pub reason: Option<String>,
    /// Since when; milliseconds since 1970.
    pub waiting_since: Option<i64>,
    /// When the last one was delivered.
    pub last_delivery: Option<i64>,
}

impl Journal {
    /// The messages that were asked for, oldest first.
    pub fn messages(&self, filter: &Filter) -> Result<Vec<Message>> {
        self.read(|connection| {
            let (order, news) = if filter.after_revision.is_some() {
                ("revision", "revision > ?4")
            } else {
                ("id", "?4 IS NULL")
            };
            let sql = format!(
                "SELECT * FROM (SELECT {} FROM messages \
                 WHERE (?1 IS NULL OR team_dir = ?1) \
                 AND (?2 IS NULL OR member = ?2 OR peer = ?2) \
                 AND (?3 IS NULL OR state = ?3) AND {news} \
                 ORDER BY {order} DESC LIMIT ?5) ORDER BY {order}",
                Message::COLUMNS
            );
            let mut messages = connection.prepare_cached(&sql)?;
            let limit = filter.last.map_or(-1, i64::from);
            let team_dir = filter.team_dir.as_deref().map(text);
            messages
                .query_map(
                    params![team_dir, filter.member, filter.state, filter.after_revision, limit],
                    Message::from_row,
                )?
                .collect()
        })
    }

    /// The number of the last change.
    pub fn revision(&self) -> Result<i64> {
        self.read(|connection| {
            connection.query_row("SELECT revision FROM counter", [], |row| row.get(0))
        })
    }

    /// What is to be delivered to a member.
    pub fn queue(&self, member: &MemberId) -> Result<Queue> {
        self.read(|connection| {
            let mut queue = connection.prepare_cached(
                "SELECT \
                 (SELECT count(*) FROM messages INDEXED BY message_queue \
                    WHERE team_dir = ?1 AND member = ?2 AND state IN ('received', 'waiting', 'delivering')), \
                 (SELECT count(*) FROM messages WHERE team_dir = ?1 AND member = ?2 \
                    AND direction = 'in' AND state = 'failed'), \
                 (SELECT delivered_at FROM messages WHERE team_dir = ?1 AND member = ?2 \
                    AND direction = 'in' AND state = 'delivered' ORDER BY id DESC LIMIT 1)",
            )?;
            let (queued, failed, last_delivery) = queue
                .query_row(params![member.dir(), member.name], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })?;
            let mut head = connection.prepare_cached(
                "SELECT reason, changed_at FROM messages INDEXED BY message_queue \
                 WHERE team_dir = ?1 AND member = ?2 AND state IN ('received', 'waiting', 'delivering') ORDER BY id LIMIT 1",
            )?;
            let mut rows = head.query(params![member.dir(), member.name])?;
            let (reason, waiting_since) = match rows.next()? {
                Some(row) => (row.get(0)?, row.get(1)?),
                None => (None, None),
            };
            Ok(Queue {
                team_dir: member.team_dir.clone(),
                member: member.name.clone(),
                queued,
                failed,
                reason,
                waiting_since,
                last_delivery,
            })
        })
    }

    /// The last message that a member got, if it has said nothing to anybody since. Nobody has to answer `but`, nor a
    /// message whose summary begins like this.
    pub(crate) fn unanswered(
        &self,
        member: &MemberId,
        but: &str,
        summary: &str,
    ) -> Result<Option<Message>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {} FROM messages WHERE team_dir = ?1 AND member = ?2 AND direction = 'in' \
                 AND state = 'delivered' AND peer != ?3 \
                 AND coalesce(summary, '') NOT LIKE ?4 || '%' AND delivered_at > \
                 coalesce((SELECT max(received_at) FROM messages WHERE team_dir = ?1 \
                    AND (direction = 'out' AND member = ?2 OR direction = 'in' AND peer = ?2)), 0) \
                 ORDER BY id DESC LIMIT 1",
                Message::COLUMNS
            );
            let mut last = connection.prepare_cached(&sql)?;
            let mut rows = last.query(params![member.dir(), member.name, but, summary])?;
            rows.next()?.map(Message::from_row).transpose()
        })
    }

    /// Changes whenever something is said or delivered on a team, but for what `but` says.
    pub(crate) fn pulse(&self, team_dir: &Path, but: &str) -> Result<(i64, i64)> {
        self.read(|connection| {
            let mut last = connection.prepare_cached(
                "SELECT coalesce(max(id), 0), coalesce(max(delivered_at), 0) FROM messages \
                 WHERE team_dir = ?1 AND member != ?2 AND peer != ?2",
            )?;
            last.query_row(params![text(team_dir), but], |row| Ok((row.get(0)?, row.get(1)?)))
        })
    }

    /// Forgets messages that were done with before `then`, and returns how many. What is not
    /// delivered stays, however old, and so does what an inbox does not show as read yet.
    pub fn prune(&self, then: SystemTime, is_gone: impl Fn(&Path) -> bool) -> Result<usize> {
        let mailboxes: Vec<(i64, String)> = self.read(|connection| {
            let mut all = connection.prepare("SELECT id, path FROM mailboxes")?;
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })?;
        let gone: Vec<i64> =
            mailboxes.iter().filter(|(_, path)| is_gone(Path::new(path))).map(|m| m.0).collect();
        self.write(|connection| {
            let pruned = connection.execute(
                "DELETE FROM messages WHERE changed_at < ?1 \
                 AND (state = 'taken' OR (state IN ('delivered', 'returned') AND marked = 1))",
                [millis(then)],
            )?;
            connection.execute("DELETE FROM workers WHERE ended_at < ?1", [millis(then)])?;
            connection.execute("DELETE FROM events WHERE at < ?1", [millis(then)])?;
            connection.execute(
                "DELETE FROM transcripts WHERE changed_at < ?1 \
                 AND team_dir NOT IN (SELECT team_dir FROM pictures)",
                [millis(then)],
            )?;
            for mailbox in &gone {
                // Nobody can bring entries back to a file whose team is gone, unless something of
                // it is still here.
                connection.execute(
                    "DELETE FROM messages WHERE mailbox = ?1 AND changed_at < ?2 \
                     AND state IN ('delivered', 'returned', 'taken')",
                    params![mailbox, millis(then)],
                )?;
                let used = "EXISTS (SELECT 1 FROM messages WHERE mailbox = ?1)";
                connection.execute(
                    &format!("DELETE FROM seen WHERE mailbox = ?1 AND NOT {used}"),
                    [mailbox],
                )?;
                connection.execute(
                    &format!("DELETE FROM mailboxes WHERE id = ?1 AND NOT {used}"),
                    [mailbox],
                )?;
            }
            Ok(pruned)
        })
    }
}
