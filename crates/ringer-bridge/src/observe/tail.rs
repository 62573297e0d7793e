//! A file that somebody else goes on writing.
//!
//! Owns how far it was read. What is replaced, or has become shorter, is read from its beginning.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// At a time.
const CHUNK: usize = 256 * 1024;

/// How far a file was read.
#[derive(Debug, Clone, Default)]
pub struct Tail {
    /// Device and number of the file; none if it was never read.
    pub(crate) file: Option<(u64, u64)>,
    pub(crate) position: u64,
    /// What was read last. If something else stands there now, the file was written anew, in place.
    ending: Vec<u8>,
    /// Whether somebody else said how far it was read, who said so only at the end of a line.
    is_restored: bool,
}

/// So many bytes tell one ending from another: lines end in ids and times.
const ENDING: usize = 256;

/// What a look at a file came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether there is more to be read.
    pub more: bool,
}

/// Something that is told about a file.
#[derive(Debug)]
pub enum Part<'a> {
    /// It begins anew: another file is there, or it has become shorter.
    Anew,
    /// What comes next.
    Bytes(&'a [u8]),
}

impl Tail {
    /// From where somebody has read up to a line's end.
    pub(crate) fn restore(file: (u64, u64), position: u64) -> Self {
        Self { file: Some(file), position, ending: Vec::new(), is_restored: true }
    }

    /// Reads what is new, at most so many bytes of it.
    pub fn read(
        &mut self,
        path: &Path,
        most: u64,
        mut each: impl FnMut(Part<'_>),
    ) -> io::Result<Look> {
        let mut file = File::open(path)?;
        let about = file.metadata()?;
        let id = (about.dev(), about.ino());
        let is_other = self.file.is_some_and(|known| known != id);
        if is_other || about.len() < self.position || !self.goes_on(&file) {
            self.position = 0;
            self.ending.clear();
            each(Part::Anew);
        }
        self.file = Some(id);
        file.seek(SeekFrom::Start(self.position))?;
        let end = self.position.saturating_add(most);
        let mut chunk = vec![0; CHUNK];
        while self.position < end {
            let count = file.read(&mut chunk)?;
            if count == 0 {
                return Ok(Look { more: false });
            }
            self.position += count as u64;
            self.ending.extend_from_slice(&chunk[count.saturating_sub(ENDING)..count]);
            self.ending.drain(..self.ending.len().saturating_sub(ENDING));
            each(Part::Bytes(&chunk[..count]));
        }
        Ok(Look { more: true })
    }

    /// Whether there ever was a file.
    pub fn has_read(&self) -> bool {
        self.file.is_some()
    }

    /// Whether the file still has what was read, as far as can be told from the end of it.
    fn goes_on(&mut self, file: &File) -> bool {
        if std::mem::take(&mut self.is_restored) && self.position > 0 {
            self.ending = b"\n".to_vec();
        }
        let mut now = vec![0; self.ending.len()];
        let start = self.position - now.len() as u64;
        file.read_exact_at(&mut now, start).is_ok() && now == self.ending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringer_testkit::put;
    use std::io::Write;

    fn read(tail: &mut Tail, path: &Path, most: u64) -> (String, bool) {
        let mut text = String::new();
        let look = tail.read(path, most, |part| match part {
            Part::Anew => text.push('^'),
            Part::Bytes(bytes) => text.push_str(&String::from_utf8_lossy(bytes)),
        });
        (text, look.unwrap().more)
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "plays a program that replaces a transcript")]
    fn what_is_new_is_read_and_what_is_another_file_is_read_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        let mut tail = Tail::default();
        assert!(tail.read(&path, 1, |_| {}).is_err());
        put(&path, "one\ntw");
        assert_eq!(read(&mut tail, &path, 1000), ("one\ntw".to_owned(), false));
        assert_eq!(read(&mut tail, &path, 1000), (String::new(), false));
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"o\n").unwrap();
        assert_eq!(read(&mut tail, &path, 1000), ("o\n".to_owned(), false));
        // Shorter.
        file.set_len(4).unwrap();
        assert_eq!(read(&mut tail, &path, 1000), ("^one\n".to_owned(), false));
        // As long as it was, but something else.
        put(&path, "two\n");
        assert_eq!(read(&mut tail, &path, 1000), ("^two\n".to_owned(), false));
        // Another one.
        let other = dir.path().join("b.jsonl");
        put(&other, "other\nthings\n");
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(read(&mut tail, &path, 1000), ("^other\nthings\n".to_owned(), false));
        // Where it was read to is no line's end any more.
        let mut torn = Tail::restore(tail.file.unwrap(), 4);
        assert_eq!(read(&mut torn, &path, 1000), ("^other\nthings\n".to_owned(), false));
        let mut whole = Tail::restore(tail.file.unwrap(), 6);
        assert_eq!(read(&mut whole, &path, 1000), ("things\n".to_owned(), false));
        assert_eq!(read(&mut Tail::default(), &path, 1), ("other\nthings\n".to_owned(), true));
    }
}
