//! A connection to a server that is kept: tmux's control mode.
//!
//! Owns one attached client. It leaves no trace in the session: its size does not count, it does not
//! ask for the panes' output, and it does not carry its environment into it.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::batch::{Answer, Batch};
use super::program::Program;

/// A client that was told to go has this long to do so.
const FAREWELL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Control {
    child: Child,
    input: ChildStdin,
    output: Lines,
}

impl Control {
    /// Attaches to a session. Returns when tmux has said that it is attached, so that a failure here
    /// means that nothing was asked yet.
    pub(super) async fn attach(program: &Program, session: &str) -> io::Result<Self> {
        let mut command = program.command();
        command.args(["-C", "attach-session", "-E", "-f", "ignore-size,no-output", "-t", session]);
        // The client itself holds the other end of its output, too, as its stderr. Else, should we be
        // killed before tmux has answered, the server could not write the answer, would wait for that
        // for ever, and the client would never go.
        let (reader, writer) = std::io::pipe()?;
        command.stdout(writer).stderr(reader.try_clone()?);
        let mut child = command.spawn()?;
        drop(command);
        let input = child.stdin.take().expect("stdin is piped");
        let reader = std::process::ChildStdout::from(std::os::fd::OwnedFd::from(reader));
        let output = Lines::new(ChildStdout::from_std(reader)?);
        let mut control = Self { child, input, output };
        loop {
            let line = control.output.next().await?;
            if line.starts_with(b"%end ") {
                return Ok(control);
            }
            if line.starts_with(b"%error ") || line.starts_with(b"%exit") {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
        }
    }

    /// Asks, and waits for the answer. After an error the connection is of no use any more.
    pub(super) async fn ask(&mut self, batch: &Batch) -> io::Result<Vec<Answer>> {
        self.input.write_all(batch.text().as_bytes()).await?;
        self.input.flush().await?;
        let mut answers = batch.answers();
        while !answers.take(&self.output.next().await?) {}
        Ok(answers.framed())
    }

    /// Reads what tmux tells unasked, so that it does not pile up, until the connection ends. May be
    /// dropped at any time.
    pub(super) async fn ended(&mut self) {
        while let Ok(line) = self.output.next().await {
            if line == b"%exit" || line.starts_with(b"%exit ") {
                return;
            }
        }
    }

    /// Lets the client go.
    pub(super) async fn close(self) {
        let Self { mut child, input, output } = self;
        drop((input, output));
        // It is killed if it does not, by being dropped.
        timeout(FAREWELL, child.wait()).await.ok();
    }
}

/// Lines as they come. Unlike those of tokio, nothing is lost when `next` is dropped half-way.
#[derive(Debug)]
struct Lines {
    output: ChildStdout,
    read: Vec<u8>,
    /// Where the next line begins, and how far it was searched for its end.
    start: usize,
    searched: usize,
}

impl Lines {
    fn new(output: ChildStdout) -> Self {
        Self { output, read: Vec::with_capacity(64 << 10), start: 0, searched: 0 }
    }

    /// The next line without its end; an error at the end of the output.
    async fn next(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(length) = self.read[self.searched..].iter().position(|b| *b == b'\n') {
                let line = self.read[self.start..self.searched + length].to_vec();
                self.searched += length + 1;
                self.start = self.searched;
                return Ok(line);
            }
            self.read.drain(..self.start);
            self.start = 0;
            self.searched = self.read.len();
            if self.output.read_buf(&mut self.read).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
