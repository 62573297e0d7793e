//! Messages whose worker ended before it had them.
//!
//! Owns what becomes of them here: they go back to who sent them, or are kept as failed where nobody is left to be
//! told.

use std::path::Path;
use std::time::SystemTime;

use rusqlite::params;

use super::message::{MemberId, Message, text};
use super::{Journal, millis, next_revision};
use crate::error::Result;

impl Journal {
    /// All that is to be delivered to a member, oldest first.
    pub(crate) fn undelivered(&self, member: &MemberId) -> Result<Vec<Message>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {} FROM messages INDEXED BY message_queue WHERE team_dir = ?1 AND member = ?2 \
                 AND state IN ('received', 'waiting', 'delivering') ORDER BY id",
                Message::COLUMNS
            );
            let mut all = connection.prepare_cached(&sql)?;
            all.query_map(params![member.dir(), member.name], Message::from_row)?.collect()
        })
    }

    /// They went back to who sent them.
    pub(crate) fn returned(&self, ids: &[i64], why: &str, now: SystemTime) -> Result<()> {
        self.end(ids, "returned", why, now)
    }

    /// Nobody is left to be told.
    pub(crate) fn abandoned(&self, ids: &[i64], why: &str, now: SystemTime) -> Result<()> {
        self.end(ids, "failed", why, now)
    }

    /// A team was deleted: what waits for anybody on it is given up, and does not come to a later team of that name.
    pub fn team_deleted(&self, team_dir: &Path) -> Result<()> {
        let members = self.members_with_mail()?.into_iter().filter(|id| id.team_dir == team_dir);
        for member in members {
            let ids: Vec<i64> = self.undelivered(&member)?.iter().map(|one| one.id).collect();
            self.abandoned(&ids, "the team was deleted", SystemTime::now())?;
        }
        self.sync()
    }

    fn end(&self, ids: &[i64], state: &str, why: &str, now: SystemTime) -> Result<()> {
        self.write(|connection| {
            let mut end = connection.prepare_cached(
                "UPDATE messages SET revision = ?2, state = ?3, reason = ?4, claim = NULL, \
                 changed_at = ?5 WHERE id = ?1 AND state IN ('received', 'waiting', 'delivering')",
            )?;
            for id in ids {
                end.execute(params![id, next_revision(connection)?, state, why, millis(now)])?;
            }
            Ok(())
        })
    }

    /// What waits for a member says why.
    pub(crate) fn put_aside(&self, member: &MemberId, why: &str, now: SystemTime) -> Result<()> {
        for message in self.undelivered(member)? {
            self.waiting(message.id, why, now)?;
        }
        Ok(())
    }

    /// What waits for a member is for the same worker on another team now. Their number.
    pub(crate) fn carry_over(
        &self,
        from: &MemberId,
        to: &MemberId,
        team: &str,
        now: SystemTime,
    ) -> Result<usize> {
        self.write(|connection| {
            let revision = next_revision(connection)?;
            let mut carry = connection.prepare_cached(
                "UPDATE messages SET revision = ?6, team_dir = ?3, member = ?4, team = ?5, \
                 changed_at = ?7 WHERE team_dir = ?1 AND member = ?2 AND direction = 'in' \
                 AND state IN ('received', 'waiting', 'delivering')",
            )?;
            let (dir, now) = (text(Path::new(&to.team_dir)), millis(now));
            carry.execute(params![from.dir(), from.name, dir, to.name, team, revision, now])
        })
    }
}
