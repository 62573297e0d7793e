//! One transcript, read for one team.
//!
//! Owns taking it up where it was left. How far it was read is written down together with what followed from it; what has
//! no consequences is read again after a restart, and changes nothing.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ringer_observe::{Event, Observer, Role, Scanner, TeamState, What};
use ringer_teams::Team;
use serde_json::value::RawValue;
use tracing::debug;

use super::mail;
use super::tail::{Part, Tail};
use crate::error::{Error, Result};
use crate::journal::{Checkpoint, Journal, News};

/// So much is read at once; then others have their turn.
const AT_ONCE: u64 = 64 * 1024 * 1024;

/// So much may have to be read again after a restart.
const UNSAVED: u64 = 1024 * 1024;

/// A transcript that is followed.
#[derive(Debug)]
pub(super) struct Follow {
    path: PathBuf,
    /// The team, by name: one session can have led others.
    team: String,
    tail: Tail,
    scanner: Scanner,
    observer: Observer,
    saved: u64,
}

impl Follow {
    /// Takes up where the journal says, or begins.
    pub(super) fn begin(
        journal: &Journal,
        dir: &Path,
        path: &Path,
        team: Option<&Team>,
    ) -> Result<Self> {
        let known = journal.checkpoints(dir)?.into_iter().find(|one| one.path == path);
        let restored = known.and_then(|known| {
            let observer: Observer = serde_json::from_str(known.observer.get()).ok()?;
            Some((Tail::restore(known.file, known.position), observer))
        });
        let name = match team {
            Some(team) => team.name().to_owned(),
            None => journal.picture(dir)?.map(|(state, _)| state.name).unwrap_or_default(),
        };
        let (tail, observer) = restored.unwrap_or_else(|| (Tail::default(), observer(&name)));
        let (path, saved) = (path.to_owned(), tail.position);
        Ok(Self { path, team: name, tail, scanner: Scanner::new(), observer, saved })
    }

    /// Reads on and tells what happened; how many events that were, and whether there is more to read.
    pub(super) fn read(&mut self, journal: &Journal, dir: &Path) -> Result<(usize, bool)> {
        let Self { tail, scanner, observer, path, .. } = self;
        let mut events: Vec<Event> = Vec::new();
        let summary = observer.summary().cloned();
        let look = tail.read(path, AT_ONCE, |part| match part {
            Part::Anew => *scanner = Scanner::new(),
            Part::Bytes(bytes) => scanner.feed(bytes, observer, |line, seen| {
                for warning in &seen.warnings {
                    debug!(line, "in a transcript: {warning}");
                }
                events.extend(seen.events);
            }),
        });
        let look = match look {
            Ok(look) => look,
            // It was there a moment ago.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok((0, false)),
            Err(e) => return Err(Error::io("read", &self.path)(e)),
        };
        events.retain(|event| event.team_name.as_ref() == Some(&self.team));
        let mut told = Vec::with_capacity(events.len());
        for event in events {
            // What members of ours say is told from the journal.
            let is_told = match mail::shown(&event) {
                Some(from) => journal.has_sent(dir, from)?,
                None => false,
            };
            if !is_told {
                told.push(event);
            }
        }
        let done = self.tail.position - self.scanner.unfinished() as u64;
        let is_worth_it = !told.is_empty()
            || self.observer.summary() != summary.as_ref()
            || done.saturating_sub(self.saved) > UNSAVED;
        if !is_worth_it {
            return Ok((0, look.more));
        }
        let observer = serde_json::to_string(&self.observer).ok();
        let observer = observer.and_then(|text| RawValue::from_string(text).ok());
        let checkpoint = observer.zip(self.tail.file).map(|(observer, file)| Checkpoint {
            path: self.path.clone(),
            file,
            position: done,
            observer,
        });
        let created = told.first().is_none_or(|event| event.what != What::Created)
            && journal.picture(dir)?.is_none()
            && !self.team.is_empty();
        if created {
            let mut event = super::event(What::Created, &self.team);
            event.time = told.first().and_then(|first| first.time.clone()).or(event.time);
            told.insert(0, event);
        }
        let news = News { events: told, checkpoint: checkpoint.as_ref(), message: None };
        let first = TeamState::new(&self.team, Role::Lead);
        let count = journal.tell(dir, &first, &news, |_| Vec::new(), SystemTime::now())?;
        self.saved = done;
        Ok((count, look.more))
    }
}

/// A team that every session has of itself is there from the beginning; one that is made, when it is made.
fn observer(team: &str) -> Observer {
    let digits = team.strip_prefix("session-").unwrap_or_default();
    let is_implicit = digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if is_implicit { Observer::on_team(team, Role::Lead) } else { Observer::new() }
}
