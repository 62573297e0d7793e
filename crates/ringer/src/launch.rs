//! Starting a worker under a host of ours, and its place on a team meanwhile.
//!
//! Owns what is set up for a worker and cleared away after it, whatever happens: its member, its place
//! on the roster, its settings file.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use jiff::Timestamp;
use ringer_bridge::daemon::{self, socket_dir};
use ringer_bridge::lead::reads_by_itself;
use ringer_bridge::{Letter, Reach, Roster, post};
use ringer_panes::{Address, Host, HostError, Outfit, Profile, Tailor, WorkerCommand};
use ringer_teams::{Known, LEAD, NewMember, SyntheticMemberService, Team};
use serde_json::json;

use crate::cli::Globals;
use crate::context::{Context, find_program, variable};
use crate::failure::Failure;
use crate::verbs::{init, up};

/// A worker that is about to be started.
pub(crate) struct Launch<'a> {
    pub(crate) context: &'a Context,
    pub(crate) globals: &'a Globals,
    pub(crate) profile: &'a Profile,
    pub(crate) team: &'a Team,
    pub(crate) name: &'a str,
    /// Its command.
    pub(crate) words: &'a [String],
    /// Whether Claude Code has put it on the team.
    pub(crate) native: bool,
    /// Whether it runs in the background, with nobody in front of it.
    pub(crate) hosted: bool,
}

impl Launch<'_> {
    /// Runs it until it ends; its exit status.
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let (context, name) = (self.context, self.name);
        if find_program(&self.words[0]).is_none() {
            let why = "there is no such program".to_owned();
            return Err(HostError::Start { program: self.words[0].clone(), why }.into());
        }
        Roster::check(&context.state)?;
        if daemon::running(&context.state)?.is_none()
            && let Err(failure) = up::ensure(context, self.globals)
        {
            let warning = format!("warning: {}; mail waits until `ringer up`", failure.message());
            context.out.note(&warning);
        }
        let dir = socket_dir(&context.state, context.runtime_dir.as_deref())?;
        let socket = dir.join(format!("{name}-{}.sock", std::process::id()));
        let file =
            SettingsFile(safe_place(context, &format!("{name}-{}.json", std::process::id())));
        let (command, geared) = self.command(file.0.as_deref())?;
        let host = Host::start(&command, &socket, self.hosted)?;
        let place = Place { launch: self, socket: &socket };
        place.take(&command, geared && self.profile.gear.hooks)?;
        if !reads_by_itself(self.team) && !init::is_done(context) {
            context.out.note(
                "hint: this Claude Code does not hear its workers yet: run `ringer init`, then start it again",
            );
        }
        if self.hosted {
            place.tell_parent()?;
        } else {
            context.out.note(&format!("{name} is on {}", self.team.name()));
        }
        let code = host.run()?;
        drop(place);
        Ok(ExitCode::from(code))
    }

    /// What is run, with all that the worker is handed; whether it is handed our tools.
    fn command(&self, file: Option<&Path>) -> Result<(WorkerCommand, bool), Failure> {
        let context = self.context;
        let ringer = std::env::current_exe()?;
        let gear = &self.profile.gear;
        let tailor = Tailor {
            programs: &self.profile.programs,
            ringer: &ringer,
            file: file.unwrap_or(Path::new("")),
            words: &[],
            variable,
        };
        let taken = gear.env.keys().find(|name| {
            let replaced = gear.base.as_ref().is_some_and(|(base, _)| base == *name);
            !replaced && variable(name).is_some()
        });
        let trouble = match taken {
            Some(name) => Some(format!("{name} is set already")),
            None if gear.file.is_some() && file.is_none() => {
                Some("there is no directory for its settings that only you can write to".to_owned())
            }
            None => None,
        };
        let outfit = match trouble {
            None => gear.outfit(self.words, &tailor),
            trouble => Outfit { words: self.words.to_vec(), trouble, ..Outfit::default() },
        };
        if let Some(trouble) = &outfit.trouble {
            let name = self.name;
            context.out.note(&format!(
                "warning: {name} has none of Ringer's tools: {trouble}; it can answer with `ringer reply`"
            ));
        }
        if let (Some(text), Some(file)) = (&outfit.file, file) {
            let mut open = OpenOptions::new();
            let new = open.write(true).create(true).truncate(true).mode(0o600).open(file);
            new.and_then(|mut new| new.write_all(text.as_bytes()))?;
        }
        let geared = outfit.trouble.is_none() && !gear.is_empty();
        let mut env: Vec<(String, String)> = self.profile.env.clone().into_iter().collect();
        env.extend(outfit.env);
        env.extend(context.worker_env(self.team, self.name));
        let cwd = context.cwd.clone();
        Ok((WorkerCommand { words: outfit.words, env, cwd }, geared))
    }
}

/// A settings file of ours; it goes with its worker.
struct SettingsFile(Option<PathBuf>);

impl Drop for SettingsFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            std::fs::remove_file(path).ok();
        }
    }
}

/// Where a settings file can be that nobody else could have written: Gemini CLI takes none from a directory
/// below one that others can write to.
fn safe_place(context: &Context, name: &str) -> Option<PathBuf> {
    let others_write = |dir: &Path| {
        let meta = dir.metadata();
        meta.map_or(true, |meta| !meta.is_dir() || meta.permissions().mode() & 0o022 != 0)
    };
    let dirs = [
        socket_dir(&context.state, context.runtime_dir.as_deref()).ok(),
        Some(context.state.path().to_owned()),
    ];
    let mut dirs = dirs.into_iter().flatten();
    dirs.find(|dir| !dir.ancestors().any(others_write)).map(|dir| dir.join(name))
}

/// A worker's place on a team; it is given up in the end, whatever happens.
struct Place<'a> {
    launch: &'a Launch<'a>,
    socket: &'a PathBuf,
}

impl Place<'_> {
    fn take(&self, command: &WorkerCommand, hooks: bool) -> Result<(), Failure> {
        let Launch { context, profile, team, name, native, .. } = *self.launch;
        let member = NewMember {
            agent_type: format!("{}-worker", profile.name),
            cwd: command.cwd.clone(),
            ..NewMember::new(name, &context.cwd, Timestamp::now().as_millisecond())
        };
        if !native {
            SyntheticMemberService::register(team, &member)?;
        }
        let reach = Reach {
            pane: Address::Host { socket: self.socket.clone() },
            // The daemon finds out when it is there: some programs begin as another one.
            occupant: None,
            profile: Some(profile.name.clone()),
            hooks,
            native,
        };
        Roster::enter(&context.state, team, &member, Some(reach))?;
        context.wake_daemon();
        Ok(())
    }

    /// All is well: says so to whoever started us, who waits for it, and goes on in silence.
    fn tell_parent(&self) -> Result<(), Failure> {
        let (name, team) = (self.launch.name, self.launch.team.name());
        let people = format!("{name} is on {team}; `ringer attach {name}` shows it");
        let scripts = json!({
            "success": true, "team": team, "name": name, "profile": self.launch.profile.name,
            "pid": std::process::id(), "pane": format!("host:{}", self.socket.display()),
        });
        self.launch.context.out.answer(&people, &scripts)?;
        let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(&nowhere).map_err(io::Error::from)?;
        rustix::stdio::dup2_stderr(&nowhere).map_err(io::Error::from)?;
        Ok(())
    }

    fn give_up(&self) -> Result<(), Failure> {
        let Launch { context, team, name, native, .. } = *self.launch;
        let roster = Roster::load(&context.state)?;
        let pane = Address::Host { socket: self.socket.clone() };
        let entry = roster.find(team.dir(), name);
        // Somebody else may have been given the name meanwhile.
        if entry.is_some_and(|entry| entry.pane != pane) {
            return Ok(());
        }
        let agreed = entry.is_some_and(|entry| entry.retiring);
        Roster::strike(&context.state, team.dir(), Some(name))?;
        // If the team is gone, so is the member.
        if let Ok(team) = context.claude.team(team.name()) {
            if native && !agreed {
                take_leave(context, &team, name)?;
            } else if !native {
                SyntheticMemberService::remove(&team, name)?;
            }
        }
        context.wake_daemon();
        Ok(())
    }
}

/// A member of Claude Code's own is taken off the team by Claude Code, when it hears that it has ended.
fn take_leave(context: &Context, team: &Team, name: &str) -> Result<(), Failure> {
    let Ok(member) = team.member(name) else { return Ok(()) };
    let raw: serde_json::Value = serde_json::from_str(&member.raw).unwrap_or_default();
    let field = |key: &str| raw[key].as_str().map(str::to_owned);
    let now = Timestamp::now();
    let ended = Known::ShutdownApproved {
        request_id: format!("shutdown-{}@{name}", now.as_millisecond()),
        from: name.to_owned(),
        timestamp: format!("{now:.3}"),
        pane_id: field("tmuxPaneId"),
        backend_type: field("backendType"),
    };
    let lead = team.config.lead().map_or(LEAD, |lead| &lead.name);
    let text = ended.to_text();
    let letter = Letter { from: name, to: lead, text: &text, summary: Some("ended"), force: true };
    post(&context.state, team, &letter, SystemTime::now())?;
    Ok(())
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Err(failure) = self.give_up() {
            let name = self.launch.name;
            let message = failure.message();
            self.launch.context.out.note(&format!("warning: {name} stays on the team: {message}"));
        }
    }
}
