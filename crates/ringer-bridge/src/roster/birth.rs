//! A worker that Ringer started: who it is, whichever team it is on, and what is left of it in the end.

use std::fs;
use std::time::Duration;

use ringer_panes::Process;
use serde::{Deserialize, Serialize};

use crate::claim::Claim;

/// What a worker's environment calls it.
pub const WORKER: &str = "RINGER_WORKER";

/// What is left of a worker has so long to end by itself.
const FAREWELL: Duration = Duration::from_secs(3);

/// What is known of a worker that Ringer started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Birth {
    /// Its identity: in its environment, and the same wherever it moves.
    pub id: String,
    /// The process that it runs under.
    pub host: Claim,
    /// Its own process, which leads a session; none before it is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Claim>,
    /// Which start of the machine that was.
    pub boot: String,
    /// When it was started; milliseconds since 1970.
    pub at: i64,
    /// Whether it has yet to come to its prompt: then it is not on the team.
    #[serde(default, skip_serializing_if = "super::entry::is_false")]
    pub starting: bool,
    /// The session of Claude Code that it is, which may lead a team of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Birth {
    /// A worker of this process, which is not started yet.
    pub fn now(id: &str, at: i64) -> Self {
        let (id, boot) = (id.to_owned(), boot());
        Self { id, host: Claim::ours(), process: None, boot, at, starting: true, session: None }
    }

    /// Whether its host runs: then it looks after everything itself.
    pub fn is_alive(&self) -> bool {
        self.boot == boot() && self.host.is_alive()
    }

    /// Why it is gone, if its host is.
    pub fn why_gone(&self) -> &'static str {
        if self.boot == boot() { "its host was killed" } else { "the machine was started again" }
    }

    /// Ends what is left of it when its host is gone: the processes of its session that still know whose they are.
    /// Some programs live on without a terminal.
    pub fn clear_away(&self) {
        if self.boot != boot() || self.is_alive() {
            return;
        }
        let mark = format!("{WORKER}={}", self.id);
        Process::end_all(
            || Process::marked(&mark, self.process.as_ref().map(Claim::pid)),
            FAREWELL,
        );
    }
}

/// Names this start of the machine.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}
