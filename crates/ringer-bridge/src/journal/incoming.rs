//! Messages to members of ours, from the inbox to the pane.
//!
//! Owns their states: `received → waiting(reason) → delivering → delivered | returned(reason) | failed(reason)`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ringer_teams::{Entry, Inbox};
use rusqlite::{Connection, OptionalExtension, params};

use super::cursor::{Found, Identity, compare};
use super::message::{MemberId, Message, State, Via, text};
use super::{Journal, micros, millis, next_revision};
use crate::claim::Claim;
use crate::error::Result;

/// What a request to shut down has in it, for a first look.
pub(crate) const SHUTDOWN_REQUEST: &str = "\"shutdown_request\"";

/// An inbox that was read.
#[derive(Debug, Clone, Copy)]
pub struct Intake<'a> {
    /// Whose it is.
    pub member: &'a MemberId,
    /// The team's name.
    pub team: &'a str,
    /// The file.
    pub path: &'a Path,
    /// What is in it.
    pub inbox: &'a Inbox,
    /// Since the file changed.
    pub read: Duration,
    /// The time of day.
    pub now: SystemTime,
}

/// A message that is about to be typed.
#[derive(Debug, Clone)]
pub struct Typing {
    /// Who was known to hand it over; if somebody else is by now, it is not typed.
    pub claim: Option<Claim>,
    /// Itself, or the line that makes a hook fetch it.
    pub via: Via,
    /// How often the screen shows it already.
    pub shown_before: u32,
    /// Since it came.
    pub queued: Duration,
    /// The time of day.
    pub now: SystemTime,
}

/// How a delivery went.
#[derive(Debug, Clone, Copy)]
pub struct Delivered {
    /// Until it was typed.
    pub typed: Duration,
    /// From there until it was seen and Enter was pressed; none if that is not known.
    pub shown: Option<Duration>,
    /// The time of day.
    pub now: SystemTime,
}

impl Journal {
    /// Takes in what is new in an inbox, and returns how many messages that were.
    pub fn receive(&self, intake: &Intake<'_>) -> Result<usize> {
        let entries: Vec<&Entry> = intake.inbox.entries().collect();
        let path = text(intake.path);
        // Most often there is nothing new, and nobody has to be kept from writing to see that.
        if self.read(|connection| find(connection, &path, &entries))?.grown.is_empty() {
            return Ok(0);
        }
        self.write(|connection| {
            let found = find(connection, &path, &entries)?;
            let mailbox = mailbox_id(connection, &path)?;
            let mut see = connection
                .prepare_cached("INSERT OR REPLACE INTO seen VALUES (?1, ?2, ?3)")?;
            for (identity, count) in &found.grown {
                see.execute(params![mailbox, identity.bytes(), count])?;
            }
            let mut insert = connection.prepare_cached(
                "INSERT INTO messages (revision, direction, team_dir, team, member, peer, mailbox, \
                 identity, msg_id, summary, text, sent_at, state, received_at, changed_at, read_us) \
                 VALUES (?1, 'in', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14)",
            )?;
            for entry in found.fresh.iter().map(|place| entries[*place]) {
                insert.execute(params![
                    next_revision(connection)?,
                    intake.member.dir(),
                    intake.team,
                    intake.member.name,
                    entry.from,
                    mailbox,
                    Identity::of(entry).bytes(),
                    entry.msg_id,
                    entry.summary,
                    entry.text,
                    entry.timestamp,
                    State::Received,
                    millis(intake.now),
                    micros(intake.read),
                ])?;
            }
            Ok(found.fresh.len())
        })
    }

    /// The message of a member whose turn it is.
    pub fn next(&self, member: &MemberId) -> Result<Option<Message>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {} FROM messages INDEXED BY message_queue \
                 WHERE team_dir = ?1 AND member = ?2 AND state IN ('received', 'waiting', 'delivering') ORDER BY id LIMIT 1",
                Message::COLUMNS
            );
            let mut next = connection.prepare_cached(&sql)?;
            next.query_row(params![member.dir(), member.name], Message::from_row).optional()
        })
    }

    /// Members that have mail to be delivered.
    pub fn members_with_mail(&self) -> Result<Vec<MemberId>> {
        self.read(|connection| {
            let mut members = connection.prepare_cached(
                "SELECT DISTINCT team_dir, member FROM messages INDEXED BY message_queue \
                 WHERE state IN ('received', 'waiting', 'delivering')",
            )?;
            members.query_map([], member_id)?.collect()
        })
    }

    /// Members that were asked to shut down in the last day; whether they have answered is another question.
    pub(crate) fn asked_to_shut_down(&self) -> Result<Vec<MemberId>> {
        let day = Duration::from_hours(24);
        let then = SystemTime::now().checked_sub(day).unwrap_or(SystemTime::UNIX_EPOCH);
        self.read(|connection| {
            let mut members = connection.prepare_cached(
                "SELECT DISTINCT team_dir, member FROM messages \
                 WHERE direction = 'in' AND received_at > ?1 AND instr(text, ?2)",
            )?;
            members.query_map(params![millis(then), SHUTDOWN_REQUEST], member_id)?.collect()
        })
    }

    /// It cannot be delivered now.
    pub fn waiting(&self, id: i64, reason: &str, now: SystemTime) -> Result<bool> {
        self.set(
            id,
            "state = 'waiting', reason = ?3, changed_at = ?4, attempts = attempts + 1",
            &[&reason, &millis(now)],
        )
    }

    /// It is about to be typed, or the line `via` which it is fetched; not if the worker has got it in
    /// another way meanwhile.
    pub fn delivering(&self, id: i64, typing: &Typing) -> Result<bool> {
        self.write(|connection| {
            let mut deliver = connection.prepare_cached(
                "UPDATE messages SET revision = ?2, state = 'delivering', reason = NULL, \
                 shown_before = ?3, entering = 0, claim = NULL, via = ?6, copies = copies + 1, \
                 attempts = attempts + 1, queued_us = ?4, changed_at = ?5 \
                 WHERE id = ?1 AND state NOT IN ('delivered', 'returned') AND claim IS ?7",
            )?;
            let changed = deliver.execute(params![
                id,
                next_revision(connection)?,
                typing.shown_before,
                micros(typing.queued),
                millis(typing.now),
                typing.via,
                typing.claim,
            ])?;
            Ok(changed > 0)
        })
    }

    /// It was not typed after all.
    pub fn not_typed(&self, id: i64, reason: &str, now: SystemTime) -> Result<bool> {
        self.set(
            id,
            "state = 'waiting', reason = ?3, changed_at = ?4, copies = copies - 1",
            &[&reason, &millis(now)],
        )
    }

    /// It was typed, and Enter was not pressed.
    pub fn not_entered(&self, id: i64, reason: &str, now: SystemTime) -> Result<bool> {
        self.set(
            id,
            "state = 'waiting', reason = ?3, changed_at = ?4, entering = 0",
            &[&reason, &millis(now)],
        )
    }

    /// It was typed and is on the screen: Enter comes next.
    pub fn entering(&self, id: i64) -> Result<bool> {
        self.set(id, "entering = 1", &[])
    }

    /// The worker has it, as far as the screen tells.
    pub fn delivered(&self, id: i64, how: &Delivered) -> Result<()> {
        self.write(|connection| {
            let mut deliver = connection.prepare_cached(
                "UPDATE messages SET revision = ?2, state = 'delivered', reason = NULL, \
                 claim = NULL, typed_us = ?3, shown_us = ?4, delivered_at = ?5, changed_at = ?5 \
                 WHERE id = ?1",
            )?;
            let shown = how.shown.map(micros);
            let (typed, now) = (micros(how.typed), millis(how.now));
            deliver.execute(params![id, next_revision(connection)?, typed, shown, now])?;
            Ok(())
        })
    }

    /// It is given up.
    pub fn failed_for(&self, id: i64, reason: &str, now: SystemTime) -> Result<bool> {
        self.set(id, "state = 'failed', reason = ?3, changed_at = ?4", &[&reason, &millis(now)])
    }

    /// Changes a message that the worker does not have yet; whether it was one.
    fn set(&self, id: i64, what: &str, values: &[&dyn rusqlite::ToSql]) -> Result<bool> {
        self.write(|connection| {
            let revision = next_revision(connection)?;
            let sql = format!(
                "UPDATE messages SET revision = ?2, {what} \
                 WHERE id = ?1 AND state NOT IN ('delivered', 'returned')"
            );
            let mut all: Vec<&dyn rusqlite::ToSql> = vec![&id, &revision];
            all.extend(values);
            Ok(connection.prepare_cached(&sql)?.execute(&all[..])? > 0)
        })
    }

    /// What was delivered from an inbox and is not marked there yet, with how many of a kind there
    /// are. Of entries that are alike, none is marked before all are delivered.
    pub(crate) fn unmarked(&self, path: &Path) -> Result<HashMap<Identity, u32>> {
        self.read(|connection| {
            let mut unmarked = connection.prepare_cached(
                "SELECT DISTINCT m.identity, seen.count FROM messages AS m \
                 JOIN mailboxes ON mailboxes.id = m.mailbox \
                 JOIN seen ON seen.mailbox = m.mailbox AND seen.identity = m.identity \
                 WHERE path = ?1 AND m.state IN ('delivered', 'returned') AND marked = 0 AND NOT EXISTS \
                 (SELECT 1 FROM messages AS o WHERE o.mailbox = m.mailbox \
                  AND o.identity = m.identity AND o.team_dir = m.team_dir AND o.member = m.member \
                  AND o.state IN ('received', 'waiting', 'delivering'))",
            )?;
            let row =
                |row: &rusqlite::Row<'_>| Ok((Identity::from_bytes(row.get(0)?), row.get(1)?));
            unmarked.query_map([text(path)], row)?.collect()
        })
    }

    /// Members that have something to be marked.
    pub(crate) fn members_with_marks(&self) -> Result<Vec<MemberId>> {
        self.read(|connection| {
            let mut members = connection.prepare_cached(
                "SELECT DISTINCT team_dir, member FROM messages \
                 WHERE state IN ('delivered', 'returned') AND marked = 0",
            )?;
            members.query_map([], member_id)?.collect()
        })
    }

    /// A member's inboxes in which something is still to be marked.
    pub(crate) fn unmarked_inboxes(&self, member: &MemberId) -> Result<Vec<PathBuf>> {
        self.read(|connection| {
            let mut inboxes = connection.prepare_cached(
                "SELECT DISTINCT path FROM messages JOIN mailboxes ON mailboxes.id = mailbox \
                 WHERE state IN ('delivered', 'returned') AND marked = 0 AND team_dir = ?1 AND member = ?2",
            )?;
            let member = params![member.dir(), member.name];
            inboxes.query_map(member, |row| row.get::<_, String>(0).map(Into::into))?.collect()
        })
    }

    /// They are marked as read in the inbox now.
    pub(crate) fn marked(&self, path: &Path, which: &HashMap<Identity, u32>) -> Result<()> {
        self.write(|connection| {
            let mailbox = mailbox_id(connection, &text(path))?;
            let mut mark = connection.prepare_cached(
                "UPDATE messages SET marked = 1 \
                 WHERE mailbox = ?1 AND identity = ?2 AND state IN ('delivered', 'returned') AND marked = 0",
            )?;
            for identity in which.keys() {
                mark.execute(params![mailbox, identity.bytes()])?;
            }
            Ok(())
        })
    }

    /// What was given up is to be tried again.
    pub(crate) fn revive(&self, member: &MemberId) -> Result<()> {
        let failed = self.queue(member)?.failed;
        if failed == 0 {
            return Ok(());
        }
        self.write(|connection| {
            let revision = next_revision(connection)?;
            connection.execute(
                "UPDATE messages SET state = 'received', reason = NULL, revision = ?3 \
                 WHERE team_dir = ?1 AND member = ?2 AND direction = 'in' AND state = 'failed'",
                params![member.dir(), member.name, revision],
            )?;
            Ok(())
        })
    }
}

/// Compares an inbox with what the journal knows of it.
fn find(connection: &Connection, path: &str, entries: &[&Entry]) -> rusqlite::Result<Found> {
    let mailbox: Option<i64> = connection
        .prepare_cached("SELECT id FROM mailboxes WHERE path = ?1")?
        .query_row([path], |row| row.get(0))
        .optional()?;
    let mut count =
        connection.prepare_cached("SELECT count FROM seen WHERE mailbox = ?1 AND identity = ?2")?;
    compare(entries, |identity| {
        let known = count.query_row(params![mailbox, identity.bytes()], |row| row.get(0));
        Ok(known.optional()?.unwrap_or(0))
    })
}

fn member_id(row: &rusqlite::Row<'_>) -> rusqlite::Result<MemberId> {
    Ok(MemberId { team_dir: row.get::<_, String>(0)?.into(), name: row.get(1)? })
}

/// The number of an inbox file.
pub(super) fn mailbox_id(connection: &Connection, path: &str) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO mailboxes (path) VALUES (?1)")?
        .execute([path])?;
    connection
        .prepare_cached("SELECT id FROM mailboxes WHERE path = ?1")?
        .query_row([path], |row| row.get(0))
}
