//! `ringer mcp`: tools for workers and for leads.

mod lead;

use std::sync::Arc;

use clap::Args;
use ringer_bridge::Desk;
use ringer_serve::{Refusal, Role, serve};

use self::lead::Leading;
use crate::cli::Globals;
use crate::context::Context;
use crate::failure::Failure;

/// Serve the tools of a worker, or of a lead (MCP, on standard input and output)
///
/// Agents start this themselves. `ringer run gemini` (and codex, opencode, claude) hands a worker its tools:
/// notify_parent, send_message, broadcast, list_teammates, read_messages, shutdown_response and request_plan_approval.
/// `ringer init` gives Claude Code those of a lead (--lead): spawn_teammate, remove_teammate, list_teammates and
/// finish_team. A worker that leads a team of `ringer teams create` has both kinds. All have those of the board:
/// list_tasks, get_task, claim_task, update_task_status, release_task and create_task (leads; workers if the settings
/// say so).
///
/// Who the caller is comes from the process that started this; a model cannot choose it. To add a worker's tools to
/// another agent by hand, give it the command `ringer mcp`, under the name `ringer`.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// The tools of whoever leads a team
    #[arg(long)]
    lead: bool,
}

impl Mcp {
    pub(crate) fn run(self, mut context: Context, globals: Globals) -> Result<(), Failure> {
        // Nobody reads what is said besides the answers.
        context.out.json = true;
        let leads = context.own_entry()?.is_some_and(|entry| entry.leads);
        let context = Arc::new(context);
        let speaker = {
            let context = context.clone();
            Box::new(move || context.speaker().map_err(|failure| refusal(&failure)))
        };
        let lead = || Arc::new(Leading { context: context.clone(), globals });
        let role = match (leads, self.lead) {
            (true, _) => Role::LeadingWorker(speaker, lead()),
            (false, true) => Role::Lead(lead()),
            (false, false) => Role::Worker(speaker),
        };
        let desk = {
            let (context, as_lead) = (context.clone(), self.lead && !leads);
            Box::new(move || desk(&context, as_lead).map_err(|failure| refusal(&failure)))
        };
        serve(role, desk).map_err(|e| Failure::new("internal_error", "the tools ended").cause(&e))
    }
}

/// The board of whoever started this process, as what it is.
fn desk(context: &Context, as_lead: bool) -> Result<Desk, Failure> {
    if as_lead {
        return Ok(Desk::of_lead(&context.state, context.led_team()?, &context.cwd));
    }
    context.desk_of(&context.speaker()?)
}

fn refusal(failure: &Failure) -> Refusal {
    let (code, hint) = (failure.code().to_owned(), failure.hint_text().map(str::to_owned));
    Refusal { code, message: failure.whole_message(), hint, details: failure.details() }
}
