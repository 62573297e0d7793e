//! What Claude Code says of its team, and what is told of that: the command, and the daemon that follows transcripts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command;
mod daemon;
#[path = "../scene/leads.rs"]
mod leads;
#[path = "../scene/mod.rs"]
mod scene;
mod told;
mod transcript;
