//! The terminal that we were started in.
//!
//! Owns its mode: raw while a worker has it, and as it was in the end, whatever happens.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};

use rustix::termios::{self, OptionalActions, Termios};

/// The user's terminal, if there is one.
#[derive(Debug)]
pub(crate) struct Terminal {
    input: File,
    output: File,
    before: Termios,
    /// What was undone already is not undone twice.
    raw: Mutex<bool>,
}

impl Terminal {
    /// That of our input and output, if both are one.
    pub(crate) fn of_this_process() -> io::Result<Option<Self>> {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        if !termios::isatty(&stdin) || !termios::isatty(&stdout) {
            return Ok(None);
        }
        let before = termios::tcgetattr(&stdin)?;
        let input = File::from(rustix::io::dup(&stdin)?);
        let output = File::from(rustix::io::dup(&stdout)?);
        Ok(Some(Self { input, output, before, raw: Mutex::new(false) }))
    }

    /// Every key goes to whoever reads, none to the terminal itself.
    pub(crate) fn make_raw(&self) -> io::Result<()> {
        let mut raw = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
        let mut mode = self.before.clone();
        mode.make_raw();
        termios::tcsetattr(&self.input, OptionalActions::Now, &mode)?;
        *raw = true;
        Ok(())
    }

    /// As it was before. `undo` turns off what a program has turned on.
    pub(crate) fn restore(&self, undo: &str) {
        let mut raw = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *raw) {
            (&self.output).write_all(undo.as_bytes()).ok();
            termios::tcsetattr(&self.input, OptionalActions::Now, &self.before).ok();
        }
    }

    /// Rows and columns.
    pub(crate) fn size(&self) -> (u16, u16) {
        match termios::tcgetwinsize(&self.output) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => (size.ws_row, size.ws_col),
            _ => (24, 80),
        }
    }

    pub(crate) fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        (&self.input).read(bytes)
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.output).write_all(bytes)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.restore("");
    }
}
