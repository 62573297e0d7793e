//! For tests only: a temporary world, processes that end with the test, and the real programs that
//! Ringer has to get along with.
//!
//! Owns everything that tests share. The only thing faked is the model behind Claude Code.

mod cache;
mod claude;
mod daemon;
mod model;
mod npm;
mod process;
mod receiver;
mod tmux;
mod world;

pub use cache::cache_dir;
pub use claude::{CLAUDE_VERSIONS, Claude};
pub use daemon::{Daemon, Lead, Worker, Writing};
pub use model::{Model, Turn};
pub use npm::{node_with, npm_package};
pub use process::{Running, command, wait_for};
pub use receiver::{Received, received, receiver_program};
pub use tmux::Tmux;
pub use world::{World, put};
