//! `ringer register`: puts a member on a team.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use ringer_bridge::{Pane, Roster};
use ringer_teams::{Liveness, NewMember, SyntheticMemberService};
use serde_json::json;

use crate::cli::TeamArg;
use crate::context::Context;
use crate::failure::Failure;

/// Put a member on a team, so that Claude can send to it
///
/// Claude then reaches it with its own `SendMessage`, by this name. Doing it again brings the member
/// up to date. A member that Claude Code itself made is never touched.
#[derive(Debug, Args)]
pub(crate) struct Register {
    /// What Claude will call it: letters, digits, `-` and `_`, at most 64
    name: String,
    #[command(flatten)]
    team: TeamArg,
    /// What kind of agent it is
    #[arg(long, default_value = "gemini-worker", value_name = "TYPE")]
    agent_type: String,
    /// The model that it runs on
    #[arg(long, default_value = "default")]
    model: String,
    /// The colour it is shown in [default: one that nobody on the team has]
    #[arg(long)]
    color: Option<String>,
    /// Where it works [default: this directory]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Where it can be reached: tmux:%N, tmux:SOCKET:%N, zellij:SESSION:terminal_N or none
    #[arg(long)]
    pane: Option<Pane>,
}

impl Register {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let team = context.team(&self.team)?;
        let member = NewMember {
            name: self.name.clone(),
            agent_type: self.agent_type,
            model: self.model,
            cwd: self.cwd.map_or_else(|| context.cwd.clone(), |dir| context.cwd.join(dir)),
            color: self.color,
            joined_at: Timestamp::now().as_millisecond(),
        };
        let outcome = SyntheticMemberService::register(&team, &member)?;
        Roster::enter(&context.state, &team, &self.name, self.pane)?;
        if team.lead_alive() == Liveness::Dead {
            context.out.note(&format!("warning: the lead of {} has ended", team.name()));
        }
        let people = format!("{} {} on {}", outcome.as_str(), self.name, team.name());
        let scripts = json!({
            "success": true, "team": team.name(), "name": self.name,
            "agent_id": format!("{}@{}", self.name, team.name()), "outcome": outcome.as_str(),
        });
        Ok(context.out.answer(&people, &scripts)?)
    }
}
