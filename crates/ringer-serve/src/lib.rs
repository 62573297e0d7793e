//! What others talk to: the MCP server for workers.
//!
//! Owns the way in, and nothing of what is done: that is the bridge's.

mod mcp;

pub use mcp::{Refusal, serve_worker};
