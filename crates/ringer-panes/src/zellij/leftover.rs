//! What a Ringer that was killed left behind.
//!
//! Owns the mark on every subscription and directory, and ending and removing those whose Ringer runs
//! no more: `zellij subscribe` does not notice that nobody reads what it prints, and would go on until
//! its pane is closed. It touches nothing that does not carry the mark.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;
use tracing::debug;

use super::worker::{Stat, environment, processes};

/// Says whose subscription it is: the process, and when that was started.
const MARK: &str = "RINGER_SUBSCRIBER";
/// How the names of directories of ours begin.
const PREFIX: &str = "ringer-";

/// Marks a command as ours.
pub(super) fn mark(command: &mut Command) {
    if let Some(owner) = owner() {
        command.env(MARK, owner);
    }
}

/// How the name of a directory of ours begins.
pub(super) fn prefix() -> Option<String> {
    owner().map(|owner| format!("{PREFIX}{owner}"))
}

/// Whether a directory is one of ours, this Ringer's or another one's.
pub(super) fn is_ours(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}

/// Ends and removes what nobody uses any more; directories among those of the sockets.
pub(super) fn end(sockets: &Path) {
    let mark = format!("{MARK}=");
    for pid in processes() {
        let environment = environment(pid);
        let mut entries = environment.split(|byte| *byte == 0);
        let owner = entries.find_map(|entry| entry.strip_prefix(mark.as_bytes()));
        if owner.is_some_and(|owner| is_abandoned(&String::from_utf8_lossy(owner))) {
            debug!(pid, "ending a subscription that was left behind");
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            pid.and_then(|pid| kill_process(pid, Signal::KILL).ok());
        }
    }
    for entry in fs::read_dir(sockets).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.rsplit_once('-'));
        if owner.is_some_and(|(owner, _)| is_abandoned(owner)) {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// This process, as it is written in a mark.
fn owner() -> Option<String> {
    let this = std::process::id();
    Stat::of(this).map(|stat| format!("{this}-{}", stat.started))
}

/// Whether it belongs to a process that runs no more.
fn is_abandoned(owner: &str) -> bool {
    let owner = owner
        .split_once('-')
        .and_then(|(pid, started)| Some((pid.parse::<u32>().ok()?, started.parse::<u64>().ok()?)));
    owner.is_some_and(|(pid, started)| Stat::of(pid).is_none_or(|stat| stat.started != started))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_is_abandoned_when_its_owner_is_gone() {
        let this = std::process::id();
        let started = Stat::of(this).unwrap().started;
        for (mark, abandoned) in [
            (format!("{this}-{started}"), false),
            (format!("{this}-{}", started + 1), true),
            (format!("4194305-{started}"), true),
            ("no-mark".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_abandoned(&mark), abandoned, "{mark}");
        }
    }

    #[test]
    fn only_directories_of_others_that_are_gone_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let own = format!("{}-0", prefix().unwrap());
        for name in ["contract_version_1", "ringer-x", "ringer-4194305-1-0", &own] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        end(dir.path());
        let left = fs::read_dir(dir.path()).unwrap().map(|dir| dir.unwrap().file_name());
        let mut left: Vec<String> = left.map(|name| name.into_string().unwrap()).collect();
        left.sort_unstable();
        assert_eq!(left, ["contract_version_1", &own, "ringer-x"]);
    }
}
