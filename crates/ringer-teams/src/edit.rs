//! The one function that changes a file which Claude Code also writes.
//!
//! Owns the order of things: read, change, temporary file, sync, lock, look again, rename, unlock.
//!
//! Claude Code gives up on a lock after 0.8 s, and then the user's message is not sent. So nothing
//! slow happens while the lock is held: the new file is built and synced *before*, and under the
//! lock the old one is only compared with what was read and replaced if it is still the same. A
//! file that others keep changing is, after a few tries, changed under the lock in the plain way.
//!
//! # What a crash can lose
//!
//! | killed while … | what is on disk |
//! |---|---|
//! | reading, changing, writing the temporary file | the old file; a `.ringer-*.tmp` beside it, swept later |
//! | holding the lock, before the rename | the same, and the lock directory: the next Ringer adopts it at once, Claude Code after 10 s |
//! | after the rename, before the unlock | the new file, whole; the lock directory as above |
//! | after the unlock, before the directory is synced | the new file; if the *machine* goes down now, perhaps the old one: the change was not acknowledged yet |
//! | after `edit` returned | nothing, for a change with `sync`. Without it a machine that goes down may bring back the old file, or on some file systems an empty one; so only a change that leaves nothing of value goes without |

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};
use crate::json::NotWhole;
use crate::lock::DirLock;
use crate::patience::Patience;
use crate::read;

/// Temporary files begin and end like this. Hidden, so that whoever lists inboxes passes them over.
const TEMP: (&str, &str) = (".ringer-", ".tmp");

/// A temporary file this old belongs to nobody any more.
const TEMP_ABANDONED: Duration = Duration::from_mins(1);

/// Prepared outside the lock this often before it is done under the lock.
const OUTSIDE: u32 = 12;

/// What to do with the text that was read.
#[derive(Debug)]
pub enum Change<T> {
    /// Nothing needs to be written.
    Keep(T),
    /// Replace the file.
    Write {
        /// The whole new text.
        text: String,
        /// Whether a crash of the machine must not lose it once it is acknowledged.
        sync: bool,
        /// What the caller gets back.
        value: T,
    },
}

/// What an edit did.
#[derive(Debug)]
pub struct Done<T> {
    /// What the change gave.
    pub value: T,
    /// How long the lock was held; zero if nothing was written.
    pub held: Duration,
    /// How many times the change was computed: more than once if somebody else wrote meanwhile.
    pub tries: u32,
    /// What was replaced by what; `None` if nothing was written.
    pub(crate) swap: Option<Swap>,
}

impl<T> Done<T> {
    /// With something else for what the change gave.
    pub(crate) fn map<U>(self, value: impl FnOnce(T) -> U) -> Done<U> {
        Done { value: value(self.value), held: self.held, tries: self.tries, swap: self.swap }
    }
}

/// Both sides of a replacement, still open: a writer that takes no lock may write into either.
#[derive(Debug)]
pub(crate) struct Swap {
    /// What was there, if anything.
    pub(crate) old: Option<Version>,
    /// What is there now.
    pub(crate) new: Version,
}

/// A file and the text that it had.
#[derive(Debug)]
pub(crate) struct Version {
    file: File,
    pub(crate) text: String,
}

impl Version {
    /// What somebody has written into it in place since, if anything.
    pub(crate) fn overwritten(&mut self) -> Option<String> {
        let mut now = String::new();
        self.file.rewind().ok()?;
        self.file.read_to_string(&mut now).ok()?;
        (now != self.text).then_some(now)
    }

    /// Whether the path still leads to this file.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let id = |meta: fs::Metadata| (meta.dev(), meta.ino());
        let ours = self.file.metadata().map(id).ok();
        ours.is_some() && ours == fs::symlink_metadata(path).map(id).ok()
    }
}

/// Changes the shared file at `path`; `absent` is the text that a missing file stands for.
///
/// `change` is called with the whole text, again if somebody else was faster, so it must depend on
/// nothing but that text. When it finds the text torn (another program writes it in place right
/// now) it says [`NotWhole`], and the file is read again for up to a second; one that stays so is
/// reported and left as it is.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("1.json");
/// # std::fs::write(&path, r#"{"status": "pending"}"#)?;
/// use ringer_teams::{Change, NotWhole, edit};
/// let done = edit(&path, None, |text| {
///     if !text.ends_with('}') {
///         return Err(NotWhole::new("it does not end"));
///     }
///     let text = text.replace("pending", "completed");
///     Ok(Change::Write { text, sync: true, value: "completed" })
/// })?;
/// println!("{}, locked for {:?}", done.value, done.held);
/// # assert_eq!(std::fs::read_to_string(&path)?, r#"{"status": "completed"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn edit<T>(
    path: &Path,
    absent: Option<&str>,
    mut change: impl FnMut(&str) -> std::result::Result<Change<T>, NotWhole>,
) -> Result<Done<T>> {
    let mut patience = Patience::new(DirLock::DEFAULT_WAIT);
    let mut torn_since = None;
    let mut tries = 0;
    loop {
        tries += 1;
        let mut early = None;
        if tries > OUTSIDE {
            early = DirLock::of_while(path, &mut patience, || Ok(true))?;
        }
        let mut seen = Seen::read(path, absent)?;
        let (text, sync, value) = match change(&seen.text) {
            Ok(Change::Write { text, sync, value }) => (text, sync, value),
            Ok(Change::Keep(value)) => {
                let held = early.map_or(Duration::ZERO, DirLock::release);
                return Ok(Done { value, held, tries, swap: None });
            }
            Err(why) => {
                drop(early);
                read::wait_for_whole(path, &why, &mut torn_since)?;
                continue;
            }
        };
        torn_since = None;
        let temp = prepare(path, &seen, &text, sync)?;
        let lock = if let Some(lock) = early {
            lock
        } else {
            // Whoever has the lock is about to change the file. As soon as that shows, ours is
            // prepared anew, so that nobody has to wait for a lock that we take in vain.
            if tries > 1 && !seen.is_current(path)? {
                continue;
            }
            let lock = DirLock::of_while(path, &mut patience, || seen.is_current(path))?;
            match lock {
                Some(lock) if seen.is_current(path)? => lock,
                _ => continue,
            }
        };
        // Between this look and the rename another program could take the lock from us only if we
        // were stopped here for longer than ten seconds.
        if !lock.is_ours() {
            continue;
        }
        let file = temp.persist(path).map_err(|e| Error::io("replace", path)(e.error))?;
        let held = lock.release();
        if sync {
            sync_parent(path).map_err(|source| Error::Unsynced { path: path.into(), source })?;
        }
        let old = seen.file.map(|file| Version { file, text: seen.text });
        return Ok(Done {
            value,
            held,
            tries,
            swap: Some(Swap { old, new: Version { file, text } }),
        });
    }
}

/// Removes temporary files that crashed writers left in `dir`.
pub(crate) fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !(name.starts_with(TEMP.0) && name.ends_with(TEMP.1)) {
            continue;
        }
        let modified = entry.metadata().and_then(|m| m.modified());
        let age = modified.ok().and_then(|m| SystemTime::now().duration_since(m).ok());
        if age.is_some_and(|age| age > TEMP_ABANDONED) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// A file as it was read, or the text that stands for it while there is none.
struct Seen {
    text: String,
    file: Option<File>,
}

impl Seen {
    fn read(path: &Path, absent: Option<&str>) -> Result<Self> {
        let Some((file, text)) = read::open(path)? else {
            let text = absent.ok_or_else(|| Error::io("read", path)(ErrorKind::NotFound.into()))?;
            return Ok(Self { text: text.to_owned(), file: None });
        };
        Ok(Self { text, file: Some(file) })
    }

    /// Whether the file has this text; another file with the same text is as good.
    fn is_current(&mut self, path: &Path) -> Result<bool> {
        Ok(match read::open(path)? {
            Some((file, now)) if self.file.is_some() && now == self.text => {
                self.file = Some(file);
                true
            }
            now => now.is_none() && self.file.is_none(),
        })
    }
}

fn prepare(path: &Path, seen: &Seen, text: &str, sync: bool) -> Result<tempfile::NamedTempFile> {
    let write = || -> io::Result<tempfile::NamedTempFile> {
        let mut temp = temp_beside(path)?;
        temp.write_all(text.as_bytes())?;
        if let Some(old) = &seen.file {
            let old = old.metadata()?;
            temp.as_file().set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
            // As far as we may: root can give a file away, others only to a group of theirs.
            let new = temp.as_file().metadata()?;
            if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
                fchown(temp.as_file(), Some(old.uid()), Some(old.gid()))
                    .or_else(|_| fchown(temp.as_file(), None, Some(old.gid())))
                    .ok();
            }
        }
        if sync {
            temp.as_file().sync_all()?;
        }
        Ok(temp)
    };
    write().map_err(Error::io("write beside", path))
}

/// A temporary file in the directory of `path`, which is swept later if we are killed.
pub(crate) fn temp_beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let dir = path.parent().unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix(TEMP.0).suffix(TEMP.1).tempfile_in(dir)
}

/// Makes the entry of `path` in its directory durable.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    match File::open(dir).and_then(|dir| dir.sync_all()) {
        // The team was deleted right after: there is nothing left to make durable.
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::thread;

    fn world(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        put(&path, text);
        (dir, path)
    }

    #[expect(clippy::disallowed_methods, reason = "plays the program that writes in place")]
    fn put(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
    }

    fn writes(text: &str) -> Change<()> {
        Change::Write { text: text.into(), sync: true, value: () }
    }

    #[test]
    fn permission_bits_are_kept() {
        let (_dir, path) = world("[]");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        edit(&path, None, |_| Ok(writes("[1]"))).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
        assert_eq!(fs::read_to_string(&path).unwrap(), "[1]");
    }

    #[test]
    fn a_change_that_somebody_else_made_meanwhile_is_built_upon() {
        for rude_writes in [1, OUTSIDE - 1, OUTSIDE] {
            let (_dir, path) = world("a");
            let mut calls = 0;
            let done = edit(&path, None, |text| {
                calls += 1;
                if calls <= rude_writes {
                    put(&path, &format!("{text}+"));
                }
                Ok(writes(&format!("{text}!")))
            });
            assert_eq!(done.unwrap().tries, rude_writes + 1);
            let wanted = format!("a{}!", "+".repeat(rude_writes as usize));
            assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
        }
    }

    #[test]
    fn nothing_is_left_beside_the_file() {
        let (dir, path) = world("[]");
        edit(&path, None, |_| Ok(writes("[1]"))).unwrap();
        edit(&path, None, |_| Ok(Change::Keep(()))).unwrap();
        let names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["x.json"]);
    }

    #[test]
    fn a_torn_file_is_read_again_and_a_broken_one_reported_and_left_alone() {
        let (_dir, path) = world("[1");
        let whole = |text: &str| {
            if text.ends_with(']') { Ok(writes("[2]")) } else { Err(NotWhole("half".into())) }
        };
        let error = edit(&path, None, whole).unwrap_err();
        assert_eq!(error.code(), "unreadable");
        assert_eq!(fs::read_to_string(&path).unwrap(), "[1");

        put(&path, "[1");
        let later = path.clone();
        let writer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            put(&later, "[1]");
        });
        edit(&path, None, whole).unwrap();
        writer.join().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[2]");
    }

    #[test]
    fn what_is_no_regular_file_is_refused_and_untouched() {
        let (dir, path) = world("[]");
        let at = |name| dir.path().join(name);
        std::os::unix::fs::symlink(&path, at("link")).unwrap();
        std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        fs::create_dir(at("directory")).unwrap();
        for name in ["link", "socket", "directory"] {
            let error = edit(&at(name), None, |_| Ok(writes("[1]"))).unwrap_err();
            assert_eq!(error.code(), "permission_denied", "{name}: {error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "[]");
    }

    #[test]
    fn a_broken_file_that_nobody_touches_is_reported_at_once() {
        let (_dir, path) = world("[1");
        let old = SystemTime::now() - Duration::from_secs(5);
        OpenOptions::new().write(true).open(&path).unwrap().set_modified(old).unwrap();
        let tries = std::cell::Cell::new(0);
        let never = |_: &str| -> std::result::Result<Change<()>, NotWhole> {
            tries.set(tries.get() + 1);
            Err(NotWhole("half".into()))
        };
        assert_eq!(edit(&path, None, never).unwrap_err().code(), "unreadable");
        assert_eq!(tries.get(), 1);
    }

    #[test]
    fn abandoned_temporary_files_are_swept_and_young_ones_kept() {
        let (dir, _path) = world("[]");
        for (name, age) in [(".ringer-old.tmp", 120), (".ringer-new.tmp", 0), (".other.tmp", 120)] {
            let path = dir.path().join(name);
            put(&path, "");
            let old = SystemTime::now() - Duration::from_secs(age);
            OpenOptions::new().write(true).open(path).unwrap().set_modified(old).unwrap();
        }
        sweep(dir.path());
        assert!(!dir.path().join(".ringer-old.tmp").exists());
        assert!(dir.path().join(".ringer-new.tmp").exists());
        assert!(dir.path().join(".other.tmp").exists());
    }
}
