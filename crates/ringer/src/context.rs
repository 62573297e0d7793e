//! Where this run looks: directories from options and environment, and the team that is meant.
//!
//! Owns all reading of the environment.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ringer_bridge::daemon::{Client, socket_dir};
use ringer_bridge::lead::led_team;
use ringer_bridge::{Desk, Roster, RosterEntry, Settings, Speaker, StateDir, WORKER, leads_in};
use ringer_panes::{Multiplexer, Process};
use ringer_teams::{ClaudeDir, Liveness, Team};
use serde_json::json;

use crate::cli::{Globals, TeamArg};
use crate::failure::{Failure, one_line};
use crate::output::Output;

/// What a process is told that works for no worker.
const NOT_A_WORKER: &str = "not_a_worker";

/// What is only true in one pane.
pub(crate) const PANE_VARIABLES: [&str; 15] = [
    "TERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "WINDOWID",
    "STY",
    "TMUX",
    "TMUX_PANE",
    "ZELLIJ",
    "ZELLIJ_PANE_ID",
    "ZELLIJ_SESSION_NAME",
    "PWD",
    "OLDPWD",
];

/// What is only true of one worker, or of one session of Claude Code.
pub(crate) const OWN_VARIABLES: [&str; 11] = [
    "RINGER_TEAM",
    "RINGER_MEMBER",
    WORKER,
    "CLAUDECODE",
    "CLAUDE_PID",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_PROJECT_DIR",
    "AI_AGENT",
];

/// What every verb gets.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) claude: ClaudeDir,
    /// Where Claude Code's directory is.
    pub(crate) claude_dir: PathBuf,
    pub(crate) state: StateDir,
    pub(crate) out: Output,
    pub(crate) cwd: PathBuf,
    /// The settings, and whether the user named the file.
    pub(crate) config: (PathBuf, bool),
    /// Where sockets go.
    pub(crate) runtime_dir: Option<PathBuf>,
}

impl Context {
    pub(crate) fn new(globals: &Globals) -> Result<Self, Failure> {
        let home = || {
            variable("HOME").map(PathBuf::from).ok_or_else(|| {
                Failure::new("internal_error", "HOME is not set")
                    .hint("set it, or name the directories with --claude-dir and --state-dir")
            })
        };
        let given = |option: &Option<PathBuf>, name| option.clone().or_else(|| path(name));
        let claude = given(&globals.claude_dir, "RINGER_CLAUDE_DIR");
        let claude = match claude.or_else(|| path("CLAUDE_CONFIG_DIR")) {
            Some(dir) => dir,
            None => home()?.join(".claude"),
        };
        let state = match (given(&globals.state_dir, "RINGER_STATE_DIR"), path("XDG_STATE_HOME")) {
            (Some(dir), _) => dir,
            (None, Some(dir)) => dir.join("ringer"),
            (None, None) => home()?.join(".local/state/ringer"),
        };
        let config = match (given(&globals.config, "RINGER_CONFIG"), path("XDG_CONFIG_HOME")) {
            (Some(file), _) => (file, globals.config.is_some()),
            (None, Some(dir)) => (dir.join("ringer/config.toml"), false),
            (None, None) => (home()?.join(".config/ringer/config.toml"), false),
        };
        let cwd = env::current_dir().map_err(|e| {
            Failure::new("internal_error", "there is no current directory").cause(&e)
        })?;
        Ok(Self {
            claude: ClaudeDir::new(real(&cwd.join(&claude))),
            claude_dir: real(&cwd.join(claude)),
            state: StateDir::new(real(&cwd.join(state))),
            out: Output::new(globals.json, globals.verbose > 0),
            config: (cwd.join(config.0), config.1),
            runtime_dir: path("XDG_RUNTIME_DIR"),
            cwd,
        })
    }

    /// The team that `--team`, `RINGER_TEAM` or this directory names.
    pub(crate) fn team(&self, arg: &TeamArg) -> Result<Team, Failure> {
        if let Some(name) = &arg.team {
            return Ok(self.claude.team(name)?);
        }
        // A worker knows its team by who it is: it may have moved since it was started.
        if let Some(entry) = self.own_entry()? {
            return Ok(self.claude.team(&entry.team)?);
        }
        if let Some(name) = variable("RINGER_TEAM") {
            let team = self.claude.team(&name);
            return team.map_err(|e| Failure::from(e).hint("the name comes from RINGER_TEAM"));
        }
        let teams = self.claude.teams()?;
        for (_, error) in &teams.broken {
            self.out.note(&format!("warning: {}", one_line(error)));
        }
        self.team_of_directory(&teams.found, &self.cwd)
    }

    /// The live team whose lead works in a directory or above it.
    pub(crate) fn team_of_directory(&self, teams: &[Team], dir: &Path) -> Result<Team, Failure> {
        // Without it, nothing is known of teams that workers lead, and that is no reason to know none.
        let roster = Roster::load(&self.state).unwrap_or_default();
        let here = leads_in(teams, &roster, dir);
        // Newest first. One that is known to be alive beats those of which nothing is known.
        if let Some(team) = here.iter().find(|team| team.lead_alive() == Liveness::Alive) {
            return Ok((*team).clone());
        }
        let names = |teams: &[&Team]| teams.iter().map(|t| t.name().to_owned()).collect::<Vec<_>>();
        match here[..] {
            [team] => Ok(team.clone()),
            [] => {
                let all: Vec<&Team> = teams.iter().collect();
                Err(ambiguous("no live team has its lead in this directory", &names(&all)))
            }
            _ => Err(ambiguous("several teams have their lead in this directory", &names(&here))),
        }
    }

    /// The worker that this process works for, if Ringer started it: it says who it is, and nothing else.
    pub(crate) fn own_entry(&self) -> Result<Option<RosterEntry>, Failure> {
        let Some(id) = variable(WORKER) else { return Ok(None) };
        Ok(Roster::load(&self.state)?.worker(&id).cloned())
    }

    /// The worker that this process works for: who it is comes from its surroundings alone. That is what
    /// `ringer run` has put into its environment, or the pane that it was registered in.
    pub(crate) fn speaker(&self) -> Result<Speaker, Failure> {
        if let Some(entry) = self.own_entry()? {
            let team = self.claude.team(&entry.team).map_err(|error| {
                Failure::from(error)
                    .hint("its lead has ended; it joins the next one that starts here")
            })?;
            return Ok(Speaker::new(&self.state, team, &entry.name)?);
        }
        if let Some(name) = variable("RINGER_MEMBER") {
            let team = self.team(&TeamArg { team: None })?;
            return Ok(Speaker::new(&self.state, team, &name)?);
        }
        let Some(speaker) = self.worker_above()? else {
            let message =
                "this is no worker: RINGER_MEMBER is not set, and it runs in no pane of one";
            return Err(Failure::new(NOT_A_WORKER, message)
                .hint("to speak as somebody else, use `ringer send --from NAME --to team-lead`"));
        };
        Ok(speaker)
    }

    /// The worker that this process runs below, whatever its environment says.
    fn worker_above(&self) -> Result<Option<Speaker>, Failure> {
        let roster = Roster::load(&self.state)?;
        let above = Process::ancestors().into_iter().find_map(|pid| roster.worker_at(pid));
        let Some(entry) = above else { return Ok(None) };
        let team = self.claude.team(&entry.team)?;
        Ok(Some(Speaker::new(&self.state, team, &entry.name)?))
    }

    /// The board of a team, from where this process sits: a worker's place, the lead's, or the user's.
    pub(crate) fn desk(&self, arg: &TeamArg) -> Result<Desk, Failure> {
        let team = self.team(arg)?;
        // A worker that forgets who it is does not become the lead by that.
        let speaker = match self.worker_above()? {
            Some(speaker) => Ok(speaker),
            None => self.speaker(),
        };
        match speaker {
            Ok(speaker) if speaker.team().dir() == team.dir() => self.desk_of(&speaker),
            // A worker may lead a team of its own.
            Ok(_) if self.led_team().is_ok_and(|led| led.dir() == team.dir()) => {
                Ok(Desk::of_lead(&self.state, team, self.cwd.clone()))
            }
            Ok(speaker) => {
                let message = format!("{} is not on team `{}`", speaker.name(), team.name());
                Err(Failure::new("permission_denied", message))
            }
            Err(failure) if failure.code() == NOT_A_WORKER => {
                let leads = self.led_team().is_ok_and(|led| led.dir() == team.dir());
                let desk = if leads { Desk::of_lead } else { Desk::of_user };
                Ok(desk(&self.state, team, self.cwd.clone()))
            }
            Err(failure) => Err(failure),
        }
    }

    /// The board of a worker's team, from where the worker sits.
    pub(crate) fn desk_of(&self, speaker: &Speaker) -> Result<Desk, Failure> {
        let anybody_creates = self.settings()?.tasks.anybody_creates;
        Ok(Desk::of_worker(speaker, &self.cwd, anybody_creates))
    }

    /// The team that the session leads which started this process: by who it is, not by what it says.
    pub(crate) fn led_team(&self) -> Result<Team, Failure> {
        let (teams, roster) = (self.claude.teams()?.found, Roster::load(&self.state)?);
        let dir = socket_dir(&self.state, self.runtime_dir.as_deref())?;
        let said = variable("CLAUDE_CODE_SESSION_ID");
        let team = led_team(&teams, &roster, &Process::ancestors(), &dir, said.as_deref());
        team.ok_or_else(|| {
            Failure::new("permission_denied", "only the lead of a team may do this, and you lead none")
                .hint("in Claude Code, a session leads a team with CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1, older ones after TeamCreate; `ringer init` sets that up")
        })
    }

    /// The environment that lets `ringer` in a worker find the same directories, and know who it is.
    pub(crate) fn worker_env(&self, team: &Team, name: &str, id: &str) -> Vec<(String, String)> {
        let who = [("RINGER_TEAM", team.name()), ("RINGER_MEMBER", name), (WORKER, id)];
        let who = who.map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.places().into_iter().chain(who).collect()
    }

    /// Where this run looks, as variables.
    fn places(&self) -> [(String, String); 3] {
        let path = |path: &Path| path.display().to_string();
        [
            ("RINGER_CLAUDE_DIR", path(&self.claude_dir)),
            ("RINGER_STATE_DIR", path(self.state.path())),
            ("RINGER_CONFIG", path(&self.config.0)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }

    /// The environment for a worker that runs elsewhere: this one, without what is only true here.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let is_ours = |name: &str| PANE_VARIABLES.contains(&name) || OWN_VARIABLES.contains(&name);
        let text = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let all = env::vars_os().filter_map(text).filter(|(name, _)| !is_ours(name));
        all.chain(self.places()).collect()
    }

    /// The multiplexer that this runs in: the nearest one, if one runs in another.
    pub(crate) fn multiplexer(&self) -> Option<Multiplexer> {
        let tmux = || {
            let socket = variable("TMUX")?.split(',').next()?.to_owned();
            Some(Multiplexer::Tmux { socket, pane: variable("TMUX_PANE")? })
        };
        let zellij = || {
            variable("ZELLIJ_PANE_ID")?;
            Some(Multiplexer::Zellij { session: variable("ZELLIJ_SESSION_NAME")? })
        };
        let (tmux, zellij) = (tmux(), zellij());
        if tmux.is_none() || zellij.is_none() {
            return tmux.or(zellij);
        }
        let mut above = Process::ancestors().into_iter().filter_map(Process::name_of);
        let is_one = |name: &String| name.starts_with("tmux") || name.starts_with("zellij");
        let nearest = above.find(is_one);
        if nearest.is_some_and(|name| name.starts_with("zellij")) { zellij } else { tmux }
    }

    /// The file in which Claude Code keeps its own settings: beside its directory, or in it if that was chosen.
    pub(crate) fn claude_json(&self) -> PathBuf {
        let home = path("HOME").map(|home| real(&home));
        let is_usual = path("CLAUDE_CONFIG_DIR").is_none();
        match home.filter(|home| is_usual && real(&home.join(".claude")) == self.claude_dir) {
            Some(home) => home.join(".claude.json"),
            None => self.claude_dir.join(".claude.json"),
        }
    }

    /// The settings.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        Ok(Settings::load(&self.config.0, self.config.1)?)
    }

    /// Lets a daemon know at once that the roster has changed. It would find out by itself.
    pub(crate) fn wake_daemon(&self) {
        if let Ok(mut daemon) = Client::connect(&self.state) {
            daemon.wake().ok();
        }
    }
}

/// A path with links followed and `.` and `..` resolved, as far as it exists: a team's directory is
/// part of its members' identity, so it must have one name.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

/// An environment variable that is set to something.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Where a program is, as the system would find it.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    let paths = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&paths).map(|dir| dir.join(name)).find(is_program)
}

fn path(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn ambiguous(message: &str, teams: &[String]) -> Failure {
    let hint = match teams {
        [] => "run `ringer init` once, then start Claude Code in this directory".to_owned(),
        [one] => format!("name the team: --team {one}"),
        many => format!("name one with --team: {}", many.join(", ")),
    };
    Failure::new("team_not_found", message).hint(&hint).detail("teams", json!(teams))
}
