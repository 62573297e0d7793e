//! `ringer hook`: what agents run when something happens in them.
//!
//! Owns the way in and out of hooks. Each reads JSON from its standard input, and says nothing unless
//! there is something to say: what a hook prints is shown to a model.

mod gemini;
mod lead;

use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ringer_teams::without_lone_surrogates;
use serde_json::Value;

use crate::context::Context;
use crate::failure::Failure;

/// Entry points of hooks; `ringer init` and `ringer run` set them up
#[derive(Debug, Args)]
pub(crate) struct Hook {
    #[command(subcommand)]
    which: Which,
}

#[derive(Debug, Subcommand)]
enum Which {
    /// For Claude Code (SessionStart, UserPromptSubmit, Stop; async): wait for the lead's mail
    ///
    /// Waits until there is mail for the lead of this session's team that Claude Code does not read by
    /// itself, takes it, and ends with exit status 2 and the mail on stderr, which wakes the model. One
    /// waits per session; it ends with the session.
    Wait,
    /// For Claude Code (PostToolUse): hand the lead's mail over in the middle of its turn
    PostTool,
    /// For Gemini CLI (BeforeAgent, BeforeModel, AfterTool, AfterAgent)
    ///
    /// Notes what the worker got, hands mail over while it works, and tells the lead when a turn ends.
    Gemini,
}

/// More than any hook is told.
const LONGEST: u64 = 256 * 1024 * 1024;

impl Hook {
    pub(crate) fn run(self, context: &Context) -> Result<ExitCode, Failure> {
        let said = read()?;
        match self.which {
            Which::Wait => lead::wait(context, &said),
            Which::PostTool => lead::post_tool(context, &said),
            Which::Gemini => gemini::run(context, &said),
        }
    }
}

fn read() -> Result<Value, Failure> {
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::usage("a hook is told by its agent what happened, as JSON on stdin")
            .hint("`ringer init` sets up the hooks of Claude Code"));
    }
    let mut text = Vec::new();
    let cannot = |e: &dyn std::error::Error| {
        Failure::new("unreadable", "what the agent says is not understood")
            .cause(e)
            .hint("hooks are run by Claude Code and Gemini CLI, which tell them what happened")
    };
    stdin.by_ref().take(LONGEST).read_to_end(&mut text).map_err(|e| cannot(&e))?;
    let text = String::from_utf8_lossy(&text);
    serde_json::from_str(&without_lone_surrogates(&text)).map_err(|e| cannot(&e))
}
