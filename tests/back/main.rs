//! The way back: real Claude Code leads of three generations, real Gemini CLI workers in every kind of
//! terminal, and what goes between them. The models are scripted.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod board;
mod crowd;
mod lead;
mod leading;
#[path = "../scene/leads.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod leads;
mod native;
mod picture;
mod restart;
mod round_trip;
#[path = "../scene/mod.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod scene;
#[path = "../panes/seat.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod seat;
mod stage;
mod tools;
mod tree;
mod watchdog;
mod worker;
