//! Whether a lead is idle.

use ringer_teams::{Activity, Team};

use super::{How, Patrol, hash};
use crate::roster::RosterEntry;

impl Patrol<'_> {
    /// A number that changes when the lead does something, if it is at rest now; nothing if it works, or if that cannot be
    /// told. A worker that leads is looked at, as any worker; Claude Code says it itself, or its transcript does.
    pub(super) fn lead_at_rest(&self, team: &Team) -> Option<u64> {
        let leads = |entry: &&RosterEntry| entry.leads;
        let worker = self.roster.on(team.dir()).find(leads).or(self.roster.leader_of(team));
        if let Some(worker) = worker {
            let sight = self.look(worker)?;
            let at_rest = self.judge(worker, &sight) == How::Idle;
            return at_rest.then(|| hash(&sight.screen.rows));
        }
        let id = team.config.lead_session_id.as_deref().unwrap_or_default();
        // A conversation that was cleared goes on under another id, in the same process.
        let session = match &team.config.lead_process {
            Some(process) => self.claude.session_of(process),
            None => self.claude.session(id),
        };
        if let Some(session) = session.filter(|session| session.activity != Activity::Unknown) {
            let at_rest = session.activity == Activity::AtRest;
            return at_rest.then(|| session.since.unsigned_abs());
        }
        // Older versions only tell by what they write down, and what else was written there may be a cleared one's.
        let transcript = self.claude.transcript(id)?;
        let at_rest = transcript.activity == Activity::AtRest && !transcript.superseded;
        at_rest.then_some(transcript.length)
    }
}
