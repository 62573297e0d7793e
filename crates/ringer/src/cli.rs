//! The command line: which verbs there are and what holds for all of them.
//!
//! Owns the global options. Each verb's own are beside what it does, in `verbs`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::verbs::{demo, inbox, members, register, remove, send, teams};

const EXAMPLES: &str = "\
Examples:
  ringer teams                                        which teams are there?
  ringer register rust-impl --team session-1a2b3c4d   now Claude can SendMessage to rust-impl
  ringer inbox rust-impl --unread                     what Claude wrote to it
  ringer send --from rust-impl --to team-lead 'done'  an answer
  ringer demo                                         all of it, in a temporary directory

Without --team, Ringer takes RINGER_TEAM, else the newest live team whose lead works in this
directory or above it. Exit status: 0 done, 1 not done, 2 wrong usage.";

/// Puts any terminal agent on a Claude Code agent team, as a member like the others.
#[derive(Debug, Parser)]
#[command(name = "ringer", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    verb: Verb,
}

/// What holds for every verb.
#[derive(Debug, Args)]
pub(crate) struct Globals {
    /// Claude Code's directory [default: $CLAUDE_CONFIG_DIR, else ~/.claude]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) claude_dir: Option<PathBuf>,
    /// Ringer's own files [default: $XDG_STATE_HOME/ringer, else ~/.local/state/ringer]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print JSON, errors included, for scripts
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// Say more about what is done, on stderr
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) verbose: bool,
}

/// The team that a verb is about.
#[derive(Debug, Args)]
pub(crate) struct TeamArg {
    /// The team, by name [default: $RINGER_TEAM, else the live team whose lead works here]
    #[arg(long, short, value_name = "TEAM")]
    pub(crate) team: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Teams(teams::Teams),
    Register(register::Register),
    Remove(remove::Remove),
    Members(members::Members),
    Send(send::Send),
    Inbox(inbox::Inbox),
    Demo(demo::Demo),
}

impl Cli {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let context = Context::new(&self.globals)?;
        match self.verb {
            Verb::Teams(verb) => verb.run(&context),
            Verb::Register(verb) => verb.run(&context),
            Verb::Remove(verb) => verb.run(&context),
            Verb::Members(verb) => verb.run(&context),
            Verb::Send(verb) => verb.run(&context),
            Verb::Inbox(verb) => verb.run(&context),
            Verb::Demo(verb) => verb.run(&context),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
