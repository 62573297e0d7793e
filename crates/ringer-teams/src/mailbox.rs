//! One inbox file: append, take, mark read, prune.
//!
//! Owns every change to an inbox. Each is one rename, and none happens when nothing changes, so a
//! watcher sees exactly what was done.

use std::borrow::Cow;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::draft::Draft;
use crate::edit::{self, Change, Done};
use crate::error::{Error, Result};
use crate::inbox::{Entry, Inbox, Row};
use crate::json::{Array, NotWhole, Object, pretty};
use crate::read::read_whole;

/// How deep an entry lies in an inbox file.
const DEPTH: usize = 1;

/// An inbox file. It need not exist: then it is empty, and is made by the first message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    path: PathBuf,
}

/// A message that is in the file and on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The identity it was given.
    pub msg_id: String,
    /// How long the inbox was locked for it.
    pub held: Duration,
    /// How many times the file had to be read; more than one if others wrote meanwhile.
    pub tries: u32,
}

/// What tidying an inbox did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tidied {
    /// Entries that are marked as read now and were not before.
    pub marked: usize,
    /// Entries that are gone.
    pub pruned: usize,
}

/// An entry as the newest Claude Code writes it, in its order.
#[derive(Serialize)]
struct NewEntry<'a> {
    from: &'a str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    timestamp: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    color: Option<&'a str>,
    #[serde(rename = "msgV")]
    version: u32,
    msg_id: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    read: bool,
}

impl Mailbox {
    /// The inbox at `path`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use ringer_teams::{Draft, Mailbox};
    /// let inbox = Mailbox::new(dir.path().join("rust-impl.json"));
    /// inbox.append(&Draft::new("team-lead", "use a BTreeMap", "2026-02-22T20:30:00.000Z")?)?;
    /// assert_eq!(inbox.read()?.unread(), 1);
    ///
    /// inbox.mark_read(|entry| entry.from == "team-lead")?;
    /// assert_eq!(inbox.prune(0)?.value, 1);
    /// assert!(inbox.read()?.rows.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all of it. A file that is half written is read again; one that does not exist is empty.
    pub fn read(&self) -> Result<Inbox> {
        Ok(read_whole(&self.path, Inbox::parse)?.unwrap_or_default())
    }

    /// Adds a message at the end. When this returns, neither another writer nor a crash of the
    /// machine takes it away.
    pub fn append(&self, draft: &Draft) -> Result<Appended> {
        let entry = NewEntry {
            from: &draft.from,
            text: &draft.text,
            summary: draft.summary.as_deref(),
            timestamp: &draft.timestamp,
            color: draft.color.as_deref(),
            version: 1,
            msg_id: &draft.msg_id,
            kind: "message",
            read: false,
        };
        let entry = pretty(&entry, DEPTH);
        self.make_dir()?;
        let done = self.edit(|array| {
            let text = array.with_pushed(&entry, DEPTH);
            Change::Write { text, sync: true, value: () }
        })?;
        Ok(Appended { msg_id: draft.msg_id.clone(), held: done.held, tries: done.tries })
    }

    /// Removes the entries that `which` picks and returns them.
    ///
    /// They are gone from the file when this returns: a caller that must not lose them on a crash
    /// writes them down elsewhere first and then marks them read instead.
    pub fn take(&self, which: impl Fn(&Entry) -> bool) -> Result<Done<Vec<Entry>>> {
        self.edit(|array| {
            let mut taken = Vec::new();
            let kept: Vec<&str> = keep(array, |row| match row {
                Row::Entry(entry) if which(entry) => {
                    taken.push(entry.clone());
                    false
                }
                _ => true,
            });
            rewrite(array, &kept, taken.is_empty(), taken)
        })
    }

    /// Marks the entries that `which` picks as read and returns those that were not before.
    pub fn take_marking(&self, which: impl Fn(&Entry) -> bool) -> Result<Done<Vec<Entry>>> {
        self.edit(|array| {
            let mut taken = Vec::new();
            let rows: Vec<Cow<'_, str>> = array
                .items
                .iter()
                .map(|raw| match Row::parse(raw) {
                    Row::Entry(entry) if !entry.read && which(&entry) => {
                        taken.push(entry);
                        Object::parse(raw).expect("it was just read").with("read", "true").into()
                    }
                    _ => Cow::Borrowed(*raw),
                })
                .collect();
            let rows: Vec<&str> = rows.iter().map(|row| &**row).collect();
            rewrite(array, &rows, taken.is_empty(), taken)
        })
    }

    /// Marks the entries that `which` picks as read, and returns how many were not before.
    pub fn mark_read(&self, which: impl Fn(&Entry) -> bool) -> Result<Done<usize>> {
        let choose = |inbox: &Inbox| {
            let picked = |row: &Row| row.as_entry().is_some_and(&which);
            inbox.rows.iter().map(picked).collect()
        };
        Ok(self.rework(choose, usize::MAX, |_| true)?.map(|tidied| tidied.marked))
    }

    /// Removes entries that were read, but for the last `tail` of them, and returns how many.
    /// Unread entries, and rows that are not understood, always stay.
    pub fn prune(&self, tail: usize) -> Result<Done<usize>> {
        if let Some(dir) = self.path.parent() {
            edit::sweep(dir);
        }
        Ok(self.rework(|_| Vec::new(), tail, |_| true)?.map(|tidied| tidied.pruned))
    }

    /// [`Mailbox::mark_read`] and [`Mailbox::prune`] in one rewrite. `choose` says of each row
    /// whether it is to be marked; rows that it says nothing of are not. Entries that nothing tells
    /// apart stay: of them, a new one can be known only by being one more.
    pub fn tidy(&self, choose: impl Fn(&Inbox) -> Vec<bool>, tail: usize) -> Result<Done<Tidied>> {
        self.rework(choose, tail, |entry| !entry.is_indistinct())
    }

    fn rework(
        &self,
        choose: impl Fn(&Inbox) -> Vec<bool>,
        tail: usize,
        may_go: impl Fn(&Entry) -> bool,
    ) -> Result<Done<Tidied>> {
        self.edit(|array| {
            let inbox = Inbox::of(array);
            let chosen = choose(&inbox).into_iter().chain(std::iter::repeat(false));
            let mut tidied = Tidied::default();
            // Each row as it will be, and whether it was read and may go.
            let mut rows: Vec<(Cow<'_, str>, bool)> = Vec::with_capacity(array.items.len());
            for ((raw, row), chosen) in array.items.iter().zip(&inbox.rows).zip(chosen) {
                let entry = row.as_entry();
                if chosen && entry.is_some_and(|entry| !entry.read) {
                    tidied.marked += 1;
                    let object = Object::parse(raw).expect("it was just read");
                    rows.push((object.with("read", "true").into(), entry.is_some_and(&may_go)));
                } else {
                    let goes = entry.is_some_and(|entry| entry.read && may_go(entry));
                    rows.push(((*raw).into(), goes));
                }
            }
            let read = rows.iter().filter(|(_, read)| *read).count();
            tidied.pruned = read.saturating_sub(tail);
            let mut surplus = tidied.pruned;
            rows.retain(|(_, read)| {
                let goes = surplus > 0 && *read;
                surplus -= usize::from(goes);
                !goes
            });
            let rows: Vec<&str> = rows.iter().map(|(row, _)| &**row).collect();
            rewrite(array, &rows, tidied == Tidied::default(), tidied)
        })
    }

    /// Makes `inboxes/`, and only that: a team that was deleted meanwhile must not come back as a
    /// shell.
    fn make_dir(&self) -> Result<()> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        match fs::create_dir(dir) {
            Ok(()) => edit::sync_parent(dir).map_err(Error::io("sync", dir)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => Err(Error::TeamGone { path: dir.into() }),
            Err(e) => Err(Error::io("create", dir)(e)),
        }
    }

    fn edit<T>(&self, mut change: impl FnMut(&Array<'_>) -> Change<T>) -> Result<Done<T>> {
        edit::edit(&self.path, Some("[]"), |text| -> std::result::Result<_, NotWhole> {
            Ok(change(&Array::parse(text)?))
        })
    }
}

fn keep<'a>(array: &Array<'a>, mut stays: impl FnMut(&Row) -> bool) -> Vec<&'a str> {
    array.items.iter().copied().filter(|raw| stays(&Row::parse(raw))).collect()
}

/// The array with these rows instead. It is synced only if something in it has not been read yet:
/// the rest has been delivered, and a crash that brings it back or drops it costs nobody anything.
fn rewrite<T>(array: &Array<'_>, rows: &[&str], same: bool, value: T) -> Change<T> {
    if same {
        return Change::Keep(value);
    }
    let is_unread = |raw: &&str| Row::parse(raw).as_entry().is_none_or(|entry| !entry.read);
    let sync = rows.iter().any(is_unread);
    Change::Write { text: array.with_items(rows.iter().copied(), DEPTH), sync, value }
}
