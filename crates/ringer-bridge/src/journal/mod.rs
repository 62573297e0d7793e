//! The journal: every message in both directions, and what became of it.
//!
//! Owns `journal.db` in the state directory. It is opened by the daemon and by every command that
//! sends or looks, at the same time; SQLite keeps them apart.
//!
//! # What a crash can lose
//!
//! Whatever this module acknowledges survives the end of the process at any instant. The end of the
//! machine it survives after [`Journal::sync`], which the daemon calls right after it took mail in,
//! without letting the delivery wait for the disk, and in any case before it marks a message as read:
//! until then the entry in the inbox is the durable copy, and the worker to which the message may
//! have been typed is gone with the machine.

mod cursor;
mod events;
mod handing;
mod incoming;
mod message;
mod outgoing;
mod query;
mod returned;
mod schema;
mod workers;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::error::{Error, Result};
use crate::state::StateDir;

pub use cursor::Identity;
pub(crate) use cursor::to_mark;
pub(crate) use events::{Checkpoint, News};
pub use events::{EventFilter, Told};
pub use handing::Fetch;
pub(crate) use incoming::SHUTDOWN_REQUEST;
pub use incoming::{Delivered, Intake, Typing};
pub use message::{Direction, MemberId, Message, State, Via};
pub(crate) use outgoing::Outgoing;
pub use query::{Filter, Queue};
pub use workers::Life;

const FILE: &str = "journal.db";

/// A write-ahead log of more bytes is large.
const LARGE_LOG: u64 = 128 * 1024;

/// How long another process is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The journal, open. Cheap to clone; all clones share one connection.
#[derive(Debug, Clone)]
pub struct Journal {
    path: Arc<Path>,
    connection: Arc<Mutex<Connection>>,
}

impl Journal {
    /// Opens the journal of a state directory, and makes it if there is none.
    pub fn open(state: &StateDir) -> Result<Self> {
        state.make()?;
        Self::at(state, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens it if there is one.
    pub fn open_existing(state: &StateDir) -> Result<Option<Self>> {
        if !Self::path_in(state).exists() {
            return Ok(None);
        }
        Self::at(state, OpenFlags::empty()).map(Some)
    }

    /// Where the journal of a state directory is.
    pub fn path_in(state: &StateDir) -> PathBuf {
        state.path().join(FILE)
    }

    fn at(state: &StateDir, create: OpenFlags) -> Result<Self> {
        let path = Self::path_in(state);
        // Two that set up a new database at the same time would get in each other's way, and SQLite
        // does not wait for that.
        let _lock = state.lock(FILE)?;
        let fail = |source| Error::Journal { path: path.clone(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        if !create.is_empty() {
            // SQLite gives its other files the permissions of this one.
            let mut private = OpenOptions::new();
            private.write(true).create(true).truncate(false).mode(0o600);
            private.open(&path).map_err(Error::io("create", &path))?;
        }
        let mut connection = Connection::open_with_flags(&path, flags).map_err(fail)?;
        connection.busy_timeout(PATIENCE).map_err(fail)?;
        // All of ours: to prepare one takes longer than to run it.
        connection.set_prepared_statement_cache_capacity(64);
        schema::prepare(&mut connection).map_err(|problem| match problem {
            schema::Problem::Sqlite(source) => fail(source),
            schema::Problem::Newer(version) => {
                Error::NewerJournal { path: path.clone(), version, known: schema::VERSION }
            }
        })?;
        let connection = Arc::new(Mutex::new(connection));
        Ok(Self { path: path.into(), connection })
    }

    /// Makes all that was acknowledged so far survive a crash of the machine.
    ///
    /// Syncs the write-ahead log beside SQLite, not through it: nobody has to wait for the disk who
    /// did not ask for it. What is no longer in that log was synced when it was moved.
    pub fn sync(&self) -> Result<()> {
        let log = self.path.with_extension("db-wal");
        match File::open(&log).and_then(|log| log.sync_data()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("sync", log)(e)),
            _ => Ok(()),
        }
    }

    /// Moves what is in the write-ahead log to its place, if there is much of it. SQLite would do so
    /// by itself some day, in the middle of a delivery, or not at all on a disk that the log has
    /// filled.
    pub(crate) fn shrink(&self) -> Result<()> {
        let log = fs::metadata(self.path.with_extension("db-wal"));
        if log.map_or(0, |log| log.len()) < LARGE_LOG {
            return Ok(());
        }
        self.read(|connection| {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        })
    }

    /// Runs one transaction that writes.
    fn write<T>(&self, work: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match write(&mut connection, &work) {
            // Perhaps it is the write-ahead log that takes all the room: what is in it can go to its
            // place.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
                let move_all = "PRAGMA wal_checkpoint(TRUNCATE)";
                let moved = connection.query_row(move_all, [], |_| Ok(()));
                moved.and_then(|()| write(&mut connection, &work)).map_err(|_| error)
            }
            done => done,
        };
        written.map_err(|source| self.failed(source))
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
    work: impl Fn(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
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
