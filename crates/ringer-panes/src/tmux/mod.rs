//! Panes of tmux servers.
//!
//! Owns one connection per server, shared by all panes on it. It never starts a server, never
//! resizes a window, and never leaves a paste buffer behind.
//!
//! [`pane`] says what to do as tmux commands, [`batch`] makes one question of them and takes the
//! answer apart, [`server`] asks it, over [`control`] or else [`spawned`].

mod batch;
mod control;
mod pane;
mod program;
mod quote;
mod server;
mod spawned;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;

pub use self::pane::TmuxPane;
use self::program::Program;
use self::server::Server;

/// The tmux servers that are in use. Cheap to clone; all clones share the connections.
#[derive(Debug, Clone)]
pub struct TmuxServers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    control_mode: bool,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    servers: HashMap<Option<String>, Server>,
    /// One per server, and those that are about to end.
    tasks: JoinSet<()>,
}

impl Default for TmuxServers {
    fn default() -> Self {
        Self::new()
    }
}

impl TmuxServers {
    /// None yet: each is connected to when a pane on it is used.
    pub fn new() -> Self {
        Self::with(true)
    }

    /// The same, but with a tmux started for everything that is asked. Slower; it is what
    /// [`Self::new`] falls back to where control mode is not to be had.
    pub fn without_control_mode() -> Self {
        Self::with(false)
    }

    fn with(control_mode: bool) -> Self {
        Self { shared: Arc::new(Shared { control_mode, open: Mutex::default() }) }
    }

    /// A pane. The socket is a name, or a path if it has a `/`; the default one if absent.
    pub fn pane(&self, socket: Option<&str>, pane: &str) -> TmuxPane {
        TmuxPane::new(self.clone(), socket.map(str::to_owned), pane.to_owned())
    }

    /// Closes the connections to servers that are not wanted any more. One that is used again later
    /// is opened again.
    pub fn retain(&self, mut wanted: impl FnMut(Option<&str>) -> bool) {
        let mut open = self.open();
        open.servers.retain(|socket, _| wanted(socket.as_deref()));
        while open.tasks.try_join_next().is_some() {}
    }

    /// How each server is talked to, by socket, for the status: `control mode`, `commands`, or
    /// `not connected`.
    pub fn modes(&self) -> Vec<(String, &'static str)> {
        let open = self.open();
        let mode = |(socket, server): (&Option<String>, &Server)| {
            (program::socket_name(socket.as_deref()).to_owned(), server.mode())
        };
        let mut modes: Vec<_> = open.servers.iter().map(mode).collect();
        modes.sort_unstable();
        modes
    }

    /// Closes all connections and waits until they are closed.
    pub async fn close_all(&self) {
        let mut tasks = {
            let mut open = self.open();
            open.servers.clear();
            std::mem::take(&mut open.tasks)
        };
        while tasks.join_next().await.is_some() {}
    }

    /// The server on this socket. To be called within a runtime.
    fn server(&self, socket: Option<&str>) -> Server {
        let mut open = self.open();
        let socket = socket.map(str::to_owned);
        if let Some(server) = open.servers.get(&socket) {
            return server.clone();
        }
        let program = Program::new(socket.clone());
        let server = Server::start(program, self.shared.control_mode, &mut open.tasks);
        open.servers.insert(socket, server.clone());
        server
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // Nothing that is done under the lock leaves it half done.
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
