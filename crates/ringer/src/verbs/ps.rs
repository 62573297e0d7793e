//! `ringer ps`: the workers, and how each is.

use std::thread;
use std::time::{Duration, SystemTime};

use clap::Args;
use ringer_bridge::daemon::workers_dir;
use ringer_bridge::{Journal, Life, Roster, RosterEntry, look};
use ringer_panes::{Condition, Gate, PLAIN, Profile};
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{ago, cell};

/// List the workers: what each is at, since when, and what waits for it
///
/// The state is `starting`, `ready` (at its prompt), `busy`, `waiting for approval` (it asks somebody something), `away`
/// (it ran in a pane of yours, and may come back) or `gone`. It is looked up as it is now, with or without a daemon.
#[derive(Debug, Args)]
pub(crate) struct Ps {
    /// Only of this team
    #[arg(long, short)]
    team: Option<String>,
    /// Also those that have ended, with the reason
    #[arg(long, short)]
    all: bool,
}

/// So many that have ended are shown.
const LAST: u32 = 50;

/// A worker as it is shown.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pid: Option<u32>,
    pub(crate) profile: String,
    team: String,
    pub(crate) state: &'static str,
    /// What keeps it from taking a message, or why it ended.
    pub(crate) reason: Option<String>,
    /// When it was started; milliseconds since 1970.
    started_at: Option<i64>,
    ended_at: Option<i64>,
    pub(crate) queued: u32,
}

impl Ps {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let roster = Roster::load(&context.state)?;
        let journal = Journal::open_existing(&context.state)?;
        let is_meant = |team: &str| self.team.as_ref().is_none_or(|wanted| wanted == team);
        let meant: Vec<&RosterEntry> =
            roster.members.iter().filter(|entry| is_meant(&entry.team)).collect();
        let mut rows = rows(context, &meant, journal.as_ref())?;
        if let Some(journal) = journal.filter(|_| self.all) {
            let ended = journal.ended_workers(LAST)?.into_iter();
            rows.extend(ended.filter(|life| is_meant(&life.team)).map(gone));
        }
        if context.out.json {
            return Ok(context.out.data(&json!({"success": true, "workers": rows}))?);
        }
        if rows.is_empty() {
            context.out.note("no workers; `ringer spawn gemini` starts one");
            return Ok(());
        }
        let rows: Vec<_> = rows.iter().map(cells).collect();
        let headings = ["WORKER", "PID", "PROFILE", "TEAM", "STATE", "UP", "QUEUE"];
        Ok(context.out.table(headings, &rows)?)
    }
}

/// How these workers are now.
pub(crate) fn rows(
    context: &Context,
    entries: &[&RosterEntry],
    journal: Option<&Journal>,
) -> Result<Vec<Row>, Failure> {
    // Each may take a moment to answer.
    let mut rows: Vec<Row> = thread::scope(|scope| {
        let looks: Vec<_> =
            entries.iter().map(|entry| scope.spawn(|| row(context, entry))).collect();
        looks.into_iter().map(|one| one.join().expect("it does not panic")).collect()
    });
    for (row, entry) in rows.iter_mut().zip(entries) {
        row.queued = journal.map_or(Ok(0), |j| j.queue(&entry.id()).map(|queue| queue.queued))?;
    }
    Ok(rows)
}

fn row(context: &Context, entry: &RosterEntry) -> Row {
    let (state, reason) = state(context, entry);
    let birth = entry.birth.as_ref();
    let process = birth.and_then(|birth| birth.process.as_ref());
    let foreground = entry.occupant.as_ref().and_then(|who| who.foreground.as_ref());
    Row {
        name: entry.name.clone(),
        pid: process.map(ringer_bridge::Claim::pid).or(foreground.map(|process| process.pid)),
        profile: entry.profile.clone().unwrap_or_else(|| PLAIN.to_owned()),
        team: entry.team.clone(),
        state,
        reason,
        started_at: birth.map(|birth| birth.at),
        ended_at: None,
        queued: 0,
    }
}

/// How a worker is, as far as can be seen.
fn state(context: &Context, entry: &RosterEntry) -> (&'static str, Option<String>) {
    if entry.birth.as_ref().is_some_and(|birth| !birth.is_alive()) {
        return ("gone", entry.birth.as_ref().map(|birth| birth.why_gone().to_owned()));
    }
    let sight = match look(&entry.pane) {
        Ok(Some(sight)) => sight,
        _ if entry.is_starting() => return (Condition::Starting.as_str(), None),
        Ok(None) => return ("ready", Some("no pane".to_owned())),
        Err(fault) if entry.birth.is_none() => return ("away", Some(fault.reason().to_owned())),
        Err(fault) => return ("gone", Some(fault.reason().to_owned())),
    };
    let name = entry.profile.as_deref().unwrap_or(PLAIN);
    let profile = match Profile::load(name, &workers_dir(&context.config.0)) {
        Ok(profile) => profile,
        Err(error) => return ("ready", Some(error.to_string())),
    };
    let (condition, hold) = Gate::new(&profile).condition(&sight);
    let state = if entry.is_starting() { Condition::Starting } else { condition };
    let plain = |reason: &String| reason != state.as_str();
    (state.as_str(), hold.map(|hold| hold.reason).filter(plain))
}

fn gone(life: Life) -> Row {
    Row {
        name: life.name,
        pid: Some(life.pid),
        profile: life.profile,
        team: life.team,
        state: "gone",
        reason: life.why,
        started_at: Some(life.started_at),
        ended_at: life.ended_at,
        queued: 0,
    }
}

/// How a worker is, with what is the matter.
pub(super) fn state_words(row: &Row) -> String {
    match &row.reason {
        Some(reason) => format!("{}: {}", row.state, cell(reason)),
        None => row.state.to_owned(),
    }
}

fn cells(row: &Row) -> [String; 7] {
    let time = |ms: i64| {
        SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap_or_default())
    };
    let up = match (row.started_at, row.ended_at) {
        (_, Some(ended)) => format!("ended {} ago", ago(time(ended))),
        (Some(started), None) => ago(time(started)),
        (None, None) => "-".to_owned(),
    };
    [
        cell(&row.name),
        row.pid.map_or("-".to_owned(), |pid| pid.to_string()),
        cell(&row.profile),
        cell(&row.team),
        state_words(row),
        up,
        row.queued.to_string(),
    ]
}
