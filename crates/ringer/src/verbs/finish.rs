//! `ringer finish`: ends all workers of a team, each by its own agreement.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use ringer_bridge::{Roster, RosterEntry, ask_to_shut_down, refused};
use ringer_teams::Team;
use serde_json::{Value, json};

use crate::cli::{Globals, TeamArg};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::count;
use crate::verbs::stop::stop_all;
use crate::verbs::up;

/// End all workers of a team, and say what was done
///
/// Each is asked to shut down, and ended when it agrees; one that says nothing is answered for as its profile says. Who
/// refuses, or takes too long, goes on and is named, unless --force ends it. Says how many of the team's tasks
/// were completed.
#[derive(Debug, Args)]
pub(crate) struct Finish {
    #[command(flatten)]
    team: TeamArg,
    /// What came of it, for the answer and for the workers
    #[arg(long)]
    summary: Option<String>,
    /// So many seconds they may take
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    timeout: u64,
    /// End those who do not agree
    #[arg(long)]
    force: bool,
}

/// How a team was ended.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    pub(crate) ended: Vec<String>,
    /// Who goes on, and why.
    pub(crate) left: BTreeMap<String, String>,
    pub(crate) completed: usize,
    pub(crate) total: usize,
}

impl Finish {
    pub(crate) fn run(self, context: &Context, globals: &Globals) -> Result<(), Failure> {
        let team = context.team(&self.team)?;
        up::ensure(context, globals)?;
        let limit = Duration::from_secs(self.timeout);
        let summary = self.summary.as_deref();
        let done = finish(context, &team, summary, limit, self.force, &|what| {
            if !context.out.json {
                context.out.note(what);
            }
        })?;
        let mut people = format!("{} ended", count(done.ended.len(), "worker"));
        people = format!("{people}; {} of {} completed", done.completed, count(done.total, "task"));
        if let Some(summary) = summary {
            people = format!("{people}\n{summary}");
        }
        if done.left.is_empty() {
            return Ok(context.out.answer(&people, &done.describe(summary))?);
        }
        let names: Vec<String> =
            done.left.iter().map(|(name, why)| format!("{name} ({why})")).collect();
        let message = format!("these go on: {}", names.join(", "));
        Err(Failure::new("not_finished", message)
            .hint("`ringer finish --force` ends them, too")
            .detail("finished", done.describe(summary)))
    }
}

impl Finished {
    pub(crate) fn describe(&self, summary: Option<&str>) -> Value {
        json!({
            "success": self.left.is_empty(), "summary": summary, "ended": self.ended,
            "left": self.left, "completed_tasks": self.completed, "total_tasks": self.total,
        })
    }
}

/// The teams that workers of this one lead.
fn led_by_workers(context: &Context, team: &Team) -> Result<Vec<Team>, Failure> {
    let roster = Roster::load(&context.state)?;
    let is_below = |other: &Team| {
        let leader = roster.leader_of(other);
        other.dir() != team.dir() && leader.is_some_and(|leader| leader.id().team_dir == team.dir())
    };
    Ok(context.claude.teams()?.found.into_iter().filter(is_below).collect())
}

/// Ends all workers of a team by the handshake.
pub(crate) fn finish(
    context: &Context,
    team: &Team,
    summary: Option<&str>,
    limit: Duration,
    force: bool,
    progress: &dyn Fn(&str),
) -> Result<Finished, Failure> {
    let workers = || -> Result<Vec<RosterEntry>, Failure> {
        let roster = Roster::load(&context.state)?;
        Ok(roster.on(team.dir()).filter(|entry| !entry.leads).cloned().collect())
    };
    let mut asked: BTreeMap<String, String> = BTreeMap::new();
    let mut done = Finished::default();
    let reason = summary.unwrap_or("the team's work is finished");
    // Who leads a team of its own is the last of it: else its workers would look for another lead.
    for below in led_by_workers(context, team)? {
        let below = finish(context, &below, summary, limit, force, progress)?;
        done.ended.extend(below.ended);
        done.left.extend(below.left);
    }
    for entry in workers()? {
        let id = ask_to_shut_down(&context.state, team, &entry.name, reason)?;
        progress(&format!("{}: asked to shut down", entry.name));
        asked.insert(entry.name, id);
    }
    let deadline = Instant::now() + limit;
    loop {
        let roster = Roster::load(&context.state)?;
        // Who is struck off the roster still stands in `config.json` for a moment.
        let is_there = |name: &str| {
            let mut leaving = roster.leaving.iter().filter(|one| one.team_dir == team.dir());
            roster.find(team.dir(), name).is_some() || leaving.any(|one| one.name == name)
        };
        let gone: Vec<String> = asked.keys().filter(|name| !is_there(name)).cloned().collect();
        for name in gone {
            asked.remove(&name);
            progress(&format!("{name}: ended"));
            done.ended.push(name);
        }
        for (name, why) in refused(&context.state, team, &asked)? {
            asked.remove(&name);
            progress(&format!("{name}: refuses: {why}"));
            done.left.insert(name, why);
        }
        if asked.is_empty() {
            break;
        }
        if Instant::now() > deadline {
            let late = asked.into_keys().map(|name| (name, "it has not answered".to_owned()));
            done.left.extend(late);
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    if force {
        let mut rest = workers()?;
        rest.retain(|entry| done.left.contains_key(&entry.name));
        stop_all(context, &rest)?;
        done.left.clear();
        done.ended.extend(rest.into_iter().map(|entry| entry.name));
    }
    let tasks = team.tasks()?;
    (done.completed, done.total) = (tasks.completed().count(), tasks.total());
    Ok(done)
}
