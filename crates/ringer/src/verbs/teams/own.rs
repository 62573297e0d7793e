//! Teams of our own: made and deleted by hand, led by any worker.

use std::time::Duration;

use clap::Args;
use ringer_bridge::{Journal, Roster, RosterEntry};
use ringer_teams::NewTeam;
use serde_json::json;

use crate::cli::Globals;
use crate::context::Context;
use crate::failure::Failure;
use crate::verbs::finish::finish;
use crate::verbs::stop::stop_all;
use crate::verbs::up;

/// Make a team without Claude Code, which any worker can lead
///
/// `ringer run gemini --lead --team NAME` starts its lead, `ringer spawn PROFILE --team NAME` its members.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What it is called: lower-case letters, digits and dashes
    name: String,
    /// What it is for
    #[arg(long, short)]
    description: Option<String>,
}

/// Delete a team of our own, with its inboxes and tasks
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The team
    name: String,
    /// Shut its members down first
    #[arg(long, short)]
    force: bool,
}

/// So long members may take to agree to the end of their team.
const PATIENCE: Duration = Duration::from_secs(15);

impl Create {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let team = context.claude.found(&NewTeam {
            name: self.name,
            description: self.description,
            created_at: jiff::Timestamp::now().as_millisecond(),
            session_id: uuid::Uuid::new_v4().to_string(),
        })?;
        let name = team.name();
        let people = format!("made {name}; `ringer run gemini --lead --team {name}` leads it");
        let scripts = json!({
            "success": true, "team_name": name, "team_file_path": team.config_path(),
            "lead_agent_id": team.config.lead_agent_id,
        });
        Ok(context.out.answer(&people, &scripts)?)
    }
}

impl Delete {
    pub(crate) fn run(self, context: &Context, globals: &Globals) -> Result<(), Failure> {
        let team = context.claude.team(&self.name)?;
        if !team.is_own() {
            return Err(ringer_teams::Error::NotOurTeam { team: self.name }.into());
        }
        let there = || -> Result<Vec<RosterEntry>, Failure> {
            Ok(Roster::load(&context.state)?.on(team.dir()).cloned().collect())
        };
        let active = there()?;
        if !active.is_empty() && !self.force {
            let names: Vec<&str> = active.iter().map(|entry| &*entry.name).collect();
            let message = format!("{} has active members: {}", team.name(), names.join(", "));
            return Err(Failure::new("conflict", message)
                .hint("`--force` shuts them down first")
                .detail("members", json!(names)));
        }
        if !active.is_empty() {
            up::ensure(context, globals)?;
            finish(context, &team, Some("the team is deleted"), PATIENCE, true, &|_| {})?;
            // Its lead is the last to go.
            stop_all(context, &there()?)?;
        }
        context.claude.disband(&team)?;
        if let Some(journal) = Journal::open_existing(&context.state)? {
            journal.team_deleted(team.dir())?;
        }
        context.wake_daemon();
        let people = format!("deleted {}", team.name());
        let scripts = json!({"success": true, "message": people});
        Ok(context.out.answer(&people, &scripts)?)
    }
}
