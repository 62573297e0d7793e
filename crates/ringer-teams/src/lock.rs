//! Claude Code's lock: a directory beside the file.
//!
//! Owns taking, refreshing, taking over and releasing it. Must never remove a lock that somebody
//! else holds.
//!
//! Claude Code locks as the npm package proper-lockfile does: `mkdir` takes the lock, `rmdir` gives
//! it back, and a directory whose mtime is older than ten seconds is abandoned and may be removed
//! by anyone. That last step is a race between all who see it, so Ringer does it otherwise:
//!
//! - A lock of ours is an open directory under `flock`, and carries the sticky bit, set by the
//!   `mkdir` itself. The kernel drops an `flock` when its process dies. So the next Ringer that
//!   finds a sticky directory without `flock` knows that its holder is gone, and has it at once
//!   instead of after ten seconds.
//! - An abandoned lock is *adopted*, not removed: `flock` it (one contender succeeds), touch it (it
//!   is fresh again for everybody else), and look whether the path still names it. Nothing is
//!   deleted, so there is no moment in which a fresh lock of another could be.
//! - A contender of the other kind may still remove an adopted directory, having judged it a moment
//!   before. [`DirLock::is_ours`] sees that, and is asked right before a file is replaced.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::error::{Error, Result};
use crate::patience::Patience;
use crate::refresh::Refresher;

/// A lock that was not refreshed for this long is abandoned. Claude Code's number.
pub const STALE: Duration = Duration::from_secs(10);

/// `rwx------` and the sticky bit, which says that an `flock` goes with this directory.
const OUR_MODE: u32 = 0o1700;
const STICKY: u32 = 0o1000;

/// Claude Code's lock on a file, held until dropped.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let inbox = dir.path().join("rust-impl.json");
/// use ringer_teams::DirLock;
/// let lock = DirLock::of(&inbox, DirLock::DEFAULT_WAIT)?;
/// assert!(dir.path().join("rust-impl.json.lock").is_dir());
/// drop(lock);
/// assert!(!dir.path().join("rust-impl.json.lock").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DirLock {
    path: PathBuf,
    /// Open as long as the lock is held: it carries the `flock`, and its inode number cannot be
    /// given to another directory meanwhile.
    dir: File,
    inode: Inode,
    since: Instant,
    /// Dropping it ends the thread that refreshes.
    refresher: Refresher,
}

type Inode = (u64, u64);

impl DirLock {
    /// How long to try before giving up, unless told otherwise.
    pub const DEFAULT_WAIT: Duration = Duration::from_secs(5);

    /// Locks `file` by the directory `<file>.lock`, waiting at most `wait`.
    pub fn of(file: &Path, wait: Duration) -> Result<Self> {
        Self::acquire(&lock_path(file), wait)
    }

    /// Takes the lock directory at `path`, waiting at most `wait`.
    pub fn acquire(path: &Path, wait: Duration) -> Result<Self> {
        let mut patience = Patience::new(wait);
        Ok(Self::acquire_while(path, &mut patience, || Ok(true))?.expect("it is always wanted"))
    }

    /// Like [`DirLock::of`], but gives up without a lock as soon as it is not `wanted` any more,
    /// which is asked each time the lock was found taken.
    pub(crate) fn of_while(
        file: &Path,
        patience: &mut Patience,
        wanted: impl FnMut() -> Result<bool>,
    ) -> Result<Option<Self>> {
        Self::acquire_while(&lock_path(file), patience, wanted)
    }

    fn acquire_while(
        path: &Path,
        patience: &mut Patience,
        mut wanted: impl FnMut() -> Result<bool>,
    ) -> Result<Option<Self>> {
        let mut refresher = Refresher::start();
        loop {
            let since = Instant::now();
            match DirBuilder::new().mode(OUR_MODE).create(path) {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io("lock", path)(e)),
            }
            if let Some((dir, inode)) = open(path)? {
                refresher.refresh(&dir);
                return Ok(Some(Self { path: path.into(), dir, inode, since, refresher }));
            }
            if let Err(waited) = patience.pause() {
                let age = fs::symlink_metadata(path).map_or(Duration::ZERO, |m| age(&m));
                return Err(Error::Locked { path: path.into(), age, waited });
            }
            if !wanted()? {
                return Ok(None);
            }
        }
    }

    /// Gives back a lock of a Ringer that was killed while it held it. The next Ringer would have it
    /// at once, but Claude Code only after ten seconds, and it does not wait that long.
    pub fn free_abandoned(file: &Path) {
        let mut lock = file.as_os_str().to_owned();
        lock.push(".lock");
        let sticky = |meta: Metadata| meta.is_dir() && meta.mode() & STICKY != 0;
        if fs::symlink_metadata(lock).is_ok_and(sticky) {
            // It is not to be had if somebody does hold it.
            drop(Self::of(file, Duration::ZERO));
        }
    }

    /// Whether the lock is still this one: another program may have judged it abandoned if this
    /// process was stopped for long.
    pub fn is_ours(&self) -> bool {
        inode_at(&self.path) == Some(self.inode)
    }

    /// How long the lock has been held.
    pub fn held(&self) -> Duration {
        self.since.elapsed()
    }

    /// Gives the lock back and says how long it was held.
    pub fn release(self) -> Duration {
        let since = self.since;
        drop(self);
        since.elapsed()
    }
}

impl Drop for DirLock {
    fn drop(&mut self) {
        self.refresher.stop();
        // Between the look and the removal it could become another's only if this process were
        // stopped here for ten seconds, after it had held the lock for ten seconds.
        if self.is_ours() {
            // If it fails the directory goes stale, and the `flock` below tells other Ringers at once.
            fs::remove_dir(&self.path).ok();
        }
        self.dir.unlock().ok();
    }
}

/// Opens the directory at `path` and makes it ours, if it is abandoned and nobody else is faster.
///
/// One that we have just made is no exception. Before we open it another Ringer may have adopted
/// and released it, and Claude Code may have made its own in the same place.
fn open(path: &Path) -> Result<Option<(File, Inode)>> {
    // What is not a directory is nobody's lock, and no link is followed.
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let dir = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(dir) => dir,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) => return Err(Error::io("lock", path)(e)),
    };
    let look = || dir.metadata().map_err(Error::io("lock", path));
    if !is_abandoned(&look()?) {
        return Ok(None);
    }
    match dir.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Ok(None),
        Err(fs::TryLockError::Error(e)) => return Err(Error::io("lock", path)(e)),
    }
    // Asked again with the `flock` held: another Ringer may have had it in between.
    let seen = look()?;
    if !is_abandoned(&seen) {
        return Ok(None);
    }
    // A directory that was removed meanwhile is touched in vain, which the look below finds.
    if seen.mode() & STICKY == 0 {
        dir.set_permissions(Permissions::from_mode(OUR_MODE)).ok();
    }
    dir.set_modified(SystemTime::now()).map_err(Error::io("refresh", path))?;
    let inode = inode(&seen);
    Ok((inode_at(path) == Some(inode)).then_some((dir, inode)))
}

fn lock_path(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

/// Whether nobody holds this lock any more, as far as its directory tells. For one of ours the
/// `flock` has the last word.
fn is_abandoned(meta: &Metadata) -> bool {
    if meta.mode() & STICKY != 0 {
        return true;
    }
    let now = SystemTime::now();
    // A time far ahead is left from before the clock was set back; it would never grow old.
    let ahead = meta.modified().ok().and_then(|m| m.duration_since(now).ok());
    age(meta) > STALE || ahead.is_some_and(|ahead| ahead > STALE)
}

fn age(meta: &Metadata) -> Duration {
    meta.modified().ok().and_then(|m| m.elapsed().ok()).unwrap_or_default()
}

fn inode(meta: &Metadata) -> Inode {
    (meta.dev(), meta.ino())
}

fn inode_at(path: &Path) -> Option<Inode> {
    fs::symlink_metadata(path).ok().map(|meta| inode(&meta))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};
    use std::thread;

    const SHORT: Duration = Duration::from_millis(50);

    fn world() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("x.json.lock");
        (dir, lock)
    }

    fn foreign(lock: &Path, age: Duration) {
        fs::create_dir(lock).unwrap();
        File::open(lock).unwrap().set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn a_fresh_lock_of_another_is_waited_for_and_named_with_its_age() {
        let (_dir, lock) = world();
        foreign(&lock, Duration::from_secs(3));
        let error = DirLock::acquire(&lock, SHORT).unwrap_err();
        let Error::Locked { age, waited, .. } = error else { panic!("{error}") };
        assert!(age >= Duration::from_secs(3) && age < STALE, "{age:?}");
        assert!(waited >= SHORT);
        assert!(lock.is_dir(), "the other's lock is untouched");
    }

    #[test]
    fn an_abandoned_lock_is_adopted_and_released() {
        for age in [Duration::from_secs(11), Duration::from_hours(1)] {
            let (_dir, lock) = world();
            foreign(&lock, age);
            let ours = DirLock::acquire(&lock, SHORT).unwrap();
            let touched = fs::metadata(&lock).unwrap().modified().unwrap();
            assert!(touched.elapsed().unwrap() < STALE, "it is fresh for everybody else");
            drop(ours);
            assert!(!lock.exists());
        }
    }

    #[test]
    fn a_lock_from_before_the_clock_was_set_back_is_adopted() {
        let (_dir, lock) = world();
        fs::create_dir(&lock).unwrap();
        let ahead = SystemTime::now() + Duration::from_hours(1);
        File::open(&lock).unwrap().set_modified(ahead).unwrap();
        DirLock::acquire(&lock, SHORT).unwrap();
    }

    #[test]
    fn an_abandoned_lock_is_taken_over_by_exactly_one_contender() {
        for _ in 0..50 {
            let (_dir, lock) = world();
            foreign(&lock, Duration::from_secs(11));
            let (holders, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let gate = Arc::new(Barrier::new(8));
            let contend = || {
                let (lock, holders, most, gate) =
                    (lock.clone(), holders.clone(), most.clone(), gate.clone());
                thread::spawn(move || {
                    gate.wait();
                    let held = DirLock::acquire(&lock, DirLock::DEFAULT_WAIT).unwrap();
                    most.fetch_max(holders.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::yield_now();
                    holders.fetch_sub(1, Ordering::SeqCst);
                    drop(held);
                })
            };
            let contenders: Vec<_> = (0..8).map(|_| contend()).collect();
            for contender in contenders {
                contender.join().unwrap();
            }
            assert_eq!(most.load(Ordering::SeqCst), 1);
            assert!(!lock.exists());
        }
    }

    #[test]
    fn ours_and_theirs_never_hold_it_at_once() {
        let (_dir, lock) = world();
        let holders = AtomicUsize::new(0);
        let alone = || {
            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "two hold it");
            thread::sleep(Duration::from_micros(100));
            holders.fetch_sub(1, Ordering::SeqCst);
        };
        thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let held = DirLock::acquire(&lock, Duration::from_mins(1)).unwrap();
                        alone();
                        drop(held);
                    }
                });
            }
            // As Claude Code does, but without its long pauses.
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        while fs::create_dir(&lock).is_err() {
                            thread::yield_now();
                        }
                        alone();
                        fs::remove_dir(&lock).expect("nobody else removes it");
                    }
                });
            }
        });
    }

    #[test]
    fn what_a_dead_process_of_ours_left_is_had_at_once() {
        let (_dir, lock) = world();
        DirBuilder::new().mode(OUR_MODE).create(&lock).unwrap();
        DirLock::acquire(&lock, SHORT).unwrap();
        assert!(!lock.exists());
    }

    #[test]
    fn a_live_lock_of_ours_is_not_taken_however_old_it_looks() {
        let (_dir, lock) = world();
        let held = DirLock::acquire(&lock, SHORT).unwrap();
        held.dir.set_modified(SystemTime::now() - Duration::from_mins(1)).unwrap();
        assert!(DirLock::acquire(&lock, SHORT).is_err());
        assert!(held.is_ours());
    }

    #[test]
    fn a_lock_that_another_program_replaced_is_not_deleted() {
        let (_dir, lock) = world();
        let held = DirLock::acquire(&lock, SHORT).unwrap();
        fs::remove_dir(&lock).unwrap();
        fs::create_dir(&lock).unwrap();
        assert!(!held.is_ours());
        drop(held);
        assert!(lock.is_dir());
    }

    #[test]
    fn a_panic_gives_the_lock_back() {
        let (_dir, lock) = world();
        let path = lock.clone();
        let panicked = thread::spawn(move || {
            let _held = DirLock::acquire(&path, SHORT).unwrap();
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert!(!lock.exists());
    }

    #[test]
    fn a_held_lock_is_refreshed() {
        let (_dir, lock) = world();
        let held = DirLock::acquire(&lock, SHORT).unwrap();
        let old = SystemTime::now() - Duration::from_mins(1);
        held.dir.set_modified(old).unwrap();
        let deadline = Instant::now() + crate::refresh::REFRESH * 5;
        while fs::metadata(&lock).unwrap().modified().unwrap() < old + STALE {
            assert!(Instant::now() < deadline, "not refreshed");
            thread::sleep(Duration::from_millis(20));
        }
        drop(held);
    }
}
