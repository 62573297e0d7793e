//! `ringer run`: a worker on a team, in this terminal or in the background.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use clap::Args;
use jiff::Timestamp;
use ringer_bridge::daemon::{self, socket_dir, workers_dir};
use ringer_bridge::{Reach, Roster};
use ringer_panes::{Address, Host, HostError, PLAIN, Profile, WorkerCommand};
use ringer_teams::{Error, NewMember, SyntheticMemberService, Team, check_member_name};
use serde_json::json;

use crate::cli::{Globals, TeamArg};
use crate::context::{Context, find_program};
use crate::failure::Failure;
use crate::hosted::is_alive;
use crate::program::program;
use crate::verbs::up;

/// Run a worker on a team, in this terminal
///
/// The program runs here as it would without Ringer: keys, colours, mouse and exit status are its own.
/// Meanwhile it is on the team, and what Claude sends to it is typed at its prompt, when it is at its
/// prompt and nobody is typing. It is taken off the team when it ends. The daemon is started if it does
/// not run yet.
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
        let command = self.command(context, &profile, &team, &name)?;
        Roster::check(&context.state)?;
        if daemon::running(&context.state)?.is_none()
            && let Err(failure) = up::ensure(context, globals)
        {
            let warning = format!("warning: {}; mail waits until `ringer up`", failure.message());
            context.out.note(&warning);
        }
        let dir = socket_dir(&context.state, context.runtime_dir.as_deref())?;
        let socket = dir.join(format!("{name}-{}.sock", std::process::id()));
        let host = Host::start(&command, &socket, self.hosted)?;
        let member = NewMember {
            agent_type: format!("{}-worker", profile.name),
            cwd: command.cwd.clone(),
            ..NewMember::new(&name, &context.cwd, Timestamp::now().as_millisecond())
        };
        SyntheticMemberService::register(&team, &member)?;
        let place = Place { context, team: &team, name: &name, socket: &socket };
        let reach = Reach {
            pane: Address::Host { socket: socket.clone() },
            // The daemon finds out when it is there: some programs begin as another one.
            occupant: None,
            profile: Some(profile.name.clone()),
        };
        Roster::enter(&context.state, &team, &member, Some(reach))?;
        context.wake_daemon();
        if self.hosted {
            place.tell_parent(&profile)?;
        } else {
            context.out.note(&format!("{name} is on {}", team.name()));
        }
        let code = host.run()?;
        drop(place);
        Ok(ExitCode::from(code))
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

    fn command(
        &self,
        context: &Context,
        profile: &Profile,
        team: &Team,
        name: &str,
    ) -> Result<WorkerCommand, Failure> {
        let words = if self.command.is_empty() { &profile.command } else { &self.command };
        if words.is_empty() {
            let message = format!("the profile `{}` has no command", profile.name);
            return Err(
                Failure::usage(&message).hint(&format!("ringer run {} -- CMD", profile.name))
            );
        }
        if find_program(&words[0]).is_none() {
            let why = "there is no such program".to_owned();
            return Err(HostError::Start { program: words[0].clone(), why }.into());
        }
        let mut env: Vec<(String, String)> = profile.env.clone().into_iter().collect();
        env.push(("RINGER_TEAM".to_owned(), team.name().to_owned()));
        env.push(("RINGER_MEMBER".to_owned(), name.to_owned()));
        Ok(WorkerCommand { words: words.clone(), env, cwd: context.cwd.clone() })
    }
}

/// A worker's place on a team; it is given up in the end, whatever happens.
struct Place<'a> {
    context: &'a Context,
    team: &'a Team,
    name: &'a str,
    socket: &'a PathBuf,
}

impl Place<'_> {
    /// All is well: says so to whoever started us, who waits for it, and goes on in silence.
    fn tell_parent(&self, profile: &Profile) -> Result<(), Failure> {
        let (name, team) = (self.name, self.team.name());
        let people = format!("{name} is on {team}; `ringer attach {name}` shows it");
        let scripts = json!({
            "success": true, "team": team, "name": name, "profile": profile.name,
            "pid": std::process::id(), "pane": format!("host:{}", self.socket.display()),
        });
        self.context.out.answer(&people, &scripts)?;
        let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(&nowhere).map_err(io::Error::from)?;
        rustix::stdio::dup2_stderr(&nowhere).map_err(io::Error::from)?;
        Ok(())
    }

    fn give_up(&self) -> Result<(), Failure> {
        let roster = Roster::load(&self.context.state)?;
        let pane = Address::Host { socket: self.socket.clone() };
        // Somebody else may have been given the name meanwhile.
        if roster.find(self.team.dir(), self.name).is_none_or(|entry| entry.pane == pane) {
            Roster::strike(&self.context.state, self.team.dir(), Some(self.name))?;
            // If the team is gone, so is the member.
            if let Ok(team) = self.context.claude.team(self.team.name()) {
                SyntheticMemberService::remove(&team, self.name)?;
            }
            self.context.wake_daemon();
        }
        Ok(())
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Err(failure) = self.give_up() {
            let name = self.name;
            self.context
                .out
                .note(&format!("warning: {name} stays on the team: {}", failure.message()));
        }
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
