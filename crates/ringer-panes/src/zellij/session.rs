//! One session: where it listens, and who does.
//!
//! Owns finding the server behind a name. It never starts one, and says nothing to one.

use std::env;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::UnixStream;

use super::alone::{Alone, Identity};
use super::leftover;
use super::newborn;
use super::program::{Program, SOCKET_DIR};
use super::worker::Stat;
use crate::fault::Fault;

/// A session, by its name.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) program: Program,
    pub(super) name: String,
}

/// The process that runs a session.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) pid: u32,
    started: u64,
    /// What its socket was like: another one would be another server's.
    socket: Identity,
    /// Where a `zellij` finds it and no other, if that can be had.
    alone: Option<Arc<Alone>>,
}

impl Session {
    pub(super) fn new(program: Program, name: String) -> Self {
        Self { program, name }
    }

    /// The server that has the session; the one that is known, if it is still that one. One that was
    /// started a moment ago is given time.
    pub(super) async fn server(&self, known: Option<Server>) -> Result<Server, Fault> {
        let path = self.socket().ok_or_else(|| self.no_server())?;
        if let Some(known) = known.filter(|known| known.is_at(&path)) {
            return Ok(known);
        }
        newborn::wait(&path).await;
        Server::at(&path).await.ok_or_else(|| self.no_server())
    }

    pub(super) async fn is_running(&self) -> bool {
        match self.socket() {
            Some(path) => UnixStream::connect(path).await.is_ok(),
            None => false,
        }
    }

    /// Where it listens. The directory below is named after the version of the protocol.
    fn socket(&self) -> Option<PathBuf> {
        // Zellij would not take it for a name either.
        if self.name.is_empty() || self.name.contains(['/', '\0']) {
            return None;
        }
        let dirs = fs::read_dir(self.socket_dir()).ok()?.flatten();
        let versions = dirs.filter(|dir| !leftover::is_ours(&dir.file_name()));
        let mut paths = versions.map(|version| version.path().join(&self.name));
        paths.find(|path| fs::metadata(path).is_ok_and(|data| data.file_type().is_socket()))
    }

    /// Where all sockets are.
    pub(super) fn socket_dir(&self) -> PathBuf {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let own = self.program.sockets.clone().or_else(|| set(SOCKET_DIR));
        let user = || set("XDG_RUNTIME_DIR").filter(|dir| dir.is_absolute());
        own.or_else(|| Some(user()?.join("zellij"))).unwrap_or_else(|| {
            let user = rustix::process::getuid().as_raw();
            env::temp_dir().join(format!("zellij-{user}"))
        })
    }

    pub(super) fn no_server(&self) -> Fault {
        let name: String = self.name.chars().filter(|c| !c.is_control()).collect();
        Fault::NoServer { server: format!("the Zellij session `{name}`") }
    }
}

impl Server {
    /// The one that listens there. A session that was renamed is found, too, unlike by the name that
    /// its server was started with.
    async fn at(path: &Path) -> Option<Self> {
        let socket = Identity::of(path)?;
        let stream = UnixStream::connect(path).await.ok()?;
        let pid = stream.peer_cred().ok()?.pid().and_then(|pid| u32::try_from(pid).ok())?;
        let started = Stat::of(pid)?.started;
        let alone = Alone::with(path).map(Arc::new);
        Some(Self { pid, started, socket, alone })
    }

    /// Whether it still runs and listens there.
    fn is_at(&self, path: &Path) -> bool {
        let same = |stat: Stat| stat.started == self.started;
        Identity::of(path) == Some(self.socket)
            && self.alone.as_ref().is_none_or(|alone| alone.is_for(path))
            && Stat::of(self.pid).is_some_and(same)
    }

    /// Where a `zellij` is to look for it, if not where all are.
    pub(super) fn sockets(&self) -> Option<&Path> {
        self.alone.as_deref().map(Alone::sockets)
    }
}
