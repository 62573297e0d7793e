//! `ringer remove`: takes members of ours off a team.

use clap::Args;
use ringer_bridge::{Roster, RosterEntry, give_back_tasks};
use ringer_teams::{Error, Outcome, SyntheticMemberService, Team};
use serde_json::json;

use crate::cli::TeamArg;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::count;
use crate::verbs::stop::stop_all;

/// Take a member of ours off a team
///
/// A worker that Ringer started is ended, and mail that it did not get goes back to who sent it. One that runs in a
/// pane of yours goes on there, and its inbox stays, with whatever is in it. Removing one that is not there is no error.
#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// The member
    #[arg(required_unless_present = "all")]
    name: Option<String>,
    /// Every member of ours
    #[arg(long, conflicts_with = "name")]
    all: bool,
    #[command(flatten)]
    team: TeamArg,
}

impl Remove {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let team = match (context.team(&self.team), &self.team.team) {
            (Err(failure), Some(gone)) if failure.code() == "team_not_found" => {
                return self.forget(context, gone, failure);
            }
            (team, _) => team?,
        };
        let removed = remove(context, &team, self.name.as_deref())?;
        let people = match (&self.name, removed.len()) {
            (Some(name), 0) => format!("{name} was not on {}", team.name()),
            (Some(name), _) => format!("removed {name} from {}", team.name()),
            (None, n) => format!("removed {} from {}", count(n, "member"), team.name()),
        };
        let scripts = json!({"success": true, "team": team.name(), "removed": removed});
        Ok(context.out.answer(&people, &scripts)?)
    }

    /// The team is gone, with its members: what is left is our own note of them.
    fn forget(&self, context: &Context, team: &str, failure: Failure) -> Result<(), Failure> {
        let dir = context.claude.teams_dir().join(team);
        let is_meant = |entry: &&RosterEntry| self.name.as_ref().is_none_or(|n| entry.name == *n);
        let meant: Vec<RosterEntry> =
            Roster::load(&context.state)?.on(&dir).filter(is_meant).cloned().collect();
        if meant.is_empty() {
            return Err(failure);
        }
        // What Ringer started ends. What runs in a pane of the user's goes on there.
        let (ours, others): (Vec<_>, Vec<_>) =
            meant.into_iter().partition(|entry| entry.birth.is_some());
        stop_all(context, &ours)?;
        for entry in &others {
            Roster::strike(&context.state, &dir, Some(&entry.name))?;
            Roster::has_left(&context.state, &dir, &entry.name)?;
        }
        context.wake_daemon();
        let forgotten: Vec<&str> = ours.iter().chain(&others).map(|entry| &*entry.name).collect();
        let people = format!("{team} is gone; forgot {}", forgotten.join(", "));
        let scripts = json!({"success": true, "team": team, "removed": forgotten});
        Ok(context.out.answer(&people, &scripts)?)
    }
}

/// Takes a member of ours off a team, or all of them, and ends those that Ringer started; their names.
pub(crate) fn remove(
    context: &Context,
    team: &Team,
    name: Option<&str>,
) -> Result<Vec<String>, Failure> {
    if let Some(member) = name.and_then(|name| team.config.member(name))
        && !member.is_synthetic()
    {
        let (team, name) = (team.name().to_owned(), member.name.clone());
        return Err(Error::NotOurs { team, name }.into());
    }
    let mut removed = end(context, team, name)?;
    // Off the roster first: a daemon that finds it missing from the team while it is still on the roster would put it
    // back.
    let struck = Roster::strike(&context.state, team.dir(), name)?;
    removed.extend(if let Some(name) = name {
        let outcome = SyntheticMemberService::remove(team, name)?;
        if outcome == Outcome::Removed { vec![name.to_owned()] } else { Vec::new() }
    } else {
        SyntheticMemberService::remove_all(team)?
    });
    for entry in struck {
        Roster::has_left(&context.state, team.dir(), &entry.name)?;
    }
    for name in &removed {
        give_back_tasks(&context.state, team, name, "it was taken off the team")?;
    }
    context.wake_daemon();
    Ok(removed)
}

/// Ends the workers that Ringer started; their names.
fn end(context: &Context, team: &Team, name: Option<&str>) -> Result<Vec<String>, Failure> {
    let roster = Roster::load(&context.state)?;
    let is_meant =
        |entry: &&RosterEntry| entry.birth.is_some() && name.is_none_or(|name| entry.name == name);
    let meant: Vec<RosterEntry> = roster.on(team.dir()).filter(is_meant).cloned().collect();
    stop_all(context, &meant)?;
    Ok(meant.into_iter().map(|entry| entry.name).collect())
}
