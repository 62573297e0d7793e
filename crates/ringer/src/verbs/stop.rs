//! `ringer stop`: ends a hosted worker.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use ringer_bridge::Roster;
use ringer_panes::HostClient;
use ringer_teams::SyntheticMemberService;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::hosted::Hosted;

/// End a worker that `ringer run` started, and everything that it started
///
/// It is asked to end, and made to after three seconds; then it is off the team. Its mail stays in its
/// inbox.
#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// The worker
    name: String,
    /// Its team, if several have a worker of that name
    #[arg(long, short)]
    team: Option<String>,
}

/// A host takes a moment to take its worker off the team.
const PATIENCE: Duration = Duration::from_secs(5);

impl Stop {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Hosted { entry, socket } = Hosted::find(context, &self.name, self.team.as_deref())?;
        let was_running = match HostClient::connect(&socket) {
            Ok(mut host) => {
                let process = host.look().ok().flatten().map(|sight| sight.occupant.server);
                // It may end before it has answered.
                host.stop().ok();
                wait_for_end(process.unwrap_or_default());
                true
            }
            Err(_) => false,
        };
        let is_listed = || -> Result<bool, Failure> {
            let roster = Roster::load(&context.state)?;
            Ok(roster.members.iter().any(|m| m.id() == entry.id() && m.pane == entry.pane))
        };
        if was_running && HostClient::connect(&socket).is_ok() {
            return Err(Failure::new("no_answer", format!("{} does not end", entry.name)));
        }
        if is_listed()? {
            // Its host was killed, and could not do it.
            let id = entry.id();
            Roster::strike(&context.state, &id.team_dir, Some(&entry.name))?;
            if let Ok(team) = context.claude.team(&entry.team) {
                SyntheticMemberService::remove(&team, &entry.name)?;
            }
            context.wake_daemon();
        }
        let people = if was_running {
            format!("{} has ended and is off {}", entry.name, entry.team)
        } else {
            format!("{} had ended already; it is off {} now", entry.name, entry.team)
        };
        let scripts = json!({
            "success": true, "name": entry.name, "team": entry.team, "was_running": was_running,
        });
        Ok(context.out.answer(&people, &scripts)?)
    }
}

/// Waits until a process has ended, but not for ever.
fn wait_for_end(pid: u32) {
    let is_there = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    let deadline = Instant::now() + PATIENCE;
    while pid != 0 && is_there() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
}
