//! Text that is safe to type.
//!
//! Owns the one function that makes it so, for all drivers. Nothing else may be typed into a pane,
//! and no driver may change it further.

use crate::profile::Profile;

/// What is put in front of text that could be taken for a command.
const PREFIX: &str = "message: ";
/// What is put behind text whose end could swallow the Enter. Blanks or a dot would not do: some
/// programs trim the former, and the latter looks as if it belonged to the text.
const SUFFIX: &str = " (end)";

/// Text that a terminal program takes as text and nothing else.
///
/// - No control characters but newline and tab, nor marks that change the direction of writing, so that it cannot break out of a bracketed paste.
/// - It starts with a letter, a digit or an opening bracket: `/`, `!`, `@`, `#` and the like are
///   commands to one program or another, some even after blanks.
/// - It does not end in a backslash, which makes a newline of the Enter after it, nor in a word that
///   begins with `@` or `$`, which is completed by it.
/// - It has a letter or digit, so that it can be found again on the screen.
///
/// ```
/// use ringer_panes::Payload;
/// let text = "[message from team-lead] Run the tests.";
/// assert_eq!(Payload::new(text).as_str(), text);
/// assert_eq!(Payload::new("!rm -r \u{1b}[201~\\").as_str(), "message: !rm -r [201~\\ (end)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload(String);

impl Payload {
    /// Makes any text safe. What is safe already stays as it is, byte for byte.
    pub fn new(text: &str) -> Self {
        let mut safe = String::with_capacity(text.len() + PREFIX.len());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\r' => {
                    chars.next_if_eq(&'\n');
                    safe.push('\n');
                }
                '\u{2028}' | '\u{2029}' => safe.push('\n'),
                '\n' | '\t' => safe.push(c),
                c if c.is_control() || is_invisible(c) => {}
                c => safe.push(c),
            }
        }
        safe.truncate(safe.trim_end_matches('\n').len());
        if !safe.starts_with(harmless) || !safe.contains(char::is_alphanumeric) {
            safe.insert_str(0, PREFIX);
        }
        if swallows_enter(&safe) {
            safe.push_str(SUFFIX);
        }
        Self(safe)
    }

    /// Makes any text safe, also for a program to which more means something: its profile says what is
    /// to be typed instead.
    pub fn for_worker(text: &str, profile: &Profile) -> Self {
        let Self(mut safe) = Self::new(text);
        for (pattern, instead) in &profile.escape {
            safe = pattern.replace_all(&safe, instead).into_owned();
        }
        Self(safe)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Marks that take no room and change how the rest is read, or written: some programs drop them, and the
/// Enter behind them with them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn harmless(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '[' | '(' | '<')
}

/// Blanks at the end do not count: a program may trim them before it looks.
fn swallows_enter(text: &str) -> bool {
    let text = text.trim_end();
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    text.ends_with('\\') || word.starts_with(['@', '$'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dangerous_text_becomes_harmless_and_the_rest_stays() {
        for (text, safe) in [
            ("[message from lead] hi", "[message from lead] hi"),
            ("zwei\n\tTabs\n\n über", "zwei\n\tTabs\n\n über"),
            ("", "message: "),
            ("\n\r\n", "message: "),
            ("/quit", "message: /quit"),
            ("  /quit", "message:   /quit"),
            ("\n!ls", "message: \n!ls"),
            ("@file", "message: @file (end)"),
            ("look at @src/lib.rs", "look at @src/lib.rs (end)"),
            ("mail a@b.c", "mail a@b.c"),
            ("costs $5 ", "costs $5  (end)"),
            ("🎉", "message: 🎉"),
            ("[🎉]", "message: [🎉]"),
            ("a\r\nb\rc\u{2028}d\u{2029}e", "a\nb\nc\nd\ne"),
            ("a\u{1b}[201~!ls\u{7f}\u{8}\u{9b}x\0", "a[201~!lsx"),
            ("end\n\n", "end"),
            ("path C:\\", "path C:\\ (end)"),
            ("path C:\\ \n", "path C:\\  (end)"),
        ] {
            assert_eq!(Payload::new(text).as_str(), safe, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_payload_is_safe(text in "([\\PC\\pC]|[\\\\/!@#$\r\n\t \u{1b}\u{9b}]){0,60}") {
            let payload = Payload::new(&text);
            let safe = payload.as_str();
            prop_assert!(!safe.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert!(!safe.trim_end().ends_with('\\') && !safe.ends_with('\n'));
            prop_assert!(safe.starts_with(harmless));
            prop_assert!(safe.contains(char::is_alphanumeric));
            prop_assert_eq!(&Payload::new(safe), &payload);
        }
    }
}
