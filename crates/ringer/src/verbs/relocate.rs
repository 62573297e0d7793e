//! `ringer move`: a worker to another team.

use std::path::PathBuf;

use clap::Args;
use ringer_bridge::daemon::move_to;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::hosted::find_worker;
use crate::place::{PlaceArg, of_directory};

/// Move a worker to another team
///
/// It stays there, whoever leads it (--team, --session), or belongs to a directory again (--dir): then it goes where the
/// lead of that directory is. Mail of the old team that was not delivered is kept there, unless the settings say
/// otherwise (place.carry_mail). The new lead is told.
#[derive(Debug, Args)]
pub(crate) struct Move {
    /// The worker
    name: String,
    #[command(flatten)]
    place: PlaceArg,
    /// The team of whoever leads in this directory, now and later
    #[arg(long, value_name = "DIR", conflicts_with_all = ["team", "session"])]
    dir: Option<PathBuf>,
    /// The team that it is on, if several have a worker of that name
    #[arg(long, value_name = "TEAM")]
    from: Option<String>,
}

impl Move {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { name, place, dir, from } = self;
        if place.team.is_none() && place.session.is_none() && dir.is_none() {
            return Err(Failure::usage("say where to: --team TEAM, --session ID or --dir DIR"));
        }
        let entry = find_worker(context, &name, from.as_deref())?;
        let (team, follows) = match dir {
            Some(dir) => of_directory(context, &context.cwd.join(dir))?,
            None => place.find(context, &context.cwd)?,
        };
        if entry.native || entry.leads {
            let whose = if entry.leads { "it leads its team" } else { "Claude Code put it there" };
            let message = format!("{name} cannot be moved: {whose}");
            return Err(Failure::new("permission_denied", message));
        }
        let settings = context.settings()?;
        let moved =
            move_to(&context.claude, &context.state, &settings, &entry.id(), &team, &follows)?;
        let Some(moved) = moved else {
            let message = format!("{name} has left {} meanwhile", entry.team);
            return Err(Failure::new("agent_not_found", message));
        };
        if !moved.is_starting() {
            let now = jiff::Timestamp::now().as_millisecond();
            ringer_teams::SyntheticMemberService::register(&team, &moved.as_member(now))?;
        }
        context.wake_daemon();
        let mut people = format!("{name} is on {} now", team.name());
        if moved.name != name {
            people = format!("{people}, as {}", moved.name);
        }
        let scripts = json!({
            "success": true, "name": moved.name, "team": moved.team, "from": entry.team,
            "follows": moved.follows,
        });
        Ok(context.out.answer(&people, &scripts)?)
    }
}
