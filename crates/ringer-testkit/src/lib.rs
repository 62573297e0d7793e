//! For tests only: a temporary world, processes that end with the test, and the real programs that
//! Ringer has to get along with.
//!
//! Owns everything that tests share. The only thing faked is the model behind an agent.

mod agents;
mod cache;
mod claude;
mod daemon;
mod model;
mod npm;
mod player;
mod process;
mod receiver;
mod svg;
mod tmux;
mod world;
mod zellij;

pub use agents::Agent;
pub use cache::cache_dir;
pub use claude::{CLAUDE_VERSIONS, Claude};
pub use daemon::{Daemon, Lead, Worker, Writing};
pub use model::{Model, Turn};
pub use npm::{node_with, npm_package};
pub use player::{PLAYER_PROFILE, Played, played};
pub use process::{Running, command, wait_for};
pub use receiver::{Received, player_program, received, receiver_program};
pub use svg::{Window, svg};
pub use tmux::Tmux;
pub use world::{World, put};
pub use zellij::{Zellij, zellij_program};
