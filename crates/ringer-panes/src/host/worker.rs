//! A worker under a terminal of our own.
//!
//! Owns the PTY and everything that is known of it. All input goes through one lock, so a message is
//! never torn apart by keys, nor keys by a message; what somebody types is passed on unchanged.

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, WaitOptions};

use super::HostError;
use super::keys::{is_typing, leaves_something};
use super::protocol::{Answer, Frame};
use super::view::View;
use crate::occupant::Occupant;
use crate::pane::{Counts, Sight};
use crate::process::Process;

/// So many pieces of output may wait for a viewer; one that is slower is cut off.
const VIEWER_LAG: usize = 1024;

/// Whoever types to a worker that does not read has to wait; nobody waits behind them for longer.
const TURN: Duration = Duration::from_secs(1);

/// How to start a worker.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// What is added to our own environment.
    pub env: Vec<(String, String)>,
    /// Where it works.
    pub cwd: PathBuf,
}

pub(crate) struct Worker {
    pid: u32,
    command: Vec<String>,
    /// Whether there is a real terminal that answers the program's questions.
    has_terminal: bool,
    master: Mutex<Box<dyn MasterPty + Send>>,
    input: Mutex<Box<dyn Write + Send>>,
    keys: AtomicU64,
    /// Whether something was typed since the last Enter.
    unsent: AtomicBool,
    /// Whether somebody wanted it to end.
    stopped: AtomicBool,
    typed_at: Mutex<Option<Instant>>,
    term: Mutex<Term>,
    /// Something is new in `term`, or a key was pressed.
    news: Condvar,
}

struct Term {
    view: View,
    size: (u16, u16),
    output: u64,
    ended: bool,
    viewers: Vec<SyncSender<Frame>>,
}

impl Worker {
    /// Starts it; the other value is what it writes.
    pub(crate) fn start(
        command: &WorkerCommand,
        (rows, cols): (u16, u16),
        has_terminal: bool,
    ) -> Result<(Arc<Self>, Box<dyn Read + Send>), HostError> {
        let failed = |why: String| HostError::Start {
            program: command.words.first().cloned().unwrap_or_default(),
            why,
        };
        let pair = native_pty_system().openpty(size(rows, cols));
        let pair = pair.map_err(|e| failed(e.to_string()))?;
        let mut builder = CommandBuilder::from_argv(command.words.iter().map(Into::into).collect());
        builder.cwd(&command.cwd);
        for (name, value) in &command.env {
            builder.env(name, value);
        }
        let child = pair.slave.spawn_command(builder).map_err(|e| failed(e.to_string()))?;
        drop(pair.slave);
        let reader = pair.master.try_clone_reader().map_err(|e| failed(e.to_string()))?;
        let writer = pair.master.take_writer().map_err(|e| failed(e.to_string()))?;
        let worker = Self {
            pid: child.process_id().unwrap_or_default(),
            command: command.words.clone(),
            has_terminal,
            master: Mutex::new(pair.master),
            input: Mutex::new(writer),
            keys: AtomicU64::new(0),
            unsent: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            typed_at: Mutex::new(None),
            term: Mutex::new(Term {
                view: View::new(rows, cols),
                size: (rows, cols),
                output: 0,
                ended: false,
                viewers: Vec::new(),
            }),
            news: Condvar::new(),
        };
        Ok((Arc::new(worker), reader))
    }

    /// Who it is.
    pub(crate) fn occupant(&self) -> Occupant {
        let program = self.command.first().map_or("", String::as_str);
        Occupant {
            pid: self.pid,
            started_with: self.command.join(" "),
            command: program.rsplit('/').next().unwrap_or(program).to_owned(),
            foreground: Process::in_foreground_of(self.pid),
            server: std::process::id(),
        }
    }

    /// What there is to see.
    pub(crate) fn sight(&self) -> Sight {
        // The keys first: one that is pressed meanwhile is then known not to have been seen.
        let keys = self.keys.load(Ordering::Acquire);
        let quiet = lock(&self.typed_at).map(|at| at.elapsed());
        let mut occupant = self.occupant();
        let mut term = lock(&self.term);
        if let Some(foreground) = &occupant.foreground {
            let name = foreground.program.rsplit('/').next().unwrap_or_default();
            name.clone_into(&mut occupant.command);
        }
        Sight {
            occupant,
            screen: term.view.text(),
            title: term.view.title().to_owned(),
            blocked: None,
            takes_paste: Some(term.view.bracketed_paste()),
            unsent: Some(self.unsent.load(Ordering::Acquire)),
            quiet: Some(quiet.unwrap_or(Duration::MAX / 4)),
            counts: Some(Counts { keys, output: term.output }),
        }
    }

    /// Waits until something differs from these counts, but no longer than `limit`.
    pub(crate) fn wait(&self, seen: Counts, limit: Duration) {
        let term = lock(&self.term);
        let same = |term: &mut Term| {
            term.output == seen.output
                && self.keys.load(Ordering::Acquire) == seen.keys
                && !term.ended
        };
        drop(self.news.wait_timeout_while(term, limit, same));
    }

    /// What came from the user's terminal goes to the worker as it is.
    pub(crate) fn type_in(&self, bytes: &[u8]) -> io::Result<()> {
        let mut input = lock(&self.input);
        if is_typing(bytes) {
            // The time first: who sees that a key was pressed sees that it was just now.
            *lock(&self.typed_at) = Some(Instant::now());
            self.unsent.store(leaves_something(bytes), Ordering::Release);
            self.keys.fetch_add(1, Ordering::AcqRel);
            drop(lock(&self.term));
            self.news.notify_all();
        }
        input.write_all(bytes)?;
        input.flush()
    }

    /// Types a text, between brackets if the program asked for them, unless somebody typed since
    /// `keys` were counted, or another program has the terminal.
    pub(crate) fn paste(
        &self,
        text: &str,
        bracketed: bool,
        pid: u32,
        keys: u64,
    ) -> io::Result<Answer> {
        if lock(&self.term).view.bracketed_paste() != bracketed {
            return Ok(Answer::Changed);
        }
        let bytes = if bracketed { format!("\x1b[200~{text}\x1b[201~") } else { text.to_owned() };
        self.put(bytes.as_bytes(), pid, keys)
    }

    /// Presses Enter, under the same conditions.
    pub(crate) fn enter(&self, pid: u32, keys: u64) -> io::Result<Answer> {
        self.put(b"\r", pid, keys)
    }

    fn put(&self, bytes: &[u8], pid: u32, keys: u64) -> io::Result<Answer> {
        let deadline = Instant::now() + TURN;
        let mut input = loop {
            match self.input.try_lock() {
                Ok(input) => break input,
                Err(TryLockError::Poisoned(input)) => break input.into_inner(),
                // Somebody types to a worker that does not read.
                Err(TryLockError::WouldBlock) if Instant::now() > deadline => {
                    return Ok(Answer::Busy);
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        if self.keys.load(Ordering::Acquire) != keys {
            return Ok(Answer::Typed);
        }
        if lock(&self.term).ended {
            return Ok(Answer::Ended);
        }
        if Process::group_in_foreground_of(self.pid) != Some(pid) {
            return Ok(Answer::Changed);
        }
        input.write_all(bytes)?;
        input.flush()?;
        Ok(Answer::Done)
    }

    /// Takes what the worker wrote, and passes it on to whoever watches.
    pub(crate) fn take_output(self: &Arc<Self>, bytes: &[u8]) {
        let mut term = lock(&self.term);
        // A mistake in the emulation is not to cost the user the worker: what is seen starts anew.
        let view = &mut term.view;
        if catch_unwind(AssertUnwindSafe(|| view.process(bytes))).is_err() {
            let (rows, cols) = term.size;
            term.view = View::new(rows, cols);
        }
        term.output += 1;
        let answers = term.view.take_answers();
        tell(&mut term.viewers, &Frame::Bytes(bytes.to_vec()));
        drop(term);
        self.news.notify_all();
        if !self.has_terminal && !answers.is_empty() {
            // Not here: somebody may be typing to a worker that reads no more until its output is read.
            let worker = self.clone();
            std::thread::spawn(move || {
                let mut input = lock(&worker.input);
                input.write_all(&answers).and_then(|()| input.flush()).ok();
            });
        }
    }

    pub(crate) fn resize(&self, rows: u16, cols: u16) {
        lock(&self.master).resize(size(rows, cols)).ok();
        let mut term = lock(&self.term);
        term.view.resize(rows, cols);
        term.size = (rows, cols);
        term.output += 1;
        tell(&mut term.viewers, &Frame::Size { rows, cols });
    }

    /// Attaches a viewer: the screen as it is, then all that comes. Where there is no real terminal,
    /// the worker gets the size of the viewer's.
    pub(crate) fn attach(&self, rows: u16, cols: u16) -> std::sync::mpsc::Receiver<Frame> {
        if !self.has_terminal {
            self.resize(rows, cols);
        }
        let (send, receive) = sync_channel(VIEWER_LAG);
        let mut term = lock(&self.term);
        let (rows, cols) = term.view.size();
        let all = term.view.screen().state_formatted().into_bytes();
        let alternate = term.view.screen().alternate_screen();
        let enter: &[u8] = if alternate { b"\x1b[?1049h" } else { b"" };
        send.try_send(Frame::Size { rows, cols }).ok();
        send.try_send(Frame::Bytes([enter, &all].concat())).ok();
        if term.ended {
            send.try_send(Frame::End).ok();
        }
        term.viewers.push(send);
        receive
    }

    /// What makes a terminal forget what the worker turned on.
    pub(crate) fn undo_modes(&self) -> String {
        lock(&self.term).view.undo_modes()
    }

    /// Waits for the worker's end; its exit code, as shells give it.
    pub(crate) fn wait_for_end(&self) -> u8 {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let status = loop {
            match rustix::process::waitpid(pid, WaitOptions::empty()) {
                Ok(Some((_, status))) => break Some(status),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break None,
            }
        };
        let code =
            status.and_then(|status| match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => u8::try_from(code).ok(),
                (None, Some(signal)) => u8::try_from(128 + signal).ok(),
                (None, None) => None,
            });
        code.unwrap_or(1)
    }

    /// Somebody wants it to end.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    pub(crate) fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Nothing more comes.
    pub(crate) fn end(&self) {
        let mut term = lock(&self.term);
        term.ended = true;
        tell(&mut term.viewers, &Frame::End);
        drop(term);
        self.news.notify_all();
    }

    /// The processes of its session: it, and all that it started and that did not leave.
    pub(crate) fn session(&self) -> Vec<u32> {
        Process::in_session_of(self.pid)
    }

    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.term).ended
    }

    /// A viewer's terminal has another size; a real one comes first.
    pub(crate) fn resize_for_viewer(&self, rows: u16, cols: u16) {
        if !self.has_terminal {
            self.resize(rows, cols);
        }
    }
}

/// Those who do not keep up are let go.
fn tell(viewers: &mut Vec<SyncSender<Frame>>, frame: &Frame) {
    viewers.retain(|viewer| match viewer.try_send(frame.clone()) {
        Ok(()) => true,
        Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
    });
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is done under these locks leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
