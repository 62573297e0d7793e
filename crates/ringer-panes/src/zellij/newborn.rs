//! Sessions that were just started.
//!
//! Owns leaving them alone. Until a server has opened its first pane, which takes 70 ms or so, it does
//! not survive that somebody comes and goes. So it never calls at one itself.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;
use tracing::debug;

use super::worker::{panes_of, processes};

/// A server that is older has opened its panes, or will never have one.
const GROWN_UP: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_millis(50);

/// Waits until the one with this socket is old enough.
pub(super) async fn wait(socket: &Path) {
    while is_newborn(socket) {
        debug!(socket = %socket.display(), "the session is just being started");
        sleep(AGAIN).await;
    }
}

fn is_newborn(socket: &Path) -> bool {
    let age = fs::metadata(socket).ok().and_then(|data| data.modified().ok()?.elapsed().ok());
    age.is_some_and(|age| age < GROWN_UP) && !has_panes(socket)
}

/// Whether the server that was started for this socket has opened a pane.
fn has_panes(socket: &Path) -> bool {
    let words = [b"--server\0", socket.as_os_str().as_bytes(), b"\0"].concat();
    let is_server = |pid: &u32| {
        let started_with = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        started_with.ends_with(&words)
    };
    // It is two processes for a moment, while it goes to the background.
    processes().filter(is_server).any(|server| panes_of(server).next().is_some())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn a_session_without_panes_is_left_alone_for_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("main");
        wait(&socket).await;
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(is_newborn(&socket), "nobody was started for it");
        let waited = tokio::time::timeout(GROWN_UP * 2, wait(&socket)).await;
        assert!(waited.is_ok() && !is_newborn(&socket), "it is old enough");
    }
}
