//! The program in the foreground of a terminal, as the system knows it.
//!
//! Owns reading `/proc`. What cannot be read is unknown, never guessed.

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::termios::{LocalModes, tcgetattr};
use serde::{Deserialize, Serialize};

/// Shells: what is typed into one is run.
pub(crate) const SHELLS: [&str; 17] = [
    "sh", "bash", "zsh", "fish", "dash", "ksh", "mksh", "yash", "ash", "busybox", "nu", "elvish",
    "xonsh", "tcsh", "csh", "pwsh", "rbash",
];

/// The longest line, in bytes and with its end, that a terminal hands on to a program that reads lines.
pub const LONGEST_LINE: usize = 4095;

/// Looking at a terminal does not make it ours.
const NOCTTY: i32 = rustix::fs::OFlags::NOCTTY.bits().cast_signed();

/// Options of shells that take a word.
const WITH_A_WORD: [&str; 6] = ["--rcfile", "--init-file", "-o", "+o", "-O", "+O"];

/// All processes there are.
fn running() -> impl Iterator<Item = u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// One run of one program: a process that becomes another program is another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    /// The process.
    pub pid: u32,
    /// When it was started, in ticks of the system's clock: numbers are used again.
    pub started: u64,
    /// The file that it runs; empty if we may not know.
    pub program: String,
    /// What it was called with; some programs write what they like there later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

impl Process {
    /// The leader of the process group that the terminal of `pid` listens to.
    pub fn in_foreground_of(pid: u32) -> Option<Self> {
        let group = Self::group_in_foreground_of(pid)?;
        let program = fs::read_link(format!("/proc/{group}/exe"));
        let program = program.map(|path| path.display().to_string()).unwrap_or_default();
        let words = fs::read(format!("/proc/{group}/cmdline")).unwrap_or_default();
        // Enough to know it by, whatever a program makes of it.
        let words = String::from_utf8_lossy(&words[..words.len().min(1024)]).into_owned();
        Some(Self {
            pid: group,
            started: stat(group, 19)?.parse().ok()?,
            program,
            words: words.split_terminator('\0').map(str::to_owned).collect(),
        })
    }

    /// The process that wanted this one to be started: its parent, or who is behind the shell in between.
    pub fn caller() -> Option<u32> {
        let parent: u32 = stat(std::process::id(), 1)?.parse().ok()?;
        let program = fs::read_link(format!("/proc/{parent}/exe")).unwrap_or_default();
        if is_shell(&program.display().to_string()) {
            return stat(parent, 1)?.parse().ok().filter(|pid| *pid > 1);
        }
        Some(parent).filter(|pid| *pid > 1)
    }

    /// The processes above this one, nearest first.
    pub fn ancestors() -> Vec<u32> {
        let parent = |pid: &u32| stat(*pid, 1)?.parse().ok().filter(|parent| *parent > 1);
        std::iter::successors(Some(std::process::id()), parent).skip(1).take(64).collect()
    }

    /// What the system calls a process: the beginning of its program's name.
    pub fn name_of(pid: u32) -> Option<String> {
        Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned())
    }

    /// How long ago it was started.
    pub fn age(&self) -> Option<Duration> {
        let uptime = fs::read_to_string("/proc/uptime").ok()?;
        let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
        let ticks = rustix::param::clock_ticks_per_second();
        let started = Duration::from_millis(self.started * 1000 / ticks.max(1));
        Some(Duration::from_secs_f64(uptime).saturating_sub(started))
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        let started = stat(self.pid, 19).and_then(|started| started.parse::<u64>().ok());
        started == Some(self.started) && stat(self.pid, 0).is_some_and(|state| state != "Z")
    }

    /// Asks it and its process group to quit, and makes them after that time. Nothing if it has ended.
    pub fn end_group(&self, patience: Duration) {
        let Some(group) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return };
        if !self.is_running() {
            return;
        }
        for signal in [Signal::TERM, Signal::HUP, Signal::CONT] {
            kill_process_group(group, signal).ok();
        }
        let deadline = Instant::now() + patience;
        while self.is_running() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        // Whoever of the group is left.
        kill_process_group(group, Signal::KILL).ok();
    }

    /// The process group that the terminal of `pid` listens to.
    pub(crate) fn group_in_foreground_of(pid: u32) -> Option<u32> {
        stat(pid, 5)?.parse().ok()
    }

    /// Whether the terminal that `pid` has as its input hands on whole lines, and of a line no more than
    /// [`LONGEST_LINE`] bytes: the system drops the rest.
    pub fn reads_lines(pid: u32) -> bool {
        let Ok(terminal) = fs::read_link(format!("/proc/{pid}/fd/0")) else { return false };
        let open = fs::OpenOptions::new().read(true).custom_flags(NOCTTY).open(terminal);
        let mode = open.ok().and_then(|terminal| tcgetattr(terminal).ok());
        mode.is_some_and(|mode| mode.local_modes.contains(LocalModes::ICANON))
    }

    /// All processes of the session that `pid` leads and that have not ended.
    pub(crate) fn in_session_of(pid: u32) -> Vec<u32> {
        let is_in = |one: &u32| {
            let (state, session) = (stat(*one, 0), stat(*one, 3));
            session.is_some_and(|s| s == pid.to_string()) && state.is_some_and(|s| s != "Z")
        };
        running().filter(is_in).collect()
    }

    /// All processes that have this in their environment and have not ended; only those of the session that `leader`
    /// leads or led, if that is known.
    pub fn marked(mark: &str, leader: Option<u32>) -> Vec<u32> {
        let is_marked = |pid: &u32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes())
        };
        let own = std::process::id();
        match leader {
            Some(leader) => Self::in_session_of(leader).into_iter().filter(is_marked).collect(),
            None => running().filter(|pid| *pid != own).filter(is_marked).collect(),
        }
    }

    /// Ends everybody that `find` finds: first they are asked, after that time they are made to.
    pub fn end_all(find: impl Fn() -> Vec<u32>, patience: Duration) {
        let tell = |signal| {
            for pid in find() {
                if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                    kill_process(pid, signal).ok();
                }
            }
        };
        if find().is_empty() {
            return;
        }
        let deadline = Instant::now() + patience;
        // Interactive shells do not mind the first one.
        for signal in [Signal::TERM, Signal::HUP, Signal::CONT] {
            tell(signal);
        }
        while !find().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        tell(Signal::KILL);
    }

    /// Whether it is the same run of the same program, as far as that is known of both. Of a shell,
    /// what it was called with tells a script from a prompt that took its place.
    pub fn is(&self, other: &Self) -> bool {
        self.pid == other.pid
            && self.started == other.started
            && self.runs_the_same_as(other)
            && (!self.is_shell() || self.words == other.words)
    }

    /// Whether it is another run of the same program, as far as that is known of both.
    pub fn runs_the_same_as(&self, other: &Self) -> bool {
        self.program == other.program || self.program.is_empty() || other.program.is_empty()
    }

    /// Whether it is another run of the same command line.
    pub fn is_the_same_command_as(&self, other: &Self) -> bool {
        !self.program.is_empty()
            && self.program == other.program
            && !self.words.is_empty()
            && self.words == other.words
    }

    /// Whether it is a shell.
    pub fn is_shell(&self) -> bool {
        is_shell(self.program.trim_end_matches(" (deleted)"))
    }

    /// Whether it is a shell that waits for commands, rather than one that runs a script.
    pub fn is_at_prompt(&self) -> bool {
        let mut words = self.words.iter().skip(1);
        let mut plain = true;
        while let Some(word) = words.next() {
            if WITH_A_WORD.contains(&word.as_str()) {
                words.next();
            } else {
                plain &= word.starts_with(['-', '+']);
            }
        }
        self.is_shell() && plain
    }
}

/// Whether a program, by path or name, is a shell. A login shell's name begins with a dash.
pub(crate) fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    SHELLS.contains(&name.strip_prefix('-').unwrap_or(name))
}

/// A field of `/proc/PID/stat`, counted from behind the name, which may contain anything.
fn stat(pid: u32, field: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(field).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(program: &str, words: &[&str]) -> Process {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Process { pid: 7, started: 1, program: program.into(), words }
    }

    #[test]
    fn a_shell_that_waits_for_commands_is_told_from_one_that_runs_a_script() {
        for (program, words, waits) in [
            ("/usr/bin/bash", &["-bash"] as &[&str], true),
            ("/usr/bin/bash", &["bash", "--norc"], true),
            ("/usr/bin/bash", &["bash", "--rcfile", "x"], true),
            ("/usr/bin/zsh", &["zsh", "-l", "-o", "vi"], true),
            ("/usr/bin/pwsh", &["pwsh"], true),
            ("/usr/bin/bash (deleted)", &["bash"], true),
            ("/usr/bin/bash", &["bash", "work.sh"], false),
            ("/usr/bin/dash", &["sh", "-c", "worker; exec bash"], false),
            ("/usr/bin/node", &[], false),
            ("", &[], false),
        ] {
            assert_eq!(process(program, words).is_at_prompt(), waits, "{program} {words:?}");
        }
    }
}
