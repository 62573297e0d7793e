//! The process behind a pane.
//!
//! Owns finding it: Zellij does not tell. A pane's process is a child of the session's server, leads a
//! session of its own on a terminal of its own, and was told its pane's number. What cannot be found
//! out like that is unknown, never guessed.

use std::fs;

use super::listing::Listed;
use super::session::Server;
use crate::occupant::Occupant;
use crate::process::Process;

/// What a pane's process is told.
const PANE_ID: &str = "ZELLIJ_PANE_ID";

/// A process that was found, and stays that one for as long as it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) pid: u32,
    started: u64,
}

impl Found {
    /// The process of a pane. Takes a few milliseconds where there are many processes.
    pub(super) fn of(server: u32, pane: u32) -> Option<Self> {
        let told = format!("{PANE_ID}={pane}");
        let ours = panes_of(server).filter(|(pid, _)| environment_has(*pid, &told));
        // Of a command that was started again, the one before has ended or is about to.
        let (pid, stat) = ours.max_by_key(|(_, stat)| stat.started)?;
        Some(Self { pid, started: stat.started })
    }

    /// Whether it still runs, and still in the same place.
    pub(super) fn is_alive(self, server: u32) -> bool {
        let same =
            |stat: Stat| stat.started == self.started && stat.parent == server && !stat.ended;
        Stat::of(self.pid).is_some_and(same)
    }

    /// Who runs in its pane.
    pub(super) fn occupant(self, server: &Server, listed: &Listed) -> Occupant {
        let foreground = Process::in_foreground_of(self.pid);
        let shown = foreground.as_ref().map_or(self.pid, |process| process.pid);
        let name = fs::read_to_string(format!("/proc/{shown}/comm")).unwrap_or_default();
        Occupant {
            pid: self.pid,
            started_with: listed.started_with().to_owned(),
            command: name.trim_end().to_owned(),
            foreground,
            server: server.pid,
        }
    }
}

/// Who is in a pane whose program has ended.
pub(super) fn nobody(server: &Server, listed: &Listed) -> Occupant {
    Occupant {
        pid: 0,
        started_with: listed.started_with().to_owned(),
        command: String::new(),
        foreground: None,
        server: server.pid,
    }
}

/// Whether it is still who was seen: the same process, with the same program in the foreground. This
/// includes that no shell has come back to it.
pub(super) fn is_same(seen: &Occupant, now: &Occupant) -> bool {
    let same_program = match (&seen.foreground, &now.foreground) {
        (Some(seen), Some(now)) => seen.is(now),
        (None, None) => seen.command == now.command,
        _ => false,
    };
    now.pid != 0 && (seen.pid, seen.server) == (now.pid, now.server) && same_program
}

/// What runs in the panes of a server: its children with a terminal of their own.
pub(super) fn panes_of(server: u32) -> impl Iterator<Item = (u32, Stat)> {
    let all = processes().filter_map(|pid| Some((pid, Stat::of(pid)?)));
    all.filter(move |(pid, stat)| {
        stat.parent == server && stat.session == *pid && stat.terminal != 0 && !stat.ended
    })
}

/// All processes.
pub(super) fn processes() -> impl Iterator<Item = u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a process was started with this in its environment, as far as we may know.
fn environment_has(pid: u32, entry: &str) -> bool {
    environment(pid).split(|byte| *byte == 0).any(|one| one == entry.as_bytes())
}

/// What a process was started with.
pub(super) fn environment(pid: u32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

/// What the system says of a process.
#[derive(Debug)]
pub(super) struct Stat {
    pub(super) started: u64,
    parent: u32,
    session: u32,
    terminal: i32,
    ended: bool,
}

impl Stat {
    pub(super) fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in front may contain anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Self {
            ended: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            terminal: fields.get(4)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_number_and_start() {
        let this = std::process::id();
        let stat = Stat::of(this).unwrap();
        let found = Found { pid: this, started: stat.started };
        assert!(processes().any(|pid| pid == this));
        assert!(found.is_alive(stat.parent) && !found.is_alive(stat.parent + 1));
        assert!(!Found { started: stat.started + 1, ..found }.is_alive(stat.parent));
        assert!(Found::of(this, 0).is_none(), "it has no panes");
    }

    #[test]
    fn who_was_seen_is_still_there_only_with_the_same_program() {
        let process = |pid, program: &str| {
            Some(Process { pid, started: 1, program: program.into(), words: Vec::new() })
        };
        let occupant = |foreground| Occupant {
            pid: 7,
            started_with: String::new(),
            command: "x".into(),
            foreground,
            server: 1,
        };
        let seen = occupant(process(9, "/usr/bin/node"));
        for (why, now, same) in [
            ("the same", seen.clone(), true),
            ("a shell", occupant(process(7, "/usr/bin/bash")), false),
            ("another run", occupant(process(10, "/usr/bin/node")), false),
            ("another process", Occupant { pid: 8, ..seen.clone() }, false),
            ("another server", Occupant { server: 2, ..seen.clone() }, false),
            ("unknown", occupant(None), false),
        ] {
            assert_eq!(is_same(&seen, &now), same, "{why}");
        }
        let unknown = Occupant { pid: 0, ..occupant(None) };
        assert!(!is_same(&unknown, &unknown), "nobody is nobody's worker");
    }
}
