//! Waiting for a lead's mail, without polling, until there is some or the lead has ended.
//!
//! Owns that one process waits per lead. It goes on when the conversation is cleared, and knows the team
//! though the session has another id then.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use ringer_teams::{ClaudeDir, Team};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::handover::{Handover, take};
use super::session::{LOCK, file};
use super::{Session, inboxes, left_to_claude};
use crate::error::{Error, Result};
use crate::state::StateDir;

/// Between two looks, in case an event was missed.
const SWEEP: Duration = Duration::from_mins(1);

/// Where nothing can be watched.
const POLL: Duration = Duration::from_secs(1);

/// How a wait ended.
#[derive(Debug)]
pub enum Waited {
    /// There is mail.
    Mail(Handover),
    /// Another process waits for this lead already.
    Taken,
    /// The session leads no team.
    NoTeam,
    /// The lead has ended, or its team.
    Over,
}

enum Event {
    Changed,
    Over,
}

/// Waits for mail of the team that the session leads. `dir` is where waiters know of each other.
pub fn wait(session: &Session, claude: &ClaudeDir, state: &StateDir, dir: &Path) -> Result<Waited> {
    let Some(mut turn) = Turn::take(session, dir)? else {
        return Ok(Waited::Taken);
    };
    // Who makes a team later ends a turn with it, and is waited for from then on.
    let Some(mut team) = turn.team(session, claude)? else {
        return Ok(Waited::NoTeam);
    };
    // Kept, so that there is always somebody who could tell.
    let (tell, told) = sync_channel(64);
    if let Some(pid) = session.pid {
        watch_process(pid, tell.clone());
    }
    let mut eyes = Eyes::new(tell.clone());
    loop {
        eyes.look_at(&team);
        // Watched first and read then: nothing that comes in between is missed. A file that is broken or
        // locked now may be good in a moment, and nobody starts another waiter before the next prompt.
        let due = match take(state, &team, false) {
            Ok(Some(handover)) => return Ok(Waited::Mail(handover)),
            Ok(None) => next_due(&team),
            Err(error) => Err(error),
        };
        let patience = eyes.patience();
        let pause = due.map_or(POLL, |due| due.map_or(patience, |due| due.min(patience)));
        if let Some(Event::Over) = wait_for(&told, pause) {
            return Ok(Waited::Over);
        }
        // Members come and go, and with them who reads the mail.
        match turn.team(session, claude) {
            Ok(Some(now)) => team = now,
            Ok(None) => return Ok(Waited::Over),
            Err(_) => {}
        }
    }
}

/// The next event; of a burst of changes only one.
fn wait_for(told: &Receiver<Event>, pause: Duration) -> Option<Event> {
    let mut event = told.recv_timeout(pause).ok()?;
    while let Ok(next) = told.try_recv() {
        if matches!(next, Event::Over) {
            event = next;
        }
    }
    Some(event)
}

/// When the first entry that is left to Claude Code is ours to take.
fn next_due(team: &Team) -> Result<Option<Duration>> {
    let mut due = None;
    for mailbox in inboxes(team)? {
        for entry in mailbox.read()?.entries().filter(|entry| !entry.read) {
            let left = left_to_claude(team, entry, mailbox.path());
            if !left.is_zero() {
                due = Some(due.map_or(left, |due: Duration| due.min(left)));
            }
        }
    }
    Ok(due)
}

/// The right to wait for a lead, until this is dropped or the process ends.
struct Turn(File);

impl Turn {
    fn take(session: &Session, dir: &Path) -> Result<Option<Self>> {
        let path = match session.pid {
            Some(pid) => file(dir, LOCK, pid),
            None => dir.join(format!("{LOCK}{}", plain(&session.id))),
        };
        let path = path.with_extension("lock");
        let mut open = OpenOptions::new();
        open.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = open.open(&path).map_err(Error::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(Error::io("lock", &path)(e)),
        }
    }

    /// The session's team: found, or the one that a waiter of the same lead had found before the
    /// conversation was cleared.
    fn team(&mut self, session: &Session, claude: &ClaudeDir) -> Result<Option<Team>> {
        if let Some(team) = session.team(claude)? {
            let name = team.dir().file_name().unwrap_or_default().to_string_lossy().into_owned();
            // Only a help: if it cannot be written, so be it.
            self.0.set_len(0).and_then(|()| self.0.rewind()).ok();
            self.0.write_all(name.as_bytes()).ok();
            return Ok(Some(team));
        }
        let mut name = String::new();
        self.0.rewind().ok();
        self.0.read_to_string(&mut name).ok();
        if name.is_empty() || name.contains('/') {
            return Ok(None);
        }
        Ok(claude.team_in(&name)?)
    }
}

fn plain(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(64).collect()
}

/// Tells when a process ends.
fn watch_process(pid: u32, tell: SyncSender<Event>) {
    let opened = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let opened = opened.map(|pid| pidfd_open(pid, PidfdFlags::empty()));
    thread::spawn(move || {
        match opened {
            Some(Ok(process)) => {
                let mut fds = [PollFd::new(&process, PollFlags::IN)];
                while poll(&mut fds, None) == Err(rustix::io::Errno::INTR) {}
            }
            // No such process: it has ended. Anything else: it cannot be told.
            Some(Err(rustix::io::Errno::SRCH)) => {}
            _ => return,
        }
        tell.send(Event::Over).ok();
    });
}

/// What is watched.
struct Eyes {
    watcher: Option<RecommendedWatcher>,
    watched: Vec<PathBuf>,
    blind: bool,
}

impl Eyes {
    fn new(tell: SyncSender<Event>) -> Self {
        let heard = move |event: notify::Result<notify::Event>| {
            // Reading is no change, and we read.
            if !event.is_ok_and(|event| event.kind.is_access() && !is_close(&event)) {
                tell.try_send(Event::Changed).ok();
            }
        };
        Self { watcher: notify::recommended_watcher(heard).ok(), watched: Vec::new(), blind: false }
    }

    /// Sees to it that mail for the lead, and the end of the team, are noticed.
    fn look_at(&mut self, team: &Team) {
        let boxes = inboxes(team).unwrap_or_default();
        let dirs = boxes.iter().filter_map(|mailbox| mailbox.path().parent());
        let mut wanted: Vec<PathBuf> =
            dirs.map(Path::to_owned).chain([team.dir().to_owned()]).collect();
        wanted.retain(|dir| dir.is_dir());
        let Some(watcher) = &mut self.watcher else {
            self.blind = true;
            return;
        };
        self.blind = false;
        for old in self.watched.iter().filter(|old| !wanted.contains(old)) {
            watcher.unwatch(old).ok();
        }
        for dir in &wanted {
            // Again each time: another directory of the same name is another one.
            self.blind |= watcher.watch(dir, RecursiveMode::NonRecursive).is_err();
        }
        self.watched = wanted;
    }

    fn patience(&self) -> Duration {
        if self.blind { POLL } else { SWEEP }
    }
}

fn is_close(event: &notify::Event) -> bool {
    use notify::event::{AccessKind, AccessMode};
    matches!(event.kind, notify::EventKind::Access(AccessKind::Close(AccessMode::Write)))
}
