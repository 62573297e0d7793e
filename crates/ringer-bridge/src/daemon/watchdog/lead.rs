//! Whether a lead is idle.

use ringer_teams::{Activity, Team};

use super::{How, Patrol, hash};
use crate::lead::noted;
use crate::roster::RosterEntry;

impl Patrol<'_> {
    /// A number that changes when the lead does something, if it is at rest now; nothing if it works, or if that cannot be
    /// told. A worker that leads is looked at, as any worker; of Claude Code, its transcript tells.
    pub(super) fn lead_at_rest(&self, team: &Team) -> Option<u64> {
        let leads = |entry: &&RosterEntry| entry.leads;
        let worker = self.roster.on(team.dir()).find(leads).or(self.roster.leader_of(team));
        if let Some(worker) = worker {
            let sight = self.look(worker)?;
            let at_rest = self.judge(worker, &sight) == How::Idle;
            return at_rest.then(|| hash(&sight.screen.rows));
        }
        let process = team.config.lead_process.as_ref();
        let pid = process.and_then(|process| u32::try_from(process.pid).ok());
        // A conversation that was cleared goes on under another id.
        let now = pid.zip(self.shared.sockets.as_deref()).and_then(|(pid, dir)| noted(dir, pid));
        let session = now.or_else(|| team.config.lead_session_id.clone())?;
        let transcript = self.claude.transcript(&session)?;
        // Old versions do not say which process it is, so what else was written there may be its own.
        let is_it = process.is_some() || !transcript.superseded;
        (is_it && transcript.activity == Activity::AtRest).then_some(transcript.length)
    }
}
