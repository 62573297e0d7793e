//! The world of these tests: a tmux server, receivers in it, and ways to wait for them.
//!
//! Owns the deadlines. Nothing here outlives its test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ringer_panes::{Fault, Pane, Payload, Sight, TmuxPane, TmuxServers};
use ringer_testkit::{Received, Tmux, put, received, receiver_program, wait_for};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A tmux server and receivers in it.
pub(crate) struct World {
    pub(crate) tmux: Tmux,
    pub(crate) servers: TmuxServers,
    pub(crate) dir: TempDir,
}

impl World {
    pub(crate) fn new(servers: TmuxServers) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("ringer-panes-").tempdir()?;
        let tmux = Tmux::start(dir.path())?;
        Ok(Self { tmux, servers, dir })
    }

    pub(crate) fn pane(&self, id: &str) -> TmuxPane {
        self.servers.pane(Some(self.tmux.socket()), id)
    }

    /// A receiver that shows its prompt.
    pub(crate) fn receiver(&self, name: &str) -> Result<(String, PathBuf)> {
        let file = self.dir.path().join(name);
        let program = receiver_program();
        let id = self.tmux.worker(&[text(&program), text(&file)])?;
        self.until_screen(&id, "> ")?;
        Ok((id, file))
    }

    /// A program in the shell's language.
    pub(crate) fn script(&self, script: &str) -> Result<String> {
        let path = self.dir.path().join(format!("script-{}", script.len()));
        put(&path, script);
        self.tmux.worker(&["sh", text(&path)])
    }

    pub(crate) fn until_screen(&self, id: &str, has: &str) -> Result<()> {
        let seen = || self.tmux.screen(id).ok()?.contains(has.trim_end()).then_some(());
        wait_for(has, PATIENCE, seen).with_context(|| self.tmux.screen(id).unwrap_or_default())
    }

    pub(crate) fn no_buffer_is_left(&self) -> Result<()> {
        let left = self.tmux.run(&["list-buffers", "-F", "#{buffer_name}"])?;
        ensure!(left.is_empty(), "left behind: {left}");
        Ok(())
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary directories have plain names")
}

/// Looks until the condition holds.
pub(crate) async fn until(pane: &mut TmuxPane, holds: impl Fn(&Sight) -> bool) -> Result<Sight> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let sight = pane.look().await?;
        if holds(&sight) {
            return Ok(sight);
        }
        ensure!(Instant::now() < deadline, "never came, but: {sight:#?}");
        sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) async fn got(file: &Path, count: usize) -> Result<Vec<Received>> {
    let file = file.to_owned();
    let wait = move || {
        let all = || Some(received(&file)).filter(|all| all.len() >= count);
        wait_for("messages", PATIENCE, all)
            .with_context(|| format!("{count} expected, got {:?}", received(&file).len()))
    };
    tokio::task::spawn_blocking(wait).await?
}

/// Pastes, waits until it shows, presses Enter.
pub(crate) async fn deliver(pane: &mut TmuxPane, text: &str) -> Result<()> {
    let seen = pane.look().await?;
    pane.paste(&Payload::new(text), &seen).await?;
    enter(pane).await?;
    Ok(())
}

/// Presses Enter when the cursor has come to rest.
pub(crate) async fn enter(pane: &mut TmuxPane) -> Result<()> {
    loop {
        let seen = pane.look().await?;
        match pane.enter(&seen).await {
            Err(Fault::Typed { .. }) => {}
            done => return Ok(done?),
        }
    }
}

/// That nothing can be typed, and why.
pub(crate) async fn refused(pane: &mut TmuxPane, seen: &Sight) -> &'static str {
    let payload = Payload::new("must not arrive");
    let paste = pane.paste(&payload, seen).await.expect_err("the paste is refused");
    let enter = pane.enter(seen).await.expect_err("the Enter is refused");
    assert_eq!(paste.reason(), enter.reason());
    assert!(!paste.uncertain(), "{paste}");
    paste.reason()
}
