//! Who runs in a pane.
//!
//! Owns the judgement whether it is still the worker that was registered. It never guesses in favour
//! of typing: what cannot be told apart from a stranger is a stranger.

use serde::{Deserialize, Serialize};

use crate::process::{Process, is_shell};

/// Who runs in a pane, so that a pane id that was given to another program is not mistaken for the
/// worker, nor a program for the one that ran there before.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Occupant {
    /// The process that the pane was opened with: the worker, or the shell that it was started from.
    pub pid: u32,
    /// The command that the pane was opened with; empty if that was just a shell. Not to be taken
    /// apart: how it is quoted is the terminal's business.
    pub started_with: String,
    /// The name of the program in the foreground, for people.
    pub command: String,
    /// The program in the foreground, as far as the system tells.
    #[serde(default)]
    pub foreground: Option<Process>,
    /// The process of the server that the pane is on: another server counts its panes anew.
    #[serde(default)]
    pub server: u32,
}

/// What became of an occupant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is still there.
    Same,
    /// It was started again in its pane, with the same command. The caller records the new occupant.
    Restarted,
    /// A pane of that number on another server was started with the same command. If no other worker
    /// was, it is the same worker again.
    Elsewhere,
    /// It ended, and a shell waits for commands there: typing would run them.
    Shell,
    /// Somebody else is there.
    Other,
}

impl Occupant {
    /// What became of `known`, if `now` is who runs there.
    pub fn judge(known: &Self, now: &Self) -> Verdict {
        if now.at_shell_prompt() {
            return Verdict::Shell;
        }
        if known.pid == now.pid {
            return match (&known.foreground, &now.foreground) {
                (None, None) if known.command == now.command => Verdict::Same,
                (Some(known), Some(now)) if known.is(now) => Verdict::Same,
                // Somebody ended it and started it again from the same shell.
                (Some(known), Some(now)) if known.is_the_same_command_as(now) => Verdict::Restarted,
                _ => Verdict::Other,
            };
        }
        let same_program = match (&known.foreground, &now.foreground) {
            (Some(known), Some(now)) => known.runs_the_same_as(now),
            _ => false,
        };
        let same_start = !known.started_with.is_empty()
            && known.started_with == now.started_with
            && same_program;
        match (same_start && now.is_its_own_command(), known.server == now.server) {
            (false, _) => Verdict::Other,
            (true, true) => Verdict::Restarted,
            (true, false) => Verdict::Elsewhere,
        }
    }

    /// Whether `now` is the same run of the same program, as far as is known of both.
    pub fn is_same_run(&self, now: &Self) -> bool {
        let same = match (&self.foreground, &now.foreground) {
            (Some(known), Some(now)) => known.is(now),
            (known, now) => known.is_none() && now.is_none(),
        };
        self.pid == now.pid && same
    }

    /// Whether a shell waits for commands there, rather than running a script.
    pub fn at_shell_prompt(&self) -> bool {
        match &self.foreground {
            Some(process) if !process.program.is_empty() => process.is_at_prompt(),
            _ => self.is_shell(),
        }
    }

    /// Whether the program in the foreground is what the pane was opened for, and not something that
    /// somebody started from a shell there.
    pub fn is_its_own_command(&self) -> bool {
        self.foreground.as_ref().is_some_and(|process| process.pid == self.pid)
            && !self.started_with.is_empty()
    }

    /// Whether a shell is in the foreground, be it at its prompt or with a script.
    pub fn is_shell(&self) -> bool {
        is_shell(&self.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "an occupant has one or none")]
    fn process(pid: u32, program: &str, words: &[&str]) -> Option<Process> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Some(Process { pid, started: 1, program: program.into(), words })
    }

    fn occupant(pid: u32, started_with: &str, foreground: Option<Process>) -> Occupant {
        let started_with = started_with.into();
        Occupant { pid, started_with, command: "x".into(), foreground, server: 1 }
    }

    #[test]
    fn an_occupant_is_judged_by_what_runs_in_the_foreground() {
        let gemini = || process(9, "/usr/bin/node", &[]);
        let bash = || process(7, "/usr/bin/bash", &["bash"]);
        let script = || process(7, "/usr/bin/bash", &["bash", "-c", "gemini; exec bash"]);
        for (why, known, now, verdict) in [
            ("the same", gemini(), gemini(), Verdict::Same),
            ("it ended", gemini(), bash(), Verdict::Shell),
            ("another run of it?", gemini(), process(10, "/usr/bin/node", &[]), Verdict::Other),
            (
                "the same command again",
                process(9, "/usr/bin/node", &["node", "gemini"]),
                process(10, "/usr/bin/node", &["node", "gemini"]),
                Verdict::Restarted,
            ),
            (
                "it renamed itself",
                process(9, "/usr/bin/node", &["node", "gemini"]),
                process(9, "/usr/bin/node", &["gemini"]),
                Verdict::Same,
            ),
            (
                "another script",
                process(9, "/usr/bin/python3", &["python3", "work.py"]),
                process(10, "/usr/bin/python3", &["python3", "-i"]),
                Verdict::Other,
            ),
            (
                "a number that was used again",
                gemini(),
                {
                    let later = process(9, "/usr/bin/node", &[]);
                    later.map(|process| Process { started: 2, ..process })
                },
                Verdict::Other,
            ),
            (
                "python, from the same shell",
                gemini(),
                process(9, "/usr/bin/python3", &[]),
                Verdict::Other,
            ),
            ("registered at a shell prompt", bash(), bash(), Verdict::Shell),
            ("started after it was registered", bash(), gemini(), Verdict::Other),
            ("a script", script(), script(), Verdict::Same),
            ("a script that became a shell", script(), bash(), Verdict::Shell),
            ("nothing is known", gemini(), None, Verdict::Other),
        ] {
            let (known, now) = (occupant(7, "", known), occupant(7, "", now));
            assert_eq!(Occupant::judge(&known, &now), verdict, "{why}");
        }
    }

    #[test]
    fn a_worker_that_was_started_again_is_known_by_its_command() {
        let node = |pid| process(pid, "/usr/bin/node", &[]);
        let known = occupant(7, "gemini", node(7));
        for (why, now, verdict) in [
            ("respawned", occupant(8, "gemini", node(8)), Verdict::Restarted),
            ("another command", occupant(8, "codex", node(8)), Verdict::Other),
            ("a plain shell", occupant(8, "", node(9)), Verdict::Other),
            (
                "something else in it",
                occupant(8, "gemini", process(9, "/usr/bin/vim", &[])),
                Verdict::Other,
            ),
            (
                "another server",
                Occupant { server: 2, ..occupant(8, "gemini", node(8)) },
                Verdict::Elsewhere,
            ),
        ] {
            assert_eq!(Occupant::judge(&known, &now), verdict, "{why}");
        }
    }
}
