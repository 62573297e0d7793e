//! A session on its own: a directory in which a `zellij` finds only that one.
//!
//! Owns the directory, beside those of Zellij and gone with its owner, and in it a second name for the
//! session's socket. For a `zellij` first calls at every session that it finds, whichever is meant: one
//! that hangs would hold up all the others, and one that is just being started would not survive it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tracing::debug;

use super::leftover;

/// A directory for the sockets of one session.
#[derive(Debug)]
pub(super) struct Alone {
    dir: PathBuf,
    link: PathBuf,
    identity: Identity,
}

/// What a socket is known by, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    made: (i64, i64),
}

impl Identity {
    pub(super) fn of(socket: &Path) -> Option<Self> {
        let data = fs::metadata(socket).ok()?;
        // Not the time of the last change: a second name is one.
        let made = (data.mtime(), data.mtime_nsec());
        Some(Self { device: data.dev(), inode: data.ino(), made })
    }
}

impl Alone {
    /// Makes one for a socket, which is in a directory named after the version of the protocol.
    /// `None` if that cannot be.
    pub(super) fn with(socket: &Path) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (version, name) = (socket.parent()?, socket.file_name()?);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = version.parent()?.join(format!("{}-{number}", leftover::prefix()?));
        let inner = dir.join(version.file_name()?);
        let link = inner.join(name);
        let alone = Self { dir, link, identity: Identity::of(socket)? };
        let make = || -> io::Result<()> {
            DirBuilder::new().recursive(true).mode(0o700).create(&inner)?;
            fs::hard_link(socket, &alone.link)
        };
        // What was made of it is removed again with it.
        make().inspect_err(|error| debug!("no directory for one session: {error}")).ok()?;
        Some(alone)
    }

    /// Where a `zellij` is to look for sessions.
    pub(super) fn sockets(&self) -> &Path {
        &self.dir
    }

    /// Whether it is still the one for this socket. A `zellij` that finds nobody there removes it.
    pub(super) fn is_for(&self, socket: &Path) -> bool {
        [socket, &self.link].map(Identity::of) == [Some(self.identity); 2]
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.dir).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn a_socket_is_reached_by_its_second_name_alone() {
        let dir = tempfile::tempdir().unwrap();
        let version = dir.path().join("contract_version_1");
        fs::create_dir(&version).unwrap();
        let sockets = ["main", "other"].map(|name| version.join(name));
        let listeners = sockets.each_ref().map(|socket| UnixListener::bind(socket).unwrap());
        let alone = Alone::with(&sockets[0]).unwrap();
        let inner = alone.sockets().join("contract_version_1");
        let names: Vec<_> = fs::read_dir(&inner).unwrap().map(|f| f.unwrap().file_name()).collect();
        assert_eq!(names, ["main"]);
        UnixStream::connect(inner.join("main")).unwrap();
        listeners[0].accept().unwrap();
        assert!(alone.is_for(&sockets[0]) && !alone.is_for(&sockets[1]));
        // Another server, under the same name.
        fs::remove_file(&sockets[0]).unwrap();
        let _again = UnixListener::bind(&sockets[0]).unwrap();
        assert!(!alone.is_for(&sockets[0]));
        drop(alone);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(Alone::with(&version.join("none")).is_none());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
