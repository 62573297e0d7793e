//! `ringer stop`: ends a worker.

use std::thread;

use clap::Args;
use ringer_bridge::{Birth, Filter, Journal, Roster, RosterEntry, State, depart, end_worker};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::hosted::find_worker;
use crate::output::count;

/// End a worker, and everything that it started
///
/// It is asked to end, and made to after three seconds; then it is off the team. Mail that it did not get goes back to
/// who sent it, in one message.
#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// The worker
    name: String,
    /// Its team, if several have a worker of that name
    #[arg(long, short)]
    team: Option<String>,
}

impl Stop {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let entry = find_worker(context, &self.name, self.team.as_deref())?;
        let (was_running, returned) = stop(context, &entry)?;
        let mut people = if was_running {
            format!("{} has ended and is off {}", entry.name, entry.team)
        } else {
            format!("{} had ended already; it is off {} now", entry.name, entry.team)
        };
        if returned > 0 {
            people = format!("{people}; {} went back to who sent it", count(returned, "message"));
        }
        let scripts = json!({
            "success": true, "name": entry.name, "team": entry.team, "was_running": was_running,
            "returned": returned,
        });
        Ok(context.out.answer(&people, &scripts)?)
    }
}

/// Ends a worker and sees that it is off its team; whether it ran, and how many messages went back.
pub(crate) fn stop(context: &Context, entry: &RosterEntry) -> Result<(bool, usize), Failure> {
    let journal = Journal::open_existing(&context.state)?;
    // Its host gives the mail back, most often.
    let returned = || -> Result<usize, Failure> {
        let filter = Filter {
            team_dir: Some(entry.id().team_dir),
            member: Some(entry.name.clone()),
            state: Some(State::Returned),
            ..Filter::default()
        };
        let Some(journal) = &journal else { return Ok(0) };
        Ok(journal.messages(&filter)?.len())
    };
    let before = returned()?;
    let was_running = end_worker(entry);
    if entry.birth.as_ref().is_some_and(Birth::is_alive) {
        let message = format!("{} does not end", entry.name);
        return Err(Failure::new("no_answer", message).hint("`ringer ps` shows its process"));
    }
    // A host takes its worker off by itself, unless it was killed.
    let roster = Roster::load(&context.state)?;
    let id = entry.id();
    let same = roster.find(&id.team_dir, &id.name).filter(|now| now.is_same_worker(entry));
    if let Some(entry) = same {
        depart(&context.claude, &context.state, entry, "it was stopped")?;
    }
    context.wake_daemon();
    Ok((was_running, returned()?.saturating_sub(before)))
}

/// Ends several, at the same time.
pub(crate) fn stop_all(context: &Context, entries: &[RosterEntry]) -> Result<(), Failure> {
    thread::scope(|scope| {
        let ends: Vec<_> =
            entries.iter().map(|entry| scope.spawn(|| stop(context, entry))).collect();
        ends.into_iter().try_for_each(|one| one.join().expect("it does not panic").map(drop))
    })
}
