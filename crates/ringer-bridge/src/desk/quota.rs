//! How many tasks a team may be given in a day: a model that creates them in a circle is stopped.
//!
//! Owns `tasks-created.json`.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use ringer_teams::Team;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::state::StateDir;

const FILE: &str = "tasks-created.json";
const DAY: Duration = Duration::from_hours(24);
const MOST: u32 = 1000;

/// Since when, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Count {
    since: u64,
    tasks: u32,
}

/// Lets one more task be created, and counts it if it was; an error says when the next may be.
pub(super) fn within<T>(
    state: &StateDir,
    team: &Team,
    now: SystemTime,
    create: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let day = DAY.as_secs();
    state.edit(FILE, |counts: &mut BTreeMap<String, Count>| {
        // A time ahead of now is left from before the clock was set back: it limits nothing.
        counts.retain(|_, count| count.since <= now && now - count.since < day);
        let fresh = Count { since: now, tasks: 0 };
        let count = counts.entry(team.dir().display().to_string()).or_insert(fresh);
        if count.tasks >= MOST {
            return Err(Error::RateLimit {
                what: format!("team `{}` was given {MOST} tasks within a day", team.name()),
                wait: Duration::from_secs(day - (now - count.since)),
            });
        }
        let created = create()?;
        count.tasks += 1;
        Ok(created)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringer_teams::ClaudeDir;
    use std::fs;

    #[test]
    fn a_thousand_tasks_a_day() {
        let dir = tempfile::tempdir().expect("a directory");
        let config = dir.path().join("teams/exo");
        fs::create_dir_all(&config).expect("made");
        ringer_testkit::put(&config.join("config.json"), r#"{"name": "exo", "members": []}"#);
        let team = ClaudeDir::new(dir.path()).team("exo").expect("it is there");
        let (state, start) = (StateDir::new(dir.path().join("state")), SystemTime::now());
        let full = BTreeMap::from([(
            team.dir().display().to_string(),
            Count {
                since: start.duration_since(SystemTime::UNIX_EPOCH).expect("now").as_secs(),
                tasks: MOST - 1,
            },
        )]);
        state.change(FILE, |counts| *counts = full).expect("written");
        let admit = |now| within(&state, &team, now, || Ok(()));
        admit(start).expect("the last one");
        let Err(Error::RateLimit { wait, .. }) = admit(start + DAY / 2) else {
            panic!("let through")
        };
        assert_eq!(wait, DAY / 2);
        admit(start + DAY).expect("a new day");
    }
}
