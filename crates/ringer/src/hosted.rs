//! Workers under `ringer run`, found by name.

use std::path::PathBuf;

use ringer_bridge::{Roster, RosterEntry};
use ringer_panes::{Address, HostClient};
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

/// Whether somebody can be reached there. Only hosts are asked; other panes are taken to be there.
pub(crate) fn is_alive(pane: &Address) -> bool {
    match pane {
        Address::None => false,
        Address::Host { socket } => HostClient::connect(socket).is_ok(),
        Address::Tmux { .. } | Address::Zellij { .. } => true,
    }
}

impl Hosted {
    /// The hosted worker of that name, on that team if one is named.
    pub(crate) fn find(context: &Context, name: &str, team: Option<&str>) -> Result<Self, Failure> {
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
                let known = roster.members.iter().filter(|entry| is_hosted(entry));
                let known: Vec<String> = known.map(|entry| entry.name.clone()).collect();
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
            [entry] => match &entry.pane {
                Address::Host { socket } => {
                    Ok(Self { entry: entry.clone(), socket: socket.clone() })
                }
                pane => {
                    let message =
                        format!("{name} does not run under `ringer run`: it is in {pane}");
                    Err(Failure::new("not_hosted", message))
                }
            },
            _ => {
                let teams: Vec<&str> = same.iter().map(|entry| entry.team.as_str()).collect();
                let message = format!("several teams have a worker `{name}`");
                let hint = format!("name one with --team: {}", teams.join(", "));
                Err(Failure::new("agent_not_found", message)
                    .hint(&hint)
                    .detail("teams", json!(teams)))
            }
        }
    }
}
