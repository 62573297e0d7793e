//! `ringer mcp`: a worker's tools.

use clap::Args;
use ringer_serve::{Refusal, serve_worker};

use crate::context::Context;
use crate::failure::Failure;

/// Serve a worker's tools (MCP, on standard input and output)
///
/// Agents start this themselves: `ringer run gemini` (and codex, opencode, claude) hands it to them. The tools
/// are notify_parent, send_message, broadcast, list_teammates, read_messages, shutdown_response and
/// request_plan_approval. Who the worker is comes from RINGER_TEAM and RINGER_MEMBER in its environment;
/// a model cannot choose it. To add it to another agent by hand, give it the command `ringer mcp`, under
/// the name `ringer`.
#[derive(Debug, Args)]
pub(crate) struct Mcp {}

impl Mcp {
    pub(crate) fn run(self, context: Context) -> Result<(), Failure> {
        let find = move || context.speaker().map_err(|failure| refusal(&failure));
        serve_worker(find).map_err(|e| Failure::new("internal_error", "the tools ended").cause(&e))
    }
}

fn refusal(failure: &Failure) -> Refusal {
    let (code, hint) = (failure.code().to_owned(), failure.hint_text().map(str::to_owned));
    Refusal { code, message: failure.message().to_owned(), hint }
}
