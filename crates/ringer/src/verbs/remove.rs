//! `ringer remove`: takes members of ours off a team.

use clap::Args;
use ringer_bridge::Roster;
use ringer_teams::{Outcome, SyntheticMemberService};
use serde_json::json;

use crate::cli::TeamArg;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{clean, count};

/// Take a member of ours off a team
///
/// Its inbox stays, with whatever is in it. Removing one that is not there is no error.
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
        let team = context.team(&self.team)?;
        let removed = if let Some(name) = &self.name {
            let outcome = SyntheticMemberService::remove(&team, name)?;
            if outcome == Outcome::Removed { vec![name.clone()] } else { Vec::new() }
        } else {
            SyntheticMemberService::remove_all(&team)?
        };
        let people = match (&self.name, removed.len()) {
            (Some(name), 0) => format!("{} was not on {}", clean(name), team.name()),
            (Some(name), _) => format!("removed {name} from {}", team.name()),
            (None, n) => format!("removed {} from {}", count(n, "member"), team.name()),
        };
        let struck = self.name.into_iter().chain(removed.clone()).collect::<Vec<_>>();
        Roster::strike(&context.state, team.dir(), &struck)?;
        let scripts = json!({"success": true, "team": team.name(), "removed": removed});
        Ok(context.out.answer(&people, &scripts)?)
    }
}
