//! `ringer register`: puts a member on a team.

use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;
use ringer_bridge::daemon::workers_dir;
use ringer_bridge::{Reach, Roster, RosterEntry, daemon, occupant};
use ringer_panes::{Address, Occupant, Profile};
use ringer_teams::{Liveness, Member, NewMember, Outcome, SyntheticMemberService, Team};
use ringer_teams::{check_member_name, inbox_file_name};
use serde_json::json;

use crate::cli::TeamArg;
use crate::context::{Context, variable};
use crate::failure::Failure;

/// Put a member on a team, so that Claude can send to it
///
/// Claude then reaches it with its own `SendMessage`, by this name. Doing it again changes what is
/// given and keeps the rest. A member that Claude Code itself made is never touched.
#[derive(Debug, Args)]
pub(crate) struct Register {
    /// What Claude will call it: letters, digits, `-` and `_`, at most 64
    name: String,
    #[command(flatten)]
    team: TeamArg,
    /// What kind of agent it is [default: gemini-worker]
    #[arg(long, value_name = "TYPE", value_parser = word)]
    agent_type: Option<String>,
    /// The model that it runs on [default: default]
    #[arg(long, value_parser = word)]
    model: Option<String>,
    /// The colour it is shown in [default: one that nobody on the team has]
    #[arg(long, value_parser = word)]
    color: Option<String>,
    /// Where it works [default: this directory]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Where it can be reached: tmux:%N, tmux:SOCKET:%N (a name or a path), zellij:SESSION:terminal_N
    /// or none
    ///
    /// `tmux list-panes -a -F '#{pane_id} #{pane_current_command}'` shows the panes there are, or
    /// `zellij action list-panes`. The worker has to run there already.
    #[arg(long)]
    pane: Option<Address>,
    /// What kind of worker it is; `ringer profiles` lists them [default: told by what runs there]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
}

impl Register {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        check_name(&self.name)?;
        let team = context.team(&self.team)?;
        // What is ours already and not given anew stays as it is.
        let old = team.config.member(&self.name).filter(|member| member.is_synthetic());
        let old_cwd = old.and_then(|member| member.cwd.as_ref()).map(PathBuf::from);
        let cwd = self.cwd.map(|dir| context.cwd.join(dir));
        let new = NewMember::new(&self.name, &context.cwd, Timestamp::now().as_millisecond());
        let kept =
            |field: fn(&Member) -> &Option<String>| old.and_then(|member| field(member).clone());
        let member = NewMember {
            agent_type: self.agent_type.or(kept(|m| &m.agent_type)).unwrap_or(new.agent_type),
            model: self.model.or(kept(|m| &m.model)).unwrap_or(new.model),
            cwd: cwd.or(old_cwd).unwrap_or(new.cwd),
            color: self.color.or(kept(|m| &m.color)),
            ..new
        };
        Roster::check(&context.state)?;
        let pane = self.pane.map(in_this_server);
        if let Some(pane) = &pane {
            Roster::load(&context.state)?.check_pane(&team, &self.name, pane)?;
        }
        let mut outcome = SyntheticMemberService::register(&team, &member)?;
        let mut warnings = Vec::new();
        // Without a pane, who is in the one that is known may be another by now.
        let known = Roster::load(&context.state)?;
        let known = known.find(team.dir(), &self.name).cloned();
        let dir = workers_dir(&context.config.0);
        if let Some(name) = &self.profile {
            Profile::load(name, &dir)?;
        }
        let pane = pane.or(known.as_ref().map(|entry| entry.pane.clone()));
        let reach = pane.map(|pane| {
            let occupant = look(&pane, &mut warnings);
            let words = occupant.as_ref().and_then(|who| who.foreground.as_ref());
            let told = || Profile::recognise(&words?.words, &dir);
            let kept = || known.filter(|entry| entry.pane == pane)?.profile;
            let profile = self.profile.or_else(told).or_else(kept);
            Reach { pane, occupant, profile }
        });
        let pane = reach.as_ref().map(|reach| &reach.pane);
        if let Some(pane) = pane
            && let Some(other) = sharing(&Roster::load(&context.state)?, pane, &team, &self.name)
        {
            warnings.push(format!("{other} is in {pane}, too; both get each other's mail there"));
        }
        if pane.is_some() && daemon::running(&context.state)?.is_none() {
            warnings.push("the daemon is not running; mail waits until `ringer up`".to_owned());
        }
        let profile = reach.as_ref().and_then(|reach| reach.profile.clone());
        let moved = Roster::enter(&context.state, &team, &member, reach)?;
        context.wake_daemon();
        if moved && outcome == Outcome::Unchanged {
            outcome = Outcome::Updated;
        }
        if team.lead_alive() == Liveness::Dead {
            warnings.push(format!("the lead of {} has ended", team.name()));
        }
        if !context.out.json {
            for warning in &warnings {
                context.out.note(&format!("warning: {warning}"));
            }
        }
        let people = format!("{} {} on {}", outcome.as_str(), self.name, team.name());
        let scripts = json!({
            "success": true, "team": team.name(), "name": self.name,
            "agent_id": format!("{}@{}", self.name, team.name()), "outcome": outcome.as_str(),
            "profile": profile, "warnings": warnings,
        });
        Ok(context.out.answer(&people, &scripts)?)
    }
}

/// Inside tmux, `tmux:%N` means a pane of that server, as it does for tmux itself. The daemon may run
/// elsewhere, so its socket is written down.
fn in_this_server(pane: Address) -> Address {
    match (pane, variable("TMUX")) {
        (Address::Tmux { socket: None, pane }, Some(tmux)) => {
            let socket = tmux.split(',').next().filter(|path| path.starts_with('/'));
            Address::Tmux { socket: socket.map(str::to_owned), pane }
        }
        (pane, _) => pane,
    }
}

/// Another member that is said to be in the same pane.
fn sharing(roster: &Roster, pane: &Address, team: &Team, name: &str) -> Option<String> {
    let is_other = |m: &&RosterEntry| m.name != name || Path::new(&m.team_dir) != team.dir();
    let mut same = roster.members.iter().filter(|m| m.pane == *pane && *pane != Address::None);
    same.find(is_other).map(|m| m.name.clone())
}

/// Who is in the pane now. That it cannot be seen is no reason not to register: the mail waits.
fn look(pane: &Address, warnings: &mut Vec<String>) -> Option<Occupant> {
    match occupant(pane) {
        Ok(Some(who)) if who.at_shell_prompt() => {
            warnings.push(format!(
                "a shell waits for commands in {pane}: start the worker there, then register it again"
            ));
            Some(who)
        }
        Ok(who) => who,
        Err(fault) => {
            warnings.push(format!("{fault}; mail waits until it can be typed there"));
            None
        }
    }
}

/// A name that cannot be used comes back with one that can, if there is one near it.
fn check_name(name: &str) -> Result<(), Failure> {
    check_member_name(name).map_err(|error| {
        let near = inbox_file_name(name).trim_matches('-').to_owned();
        let usable = near != name && check_member_name(&near).is_ok();
        let failure = Failure::from(error);
        if usable { failure.hint(&format!("`{near}` would do")) } else { failure }
    })
}

/// What Claude Code may show to its user: something, on one line.
fn word(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err("it must be some words on one line");
    }
    Ok(text.to_owned())
}
