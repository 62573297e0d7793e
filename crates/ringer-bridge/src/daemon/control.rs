//! The control socket: how commands talk to the daemon.
//!
//! Owns both ends. One JSON object a line, one answer for each. Only the user can connect; still, a
//! client that says too much or nothing is cut off.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::{mpsc, oneshot};

use super::instance;
use super::status::Status;
use crate::error::{Error, Result};
use crate::state::StateDir;

/// The longest path that a socket can have.
const LONGEST_PATH: usize = 107;

/// The longest request.
const LONGEST: u64 = 64 * 1024;

const PATIENCE: Duration = Duration::from_secs(5);

/// How long a daemon that does not listen any more may take to end.
const ENDING: Duration = Duration::from_secs(1);

/// What can be asked of a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub(crate) enum Request {
    /// How are you?
    Status,
    /// Look at everything again.
    Wake,
    /// End.
    Stop,
}

/// A request, and where its answer goes.
pub(crate) type Asked = (Request, oneshot::Sender<Value>);

/// Where sockets go: a directory that only the user can look into.
pub fn socket_dir(state: &StateDir, runtime_dir: Option<&Path>) -> Result<PathBuf> {
    // A variable that was inherited from another user's session names a place that is not ours.
    if let Some(dir) = runtime_dir.map(|dir| dir.join("ringer")).filter(|dir| make(dir).is_ok()) {
        return Ok(dir);
    }
    state.make()?;
    Ok(state.path().to_owned())
}

/// Where the daemon of a state directory listens.
pub(crate) fn socket_path(state: &StateDir, runtime_dir: Option<&Path>) -> Result<PathBuf> {
    let dir = socket_dir(state, runtime_dir)?;
    let path = if dir == state.path() {
        dir.join("control.sock")
    } else {
        let hash = Sha256::digest(state.path().as_os_str().as_encoded_bytes());
        let name = u64::from_be_bytes(hash[..8].try_into().expect("a hash is longer"));
        dir.join(format!("{name:016x}.sock"))
    };
    if path.as_os_str().len() > LONGEST_PATH {
        return Err(Error::LongPath { path });
    }
    Ok(path)
}

/// Makes a directory for sockets, and sees that files can be made there.
fn make(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    tempfile::tempfile_in(dir).map(drop)
}

/// Listens there. Whoever listened before is gone: we are the only daemon.
pub(crate) fn listen(path: &Path) -> Result<UnixListener> {
    fs::remove_file(path).ok();
    let bound = UnixListener::bind(path).and_then(|listener| {
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(listener)
    });
    bound.map_err(Error::io("listen on", path))
}

/// Hands on what clients ask, until the listener or the receiver is gone.
pub(crate) async fn serve(listener: UnixListener, ask: mpsc::Sender<Asked>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let talk = tokio::time::timeout(PATIENCE, converse(stream, ask.clone()));
                tokio::spawn(async move { talk.await.ok() });
            }
            // Too many open files: somebody has to close one first.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn converse(stream: tokio::net::UnixStream, ask: mpsc::Sender<Asked>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    let mut read = tokio::io::BufReader::new(read.take(LONGEST));
    while read.read_line(&mut line).await? > 0 {
        let answer = match serde_json::from_str::<Request>(&line) {
            Ok(request) => {
                let (send, receive) = oneshot::channel();
                ask.send((request, send)).await.map_err(io::Error::other)?;
                receive.await.map_err(io::Error::other)?
            }
            Err(error) => serde_json::json!({
                "success": false, "error": "invalid_request", "message": error.to_string(),
            }),
        };
        write.write_all(format!("{answer}\n").as_bytes()).await?;
        line.clear();
    }
    Ok(())
}

/// A connection to the daemon, for commands.
#[derive(Debug)]
pub struct Client {
    state: StateDir,
    stream: BufReader<UnixStream>,
    /// Who it is.
    pub daemon: instance::Identification,
}

impl Client {
    /// To the daemon of a state directory.
    pub fn connect(state: &StateDir) -> Result<Self> {
        let daemon = instance::running(state)?.ok_or(Error::NotRunning)?;
        let path = daemon.socket.clone();
        let connect = || {
            let stream = UnixStream::connect(&path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(BufReader::new(stream))
        };
        match connect() {
            Ok(stream) => Ok(Self { state: state.clone(), stream, daemon }),
            Err(source) => Err(silent(state, &daemon, source)),
        }
    }

    /// How it is.
    pub fn status(&mut self) -> Result<Status> {
        let answer = self.ask(Request::Status)?;
        serde_json::from_value(answer).map_err(|e| silent(&self.state, &self.daemon, e.into()))
    }

    /// Lets it look at everything again.
    pub fn wake(&mut self) -> Result<()> {
        self.ask(Request::Wake).map(drop)
    }

    /// Lets it end; it has not ended when this returns.
    pub fn stop(&mut self) -> Result<()> {
        self.ask(Request::Stop).map(drop)
    }

    fn ask(&mut self, request: Request) -> Result<Value> {
        let line = serde_json::to_string(&request).expect("plain data always serialises") + "\n";
        let mut answer = String::new();
        let mut talk = || {
            self.stream.get_mut().write_all(line.as_bytes())?;
            self.stream.read_line(&mut answer)?;
            Ok(serde_json::from_str(&answer)?)
        };
        let said: io::Result<Value> = talk();
        said.map_err(|e| silent(&self.state, &self.daemon, e))
    }
}

/// What it means that a daemon did not answer. It may be about to end: then it is as good as ended.
fn silent(state: &StateDir, daemon: &instance::Identification, source: io::Error) -> Error {
    let deadline = Instant::now() + ENDING;
    while matches!(instance::running(state), Ok(Some(now)) if now == *daemon) {
        if Instant::now() > deadline {
            return Error::NoAnswer { path: daemon.socket.clone(), source };
        }
        thread::sleep(Duration::from_millis(10));
    }
    Error::NotRunning
}

/// The daemon of a state directory, if one runs.
pub fn running(state: &StateDir) -> Result<Option<instance::Identification>> {
    instance::running(state)
}
