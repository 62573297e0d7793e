//! `ringer attach`: a hosted worker in this terminal.

use clap::Args;
use ringer_panes::{HostOutcome, Viewer};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::hosted::Hosted;

/// Show a worker that `ringer run` started, and type to it
///
/// The last row of the terminal says who it is and how to detach: Ctrl-\. The worker goes on when you
/// do. One that runs in a terminal of its own keeps that terminal's size.
#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// The worker
    name: String,
    /// Its team, if several have a worker of that name
    #[arg(long, short)]
    team: Option<String>,
}

impl Attach {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Hosted { entry, socket } = Hosted::find(context, &self.name, self.team.as_deref())?;
        let profile = entry.profile.as_deref().unwrap_or_default();
        let status = format!("{} · {profile} · {}", entry.name, entry.team);
        let outcome = Viewer::attach(&socket, &status)?.run()?;
        let (word, people) = match outcome {
            HostOutcome::Detached => ("detached", format!("detached; {} goes on", entry.name)),
            HostOutcome::Ended => ("ended", format!("{} has ended", entry.name)),
            HostOutcome::Lost => {
                return Err(Failure::new("no_answer", format!("lost {}", entry.name))
                    .hint("attach again, if it still runs: `ringer status`"));
            }
        };
        let scripts = json!({"success": true, "name": entry.name, "outcome": word});
        Ok(context.out.answer(&people, &scripts)?)
    }
}
