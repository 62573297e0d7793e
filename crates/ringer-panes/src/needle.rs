//! Is our text on the screen?
//!
//! Owns the comparison of a payload with what a program made of it: programs wrap lines, draw boxes
//! around the input, indent, and show a big paste as `[Pasted text #1 +9 lines]`. So only letters and
//! digits are compared, joined over all rows. It never looks at colours or positions that one program
//! has and another has not.

use unicode_width::UnicodeWidthChar;

use crate::pane::Screen;
use crate::payload::Payload;

/// So many letters are enough to know a text by.
const LENGTH: usize = 60;
/// A text of more characters, or of at least so many lines, may be shown as a mere mark.
const MAY_COLLAPSE: usize = 300;
const LINES: usize = 3;
/// How that mark begins in every program that has one.
const MARK: &str = "[Pasted";

/// What to look for on a screen: the end of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needle {
    letters: String,
    /// What is behind the last letter, without blanks.
    tail: String,
    may_collapse: bool,
}

impl Needle {
    /// The needle for a payload.
    pub fn of(payload: &Payload) -> Self {
        let text = payload.as_str();
        let mut last: Vec<char> = text.chars().rev().filter(|c| counts(*c)).take(LENGTH).collect();
        last.reverse();
        let tail = text.rsplit(counts).next().unwrap_or_default();
        let tail = tail.split_whitespace().collect();
        let may_collapse =
            text.lines().nth(LINES - 1).is_some() || text.chars().nth(MAY_COLLAPSE).is_some();
        Self { letters: last.into_iter().collect(), tail, may_collapse }
    }

    /// How often the text is there, or a mark that may stand for it.
    pub fn count(&self, screen: &Screen) -> usize {
        let marks = if self.may_collapse { marks(&screen.rows) } else { 0 };
        marks + self.occurrences(screen)
    }

    /// Whether the text appeared between two looks: there is more of it than before, or the cursor
    /// stands behind it and did not, for an old one may have scrolled away meanwhile.
    pub fn shown(&self, before: &Screen, after: &Screen) -> bool {
        self.count(after) > self.count(before) || self.at_cursor(after) && !self.at_cursor(before)
    }

    /// Whether the cursor stands right behind the text, as it does when the text was just typed. An
    /// empty prompt below an old message does not count, so the cursor's row must have some of it.
    pub fn at_cursor(&self, screen: &Screen) -> bool {
        let Some((row, column)) = screen.cursor.filter(|_| !screen.hidden) else { return false };
        let Some(line) = screen.rows.get(row) else { return false };
        let mut width = 0;
        let before = line.chars().take_while(|c| {
            width += c.width().unwrap_or(0);
            width <= column
        });
        let before: String = before.filter(|c| !c.is_whitespace()).collect();
        if self.may_collapse && line.contains(MARK) {
            return true;
        }
        let rest_of_it = !before.is_empty() && self.tail.ends_with(&before);
        if !before.contains(counts) && !rest_of_it {
            return false;
        }
        let rows = screen.rows[..row].iter().map(String::as_str).chain([before.as_str()]);
        let letters: String = rows.flat_map(str::chars).filter(|c| counts(*c)).collect();
        letters.ends_with(&self.letters)
    }

    /// How many rows there are below the last of it: they grow when it is submitted and something
    /// else takes its place.
    pub fn rows_below(&self, screen: &Screen) -> Option<usize> {
        let rows = screen.rows.iter().enumerate().rev();
        let mut below = rows.map(|(at, row)| (at, row.chars().filter(|c| counts(*c)).collect()));
        let mut letters = String::new();
        let found = below.find_map(|(at, row): (usize, String)| {
            letters.insert_str(0, &row);
            let here = letters.contains(&self.letters) && !self.letters.is_empty();
            (here || self.may_collapse && screen.rows[at].contains(MARK)).then_some(at)
        });
        found.map(|at| screen.rows.len() - at)
    }

    fn occurrences(&self, screen: &Screen) -> usize {
        // A payload has a letter or digit, but it may be one that takes no cell of its own.
        if self.letters.is_empty() {
            return 0;
        }
        let letters: String =
            screen.rows.iter().flat_map(|row| row.chars()).filter(|c| counts(*c)).collect();
        letters.matches(self.letters.as_str()).count()
    }
}

/// Marks on characters take no cell, and a terminal may keep fewer of them than it was given.
fn counts(c: char) -> bool {
    c.is_alphanumeric() && c.width().is_some_and(|width| width > 0)
}

fn marks(rows: &[String]) -> usize {
    rows.iter().map(|row| row.matches(MARK).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needle(text: &str) -> Needle {
        Needle::of(&Payload::new(text))
    }

    /// `▏` is the cursor.
    fn screen(text: &str) -> Screen {
        let mut screen = Screen::default();
        for (at, row) in text.split('\n').enumerate() {
            if let Some((before, after)) = row.split_once('▏') {
                let width = before.chars().map(|c| c.width().unwrap_or(0)).sum();
                screen.cursor = Some((at, width));
                screen.rows.push(format!("{before}{after}"));
            } else {
                screen.rows.push(row.to_owned());
            }
        }
        screen
    }

    #[test]
    fn text_is_found_however_it_is_drawn() {
        let text = "[message from lead] Run the tests, please.";
        for (drawn, count, at_cursor) in [
            ("> [message from lead] Run the tests, please.▏", 1, true),
            ("> [message from lead] Run\n  the tests, plea\nse.▏", 1, true),
            ("╭────╮\n│ > [message from lead] │\n│   Run the tests, please.▏ │\n╰────╯", 1, true),
            ("> [message from lead] Run the tests, plea▏", 0, false),
            ("▏> [message from lead] Run the tests, please.", 1, false),
            ("> [message from lead] Run the tests, please.\n> ok then▏", 1, false),
            (
                "message from lead Run the tests please\n> [message from lead] Run the tests, please.▏",
                2,
                true,
            ),
            ("> Type your message▏", 0, false),
            ("> [message from lead] Run the tests, please.\n> ▏", 1, false),
            ("> [message from lead] Run the tests, please.\n▏", 1, false),
            ("> [message from lead] Run the tests, please\n  .▏", 1, true),
            ("", 0, false),
        ] {
            let screen = screen(drawn);
            assert_eq!(needle(text).count(&screen), count, "{drawn}");
            assert_eq!(needle(text).at_cursor(&screen), at_cursor, "{drawn}");
        }
    }

    #[test]
    fn a_message_is_shown_when_it_is_new_on_the_screen() {
        for (why, text, before, after, shown) in [
            ("typed", "hello you", "> ", "> hello you", true),
            ("nothing happened", "hello you", "> ", "> ", false),
            ("another draft", "hello you", "> ", "> hello yo", false),
            (
                "a second one",
                "hello you",
                "> hello you\nok\n> ",
                "> hello you\nok\n> hello you",
                true,
            ),
            ("only the old one", "hello you", "> hello you\n> ", "> hello you\n> ", false),
            (
                "the old one scrolled",
                "hello you",
                "> hello you\n> ",
                "> hello you\nok\nfine\n> ",
                false,
            ),
            ("the old one went", "hello you", "hello you\nok\n> ▏", "ok\n> hello you▏", true),
            // Without a cursor nobody can tell, and Enter is not pressed.
            ("did it go?", "hello you", "hello you\nok\n> ", "ok\n> hello you", false),
            (
                "a dialog took it",
                "hello you",
                "> hello you\na\nb\nc\nd\n> ",
                "> hello you\nproceed?\n1. Yes\n2. No",
                false,
            ),
            ("carried by the header", "[from lead] 🎉🎉", "> ", "> [from lead] 🎉🎉", true),
            ("emoji only", "🎉", "> ", "> message: 🎉", true),
            (
                "other letters",
                "[from Łukasz] 你好，世界",
                "> ",
                "│ > [from Łukasz] 你好 │\n│ ，世界 │",
                true,
            ),
            ("collapsed", "one\ntwo\nthree", "> ", "> [Pasted text #1 +3 lines]", true),
            (
                "collapsed before",
                "one\ntwo\nthree",
                "[Pasted text #1 +3 lines]\n>",
                "[Pasted text #1 +3 lines]\n>",
                false,
            ),
            ("two lines are shown", "one\ntwo", "> ", "> [Pasted text #1 +2 lines]", false),
            ("too short for that", "one", "> ", "> [Pasted Content 3 chars]", false),
        ] {
            let [before, after] = [before, after].map(screen);
            assert_eq!(needle(text).shown(&before, &after), shown, "{why}");
        }
    }

    #[test]
    fn the_cursor_beside_a_mark_stands_behind_the_text() {
        let long = "word ".repeat(200);
        assert!(needle(&long).at_cursor(&screen("x\n> [Pasted Content 1000 chars]▏")));
        assert!(!needle(&long).at_cursor(&screen("[Pasted ~9 lines]\n> ▏")));
        assert!(!needle("short").at_cursor(&screen("> [Pasted Content 5 chars]▏")));
    }

    #[test]
    fn wide_letters_before_the_cursor_are_counted_in_cells() {
        assert!(needle("你好").at_cursor(&screen("> 你好▏吗")));
        assert!(!needle("你好").at_cursor(&screen("> 你▏好")));
    }

    #[test]
    fn a_long_text_is_known_by_its_end() {
        let text = format!("{} the very end of it", "x".repeat(50_000));
        let rows: Vec<String> = text.as_bytes()[49_000..]
            .chunks(80)
            .map(|row| String::from_utf8_lossy(row).into_owned())
            .collect();
        assert_eq!(needle(&text).count(&Screen { rows, ..Screen::default() }), 1);
    }
}
