//! The host: a worker under a terminal of our own, in whatever terminal it was started in.
//!
//! Owns one worker from its start to its end. What the worker writes goes to the user's terminal byte
//! for byte, and what the user types goes to the worker likewise; in between, the screen is kept, so
//! that it is known whether the worker takes a message. It is a process of its own: workers go on when
//! the daemon ends. It never decides what is typed; whoever is connected does.
//!
//! [`worker`] has the PTY, [`view`] the screen, [`serve`] the socket; [`pane`], [`client`] and
//! [`viewer`] are for those on the other side.

mod client;
mod keys;
mod pane;
mod protocol;
mod serve;
mod terminal;
mod view;
mod viewer;
mod worker;

use std::io::{self, Read};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;

pub use self::client::HostClient;
pub use self::pane::HostPane;
pub use self::viewer::{Outcome, Viewer};
pub use self::worker::WorkerCommand;

use self::terminal::Terminal;
use self::worker::Worker;
use crate::occupant::Occupant;
use crate::process::Process;

/// The size of a terminal that nobody looks at.
const UNSEEN: (u16, u16) = (40, 120);

/// A worker that was asked to end has this long before it is made to.
const FAREWELL: Duration = Duration::from_secs(3);

/// What a worker wrote before it ended may take so long to be read: something that it started may
/// still have the terminal.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Why a worker ends whose terminal was closed.
const NO_TERMINAL: &str = "its terminal was closed";

/// Why a worker cannot be hosted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The program does not start.
    #[error("could not start `{program}`: {why}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        why: String,
    },
    /// The socket cannot be listened on.
    #[error("could not listen on `{}`", path.display())]
    Listen {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The user's terminal cannot be used.
    #[error("could not use this terminal")]
    Terminal(#[source] io::Error),
    /// There is no terminal to show it in.
    #[error("this is not a terminal")]
    NoTerminal,
    /// The host does not answer.
    #[error("the worker's host does not answer on `{}`", path.display())]
    Gone {
        /// Its socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A worker that was started.
pub struct Host {
    worker: Arc<Worker>,
    output: Option<Box<dyn Read + Send>>,
    terminal: Option<Arc<Terminal>>,
    socket: PathBuf,
    /// From the start on: until it runs, a signal waits.
    signals: Option<Signals>,
    /// What happens to it, once it is shown.
    events: Option<Receiver<Event>>,
}

/// All that wakes a host.
enum Event {
    /// The worker ended, with this code.
    Ended(u8),
    /// All that it wrote was read.
    Read,
    /// The user resized the terminal.
    Resized,
    /// It is to end, for this reason.
    Stop(&'static str),
}

/// How a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Its exit code, as shells give it.
    pub code: u8,
    /// In words.
    pub why: String,
}

impl Host {
    /// Starts a worker, and listens for those who want something of it. In the terminal that we were
    /// started in, unless `detached`, or there is none.
    pub fn start(
        command: &WorkerCommand,
        socket: &Path,
        detached: bool,
    ) -> Result<Self, HostError> {
        let terminal = if detached {
            None
        } else {
            Terminal::of_this_process().map_err(HostError::Terminal)?
        };
        let signals = Signals::new([SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT]);
        let signals = Some(signals.map_err(HostError::Terminal)?);
        let size = terminal.as_ref().map_or(UNSEEN, Terminal::size);
        let listener = serve::listen(socket)
            .map_err(|source| HostError::Listen { path: socket.to_owned(), source })?;
        let (worker, output) = Worker::start(command, size, terminal.is_some())
            .inspect_err(|_| drop(std::fs::remove_file(socket)))?;
        let host = Self {
            worker,
            output: Some(output),
            terminal: terminal.map(Arc::new),
            socket: socket.to_owned(),
            signals,
            events: None,
        };
        host.serve(listener);
        Ok(host)
    }

    /// Who runs there.
    pub fn occupant(&self) -> Occupant {
        self.worker.occupant()
    }

    /// Shows it to the user, if there is one, and to whoever looks: from here on, what it writes is read.
    pub fn show(&mut self) -> Result<(), HostError> {
        if self.events.is_none() {
            // First of all: the terminal answers what the worker asks as soon as it is passed on.
            if let Some(terminal) = &self.terminal {
                terminal.make_raw().map_err(HostError::Terminal)?;
            }
            self.events = Some(self.hear());
        }
        Ok(())
    }

    /// Lets the user have it until it ends, or until somebody wants it to; how it ended. The terminal
    /// is then as it was.
    pub fn run(mut self) -> Result<Ending, HostError> {
        self.show()?;
        let events = self.events.take().expect("it is shown");
        let mut told = None;
        let code = loop {
            match events.recv() {
                Ok(Event::Ended(code)) => break code,
                Ok(Event::Resized) => self.fit(),
                Err(_) => break 1,
                Ok(Event::Stop(why)) => {
                    told.get_or_insert(why);
                    let worker = self.worker.clone();
                    thread::spawn(move || end(&worker));
                }
                Ok(Event::Read) => {}
            }
        };
        let deadline = Instant::now() + LAST_WORDS;
        loop {
            match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Event::Read)
                | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                Ok(_) => {}
            }
        }
        self.worker.end();
        self.restore();
        let why = match told {
            _ if self.worker.was_stopped() => "it was stopped".to_owned(),
            Some(why) => why.to_owned(),
            None if code > 128 => format!("it was ended by signal {}", code - 128),
            None => format!("it ended with status {code}"),
        };
        Ok(Ending { code, why })
    }

    /// Starts the threads that pass things on and tell of what happens.
    fn hear(&mut self) -> Receiver<Event> {
        let (send, events) = channel();
        if let Some(mut output) = self.output.take() {
            let (worker, terminal, send) =
                (self.worker.clone(), self.terminal.clone(), send.clone());
            thread::spawn(move || {
                pump(&mut output, &worker, terminal.as_deref());
                send.send(Event::Read).ok();
            });
        }
        if let Some(terminal) = self.terminal.clone() {
            let (worker, send) = (self.worker.clone(), send.clone());
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                loop {
                    match terminal.read(&mut bytes) {
                        Ok(count @ 1..) => drop(worker.type_in(&bytes[..count])),
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        // The terminal is gone.
                        Ok(0) | Err(_) => return drop(send.send(Event::Stop(NO_TERMINAL))),
                    }
                }
            });
        }
        let (worker, ended) = (self.worker.clone(), send.clone());
        thread::spawn(move || ended.send(Event::Ended(worker.wait_for_end())).ok());
        let (worker, terminal) = (self.worker.clone(), self.terminal.clone());
        let Some(mut signals) = self.signals.take() else { return events };
        thread::spawn(move || {
            for signal in &mut signals {
                let event = match signal {
                    SIGWINCH => Event::Resized,
                    SIGTSTP => {
                        suspend(&worker, terminal.as_deref());
                        continue;
                    }
                    SIGCONT => {
                        if let Some(terminal) = &terminal {
                            terminal.make_raw().ok();
                        }
                        Event::Resized
                    }
                    SIGHUP => Event::Stop(NO_TERMINAL),
                    _ => Event::Stop("its host was told to end"),
                };
                if send.send(event).is_err() {
                    return;
                }
            }
        });
        events
    }

    fn serve(&self, listener: UnixListener) {
        let worker = self.worker.clone();
        thread::spawn(move || serve::serve(&listener, &worker));
    }

    /// The worker's terminal gets the size of the user's.
    fn fit(&self) {
        if let Some(terminal) = &self.terminal {
            let (rows, cols) = terminal.size();
            self.worker.resize(rows, cols);
        }
    }

    fn restore(&self) {
        if let Some(terminal) = &self.terminal {
            terminal.restore(&self.worker.undo_modes());
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        end(&self.worker);
        self.restore();
        std::fs::remove_file(&self.socket).ok();
    }
}

/// Passes on what the worker writes until there is no more.
fn pump(output: &mut dyn Read, worker: &Arc<Worker>, terminal: Option<&Terminal>) {
    let mut bytes = vec![0; 64 << 10];
    loop {
        match output.read(&mut bytes) {
            Ok(count @ 1..) => {
                worker.take_output(&bytes[..count]);
                if let Some(terminal) = terminal {
                    // If it is gone, so are the keys, and they end it.
                    terminal.write(&bytes[..count]).ok();
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // An error is how a PTY says that nobody has it open any more.
            Ok(0) | Err(_) => return,
        }
    }
}

/// Stops, as the user or the system wants, with the terminal as it was; it is raw again on SIGCONT.
fn suspend(worker: &Worker, terminal: Option<&Terminal>) {
    if let Some(terminal) = terminal {
        terminal.restore(&worker.undo_modes());
    }
    signal_hook::low_level::emulate_default_handler(SIGTSTP).ok();
}

/// Ends a worker and everything that it started: first they are asked, then they are made to.
pub(super) fn end(worker: &Worker) {
    Process::end_all(|| worker.session(), FAREWELL);
}
