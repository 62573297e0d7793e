//! What can be done with a pane, whoever's it is.
//!
//! Owns the contract that every driver keeps. A driver never types without knowing who is there, and
//! never tries again by itself.

use crate::fault::Fault;
use crate::occupant::Occupant;
use crate::payload::Payload;

/// A pane that text can be typed into.
pub trait Pane: Send {
    /// What is in the pane now: who runs there and what the screen shows.
    fn look(&mut self) -> impl Future<Output = Result<Sight, Fault>> + Send;

    /// Types the text without submitting it, as a bracketed paste where the program asked for one;
    /// only if `occupant` is still who runs there. Refused with a fault, and nothing typed, if the
    /// pane is dead, in copy mode, gone, or somebody else's. Only after [`Fault::uncertain`] may the
    /// text have been typed, and then not later than a second after the fault.
    fn paste(
        &mut self,
        payload: &Payload,
        occupant: &Occupant,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Presses Enter, under the same conditions.
    fn enter(&mut self, occupant: &Occupant) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// What was seen of a pane at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// Who runs there.
    pub occupant: Occupant,
    /// What can be read there.
    pub screen: Screen,
    /// The title that the program gave to its pane.
    pub title: String,
    /// Why nothing may be typed now: the pane is dead, in copy mode, or takes no input.
    pub blocked: Option<Fault>,
}

/// The text of a pane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Screen {
    /// The end of what scrolled away, then what is visible, without blanks at the end of a row. A
    /// program that has the whole screen for itself has no scrolled rows.
    pub rows: Vec<String>,
    /// Where the cursor is: an index into `rows`, and the column in cells. `None` if the program
    /// hides it, for then it is not where the user types.
    pub cursor: Option<(usize, usize)>,
}
