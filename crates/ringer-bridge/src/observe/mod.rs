//! The picture of each team: what its lead's transcript says, brought together with what is on disk.
//!
//! Owns following transcripts, and comparing with the files. Whatever it finds goes through the journal, which tells it
//! once. It reads only: nothing of Claude Code's is written here.

mod disk;
mod follow;
mod mail;
mod tail;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use jiff::Timestamp;
use ringer_observe::{Event, Role, TeamState, What};
use ringer_teams::{ClaudeDir, Liveness, Member, Team};

use self::follow::Follow;
use crate::error::Result;
use crate::journal::{Journal, News};

pub use tail::{Look, Part, Tail};

/// A team, and a file that tells of it.
type Source = (PathBuf, PathBuf);

/// Follows the transcripts of leads. What it has read so far is in memory and, as far as something followed from it, in
/// the journal.
#[derive(Debug, Default)]
pub struct Listener {
    follows: Mutex<HashMap<Source, Arc<Mutex<Follow>>>>,
}

/// What listening to a team came to.
#[derive(Debug, Default)]
pub struct Heard {
    /// The transcripts that tell of it.
    pub transcripts: Vec<PathBuf>,
    /// Whether there is more to be read.
    pub more: bool,
    /// How many events were told.
    pub told: usize,
}

impl Listener {
    /// Takes in what the transcripts of a team's lead have that is new.
    pub fn listen(&self, claude: &ClaudeDir, journal: &Journal, dir: &Path) -> Result<Heard> {
        let team = claude.team_in(&dir_name(dir))?;
        self.hear(claude, journal, dir, team.as_ref())
    }

    /// The same, if the lead is to be heard at all, and then makes the picture agree with what is on disk.
    pub fn compare(
        &self,
        claude: &ClaudeDir,
        journal: &Journal,
        dir: &Path,
        with_transcripts: bool,
    ) -> Result<Heard> {
        let team = claude.team_in(&dir_name(dir))?;
        let mut heard = if with_transcripts {
            self.hear(claude, journal, dir, team.as_ref())?
        } else {
            Heard::default()
        };
        // What the stream has not told yet, it may tell better.
        if heard.more {
            return Ok(heard);
        }
        let Some(team) = team else {
            journal.tell_end(dir, &event(What::Deleted, &dir_name(dir)), SystemTime::now())?;
            lock(&self.follows).retain(|(of, _), _| of != dir);
            return Ok(heard);
        };
        if !is_of_interest(&team, &heard) {
            return Ok(heard);
        }
        let first = TeamState::new(team.name(), Role::Lead);
        let (members, tasks) = (disk::members(&team), disk::tasks(&team.tasks()?));
        let told = journal.picture(dir)?.map_or(0, |(_, told)| told);
        let is_heard = !heard.transcripts.is_empty();
        let (mail, message) = mail::news(journal, &team, told, is_heard)?;
        let gather = |state: &mut TeamState| {
            let mut news = state.agree_with(&members, &tasks);
            news.retain(|what| !matches!(what, What::Created));
            let happened = news.into_iter().map(|what| event(what, team.name()));
            let said = mail.iter().filter_map(|mail| mail.event(state));
            let said: Vec<Event> = said.collect();
            happened.chain(said).collect()
        };
        let events = created(journal, &team)?.into_iter().collect();
        let news = News { events, checkpoint: None, message };
        heard.told += journal.tell(dir, &first, &news, gather, SystemTime::now())?;
        Ok(heard)
    }

    fn hear(
        &self,
        claude: &ClaudeDir,
        journal: &Journal,
        dir: &Path,
        team: Option<&Team>,
    ) -> Result<Heard> {
        let mut heard = Heard::default();
        for path in self.transcripts(claude, journal, dir, team)? {
            let source = (dir.to_owned(), path.clone());
            let known = lock(&self.follows).get(&source).cloned();
            let follow = if let Some(follow) = known {
                follow
            } else {
                let new = Arc::new(Mutex::new(Follow::begin(journal, dir, &path, team)?));
                lock(&self.follows).entry(source.clone()).or_insert(new).clone()
            };
            let done = lock(&follow).read(journal, dir);
            if done.is_err() {
                // It has read what nobody was told: the journal knows better.
                lock(&self.follows).remove(&source);
            }
            let (told, more) = done?;
            heard.told += told;
            heard.more |= more;
            heard.transcripts.push(path);
        }
        Ok(heard)
    }

    /// The transcripts of the session that made the team and, after `/clear`, of the one that leads it now. When the team
    /// is gone, those that were followed.
    fn transcripts(
        &self,
        claude: &ClaudeDir,
        journal: &Journal,
        dir: &Path,
        team: Option<&Team>,
    ) -> Result<Vec<PathBuf>> {
        let Some(team) = team else {
            let mut paths: Vec<PathBuf> =
                journal.checkpoints(dir)?.into_iter().map(|one| one.path).collect();
            let follows = lock(&self.follows);
            let followed = follows.keys().filter(|(of, _)| of == dir).map(|(_, path)| path.clone());
            paths.extend(followed);
            paths.sort();
            paths.dedup();
            paths.retain(|path| path.exists());
            return Ok(paths);
        };
        let made = team.config.lead_session_id.clone();
        let leads =
            team.config.lead_process.as_ref().and_then(|process| claude.session_of(process));
        let mut sessions: Vec<String> =
            made.into_iter().chain(leads.map(|session| session.id)).collect();
        sessions.dedup();
        let known = |session: &String| {
            let name = format!("{session}.jsonl");
            let follows = lock(&self.follows);
            let mut paths = follows.keys().filter(|(of, _)| of == dir).map(|(_, path)| path);
            paths.find(|path| path.file_name().is_some_and(|file| *file == *name)).cloned()
        };
        let find = |session: &String| known(session).or_else(|| claude.transcript_path(session));
        Ok(sessions.iter().filter_map(find).collect())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A team as it is now: what was told of it, and what is on disk. Who has left is not on it.
pub fn picture(journal: Option<&Journal>, team: &Team) -> Result<TeamState> {
    let told = journal.map(|journal| journal.picture(team.dir())).transpose()?.flatten();
    let first = || TeamState::new(team.name(), Role::Lead);
    let mut state = told.map_or_else(first, |(state, _)| state);
    state.agree_with(&disk::members(team), &disk::tasks(&team.tasks()?));
    Ok(state.without_ended())
}

/// What nobody leads any more, and what has nothing to do with us, is left alone: there can be thousands.
fn is_of_interest(team: &Team, heard: &Heard) -> bool {
    match team.lead_alive() {
        Liveness::Alive => true,
        Liveness::Unknown if !heard.transcripts.is_empty() => true,
        Liveness::Unknown | Liveness::Dead => {
            team.is_own() || team.config.members.iter().any(Member::is_synthetic)
        }
    }
}

/// That there is a team, if nobody has said so.
fn created(journal: &Journal, team: &Team) -> Result<Option<Event>> {
    let is_new = journal.picture(team.dir())?.is_none();
    Ok(is_new.then(|| event(What::Created, team.name())))
}

/// Something that was found out just now.
fn event(what: What, team: &str) -> Event {
    Event {
        what,
        session_id: None,
        team_name: Some(team.to_owned()),
        tool_use_id: None,
        time: Some(Timestamp::now().to_string()),
    }
}

fn dir_name(dir: &Path) -> String {
    dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
