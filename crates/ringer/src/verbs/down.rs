//! `ringer down`: ends the daemon.

use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use ringer_bridge::daemon::{Client, running};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;

/// End the daemon
///
/// The delivery in hand is finished first. Workers go on; their mail waits until `ringer up`. If no
/// daemon runs, all is well.
#[derive(Debug, Args)]
pub(crate) struct Down {}

const PATIENCE: Duration = Duration::from_secs(5);

impl Down {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Some(daemon) = running(&context.state)? else {
            let scripts = json!({"success": true, "was_running": false});
            return Ok(context.out.answer("the daemon was not running", &scripts)?);
        };
        let asked = Client::connect(&context.state).and_then(|mut client| client.stop());
        if asked.is_err() {
            let pid = i32::try_from(daemon.pid).ok().and_then(Pid::from_raw);
            if let Some(pid) = pid {
                kill_process(pid, Signal::TERM).ok();
            }
        }
        let deadline = Instant::now() + PATIENCE;
        while running(&context.state)?.is_some_and(|now| now.pid == daemon.pid) {
            if Instant::now() > deadline {
                let message = format!("the daemon, process {}, does not end", daemon.pid);
                let hint = format!("kill -9 {} loses nothing", daemon.pid);
                return Err(Failure::new("no_answer", message).hint(&hint));
            }
            thread::sleep(Duration::from_millis(10));
        }
        let people = format!("the daemon, process {}, has ended", daemon.pid);
        let scripts = json!({"success": true, "was_running": true, "pid": daemon.pid});
        Ok(context.out.answer(&people, &scripts)?)
    }
}
