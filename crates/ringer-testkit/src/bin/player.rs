//! A small terminal agent: `player FILE [--seed N] [--calm]`.
//!
//! Plays what agents do on a screen: a prompt with a placeholder and a draft in it, between two rules at
//! the bottom; a dialog that Enter approves; work that takes a while. How long everything takes is
//! random, from a seed. It appends a line of JSON to FILE for every text that was submitted and for every
//! dialog that was approved, and every key that was no paste to FILE.keys.
//!
//! Ctrl-O opens a dialog, Esc closes it, Ctrl-U empties the prompt, Ctrl-B makes it busy for a while.
//! `--calm` leaves out the dialogs that open by themselves.

use std::env;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ringer_testkit::Played;
use rustix::termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr};
use unicode_width::UnicodeWidthChar;

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// So many rows of a draft are shown.
const TALLEST: usize = 8;
/// A paste of more lines or characters is shown as a mark.
const LINES: usize = 10;
const CHARS: usize = 1000;
/// An Enter that follows a paste sooner is a line break.
const TOO_SOON: Duration = Duration::from_millis(40);

fn main() -> Result<()> {
    let (mut path, mut seed, mut calm) = (None, 1, false);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seed" => seed = arguments.next().context("--seed N")?.parse()?,
            "--calm" => calm = true,
            option if option.starts_with("--") => bail!("unknown option {option}"),
            file => path = Some(file.to_owned()),
        }
    }
    let path = path.context("usage: player FILE [--seed N] [--calm]")?;
    let open = |path: &str| OpenOptions::new().create(true).append(true).open(path);
    let mut player = Player {
        file: open(&path)?,
        keys: open(&format!("{path}.keys"))?,
        random: seed,
        calm,
        pieces: Vec::new(),
        history: Vec::new(),
        mode: Mode::Idle,
        pasted_at: None,
        pasting: None,
        held: Vec::new(),
        drawn: Instant::now(),
        asked: None,
        size: (0, 0),
    };
    let mut terminal = tcgetattr(io::stdin())?;
    terminal.make_raw();
    tcsetattr(io::stdin(), OptionalActions::Now, &terminal)?;
    io::stdout().write_all(b"\x1b[?1049h\x1b[?2004h")?;
    player.draw()?;
    let (reader, keys) = channel();
    thread::spawn(move || {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(count @ 1..) = io::stdin().lock().read(&mut bytes) {
            reader.send(bytes[..count].to_vec()).ok();
        }
    });
    loop {
        match keys.recv_timeout(Duration::from_millis(10)) {
            Ok(bytes) => {
                if player.take(&bytes)? {
                    // Programs take their time to show a text.
                    thread::sleep(Duration::from_millis(player.random(30)));
                }
                player.draw()?;
            }
            Err(RecvTimeoutError::Timeout) => player.tick()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

struct Player {
    file: File,
    keys: File,
    random: u64,
    calm: bool,
    pieces: Vec<Piece>,
    history: Vec<String>,
    mode: Mode,
    pasted_at: Option<Instant>,
    pasting: Option<Vec<u8>>,
    held: Vec<u8>,
    drawn: Instant,
    /// When the dialog that is open was drawn first.
    asked: Option<Instant>,
    /// Rows and columns.
    size: (usize, usize),
}

/// A part of the draft.
enum Piece {
    Typed(Vec<u8>),
    /// Shown as a mark.
    Big(String),
}

#[derive(PartialEq, Eq)]
enum Mode {
    Idle,
    Busy(Instant),
    /// Closes by itself at that time, if at all.
    Dialog(Option<Instant>),
}

impl Player {
    /// Takes what was read; whether there was a paste in it.
    fn take(&mut self, bytes: &[u8]) -> Result<bool> {
        let mut pasted = false;
        for &byte in bytes {
            self.held.push(byte);
            loop {
                let mark = if self.pasting.is_some() { PASTE_ENDS } else { PASTE_BEGINS };
                if self.held == mark {
                    self.held.clear();
                    match self.pasting.take() {
                        None => self.pasting = Some(Vec::new()),
                        Some(text) => {
                            pasted = true;
                            self.paste(&String::from_utf8_lossy(&text));
                        }
                    }
                }
                // An Esc alone is a key.
                if mark.starts_with(&self.held) && self.held != b"\x1b" {
                    break;
                }
                if self.held == b"\x1b" && bytes.len() > 1 {
                    break;
                }
                let byte = self.held.remove(0);
                match &mut self.pasting {
                    Some(text) => text.push(byte),
                    None => self.key(byte)?,
                }
                if self.held.is_empty() {
                    break;
                }
            }
        }
        Ok(pasted)
    }

    fn paste(&mut self, text: &str) {
        self.pasted_at = Some(Instant::now());
        // A dialog swallows it.
        if matches!(self.mode, Mode::Dialog(_)) {
            return;
        }
        if text.lines().count() > LINES || text.chars().count() > CHARS {
            self.pieces.push(Piece::Big(text.to_owned()));
        } else {
            self.type_in(text.as_bytes());
        }
    }

    fn type_in(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            Some(Piece::Typed(text)) => text.extend_from_slice(bytes),
            _ => self.pieces.push(Piece::Typed(bytes.to_vec())),
        }
    }

    fn key(&mut self, byte: u8) -> Result<()> {
        self.keys.write_all(&[byte])?;
        if let Mode::Dialog(_) = self.mode {
            match byte {
                b'\r' => {
                    self.mode = Mode::Idle;
                    let shown = self.asked.take().map_or(0, |at| at.elapsed().as_millis());
                    let shown_ms = u64::try_from(shown)?;
                    let (text, busy) = (String::new(), false);
                    self.tell(&Played { text, approved: true, busy, shown_ms })?;
                }
                0x1b => self.mode = Mode::Idle,
                _ => {}
            }
            return Ok(());
        }
        match byte {
            b'\r' => {
                let soon = self.pasted_at.is_some_and(|at| at.elapsed() < TOO_SOON);
                if soon { self.type_in(b"\n") } else { self.submit()? }
            }
            0x7f => match self.pieces.last_mut() {
                Some(Piece::Typed(text)) if text.len() > 1 => drop(text.pop()),
                _ => drop(self.pieces.pop()),
            },
            0x15 => self.pieces.clear(),
            0x0f => self.mode = Mode::Dialog(None),
            0x02 => self.mode = Mode::Busy(Instant::now() + Duration::from_millis(400)),
            0x20.. => self.type_in(&[byte]),
            _ => {}
        }
        Ok(())
    }

    fn submit(&mut self) -> Result<()> {
        let mut text = Vec::new();
        for piece in self.pieces.drain(..) {
            match piece {
                Piece::Typed(bytes) => text.extend(bytes),
                Piece::Big(piece) => text.extend(piece.into_bytes()),
            }
        }
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        if text.is_empty() {
            return Ok(());
        }
        let busy = self.mode != Mode::Idle;
        self.history.push(text.clone());
        self.tell(&Played { text, approved: false, busy, shown_ms: 0 })?;
        let end = Instant::now() + Duration::from_millis(self.random(120));
        self.mode = Mode::Busy(end);
        Ok(())
    }

    fn tell(&mut self, played: &Played) -> Result<()> {
        let mut line = serde_json::to_vec(played)?;
        line.push(b'\n');
        Ok(self.file.write_all(&line)?)
    }

    fn tick(&mut self) -> Result<()> {
        let now = Instant::now();
        match self.mode {
            Mode::Busy(end) if now >= end => {
                let asks = !self.calm && self.random(100) < 20;
                let closes = now + Duration::from_millis(100 + self.random(500));
                self.mode = if asks { Mode::Dialog(Some(closes)) } else { Mode::Idle };
                self.draw()
            }
            Mode::Dialog(Some(end)) if now >= end => {
                self.mode = Mode::Idle;
                self.draw()
            }
            // The terminal may have another size.
            _ if self.drawn.elapsed() > Duration::from_millis(100) => self.draw(),
            _ => Ok(()),
        }
    }

    /// A number below `end`.
    fn random(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) % end
    }

    fn draw(&mut self) -> Result<()> {
        self.drawn = Instant::now();
        let size = tcgetwinsize(io::stdout())?;
        let (height, width) = (usize::from(size.ws_row).max(6), usize::from(size.ws_col).max(20));
        let rule = "─".repeat(width);
        let mut bottom: Vec<String> = Vec::new();
        let mut cursor = None;
        let state = match self.mode {
            Mode::Dialog(_) => {
                bottom.extend(["╭ Run this command?".to_owned(), "│ ● 1. Yes".to_owned()]);
                bottom.extend(["│   2. No (esc)".to_owned(), "╰ enter to approve".to_owned()]);
                "Action Required"
            }
            Mode::Idle | Mode::Busy(_) => {
                let busy = self.mode != Mode::Idle;
                bottom.push(if busy { "* working (esc to stop)" } else { "" }.to_owned());
                bottom.push(rule.clone());
                let mut rows = wrap(&self.shown(), width - 2);
                let cut = rows.len().saturating_sub(TALLEST);
                rows.drain(..cut);
                let last = rows.last().map_or(0, |row| row_width(row));
                let draft_is_empty = self.pieces.is_empty();
                for (at, row) in rows.iter().enumerate() {
                    let mark = if at == 0 { "> " } else { "  " };
                    bottom.push(format!("{mark}{row}"));
                }
                if draft_is_empty {
                    bottom.pop();
                    bottom.push(">   Say something".to_owned());
                }
                cursor = Some((bottom.len(), if draft_is_empty { 2 } else { last + 2 }));
                bottom.extend([rule, "player · 100% left".to_owned()]);
                if busy { "Working" } else { "Ready" }
            }
        };
        let above = height.saturating_sub(bottom.len());
        let history: Vec<String> =
            self.history.iter().rev().take(20).rev().flat_map(|text| wrap(text, width)).collect();
        let history = &history[history.len().saturating_sub(above)..];
        let mut out = format!("\x1b]0;{state}\x07\x1b[?25l\x1b[H");
        if std::mem::replace(&mut self.size, (height, width)) != (height, width) {
            out.push_str("\x1b[2J");
        }
        let blank = std::iter::repeat_n(String::new(), above - history.len());
        let rows = history.iter().cloned().chain(blank).chain(bottom.iter().cloned());
        for (at, row) in rows.take(height).enumerate() {
            write!(out, "\x1b[{};1H{row}\x1b[K", at + 1)?;
        }
        if let Some((row, column)) = cursor {
            write!(out, "\x1b[{};{}H\x1b[?25h", above + row, column + 1)?;
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(out.as_bytes())?;
        stdout.flush()?;
        let asks = matches!(self.mode, Mode::Dialog(_));
        self.asked = asks.then(|| self.asked.unwrap_or_else(Instant::now));
        Ok(())
    }

    /// The draft as it is shown.
    fn shown(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Typed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Piece::Big(text) => format!("[Pasted text +{} lines]", text.lines().count()),
        };
        self.pieces.iter().map(piece).collect()
    }
}

/// Rows that are no wider than that.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for line in text.split('\n') {
        let mut row = String::new();
        for c in line.replace('\t', "    ").chars() {
            if row_width(&row) + c.width().unwrap_or(0) > width {
                rows.push(std::mem::take(&mut row));
            }
            row.push(c);
        }
        rows.push(row);
    }
    rows
}

fn row_width(row: &str) -> usize {
    row.chars().map(|c| c.width().unwrap_or(0)).sum()
}
