//! The bridge between teams and workers: who should be on which team, and what is kept about it.
//!
//! Owns everything in the state directory. Claude Code's files belong to `ringer-teams`.

mod broadcast;
mod claim;
pub mod daemon;
mod depart;
mod desk;
mod ending;
mod error;
mod fetch;
mod finishing;
mod journal;
pub mod lead;
pub mod observe;
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
pub use depart::{Departed, NOT_DELIVERED, depart, give_back_tasks};
pub use desk::{Desk, Done};
pub use ending::end_worker;
pub use error::{Error, Result, one_line};
pub use fetch::Fetched;
pub use finishing::{ask_to_shut_down, refused};
pub use journal::{
    Delivered, Direction, EventFilter, Fetch, Filter, Identity, Intake, Journal, Life, MemberId,
    Message, Queue, State, Told, Typing, Via,
};
pub use post::{EVERYBODY, Letter, Posted, Sent, post};
pub use reach::{look, occupant};
pub use request::{Answered, Request};
pub use roster::{
    Birth, Follows, Former, Leaving, Reach, Roster, RosterEntry, TwoLeads, WORKER, Wish, leads_in,
};
pub use settings::{DEFAULTS, Settings};
pub use speaker::{Speaker, Status, Teammate};
pub use state::StateDir;
