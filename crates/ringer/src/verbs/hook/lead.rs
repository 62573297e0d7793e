//! The hooks of a lead: mail for a Claude Code that does not read its inbox.

use std::process::ExitCode;

use ringer_bridge::daemon::socket_dir;
use ringer_bridge::lead::{Session, Waited, take, wait as wait_for_mail};
use ringer_panes::Process;
use serde_json::{Value, json};

use crate::context::{Context, variable};
use crate::failure::Failure;

/// What makes Claude Code show a model what is on stderr.
const WAKE: u8 = 2;

pub(super) fn wait(context: &Context, said: &Value) -> Result<ExitCode, Failure> {
    if is_of_another_agent(said) {
        return Ok(ExitCode::SUCCESS);
    }
    let session = session(said);
    let dir = socket_dir(&context.state, context.runtime_dir.as_deref())?;
    // The lead's tools run below the same process, and on some versions nothing else tells them whose they are.
    session.note(&dir)?;
    // Versions that do not say it in the environment cannot be woken either, and read by themselves.
    if variable("CLAUDE_CODE_SESSION_ID").is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    match wait_for_mail(&session, &context.claude, &context.state, &dir)? {
        Waited::Mail(handover) => {
            context.out.hand_over(handover.words())?;
            handover.done()?;
            Ok(ExitCode::from(WAKE))
        }
        Waited::Taken | Waited::NoTeam | Waited::Over => Ok(ExitCode::SUCCESS),
    }
}

pub(super) fn post_tool(context: &Context, said: &Value) -> Result<ExitCode, Failure> {
    if is_of_another_agent(said) {
        return Ok(ExitCode::SUCCESS);
    }
    let Some(team) = session(said).team(&context.claude)? else {
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(handover) = take(&context.state, &team, true)? {
        let event = said["hook_event_name"].as_str().unwrap_or("PostToolUse");
        context.out.data(&json!({"hookSpecificOutput": {
            "hookEventName": event, "additionalContext": handover.words(),
        }}))?;
        handover.done()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn session(said: &Value) -> Session {
    let named = variable("CLAUDE_PID").and_then(|pid| pid.parse().ok());
    let id = said["session_id"].as_str().unwrap_or_default().to_owned();
    Session { id, pid: named.or_else(Process::caller) }
}

/// Agents inside the lead's process run its hooks, too. Its mail is not theirs.
fn is_of_another_agent(said: &Value) -> bool {
    said["agent_id"].is_string()
}
