//! Starting a worker under a host of ours, and its place on a team meanwhile.
//!
//! Owns what is set up for a worker and cleared away after it, whatever happens: its name, its member, its place on
//! the roster, its settings file. Who asks for a worker elsewhere (in the background, in another pane) is in
//! [`asking`], what they say to each other in [`order`].

pub(crate) mod asking;
pub(crate) mod order;
mod outfit;

use std::fs::OpenOptions;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use jiff::Timestamp;
use ringer_bridge::daemon::{self, socket_dir};
use ringer_bridge::lead::reads_by_itself;
use ringer_bridge::{Birth, Claim, Follows, Journal, Roster, RosterEntry, Wish, depart, one_line};
use ringer_panes::{Address, Host, HostError, Profile};
use ringer_teams::{NewMember, SyntheticMemberService, Team, check_member_name, inbox_file_name};

use self::outfit::SettingsFile;
use crate::cli::Globals;
use crate::context::{Context, find_program};
use crate::failure::Failure;
use crate::verbs::{init, up};

/// A worker that is about to be started in this process.
pub(crate) struct Launch<'a> {
    pub(crate) context: &'a Context,
    pub(crate) globals: &'a Globals,
    pub(crate) profile: &'a Profile,
    pub(crate) team: &'a Team,
    /// What it is to be called.
    pub(crate) wish: Wish<'a>,
    /// Its command.
    pub(crate) words: &'a [String],
    pub(crate) cwd: PathBuf,
    /// What decides which team it is on.
    pub(crate) follows: Follows,
    /// Whether Claude Code has put it on the team.
    pub(crate) native: bool,
    /// Whether it leads the team.
    pub(crate) leads: bool,
    /// Whether nobody is in front of it.
    pub(crate) detached: bool,
}

/// A worker that runs. It is off the roster and the team when this is dropped.
pub(crate) struct Running<'a> {
    launch: &'a Launch<'a>,
    /// The last but one to go: a worker that has ended leaves the team.
    host: Option<Host>,
    pub(crate) entry: RosterEntry,
    why: String,
    /// Gone with it.
    file: Option<SettingsFile>,
}

impl<'a> Launch<'a> {
    /// Runs it on the team until it ends; its exit status.
    pub(crate) fn run(&'a self) -> Result<ExitCode, Failure> {
        let mut running = self.start()?;
        running.join()?;
        let (name, team) = (&running.entry.name, self.team.name());
        self.context.out.note(&format!("{name} is on {team}"));
        running.run()
    }

    /// Gives it a name and starts it. It is not on the team yet.
    pub(crate) fn start(&'a self) -> Result<Running<'a>, Failure> {
        let context = self.context;
        if find_program(&self.words[0]).is_none() {
            let why = "there is no such program".to_owned();
            return Err(HostError::Start { program: self.words[0].clone(), why }.into());
        }
        if daemon::running(&context.state)?.is_none()
            && let Err(failure) = up::ensure(context, self.globals)
        {
            let warning = format!("warning: {}; mail waits until `ringer up`", failure.message());
            context.out.note(&warning);
        }
        let entry = self.reserve()?;
        let (socket, file) = self.files(&entry.name)?;
        let mut running = Running {
            launch: self,
            host: None,
            entry,
            why: "it was not started".to_owned(),
            file: None,
        };
        let id = running.birth().id.clone();
        let pane = Address::Host { socket: socket.clone() };
        // Whoever clears away after it, should this be killed, knows where to look.
        Roster::change_worker(&context.state, &id, |entry| entry.pane = pane)?;
        let (command, geared) = self.command(file.path(), &running.entry)?;
        running.file = Some(file);
        let host = Host::start(&command, &socket, self.detached)?;
        let process = Claim::of(host.occupant().pid);
        running.host = Some(host);
        let hooks = geared && self.profile.gear.hooks;
        let started = Roster::change_worker(&context.state, &id, |entry| {
            entry.hooks = hooks;
            if let Some(birth) = &mut entry.birth {
                birth.process = Some(process);
            }
        })?;
        running.entry = started.unwrap_or_else(|| running.entry.clone());
        Ok(running)
    }

    /// A name that nobody has, and a place on the roster.
    fn reserve(&self) -> Result<RosterEntry, Failure> {
        let (context, team, name) = (self.context, self.team, self.wish.name);
        if !self.leads {
            check_member_name(name)?;
        }
        let known = Roster::load(&context.state)?;
        if let Some(old) = known.find(team.dir(), name)
            && let Some(birth) = old.birth.as_ref().filter(|birth| !birth.is_alive())
        {
            // Nobody has cleared away after it yet.
            birth.clear_away();
            depart(&context.claude, &context.state, old, birth.why_gone())?;
        }
        let at = Timestamp::now().as_millisecond();
        let member = NewMember {
            agent_type: format!("{}-worker", self.profile.name),
            ..NewMember::new(name, &self.cwd, at)
        };
        let id = uuid::Uuid::new_v4().to_string();
        let entry = RosterEntry {
            profile: Some(self.profile.name.clone()),
            native: self.native,
            leads: self.leads,
            follows: self.follows.clone(),
            known_to: team.config.lead_session_id.clone(),
            birth: Some(Birth { session: self.session(), ..Birth::now(&id, at) }),
            ..RosterEntry::new(team, &member)
        };
        // One that Claude Code has put there is to have that very name.
        let is_taken = |name: &str| {
            let is_it =
                |m: &&ringer_teams::Member| inbox_file_name(&m.name) == inbox_file_name(name);
            let mut members = team.config.members.iter().filter(is_it);
            !self.native && members.any(|member| !member.is_synthetic())
        };
        Ok(Roster::reserve(&context.state, team, self.wish, &entry, is_taken)?)
    }

    /// Where its host listens, and where its settings are.
    fn files(&self, name: &str) -> Result<(PathBuf, SettingsFile), Failure> {
        let dir = socket_dir(&self.context.state, self.context.runtime_dir.as_deref())?;
        let file = format!("{name}-{}", std::process::id());
        let settings = SettingsFile::place(self.context, &format!("{file}.json"));
        Ok((dir.join(format!("{file}.sock")), settings))
    }
}

impl Running<'_> {
    pub(crate) fn birth(&self) -> &Birth {
        self.entry.birth.as_ref().expect("it was started by us")
    }

    /// Puts it on the team.
    pub(crate) fn join(&mut self) -> Result<(), Failure> {
        let Launch { context, team, native, .. } = *self.launch;
        let ready = |entry: &mut RosterEntry| {
            if let Some(birth) = &mut entry.birth {
                birth.starting = false;
            }
        };
        // Whoever sees on the roster that it is ready can send to it.
        if !native {
            let member = self.entry.as_member(Timestamp::now().as_millisecond());
            SyntheticMemberService::register(team, &member)?;
        }
        let id = self.birth().id.clone();
        let entry = Roster::change_worker(&context.state, &id, ready)?;
        let Some(entry) = entry else {
            let name = &self.entry.name;
            if !native {
                SyntheticMemberService::remove(team, name)?;
            }
            let message = format!("{name} was taken off the roster while it started");
            return Err(Failure::new("conflict", message));
        };
        self.entry = entry;
        if let Err(error) = Journal::open(&context.state).and_then(|j| j.born(&self.entry)) {
            context.out.note(&format!("warning: {}", one_line(&error)));
        }
        context.wake_daemon();
        if !self.launch.leads && !reads_by_itself(team) && !init::is_done(context) {
            context.out.note(
                "hint: this Claude Code does not hear its workers yet: run `ringer init`, then start it again",
            );
        }
        Ok(())
    }

    /// From here on it is shown.
    pub(crate) fn show(&mut self) -> Result<(), Failure> {
        Ok(self.host.as_mut().map_or(Ok(()), Host::show)?)
    }

    /// Lets it run until it ends; its exit status.
    pub(crate) fn run(mut self) -> Result<ExitCode, Failure> {
        let host = self.host.take().expect("it was started");
        let ending = host.run()?;
        self.why = ending.why;
        Ok(ExitCode::from(ending.code))
    }

    /// From here on nobody reads what is printed.
    pub(crate) fn be_silent(&self) -> io::Result<()> {
        let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(&nowhere).map_err(io::Error::from)?;
        rustix::stdio::dup2_stderr(&nowhere).map_err(io::Error::from)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // The worker first: who is off the team has ended.
        drop(self.host.take());
        drop(self.file.take());
        let context = self.launch.context;
        let id = &self.birth().id;
        // Where it is by now, and whether it has agreed to end, is known there.
        let now = Roster::load(&context.state).ok().and_then(|roster| roster.worker(id).cloned());
        let Some(entry) = now else { return };
        let why = if entry.retiring { "it agreed to shut down" } else { &self.why };
        if let Err(error) = depart(&context.claude, &context.state, &entry, why) {
            let (name, error) = (&entry.name, one_line(&error));
            context.out.note(&format!("warning: {name} stays on the team: {error}"));
        }
        context.wake_daemon();
    }
}
