//! The journal: every message in both directions, and what became of it.
//!
//! Owns `journal.db` in the state directory. It is opened by the daemon and by every command that
//! sends or looks, at the same time; SQLite keeps them apart.
//!
//! # What a crash can lose
//!
//! A message is synced to the disk before anything is done with it. What is done with it later
//! survives the end of the daemon at any instant, but not always that of the machine: the worker
//! that it was typed to is then gone as well, and the entry in the inbox is still there.

mod cursor;
mod incoming;
mod message;
mod outgoing;
mod query;
mod schema;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::{Error, Result};
use crate::state::StateDir;

pub use cursor::Identity;
pub(crate) use cursor::to_mark;
pub use incoming::{Delivered, Intake};
pub use message::{Direction, MemberId, Message, State};
pub(crate) use outgoing::Outgoing;
pub use query::{Filter, Queue};

const FILE: &str = "journal.db";

/// How long another process is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The journal, open. Cheap to clone; all clones share one connection.
#[derive(Debug, Clone)]
pub struct Journal {
    path: Arc<Path>,
    connection: Arc<Mutex<Connection>>,
}

/// Whether a change must survive a crash of the machine once it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    Now,
    Later,
}

impl Journal {
    /// Opens the journal of a state directory, and makes it if there is none.
    pub fn open(state: &StateDir) -> Result<Self> {
        state.make()?;
        Self::at(state.path().join(FILE), OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens it if there is one.
    pub fn open_existing(state: &StateDir) -> Result<Option<Self>> {
        let path = state.path().join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        Self::at(path, OpenFlags::empty()).map(Some)
    }

    /// Where the journal of a state directory is.
    pub fn path_in(state: &StateDir) -> PathBuf {
        state.path().join(FILE)
    }

    fn at(path: PathBuf, create: OpenFlags) -> Result<Self> {
        let fail = |source| Error::Journal { path: path.clone(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let mut connection = Connection::open_with_flags(&path, flags).map_err(fail)?;
        connection.busy_timeout(PATIENCE).map_err(fail)?;
        schema::prepare(&mut connection).map_err(|problem| match problem {
            schema::Problem::Sqlite(source) => fail(source),
            schema::Problem::Newer(version) => {
                Error::NewerJournal { path: path.clone(), version, known: schema::VERSION }
            }
        })?;
        let connection = Arc::new(Mutex::new(connection));
        Ok(Self { path: path.into(), connection })
    }

    /// Runs one transaction that writes.
    fn write<T>(
        &self,
        sync: Sync,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        write(&mut connection, sync, work).map_err(|source| self.failed(source))
    }

    /// Runs something that only reads.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        work(&connection).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: rusqlite::Error) -> Error {
        Error::Journal { path: self.path.to_path_buf(), source }
    }
}

fn write<T>(
    connection: &mut Connection,
    sync: Sync,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let level = if sync == Sync::Now { "FULL" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", level)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = work(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

/// The next number in the order of changes; followers ask for what is newer than they have seen.
fn next_revision(connection: &Connection) -> rusqlite::Result<i64> {
    let mut next = connection
        .prepare_cached("UPDATE counter SET revision = revision + 1 RETURNING revision")?;
    next.query_row([], |row| row.get(0))
}

fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
