//! `ringer run`: a worker on a team, in this terminal or in the background.

use std::process::ExitCode;

use clap::Args;
use ringer_bridge::daemon::workers_dir;
use ringer_bridge::{Follows, Wish};
use ringer_panes::{PLAIN, Profile};
use ringer_teams::LEAD;
use serde_json::json;

use crate::cli::Globals;
use crate::context::Context;
use crate::failure::Failure;
use crate::launch::Launch;
use crate::launch::asking::{self, Where};
use crate::launch::order::Order;
use crate::place::PlaceArg;

/// Run a worker on a team, in this terminal
///
/// The program runs here as it would without Ringer: keys, colours, mouse and exit status are its own.
/// Meanwhile it is on the team, and what Claude sends to it is typed at its prompt, when it is at its
/// prompt and nobody is typing. Gemini CLI, Codex, OpenCode and Claude Code are handed Ringer's tools, so that
/// their models can answer (`notify_parent` and others); any program can with `ringer reply`. The worker is
/// taken off the team when it ends. The daemon is started if it does not run yet.
///
/// Without --team or --session it belongs to this directory: when its lead ends, it waits, and joins the next lead
/// that starts here.
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
    place: PlaceArg,
    /// Let it lead the team, which is one of `ringer teams create`
    #[arg(long, requires = "team", conflicts_with = "name")]
    lead: bool,
    /// Run it in the background; `ringer attach NAME` shows it
    #[arg(long, short)]
    detach: bool,
    /// The command, instead of the profile's
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  ringer run gemini                              Gemini CLI, here, on the team of this directory
  ringer run gemini --name rust-impl             under another name
  ringer run gemini -- gemini --model flash      with another command
  ringer run -- ./worker.sh                      any program that reads lines
  ringer run gemini --detach                     in the background
  ringer run gemini --lead --team mine           as the lead of a team of `ringer teams create mine`";

impl Run {
    pub(crate) fn run(self, context: &Context, globals: &Globals) -> Result<ExitCode, Failure> {
        let profile = self.profile(context)?;
        let (team, follows) = self.place.find(context, &context.cwd)?;
        let words = words(&profile, &self.command)?;
        let follows = if self.lead { Follows::Team } else { follows };
        if self.lead && !team.is_own() {
            let message = format!("{} is led by Claude Code", team.name());
            let hint = "`ringer teams create NAME` makes a team that any worker can lead";
            return Err(Failure::new("permission_denied", message).hint(hint));
        }
        let name = if self.lead { Some(LEAD.to_owned()) } else { self.name };
        let (exact, name) = (name.is_some(), name.unwrap_or_else(|| profile.name.clone()));
        let limit = context.settings()?.spawn.max_workers;
        if self.detach {
            let order = Order {
                profile: profile.name.clone(),
                words: words.to_vec(),
                cwd: context.cwd.clone(),
                team: team.dir_name().to_owned(),
                follows,
                name,
                exact,
                limit,
                leads: self.lead,
                detached: true,
            };
            let started = asking::start(context, &order, &Where::Background, None, &|_, _| {})?;
            let (name, team) = (started.name, team.name());
            let people = format!("{name} is on {team}; `ringer attach {name}` shows it");
            let scripts = json!({
                "success": true, "team": team, "name": name, "profile": profile.name,
                "pid": started.pid, "pane": format!("host:{}", started.socket.display()),
            });
            context.out.answer(&people, &scripts)?;
            return Ok(ExitCode::SUCCESS);
        }
        let launch = Launch {
            context,
            globals,
            profile: &profile,
            team: &team,
            wish: Wish { name: &name, exact, limit: Some(limit).filter(|_| !self.lead) },
            words,
            cwd: context.cwd.clone(),
            follows,
            native: false,
            leads: self.lead,
            detached: false,
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
}

/// The command that was given, or the profile's.
fn words<'a>(profile: &'a Profile, given: &'a [String]) -> Result<&'a [String], Failure> {
    let words = if given.is_empty() { &profile.command } else { given };
    if words.is_empty() {
        let message = format!("the profile `{}` has no command", profile.name);
        let hint = format!("ringer run {} -- CMD", profile.name);
        return Err(Failure::usage(&message).hint(&hint));
    }
    Ok(words)
}
