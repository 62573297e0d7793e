//! The end of a worker, whoever wants it.
//!
//! Owns that everything it started ends with it, and nobody else.

use std::thread;
use std::time::{Duration, Instant};

use ringer_panes::{Address, HostClient};

use crate::roster::RosterEntry;

/// One that was asked to quit has this long before it is made to.
const FAREWELL: Duration = Duration::from_secs(3);

/// Asks a worker to quit, and makes it; whether there was anybody. A worker of ours is off its team soon after, by
/// itself.
pub fn end_worker(entry: &RosterEntry) -> bool {
    match &entry.pane {
        Address::None => false,
        Address::Host { socket } => {
            let mut host = HostClient::connect(socket).ok();
            let was_there = host.is_some();
            if let Some(host) = &mut host {
                // It may end before it has answered.
                host.stop().ok();
            }
            // Its socket goes before it has left the team, its process after.
            let is_there = || match &entry.birth {
                Some(birth) => birth.is_alive(),
                None => HostClient::connect(socket).is_ok(),
            };
            let deadline = Instant::now() + FAREWELL * 3;
            while is_there() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(10));
            }
            if let Some(birth) = &entry.birth {
                birth.clear_away();
            }
            was_there
        }
        Address::Tmux { .. } | Address::Zellij { .. } => {
            // Only who was recognised there: whoever has the pane now is somebody else.
            let worker = entry.occupant.as_ref().and_then(|who| who.foreground.as_ref());
            // A shell that waits for commands is the user's, whoever registered it.
            let Some(worker) = worker.filter(|worker| !worker.is_at_prompt()) else { return false };
            let was_there = worker.is_running();
            worker.end_group(FAREWELL);
            was_there
        }
    }
}
