//! `ringer daemon`: the daemon, in the foreground.

use std::io::{IsTerminal, stderr};

use clap::Args;
use ringer_bridge::daemon::{Options, run};
use tracing_subscriber::filter::LevelFilter;

use crate::context::{Context, variable};
use crate::failure::Failure;

/// Run the daemon in the foreground
///
/// It watches the inboxes of registered members, types each message into its worker's pane, and marks
/// it as read. Its log goes to stderr: text on a terminal, else one JSON object a line. SIGTERM and
/// Ctrl-C end it, SIGHUP lets it read its settings again. `ringer up` runs it in the background.
///
/// RINGER_LOG sets how much it says: error, warn, info, debug or trace. Texts of messages are never
/// in the log.
#[derive(Debug, Args)]
pub(crate) struct Daemon {
    /// In a session of its own: what ends whoever started it is not meant for it
    #[arg(long, hide = true)]
    background: bool,
}

impl Daemon {
    pub(crate) fn run(self, context: &Context, verbose: u8) -> Result<(), Failure> {
        if self.background {
            rustix::process::setsid().ok();
        }
        let level = match (verbose, variable("RINGER_LOG")) {
            (0, Some(level)) => level.parse().map_err(|_| {
                Failure::usage("RINGER_LOG is none of error, warn, info, debug and trace")
            })?,
            (0, None) => LevelFilter::INFO,
            (1, _) => LevelFilter::DEBUG,
            (_, _) => LevelFilter::TRACE,
        };
        let log = tracing_subscriber::fmt().with_max_level(level).with_writer(stderr);
        if stderr().is_terminal() {
            log.with_target(false).init();
        } else {
            log.json().flatten_event(true).with_target(false).init();
        }
        let (config, config_named) = context.config.clone();
        Ok(run(Options {
            claude: context.claude.clone(),
            state: context.state.clone(),
            config,
            config_named,
            runtime_dir: context.runtime_dir.clone(),
        })?)
    }
}
