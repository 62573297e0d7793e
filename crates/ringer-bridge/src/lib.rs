//! The bridge between teams and workers: who should be on which team, and what is kept about it.
//!
//! Owns everything in the state directory. Claude Code's files belong to `ringer-teams`.

mod broadcast;
mod error;
mod post;
mod roster;
mod state;

pub use broadcast::BROADCAST_PAUSE;
pub use error::{Error, Result};
pub use post::{EVERYBODY, Letter, Posted, post};
pub use roster::{Pane, Roster, RosterEntry};
pub use state::StateDir;
