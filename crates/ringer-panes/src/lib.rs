//! Panes where workers run: their addresses, what is in them, and text typed into them.
//!
//! Owns every way to a terminal pane. It knows nothing of teams or messages, keeps nothing on disk,
//! and never decides whether a worker may be disturbed: the caller does, from what [`Pane::look`]
//! shows.

mod address;
mod fault;
mod needle;
mod occupant;
mod pane;
mod payload;
mod process;
mod tmux;

pub use address::{Address, InvalidAddress};
pub use fault::Fault;
pub use needle::Needle;
pub use occupant::{Occupant, Verdict};
pub use pane::{Pane, Screen, Sight};
pub use payload::Payload;
pub use process::Process;
pub use tmux::{TmuxPane, TmuxServers};
