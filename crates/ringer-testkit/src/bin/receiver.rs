//! A worker that keeps what it is sent: `receiver FILE [--plain] [--no-echo]`.
//!
//! Plays a terminal program: turns bracketed paste on (unless `--plain`), shows what is typed (unless
//! `--no-echo`), and appends every submitted message to FILE as a line of JSON. It never interprets
//! what it gets, but for the two marks around a paste and Enter.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use ringer_testkit::Received;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";
const PROMPT: &[u8] = b"> ";

fn main() -> Result<()> {
    let (mut file, mut plain, mut echo) = (None, false, true);
    for argument in env::args().skip(1) {
        match argument.as_str() {
            "--plain" => plain = true,
            "--no-echo" => echo = false,
            option if option.starts_with("--") => bail!("unknown option {option}"),
            path => file = Some(OpenOptions::new().create(true).append(true).open(path)?),
        }
    }
    let file = file.context("usage: receiver FILE [--plain] [--no-echo]")?;
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut terminal = tcgetattr(&input)?;
    terminal.make_raw();
    tcsetattr(&input, OptionalActions::Now, &terminal)?;
    if !plain {
        output.write_all(b"\x1b[?2004h")?;
    }
    output.write_all(PROMPT)?;
    output.flush()?;

    let mut receiver = Receiver { file, message: None, pasting: false, held: Vec::new() };
    let mut bytes = vec![0; 64 << 10];
    loop {
        let count = input.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        let shown = receiver.take(&bytes[..count], now())?;
        if echo {
            output.write_all(&shown)?;
            output.flush()?;
        }
    }
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is past 1970");
    u64::try_from(now.as_nanos()).expect("it is before 2554")
}

struct Receiver {
    file: File,
    message: Option<Message>,
    pasting: bool,
    /// What may be the first part of a mark.
    held: Vec<u8>,
}

struct Message {
    at_ns: u64,
    text: Vec<u8>,
    pasted: bool,
}

impl Receiver {
    /// Takes what was read at one time; what to show of it.
    fn take(&mut self, bytes: &[u8], at_ns: u64) -> Result<Vec<u8>> {
        let mut shown = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            self.held.push(byte);
            loop {
                let mark = if self.pasting { PASTE_ENDS } else { PASTE_BEGINS };
                if self.held == mark {
                    self.held.clear();
                    self.pasting = !self.pasting;
                    if self.pasting {
                        self.message(at_ns);
                    }
                }
                if mark.starts_with(&self.held) {
                    break;
                }
                let byte = self.held.remove(0);
                self.typed(byte, at_ns, &mut shown)?;
            }
        }
        Ok(shown)
    }

    fn typed(&mut self, byte: u8, at_ns: u64, shown: &mut Vec<u8>) -> Result<()> {
        if byte == b'\r' && !self.pasting {
            shown.extend_from_slice(b"\r\n");
            shown.extend_from_slice(PROMPT);
            return self.submit(at_ns);
        }
        match byte {
            b'\n' => shown.extend_from_slice(b"\r\n"),
            b'\t' => shown.push(byte),
            0..0x20 | 0x7f => shown.extend_from_slice(&[b'^', byte ^ 0x40]),
            _ => shown.push(byte),
        }
        let pasting = self.pasting;
        let message = self.message(at_ns);
        message.text.push(byte);
        message.pasted &= pasting;
        Ok(())
    }

    fn message(&mut self, at_ns: u64) -> &mut Message {
        self.message.get_or_insert_with(|| Message { at_ns, text: Vec::new(), pasted: true })
    }

    fn submit(&mut self, at_ns: u64) -> Result<()> {
        let message = self.message.take();
        let message = message.unwrap_or(Message { at_ns, text: Vec::new(), pasted: false });
        let received = Received {
            at_ns: message.at_ns,
            text: String::from_utf8_lossy(&message.text).into_owned(),
            pasted: message.pasted,
        };
        let mut line = serde_json::to_vec(&received)?;
        line.push(b'\n');
        Ok(self.file.write_all(&line)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte comes alone, so every mark is split at every place.
    #[test]
    fn messages_are_kept_byte_for_byte_however_they_come() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("received");
        let file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        let mut receiver = Receiver { file, message: None, pasting: false, held: Vec::new() };
        let bytes = b"\x1b[200~a\r\nb\x1b[201\x1b[201~\r\x1b[Ax\r\r\x1b[200~1\x1b[201~\x1b[200~2\x1b[201~\r";
        for (at, byte) in bytes.iter().enumerate() {
            receiver.take(&[*byte], at as u64).unwrap();
        }
        let all: Vec<(String, bool)> =
            ringer_testkit::received(&path).into_iter().map(|r| (r.text, r.pasted)).collect();
        let expected = [("a\r\nb\x1b[201", true), ("\x1b[Ax", false), ("", false), ("12", true)];
        assert_eq!(all, expected.map(|(text, pasted)| (text.to_owned(), pasted)));
    }
}
