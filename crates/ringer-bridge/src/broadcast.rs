//! How often a team may be addressed as a whole.
//!
//! Owns `broadcasts.json`: when each team had its last broadcast, across all processes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};
use crate::state::StateDir;

const FILE: &str = "broadcasts.json";

/// Between two broadcasts to one team.
pub const BROADCAST_PAUSE: Duration = Duration::from_secs(5);

/// Lets one broadcast to a team through, and remembers it; an error says when the next may go.
pub(crate) fn admit(state: &StateDir, team: &str, team_dir: &Path, now: SystemTime) -> Result<()> {
    state.edit(FILE, |last: &mut BTreeMap<String, u64>| {
        let now = millis(now);
        let pause = millis(SystemTime::UNIX_EPOCH + BROADCAST_PAUSE);
        // A time ahead of now is left from before the clock was set back: it limits nothing.
        last.retain(|_, at| *at <= now && now - *at < pause);
        let key = team_dir.display().to_string();
        if let Some(at) = last.get(&key) {
            let wait = Duration::from_millis(pause - (now - at));
            let what = format!("team `{team}` had a broadcast a moment ago");
            return Err(Error::RateLimit { what, wait });
        }
        last.insert(key, now);
        Ok(())
    })
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_broadcast_a_team_in_five_seconds() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::new(dir.path());
        let start = SystemTime::now();
        let at = |seconds, team: &str| {
            admit(&state, team, Path::new(team), start + Duration::from_secs(seconds))
        };
        at(0, "a").unwrap();
        at(1, "b").unwrap();
        let Err(Error::RateLimit { wait, .. }) = at(2, "a") else { panic!("let through") };
        assert_eq!(wait, Duration::from_secs(3));
        at(5, "a").unwrap();
        // The clock is set back: the limit must not hold for as long as the jump.
        at(1, "a").unwrap();
    }
}
