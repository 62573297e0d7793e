//! A real Zellij session of a test's own, with workers in its panes.
//!
//! Owns one session whose sockets, configuration and caches are in the test's directory; it never sees
//! the user's.

use std::cell::{Cell, RefCell};
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;

use crate::cache::cache_dir;
use crate::process::{Running, command, wait_for};
use crate::world::put;

const PATIENCE: Duration = Duration::from_secs(10);
const SIZE: Winsize = Winsize { ws_row: 50, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };

/// Nothing that takes the focus, needs a plugin, or is brought back later.
const CONFIG: &str = "show_startup_tips false\nshow_release_notes false\n\
                      session_serialization false\ndefault_layout \"bare\"\n";
const LAYOUT: &str = "layout {\n    pane\n}\n";

/// The program: the one in `PATH`, else the one that `tools/setup` installed.
pub fn zellij_program() -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|dir| dir.join("zellij")).find(|file| file.is_file());
    found.unwrap_or_else(|| cache_dir().join("tools/bin/zellij"))
}

/// A Zellij session of 200×50 that ends with the test. Nobody is attached to it.
#[derive(Debug)]
pub struct Zellij {
    dir: PathBuf,
    session: String,
    /// The server's process, if it runs.
    pid: Cell<Option<i32>>,
    client: RefCell<Option<Running>>,
}

impl Zellij {
    /// Starts one with its sockets in this directory.
    pub fn start(dir: &Path) -> Result<Self> {
        Self::start_session(dir, "main")
    }

    /// Starts one of several in the same directory.
    pub fn start_session(dir: &Path, session: &str) -> Result<Self> {
        fs::create_dir_all(dir.join("config/layouts"))?;
        put(&dir.join("config/config.kdl"), CONFIG);
        put(&dir.join("config/layouts/bare.kdl"), LAYOUT);
        let zellij = Self {
            dir: dir.to_owned(),
            session: session.to_owned(),
            pid: Cell::new(None),
            client: RefCell::new(None),
        };
        zellij.restart()?;
        Ok(zellij)
    }

    /// Starts it again after [`Self::kill`], with the same name. No pane is as it was.
    pub fn restart(&self) -> Result<()> {
        self.kill()?;
        let output = self.brief().args(["attach", "--create-background", &self.session]).output();
        let output = output.context("Zellij is needed for this test; `tools/setup` installs it")?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "zellij attach: {stderr}");
        // Before its first pane is there, a server does not survive that somebody asks it something.
        let with_pane = || self.server().filter(|pid| has_pane(*pid));
        self.pid.set(Some(wait_for("the first pane", PATIENCE, with_pane)?));
        // A session that nobody was attached to has 50 columns.
        self.attach()?;
        self.detach();
        Ok(())
    }

    /// Its name.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Where its sockets are: `ZELLIJ_SOCKET_DIR`.
    pub fn sockets(&self) -> PathBuf {
        self.dir.join("z")
    }

    /// Somebody looks at it, until [`Self::detach`].
    pub fn attach(&self) -> Result<()> {
        // Now and then Zellij mistakes a client that comes for one that has just gone.
        for _ in 0..5 {
            self.client.replace(Some(self.client()?));
            let wide = |pane: &Value| pane["pane_columns"] == SIZE.ws_col;
            let attached = || {
                let clients = self.action(&["list-clients"]).ok()?;
                let panes = self.panes().ok()?;
                (clients.contains("terminal_") && panes.iter().any(wide)).then_some(())
            };
            if wait_for("the client to attach", PATIENCE / 4, attached).is_ok() {
                return Ok(());
            }
        }
        bail!("no client can attach to the session `{}`", self.session)
    }

    fn client(&self) -> Result<Running> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?.into_string()?;
        let flags = OFlags::NOCTTY.bits().cast_signed();
        let terminal = OpenOptions::new().read(true).write(true).custom_flags(flags).open(name)?;
        tcsetwinsize(&terminal, SIZE)?;
        let mut command = self.in_world(zellij_program());
        command.args(["attach", &self.session]).env("TERM", "xterm-256color");
        command.stdin(terminal.try_clone()?).stdout(terminal.try_clone()?).stderr(terminal);
        let client = Running::start_as_it_is(&mut command)?;
        drop(command);
        // What it draws has to be read, or it stops. Ends with the client.
        let mut drawn = File::from(master);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while drawn.read(&mut bytes).is_ok_and(|count| count > 0) {}
        });
        Ok(client)
    }

    /// Nobody looks at it any more.
    pub fn detach(&self) {
        self.client.take();
    }

    /// Runs an action; what it printed, without the last newline.
    pub fn action(&self, arguments: &[&str]) -> Result<String> {
        // Now and then Zellij denies a session that is there, and even calls it a success.
        for _ in 0..20 {
            let mut command = self.brief();
            command.args(["--session", &self.session, "action"]).args(arguments);
            let output = command.output()?;
            let stderr = String::from_utf8_lossy(&output.stderr);
            if stderr.starts_with("There is no active session") || stderr.starts_with("Session '") {
                thread::sleep(Duration::from_millis(20));
                continue;
            }
            ensure!(output.status.success(), "zellij {arguments:?}: {stderr}");
            let printed = String::from_utf8_lossy(&output.stdout);
            return Ok(printed.trim_end_matches('\n').to_owned());
        }
        bail!("zellij {arguments:?}: there is no session `{}`", self.session)
    }

    /// What Zellij says of its terminal panes.
    pub fn panes(&self) -> Result<Vec<Value>> {
        // Now and then it says nothing.
        let all = || {
            let printed = self.action(&["list-panes", "--json", "--all"]).ok()?;
            serde_json::from_str::<Vec<Value>>(&printed).ok()
        };
        let all = wait_for("a list of panes", PATIENCE, all)?;
        Ok(all.into_iter().filter(|pane| pane["is_plugin"] == false).collect())
    }

    /// What Zellij says of a pane, if it is there.
    pub fn pane(&self, pane: &str) -> Result<Option<Value>> {
        let id: u64 = pane.trim_start_matches("terminal_").parse()?;
        Ok(self.panes()?.into_iter().find(|pane| pane["id"] == id))
    }

    /// Opens a pane of 198×48 in which this program runs, with no shell around it, and which goes when
    /// it ends; its name. It floats: a tab of its own would have no room while nobody is attached.
    pub fn worker(&self, program: &[&str]) -> Result<String> {
        let place = ["--floating", "--x", "0", "--y", "0", "--width", "100%", "--height", "100%"];
        self.worker_with(&[&["--close-on-exit"], &place[..]].concat(), program)
    }

    /// The same with other options; without any, it takes half of the session's first pane.
    pub fn worker_with(&self, options: &[&str], program: &[&str]) -> Result<String> {
        let before = self.panes()?;
        let mut arguments = vec!["new-pane", "--no-focus", "--name", ""];
        arguments.extend(options);
        arguments.push("--");
        arguments.extend(program);
        let printed = self.action(&arguments)?;
        if printed.starts_with("terminal_") {
            return Ok(printed);
        }
        // The answer went astray.
        let is_new = |pane: &Value| before.iter().all(|old| old["id"] != pane["id"]);
        let new = || self.panes().ok()?.into_iter().find(is_new);
        Ok(format!("terminal_{}", wait_for("a new pane", PATIENCE, new)?["id"]))
    }

    /// What is visible in a pane, without wraps.
    pub fn screen(&self, pane: &str) -> Result<String> {
        self.action(&["dump-screen", "--pane-id", pane])
    }

    /// Stops the server in its tracks, so that it answers nobody.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Ends the server and everything in it, and waits until it is gone.
    pub fn kill(&self) -> Result<()> {
        self.detach();
        let Some(pid) = self.pid.take() else { return Ok(()) };
        let pid = Pid::from_raw(pid).context("a process")?;
        // By signal: a stopped server takes no command.
        kill_process(pid, Signal::KILL).ok();
        wait_for("Zellij to end", PATIENCE, || self.server().is_none().then_some(()))
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self.pid.get().and_then(Pid::from_raw).context("the server does not run")?;
        Ok(kill_process(pid, signal)?)
    }

    /// The process that has the session, by the socket that it was started with.
    fn server(&self) -> Option<i32> {
        let sockets = format!("--server\0{}/", self.sockets().display());
        let socket = format!("/{}\0", self.session);
        let is_it = |pid: &i32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words);
            words.contains(&sockets) && words.ends_with(&socket)
        };
        let all = fs::read_dir("/proc").ok()?.flatten();
        // The last one: it starts itself again to go to the background.
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_it).max()
    }

    /// For a short while: a `zellij` whose server ends goes round in circles for ever.
    fn brief(&self) -> Command {
        let mut command = self.in_world("timeout");
        command.arg((PATIENCE / 3).as_secs().to_string()).arg(zellij_program());
        command
    }

    fn in_world(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = command(program);
        for variable in ["ZELLIJ", "ZELLIJ_SESSION_NAME", "ZELLIJ_PANE_ID"] {
            command.env_remove(variable);
        }
        for (variable, dir) in [
            ("ZELLIJ_SOCKET_DIR", "z"),
            ("ZELLIJ_CONFIG_DIR", "config"),
            ("HOME", "."),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_RUNTIME_DIR", "run"),
            ("TMPDIR", "."),
        ] {
            command.env(variable, self.dir.join(dir));
        }
        command.env("SHELL", "/bin/sh").current_dir(&self.dir);
        command
    }
}

/// Whether a server has started something with a terminal of its own. That it has a child is not
/// enough: it starts itself again to go to the background.
fn has_pane(server: i32) -> bool {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_pane = |entry: fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let [_, parent, _, session, terminal, ..] = fields[..] else { return false };
        let leads = entry.file_name().to_str() == Some(session) && terminal != "0";
        parent == server.to_string() && leads
    };
    all.into_iter().any(is_pane)
}

impl Drop for Zellij {
    fn drop(&mut self) {
        self.kill().ok();
    }
}
