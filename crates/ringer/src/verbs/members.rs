//! `ringer members`: who is on a team.

use clap::Args;
use ringer_bridge::{Journal, Queue, Roster};
use ringer_teams::{Member, Team};
use serde_json::{Value, json};

use super::teams::unread_of;
use crate::cli::TeamArg;
use crate::context::Context;
use crate::failure::{Failure, one_line};
use crate::output::cell;

/// List the members of a team
///
/// `lead` leads it, `ringer` members are ours, `claude` members are Claude Code's own. WAITING is how
/// many messages the daemon has for a member of ours and why it cannot deliver them.
#[derive(Debug, Args)]
pub(crate) struct Members {
    #[command(flatten)]
    team: TeamArg,
}

impl Members {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let team = context.team(&self.team)?;
        // Who is on the team is known without our own file.
        let roster = Roster::load(&context.state).unwrap_or_else(|error| {
            context.out.note(&format!("warning: {error}"));
            Roster::default()
        });
        let pane = |member: &Member| {
            roster.find(team.dir(), &member.name).map(|entry| entry.pane.to_string())
        };
        // So is what waits for it, as far as a daemon has seen it.
        let journal = Journal::open_existing(&context.state).unwrap_or_else(|error| {
            context.out.note(&format!("warning: {}", one_line(&error)));
            None
        });
        let queue = |member: &Member| {
            let id = roster.find(team.dir(), &member.name)?.id();
            journal.as_ref()?.queue(&id).ok()
        };
        for odd in &team.config.odd {
            context.out.note(&format!("warning: a member is not understood: {}", odd.why));
        }
        if context.out.json {
            let members: Vec<Value> = team
                .config
                .members
                .iter()
                .map(|m| {
                    let queue = queue(m);
                    json!({
                        "name": m.name, "agent_id": m.agent_id, "kind": kind(&team, m),
                        "agent_type": m.agent_type, "model": m.model, "color": m.color,
                        "cwd": m.cwd, "joined_at": m.joined_at, "active": m.is_active,
                        "unread": unread_of(&team, &m.name), "pane": pane(m),
                        "queued": queue.as_ref().map(|q| q.queued),
                        "reason": queue.and_then(|q| q.reason),
                    })
                })
                .collect();
            let all = json!({"success": true, "team": team.name(), "members": members});
            return Ok(context.out.data(&all)?);
        }
        let text = |text: &Option<String>| cell(text.as_deref().unwrap_or("-"));
        let rows: Vec<_> = team
            .config
            .members
            .iter()
            .map(|m| {
                [
                    cell(&m.name),
                    kind(&team, m).to_owned(),
                    text(&m.agent_type),
                    text(&m.model),
                    unread_of(&team, &m.name).map_or("?".to_owned(), |n| n.to_string()),
                    text(&pane(m)),
                    queue(m).map_or("-".to_owned(), |queue| waiting(&queue)),
                ]
            })
            .collect();
        let headings = ["NAME", "KIND", "TYPE", "MODEL", "UNREAD", "PANE", "WAITING"];
        Ok(context.out.table(headings, &rows)?)
    }
}

/// How much waits, and why.
fn waiting(queue: &Queue) -> String {
    match (&queue.reason, queue.queued) {
        (_, 0) => "-".to_owned(),
        (Some(reason), n) => cell(&format!("{n}: {reason}")),
        (None, n) => n.to_string(),
    }
}

fn kind(team: &Team, member: &Member) -> &'static str {
    match team.config.lead() {
        Some(lead) if lead.name == member.name => "lead",
        _ if member.is_synthetic() => "ringer",
        _ => "claude",
    }
}
