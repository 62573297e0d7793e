//! What can be done with a pane, whoever's it is.
//!
//! Owns the contract that every driver keeps. A driver never types without knowing who is there, and
//! never tries again by itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::occupant::Occupant;
use crate::payload::Payload;

/// A pane that text can be typed into.
pub trait Pane: Send {
    /// What is in the pane now: who runs there and what the screen shows.
    fn look(&mut self) -> impl Future<Output = Result<Sight, Fault>> + Send;

    /// Waits until the pane may have changed since it was seen like that, but no longer than
    /// `limit`. Where nothing tells of changes, it waits for so long.
    fn changed(&mut self, seen: &Sight, limit: Duration) -> impl Future<Output = ()> + Send {
        let _ = seen;
        tokio::time::sleep(limit)
    }

    /// Types the text without submitting it, as a bracketed paste where the program asked for one;
    /// only if who was `seen` still runs there, and if nobody is known to have typed since. Refused
    /// with a fault, and nothing typed, if the pane is dead, in copy mode, gone, or somebody else's.
    /// Only after [`Fault::uncertain`] may the text have been typed, and then not later than a second
    /// after the fault.
    fn paste(
        &mut self,
        payload: &Payload,
        seen: &Sight,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Presses Enter, under the same conditions.
    fn enter(&mut self, seen: &Sight) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// What was seen of a pane at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    /// Who runs there.
    pub occupant: Occupant,
    /// What can be read there.
    pub screen: Screen,
    /// The title that the program gave to its pane.
    pub title: String,
    /// Why nothing may be typed now: the pane is dead, in copy mode, or takes no input.
    #[serde(skip)]
    pub blocked: Option<Fault>,
    /// Whether the program takes a paste as one, if that is known.
    pub takes_paste: Option<bool>,
    /// Whether somebody typed something there that they have not submitted, if that is known.
    pub unsent: Option<bool>,
    /// How long nobody has pressed a key there, at least, if that is known.
    pub quiet: Option<Duration>,
    /// A number that grows with every key that somebody presses, and one that grows with every change
    /// of the screen, if they are counted.
    pub counts: Option<Counts>,
}

/// What a pane counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// What people typed.
    pub keys: u64,
    /// What the program wrote.
    pub output: u64,
}

/// The text of a pane.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Screen {
    /// The end of what scrolled away, then what is visible, without blanks at the end of a row. A
    /// program that has the whole screen for itself has no scrolled rows.
    pub rows: Vec<String>,
    /// Where the cursor is: an index into `rows`, and the column in cells; `None` if that is not known.
    pub cursor: Option<(usize, usize)>,
    /// Whether the program hides it. Then it need not be where the user types.
    pub hidden: bool,
    /// How many of the rows scrolled away.
    pub above: usize,
}
