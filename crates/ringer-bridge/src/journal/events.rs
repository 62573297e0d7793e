//! What happened on teams, and how each is after that.
//!
//! Owns telling an event once: it is written together with the picture that it makes and with how far its source was read,
//! so that a crash leaves all of it or nothing.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ringer_observe::{Event, Observer, TeamState, What};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use serde_json::value::RawValue;

use super::message::{Message, text};
use super::{Journal, millis};
use crate::error::Result;

/// An event as the journal has it.
#[derive(Debug, Clone, Serialize)]
pub struct Told {
    /// Grows with every event.
    pub seq: i64,
    /// When it was told; milliseconds since 1970. When it happened is in the event.
    pub at: i64,
    /// The team's directory.
    #[serde(skip)]
    pub team_dir: PathBuf,
    /// The team.
    pub team: String,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Which events are asked for.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Only of the team in this directory.
    pub team_dir: Option<PathBuf>,
    /// Only those whose name begins like this.
    pub name: Option<String>,
    /// Only those after this one.
    pub after: Option<i64>,
    /// At most so many, the last ones.
    pub last: Option<u32>,
}

/// How far a transcript was read.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoint {
    pub(crate) path: PathBuf,
    /// Device and number of the file that it was.
    pub(crate) file: (u64, u64),
    pub(crate) position: u64,
    pub(crate) observer: Box<RawValue>,
}

/// What there is to tell of a team.
#[derive(Debug, Default)]
pub(crate) struct News<'a> {
    pub(crate) events: Vec<Event>,
    /// How far it was read where they come from.
    pub(crate) checkpoint: Option<&'a Checkpoint>,
    /// The last message that is among them.
    pub(crate) message: Option<i64>,
}

impl Journal {
    /// The team in this directory, after all that was told, and the last message that was.
    pub fn picture(&self, team_dir: &Path) -> Result<Option<(TeamState, i64)>> {
        self.read(|connection| load(connection, &text(team_dir)))
    }

    /// Directories of teams with a picture.
    pub fn pictured(&self) -> Result<Vec<PathBuf>> {
        self.read(|connection| {
            let mut all = connection.prepare_cached("SELECT team_dir FROM pictures")?;
            all.query_map([], |row| row.get::<_, String>(0).map(Into::into))?.collect()
        })
    }

    /// Tells what is news, and makes the picture agree. `gather` gets the picture as it is, or the `first` one, and says
    /// what there is to tell beyond `news`. How many events were told.
    pub(crate) fn tell(
        &self,
        team_dir: &Path,
        first: &TeamState,
        news: &News<'_>,
        gather: impl Fn(&mut TeamState) -> Vec<Event>,
        now: SystemTime,
    ) -> Result<usize> {
        let dir = text(team_dir);
        self.write(|connection| {
            let known = load(connection, &dir)?;
            let before = known.as_ref().map(|(state, _)| state.clone());
            let (mut state, last) = known.unwrap_or_else(|| (first.clone(), 0));
            let (mut told, mut is_there, mut is_over) = (0, before.is_some(), false);
            for event in &news.events {
                match event.what {
                    // Another source has said so.
                    What::Created if is_there => continue,
                    What::Deleted => (state, is_there, is_over) = (first.clone(), false, true),
                    _ => (is_there, is_over) = (true, false),
                }
                if state.tell(&event.what) {
                    told += insert(connection, &dir, &state.name, event, now)?;
                }
            }
            for event in if is_over { Vec::new() } else { gather(&mut state) } {
                told += insert(connection, &dir, &state.name, &event, now)?;
            }
            let message = news.message.unwrap_or(last).max(last);
            if is_over {
                connection.execute("DELETE FROM pictures WHERE team_dir = ?1", [&dir])?;
            } else if before.as_ref() != Some(&state) || message != last {
                let mut save = connection.prepare_cached(
                    "INSERT OR REPLACE INTO pictures (team_dir, team, state, told_messages) \
                     VALUES (?1, ?2, ?3, ?4)",
                )?;
                save.execute(params![dir, state.name, json(&state), message])?;
            }
            if let Some(checkpoint) = news.checkpoint {
                save_checkpoint(connection, &dir, checkpoint, now)?;
            }
            Ok(told)
        })
    }

    /// The team is gone: says so, once, and forgets its picture. Events stay.
    pub(crate) fn tell_end(&self, team_dir: &Path, event: &Event, now: SystemTime) -> Result<()> {
        let dir = text(team_dir);
        self.write(|connection| {
            if let Some((state, _)) = load(connection, &dir)? {
                insert(connection, &dir, &state.name, event, now)?;
                connection.execute("DELETE FROM pictures WHERE team_dir = ?1", [&dir])?;
            }
            Ok(())
        })
    }

    /// Whether a member of a team has ever sent anything through us.
    pub(crate) fn has_sent(&self, team_dir: &Path, name: &str) -> Result<bool> {
        self.read(|connection| {
            let mut sent = connection.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM messages \
                 WHERE team_dir = ?1 AND member = ?2 AND direction = 'out')",
            )?;
            sent.query_row(params![text(team_dir), name], |row| row.get(0))
        })
    }

    /// The messages of a team that came after this one.
    pub(crate) fn messages_after(&self, team_dir: &Path, id: i64) -> Result<Vec<Message>> {
        self.read(|connection| {
            let mut messages = connection.prepare_cached(&format!(
                "SELECT {} FROM messages WHERE team_dir = ?1 AND id > ?2 ORDER BY id",
                Message::COLUMNS
            ))?;
            messages.query_map(params![text(team_dir), id], Message::from_row)?.collect()
        })
    }

    /// How far the transcripts of a team were read.
    pub(crate) fn checkpoints(&self, team_dir: &Path) -> Result<Vec<Checkpoint>> {
        self.read(|connection| {
            let mut all = connection.prepare_cached(
                "SELECT path, device, inode, position, observer FROM transcripts \
                 WHERE team_dir = ?1 ORDER BY changed_at",
            )?;
            let checkpoint = |row: &Row<'_>| {
                let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
                let observer: String = row.get(4)?;
                let fallback = || RawValue::from_string("null".to_owned());
                let observer = RawValue::from_string(observer).or_else(|_| fallback());
                Ok(Checkpoint {
                    path: row.get::<_, String>(0)?.into(),
                    file: (number(1)?, number(2)?),
                    position: number(3)?,
                    observer: observer.expect("null is JSON"),
                })
            };
            all.query_map([text(team_dir)], checkpoint)?.collect()
        })
    }

    /// The sessions of a team, as far as their transcripts tell.
    pub fn sessions(&self, team_dir: &Path) -> Result<Vec<Observer>> {
        let all = self.checkpoints(team_dir)?.into_iter();
        Ok(all.filter_map(|one| serde_json::from_str(one.observer.get()).ok()).collect())
    }

    /// The number of the last event; 0 if there is none.
    pub fn last_event(&self) -> Result<i64> {
        self.read(|connection| {
            connection.query_row("SELECT coalesce(max(seq), 0) FROM events", [], |row| row.get(0))
        })
    }

    /// The events that were asked for, oldest first.
    pub fn events(&self, filter: &EventFilter) -> Result<Vec<Told>> {
        self.read(|connection| {
            // Whoever asks for what is new wants the first of it first.
            let order = if filter.after.is_some() { "ASC" } else { "DESC" };
            let sql = format!(
                "SELECT * FROM (SELECT seq, at, team_dir, team, body FROM events \
                 WHERE (?1 IS NULL OR team_dir = ?1) AND seq > ?2 \
                 AND (?3 IS NULL OR substr(name, 1, length(?3)) = ?3) \
                 ORDER BY seq {order} LIMIT ?4) ORDER BY seq"
            );
            let mut events = connection.prepare_cached(&sql)?;
            let team_dir = filter.team_dir.as_deref().map(text);
            let limit = filter.last.map_or(-1, i64::from);
            let found = events.query_map(
                params![team_dir, filter.after.unwrap_or(0), filter.name, limit],
                |row| {
                    let body: String = row.get(4)?;
                    // One that a later Ringer wrote may be nothing to us.
                    let Ok(event) = serde_json::from_str(&body) else { return Ok(None) };
                    Ok(Some(Told {
                        seq: row.get(0)?,
                        at: row.get(1)?,
                        team_dir: row.get::<_, String>(2)?.into(),
                        team: row.get(3)?,
                        event,
                    }))
                },
            )?;
            found.filter_map(rusqlite::Result::transpose).collect()
        })
    }
}

fn load(connection: &Connection, dir: &str) -> rusqlite::Result<Option<(TeamState, i64)>> {
    let mut picture = connection
        .prepare_cached("SELECT state, told_messages FROM pictures WHERE team_dir = ?1")?;
    let found: Option<(String, i64)> =
        picture.query_row([dir], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    // What cannot be read is made anew.
    Ok(found.and_then(|(state, told)| Some((serde_json::from_str(&state).ok()?, told))))
}

/// Writes an event down, unless it is there; how many were written.
fn insert(
    connection: &Connection,
    dir: &str,
    team: &str,
    event: &Event,
    now: SystemTime,
) -> rusqlite::Result<usize> {
    let mut insert = connection.prepare_cached(
        "INSERT OR IGNORE INTO events (team_dir, team, identity, at, name, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let identity = event.identity().into_bytes();
    insert.execute(params![dir, team, identity, millis(now), event.what.name(), json(event)])
}

fn save_checkpoint(
    connection: &Connection,
    dir: &str,
    checkpoint: &Checkpoint,
    now: SystemTime,
) -> rusqlite::Result<()> {
    let mut save = connection.prepare_cached(
        "INSERT OR REPLACE INTO transcripts \
         (path, team_dir, device, inode, position, observer, changed_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    save.execute(params![
        text(&checkpoint.path),
        dir,
        checkpoint.file.0.cast_signed(),
        checkpoint.file.1.cast_signed(),
        checkpoint.position.cast_signed(),
        checkpoint.observer.get(),
        millis(now),
    ])?;
    Ok(())
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it is made of texts and numbers")
}
