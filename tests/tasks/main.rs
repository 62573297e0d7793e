//! Tasks: what the command says, and what the daemon makes of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command;
#[path = "../scene/mod.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod scene;
mod telling;
