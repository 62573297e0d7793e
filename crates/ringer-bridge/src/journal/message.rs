//! A message as the journal has it.

use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{Row, ToSql};
use serde::Serialize;

use crate::claim::Claim;

/// A member of ours: names are unique on a team, and teams by their directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId {
    /// The team's directory.
    pub team_dir: PathBuf,
    /// The member's name.
    pub name: String,
}

impl MemberId {
    /// That member of the team in that directory.
    pub fn new(team_dir: impl Into<PathBuf>, name: &str) -> Self {
        Self { team_dir: team_dir.into(), name: name.to_owned() }
    }

    pub(super) fn dir(&self) -> String {
        text(&self.team_dir)
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let team = self.team_dir.file_name().unwrap_or(self.team_dir.as_os_str());
        write!(f, "{}@{}", self.name, team.to_string_lossy())
    }
}

/// A path as the journal writes it.
pub(super) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To a member of ours.
    In,
    /// To anybody else.
    Out,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Known, and next when its turn comes.
    Received,
    /// Not to be delivered now; the reason says why.
    Waiting,
    /// On its way to the pane.
    Delivering,
    /// The worker has it.
    Delivered,
    /// Its worker ended before it had it, and who sent it was told; the reason says why it ended.
    Returned,
    /// Given up; the reason says why. It stays unread in the inbox.
    Failed,
    /// In somebody else's inbox.
    Written,
    /// They have read it.
    Taken,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Received,
        Self::Waiting,
        Self::Delivering,
        Self::Delivered,
        Self::Returned,
        Self::Failed,
        Self::Written,
        Self::Taken,
    ];

    /// In lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Waiting => "waiting",
            Self::Delivering => "delivering",
            Self::Delivered => "delivered",
            Self::Returned => "returned",
            Self::Failed => "failed",
            Self::Written => "written",
            Self::Taken => "taken",
        }
    }
}

impl FromSql for State {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = value.as_str()?;
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for State {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

/// How a message gets to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// It is typed.
    Keys,
    /// A line is typed that makes the worker's hook fetch it.
    Wake,
    /// A hook of the worker's hands it over.
    Hook,
    /// The worker's model asked for it with a tool.
    Tool,
}

impl Via {
    const ALL: [Self; 4] = [Self::Keys, Self::Wake, Self::Hook, Self::Tool];

    /// In lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Wake => "wake",
            Self::Hook => "hook",
            Self::Tool => "tool",
        }
    }
}

impl FromSql for Via {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = value.as_str()?;
        Self::ALL.into_iter().find(|via| via.as_str() == text).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for Via {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

/// One message, with all that is known of it.
#[derive(Debug, Clone, Serialize)]
pub struct Message {
    /// Grows with every message.
    pub id: i64,
    /// Grows with every change of any message.
    pub revision: i64,
    /// To us, or from us.
    pub direction: Direction,
    /// The team's directory.
    pub team_dir: PathBuf,
    /// The team's name.
    pub team: String,
    /// Who wrote it.
    pub from: String,
    /// Whom it is for.
    pub to: String,
    /// Its identity, if the sender gave it one.
    pub msg_id: Option<String>,
    /// A few words for people.
    pub summary: Option<String>,
    /// What it says.
    pub text: String,
    /// When it was sent, as the sender wrote it.
    pub sent_at: String,
    /// What became of it.
    pub state: State,
    /// Why it waits or failed.
    pub reason: Option<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// How often it was typed.
    pub copies: u32,
    /// How often the screen showed it before it was last typed.
    #[serde(skip)]
    pub shown_before: Option<u32>,
    /// Whether it was typed and seen, so that Enter may have been pressed.
    #[serde(skip)]
    pub entering: bool,
    /// How it got to the worker, or is about to.
    pub via: Option<Via>,
    /// Who is handing it over right now, if that is neither keys nor done.
    #[serde(skip)]
    pub claim: Option<Claim>,
    /// When the worker itself said that it has it; milliseconds since 1970.
    pub confirmed_at: Option<i64>,
    /// When it was read from the inbox or written; milliseconds since 1970.
    pub received_at: i64,
    /// When its state last changed.
    pub changed_at: i64,
    /// When it was delivered or taken.
    pub delivered_at: Option<i64>,
    /// Microseconds from the change of the file until it was in the journal.
    pub read_us: Option<i64>,
    /// Microseconds from there until its turn came.
    pub queued_us: Option<i64>,
    /// Microseconds from there until it was typed.
    pub typed_us: Option<i64>,
    /// Microseconds from there until the screen showed it and Enter was pressed.
    pub shown_us: Option<i64>,
}

impl Message {
    /// The columns, in the order in which [`Message::from_row`] takes them.
    pub(super) const COLUMNS: &'static str = "id, revision, direction, team_dir, team, member, \
        peer, msg_id, summary, text, sent_at, state, reason, attempts, copies, shown_before, \
        entering, received_at, changed_at, delivered_at, read_us, queued_us, typed_us, shown_us, \
        via, claim, confirmed_at";

    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let direction: String = row.get(2)?;
        let (member, peer): (String, String) = (row.get(5)?, row.get(6)?);
        let incoming = direction == "in";
        let (from, to) = if incoming { (peer, member) } else { (member, peer) };
        Ok(Self {
            id: row.get(0)?,
            revision: row.get(1)?,
            direction: if incoming { Direction::In } else { Direction::Out },
            team_dir: row.get::<_, String>(3)?.into(),
            team: row.get(4)?,
            from,
            to,
            msg_id: row.get(7)?,
            summary: row.get(8)?,
            text: row.get(9)?,
            sent_at: row.get(10)?,
            state: row.get(11)?,
            reason: row.get(12)?,
            attempts: row.get(13)?,
            copies: row.get(14)?,
            shown_before: row.get(15)?,
            entering: row.get(16)?,
            received_at: row.get(17)?,
            changed_at: row.get(18)?,
            delivered_at: row.get(19)?,
            read_us: row.get(20)?,
            queued_us: row.get(21)?,
            typed_us: row.get(22)?,
            shown_us: row.get(23)?,
            via: row.get(24)?,
            claim: row.get(25)?,
            confirmed_at: row.get(26)?,
        })
    }
}
