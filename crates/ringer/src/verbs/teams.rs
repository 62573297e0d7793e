//! `ringer teams`: what teams there are, and teams of our own.

mod own;

use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use ringer_teams::{Member, Team};
use serde_json::{Value, json};

use crate::cli::Globals;
use crate::context::Context;
use crate::failure::{Failure, one_line};
use crate::output::{ago, cell};

/// List the teams: where the lead works, whether it is alive, who is on it
///
/// A lead's life is known only from Claude Code versions that write their process id. `create` and `delete` are for
/// teams without Claude Code.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Teams {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    Create(own::Create),
    Delete(own::Delete),
}

impl Teams {
    pub(crate) fn run(self, context: &Context, globals: &Globals) -> Result<(), Failure> {
        match self.what {
            Some(What::Create(create)) => return create.run(context),
            Some(What::Delete(delete)) => return delete.run(context, globals),
            None => {}
        }
        let teams = context.claude.teams()?;
        for (_, error) in &teams.broken {
            context.out.note(&format!("warning: {}", one_line(error)));
        }
        if context.out.json {
            let found: Vec<Value> = teams.found.iter().map(describe).collect();
            let broken = teams.broken.iter();
            let broken: Vec<Value> = broken
                .map(|(dir, e)| json!({"dir": dir, "error": e.code(), "message": one_line(e)}))
                .collect();
            let all = json!({"success": true, "teams": found, "broken": broken});
            return Ok(context.out.data(&all)?);
        }
        if teams.found.is_empty() {
            context.out.note(&format!("no teams in {}", context.claude.teams_dir().display()));
            return Ok(());
        }
        let rows: Vec<_> = teams.found.iter().map(row).collect();
        let headings = ["TEAM", "LEAD", "AGE", "MEMBERS", "UNREAD", "DIRECTORY"];
        Ok(context.out.table(headings, &rows)?)
    }
}

fn row(team: &Team) -> [String; 6] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let ours = team.config.members.iter().filter(|m| m.is_synthetic()).count();
    let members = team.config.members.len();
    [
        cell(team.name()),
        team.lead_alive().as_str().to_owned(),
        or_dash(created(team).map(ago)),
        if ours == 0 { members.to_string() } else { format!("{members} ({ours} ours)") },
        unread(team).map_or_else(|| "?".to_owned(), |n| n.to_string()),
        or_dash(team.lead_cwd().map(|dir| cell(&dir.display().to_string()))),
    ]
}

fn describe(team: &Team) -> Value {
    let unread: Vec<_> = team.config.members.iter().map(|m| unread_of(team, &m.name)).collect();
    let total: Option<usize> = unread.iter().copied().sum();
    let describe = |(m, unread): (&Member, &Option<usize>)| json!({"name": m.name, "synthetic": m.is_synthetic(), "unread": unread});
    let members: Vec<Value> = team.config.members.iter().zip(&unread).map(describe).collect();
    json!({
        "name": team.name(),
        "dir": team.dir(),
        "description": team.config.description,
        "lead_cwd": team.lead_cwd(),
        "lead_session": team.config.lead_session_id,
        "lead": team.lead_alive().as_str(),
        "created_at": team.config.created_at,
        "members": members,
        "unread": total,
    })
}

fn created(team: &Team) -> Option<SystemTime> {
    let ms = u64::try_from(team.config.created_at?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms))
}

/// Unread messages of all members; `None` if an inbox cannot be read.
fn unread(team: &Team) -> Option<usize> {
    team.config.members.iter().map(|m| unread_of(team, &m.name)).sum()
}

pub(super) fn unread_of(team: &Team, member: &str) -> Option<usize> {
    let boxes = team.mailboxes(member).ok()?;
    boxes.iter().map(|mailbox| mailbox.read().ok().map(|inbox| inbox.unread())).sum()
}
