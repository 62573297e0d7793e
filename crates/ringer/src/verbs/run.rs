//! `ringer run`: a worker on a team, in this terminal or in the background.

use std::io::{self, Read, Write};
use std::process::{ExitCode, Stdio};

use clap::Args;
use ringer_bridge::Roster;
use ringer_bridge::daemon::workers_dir;
use ringer_panes::{PLAIN, Profile};
use ringer_teams::{Error, Team, check_member_name};

use crate::cli::{Globals, TeamArg};
use crate::context::Context;
use crate::failure::Failure;
use crate::hosted::is_alive;
use crate::launch::Launch;
use crate::program::program;

/// Run a worker on a team, in this terminal
///
/// The program runs here as it would without Ringer: keys, colours, mouse and exit status are its own.
/// Meanwhile it is on the team, and what Claude sends to it is typed at its prompt, when it is at its
/// prompt and nobody is typing. Gemini CLI, Codex, OpenCode and Claude Code are handed Ringer's tools, so that
/// their models can answer (`notify_parent` and others); any program can with `ringer reply`. The worker is
/// taken off the team when it ends. The daemon is started if it does not run yet.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// What kind of worker it is; `ringer profiles` lists them [default: told by the command]
    #[arg(required_unless_present = "command")]
    profile: Option<String>,
    /// What Claude will call it [default: the profile's name]
    #[arg(long, short)]
    name: Option<String>,
    #[command(flatten)]
    team: TeamArg,
    /// Run it in the background; `ringer attach NAME` shows it
    #[arg(long, short)]
    detach: bool,
    /// The command, instead of the profile's
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
    /// We are the background process.
    #[arg(long, hide = true)]
    hosted: bool,
}

const EXAMPLES: &str = "\
Examples:
  ringer run gemini                              Gemini CLI, here, on the team of this directory
  ringer run gemini --name rust-impl             under another name
  ringer run gemini -- gemini --model flash      with another command
  ringer run -- ./worker.sh                      any program that reads lines
  ringer run gemini --detach                     in the background";

impl Run {
    pub(crate) fn run(self, context: &Context, globals: &Globals) -> Result<ExitCode, Failure> {
        if self.detach && !self.hosted {
            return in_background();
        }
        if self.hosted {
            // Of our own session, so that the end of the user's terminal is not ours.
            rustix::process::setsid().ok();
        }
        let profile = self.profile(context)?;
        let team = context.team(&self.team)?;
        let name = self.name(context, &team, &profile)?;
        let words = self.words(&profile)?;
        let launch = Launch {
            context,
            globals,
            profile: &profile,
            team: &team,
            name: &name,
            words,
            native: false,
            hosted: self.hosted,
        };
        launch.run()
    }

    /// The profile that was named, or the one that knows the command.
    fn profile(&self, context: &Context) -> Result<Profile, Failure> {
        let dir = workers_dir(&context.config.0);
        let told = || Profile::recognise(&self.command, &dir).unwrap_or_else(|| PLAIN.to_owned());
        let name = self.profile.clone().unwrap_or_else(told);
        Ok(Profile::load(&name, &dir)?)
    }

    /// The name that was given, if nobody has it; else the profile's, with a number if need be.
    fn name(&self, context: &Context, team: &Team, profile: &Profile) -> Result<String, Failure> {
        let roster = Roster::load(&context.state)?;
        let is_taken = |name: &str| match team.config.member(name) {
            Some(member) if member.is_synthetic() => {
                roster.find(team.dir(), name).is_some_and(|entry| is_alive(&entry.pane))
            }
            Some(_) => true,
            None => false,
        };
        if let Some(name) = &self.name {
            check_member_name(name)?;
            if is_taken(name) {
                let (team, name) = (team.name().to_owned(), name.clone());
                let taken_by = "a worker of that name runs".to_owned();
                return Err(Error::AgentAlreadyExists { team, name, taken_by }.into());
            }
            return Ok(name.clone());
        }
        let numbered = (2..).map(|number| format!("{}-{number}", profile.name));
        let mut names = std::iter::once(profile.name.clone()).chain(numbered);
        Ok(names.find(|name| !is_taken(name)).expect("there is no end of numbers"))
    }

    fn words<'a>(&'a self, profile: &'a Profile) -> Result<&'a [String], Failure> {
        let words = if self.command.is_empty() { &profile.command } else { &self.command };
        if words.is_empty() {
            let message = format!("the profile `{}` has no command", profile.name);
            let hint = format!("ringer run {} -- CMD", profile.name);
            return Err(Failure::usage(&message).hint(&hint));
        }
        Ok(words)
    }
}

/// Starts the same command again, of a session of its own, and waits until it has said that all is well
/// or has ended.
fn in_background() -> Result<ExitCode, Failure> {
    let ringer = std::env::current_exe()?;
    let mut words: Vec<_> = std::env::args_os().skip(1).collect();
    let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.insert(at, "--hosted".into());
    let mut child = program(ringer)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut said = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut said)?;
    }
    let mut complained = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_end(&mut complained)?;
    }
    io::stderr().write_all(&complained)?;
    io::stdout().write_all(&said)?;
    if said.is_empty() || !complained.is_empty() {
        // Both ends were closed: it has ended, or is about to, unless it only warned.
        if let Some(status) = ended(&mut child)? {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Ok(ExitCode::from(code.unwrap_or(1)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How it ended, if it did within a moment.
fn ended(child: &mut std::process::Child) -> io::Result<Option<std::process::ExitStatus>> {
    for _ in 0..50 {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Ok(None)
}
