//! `ringer answer`: yes or no to a request.

use clap::Args;
use ringer_bridge::{Request, Roster, RosterEntry, Speaker, daemon};
use ringer_teams::Team;
use serde_json::json;

use crate::cli::{Globals, TeamArg};
use crate::context::{Context, variable};
use crate::failure::Failure;
use crate::output::cell;
use crate::verbs::up;

/// Answer a request to a worker: to shut down, for a permission, or about a plan
///
/// Without an id, the requests that wait are listed: a worker's own (RINGER_MEMBER says who it is), else those
/// to all workers of the team. You may answer for a worker. Who agrees to shut down is ended, with
/// everything that it started, and is off the team.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("answer").args(["approve", "reject"]))]
pub(crate) struct Answer {
    /// The request's id
    #[arg(requires = "answer")]
    id: Option<String>,
    /// Yes
    #[arg(long, requires = "id")]
    approve: bool,
    /// No
    #[arg(long, requires = "id")]
    reject: bool,
    /// Why
    #[arg(long, requires = "id")]
    reason: Option<String>,
    /// For this worker [default: $RINGER_MEMBER, else whose the id is]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    team: TeamArg,
}

const EXAMPLES: &str = "\
Examples:
  ringer answer                                             what waits for an answer
  ringer answer shutdown-1@gemini --approve                 yes: gemini is ended
  ringer answer shutdown-1@gemini --reject --reason 'busy'  no, and why";

impl Answer {
    pub(crate) fn run(self, context: &Context, globals: &Globals) -> Result<(), Failure> {
        let team = context.team(&self.team)?;
        let workers = self.workers(context, &team)?;
        let Some(id) = &self.id else {
            return list(context, &workers);
        };
        // An id says whose it is, if nothing else does.
        let asked = |speaker: &&Speaker| {
            speaker.requests().is_ok_and(|open| open.iter().any(|request| request.id == *id))
        };
        let Some(speaker) = workers.iter().find(asked).or(workers.first()) else {
            let message = format!("no request `{id}` waits for an answer");
            return Err(Failure::new("request_not_found", message));
        };
        let name = speaker.name().to_owned();
        let answered = speaker.answer(id, self.approve, self.reason.as_deref())?;
        for one in answered.sent.posted {
            one.outcome?;
        }
        if answered.retires {
            if daemon::running(&context.state)?.is_none() {
                up::ensure(context, globals)?;
            }
            context.wake_daemon();
        }
        let word = if self.approve { "approved" } else { "rejected" };
        let more = if answered.retires { format!("; {name} is ended") } else { String::new() };
        let people = format!("{word}, and {} was told{more}", answered.request.from);
        let scripts = json!({
            "success": true, "request_id": id, "kind": answered.request.kind(),
            "approved": self.approve, "ends": answered.retires,
        });
        Ok(context.out.answer(&people, &scripts)?)
    }

    /// The worker that is meant, or all of the team's if none is named.
    fn workers(&self, context: &Context, team: &Team) -> Result<Vec<Speaker>, Failure> {
        if let Some(name) = self.name.clone().or_else(|| variable("RINGER_MEMBER")) {
            return Ok(vec![Speaker::new(&context.state, team.clone(), &name)?]);
        }
        let roster = Roster::load(&context.state)?;
        let is_on_team = |entry: &&RosterEntry| team.config.member(&entry.name).is_some();
        let workers = roster.on(team.dir()).filter(is_on_team);
        let workers = workers.map(|entry| Speaker::new(&context.state, team.clone(), &entry.name));
        Ok(workers.collect::<ringer_bridge::Result<_>>()?)
    }
}

fn list(context: &Context, workers: &[Speaker]) -> Result<(), Failure> {
    let mut open = Vec::new();
    for worker in workers {
        open.extend(worker.requests()?.into_iter().map(|request| (worker.name(), request)));
    }
    if context.out.json {
        let all: Vec<_> = open
            .iter()
            .map(|(to, r)| {
                json!({"id": r.id, "kind": r.kind(), "from": r.from, "to": to, "asks": r.asks})
            })
            .collect();
        return Ok(context.out.data(&json!({"success": true, "requests": all}))?);
    }
    if open.is_empty() {
        context.out.note("no request waits for an answer");
        return Ok(());
    }
    let row =
        |(to, r): &(&str, Request)| [cell(&r.id), r.kind().to_owned(), cell(&r.from), cell(to)];
    let rows: Vec<_> = open.iter().map(row).collect();
    Ok(context.out.table(["ID", "ASKS FOR", "FROM", "TO"], &rows)?)
}
