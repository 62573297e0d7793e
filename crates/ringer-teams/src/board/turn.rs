//! A turn at the board: while it lasts, no other Ringer changes it.
//!
//! Owns waiting for it, and mending what a turn that was cut short left.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::Board;
use super::birth::highest;
use super::change::Edits;
use crate::edit;
use crate::error::{Error, Result};
use crate::task::Task;
use crate::tasks::{Tasks, whole_number};
use crate::team::check_inside;

/// The file that Claude Code keeps beside the tasks, for its lock to have a name.
pub(super) const LOCK: &str = ".lock";

/// Turns take milliseconds. One that takes longer than this was stopped in the middle.
const PATIENCE: Duration = Duration::from_secs(15);

/// A turn, and the board as it was found.
pub(super) struct Turn {
    pub(super) tasks: Tasks,
    _lock: File,
}

impl Turn {
    /// Waits for it, reads the board, and mends it.
    pub(super) fn take(board: &Board<'_>) -> Result<Self> {
        let path = board.dir().join(LOCK);
        let mut lock = wait(open(board)?, &path, PATIENCE)?;
        // The board may have been cleared away, and made anew, meanwhile.
        while !is_at(&lock, &path) {
            lock = wait(open(board)?, &path, PATIENCE)?;
        }
        let tasks = board.team.tasks()?;
        let tasks = if mend(board, &tasks) { board.team.tasks()? } else { tasks };
        Ok(Self { tasks, _lock: lock })
    }

    /// The tasks that waited for this one when the turn began, and wait for nothing now.
    pub(super) fn unblocked(&self, board: &Board<'_>, id: &str) -> Result<Vec<Task>> {
        let waits = self.tasks.waits();
        let is_blocked = |who: &str| waits.blockers(who).iter().any(|blocker| blocker == id);
        let waited: Vec<&str> =
            waits.all().map(|(who, _)| who).filter(|who| is_blocked(who)).collect();
        if waited.is_empty() {
            return Ok(Vec::new());
        }
        let now = board.team.tasks()?;
        let waits = now.waits();
        let free = |task: &&Task| {
            waited.contains(&&*task.id) && task.is_open() && waits.blockers(&task.id).is_empty()
        };
        Ok(now.found.iter().filter(free).cloned().collect())
    }
}

/// Opens the file that turns are taken by, and makes it, and the directory, as Claude Code would.
fn open(board: &Board<'_>) -> Result<File> {
    let dir = board.dir();
    // A team that was deleted must not come back as a directory of tasks.
    if !board.team.config_path().exists() {
        return Err(Error::TeamGone { path: board.team.config_path() });
    }
    for made in [dir.parent().unwrap_or(dir), dir] {
        match fs::create_dir(made) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => {
                return Err(Error::io("create", made)(e));
            }
            _ => {}
        }
    }
    check_inside(dir.parent().unwrap_or(dir), dir)?;
    edit::sweep(dir);
    let path = dir.join(LOCK);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW);
    options.open(&path).map_err(Error::io("open", path))
}

/// Waits for the `flock`. The kernel gives it in the order in which it was asked for, and wakes one at a time; those who
/// look again and again keep each other waiting, and take the time that the one at the board needs.
fn wait(lock: File, path: &Path, patience: Duration) -> Result<File> {
    match lock.try_lock() {
        Ok(()) => return Ok(lock),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(e)) => return Err(Error::io("lock", path)(e)),
    }
    // The wait has no end of its own, so it gets a thread. If the turn comes too late, nobody takes the file that is
    // sent here, and it is closed, which gives the turn to the next.
    let (tell, told) = mpsc::channel();
    let locked = move || {
        let locked = loop {
            match lock.lock() {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        tell.send(locked.map(|()| lock)).ok();
    };
    let started = Instant::now();
    let thread = thread::Builder::new().name("turn".into()).spawn(locked);
    thread.map_err(Error::io("wait for", path))?;
    match told.recv_timeout(patience) {
        Ok(locked) => locked.map_err(Error::io("lock", path)),
        Err(_) => Err(Error::BoardInUse { path: path.into(), waited: started.elapsed() }),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let id = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let ours = file.metadata().map(id).ok();
    ours.is_some() && ours == fs::symlink_metadata(path).map(id).ok()
}

/// Makes both sides of every dependency say it, and takes out what was deleted; whether there was anything to do. What
/// cannot be mended is left for the next turn: it holds up nobody.
fn mend(board: &Board<'_>, tasks: &Tasks) -> bool {
    // What cannot be read may say anything.
    if !tasks.broken.is_empty() {
        return false;
    }
    let mut mended = false;
    let mut highest_ever = None;
    for (blocked, blocker) in tasks.waits().all() {
        match (tasks.get(blocked), tasks.get(blocker)) {
            (Some(one), Some(other)) => {
                if !one.blocked_by.iter().any(|id| id == blocker) {
                    mended |= board.relink(blocked, &Edits::blocked_by(blocker)).is_ok();
                }
                if !other.blocks.iter().any(|id| id == blocked) {
                    mended |= board.relink(blocker, &Edits::blocks(blocked)).is_ok();
                }
            }
            (Some(there), None) | (None, Some(there)) => {
                let gone = if there.id == blocked { blocker } else { blocked };
                let highest = *highest_ever
                    .get_or_insert_with(|| highest(board).map_or(0, |(highest, _)| highest));
                // A number that was never given is somebody's plan, and what was made a moment ago is not gone.
                let was_given = whole_number(gone).is_some_and(|number| number <= highest);
                if was_given && !board.path(gone).exists() {
                    mended |= board.relink(&there.id, &Edits::unlinks(gone)).is_ok();
                }
            }
            (None, None) => {}
        }
    }
    mended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_comes_too_late_is_given_to_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LOCK);
        let open = || OpenOptions::new().create(true).append(true).open(&path).unwrap();
        let (short, long) = (Duration::from_millis(20), Duration::from_secs(10));
        let first = wait(open(), &path, short).unwrap();
        let error = wait(open(), &path, short).unwrap_err();
        assert!(matches!(error, Error::BoardInUse { waited, .. } if waited >= short), "{error}");
        thread::scope(|scope| {
            let next = scope.spawn(|| wait(open(), &path, long).map(drop));
            drop(first);
            next.join().unwrap().unwrap();
        });
        drop(wait(open(), &path, long).unwrap());
    }
}
