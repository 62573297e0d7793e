//! The bridge between teams and workers: who should be on which team, and what is kept about it.
//!
//! Owns everything in the state directory. Claude Code's files belong to `ringer-teams`.

mod broadcast;
mod claim;
pub mod daemon;
mod error;
mod fetch;
mod journal;
pub mod lead;
mod post;
mod reach;
mod render;
mod request;
mod roster;
mod settings;
mod speaker;
mod state;
mod turn;
pub mod unheard;

pub use broadcast::BROADCAST_PAUSE;
pub use claim::Claim;
pub use error::{Error, Result, one_line};
pub use fetch::Fetched;
pub use journal::{
    Delivered, Direction, Fetch, Filter, Identity, Intake, Journal, MemberId, Message, Queue,
    State, Typing, Via,
};
pub use post::{EVERYBODY, Letter, Posted, Sent, post};
pub use reach::occupant;
pub use request::{Answered, Request};
pub use roster::{Reach, Roster, RosterEntry};
pub use settings::{DEFAULTS, Settings};
pub use speaker::{Speaker, Status, Teammate};
pub use state::StateDir;
