//! Whether a team's lead is alive, and at its prompt yet.
//!
//! Owns the look into `/proc`. Says "unknown" rather than guess.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::config::LeadProcess;
use crate::session::{Activity, Session};

/// Whether the process that leads a team still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It ended.
    Dead,
    /// The team does not say, or its process cannot be seen from here.
    Unknown,
}

impl Liveness {
    /// `alive`, `dead` or `unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Dead => "dead",
            Self::Unknown => "unknown",
        }
    }

    pub(crate) fn of(process: Option<&LeadProcess>) -> Self {
        let Some(process) = process else {
            return Self::Unknown;
        };
        if !process.pid_space.as_deref().is_none_or(is_our_pid_space) || process.pid <= 0 {
            return Self::Unknown;
        }
        match fs::read_to_string(format!("/proc/{}/stat", process.pid)) {
            Ok(line) => match (start_time(&line), process.proc_start.as_deref()) {
                // Same id, other start time: the id went to another process.
                (Some(now), Some(then)) if now != then => Self::Dead,
                (_, None) => Self::Unknown,
                _ => Self::Alive,
            },
            Err(e) if e.kind() == ErrorKind::NotFound => Self::Dead,
            Err(_) => Self::Unknown,
        }
    }
}

/// Whether a lead that runs has yet to come to its prompt: what it says of itself in `sessions` has no status then. Of
/// a lead that is not known to run, nothing is to be waited for.
pub(crate) fn is_starting(process: Option<&LeadProcess>, sessions: &Path) -> bool {
    let Some(process) = process.filter(|_| Liveness::of(process) == Liveness::Alive) else {
        return false;
    };
    Session::of(process, sessions).is_none_or(|session| session.activity == Activity::Unknown)
}

/// `pidSpace` is the host's name, `#`, and the namespace as the kernel names it. The namespace alone
/// would not do: the first one has the same number on every machine.
fn is_our_pid_space(space: &str) -> bool {
    our_pid_space().is_some_and(|ours| ours == space)
}

fn our_pid_space() -> Option<String> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}#{}", host.trim_end(), namespace.to_str()?))
}

/// Field 22 of `/proc/<pid>/stat`. The second field is a name in parentheses that may itself
/// contain blanks and parentheses, so fields are counted from the last one.
fn start_time(stat: &str) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i64, start: Option<&str>, space: Option<&str>) -> LeadProcess {
        LeadProcess { pid, pid_space: space.map(Into::into), proc_start: start.map(Into::into) }
    }

    #[test]
    fn a_process_is_known_by_its_id_and_start_time() {
        let pid = i64::from(std::process::id());
        let line = fs::read_to_string("/proc/self/stat").unwrap();
        let start = start_time(&line).unwrap();
        let of = |pid, start, space| Liveness::of(Some(&process(pid, start, space)));
        assert_eq!(of(pid, Some(start), None), Liveness::Alive);
        let space = our_pid_space().unwrap();
        assert_eq!(of(pid, Some(start), Some(&space)), Liveness::Alive);
        let elsewhere = format!("x{space}");
        assert_eq!(of(pid, Some("1"), Some(&elsewhere)), Liveness::Unknown);
        assert_eq!(of(pid, Some("1"), None), Liveness::Dead);
        assert_eq!(of(i64::from(i32::MAX), Some(start), None), Liveness::Dead);
        assert_eq!(of(pid, Some(start), Some("x#pid:[1]")), Liveness::Unknown);
        assert_eq!(of(-1, Some(start), None), Liveness::Unknown);
        assert_eq!(Liveness::of(None), Liveness::Unknown);
    }

    #[test]
    fn a_lead_is_starting_until_it_has_a_status() {
        let dir = tempfile::tempdir().unwrap();
        let pid = i64::from(std::process::id());
        let line = fs::read_to_string("/proc/self/stat").unwrap();
        let start = start_time(&line).unwrap();
        let lead = process(pid, Some(start), None);
        let is_starting = |lead: Option<&LeadProcess>| is_starting(lead, dir.path());
        assert!(is_starting(Some(&lead)), "nothing is noted");
        let noted = format!(r#"{{"pid": {pid}, "procStart": "{start}"}}"#);
        for (text, starting) in [
            (noted.clone(), true),
            (noted.replace('}', r#", "status": "idle"}"#), false),
            (noted.replace('}', r#", "status": "busy"}"#), false),
            (noted.replace('}', r#", "status""#), true),
            (format!(r#"{{"pid": {pid}, "procStart": "1", "status": "idle"}}"#), true),
        ] {
            ringer_testkit::put(&dir.path().join(format!("{pid}.json")), &text);
            assert_eq!(is_starting(Some(&lead)), starting, "{text}");
        }
        assert!(!is_starting(Some(&process(pid, Some("1"), None))), "it has ended");
        assert!(!is_starting(None), "nobody knows");
    }

    #[test]
    fn a_process_name_cannot_confuse_the_fields() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        assert_eq!(start_time(stat), Some("4711"));
    }
}
