//! The daemon: from the inbox to the pane.
//!
//! Owns its start and its end. Everything in between is event, job and queue:
//!
//! ```text
//! watcher ─► core ─► intake ─► journal ─► router ─► deliver ─► pane
//!              └───► visit (members)         └────► marker ─► inbox
//! ```

mod control;
mod core;
mod courier;
mod deliver;
mod farewell;
mod follow;
mod instance;
mod intake;
mod jobs;
mod later;
mod marker;
mod presence;
mod problems;
mod profiles;
mod report;
mod router;
mod shared;
mod signature;
mod status;
mod turn;
mod visit;
mod watchdog;
mod watcher;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ringer_teams::ClaudeDir;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tracing::info;

use self::core::{Core, Event};
use self::instance::Instance;
use self::shared::Shared;
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::settings::Settings;
use crate::state::StateDir;

pub(crate) use intake::read_receipts;
pub(crate) use marker::mark_inbox;
pub(crate) use visit::JOINED;

pub use control::{Client, running, socket_dir};
pub use follow::move_to;
pub use instance::Identification;
pub use status::{Crowded, MemberStatus, ServerStatus, Status, TeamStatus, WatchStatus};

/// How long deliveries in hand may take when the daemon ends.
const LAST_DELIVERIES: Duration = Duration::from_millis(1500);

/// How long the connections to terminals may take to close.
const CLOSING: Duration = Duration::from_millis(100);

/// Where a daemon looks.
#[derive(Debug, Clone)]
pub struct Options {
    /// Claude Code's directory.
    pub claude: ClaudeDir,
    /// Ringer's own.
    pub state: StateDir,
    /// The settings.
    pub config: PathBuf,
    /// Whether the user named that file, so that it has to be there.
    pub config_named: bool,
    /// Where sockets go; the state directory if there is no better place.
    pub runtime_dir: Option<PathBuf>,
}

impl Options {
    /// Where the user's profiles are.
    pub fn workers_dir(&self) -> PathBuf {
        workers_dir(&self.config)
    }
}

/// Where the profiles are that belong to these settings.
pub fn workers_dir(config: &Path) -> PathBuf {
    config.with_file_name("workers")
}

/// Runs the daemon in this process until it is told to end: by SIGTERM, SIGINT or `ringer down`.
pub fn run(options: Options) -> Result<()> {
    let settings = Settings::load(&options.config, options.config_named)?;
    let who = Identification {
        pid: std::process::id(),
        socket: control::socket_path(&options.state, options.runtime_dir.as_deref())?,
        started_at: jiff::Timestamp::now().as_millisecond(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let instance = Instance::claim(&options.state, &who)?;
    let journal = Journal::open(&options.state)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(64)
        .thread_name("ringer")
        .enable_all()
        .build()
        .map_err(Error::io("start threads for", options.state.path()))?;
    let done = runtime.block_on(serve(options, who, settings, journal));
    // Jobs that wait for a file end within a second or are cut off; they leave nothing half done.
    runtime.shutdown_timeout(Duration::from_millis(200));
    drop(instance);
    done
}

async fn serve(
    options: Options,
    who: Identification,
    settings: Settings,
    journal: Journal,
) -> Result<()> {
    let listener = control::listen(&who.socket)?;
    let socket = who.socket.clone();
    let (settings_in, settings) = watch::channel(Arc::new(settings));
    let (stop_in, stop) = watch::channel(false);
    let (events, heard) = mpsc::channel(256);
    let shared = Arc::new(Shared::new(journal, &options, settings, stop));
    hear_signals(&events, &options)?;
    let (ask, mut asked) = mpsc::channel(16);
    tokio::spawn(control::serve(listener, ask));
    let forward = events.clone();
    tokio::spawn(async move {
        while let Some((request, answer)) = asked.recv().await {
            forward.send(Event::Asked(request, answer)).await.ok();
        }
    });
    info!(pid = who.pid, teams = %options.claude.teams_dir().display(), "started");
    let core = Core::new(options, who, shared.clone(), settings_in, events);
    core.run(heard, stop_in).await;
    // A server that hangs is left to itself.
    tokio::time::timeout(CLOSING, shared.terminals.close_all()).await.ok();
    fs::remove_file(&socket).ok();
    info!("ended");
    Ok(())
}

/// SIGTERM and SIGINT end the daemon, SIGHUP lets it look at everything again.
fn hear_signals(events: &mpsc::Sender<Event>, options: &Options) -> Result<()> {
    for (kind, event) in [
        (SignalKind::terminate(), (|| Event::Stop) as fn() -> Event),
        (SignalKind::interrupt(), || Event::Stop),
        (SignalKind::hangup(), || Event::Reload),
    ] {
        let mut signals =
            signal(kind).map_err(Error::io("hear signals for", options.state.path()))?;
        let events = events.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                events.send(event()).await.ok();
            }
        });
    }
    Ok(())
}
