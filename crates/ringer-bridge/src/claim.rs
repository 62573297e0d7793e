//! Who is at work on something: a process that is nobody once it has ended.
//!
//! Owns how it is written down. Numbers of processes are used again, so the start is part of it.

use std::fmt;
use std::fs;

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use serde::{Deserialize, Serialize};

/// A process and when it was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pid: u32,
    /// In ticks of the system's clock.
    started: u64,
}

impl Claim {
    /// This process.
    pub fn ours() -> Self {
        Self::of(std::process::id())
    }

    /// The process with this number that was started then.
    pub(crate) fn new(pid: u32, started: u64) -> Self {
        Self { pid, started }
    }

    /// Another process: one that this one works for, and outlives it.
    pub fn of(pid: u32) -> Self {
        Self { pid, started: start_of(pid).unwrap_or_default() }
    }

    /// No process: what it has is for whoever comes.
    pub fn nobody() -> Self {
        Self::of(u32::MAX)
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// When it was started, in ticks of the system's clock.
    pub(crate) fn started(&self) -> u64 {
        self.started
    }

    /// Whether that process still runs.
    pub fn is_alive(&self) -> bool {
        start_of(self.pid) == Some(self.started)
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.pid, self.started)
    }
}

impl FromSql for Claim {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let parts = value.as_str()?.split_once(':').ok_or(FromSqlError::InvalidType)?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| FromSqlError::InvalidType);
        let pid = u32::try_from(number(parts.0)?).map_err(|_| FromSqlError::InvalidType)?;
        Ok(Self { pid, started: number(parts.1)? })
    }
}

impl ToSql for Claim {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.to_string().into())
    }
}

/// When a process was started; none if it has ended.
pub(crate) fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let is_running = fields.next()? != "Z";
    fields.nth(18)?.parse().ok().filter(|_| is_running)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_void_with_its_process() {
        let ours = Claim::ours();
        assert!(ours.is_alive());
        assert!(!Claim { started: ours.started + 1, ..ours.clone() }.is_alive());
        assert!(!Claim { pid: u32::MAX, ..ours }.is_alive());
        assert!(!Claim::nobody().is_alive());
    }
}
