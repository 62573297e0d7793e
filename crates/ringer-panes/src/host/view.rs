//! The screen of a hosted worker: what its output made of it.
//!
//! Owns the emulated terminal. It answers what programs ask of a terminal when there is no real one.

use std::num::NonZeroU16;

use vt100::{Callbacks, Parser};

use crate::pane::Screen;

/// So many rows that scrolled away are kept.
const SCROLLED: usize = 100;

/// A terminal that exists in memory alone.
pub(crate) struct View {
    parser: Parser<Notes>,
}

/// What the parser does not keep itself.
#[derive(Debug, Default)]
struct Notes {
    title: String,
    /// What a terminal would answer to the program.
    answers: Vec<u8>,
    /// How many times kitty's keys were turned on and not off again.
    kitty: u32,
    /// Whether xterm's other keys were turned on.
    other_keys: bool,
    /// Whether it wants to know whether it has the focus.
    focus: bool,
}

impl View {
    pub(crate) fn new(rows: u16, cols: u16) -> Self {
        let (rows, cols) = (at_least_one(rows), at_least_one(cols));
        Self { parser: Parser::new_with_callbacks(rows, cols, SCROLLED, Notes::default()) }
    }

    /// Takes what the program wrote.
    pub(crate) fn process(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
    }

    /// What a terminal would have answered since this was asked last.
    pub(crate) fn take_answers(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.parser.callbacks_mut().answers)
    }

    pub(crate) fn resize(&mut self, rows: u16, cols: u16) {
        self.parser.set_size(at_least_one(rows), at_least_one(cols));
    }

    /// Rows and columns.
    pub(crate) fn size(&self) -> (u16, u16) {
        let (rows, cols) = self.parser.screen().size();
        (rows.get(), cols.get())
    }

    pub(crate) fn title(&self) -> &str {
        &self.parser.callbacks().title
    }

    /// Whether a paste is wanted between brackets.
    pub(crate) fn bracketed_paste(&self) -> bool {
        self.parser.screen().bracketed_paste()
    }

    pub(crate) fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// What can be read, with the rows that scrolled away.
    pub(crate) fn text(&mut self) -> Screen {
        let screen = self.parser.screen_mut();
        let (height, width) = (usize::from(screen.size().0.get()), screen.size().1.get());
        let mut rows = Vec::with_capacity(height + SCROLLED);
        let read = |screen: &vt100::Screen, count: usize, rows: &mut Vec<String>| {
            rows.extend(screen.rows(0, width).take(count).map(trimmed));
        };
        if !screen.alternate_screen() {
            let mut above = screen.scrollback_len().min(SCROLLED);
            while above > 0 {
                screen.set_scrollback(above);
                let count = above.min(height);
                read(screen, count, &mut rows);
                above -= count;
            }
            screen.set_scrollback(0);
        }
        let top = rows.len();
        read(screen, height, &mut rows);
        let (row, column) = screen.cursor_position();
        let cursor = Some((top + usize::from(row), usize::from(column)));
        Screen { rows, cursor, hidden: screen.hide_cursor(), above: top }
    }

    /// What makes a terminal forget whatever the program turned on and did not turn off again.
    pub(crate) fn undo_modes(&self) -> String {
        let screen = self.parser.screen();
        let fresh = Parser::new(at_least_one(1), at_least_one(1), 0);
        let mut undo = fresh.screen().input_mode_diff(screen);
        let notes = self.parser.callbacks();
        undo.push_str(&"\x1b[<u".repeat(notes.kitty.min(16) as usize));
        if notes.other_keys {
            undo.push_str("\x1b[>4;0m");
        }
        if notes.focus {
            undo.push_str("\x1b[?1004l");
        }
        if screen.alternate_screen() {
            undo.push_str("\x1b[?1049l");
        }
        if screen.hide_cursor() {
            undo.push_str("\x1b[?25h");
        }
        undo.push_str("\x1b[m");
        undo
    }
}

fn trimmed(row: String) -> String {
    let length = row.trim_end().len();
    let mut row = row;
    row.truncate(length);
    row
}

fn at_least_one(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).unwrap_or(NonZeroU16::MIN)
}

impl Callbacks for Notes {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.title = String::from_utf8_lossy(title).chars().filter(|c| !c.is_control()).collect();
    }

    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        second: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        let params: Vec<u16> = params.iter().map(|p| p.first().copied().unwrap_or(0)).collect();
        match (first, second, &params[..], last) {
            (Some(b'>'), None, _, 'u') => self.kitty += 1,
            (Some(b'<'), None, _, 'u') => self.kitty = self.kitty.saturating_sub(1),
            (Some(b'>'), None, [4, value, ..], 'm') => self.other_keys = *value > 0,
            (Some(b'>'), None, [4], 'm') => self.other_keys = false,
            (Some(b'?'), None, modes, 'h') if modes.contains(&1004) => self.focus = true,
            (Some(b'?'), None, modes, 'l') if modes.contains(&1004) => self.focus = false,
            (None, None, [] | [0], 'c') => self.answers.extend(b"\x1b[?62;22c"),
            (Some(b'>'), None, [] | [0], 'c') => self.answers.extend(b"\x1b[>1;10;0c"),
            (None, None, [5], 'n') => self.answers.extend(b"\x1b[0n"),
            (None, None, [6], 'n') => {
                let (row, column) = screen.cursor_position();
                self.answers.extend(format!("\x1b[{};{}R", row + 1, column + 1).bytes());
            }
            (Some(b'?'), Some(b'$'), [mode], 'p') => {
                self.answers.extend(format!("\x1b[?{mode};0$y").bytes());
            }
            _ => {}
        }
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, params: &[&[u8]]) {
        // Light letters on a dark ground.
        let colour = match params {
            [b"10", b"?"] => "10;rgb:dddd/dddd/dddd",
            [b"11", b"?"] => "11;rgb:0000/0000/0000",
            _ => return,
        };
        self.answers.extend(format!("\x1b]{colour}\x1b\\").bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_screen_the_title_and_what_scrolled_away_are_known() {
        let mut view = View::new(3, 10);
        view.process(
            "\x1b]0;a \u{25c7} title\x07\x1b[?2004hone\r\ntwo\r\nthree\r\nfour \u{4f60}".as_bytes(),
        );
        let screen = view.text();
        assert_eq!(screen.rows, ["one", "two", "three", "four \u{4f60}"]);
        assert_eq!(screen.cursor, Some((3, 7)));
        assert_eq!(view.title(), "a \u{25c7} title");
        assert!(view.bracketed_paste());
        view.process(b"\x1b[?1049h\x1b[?25lfull");
        let screen = view.text();
        assert_eq!((screen.rows.len(), screen.cursor, screen.hidden), (3, Some((0, 4)), true));
    }

    #[test]
    fn what_a_program_turned_on_is_turned_off() {
        let mut view = View::new(3, 10);
        assert_eq!(view.undo_modes(), "\x1b[m");
        view.process(
            b"\x1b[?1049h\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[?25l\x1b[>1u\x1b[?1004h\x1b[>4;2m",
        );
        let undo = view.undo_modes();
        for code in ["?2004l", "?1002l", "?1006l", "?1049l", "?25h", "<u", "?1004l", ">4;0m"] {
            assert!(undo.contains(code), "{code} in {undo:?}");
        }
        view.process(undo.as_bytes());
        assert_eq!(view.undo_modes(), "\x1b[m");
    }

    #[test]
    fn a_program_that_asks_a_terminal_gets_its_answers() {
        let mut view = View::new(3, 10);
        view.process(b"ab\x1b[6n\x1b[c\x1b[5n\x1b[?2026$p\x1b]11;?\x07");
        let answers = String::from_utf8(view.take_answers()).unwrap();
        assert_eq!(
            answers,
            "\x1b[1;3R\x1b[?62;22c\x1b[0n\x1b[?2026;0$y\x1b]11;rgb:0000/0000/0000\x1b\\"
        );
        assert!(view.take_answers().is_empty());
    }
}
