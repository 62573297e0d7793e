//! Who runs in a pane.
//!
//! Owns the judgement whether it is still the worker that was registered. It never guesses in favour
//! of typing: what cannot be told apart from a stranger is a stranger.

use serde::{Deserialize, Serialize};

/// Shells: what is typed into one is run.
pub(crate) const SHELLS: [&str; 11] =
    ["sh", "bash", "zsh", "fish", "dash", "ksh", "nu", "elvish", "xonsh", "tcsh", "csh"];

/// Who runs in a pane, so that a pane id that was given to another program is not mistaken for the
/// worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Occupant {
    /// The process that the pane was opened with: the worker, or the shell that it was started from.
    pub pid: u32,
    /// The command that the pane was opened with; empty if that was just a shell. Not to be taken
    /// apart: how it is quoted is the terminal's business.
    pub started_with: String,
    /// The name of the program in the foreground.
    pub command: String,
}

/// What became of an occupant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is still there.
    Same,
    /// It was started again with the same command. The caller records the new occupant.
    Restarted,
    /// It ended, and the shell that it was started from is there: typing would run commands.
    Shell,
    /// Somebody else is there.
    Other,
}

impl Occupant {
    /// What became of `known`, if `now` is who runs there.
    pub fn judge(known: &Self, now: &Self) -> Verdict {
        let became_a_shell = now.is_shell() && !known.is_shell();
        if known.pid == now.pid {
            return if became_a_shell { Verdict::Shell } else { Verdict::Same };
        }
        let same_start = !known.started_with.is_empty() && known.started_with == now.started_with;
        if same_start && !became_a_shell { Verdict::Restarted } else { Verdict::Other }
    }

    /// Whether a shell waits for commands there, rather than running a script: it is in the
    /// foreground, and the pane was opened with nothing else.
    pub fn at_shell_prompt(&self) -> bool {
        let plain = self.started_with.replace(['"', '\''], " ");
        let mut words = plain.split_whitespace().skip_while(|word| *word == "exec");
        let program = words.next().map_or("sh", |path| path.rsplit('/').next().unwrap_or(path));
        let alone = words.all(|word| word.starts_with('-') && word != "-c");
        self.is_shell() && SHELLS.contains(&program) && alone
    }

    /// Whether a shell is in the foreground. A login shell's name begins with a dash.
    pub fn is_shell(&self) -> bool {
        SHELLS.contains(&self.command.strip_prefix('-').unwrap_or(&self.command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occupant((pid, started_with, command): (u32, &str, &str)) -> Occupant {
        Occupant { pid, started_with: started_with.into(), command: command.into() }
    }

    #[test]
    fn a_shell_that_waits_for_commands_is_told_from_one_that_runs_a_script() {
        for (started_with, command, waits) in [
            ("", "bash", true),
            ("", "-zsh", true),
            ("bash", "bash", true),
            ("/bin/bash", "bash", true),
            ("\"bash --norc\"", "bash", true),
            ("\"exec zsh -l\"", "zsh", true),
            ("", "node", false),
            ("bash", "gemini", false),
            ("\"bash work.sh\"", "bash", false),
            ("\"sh -c 'cat > x'\"", "sh", false),
            ("\"cat > x\"", "sh", false),
            ("gemini", "node", false),
        ] {
            let who = occupant((7, started_with, command));
            assert_eq!(who.at_shell_prompt(), waits, "{started_with} {command}");
        }
    }

    #[test]
    fn an_occupant_is_judged_by_process_command_and_start() {
        for (known, now, verdict) in [
            ((7, "gemini", "node"), (7, "gemini", "node"), Verdict::Same),
            // It runs an editor for a while.
            ((7, "gemini", "node"), (7, "gemini", "vim"), Verdict::Same),
            ((7, "", "node"), (7, "", "bash"), Verdict::Shell),
            ((7, "", "node"), (7, "", "-zsh"), Verdict::Shell),
            ((7, "", "node"), (7, "", "nu"), Verdict::Shell),
            ((7, "", "node"), (7, "", "bashful"), Verdict::Same),
            // A worker that is a shell script looks like a shell all the time.
            ((7, "./work.sh", "bash"), (7, "./work.sh", "bash"), Verdict::Same),
            ((7, "", "bash"), (7, "", "node"), Verdict::Same),
            ((7, "gemini", "node"), (8, "gemini", "node"), Verdict::Restarted),
            ((7, "\"a b\" c", "node"), (8, "\"a b\" c", "node"), Verdict::Restarted),
            ((7, "./work.sh", "bash"), (8, "./work.sh", "bash"), Verdict::Restarted),
            ((7, "gemini", "node"), (8, "gemini", "sh"), Verdict::Other),
            ((7, "gemini", "node"), (8, "codex", "node"), Verdict::Other),
            ((7, "gemini", "node"), (8, "", "node"), Verdict::Other),
            // Two plain shells say nothing about what was started from them.
            ((7, "", "node"), (8, "", "node"), Verdict::Other),
            ((7, "", "bash"), (8, "", "bash"), Verdict::Other),
        ] {
            let judged = Occupant::judge(&occupant(known), &occupant(now));
            assert_eq!(judged, verdict, "{known:?} → {now:?}");
        }
    }
}
