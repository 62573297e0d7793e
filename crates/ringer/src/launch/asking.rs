//! A worker elsewhere: in the background, or in a new pane beside the user's.
//!
//! Owns the wait for it, from the start of its host until it is on the team. Whatever goes wrong on the way, nothing
//! is left of it.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use ringer_bridge::Claim;
use ringer_bridge::daemon::{socket_dir, workers_dir};
use ringer_panes::{Condition, Gate, HostClient, Multiplexer, Profile, Sight};
use serde_json::json;

use super::order::{Asker, Order, Talk, Teller};
use crate::context::Context;
use crate::failure::Failure;
use crate::program::program;

/// A host has this long to say something.
const PATIENCE: Duration = Duration::from_secs(15);

/// A program of whose screen nothing is known is ready when it has run for so long.
const SETTLED: Duration = Duration::from_millis(300);

/// Between two looks at a worker that is not ready.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// So many rows of the last screen are shown if a worker does not get ready.
const LAST_ROWS: usize = 24;

/// Where a worker is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Where {
    /// In the background.
    Background,
    /// In a new pane.
    Pane(Multiplexer),
}

/// A worker that is on its team.
#[derive(Debug, Clone)]
pub(crate) struct Started {
    pub(crate) name: String,
    /// Of its host.
    pub(crate) pid: u32,
    pub(crate) socket: PathBuf,
    /// From its start until it was ready.
    pub(crate) took: Duration,
}

/// Starts a worker and waits until it is on the team. With a time limit it has to come to its prompt first; `progress`
/// is told what it is at.
pub(crate) fn start(
    context: &Context,
    order: &Order,
    place: &Where,
    limit: Option<Duration>,
    progress: &dyn Fn(&str, &str),
) -> Result<Started, Failure> {
    let begun = Instant::now();
    let dir = socket_dir(&context.state, context.runtime_dir.as_deref())?;
    let meeting = Meeting::at(dir.join(format!("spawn-{}.sock", uuid::Uuid::new_v4())))?;
    open(context, order, place, &meeting.path)?;
    let mut talk = meeting.host(context, order)?;
    let (name, pid, socket) = match talk.hear()? {
        Teller::Started { name, pid, socket } => (name, pid, socket),
        Teller::Failed { failure } => return Err(failure),
        other => return Err(Failure::new("internal_error", format!("the host said {other:?}"))),
    };
    let ready = match limit {
        Some(limit) => {
            progress(&name, "starting");
            wait_until_ready(context, order, &name, &socket, limit, progress)
        }
        None => Ok(()),
    };
    let joined = ready.and_then(|()| {
        talk.say(&Asker::Join)?;
        match talk.hear()? {
            Teller::Joined => Ok(()),
            Teller::Failed { failure } => Err(failure),
            other => Err(Failure::new("internal_error", format!("the host said {other:?}"))),
        }
    });
    if let Err(failure) = joined {
        // It ends when nobody is at the other end any more; when it has, nothing is left of it.
        let host = Claim::of(pid);
        drop(talk);
        let deadline = Instant::now() + PATIENCE;
        while host.is_alive() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        return Err(failure);
    }
    Ok(Started { name, pid, socket, took: begun.elapsed() })
}

/// Starts its host.
fn open(context: &Context, order: &Order, place: &Where, socket: &Path) -> Result<(), Failure> {
    let ringer = std::env::current_exe()?.display().to_string();
    let words = |stage: &str| {
        let socket = socket.display().to_string();
        [&ringer, "host", "--socket", &socket, "--stage", stage].map(str::to_owned).to_vec()
    };
    match place {
        Where::Pane(multiplexer) => {
            multiplexer.open(&words("environment"), &order.cwd).map_err(|fault| {
                let message = format!("could not open a pane in {}", multiplexer.as_str());
                Failure::new("not_started", message).cause(&fault).hint("try `--in host`")
            })?;
        }
        Where::Background => {
            let words = words("fork");
            let mut command = program(&words[0]);
            command.args(&words[1..]).env_clear().envs(context.environment());
            command.stdin(Stdio::null()).stdout(Stdio::null()).current_dir("/");
            command.status()?;
        }
    }
    Ok(())
}

/// Where the host finds us; gone when this is dropped.
struct Meeting {
    listener: UnixListener,
    path: PathBuf,
}

impl Meeting {
    fn at(path: PathBuf) -> Result<Self, Failure> {
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path })
    }

    /// Waits for the host, and hands it what it needs.
    fn host(&self, context: &Context, order: &Order) -> Result<Talk, Failure> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let stream = self.accept(deadline)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let mut talk = Talk::new(stream, "the host of the worker");
            match talk.hear()? {
                Teller::Environment => {
                    let variables = context.environment();
                    talk.say(&Asker::Environment { variables })?;
                }
                Teller::Order => {
                    talk.say(&Asker::Start { order: Box::new(order.clone()) })?;
                    return Ok(talk);
                }
                other => {
                    let message = format!("the host said {other:?}");
                    return Err(Failure::new("internal_error", message));
                }
            }
        }
    }

    fn accept(&self, deadline: Instant) -> Result<UnixStream, Failure> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    return Ok(stream);
                }
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(e) => return Err(e.into()),
            }
            if Instant::now() > deadline {
                let message = "the host of the worker did not start";
                return Err(Failure::new("not_started", message));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

/// Looks at a worker until it is at its prompt.
fn wait_until_ready(
    context: &Context,
    order: &Order,
    name: &str,
    socket: &Path,
    limit: Duration,
    progress: &dyn Fn(&str, &str),
) -> Result<(), Failure> {
    let profile = Profile::load(&order.profile, &workers_dir(&context.config.0))?;
    let begun = Instant::now();
    let mut last: Option<Sight> = None;
    let mut said = String::new();
    let ended = |last: Option<&Sight>| {
        let message = format!("{name} ended before it was ready");
        with_screen(context, Failure::new("not_started", message), last)
    };
    let mut host = HostClient::connect(socket).map_err(|_| ended(None))?;
    loop {
        match host.look() {
            Ok(Some(sight)) => last = Some(sight),
            Ok(None) | Err(_) => return Err(ended(last.as_ref())),
        }
        let sight = last.as_ref().expect("just looked");
        if sight.occupant.foreground.is_none() {
            return Err(ended(last.as_ref()));
        }
        let (condition, hold) = Gate::new(&profile).condition(sight);
        let is_settled = !profile.is_plain() || begun.elapsed() > SETTLED;
        if condition == Condition::Ready && is_settled && hold.is_none() {
            return Ok(());
        }
        let (reason, why) =
            hold.map_or(("starting".to_owned(), String::new()), |hold| (hold.reason, hold.why));
        if condition == Condition::Asking && said != reason {
            progress(name, &format!("{why} (`ringer attach {name}` shows it)"));
            said.clone_from(&reason);
        }
        if begun.elapsed() > limit {
            let seconds = limit.as_secs();
            let message = format!("{name} was not at its prompt after {seconds} s: {reason}");
            let failure = Failure::new("not_started", message)
                .hint("look at its last screen above; `--timeout SECONDS` gives it more time");
            return Err(with_screen(context, failure, last.as_ref()));
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// The failure, with what the worker showed last.
fn with_screen(context: &Context, failure: Failure, last: Option<&Sight>) -> Failure {
    let rows = last.map_or(&[][..], |sight| &sight.screen.rows[..]);
    let end = rows.iter().rposition(|row| !row.trim().is_empty()).map_or(0, |at| at + 1);
    let rows = &rows[end.saturating_sub(LAST_ROWS)..end];
    if rows.is_empty() {
        return failure;
    }
    if !context.out.json {
        for row in rows {
            context.out.note(&format!("  | {row}"));
        }
    }
    failure.detail("screen", json!(rows))
}
