//! `ringer answer`: yes or no to a request.

use clap::Args;
use ringer_bridge::daemon;
use serde_json::json;

use crate::cli::{Globals, TeamArg};
use crate::context::{Context, variable};
use crate::failure::Failure;
use crate::output::cell;
use crate::verbs::up;

/// Answer a request to a worker: to shut down, for a permission, or about a plan
///
/// Without an id, the requests that wait are listed. A worker answers for itself (RINGER_MEMBER says who
/// it is); with --as you answer for it. Who agrees to shut down is ended, with everything that it started,
/// and is off the team.
#[derive(Debug, Args)]
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
    /// For this worker [default: $RINGER_MEMBER]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    team: TeamArg,
}

impl Answer {
    pub(crate) fn run(self, context: &Context, globals: &Globals) -> Result<(), Failure> {
        let Some(name) = self.name.clone().or_else(|| variable("RINGER_MEMBER")) else {
            return Err(Failure::usage("for which worker? RINGER_MEMBER is not set")
                .hint("ringer answer --as NAME"));
        };
        let team = context.team(&self.team)?;
        let speaker = ringer_bridge::Speaker::new(&context.state, team, &name)?;
        let Some(id) = &self.id else {
            return list(context, &speaker);
        };
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
}

fn list(context: &Context, speaker: &ringer_bridge::Speaker) -> Result<(), Failure> {
    let open = speaker.requests()?;
    if context.out.json {
        let all: Vec<_> = open
            .iter()
            .map(|r| json!({"id": r.id, "kind": r.kind(), "from": r.from, "asks": r.asks}))
            .collect();
        return Ok(context.out.data(&json!({"success": true, "requests": all}))?);
    }
    if open.is_empty() {
        context.out.note(&format!("no request waits for an answer of {}", speaker.name()));
        return Ok(());
    }
    let rows: Vec<_> =
        open.iter().map(|r| [cell(&r.id), r.kind().to_owned(), cell(&r.from)]).collect();
    Ok(context.out.table(["ID", "ASKS FOR", "FROM"], &rows)?)
}
