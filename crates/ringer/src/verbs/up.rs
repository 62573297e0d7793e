//! `ringer up`: the daemon, in the background.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use ringer_bridge::daemon::{self, Client};
use serde_json::json;

use crate::cli::Globals;
use crate::context::{Context, OWN_VARIABLES};
use crate::failure::Failure;
use crate::program::program;

/// Start the daemon in the background
///
/// Waits until it is ready. Its log is `daemon.log` in the state directory. If it runs already, all
/// is well.
#[derive(Debug, Args)]
pub(crate) struct Up {
    /// How long it may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_TIMEOUT)]
    timeout: u64,
}

const DEFAULT_TIMEOUT: u64 = 10;

/// A log larger than this is started anew; the old one is kept as `daemon.log.1`.
const LARGE_LOG: u64 = 4 * 1024 * 1024;

/// Sees that a daemon runs.
pub(crate) fn ensure(context: &Context, globals: &Globals) -> Result<(), Failure> {
    Up { timeout: DEFAULT_TIMEOUT }.start(context, globals).map(drop)
}

impl Up {
    pub(crate) fn run(self, context: &Context, globals: &Globals) -> Result<(), Failure> {
        let (pid, already) = self.start(context, globals)?;
        tell(context, pid, already)
    }

    /// Its process, and whether it ran already.
    fn start(self, context: &Context, globals: &Globals) -> Result<(u32, bool), Failure> {
        if let Some(daemon) = daemon::running(&context.state)? {
            let deadline = Instant::now() + Duration::from_secs(self.timeout);
            while Instant::now() < deadline && !is_ready(context, daemon.pid) {
                thread::sleep(Duration::from_millis(25));
            }
            return Ok((daemon.pid, true));
        }
        let log = context.state.path().join("daemon.log");
        rotate(&log);
        let old = log.metadata().map_or(0, |meta| meta.len());
        let failed = |message: &str| failed(context, &log, old, message);
        let mut child = start(context, globals, &log)?;
        let deadline = Instant::now() + Duration::from_secs(self.timeout);
        loop {
            if is_ready(context, child.id()) {
                return Ok((child.id(), false));
            }
            if let Ok(Some(status)) = child.try_wait() {
                // Somebody else was faster: that is what was wanted.
                if let Ok(client) = Client::connect(&context.state) {
                    return Ok((client.daemon.pid, true));
                }
                return Err(failed(&format!("the daemon ended at once ({status})")));
            }
            if Instant::now() > deadline {
                return Err(failed("the daemon is not ready yet"));
            }
            thread::sleep(Duration::from_millis(25));
        }
    }
}

fn tell(context: &Context, pid: u32, already: bool) -> Result<(), Failure> {
    let people = if already {
        format!("the daemon runs already, process {pid}")
    } else {
        format!("the daemon is ready, process {pid}")
    };
    let scripts = json!({"success": true, "pid": pid, "already_running": already});
    Ok(context.out.answer(&people, &scripts)?)
}

fn is_ready(context: &Context, pid: u32) -> bool {
    let status = Client::connect(&context.state).and_then(|mut client| client.status());
    status.is_ok_and(|status| status.ready && status.pid == pid)
}

fn start(context: &Context, globals: &Globals, log: &Path) -> Result<Child, Failure> {
    let cannot = |what: &str| {
        let message = format!("could not {what}");
        move |e: std::io::Error| Failure::new("internal_error", message).cause(&e)
    };
    let state = context.state.path();
    if !state.exists() {
        fs::create_dir_all(state).map_err(cannot("make the state directory"))?;
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(state, private).map_err(cannot("make the state directory private"))?;
    }
    let out = OpenOptions::new().append(true).create(true).mode(0o600).open(log);
    let out = out.map_err(cannot("open the log"))?;
    let same = out.try_clone().map_err(cannot("open the log"))?;
    let ringer = std::env::current_exe().map_err(cannot("find this program"))?;
    let mut command = program(ringer);
    command.args(["daemon", "--background"]).arg("--state-dir").arg(state);
    for name in OWN_VARIABLES {
        command.env_remove(name);
    }
    let absolute = |path: &PathBuf| context.cwd.join(path);
    if let Some(dir) = &globals.claude_dir {
        command.arg("--claude-dir").arg(absolute(dir));
    }
    if let Some(file) = &globals.config {
        command.arg("--config").arg(absolute(file));
    }
    command.args((0..globals.verbose).map(|_| "-v"));
    // Not in this directory, which somebody may want to unmount.
    command.stdin(Stdio::null()).stdout(same).stderr(out).current_dir("/");
    command.spawn().map_err(cannot("start the daemon"))
}

#[expect(clippy::disallowed_methods, reason = "nobody else reads or writes our log meanwhile")]
fn rotate(log: &Path) {
    if log.metadata().is_ok_and(|meta| meta.len() > LARGE_LOG) {
        fs::rename(log, log.with_extension("log.1")).ok();
    }
}

/// With the last lines of what is new in the log, which say why.
fn failed(context: &Context, log: &Path, old: u64, message: &str) -> Failure {
    let tail = last_lines(log, old, 10).unwrap_or_default();
    if !context.out.json {
        context.out.note(tail.trim_end());
    }
    Failure::new("not_ready", message)
        .hint(&format!("the whole log is {}", log.display()))
        .detail("log", json!(tail))
}

fn last_lines(path: &Path, after: u64, count: usize) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let from = file.metadata()?.len().saturating_sub(16 * 1024).max(after);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(count)..].join("\n"))
}
