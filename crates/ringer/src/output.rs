//! All that Ringer prints: data on stdout, everything else on stderr.
//!
//! Owns the terminal. Everything passes [`clean`] on its way there, so no byte from a message or a
//! file can act on it.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Where a verb's words go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) verbose: bool,
}

impl Output {
    pub(crate) fn new(json: bool, verbose: bool) -> Self {
        Self { json, verbose }
    }

    /// The answer, for people or for scripts, whichever was asked for.
    pub(crate) fn answer(self, people: &str, scripts: &impl Serialize) -> io::Result<()> {
        if self.json { self.data(scripts) } else { self.line(people) }
    }

    /// Lines of data for people.
    pub(crate) fn line(self, text: &str) -> io::Result<()> {
        self.styled("", text)
    }

    /// Lines in a style of their own, an escape sequence of ours: the only ones that get through.
    pub(crate) fn styled(self, style: &str, text: &str) -> io::Result<()> {
        let reset = if style.is_empty() { "" } else { "\x1b[0m" };
        let mut out = anstream::stdout().lock();
        writeln!(out, "{style}{}{reset}", clean(text))?;
        out.flush()
    }

    /// Rows under headings, each column as wide as it needs to be.
    pub(crate) fn table<const N: usize>(
        self,
        headings: [&str; N],
        rows: &[[String; N]],
    ) -> io::Result<()> {
        self.table_in(headings, rows, &[])
    }

    /// The same, with a style for each row; what has none is plain.
    pub(crate) fn table_in<const N: usize>(
        self,
        headings: [&str; N],
        rows: &[[String; N]],
        styles: &[&str],
    ) -> io::Result<()> {
        self.table_cut(headings, rows, styles, usize::MAX)
    }

    /// The same, with no line wider than the terminal.
    pub(crate) fn table_cut<const N: usize>(
        self,
        headings: [&str; N],
        rows: &[[String; N]],
        styles: &[&str],
        columns: usize,
    ) -> io::Result<()> {
        let (head, rows) = table(headings, rows);
        self.styled(BOLD, &cut(&head, columns))?;
        let styles = styles.iter().copied().chain(std::iter::repeat(""));
        rows.iter().zip(styles).try_for_each(|(row, style)| self.styled(style, &cut(row, columns)))
    }

    /// An empty screen, to draw on anew.
    pub(crate) fn clear(self) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        write!(out, "\x1b[H\x1b[2J\x1b[3J")?;
        out.flush()
    }

    /// Data for scripts, exactly as it is.
    pub(crate) fn data(self, value: &impl Serialize) -> io::Result<()> {
        // Standard output by itself writes a kilobyte at a time.
        let mut text = serde_json::to_string(value).map_err(io::Error::from)?;
        text.push('\n');
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Bytes of somebody else's, exactly as they are.
    pub(crate) fn raw(self, bytes: &[u8]) -> io::Result<()> {
        io::stdout().lock().write_all(bytes)
    }

    /// What was written so far gets to whoever reads it.
    pub(crate) fn flush(self) -> io::Result<()> {
        io::stdout().lock().flush()
    }

    /// Words for the program that started us, on stderr, exactly as they are.
    pub(crate) fn hand_over(self, words: &str) -> io::Result<()> {
        let mut out = io::stderr().lock();
        writeln!(out, "{words}")?;
        out.flush()
    }

    /// A question, on stderr, with the answer to come behind it.
    pub(crate) fn ask(self, question: &str) {
        let mut out = anstream::stderr();
        write!(out, "{}", clean(question)).and_then(|()| out.flush()).ok();
    }

    /// A word on the side, on stderr. If nobody can hear it, so be it.
    pub(crate) fn note(self, note: &str) {
        writeln!(anstream::stderr(), "{}", clean(note)).ok();
    }

    /// A word on the side that only `-v` asks for.
    pub(crate) fn detail(self, note: &str) {
        if self.verbose {
            self.note(note);
        }
    }
}

pub(crate) const BOLD: &str = "\x1b[1m";
pub(crate) const DIM: &str = "\x1b[2m";
pub(crate) const RED: &str = "\x1b[31m";
pub(crate) const GREEN: &str = "\x1b[32m";

/// Text from outside, made harmless: what could move the cursor, change colours or the direction of
/// writing is shown as an escape. Line breaks and tabs stay.
pub(crate) fn clean(text: &str) -> String {
    let acts = |c: char| {
        let direction = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (c.is_control() && c != '\n' && c != '\t') || direction
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// [`clean`], on one line and of bounded width.
pub(crate) fn cell(text: &str) -> String {
    const WIDEST: usize = 60;
    cut(&clean(text).replace(['\n', '\t'], " "), WIDEST)
}

/// As much of a line as is so wide.
pub(crate) fn cut(text: &str, widest: usize) -> String {
    if text.width() <= widest {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut width = 1;
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width > widest {
            break;
        }
        cut.push(c);
    }
    cut + "…"
}

/// The line of headings, and the rows.
fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> (String, Vec<String>) {
    let widest = |i: usize| rows.iter().map(|row| row[i].width()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(|i| widest(i).max(headings[i].width()));
    let line = |cells: &[String; N]| {
        let mut line = String::new();
        for (text, width) in cells.iter().zip(widths) {
            line.push_str(text);
            line.push_str(&" ".repeat(width - text.width() + 2));
        }
        line.trim_end().to_owned()
    };
    (line(&headings.map(str::to_owned)), rows.iter().map(line).collect())
}

/// `1 member`, `2 members`.
pub(crate) fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// How long ago, in one unit.
pub(crate) fn ago(then: SystemTime) -> String {
    let age = SystemTime::now().duration_since(then).unwrap_or(Duration::ZERO).as_secs();
    match age {
        0..60 => format!("{age}s"),
        60..3600 => format!("{}m", age / 60),
        3600..86_400 => format!("{}h", age / 3600),
        _ => format!("{}d", age / 86_400),
    }
}

/// The names that could have been meant, best first.
pub(crate) fn nearest(wanted: &str, known: &[String]) -> Vec<String> {
    let score = |name: &String| strsim::jaro_winkler(&wanted.to_lowercase(), &name.to_lowercase());
    let mut near: Vec<_> = known.iter().filter(|name| score(name) > 0.75).cloned().collect();
    near.sort_by(|a, b| score(b).total_cmp(&score(a)));
    near.truncate(3);
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_can_act_on_the_terminal() {
        let hostile = "a\u{1b}]0;owned\u{7}\u{9b}2J\r\u{202e}b\nc\td\u{7f}";
        let shown = clean(hostile);
        assert_eq!(shown, "a\\u{1b}]0;owned\\u{7}\\u{9b}2J\\u{d}\\u{202e}b\nc\td\\u{7f}");
        assert_eq!(cell("a\nb"), "a b");
        assert!(cell(&"界".repeat(100)).width() <= 60);
    }

    #[test]
    fn near_names_are_found() {
        let known = ["rust-impl", "haskell-impl", "team-lead"].map(String::from);
        assert_eq!(nearest("rust-imp", &known)[0], "rust-impl");
        assert!(nearest("zzz", &known).is_empty());
    }
}
