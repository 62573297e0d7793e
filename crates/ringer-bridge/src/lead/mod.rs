//! The lead's side: mail for a Claude Code session that does not read its inbox by itself.
//!
//! Owns what its hooks do ([decision 9](../../../../docs/decisions/0009-a-lead-that-always-hears.md)): which
//! team is the session's own, whether Claude Code would read the mail itself, and that an entry is
//! handed over exactly once. `session` says which team that is, `handover` takes
//! the mail, `shape` words it, `waiter` waits for it.

mod handover;
mod session;
mod shape;
mod waiter;

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use ringer_teams::{Entry, Known, LEAD, Mailbox, Structured, Team};

use crate::error::Result;

pub use self::handover::{Handover, take};
pub use self::session::{Session, led_team};
pub use self::waiter::{Waited, wait};

/// Where Claude Code reads the inbox by itself, it has so long to do it: it looks every second.
const GRACE: Duration = Duration::from_secs(3);

/// The inboxes of a team's lead.
fn inboxes(team: &Team) -> Result<Vec<Mailbox>> {
    let lead = team.config.lead().map_or(LEAD, |lead| &lead.name);
    Ok(team.mailboxes(lead)?)
}

/// Whether the team came with the session, as it does from 2.1.178 on.
fn is_implicit(team: &Team) -> bool {
    let id = team.config.lead_session_id.as_deref().unwrap_or_default();
    let first = id.get(..8).unwrap_or_default();
    !first.is_empty() && team.name() == format!("session-{first}")
}

/// Whether Claude Code reads the lead's inbox by itself: old versions always do, newer ones while they
/// have a teammate of their own.
pub fn reads_by_itself(team: &Team) -> bool {
    let lead = team.config.lead().map_or(LEAD, |lead| &lead.name);
    let is_own = |name: &str, ours: bool| name != lead && !ours;
    !is_implicit(team) || team.config.members.iter().any(|m| is_own(&m.name, m.is_synthetic()))
}

/// How long an entry has been in an inbox, at least.
fn age(entry: &Entry, inbox: &Path) -> Duration {
    let now = SystemTime::now();
    let since = |then: SystemTime| now.duration_since(then).unwrap_or_default();
    let sent = entry.timestamp.parse::<Timestamp>().map(SystemTime::from);
    let written = fs::metadata(inbox).and_then(|meta| meta.modified());
    sent.map_or(Duration::ZERO, since).max(written.map_or(Duration::ZERO, since))
}

/// How long an entry is left to Claude Code; nothing if it is ours to take.
fn left_to_claude(team: &Team, entry: &Entry, inbox: &Path) -> Duration {
    if reads_by_itself(team) { GRACE.saturating_sub(age(entry, inbox)) } else { Duration::ZERO }
}

/// Whether an entry is worth waking the lead for: that somebody ended its turn is not, if it has said
/// what there was to say.
fn wakes(entry: &Entry) -> bool {
    let known = Structured::known(&entry.text);
    !matches!(known, Some(Known::IdleNotification { reported: Some(true), .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringer_teams::ClaudeDir;
    use std::path::PathBuf;

    fn team(name: &str, members: &str) -> (tempfile::TempDir, Team) {
        let dir = tempfile::tempdir().unwrap();
        let path: PathBuf = dir.path().join("teams/t");
        fs::create_dir_all(&path).unwrap();
        let text = format!(
            r#"{{"name": "{name}", "leadSessionId": "33d98fe4-6f3d", "members": [{{"name": "team-lead"}}{members}]}}"#
        );
        let config = Mailbox::new(path.join("config.json"));
        let file = fs::OpenOptions::new().write(true).create_new(true).open(config.path());
        std::io::Write::write_all(&mut file.unwrap(), text.as_bytes()).unwrap();
        let team = ClaudeDir::new(dir.path()).team_in("t").unwrap().unwrap();
        (dir, team)
    }

    #[test]
    fn claude_code_has_priority_where_it_reads_by_itself() {
        let ours = r#", {"name": "w", "backendType": "ringer"}"#;
        let theirs = r#", {"name": "x", "backendType": "tmux"}"#;
        for (name, members, reads) in [
            ("session-33d98fe4", "", false),
            ("session-33d98fe4", ours, false),
            ("session-33d98fe4", theirs, true),
            ("chosen", ours, true),
            ("session-00000000", "", true),
        ] {
            let (_dir, team) = team(name, members);
            assert_eq!(reads_by_itself(&team), reads, "{name} {members}");
        }
    }
}
