//! Workers, found by name.

use std::path::PathBuf;

use ringer_bridge::{Roster, RosterEntry};
use ringer_panes::Address;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::nearest;

/// A worker that is said to have a host.
#[derive(Debug)]
pub(crate) struct Hosted {
    pub(crate) entry: RosterEntry,
    pub(crate) socket: PathBuf,
}

impl Hosted {
    /// The hosted worker of that name, on that team if one is named.
    pub(crate) fn find(context: &Context, name: &str, team: Option<&str>) -> Result<Self, Failure> {
        let entry = find_worker(context, name, team)?;
        match &entry.pane {
            Address::Host { socket } => Ok(Self { socket: socket.clone(), entry }),
            pane => {
                let message = format!("{name} does not run under `ringer run`: it is in {pane}");
                Err(Failure::new("not_hosted", message))
            }
        }
    }
}

/// The worker of that name, on that team if one is named.
pub(crate) fn find_worker(
    context: &Context,
    name: &str,
    team: Option<&str>,
) -> Result<RosterEntry, Failure> {
    let roster = Roster::load(&context.state)?;
    let on_team = |entry: &&RosterEntry| team.is_none_or(|team| entry.team == team);
    let mut same: Vec<&RosterEntry> =
        roster.members.iter().filter(on_team).filter(|entry| entry.name == name).collect();
    let is_hosted = |entry: &RosterEntry| matches!(entry.pane, Address::Host { .. });
    if same.iter().any(|entry| is_hosted(entry)) {
        same.retain(|entry| is_hosted(entry));
    }
    match same[..] {
        [] => {
            let known: Vec<String> =
                roster.members.iter().map(|entry| entry.name.clone()).collect();
            let near = nearest(name, &known);
            let hint = match &near[..] {
                [near, ..] => format!("did you mean `{near}`?"),
                [] if known.is_empty() => "`ringer run PROFILE` starts one".to_owned(),
                [] => format!("there are {}", known.join(", ")),
            };
            let message = format!("no worker is called `{name}`");
            Err(Failure::new("agent_not_found", message)
                .hint(&hint)
                .detail("members", json!(known)))
        }
        [entry] => Ok(entry.clone()),
        _ => {
            let teams: Vec<&str> = same.iter().map(|entry| entry.team.as_str()).collect();
            let message = format!("several teams have a worker `{name}`");
            let hint = format!("name one with --team: {}", teams.join(", "));
            Err(Failure::new("agent_not_found", message).hint(&hint).detail("teams", json!(teams)))
        }
    }
}
