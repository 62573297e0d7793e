//! The workers that Ringer started: when, and how each ended.

use std::time::SystemTime;

use rusqlite::params;
use serde::Serialize;

use super::{Journal, millis};
use crate::error::Result;
use crate::roster::RosterEntry;

/// A worker's life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Life {
    /// Its identity.
    pub id: String,
    /// The team that it was on last.
    pub team: String,
    /// What it was called last.
    pub name: String,
    /// What kind of worker it was.
    pub profile: String,
    /// Its process.
    pub pid: u32,
    /// When it was started; milliseconds since 1970.
    pub started_at: i64,
    /// When it ended, if it did.
    pub ended_at: Option<i64>,
    /// Why it ended.
    pub why: Option<String>,
}

impl Journal {
    /// A worker was started.
    pub fn born(&self, entry: &RosterEntry) -> Result<()> {
        let Some(birth) = &entry.birth else { return Ok(()) };
        let profile = entry.profile.as_deref().unwrap_or(ringer_panes::PLAIN);
        self.write(|connection| {
            let mut born = connection.prepare_cached(
                "INSERT OR REPLACE INTO workers (id, team, name, profile, pid, started_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            let pid = birth.process.as_ref().unwrap_or(&birth.host).pid();
            born.execute(params![birth.id, entry.team, entry.name, profile, pid, birth.at])?;
            Ok(())
        })
    }

    /// A worker has ended. Who says so first says why.
    pub fn ended(&self, entry: &RosterEntry, why: &str, now: SystemTime) -> Result<()> {
        let Some(birth) = &entry.birth else { return Ok(()) };
        self.write(|connection| {
            let mut end = connection.prepare_cached(
                "UPDATE workers SET ended_at = ?2, why = ?3, team = ?4, name = ?5 \
                 WHERE id = ?1 AND ended_at IS NULL",
            )?;
            end.execute(params![birth.id, millis(now), why, entry.team, entry.name])?;
            Ok(())
        })
    }

    /// The workers that ended last, newest first.
    pub fn ended_workers(&self, last: u32) -> Result<Vec<Life>> {
        self.read(|connection| {
            let mut all = connection.prepare_cached(
                "SELECT id, team, name, profile, pid, started_at, ended_at, why FROM workers \
                 WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT ?1",
            )?;
            let life = |row: &rusqlite::Row<'_>| {
                Ok(Life {
                    id: row.get(0)?,
                    team: row.get(1)?,
                    name: row.get(2)?,
                    profile: row.get(3)?,
                    pid: row.get(4)?,
                    started_at: row.get(5)?,
                    ended_at: row.get(6)?,
                    why: row.get(7)?,
                })
            };
            all.query_map([last], life)?.collect()
        })
    }
}
