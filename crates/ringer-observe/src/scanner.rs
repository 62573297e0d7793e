//! From bytes to lines that matter.
//!
//! Owns what is left of a line that is not whole yet, and the counting. What cannot matter is passed over where it lies:
//! it is neither copied nor parsed. Memory is bounded by the longest line that is looked at.

use memchr::{memchr, memchr_iter, memrchr};
use serde::Serialize;

use crate::filter::Filter;
use crate::line::Unread;
use crate::observer::{Observer, Seen};

/// A longer line is passed over.
pub const LONGEST_LINE: usize = 32 * 1024 * 1024;

/// How many lines there were, and how many of them were of no use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All that were whole.
    pub lines: u64,
    /// No JSON, cut off at either end, or longer than what is looked at.
    pub broken: u64,
    /// JSON, but not as lines of a stream are.
    pub odd: u64,
    /// There before.
    pub repeated: u64,
}

/// Cuts bytes into lines, and lets an observer see those that matter.
#[derive(Debug)]
pub struct Scanner {
    filter: Filter,
    counts: Counts,
    /// The beginning of a line whose end has not come.
    rest: Vec<u8>,
    /// That line is too long, and is not kept.
    is_too_long: bool,
}

impl Default for Scanner {
    fn default() -> Self {
        let (counts, rest) = (Counts::default(), Vec::new());
        Self { filter: Filter::new(), counts, rest, is_too_long: false }
    }
}

impl Scanner {
    /// One that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// What has been seen so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// So many bytes belong to a line whose end has not come.
    pub fn unfinished(&self) -> usize {
        self.rest.len()
    }

    /// Takes bytes in, wherever they are cut. `each` gets what follows from each line that mattered, and its number.
    pub fn feed(&mut self, bytes: &[u8], observer: &mut Observer, mut each: impl FnMut(u64, Seen)) {
        let mut bytes = bytes;
        if !self.rest.is_empty() || self.is_too_long {
            let Some(end) = memchr(b'\n', bytes) else { return self.keep(bytes) };
            self.keep(&bytes[..end]);
            bytes = &bytes[end + 1..];
            self.end_line(observer, &mut each);
        }
        let Some(end) = memrchr(b'\n', bytes) else { return self.keep(bytes) };
        self.whole(&bytes[..=end], observer, &mut each);
        self.keep(&bytes[end + 1..]);
    }

    /// No more bytes will come: what is left is a line.
    pub fn finish(&mut self, observer: &mut Observer, mut each: impl FnMut(u64, Seen)) {
        if !self.rest.is_empty() || self.is_too_long {
            self.end_line(observer, &mut each);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.is_too_long || self.rest.len() + bytes.len() > LONGEST_LINE {
            self.is_too_long = true;
            self.rest = Vec::new();
        } else {
            self.rest.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self, observer: &mut Observer, each: &mut impl FnMut(u64, Seen)) {
        self.counts.lines += 1;
        if std::mem::take(&mut self.is_too_long) {
            self.counts.broken += 1;
            return;
        }
        let line = std::mem::take(&mut self.rest);
        let number = self.counts.lines;
        if !is_plausible(&line) {
            self.counts.broken += 1;
        } else if self.matters(&line, observer) {
            self.look(&line, number, observer, each);
        }
        // The room is used again, unless one long line has made it large.
        if line.capacity() <= 1 << 20 {
            self.rest = line;
            self.rest.clear();
        }
    }

    fn matters(&self, line: &[u8], observer: &Observer) -> bool {
        self.filter.find(line).is_some() || (observer.is_attentive() && self.filter.is_answer(line))
    }

    /// Looks at some whole lines.
    fn whole(&mut self, bytes: &[u8], observer: &mut Observer, each: &mut impl FnMut(u64, Seen)) {
        let before = self.counts.lines;
        let mut start = 0;
        for end in memchr_iter(b'\n', bytes) {
            self.counts.lines += 1;
            let line = &bytes[start..end];
            self.counts.broken += u64::from(!is_plausible(line) || line.len() > LONGEST_LINE);
            start = end + 1;
        }
        let mut at = 0;
        // Lines are counted again only up to those that matter.
        let mut counted = (0, before);
        while at < bytes.len() {
            let mark = if observer.is_attentive() {
                at
            } else {
                let Some(found) = self.filter.find(&bytes[at..]) else { break };
                at + found
            };
            let start = memrchr(b'\n', &bytes[at..mark]).map_or(at, |newline| at + newline + 1);
            let end = memchr(b'\n', &bytes[mark..]).map_or(bytes.len(), |newline| mark + newline);
            let line = &bytes[start..end];
            let is_fine = is_plausible(line) && line.len() <= LONGEST_LINE;
            if is_fine && self.matters(line, observer) {
                let passed = memchr_iter(b'\n', &bytes[counted.0..start]).count() as u64;
                counted = (start, counted.1 + passed);
                self.look(line, counted.1 + 1, observer, each);
            }
            at = end + 1;
        }
    }

    fn look(
        &mut self,
        line: &[u8],
        number: u64,
        observer: &mut Observer,
        each: &mut impl FnMut(u64, Seen),
    ) {
        let seen = observer.line(line);
        self.counts.repeated += u64::from(seen.is_repeated);
        match seen.unread {
            Some(Unread::Broken) => self.counts.broken += 1,
            Some(Unread::Odd) => self.counts.odd += 1,
            None => each(number, seen),
        }
    }
}

/// Whether it begins and ends as an object does, or is empty. Of what is not parsed, no more is asked.
fn is_plausible(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match (line.first(), line.last()) {
        (None, None) => true,
        (first, last) => {
            let blank = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
            (first == Some(&b'{') || blank(first)) && (last == Some(&b'}') || blank(last))
        }
    }
}
