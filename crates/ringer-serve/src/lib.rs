//! What others talk to: the MCP server for workers and leads.
//!
//! Owns the way in, and nothing of what is done: that is the bridge's, and for leads the command's.

mod mcp;

pub use mcp::{Lead, Refusal, Role, SpawnTeammate, serve};
