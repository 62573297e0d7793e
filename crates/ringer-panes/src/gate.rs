//! The gate: may something be typed now, and is it our own text that Enter would submit?
//!
//! Owns the judgement, from what was seen of a pane and what the worker's profile says. It types
//! nothing, remembers nothing, and never guesses in favour of typing.

use std::time::Duration;

use unicode_width::UnicodeWidthChar;

use crate::fault::Fault;
use crate::needle::Needle;
use crate::pane::{Screen, Sight};
use crate::payload::Payload;
use crate::profile::Profile;

/// Nobody is disturbed who pressed a key less than this ago.
pub const QUIET: Duration = Duration::from_millis(500);

/// The reason of a worker that took what was submitted.
const BUSY: &str = "busy";

/// The reason of a worker that asks something.
const DIALOG: &str = "dialog";

/// The end of a long text is enough to know it by, if the prompt shows no more of it.
const TAIL: usize = 40;

/// A text of fewer characters is shown as it is, if it is on one line.
const LONG: usize = 400;

/// Why a worker does not take a message now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Hold {
    /// A few words that stay the same, for status and logs.
    pub reason: String,
    /// The whole story, and what the user can do.
    pub why: String,
    /// How long it will be like that at least, if that is known.
    pub at_least: Option<Duration>,
}

/// How a worker is, as far as its screen tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// It draws nothing yet that is known, and was just started.
    Starting,
    /// It is at its prompt, or nothing is known of its screen.
    Ready,
    /// It works.
    Busy,
    /// It asks somebody something.
    Asking,
}

impl Condition {
    /// In a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Busy => "busy",
            Self::Asking => "waiting for approval",
        }
    }
}

/// What the prompt has of a text of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// Nothing but it.
    Ours,
    /// It, and something else: somebody typed meanwhile.
    Mixed,
    /// Nothing of it.
    Nothing,
    /// There is no prompt on the screen.
    NoPrompt,
}

/// What a profile makes of a screen.
#[derive(Debug, Clone, Copy)]
pub struct Gate<'a> {
    profile: &'a Profile,
}

impl<'a> Gate<'a> {
    /// The gate of workers of this kind.
    pub fn new(profile: &'a Profile) -> Self {
        Self { profile }
    }

    /// Whether the worker takes a message now; if not, why. Whether it is the right worker at all is
    /// for the caller to say, and has to be said before.
    pub fn admit(self, sight: &Sight) -> Result<(), Hold> {
        if let Some(fault) = &sight.blocked {
            return Err(fault.into());
        }
        self.at_prompt(sight)?;
        self.disturbs(sight).map_or(Ok(()), Err)
    }

    /// How the worker is, and what keeps it from taking a message, if something does.
    pub fn condition(self, sight: &Sight) -> (Condition, Option<Hold>) {
        let Err(hold) = self.admit(sight) else {
            return (Condition::Ready, None);
        };
        let condition = match hold.reason.as_str() {
            DIALOG => Condition::Asking,
            // Somebody else is at its prompt, or may be.
            "draft" | "typing" | "copy mode" | "input off" | "shell mode" | "vim normal mode" => {
                Condition::Ready
            }
            "starting" => Condition::Starting,
            _ => Condition::Busy,
        };
        (condition, Some(hold))
    }

    /// Whether somebody would be disturbed: they have just pressed a key, and the screen may not show
    /// yet what came of it.
    pub fn disturbs(self, sight: &Sight) -> Option<Hold> {
        let quiet = sight.quiet.filter(|quiet| *quiet < QUIET)?;
        let typing = hold("typing", "somebody is typing in the pane");
        Some(Hold { at_least: Some(QUIET.saturating_sub(quiet)), ..typing })
    }

    /// Whether it is at its prompt, and that is empty. Of a plain program nothing is known.
    fn at_prompt(self, sight: &Sight) -> Result<(), Hold> {
        let profile = self.profile;
        if profile.is_plain() {
            return if sight.unsent == Some(true) { Err(draft()) } else { Ok(()) };
        }
        let bottom = self.bottom(&sight.screen);
        if let Some(hold) = self.held(sight, &bottom) {
            return Err(hold);
        }
        if sight.takes_paste == Some(false) {
            // Some draw their prompt before they listen.
            return Err(hold("starting", "the worker does not take a paste yet"));
        }
        if self.is_empty(sight, &bottom) {
            return Ok(());
        }
        if profile.prompt.as_ref().is_some_and(|prompt| prompt.is_match(&bottom)) {
            return Err(draft());
        }
        let why = format!(
            "the screen does not look like {} at its prompt; if it is there, its profile has to be \
             changed: `ringer profiles {}`",
            profile.name, profile.name
        );
        Err(hold("not at prompt", &why))
    }

    /// What keeps the worker from taking a message, if the screen or the title says so. While a text
    /// of ours is in the prompt, this is what must not be before Enter is pressed.
    pub fn held_by(self, sight: &Sight) -> Option<Hold> {
        let blocked = sight.blocked.as_ref().map(Hold::from);
        blocked.or_else(|| self.held(sight, &self.bottom(&sight.screen)))
    }

    fn held(self, sight: &Sight, bottom: &str) -> Option<Hold> {
        let matches = |pattern: &Option<regex::Regex>, text: &str| {
            pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
        };
        let title = sight.title.trim();
        let found = self
            .profile
            .holds
            .iter()
            .find(|hold| matches(&hold.title, title) || matches(&hold.screen, bottom))?;
        Some(hold(&found.reason, &found.why))
    }

    /// Whether it shows that it works.
    pub fn works(self, sight: &Sight) -> bool {
        self.is_busy(sight, &self.bottom(&sight.screen))
    }

    fn is_busy(self, sight: &Sight, bottom: &str) -> bool {
        self.held(sight, bottom).is_some_and(|hold| hold.reason == BUSY)
    }

    /// What the prompt has of a text that was typed. Of a plain program nothing is known but that the
    /// text has appeared since `before`, or stands before the cursor.
    pub fn holding(self, sight: &Sight, payload: &Payload, before: Option<&Screen>) -> Holding {
        let Some(prompt) = &self.profile.prompt else {
            let needle = Needle::of(payload);
            let shown = before.is_some_and(|before| needle.shown(before, &sight.screen));
            let ours = shown || before.is_none() && needle.at_cursor(&sight.screen);
            return if ours { Holding::Ours } else { Holding::Nothing };
        };
        let bottom = self.bottom(&sight.screen);
        let Some(found) = prompt.captures(&bottom) else {
            return Holding::NoPrompt;
        };
        let text = found.name("text").map_or("", |text| text.as_str());
        self.compare(text, payload, self.is_empty(sight, &bottom))
    }

    fn compare(self, text: &str, payload: &Payload, empty: bool) -> Holding {
        let plain: Vec<_> = text.lines().map(|row| self.undecorated(row)).collect();
        let (there, ours) = (essence(&plain.join("\n")), essence(payload.as_str()));
        if there == ours && !ours.is_empty() {
            return Holding::Ours;
        }
        if empty || there.is_empty() {
            return Holding::Nothing;
        }
        if there.chars().count() >= TAIL && ours.ends_with(&there) {
            return Holding::Ours;
        }
        let joined = plain.join(" ");
        if let Some(mark) = self.profile.pasted.as_ref().and_then(|mark| mark.captures(&joined)) {
            let rest = joined.replacen(&mark[0], "", 1);
            let ours = rest.trim().is_empty() && stands_for(&mark, payload);
            return if ours { Holding::Ours } else { Holding::Mixed };
        }
        if there.contains(&ours) || tail(&ours).is_some_and(|tail| there.contains(tail)) {
            return Holding::Mixed;
        }
        // It may be half drawn, or be something else altogether.
        Holding::Nothing
    }

    fn undecorated(self, row: &str) -> String {
        match &self.profile.decoration {
            Some(decoration) => decoration.replace_all(row, "").into_owned(),
            None => row.to_owned(),
        }
    }

    /// Whether the program took the text: it is not in the prompt any more, and the screen is one that
    /// is known. `None` if that cannot be told yet.
    pub fn submitted(self, sight: &Sight, payload: &Payload) -> Option<bool> {
        if self.profile.prompt.is_none() {
            return Some(true);
        }
        match self.holding(sight, payload, None) {
            Holding::Ours | Holding::Mixed => Some(false),
            Holding::Nothing => {
                let bottom = self.bottom(&sight.screen);
                (self.is_empty(sight, &bottom) || self.is_busy(sight, &bottom)).then_some(true)
            }
            Holding::NoPrompt => self.works(sight).then_some(true),
        }
    }

    /// Whether the prompt is there and nothing is in it. Some programs leave it on the screen while
    /// the keys go elsewhere: there, the cursor tells.
    fn is_empty(self, sight: &Sight, bottom: &str) -> bool {
        let profile = self.profile;
        let ready = profile.ready.as_ref().is_some_and(|ready| ready.is_match(bottom));
        ready
            && profile.ready_cursor.as_ref().is_none_or(|rule| self.has_cursor(rule, sight, bottom))
    }

    /// Whether the cursor stands where it does in an empty prompt: behind what the rule matches of its
    /// row. Where it is not known, the text has to do.
    fn has_cursor(self, rule: &regex::Regex, sight: &Sight, bottom: &str) -> bool {
        let Some((row, column)) = sight.screen.cursor else { return true };
        let first = Self::last_row(&sight.screen) - bottom.matches('\n').count();
        let Some(line) = row.checked_sub(first).and_then(|at| bottom.split('\n').nth(at)) else {
            return false;
        };
        let width = |text: &str| text.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>();
        // Blanks at the end of a row are not kept.
        let line = format!("{line}{}", " ".repeat(column.saturating_sub(width(line))));
        rule.find(&line).is_some_and(|found| width(&line[..found.end()]) == column)
    }

    fn last_row(screen: &Screen) -> usize {
        screen.rows.iter().rposition(|row| !row.trim().is_empty()).unwrap_or(0)
    }

    /// The rows that patterns look at: the last ones, without blank rows at the very end.
    fn bottom(self, screen: &Screen) -> String {
        let end = (Self::last_row(screen) + 1).min(screen.rows.len());
        let rows = &screen.rows[end.saturating_sub(self.profile.rows)..end];
        rows.iter().map(|row| row.trim_end()).collect::<Vec<_>>().join("\n")
    }
}

impl From<&Fault> for Hold {
    fn from(fault: &Fault) -> Self {
        let hint = fault.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        hold(fault.reason(), &format!("{fault}{hint}"))
    }
}

fn draft() -> Hold {
    hold(
        "draft",
        "something is in the prompt already; it is left alone until it is sent or deleted",
    )
}

fn hold(reason: &str, why: &str) -> Hold {
    Hold { reason: reason.to_owned(), why: why.to_owned(), at_least: None }
}

/// What is compared of a text: no blanks, which programs add and take away, no marks without a cell of
/// their own, and no symbols beyond ASCII, which terminals draw as they like.
fn essence(text: &str) -> String {
    let counts = |c: &char| {
        let letter = c.is_alphanumeric() && c.width().is_some_and(|width| width > 0);
        letter || c.is_ascii_graphic()
    };
    text.chars().filter(counts).collect()
}

/// Whether a mark can stand for our text: it says how much there is, or there is much of it. Some count
/// lines, some line breaks.
fn stands_for(mark: &regex::Captures<'_>, payload: &Payload) -> bool {
    let text = payload.as_str();
    let number = |name: &str| mark.name(name).and_then(|n| n.as_str().parse::<usize>().ok());
    let (lines, chars) = (text.lines().count(), text.chars().count());
    match (number("lines"), number("chars")) {
        (Some(n), _) => n == lines || n + 1 == lines,
        (None, Some(n)) => n == chars || n == text.encode_utf16().count(),
        (None, None) => chars >= LONG,
    }
}

fn tail(text: &str) -> Option<&str> {
    let (at, _) = text.char_indices().rev().nth(TAIL - 1)?;
    Some(&text[at..])
}
