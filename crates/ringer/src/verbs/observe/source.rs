//! Where the bytes come from: standard input, or a file that may be followed.

use std::io::{ErrorKind, Read, stdin};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use ringer_bridge::observe::{Part, Tail};

use crate::failure::Failure;

const CHUNK: usize = 256 * 1024;

/// At a time, of a file.
const AT_ONCE: u64 = 16 * 1024 * 1024;

/// Hands over all that there is, then `None`: at the end or, if a file is followed, whenever nothing is left for now.
pub(super) fn read(
    file: &Path,
    follows: bool,
    mut each: impl FnMut(Option<Part<'_>>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if file == Path::new("-") {
        return read_stdin(each);
    }
    let about = |e: std::io::Error| {
        let code = match e.kind() {
            ErrorKind::PermissionDenied => "permission_denied",
            _ => "unreadable",
        };
        Failure::new(code, format!("could not read {}", file.display())).cause(&e)
    };
    let (tell, told) = mpsc::sync_channel(1);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Our own reading is one, too.
        if !event.is_ok_and(|event| event.kind.is_access() && !is_written(event.kind)) {
            tell.try_send(()).ok();
        }
    })
    .and_then(|mut watcher| {
        let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty());
        watcher.watch(dir.unwrap_or(Path::new(".")), RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    let mut tail = Tail::default();
    loop {
        let mut done = Ok(());
        let look = tail.read(file, AT_ONCE, |part| {
            if done.is_ok() {
                done = each(Some(part));
            }
        });
        done?;
        match look {
            Ok(look) if look.more => continue,
            Ok(_) => each(None)?,
            // It comes back when it is replaced.
            Err(e) if follows && e.kind() == ErrorKind::NotFound && tail.has_read() => {}
            Err(e) => return Err(about(e)),
        }
        if !follows {
            return Ok(());
        }
        // Where nothing can be watched, a look now and then.
        let pause = if watcher.is_ok() { Duration::from_mins(1) } else { Duration::from_secs(1) };
        told.recv_timeout(pause).ok();
    }
}

fn is_written(kind: notify::EventKind) -> bool {
    use notify::event::{AccessKind, AccessMode, EventKind};
    kind == EventKind::Access(AccessKind::Close(AccessMode::Write))
}

fn read_stdin(
    mut each: impl FnMut(Option<Part<'_>>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut input = stdin().lock();
    let mut chunk = vec![0; CHUNK];
    loop {
        match input.read(&mut chunk) {
            Ok(0) => return each(None),
            Ok(count) => each(Some(Part::Bytes(&chunk[..count])))?,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => {
                return Err(Failure::new("unreadable", "could not read standard input").cause(&e));
            }
        }
    }
}
