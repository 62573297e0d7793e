//! All the terminals that workers can be in, behind one door.
//!
//! Owns the connections to them. It knows which driver an address belongs to, and nothing else.

use std::time::Duration;

use crate::address::Address;
use crate::fault::Fault;
use crate::host::HostPane;
use crate::pane::{Pane, Sight};
use crate::payload::Payload;
use crate::tmux::{TmuxPane, TmuxServers};
use crate::zellij::{ZellijPane, ZellijSessions};

/// The terminals in use. Cheap to clone; all clones share the connections.
#[derive(Debug, Clone, Default)]
pub struct Terminals {
    tmux: TmuxServers,
    zellij: ZellijSessions,
}

impl Terminals {
    /// None yet: each is connected to when a pane of it is used.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, but with a tmux started for everything that is asked of one. Slower; it is what
    /// [`Self::new`] falls back to where control mode is not to be had.
    pub fn without_control_mode() -> Self {
        Self { tmux: TmuxServers::without_control_mode(), ..Self::default() }
    }

    /// The pane with this address.
    pub fn pane(&self, address: &Address) -> Result<AnyPane, Fault> {
        Ok(match address {
            Address::None => return Err(Fault::NoPane),
            Address::Tmux { socket, pane } => {
                AnyPane::Tmux(self.tmux.pane(socket.as_deref(), pane))
            }
            Address::Zellij { session, pane } => AnyPane::Zellij(self.zellij.pane(session, pane)),
            Address::Host { socket } => AnyPane::Host(HostPane::new(socket.clone())),
        })
    }

    /// Closes what none of these addresses needs. What is used again later is opened again.
    pub fn retain<'a>(&self, used: impl Iterator<Item = &'a Address>) {
        let used: Vec<&Address> = used.collect();
        self.tmux.retain(|server| {
            used.iter().any(|address| match address {
                Address::Tmux { socket, .. } => socket.as_deref() == server,
                _ => false,
            })
        });
        self.zellij.retain(|address| used.contains(&address));
    }

    /// How each server is talked to, for the status: its kind, its name, and how.
    pub fn modes(&self) -> Vec<(&'static str, String, &'static str)> {
        let tmux = self.tmux.modes().into_iter().map(|(name, mode)| ("tmux", name, mode));
        let zellij = self.zellij.modes().into_iter().map(|(name, mode)| ("zellij", name, mode));
        tmux.chain(zellij).collect()
    }

    /// Closes all connections and waits until they are closed.
    pub async fn close_all(&self) {
        self.zellij.close_all();
        self.tmux.close_all().await;
    }
}

/// A pane of any kind.
#[derive(Debug)]
pub enum AnyPane {
    /// Of a tmux server.
    Tmux(TmuxPane),
    /// Of a Zellij session.
    Zellij(ZellijPane),
    /// Of our own.
    Host(HostPane),
}

impl Pane for AnyPane {
    async fn look(&mut self) -> Result<Sight, Fault> {
        match self {
            Self::Tmux(pane) => pane.look().await,
            Self::Zellij(pane) => pane.look().await,
            Self::Host(pane) => pane.look().await,
        }
    }

    async fn changed(&mut self, seen: &Sight, limit: Duration) {
        match self {
            Self::Tmux(pane) => pane.changed(seen, limit).await,
            Self::Zellij(pane) => pane.changed(seen, limit).await,
            Self::Host(pane) => pane.changed(seen, limit).await,
        }
    }

    async fn paste(&mut self, payload: &Payload, seen: &Sight) -> Result<(), Fault> {
        match self {
            Self::Tmux(pane) => pane.paste(payload, seen).await,
            Self::Zellij(pane) => pane.paste(payload, seen).await,
            Self::Host(pane) => pane.paste(payload, seen).await,
        }
    }

    async fn enter(&mut self, seen: &Sight) -> Result<(), Fault> {
        match self {
            Self::Tmux(pane) => pane.enter(seen).await,
            Self::Zellij(pane) => pane.enter(seen).await,
            Self::Host(pane) => pane.enter(seen).await,
        }
    }
}
