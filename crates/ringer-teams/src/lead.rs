//! Whether a team's lead is alive.
//!
//! Owns the look into `/proc`. Says "unknown" rather than guess.

use std::fs;
use std::io::ErrorKind;

use crate::config::LeadProcess;

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
    fn a_process_name_cannot_confuse_the_fields() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        assert_eq!(start_time(stat), Some("4711"));
    }
}
