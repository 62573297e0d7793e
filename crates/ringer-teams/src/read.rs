//! Reading a file that others may be writing.
//!
//! Owns telling a file in mid-write from a broken one, and refusing what is no file at all.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::json::NotWhole;

/// How long a file may look half written before it is taken for broken. In-place writers need
/// microseconds; the rest is for a machine under load.
pub(crate) const TORN: Duration = Duration::from_secs(1);

/// How long an empty file has to stay empty, however old it says it is: ext4 takes the text away first and sets the
/// time later, after a wait for its journal.
const EMPTIED: Duration = Duration::from_millis(200);

/// No file of a team is that large; one that is was put there to fill our memory.
const LARGEST: u64 = 256 * 1024 * 1024;

/// Reads a shared file that may be in the middle of a write; `None` if there is none.
pub(crate) fn read_whole<T>(
    path: &Path,
    parse: impl Fn(&str) -> std::result::Result<T, NotWhole>,
) -> Result<Option<T>> {
    let mut torn_since = None;
    loop {
        let Some((_, text)) = open(path)? else {
            return Ok(None);
        };
        match parse(&text) {
            Ok(value) => return Ok(Some(value)),
            Err(why) => wait_for_whole(path, &why, &mut torn_since)?,
        }
    }
}

/// Opens a shared file and reads its text; `None` if there is none.
pub(crate) fn open(path: &Path) -> Result<Option<(File, String)>> {
    let read = || -> io::Result<(File, String)> {
        // A link would be replaced by our rename, and may lead anywhere; a pipe would never end.
        let meta = fs::symlink_metadata(path)?;
        if !meta.is_file() {
            return Err(io::Error::new(ErrorKind::PermissionDenied, "it is not a regular file"));
        }
        let file = File::open(path)?;
        // Without room for all of it a file is read in many small pieces.
        let room = usize::try_from(meta.len().min(LARGEST)).unwrap_or_default();
        let mut bytes = Vec::with_capacity(room + 1);
        (&file).take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::new(ErrorKind::FileTooLarge, "it is larger than 256 MiB"));
        }
        Ok((file, text(bytes)))
    };
    match read() {
        Ok(found) => Ok(Some(found)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io("read", path)(e)),
    }
}

/// A byte that is no UTF-8 becomes U+FFFD, as it does for Claude Code: one bad byte must not make
/// all other messages unreadable. Half a character at the end of a torn file does no harm, since
/// the JSON is then cut off as well.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Pauses before a file that looks half written is read again, or reports it as broken: after a
/// while, and at once if nobody has touched it for as long.
pub(crate) fn wait_for_whole(
    path: &Path,
    why: &NotWhole,
    since: &mut Option<Instant>,
) -> Result<()> {
    let waited = since.get_or_insert_with(Instant::now).elapsed();
    let meta = fs::metadata(path).ok();
    let modified = meta.as_ref().and_then(|meta| meta.modified().ok());
    let untouched = modified.and_then(|m| m.elapsed().ok()).unwrap_or_default();
    let settled = waited > EMPTIED || meta.is_some_and(|meta| meta.len() > 0);
    if waited > TORN || (untouched > TORN && settled) {
        return Err(Error::Unreadable { path: path.into(), why: why.0.clone() });
    }
    thread::sleep((waited / 4).clamp(Duration::from_micros(200), Duration::from_millis(50)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringer_testkit::put;
    use std::time::SystemTime;

    #[test]
    fn a_file_that_is_just_being_emptied_is_read_again_though_its_time_is_old() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1.json");
        put(&path, "");
        let old = SystemTime::now() - TORN * 5;
        File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        let parse = |text: &str| match text {
            "" => Err(NotWhole("it is empty".into())),
            text => Ok(text.to_owned()),
        };
        let started = Instant::now();
        assert_eq!(read_whole(&path, parse).unwrap_err().code(), "unreadable");
        assert!(started.elapsed() < TORN, "nobody touches it");

        let later = path.clone();
        let writer = thread::spawn(move || {
            thread::sleep(EMPTIED / 4);
            put(&later, "whole");
        });
        assert_eq!(read_whole(&path, parse).unwrap().as_deref(), Some("whole"));
        writer.join().unwrap();
    }
}
