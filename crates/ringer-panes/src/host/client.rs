//! A short talk with a host, for commands.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::HostError;
use super::protocol::{Answer, Request};
use crate::pane::Sight;

/// A worker may take its time to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to a host.
#[derive(Debug)]
pub struct HostClient {
    socket: PathBuf,
    stream: BufReader<UnixStream>,
}

impl HostClient {
    /// To the host that listens there.
    pub fn connect(socket: &Path) -> Result<Self, HostError> {
        let connect = || {
            let stream = UnixStream::connect(socket)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(BufReader::new(stream))
        };
        let stream = connect().map_err(gone(socket))?;
        Ok(Self { socket: socket.to_owned(), stream })
    }

    /// Ends the worker and everything that it started; it has ended when this returns.
    pub fn stop(&mut self) -> Result<(), HostError> {
        self.ask(&Request::Stop).map(drop)
    }

    /// What there is to see; nothing if the worker has just ended.
    pub fn look(&mut self) -> Result<Option<Sight>, HostError> {
        match self.ask(&Request::Look)? {
            Answer::Sight(sight) => Ok(Some(*sight)),
            _ => Ok(None),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, HostError> {
        let mut talk = || {
            let mut line = serde_json::to_vec(request)?;
            line.push(b'\n');
            self.stream.get_mut().write_all(&line)?;
            let mut answer = Vec::new();
            self.stream.read_until(b'\n', &mut answer)?;
            Ok(serde_json::from_slice(&answer)?)
        };
        let said: io::Result<Answer> = talk();
        said.map_err(gone(&self.socket))
    }
}

fn gone(socket: &Path) -> impl FnOnce(io::Error) -> HostError {
    let path = socket.to_owned();
    |source| HostError::Gone { path, source }
}
