//! Panes where workers run: their addresses, what is in them, and text typed into them.
//!
//! Owns every way to a terminal pane, the profiles of workers, and the gate that judges from what
//! [`Pane::look`] shows whether a worker may be typed to. It knows nothing of teams or messages, and
//! keeps nothing on disk.

mod address;
mod fault;
mod gate;
mod host;
mod needle;
mod occupant;
mod opening;
mod pane;
mod payload;
mod process;
mod profile;
mod terminals;
mod tmux;
mod zellij;

pub use address::{Address, InvalidAddress};
pub use fault::Fault;
pub use gate::{Condition, Gate, Hold, Holding, QUIET};
pub use host::{
    Ending, Host, HostClient, HostError, HostPane, Outcome as HostOutcome, Viewer, WorkerCommand,
};
pub use needle::Needle;
pub use occupant::{Occupant, Verdict};
pub use opening::Multiplexer;
pub use pane::{Counts, Pane, Screen, Sight};
pub use payload::Payload;
pub use process::{LONGEST_LINE, Process};
pub use profile::{
    Body, Channel, Gear, Outfit, PLAIN, Profile, ProfileError, Rule, Shutdown, Submit, Subtree,
    Tailor, shell_word,
};
pub use terminals::{AnyPane, Terminals};
pub use tmux::{TmuxPane, TmuxServers};
pub use zellij::{ZellijPane, ZellijSessions};
