//! `ringer tasks`: the board that Claude Code and workers share.

mod change;
pub(in crate::verbs) mod list;
mod watch;

use clap::{Args, Subcommand};
use ringer_bridge::{Desk, Done};
use serde_json::{Map, Value};

use self::change::{Claim, Create, Delete, Release, Update};
use self::list::{Get, List};
use crate::cli::TeamArg;
use crate::context::Context;
use crate::failure::{Failure, one_line};
use crate::output::count;

const EXAMPLES: &str = "\
Examples:
  ringer tasks --watch                                        all of them, as they go on
  ringer tasks create -s 'Mend the parser' -d - < issue.md    a task that anybody can take
  ringer tasks create -s 'Release it' --blocked-by 1 --owner gemini
  ringer tasks claim 1                                        within a worker: it is at task 1 now
  ringer tasks update 1 --status completed --result 'All 42 tests pass.'
  ringer tasks list --owner gemini --json                     for scripts";

/// Show and change the tasks of a team: the same that Claude Code has in its own list
///
/// A task is `pending`, `in_progress` or `completed`. One that waits for others is blocked, and nobody can begin it
/// before. Whoever claims a task is at it, and at no other. In a worker this acts as the worker, which can change what
/// it has, but not delete it or give it to others; anywhere else, as the lead.
///
/// Whoever is given a task gets a message; so does the owner of one that waits for nothing any more, whoever loses one,
/// and the lead when a worker has completed one. A worker that ends gives back what it has not completed. When all
/// tasks are completed, Claude Code takes them off its list.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tasks {
    #[command(subcommand)]
    what: Option<What>,
    /// The team, by name [default: $RINGER_TEAM, else the live team whose lead works here]
    #[arg(long, short, value_name = "TEAM", global = true)]
    team: Option<String>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, Subcommand)]
enum What {
    List(List),
    Get(Get),
    Create(Create),
    Update(Update),
    Claim(Claim),
    Release(Release),
    Delete(Delete),
}

impl Tasks {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let team = TeamArg { team: self.team };
        if self.what.is_some() && self.list != List::default() {
            let message =
                "--status, --owner and --watch belong behind `list`, or to `ringer tasks` alone";
            return Err(Failure::usage(message));
        }
        match self.what {
            None => self.list.run(context, &team),
            Some(What::List(list)) => list.run(context, &team),
            Some(What::Get(get)) => get.run(context, &team),
            Some(What::Create(create)) => create.run(context, &team),
            Some(What::Update(update)) => update.run(context, &team),
            Some(What::Claim(claim)) => claim.run(context, &team),
            Some(What::Release(release)) => release.run(context, &team),
            Some(What::Delete(delete)) => delete.run(context, &team),
        }
    }
}

/// Says what was done, to people or scripts.
fn answer(context: &Context, desk: &Desk, done: &Done, people: &str) -> Result<(), Failure> {
    for (name, why) in &done.untold {
        context.out.note(&format!("warning: {name} could not be told: {why}"));
    }
    let mut people = people.to_owned();
    let freed = &done.changed.unblocked;
    if !freed.is_empty() {
        let ids: Vec<String> = freed.iter().map(|task| format!("#{}", task.id)).collect();
        people = format!("{people}; {} can begin: {}", count(freed.len(), "task"), ids.join(", "));
    }
    if !done.told.is_empty() {
        people = format!("{people} (told {})", done.told.join(", "));
    }
    Ok(context.out.answer(&people, &desk.outcome(done)?)?)
}

/// Facts as they are given on the command line.
fn facts(pairs: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut facts = Map::new();
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            let message = format!("`--meta {pair}` is not KEY=VALUE");
            return Err(Failure::usage(&message));
        };
        // What is no JSON is text.
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        facts.insert(key.to_owned(), value);
    }
    Ok(facts)
}

fn warn_of_broken(context: &Context, tasks: &ringer_teams::Tasks) {
    for (_, error) in &tasks.broken {
        context.out.note(&format!("warning: {}", one_line(error)));
    }
}
