//! `ringer events`: what happened on teams, as the daemon has told it.

use std::time::Duration;

use clap::Args;
use ringer_bridge::observe::Listener;
use ringer_bridge::{EventFilter, Journal, Settings, Told, daemon};
use serde_json::json;

use super::watching::Watching;
use crate::context::Context;
use crate::failure::Failure;
use crate::happened;
use crate::output::cell;

/// Show what happened on teams: who came and went, tasks, messages, shutdowns
///
/// The daemon brings together what the transcripts of live leads say, what is on disk and what workers say. Each event
/// is told once, with a number that grows (`seq`), also over restarts: --after takes up where somebody left off.
///
/// Without a daemon, what happened up to now is found out first.
///
/// With --json: one object with `events`; with --follow one event a line.
#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Only of this team [default: all]
    #[arg(long, short, value_name = "TEAM")]
    team: Option<String>,
    /// Only those whose name begins like this, such as `team:task`
    #[arg(long, short = 'e', value_name = "NAME")]
    event: Option<String>,
    /// Only those after the one with this number, and all of them
    #[arg(long, value_name = "SEQ")]
    after: Option<i64>,
    /// The last so many
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 50)]
    last: u32,
    /// Go on with what happens from now on
    #[arg(long, short)]
    follow: bool,
}

impl Events {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let journal = Journal::open(&context.state)?;
        if daemon::running(&context.state)?.is_none() {
            catch_up(context, &journal)?;
            if self.follow {
                context
                    .out
                    .note("no daemon runs, so nothing new will be told; `ringer up` starts it");
            }
        }
        // A team that is gone is still in the journal, under the directory that it had.
        let team_dir = self.team.as_ref().map(|name| {
            let gone = |_| context.claude.teams_dir().join(name);
            context.claude.team(name).map_or_else(gone, |team| team.dir().to_owned())
        });
        let last = if self.after.is_some() { None } else { Some(self.last) };
        let mut filter =
            EventFilter { team_dir, name: self.event.clone(), after: self.after, last };
        let watching = self.follow.then(|| Watching::new(context.state.path()));
        // What comes while we look is among what is asked for next.
        let newest = journal.last_event()?;
        let events = journal.events(&filter)?;
        match (context.out.json, self.follow) {
            (true, false) => {
                return Ok(context.out.data(&json!({"success": true, "events": events}))?);
            }
            (false, false) if events.is_empty() => context.out.note("nothing yet"),
            _ => self.show(context, &events)?,
        }
        let Some(watching) = watching else { return Ok(()) };
        let seen = events.last().map(|event| event.seq);
        filter.after = Some(seen.unwrap_or(newest).max(self.after.unwrap_or(0)));
        filter.last = None;
        loop {
            watching.wait(Duration::from_mins(1));
            let events = journal.events(&filter)?;
            self.show(context, &events)?;
            filter.after = events.last().map(|event| event.seq).or(filter.after);
        }
    }

    fn show(&self, context: &Context, events: &[Told]) -> Result<(), Failure> {
        if context.out.json {
            events.iter().try_for_each(|event| context.out.data(event))?;
        } else if self.follow {
            for event in events {
                context.out.line(&row(event).join("  "))?;
            }
        } else {
            let rows: Vec<_> = events.iter().map(row).collect();
            context.out.table(["SEQ", "TIME", "TEAM", "EVENT", "ABOUT"], &rows)?;
        }
        Ok(())
    }
}

fn row(told: &Told) -> [String; 5] {
    let [time, name, about] = happened::row(&told.event);
    [told.seq.to_string(), time, cell(&told.team), name, about]
}

/// Finds out what happened, where no daemon does. One team that cannot be read keeps nobody from the others.
pub(super) fn catch_up(context: &Context, journal: &Journal) -> Result<(), Failure> {
    let settings = Settings::load(&context.config.0, context.config.1)?;
    let listener = Listener::default();
    let teams = context.claude.teams()?.found;
    let mut dirs: Vec<_> = teams.iter().map(|team| team.dir().to_owned()).collect();
    dirs.extend(journal.pictured()?.into_iter().filter(|dir| !dir.exists()));
    for dir in dirs {
        while listener
            .compare(&context.claude, journal, &dir, settings.observe.transcripts)
            .is_ok_and(|heard| heard.more)
        {}
    }
    Ok(())
}
