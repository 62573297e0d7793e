//! The tables of the journal, and how older ones become today's.
//!
//! Owns the schema. A migration that was released is never changed; a new one is added below it.

use rusqlite::{Connection, TransactionBehavior};

/// Each brings a journal from the version that is its place in the list to the next.
const MIGRATIONS: [&str; 4] = [
    "
    CREATE TABLE counter (revision INTEGER NOT NULL);
    INSERT INTO counter VALUES (0);

    -- Inbox files that were read.
    CREATE TABLE mailboxes (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);

    -- How many entries of each identity an inbox had: the read cursor.
    CREATE TABLE seen (
        mailbox INTEGER NOT NULL REFERENCES mailboxes,
        identity BLOB NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (mailbox, identity)
    ) WITHOUT ROWID;

    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        revision INTEGER NOT NULL,
        direction TEXT NOT NULL CHECK (direction IN ('in', 'out')),
        team_dir TEXT NOT NULL,
        team TEXT NOT NULL,
        -- Ours: who it is for if it came in, who wrote it if it went out.
        member TEXT NOT NULL,
        -- The other side.
        peer TEXT NOT NULL,
        mailbox INTEGER NOT NULL REFERENCES mailboxes,
        identity BLOB NOT NULL,
        msg_id TEXT,
        summary TEXT,
        text TEXT NOT NULL,
        -- As the sender wrote it.
        sent_at TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN
            ('received', 'waiting', 'delivering', 'delivered', 'failed', 'written', 'taken')),
        reason TEXT,
        attempts INTEGER NOT NULL DEFAULT 0,
        -- How often it was typed; the second time and later it says so.
        copies INTEGER NOT NULL DEFAULT 0,
        -- What the screen showed of it before it was typed, for a look after a crash.
        shown_before INTEGER,
        -- Typed and seen: from here on Enter may have been pressed.
        entering INTEGER NOT NULL DEFAULT 0,
        -- Whether the inbox says that it was read.
        marked INTEGER NOT NULL DEFAULT 0,
        -- Milliseconds since 1970.
        received_at INTEGER NOT NULL,
        changed_at INTEGER NOT NULL,
        delivered_at INTEGER,
        -- Microseconds: from the file's change to the journal, in the queue, until it was typed,
        -- until it was seen on the screen.
        read_us INTEGER,
        queued_us INTEGER,
        typed_us INTEGER,
        shown_us INTEGER
    );
    CREATE INDEX message_queue ON messages (team_dir, member, id)
        WHERE state IN ('received', 'waiting', 'delivering');
    CREATE INDEX message_marks ON messages (mailbox, identity)
        WHERE state = 'delivered' AND marked = 0;
    CREATE INDEX message_receipts ON messages (mailbox) WHERE state = 'written';
    CREATE INDEX message_members ON messages (team_dir, member, id);
    CREATE INDEX message_revisions ON messages (revision);
    ",
    "
    -- How it got to the worker, or is about to: by keys, by a hook, by a tool, or by a wake line that lets a
    -- hook fetch it.
    ALTER TABLE messages ADD COLUMN via TEXT;
    -- Who is handing it over: a process, with its start, which is nobody once that has ended.
    ALTER TABLE messages ADD COLUMN claim TEXT;
    -- When the worker itself said that it has it.
    ALTER TABLE messages ADD COLUMN confirmed_at INTEGER;
    ",
    "
    -- A message can also have gone back to who sent it. SQLite does not change a check, so the table is made anew.
    CREATE TABLE messages_3 (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        revision INTEGER NOT NULL,
        direction TEXT NOT NULL CHECK (direction IN ('in', 'out')),
        team_dir TEXT NOT NULL,
        team TEXT NOT NULL,
        member TEXT NOT NULL,
        peer TEXT NOT NULL,
        mailbox INTEGER NOT NULL REFERENCES mailboxes,
        identity BLOB NOT NULL,
        msg_id TEXT,
        summary TEXT,
        text TEXT NOT NULL,
        sent_at TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('received', 'waiting', 'delivering', 'delivered',
            'returned', 'failed', 'written', 'taken')),
        reason TEXT,
        attempts INTEGER NOT NULL DEFAULT 0,
        copies INTEGER NOT NULL DEFAULT 0,
        shown_before INTEGER,
        entering INTEGER NOT NULL DEFAULT 0,
        marked INTEGER NOT NULL DEFAULT 0,
        received_at INTEGER NOT NULL,
        changed_at INTEGER NOT NULL,
        delivered_at INTEGER,
        read_us INTEGER,
        queued_us INTEGER,
        typed_us INTEGER,
        shown_us INTEGER,
        via TEXT,
        claim TEXT,
        confirmed_at INTEGER
    );
    INSERT INTO messages_3 SELECT id, revision, direction, team_dir, team, member, peer, mailbox, identity, msg_id,
        summary, text, sent_at, state, reason, attempts, copies, shown_before, entering, marked, received_at,
        changed_at, delivered_at, read_us, queued_us, typed_us, shown_us, via, claim, confirmed_at FROM messages;
    DROP TABLE messages;
    ALTER TABLE messages_3 RENAME TO messages;
    CREATE INDEX message_queue ON messages (team_dir, member, id)
        WHERE state IN ('received', 'waiting', 'delivering');
    CREATE INDEX message_marks ON messages (mailbox, identity)
        WHERE state IN ('delivered', 'returned') AND marked = 0;
    CREATE INDEX message_receipts ON messages (mailbox) WHERE state = 'written';
    CREATE INDEX message_members ON messages (team_dir, member, id);
    CREATE INDEX message_revisions ON messages (revision);

    -- Workers that Ringer started, and how each ended.
    CREATE TABLE workers (
        id TEXT PRIMARY KEY,
        team TEXT NOT NULL,
        name TEXT NOT NULL,
        profile TEXT NOT NULL,
        pid INTEGER NOT NULL,
        -- Milliseconds since 1970.
        started_at INTEGER NOT NULL,
        ended_at INTEGER,
        why TEXT
    ) WITHOUT ROWID;
    ",
    "
    -- What happened on teams, in the order in which it was told.
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        team_dir TEXT NOT NULL,
        team TEXT NOT NULL,
        -- Where it came from and what it is about: the same is not told twice.
        identity BLOB NOT NULL,
        -- Milliseconds since 1970: when it was told.
        at INTEGER NOT NULL,
        name TEXT NOT NULL,
        -- All of it, as JSON.
        body TEXT NOT NULL,
        UNIQUE (team_dir, identity)
    );
    CREATE INDEX event_teams ON events (team_dir, seq);

    -- Teams as they are, after all events.
    CREATE TABLE pictures (
        team_dir TEXT PRIMARY KEY,
        team TEXT NOT NULL,
        -- As JSON.
        state TEXT NOT NULL,
        -- Messages up to this one have been told.
        told_messages INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;

    -- Transcripts that are followed: how far each was read, and what was known then.
    CREATE TABLE transcripts (
        path TEXT NOT NULL,
        -- One session can lead several teams, one after another: each is told by itself.
        team_dir TEXT NOT NULL,
        -- Which file it was, in case another comes in its place.
        device INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        position INTEGER NOT NULL,
        -- As JSON.
        observer TEXT NOT NULL,
        changed_at INTEGER NOT NULL,
        PRIMARY KEY (team_dir, path)
    ) WITHOUT ROWID;
    ",
];

/// The version that this Ringer writes.
pub(super) const VERSION: usize = MIGRATIONS.len();

/// Why a journal cannot be used.
pub(super) enum Problem {
    Sqlite(rusqlite::Error),
    Newer(usize),
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Sets a connection up and brings the tables up to date.
pub(super) fn prepare(connection: &mut Connection) -> Result<(), Problem> {
    // Each change writes whole pages, and most of ours are a few bytes.
    connection.pragma_update(None, "page_size", 1024)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // When to wait for the disk is decided outside: see `Journal::sync`.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // One mebibyte is more than the queues of a thousand members need.
    connection.pragma_update(None, "cache_size", -1024)?;
    if version(connection)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let version = version(&transaction)?;
    if version > VERSION {
        return Err(Problem::Newer(version));
    }
    for migration in &MIGRATIONS[version..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", i64::try_from(VERSION).unwrap_or(i64::MAX))?;
    transaction.commit()?;
    Ok(())
}

fn version(connection: &Connection) -> rusqlite::Result<usize> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
