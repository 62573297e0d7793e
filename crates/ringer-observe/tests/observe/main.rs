//! What comes out of streams and transcripts, line by line: only what the crate offers everybody is used here.

#![expect(clippy::needless_pass_by_value, reason = "what a test makes up, it gives away")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod contract;
mod correlation;
mod events;
mod examples;
mod hostile;
mod idle;
mod laws;
mod lives;
mod recognition;
mod resumption;
mod roles;
mod stage;
mod tee;
mod transitions;
