//! What Claude Code says of its team, and what is told of that: the command, and the daemon that follows transcripts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command;
mod daemon;
#[path = "../scene/leads.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod leads;
#[path = "../scene/mod.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod scene;
mod told;
mod transcript;
