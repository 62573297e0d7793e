//! Addresses of panes, as they are written in commands and files.
//!
//! Owns the form of an address. It never asks whether the pane is there.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Where a worker can be reached.
///
/// ```
/// use ringer_panes::Address;
/// assert!(matches!("tmux:%3".parse(), Ok(Address::Tmux { socket: None, .. })));
/// assert!("tmux:3".parse::<Address>().is_err());
/// assert_eq!("zellij:main:terminal_2".parse::<Address>()?.to_string(), "zellij:main:terminal_2");
/// # Ok::<(), ringer_panes::InvalidAddress>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Address {
    /// Nowhere yet: its mail waits.
    #[default]
    None,
    /// A pane of a tmux server.
    Tmux {
        /// The server's socket, by name or path; the default one if absent.
        socket: Option<String>,
        /// `%` and a number.
        pane: String,
    },
    /// A worker under a terminal of our own: `ringer run`.
    Host {
        /// Where its host listens.
        socket: PathBuf,
    },
    /// A pane of a Zellij session.
    Zellij {
        /// The session.
        session: String,
        /// `terminal_` and a number.
        pane: String,
    },
}

/// An address that is not written as addresses are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{address}` is not a pane: write tmux:%N, tmux:SOCKET:%N, zellij:SESSION:terminal_N or none",
    address = address.escape_debug()
)]
pub struct InvalidAddress {
    /// What was given.
    pub address: String,
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let invalid = || InvalidAddress { address: text.to_owned() };
        let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if text.chars().any(char::is_control) {
            return Err(invalid());
        }
        match text.split_once(':') {
            None if text == "none" => Ok(Self::None),
            Some(("tmux", rest)) => {
                // A path may have colons in it, a pane has none.
                let (socket, pane) = match rest.rsplit_once(':') {
                    Some((socket, pane)) => (Some(socket), pane),
                    None => (None, rest),
                };
                let good = pane.strip_prefix('%').is_some_and(number) && socket != Some("");
                let pane = Self::Tmux { socket: socket.map(Into::into), pane: pane.into() };
                good.then_some(pane).ok_or_else(invalid)
            }
            Some(("host", path)) if path.starts_with('/') => Ok(Self::Host { socket: path.into() }),
            Some(("zellij", rest)) => {
                let (session, pane) = rest.rsplit_once(':').ok_or_else(invalid)?;
                let good =
                    pane.strip_prefix("terminal_").is_some_and(number) && !session.is_empty();
                let pane = Self::Zellij { session: session.into(), pane: pane.into() };
                good.then_some(pane).ok_or_else(invalid)
            }
            _ => Err(invalid()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Tmux { socket: None, pane } => write!(f, "tmux:{pane}"),
            Self::Tmux { socket: Some(socket), pane } => write!(f, "tmux:{socket}:{pane}"),
            Self::Zellij { session, pane } => write!(f, "zellij:{session}:{pane}"),
            Self::Host { socket } => write!(f, "host:{}", socket.display()),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = InvalidAddress;
    fn try_from(text: String) -> Result<Self, InvalidAddress> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_alike() {
        for address in [
            "none",
            "tmux:%0",
            "tmux:work:%12",
            "tmux:/tmp/a:b/default:%7",
            "zellij:main:terminal_3",
            "zellij:odd:name:terminal_3",
            "host:/run/user/1000/ringer/a.sock",
        ] {
            assert_eq!(address.parse::<Address>().unwrap().to_string(), address);
            let json = serde_json::to_string(&address.parse::<Address>().unwrap()).unwrap();
            assert_eq!(json, format!("\"{address}\""));
        }
        for bad in [
            "",
            "tmux",
            "tmux:",
            "tmux:%",
            "tmux:3",
            "tmux::%3",
            "tmux:%3x",
            "zellij:%3",
            "zellij::terminal_1",
            "zellij:s:plugin_1",
            "screen:1",
            "host:",
            "host:relative.sock",
            "tmux:a\u{1b}:%1",
            "None",
        ] {
            assert_eq!(bad.parse::<Address>().unwrap_err().address, bad);
            assert!(serde_json::from_value::<Address>(bad.into()).is_err(), "{bad}");
        }
    }
}
