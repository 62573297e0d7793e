//! Why a message is not delivered yet.
//!
//! Owns the words for it, and what the journal is to say.

use std::borrow::Cow;
use std::time::Duration;

use ringer_panes::{Fault, Hold, ProfileError};

use crate::error::Error;
pub(crate) use crate::error::one_line;

/// Why a message is not delivered yet.
#[derive(Debug)]
pub(crate) struct Later {
    /// A few words that stay the same.
    pub(crate) reason: Cow<'static, str>,
    /// The whole story.
    pub(crate) detail: String,
    /// What the journal is to say; nothing if it says it already.
    pub(crate) note: Note,
    /// When it is worth trying again.
    pub(crate) again: Again,
}

/// What the journal is to say of a message that was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    Waiting,
    /// It was typed just now, and is not known to have arrived.
    Typed,
    /// Nothing was typed, though it says that something was about to be.
    NotTyped,
    /// It was typed, and Enter was not pressed.
    NotEntered,
    /// It is given up.
    Failed,
    /// Nothing: what it says is still true.
    Nothing,
}

/// When it is worth trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// When the member is given another pane.
    Never,
    /// When something broken may work again: seldom.
    Later,
    /// When the worker may have come to its prompt, and not before this time has passed.
    Soon(Duration),
}

impl From<Fault> for Later {
    fn from(fault: Fault) -> Self {
        let hint = fault.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        let again = match fault {
            Fault::NoPane => Again::Never,
            Fault::Typed { .. } => Again::Soon(Duration::ZERO),
            _ => Again::Later,
        };
        let detail = format!("{fault}{hint}");
        Self { reason: fault.reason().into(), detail, note: Note::Waiting, again }
    }
}

impl From<Hold> for Later {
    fn from(hold: Hold) -> Self {
        let again = Again::Soon(hold.at_least.unwrap_or_default());
        Self { reason: hold.reason.into(), detail: hold.why, note: Note::Waiting, again }
    }
}

impl From<ProfileError> for Later {
    fn from(error: ProfileError) -> Self {
        Self::new("profile", &error.to_string())
    }
}

impl From<Error> for Later {
    fn from(error: Error) -> Self {
        Self::new("journal", &one_line(&error)).note(Note::Nothing)
    }
}

impl Later {
    pub(crate) fn new(reason: &'static str, detail: &str) -> Self {
        let (reason, detail) = (reason.into(), detail.to_owned());
        Self { reason, detail, note: Note::Waiting, again: Again::Later }
    }

    pub(crate) fn note(mut self, note: Note) -> Self {
        self.note = note;
        self
    }

    pub(crate) fn again(mut self, again: Again) -> Self {
        self.again = again;
        self
    }
}

pub(crate) fn unseen() -> Later {
    Later::new(
        "unseen",
        "the text was typed and does not show on the screen, so Enter was not pressed; for a worker \
         that shows nothing, set delivery.confirm = \"none\"",
    )
}

pub(crate) fn not_entered() -> Later {
    Later::new(
        "not entered",
        "the text was typed and is on the screen, and it cannot be told whether it was entered; \
         press Enter in the pane if it stands in the prompt",
    )
    .again(Again::Soon(Duration::ZERO))
}

pub(crate) fn mixed() -> Later {
    Later::new(
        "mixed",
        "somebody typed into the prompt while the message stood there, so Enter was not pressed; \
         send it or delete it in the pane",
    )
    .again(Again::Soon(Duration::ZERO))
}

pub(crate) fn another_writer() -> Later {
    Later::new("another writer", "another daemon types into the pane")
        .again(Again::Soon(Duration::ZERO))
}

pub(crate) fn handed_over() -> Later {
    Later::new("handing over", "a hook or a tool of the worker's hands it over")
        .note(Note::Nothing)
        .again(Again::Soon(Duration::from_millis(100)))
}

pub(crate) fn no_hook() -> Later {
    Later::new(
        "no hook",
        "the worker was woken and its hook did not fetch the message; it is typed instead",
    )
    .again(Again::Soon(Duration::ZERO))
}

pub(crate) fn pane_changed() -> Later {
    Later::new(
        "pane changed",
        "another program is in the pane than the one that was registered; register the worker again \
         when it runs",
    )
}

pub(crate) fn shell() -> Later {
    Later::new(
        "shell",
        "a shell waits for commands in the pane; start the worker there, and register it again",
    )
}
