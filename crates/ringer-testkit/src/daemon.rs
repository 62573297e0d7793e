//! `ringer daemon` in a world, its workers, and a lead that writes to them.
//!
//! Owns the daemon's process: it ends with the test, and if the test fails, its log is shown.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::npm::node_with;
use crate::process::{Running, wait_for};
use crate::receiver::{Received, received, receiver_program};
use crate::tmux::Tmux;
use crate::world::{World, put};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The daemon of a world, or the lack of one.
#[derive(Debug)]
pub struct Daemon<'w> {
    world: &'w World,
    child: Option<Child>,
    log: PathBuf,
}

impl<'w> Daemon<'w> {
    /// One that does not run yet.
    pub fn of(world: &'w World) -> Self {
        Self { world, child: None, log: world.path().join("daemon.log") }
    }

    /// Writes its settings.
    pub fn configure(&self, settings: &str) {
        let dir = self.world.path().join(".config/ringer");
        fs::create_dir_all(&dir).expect("directories in a temporary one");
        put(&dir.join("config.toml"), settings);
    }

    /// The command, able to find tmux.
    pub fn ringer(&self) -> Command {
        let mut ringer = self.world.ringer();
        ringer.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        ringer
    }

    /// Runs a command that has to succeed; its answer.
    pub fn ask(&self, arguments: &[&str]) -> Result<Value> {
        let output = self.ringer().arg("--json").args(arguments).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "ringer {arguments:?}: {said}");
        Ok(serde_json::from_str(&said)?)
    }

    /// Starts it and does not wait.
    pub fn spawn(&mut self) -> Result<()> {
        ensure!(self.child.is_none(), "it runs already");
        let log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let mut daemon = self.ringer();
        daemon.arg("daemon").env("RINGER_LOG", "debug");
        let daemon = daemon.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.child = Some(daemon.spawn()?);
        Ok(())
    }

    /// Starts it and waits until it is ready.
    pub fn start(&mut self) -> Result<()> {
        self.spawn()?;
        let ready = || (self.status().ok()?["ready"] == true).then_some(());
        wait_for("the daemon to be ready", PATIENCE, ready)
    }

    /// Ends it with SIGKILL, in the middle of whatever it does.
    pub fn kill(&mut self) -> Result<()> {
        let mut child = self.child.take().context("it does not run")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Ends it with SIGTERM, as users do.
    pub fn terminate(&mut self) -> Result<ExitStatus> {
        let child = self.child.as_ref().context("it does not run")?;
        let pid = Pid::from_child(child);
        kill_process(pid, Signal::TERM)?;
        let process = Path::new("/proc").join(pid.to_string());
        let is_zombie = |stat: String| stat.contains(") Z ");
        let ended = || fs::read_to_string(process.join("stat")).is_ok_and(is_zombie).then_some(());
        wait_for("the daemon to end", Duration::from_secs(2), ended)?;
        Ok(self.child.take().expect("it was there").wait()?)
    }

    /// What `ringer status` says.
    pub fn status(&self) -> Result<Value> {
        self.ask(&["status"])
    }

    /// What `ringer status` says of a member.
    pub fn member(&self, name: &str) -> Result<Value> {
        let status = self.status()?;
        let mut members = status["members"].as_array().into_iter().flatten();
        members.find(|member| member["name"] == name).cloned().context("no such member")
    }

    /// Waits until a member's state and reason are these.
    pub fn wait_for_state(&self, name: &str, state: &str, reason: Option<&str>) -> Result<Value> {
        let now = || self.member(name).ok();
        let is = |m: &Value| m["state"] == state && m["reason"] == json!(reason);
        wait_for(&format!("{name} to be {state} {reason:?}"), PATIENCE, || now().filter(is))
            .with_context(|| format!("{:?}", now()))
    }

    /// What `ringer log` says: every message.
    pub fn journal(&self) -> Result<Vec<Value>> {
        let answer = self.ask(&["log", "--last", "1000000"])?;
        Ok(answer["messages"].as_array().context("no messages")?.clone())
    }

    /// What it wrote to its log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Puts a member on a team, with a receiver in a pane of its own; `options` are the receiver's.
    pub fn worker(&self, tmux: &Tmux, team: &str, name: &str, options: &[&str]) -> Result<Worker> {
        let worker = Worker::open(self.world, tmux, name, options)?;
        self.ask(&["register", name, "--team", team, "--pane", &worker.address(tmux)])?;
        Ok(worker)
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill().ok();
        }
        if std::thread::panicking() {
            let log = self.log();
            std::io::stderr().write_all(log.as_bytes()).ok();
        }
    }
}

/// A receiver in a pane.
#[derive(Debug)]
pub struct Worker {
    /// The member's name.
    pub name: String,
    /// Its pane, as tmux calls it.
    pub pane: String,
    file: PathBuf,
}

impl Worker {
    /// Starts a receiver in a new pane and waits for its prompt. Nobody is told of it.
    pub fn open(world: &World, tmux: &Tmux, name: &str, options: &[&str]) -> Result<Self> {
        let file = world.path().join(format!("{name}.received"));
        let (program, path) = (receiver_program(), file.to_string_lossy().into_owned());
        let program = program.to_string_lossy().into_owned();
        let pane = tmux.worker(&[&[program.as_str(), path.as_str()], options].concat())?;
        let prompt = || tmux.screen(&pane).ok()?.contains('>').then_some(());
        wait_for("the receiver's prompt", PATIENCE, prompt)?;
        Ok(Self { name: name.to_owned(), pane, file })
    }

    /// Where it is, as `ringer register` takes it.
    pub fn address(&self, tmux: &Tmux) -> String {
        format!("tmux:{}:{}", tmux.socket(), self.pane)
    }

    /// What it got so far.
    pub fn received(&self) -> Vec<Received> {
        received(&self.file)
    }

    /// The texts of that.
    pub fn texts(&self) -> Vec<String> {
        self.received().into_iter().map(|one| one.text).collect()
    }

    /// Waits until it has got so many, or more.
    pub fn wait_for(&self, count: usize, limit: Duration) -> Result<Vec<String>> {
        let texts = || Some(self.texts()).filter(|texts| texts.len() >= count);
        wait_for(&format!("{count} messages to {}", self.name), limit, texts)
            .with_context(|| format!("{} came", self.texts().len()))
    }
}

/// How Claude Code writes an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// As old versions do: truncates it and writes.
    InPlace,
    /// As newer ones do: with a temporary file. Messages have identities.
    Rename,
}

/// A lead that sends to several members at once, and to each in order.
#[derive(Debug)]
pub struct Lead {
    how: Writing,
    mail: Vec<Value>,
    pause: (usize, Duration),
    again: bool,
}

impl Lead {
    /// One with nothing to say.
    pub fn new(how: Writing) -> Self {
        Self { how, mail: Vec::new(), pause: (1, Duration::ZERO), again: false }
    }

    /// Pauses after every `burst` messages to a member.
    #[must_use]
    pub fn pausing(mut self, burst: usize, pause: Duration) -> Self {
        self.pause = (burst, pause);
        self
    }

    /// Sends a message again that found its inbox locked for too long, until it does not.
    #[must_use]
    pub fn insisting(mut self) -> Self {
        self.again = true;
        self
    }

    /// Messages for an inbox: objects with `text`, `summary`, and whatever else there is to be.
    #[must_use]
    pub fn to(mut self, inbox: &Path, messages: &[Value]) -> Self {
        self.mail.push(json!({"inbox": inbox, "messages": messages}));
        self
    }

    /// Starts it: a real Node with the library that Claude Code locks with.
    pub fn start(self, world: &World) -> Result<Running> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let plan = world.path().join(format!("plan-{number}.json"));
        let how = if self.how == Writing::InPlace { "in-place" } else { "rename" };
        let (burst, pause) = self.pause;
        let pause = u64::try_from(pause.as_millis())?;
        let all = json!({
            "how": how, "burst": burst, "pause": pause, "again": self.again, "mail": self.mail,
        });
        put(&plan, &all.to_string());
        for mail in &self.mail {
            let inbox = Path::new(mail["inbox"].as_str().context("a plain path")?);
            fs::create_dir_all(inbox.parent().context("a directory")?)?;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/node/lead.cjs");
        Running::start(node_with("proper-lockfile", "4.1.2")?.arg(script).arg(plan))
    }

    /// Lets it send everything, and waits until that is done. No message may have found its inbox
    /// locked for too long.
    pub fn send(self, world: &World) -> Result<()> {
        let refused = Self::finish(self.start(world)?)?;
        ensure!(refused == 0, "{refused} times the lock was not to be had");
        Ok(())
    }

    /// Waits until all is sent; how often a message found its inbox locked for too long. Such a
    /// message was not sent, unless it insists.
    pub fn finish(lead: Running) -> Result<u64> {
        let output = lead.finish()?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let answer: Value = serde_json::from_slice(&output.stdout).context(error)?;
        answer["refused"].as_u64().context("no number")
    }
}
