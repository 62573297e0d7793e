//! Workers in terminals of every kind: under `ringer run`, in tmux and in Zellij, with programs that play
//! and with real agents.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agents;
mod chaos;
mod gate;
mod run;
#[path = "../scene/mod.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod scene;
mod seat;
mod terminal;
