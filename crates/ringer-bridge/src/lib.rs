//! The bridge between teams and workers: who should be on which team, and what is kept about it.
//!
//! Owns everything in the state directory. Claude Code's files belong to `ringer-teams`.

mod broadcast;
pub mod daemon;
mod error;
mod journal;
mod post;
mod reach;
mod render;
mod roster;
mod settings;
mod state;

pub use broadcast::BROADCAST_PAUSE;
pub use error::{Error, Result};
pub use journal::{
    Delivered, Direction, Filter, Identity, Intake, Journal, MemberId, Message, Queue, State,
};
pub use post::{EVERYBODY, Letter, Posted, Sent, post};
pub use reach::occupant;
pub use roster::{Reach, Roster, RosterEntry};
pub use settings::{DEFAULTS, Settings};
pub use state::StateDir;
