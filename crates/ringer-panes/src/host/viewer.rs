//! `ringer attach`: a hosted worker in this terminal.
//!
//! Owns the terminal meanwhile. What the worker wrote is drawn from a screen of our own, so that it
//! never reaches the last row, where the status line is, and a terminal that is too small shows as much
//! as it can. Keys go to the worker as they are, but for the one that detaches.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use unicode_width::UnicodeWidthChar;

use super::HostError;
use super::protocol::{Frame, Request};
use super::terminal::Terminal;
use super::view::View;

/// Ctrl-\, as with other programs that let one detach.
const DETACH: u8 = 0x1c;

/// How a view ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The user detached; the worker goes on.
    Detached,
    /// The worker has ended.
    Ended,
    /// The host cut us off: it is gone, or this terminal was too slow.
    Lost,
}

/// A terminal that shows a worker.
pub struct Viewer {
    terminal: Arc<Terminal>,
    stream: UnixStream,
    status: String,
    view: View,
    shown: Option<vt100::Screen>,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.terminal.restore(&format!("{}\x1b[?1049l\x1b[?25h", self.view.undo_modes()));
    }
}

/// So much may happen before it is drawn.
const AT_A_TIME: usize = 64;

enum Event {
    Heard(Frame),
    Typed(Vec<u8>),
    Resized,
    Leave(Outcome),
}

impl Viewer {
    /// Attaches to the host that listens there; `status` is what the last row says.
    pub fn attach(socket: &Path, status: &str) -> Result<Self, HostError> {
        let gone = |source| HostError::Gone { path: socket.to_owned(), source };
        let terminal = Terminal::of_this_process().map_err(HostError::Terminal)?;
        let terminal = terminal.ok_or(HostError::NoTerminal)?;
        let mut stream = UnixStream::connect(socket).map_err(gone)?;
        let (rows, cols) = worker_size(&terminal);
        let mut line = serde_json::to_vec(&Request::Attach { rows, cols })
            .expect("plain data always serialises");
        line.push(b'\n');
        stream.write_all(&line).map_err(gone)?;
        Ok(Self {
            terminal: Arc::new(terminal),
            stream,
            status: status.to_owned(),
            view: View::new(rows, cols),
            shown: None,
        })
    }

    /// Shows the worker until the user detaches or it ends. The terminal is then as it was.
    pub fn run(mut self) -> Result<Outcome, HostError> {
        let (send, events) = sync_channel(AT_A_TIME);
        self.terminal.make_raw().map_err(HostError::Terminal)?;
        self.terminal.write(b"\x1b[?1049h\x1b[2J").map_err(HostError::Terminal)?;
        let mut stream = self.stream.try_clone().map_err(HostError::Terminal)?;
        let heard = send.clone();
        thread::spawn(move || {
            while let Ok(frame) = Frame::read(&mut stream) {
                heard.send(Event::Heard(frame)).ok();
            }
            heard.send(Event::Leave(Outcome::Lost)).ok();
        });
        let (terminal, typed) = (self.terminal.clone(), send.clone());
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = terminal.read(&mut bytes) {
                typed.send(Event::Typed(bytes[..count].to_vec())).ok();
            }
            typed.send(Event::Leave(Outcome::Detached)).ok();
        });
        let signals = Signals::new([SIGWINCH, SIGTERM, SIGHUP, SIGINT]);
        let mut signals = signals.map_err(HostError::Terminal)?;
        thread::spawn(move || {
            for signal in &mut signals {
                let leave = Event::Leave(Outcome::Detached);
                send.send(if signal == SIGWINCH { Event::Resized } else { leave }).ok();
            }
        });
        let outcome = loop {
            match events.recv() {
                Ok(event) => {
                    if let Some(outcome) = self.happened(event) {
                        break outcome;
                    }
                    // What came meanwhile is drawn at once.
                    let more =
                        events.try_iter().take(AT_A_TIME).find_map(|event| self.happened(event));
                    if let Some(outcome) = more {
                        break outcome;
                    }
                    self.draw().map_err(HostError::Terminal)?;
                }
                Err(_) => break Outcome::Lost,
            }
        };
        Ok(outcome)
    }

    fn happened(&mut self, event: Event) -> Option<Outcome> {
        match event {
            Event::Heard(Frame::Bytes(bytes)) => self.view.process(&bytes),
            Event::Heard(Frame::Size { rows, cols }) => {
                self.view.resize(rows, cols);
                self.shown = None;
            }
            Event::Heard(Frame::End) => return Some(Outcome::Ended),
            Event::Typed(bytes) => {
                let end = bytes.iter().position(|byte| *byte == DETACH);
                let keys = bytes[..end.unwrap_or(bytes.len())].to_vec();
                if !keys.is_empty() && Frame::Bytes(keys).write(&mut self.stream).is_err() {
                    return Some(Outcome::Lost);
                }
                return end.map(|_| Outcome::Detached);
            }
            Event::Resized => {
                let (rows, cols) = worker_size(&self.terminal);
                self.shown = None;
                if (Frame::Size { rows, cols }).write(&mut self.stream).is_err() {
                    return Some(Outcome::Lost);
                }
            }
            Event::Leave(outcome) => return Some(outcome),
        }
        None
    }

    /// Brings the terminal up to date.
    fn draw(&mut self) -> io::Result<()> {
        let screen = self.view.screen();
        let (height, width) = self.terminal.size();
        let mut out = String::from("\x1b[?25l");
        let rows = usize::from(height.saturating_sub(1));
        let move_to = |row: usize| format!("\x1b[{};1H\x1b[m", row + 1);
        match &self.shown {
            None => {
                out.push_str("\x1b[m\x1b[2J");
                for (at, row) in screen.rows_formatted(0, width).take(rows).enumerate() {
                    out.push_str(&move_to(at));
                    out.push_str(&row);
                }
                out.push_str(&screen.input_mode_formatted());
                out.push_str(&move_to(rows));
                out.push_str(&status_line(&self.status, width));
            }
            Some(shown) => {
                let changes = screen.rows_diff(shown, 0, width).take(rows).enumerate();
                for (at, row) in changes.filter(|(_, row)| !row.is_empty()) {
                    out.push_str(&move_to(at));
                    out.push_str(&row);
                }
                out.push_str(&screen.input_mode_diff(shown));
            }
        }
        let (row, column) = screen.cursor_position();
        write!(out, "\x1b[m\x1b[{};{}H", row + 1, column + 1).map_err(io::Error::other)?;
        if !screen.hide_cursor() && usize::from(row) < rows {
            out.push_str("\x1b[?25h");
        }
        self.shown = Some(screen.clone());
        self.terminal.write(out.as_bytes())
    }
}

/// All but the last row.
fn worker_size(terminal: &Terminal) -> (u16, u16) {
    let (rows, cols) = terminal.size();
    (rows.saturating_sub(1).max(1), cols)
}

/// What the last row says, in the terminal's colours turned round.
fn status_line(status: &str, width: u16) -> String {
    let text = format!(" {status} · detach: Ctrl-\\ ");
    let mut line = String::from("\x1b[7m");
    let mut used = 0;
    for c in text.chars().filter(|c| !c.is_control()) {
        used += c.width().unwrap_or(0);
        if used > usize::from(width) {
            break;
        }
        line.push(c);
    }
    line.push_str("\x1b[K\x1b[m");
    line
}
