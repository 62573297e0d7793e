//! The host's socket: what others may ask of it.
//!
//! Owns the connections, a thread for each. Only the user can connect. A client that talks nonsense is
//! told so; one that says too much is cut off.

use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::protocol::{Answer, Frame, Request};
use super::worker::Worker;
use crate::pane::Counts;

/// The longest request: a text of a megabyte, every byte of it escaped.
const LONGEST: u64 = 8 << 20;

/// The longest wait for a change.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Listens there. The name is random: whoever had it before is gone.
pub(super) fn listen(path: &Path) -> io::Result<UnixListener> {
    fs::remove_file(path).ok();
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Answers whoever connects.
pub(super) fn serve(listener: &UnixListener, worker: &Arc<Worker>) {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                let worker = worker.clone();
                thread::spawn(move || converse(&stream, &worker));
            }
            // Too many open files: somebody has to close one first.
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn converse(stream: &UnixStream, worker: &Arc<Worker>) -> io::Result<()> {
    let mut read = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut read).take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let answer = match serde_json::from_slice(&line) {
            Ok(Request::Attach { rows, cols }) => return show(stream, read, worker, (rows, cols)),
            Ok(request) => answer(&request, worker)?,
            Err(error) => Answer::Invalid { why: error.to_string() },
        };
        let mut bytes = serde_json::to_vec(&answer).map_err(io::Error::other)?;
        bytes.push(b'\n');
        (&*stream).write_all(&bytes)?;
    }
}

fn answer(request: &Request, worker: &Arc<Worker>) -> io::Result<Answer> {
    let look =
        || if worker.has_ended() { Answer::Ended } else { Answer::Sight(Box::new(worker.sight())) };
    Ok(match *request {
        Request::Look => look(),
        Request::Changed { keys, output, limit_ms } => {
            let limit = Duration::from_millis(limit_ms).min(LONGEST_WAIT);
            worker.wait(Counts { keys, output }, limit);
            Answer::Done
        }
        Request::Paste { ref text, bracketed, pid, keys } => {
            worker.paste(text, bracketed, pid, keys)?
        }
        Request::Enter { pid, keys } => worker.enter(pid, keys)?,
        Request::Stop => {
            worker.stop();
            super::end(worker);
            Answer::Done
        }
        Request::Attach { .. } => unreachable!("it is not answered"),
    })
}

/// From here on the client is a viewer.
fn show(
    stream: &UnixStream,
    mut read: BufReader<&UnixStream>,
    worker: &Arc<Worker>,
    (rows, cols): (u16, u16),
) -> io::Result<()> {
    let frames = worker.attach(rows, cols);
    let mut write = stream.try_clone()?;
    let writer = thread::spawn(move || {
        for frame in frames {
            if frame.write(&mut write).is_err() {
                break;
            }
        }
        // The viewer is gone, or was too slow, or there is no more to see.
        write.shutdown(std::net::Shutdown::Both).ok();
    });
    loop {
        match Frame::read(&mut read) {
            Ok(Frame::Bytes(bytes)) => worker.type_in(&bytes)?,
            Ok(Frame::Size { rows, cols }) => worker.resize_for_viewer(rows, cols),
            Ok(Frame::End) | Err(_) => break,
        }
    }
    stream.shutdown(std::net::Shutdown::Both).ok();
    // The writer ends with the next frame.
    drop(writer);
    Ok(())
}
