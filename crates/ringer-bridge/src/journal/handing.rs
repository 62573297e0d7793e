//! Messages that get to a worker in another way than by keys: a hook or a tool hands them over.
//!
//! Owns the two steps. What is handed over is first claimed, so that nobody types it meanwhile; once
//! the worker is known to have it, it is delivered. A claim is void when the process that made it ends,
//! or when the worker's turn ends and its model has not answered to a request with the text in it: then
//! the message is delivered again, marked as a second copy.

use std::time::SystemTime;

use rusqlite::{Connection, params};

use super::message::{MemberId, Message, State, Via};
use super::{Journal, millis, next_revision};
use crate::claim::Claim;
use crate::error::Result;

/// How mail is fetched.
#[derive(Debug, Clone)]
pub struct Fetch {
    /// By what.
    pub via: Via,
    /// By whom; the claim lasts as long as they do.
    pub claim: Claim,
    /// Also what a wake line was typed for.
    pub woken: bool,
    /// Also what was claimed before by the same: if the worker's model had seen it, that would be known.
    pub turn_ends: bool,
}

impl Journal {
    /// Takes what waits for a member from the front of its queue, in order, up to the first message
    /// that somebody else is at.
    pub fn claim(&self, member: &MemberId, fetch: &Fetch) -> Result<Vec<Message>> {
        let (via, claim, now) = (fetch.via, &fetch.claim, millis(SystemTime::now()));
        self.write(|connection| {
            let mut taken = Vec::new();
            for mut message in queue(connection, member)? {
                if !is_free(&message, fetch) {
                    break;
                }
                // What was typed to fetch it is no copy of it.
                let copies = if message.via == Some(Via::Wake) { 1 } else { message.copies + 1 };
                let mut take = connection.prepare_cached(
                    "UPDATE messages SET revision = ?2, state = 'delivering', reason = NULL, \
                     via = ?3, claim = ?4, copies = ?5, entering = 0, shown_before = 0, \
                     attempts = attempts + 1, changed_at = ?6 WHERE id = ?1",
                )?;
                let revision = next_revision(connection)?;
                take.execute(params![message.id, revision, via, claim, copies, now])?;
                message.copies = copies;
                taken.push(message);
            }
            Ok(taken)
        })
    }

    /// They are out of our hands: the worker has them.
    pub fn handed_over(&self, messages: &[Message], now: SystemTime) -> Result<()> {
        let ids: Vec<i64> = messages.iter().map(|message| message.id).collect();
        self.settle(&ids, now)
    }

    /// The worker has forgotten what it was handed: it is to be delivered again.
    pub fn let_go(&self, messages: &[Message], now: SystemTime) -> Result<()> {
        self.write(|connection| {
            let mut release = connection.prepare_cached(
                "UPDATE messages SET revision = ?2, state = 'waiting', reason = 'forgotten', \
                 claim = NULL, entering = 0, changed_at = ?3 WHERE id = ?1 AND state NOT IN ('delivered', 'returned')",
            )?;
            for message in messages {
                release.execute(params![message.id, next_revision(connection)?, millis(now)])?;
            }
            Ok(())
        })
    }

    /// The worker's model is shown them; whether it keeps them is known when it has answered.
    pub fn shown(&self, messages: &[Message]) -> Result<()> {
        if messages.is_empty() {
            return Ok(());
        }
        self.write(|connection| {
            let mut show = connection
                .prepare_cached("UPDATE messages SET entering = 1, revision = ?2 WHERE id = ?1")?;
            for message in messages {
                show.execute(params![message.id, next_revision(connection)?])?;
            }
            Ok(())
        })
    }

    /// The worker itself says that it has what was typed.
    pub fn confirmed(&self, id: i64, now: SystemTime) -> Result<()> {
        self.settle(&[id], now)
    }

    fn settle(&self, ids: &[i64], now: SystemTime) -> Result<()> {
        self.write(|connection| {
            let mut settle = connection.prepare_cached(
                "UPDATE messages SET revision = ?2, state = 'delivered', reason = NULL, \
                 claim = NULL, confirmed_at = ?3, changed_at = ?3, \
                 delivered_at = coalesce(delivered_at, ?3) WHERE id = ?1",
            )?;
            for id in ids {
                settle.execute(params![id, next_revision(connection)?, millis(now)])?;
            }
            Ok(())
        })
    }

    /// What is handed over to a member right now.
    pub fn claimed(&self, member: &MemberId) -> Result<Vec<Message>> {
        let all = self.read(|connection| queue(connection, member))?;
        Ok(all.into_iter().filter(|message| message.claim.is_some()).collect())
    }

    /// What was typed to a member, lately or just now, and is not confirmed, oldest first.
    pub fn unconfirmed(&self, member: &MemberId) -> Result<Vec<Message>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT * FROM (SELECT {} FROM messages WHERE team_dir = ?1 AND member = ?2 \
                 AND direction = 'in' AND copies > 0 AND confirmed_at IS NULL AND via = 'keys' \
                 ORDER BY id DESC LIMIT 20) ORDER BY id",
                Message::COLUMNS
            );
            let mut typed = connection.prepare_cached(&sql)?;
            typed.query_map(params![member.dir(), member.name], Message::from_row)?.collect()
        })
    }

    /// Whether the worker has it.
    pub(crate) fn is_delivered(&self, id: i64) -> Result<bool> {
        self.read(|connection| {
            let mut state =
                connection.prepare_cached("SELECT state FROM messages WHERE id = ?1")?;
            Ok(state.query_row([id], |row| row.get::<_, State>(0))? == State::Delivered)
        })
    }

    /// Whether a hook has fetched it, or it is delivered even.
    pub(crate) fn is_fetched(&self, id: i64) -> Result<bool> {
        self.read(|connection| {
            let mut via = connection.prepare_cached("SELECT via FROM messages WHERE id = ?1")?;
            Ok(via.query_row([id], |row| row.get::<_, Option<Via>>(0))? == Some(Via::Hook))
        })
    }
}

fn queue(connection: &Connection, member: &MemberId) -> rusqlite::Result<Vec<Message>> {
    let sql = format!(
        "SELECT {} FROM messages INDEXED BY message_queue WHERE team_dir = ?1 AND member = ?2 \
         AND state IN ('received', 'waiting', 'delivering') ORDER BY id LIMIT 200",
        Message::COLUMNS
    );
    let mut queue = connection.prepare_cached(&sql)?;
    queue.query_map(params![member.dir(), member.name], Message::from_row)?.collect()
}

/// Whether nobody else is at it. What was typed may stand in the prompt: that is for keys to finish.
fn is_free(message: &Message, fetch: &Fetch) -> bool {
    match (&message.claim, message.via) {
        (Some(claim), _) => !claim.is_alive() || fetch.turn_ends && *claim == fetch.claim,
        (None, Some(Via::Wake)) => fetch.woken || message.state == State::Waiting,
        // What a hook handed over and was forgotten stands in no prompt.
        (None, Some(Via::Hook | Via::Tool)) => message.state != State::Delivering,
        (None, _) => message.copies == 0 && message.state != State::Delivering,
    }
}
