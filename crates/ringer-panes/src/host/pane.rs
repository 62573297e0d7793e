//! A hosted worker, as a pane.
//!
//! Owns a connection to its host, made when it is needed and made anew when it broke. What may have
//! been done is never asked for twice.

use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::protocol::{Answer, Request};
use crate::fault::Fault;
use crate::pane::{Pane, Sight};
use crate::payload::Payload;

/// How long to wait for an answer. A host takes a fraction of a millisecond, a program with a full
/// terminal longer.
const LIMIT: Duration = Duration::from_secs(2);

/// A worker with a host.
#[derive(Debug)]
pub struct HostPane {
    socket: PathBuf,
    stream: Option<BufReader<UnixStream>>,
    /// A second one, for waiting: an answer to that may come late.
    waiting: Option<BufReader<UnixStream>>,
}

impl HostPane {
    pub(crate) fn new(socket: PathBuf) -> Self {
        Self { socket, stream: None, waiting: None }
    }

    /// Asks, and asks again over a new connection if the old one had ended and asking does no harm.
    async fn ask(&mut self, request: &Request) -> Result<Answer, Fault> {
        let harmless = matches!(request, Request::Look);
        let mut sent = false;
        let mut old = self.stream.is_some();
        loop {
            let answer = timeout(LIMIT, self.ask_once(request, &mut sent)).await;
            match answer {
                Ok(Ok(answer)) => return Ok(answer),
                // Its host was never reached, so it is gone.
                Ok(Err(fault)) if !sent => return Err(fault),
                Ok(Err(_)) if harmless && old => old = false,
                Ok(Err(_)) | Err(_) => {
                    self.stream = None;
                    return Err(Fault::Silent { pane: self.name(), sent });
                }
            }
            self.stream = None;
            sent = false;
        }
    }

    async fn ask_once(&mut self, request: &Request, sent: &mut bool) -> Result<Answer, Fault> {
        if self.stream.is_none() {
            self.stream = Some(connect(&self.socket).await.ok_or_else(|| self.gone())?);
        }
        let stream = self.stream.as_mut().expect("just connected");
        *sent = true;
        converse(stream, request).await.ok_or(Fault::Silent { pane: String::new(), sent: true })
    }

    async fn put(&mut self, request: &Request) -> Result<(), Fault> {
        let pane = self.name();
        match self.ask(request).await? {
            Answer::Done => Ok(()),
            Answer::Typed => Err(Fault::Typed { pane }),
            Answer::Busy => Err(Fault::Silent { pane, sent: false }),
            Answer::Changed => Err(Fault::Changed { pane }),
            Answer::Ended => Err(self.gone()),
            Answer::Sight(_) => Err(Fault::Silent { pane, sent: true }),
            Answer::Invalid { why } => Err(Fault::Refused { program: "ringer run", said: why }),
        }
    }

    /// What it is called before the user.
    fn name(&self) -> String {
        let name = self.socket.file_stem().unwrap_or(self.socket.as_os_str());
        name.to_string_lossy().into_owned()
    }

    fn gone(&self) -> Fault {
        Fault::Gone { pane: self.name() }
    }
}

impl Pane for HostPane {
    async fn look(&mut self) -> Result<Sight, Fault> {
        match self.ask(&Request::Look).await? {
            Answer::Sight(sight) => Ok(*sight),
            Answer::Ended => Err(self.gone()),
            _ => Err(Fault::Silent { pane: self.name(), sent: false }),
        }
    }

    async fn changed(&mut self, seen: &Sight, limit: Duration) {
        let Some(counts) = seen.counts else { return tokio::time::sleep(limit).await };
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX).max(1);
        let request = Request::Changed { keys: counts.keys, output: counts.output, limit_ms };
        // Taken out: if we are dropped while we wait, the answer must not be taken for another one.
        let mut stream = match self.waiting.take() {
            Some(stream) => Some(stream),
            None => connect(&self.socket).await,
        };
        let wait = async {
            match &mut stream {
                Some(stream) => converse(stream, &request).await.is_some(),
                None => false,
            }
        };
        let start = tokio::time::Instant::now();
        match timeout(limit + LIMIT, wait).await {
            Ok(true) => self.waiting = stream,
            Ok(false) | Err(_) => tokio::time::sleep_until(start + limit).await,
        }
    }

    async fn paste(&mut self, payload: &Payload, seen: &Sight) -> Result<(), Fault> {
        let text = payload.as_str().to_owned();
        let (pid, keys) = expected(seen);
        let bracketed = seen.takes_paste == Some(true);
        self.put(&Request::Paste { text, bracketed, pid, keys }).await
    }

    async fn enter(&mut self, seen: &Sight) -> Result<(), Fault> {
        let (pid, keys) = expected(seen);
        self.put(&Request::Enter { pid, keys }).await
    }
}

/// Who has to be in the foreground, and how many keys may have been pressed.
fn expected(seen: &Sight) -> (u32, u64) {
    let pid = seen.occupant.foreground.as_ref().map_or(0, |process| process.pid);
    (pid, seen.counts.map_or(u64::MAX, |counts| counts.keys))
}

async fn connect(socket: &std::path::Path) -> Option<BufReader<UnixStream>> {
    UnixStream::connect(socket).await.ok().map(BufReader::new)
}

async fn converse(stream: &mut BufReader<UnixStream>, request: &Request) -> Option<Answer> {
    let mut line = serde_json::to_vec(request).expect("plain data always serialises");
    line.push(b'\n');
    stream.get_mut().write_all(&line).await.ok()?;
    let mut answer = Vec::new();
    stream.read_until(b'\n', &mut answer).await.ok()?;
    serde_json::from_slice(&answer).ok()
}
