//! The lead in a terminal: lives through everything, with a look at the disk at quiet moments.
//!
//! Owns the moments. A checkpoint is only taken when neither the transcript nor the team has changed
//! for a while, so that both tell of the same.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ringer_testkit::{Claude, wait_for};
use serde_json::Value;

use crate::disk::Team;
use crate::life::{Life, STARTED};

const PATIENCE: Duration = Duration::from_mins(1);

/// The lead looks into its inbox every second, and a teammate may take two to answer.
const QUIET: Duration = Duration::from_secs(4);

/// Lives it; the transcript, and the checkpoints.
pub(crate) fn live(life: &Life, root: &Path) -> Result<(String, Vec<Value>)> {
    let claude = Claude::start(&life.version, root)?;
    life.queue_others(claude.model());
    claude.act(life.founding())?;
    let team = Team::find(&claude.dir()).context("the team")?;
    let transcript = transcript(&claude.dir(), team.lead_session())?;
    let scene = Scene { claude: &claude, team: &team, transcript: &transcript };
    let mut checkpoints = vec![scene.quiet(&[STARTED])?];

    team.add_gemini(claude.work())?;
    claude.act(life.talk())?;
    scene.quiet(&["hello gemini"])?;
    team.reply_of_gemini("GEMINI-REPLY done")?;
    scene.quiet(&["GEMINI-REPLY"])?;
    claude.act(life.work())?;
    checkpoints.push(scene.quiet(&["Task not found"])?);

    claude.act(life.shutdown(claude.model()))?;
    scene.wait("the teammate to be gone", || !team.has("alice"))?;
    checkpoints.push(scene.quiet(&["shutdown_approved"])?);

    if life.by_tool {
        team.remove_gemini()?;
        claude.act(life.end())?;
        checkpoints.push(scene.quiet(&["Cleaned up"])?);
    }
    // Some write what it cost when they end.
    claude.exit()?;
    Ok((fs::read_to_string(&transcript)?, checkpoints))
}

fn transcript(claude: &Path, session: &str) -> Result<PathBuf> {
    let projects = fs::read_dir(claude.join("projects"))?.flatten();
    let mut files = projects.map(|entry| entry.path().join(format!("{session}.jsonl")));
    files.find(|path| path.exists()).context("the lead's transcript")
}

struct Scene<'a> {
    claude: &'a Claude,
    team: &'a Team,
    transcript: &'a Path,
}

impl Scene<'_> {
    /// Waits until the transcript has all of these texts and everything is quiet; what is there then.
    fn quiet(&self, texts: &[&str]) -> Result<Value> {
        let last = RefCell::new((Instant::now(), None));
        let quiet = || {
            let written = fs::read_to_string(self.transcript).ok()?;
            let complete = texts.iter().all(|text| written.contains(text));
            let state = self.team.state(written.lines().count());
            let (since, known) = &mut *last.borrow_mut();
            if !complete || self.team.has_mail() || state.is_none() || state != *known {
                (*since, *known) = (Instant::now(), state);
                return None;
            }
            (since.elapsed() > QUIET).then_some(state)?
        };
        wait_for(&format!("{texts:?} and quiet"), PATIENCE, quiet).with_context(|| self.seen())
    }

    fn wait(&self, what: &str, condition: impl Fn() -> bool) -> Result<()> {
        wait_for(what, PATIENCE, || condition().then_some(())).with_context(|| self.seen())
    }

    fn seen(&self) -> String {
        format!("screen:\n{}\nmodel:\n{}", self.claude.screen(), self.claude.model().end())
    }
}
