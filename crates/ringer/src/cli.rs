//! The command line: which verbs there are and what holds for all of them.
//!
//! Owns the global options. Each verb's own are beside what it does, in `verbs`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::verbs::{
    answer, attach, daemon, demo, down, events, finish, hook, host, inbox, init, log, mcp, members,
    observe, profiles, ps, register, relocate, remove, reply, run, send, slug, spawn, status, stop,
    tasks, team, teammate, teams, tree, up,
};

const EXAMPLES: &str = "\
Examples:
  ringer demo                                         all of it, in a temporary directory
  ringer init                                         once: Claude Code's lead hears its workers
  ringer run gemini                                   Gemini CLI, here, on the team of this directory
  ringer spawn gemini --count 3                       three of them, in the background or in panes
  ringer ps                                           what each is at
  ringer register rust-impl --pane tmux:%3            a worker that runs in tmux already
  ringer status                                       who is on which team, and what waits why
  ringer tasks --watch                                the team's tasks, as they go on
  ringer log --follow                                 every message, and what becomes of it
  ringer team                                         one team on one screen
  ringer events --follow                              what happens on teams, as it happens
  ringer reply --status success 'All tests pass.'     an answer, from within a worker

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
#[derive(Debug, Clone, Args)]
pub(crate) struct Globals {
    /// Claude Code's directory [default: $CLAUDE_CONFIG_DIR, else ~/.claude]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) claude_dir: Option<PathBuf>,
    /// Ringer's own files [default: $XDG_STATE_HOME/ringer, else ~/.local/state/ringer]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) state_dir: Option<PathBuf>,
    /// The settings [default: $XDG_CONFIG_HOME/ringer/config.toml, else ~/.config/…]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON, errors included, for scripts
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// Say more about what is done, on stderr; twice for even more
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Global options")]
    pub(crate) verbose: u8,
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
    Init(init::Init),
    Run(run::Run),
    Spawn(spawn::Spawn),
    #[command(hide = true)]
    Host(host::Host),
    Attach(attach::Attach),
    Stop(stop::Stop),
    Ps(ps::Ps),
    Move(relocate::Move),
    Finish(finish::Finish),
    Tree(tree::Tree),
    Slug(slug::Slug),
    Profiles(profiles::Profiles),
    Up(up::Up),
    Down(down::Down),
    Status(status::Status),
    Log(log::Log),
    Team(team::Team),
    Events(events::Events),
    Observe(observe::Observe),
    Tasks(tasks::Tasks),
    Teams(teams::Teams),
    Register(register::Register),
    Remove(remove::Remove),
    Members(members::Members),
    Send(send::Send),
    Reply(reply::Reply),
    Answer(answer::Answer),
    Inbox(inbox::Inbox),
    Mcp(mcp::Mcp),
    Hook(hook::Hook),
    Teammate(teammate::Teammate),
    Daemon(daemon::Daemon),
    Demo(demo::Demo),
}

impl Cli {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let context = Context::new(&self.globals)?;
        let done = match self.verb {
            // It ends as its worker does.
            Verb::Run(verb) => return verb.run(&context, &self.globals),
            Verb::Teammate(verb) => return verb.run(&context, &self.globals),
            Verb::Host(verb) => return verb.run(&context, &self.globals),
            Verb::Spawn(verb) => return verb.run(&context),
            // What its agent makes of it is in the exit status.
            Verb::Hook(verb) => return verb.run(&context),
            Verb::Init(verb) => verb.run(&context),
            Verb::Attach(verb) => verb.run(&context),
            Verb::Stop(verb) => verb.run(&context),
            Verb::Ps(verb) => verb.run(&context),
            Verb::Move(verb) => verb.run(&context),
            Verb::Finish(verb) => verb.run(&context, &self.globals),
            Verb::Tree(verb) => verb.run(&context),
            Verb::Slug(verb) => verb.run(&context),
            Verb::Profiles(verb) => verb.run(&context),
            Verb::Up(verb) => verb.run(&context, &self.globals),
            Verb::Down(verb) => verb.run(&context),
            Verb::Status(verb) => verb.run(&context),
            Verb::Log(verb) => verb.run(&context),
            Verb::Team(verb) => verb.run(&context),
            Verb::Events(verb) => verb.run(&context),
            Verb::Observe(verb) => verb.run(&context),
            Verb::Daemon(verb) => verb.run(&context, self.globals.verbose),
            Verb::Tasks(verb) => verb.run(&context),
            Verb::Teams(verb) => verb.run(&context, &self.globals),
            Verb::Register(verb) => verb.run(&context),
            Verb::Remove(verb) => verb.run(&context),
            Verb::Members(verb) => verb.run(&context),
            Verb::Send(verb) => verb.run(&context),
            Verb::Reply(verb) => verb.run(&context),
            Verb::Answer(verb) => verb.run(&context, &self.globals),
            Verb::Mcp(verb) => verb.run(context, self.globals),
            Verb::Inbox(verb) => verb.run(&context),
            Verb::Demo(verb) => verb.run(&context),
        };
        done.map(|()| ExitCode::SUCCESS)
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
