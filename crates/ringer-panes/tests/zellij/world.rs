//! The world of these tests: a Zellij session, receivers in it, and ways to wait for them.
//!
//! Owns the deadlines. Nothing here outlives its test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ringer_panes::{Fault, Pane, Payload, Sight, ZellijPane, ZellijSessions};
use ringer_testkit::{Received, Zellij, put, received, receiver_program, wait_for, zellij_program};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A Zellij session and receivers in it.
pub(crate) struct World {
    pub(crate) zellij: Zellij,
    pub(crate) sessions: ZellijSessions,
    pub(crate) dir: TempDir,
}

impl World {
    pub(crate) fn new() -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("ringer-panes-").tempdir()?;
        let zellij = Zellij::start(dir.path())?;
        let sessions = ZellijSessions::of(zellij_program(), zellij.sockets());
        Ok(Self { zellij, sessions, dir })
    }

    pub(crate) fn pane(&self, id: &str) -> ZellijPane {
        self.sessions.pane(self.zellij.session(), id)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A receiver that shows its prompt.
    pub(crate) fn receiver(&self, name: &str) -> Result<(String, PathBuf)> {
        self.receiver_in(&self.zellij, name, &[])
    }

    pub(crate) fn receiver_in(
        &self,
        zellij: &Zellij,
        name: &str,
        options: &[&str],
    ) -> Result<(String, PathBuf)> {
        let file = self.file(name);
        let program = receiver_program();
        let mut words = vec![text(&program), text(&file)];
        words.extend(options);
        let id = zellij.worker(&words)?;
        let prompt = || zellij.screen(&id).ok()?.contains('>').then_some(());
        wait_for("the prompt", PATIENCE, prompt)?;
        Ok((id, file))
    }

    /// A program in the shell's language.
    pub(crate) fn script(&self, script: &str) -> Result<String> {
        let path = self.file(&format!("script-{}", script.len()));
        put(&path, script);
        self.zellij.worker(&["sh", text(&path)])
    }

    pub(crate) fn until_screen(&self, id: &str, has: &str) -> Result<()> {
        let seen = || self.zellij.screen(id).ok()?.contains(has).then_some(());
        wait_for(has, PATIENCE, seen).with_context(|| self.zellij.screen(id).unwrap_or_default())
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary directories have plain names")
}

/// Looks until the condition holds. A pane that is put back where it was is nowhere for a moment.
pub(crate) async fn until(pane: &mut ZellijPane, holds: impl Fn(&Sight) -> bool) -> Result<Sight> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let seen = pane.look().await;
        if seen.as_ref().is_ok_and(&holds) {
            return Ok(seen?);
        }
        ensure!(Instant::now() < deadline, "never came, but: {seen:#?}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Looks until the pane stands still.
pub(crate) async fn settled(pane: &mut ZellijPane) -> Result<Sight> {
    let mut last = pane.look().await?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        pane.changed(&last, Duration::from_millis(100)).await;
        let now = pane.look().await?;
        if now == last {
            return Ok(now);
        }
        ensure!(Instant::now() < deadline, "never stands still: {now:#?}");
        last = now;
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

/// Pastes, waits until that is drawn, and presses Enter.
pub(crate) async fn deliver(pane: &mut ZellijPane, text: &str) -> Result<()> {
    let sight = settled(pane).await?;
    pane.paste(&Payload::new(text), &sight).await?;
    let sight = settled(pane).await?;
    pane.enter(&sight).await?;
    Ok(())
}

/// That nothing can be typed, and why.
pub(crate) async fn refused(pane: &mut ZellijPane, seen: &Sight) -> &'static str {
    let payload = Payload::new("must not arrive");
    let paste = pane.paste(&payload, seen).await.expect_err("the paste is refused");
    let enter = pane.enter(seen).await.expect_err("the Enter is refused");
    assert_eq!(paste.reason(), enter.reason());
    assert!(!paste.uncertain(), "{paste}");
    paste.reason()
}

/// Why a look fails.
pub(crate) async fn unseen(pane: &mut ZellijPane) -> Fault {
    pane.look().await.expect_err("no look")
}
