//! What is done beside the core: everything that may wait for a file.
//!
//! Owns when: one job of a kind at a time, again if something happened meanwhile, later if its time
//! has not come. So a burst on one inbox is read once, and one bad file holds up nobody else.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ringer_teams::ClaudeDir;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use super::core::Event;
use super::farewell;
use super::follow::{self, Followed};
use super::intake::{self, Mail, Owner};
use super::shared::{Shared, blocking};
use super::visit::{self, Visit};
use super::watchdog::{self, Round};
use super::watcher::Noted;
use crate::depart::{NOT_DELIVERED, give_back, give_back_tasks, take_off, team_of};
use crate::desk::look_for_freed;
use crate::error::Result;
use crate::journal::MemberId;
use crate::observe::Heard;
use crate::roster::Roster;

/// At a time: each may wait for a second for a file that somebody is writing.
const AT_A_TIME: usize = 16;

/// Of those that may wait for a worker, and take long: mail does not wait for them.
const SLOW_AT_A_TIME: usize = 16;

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Job {
    /// Put members on the team in this directory, and find their inboxes.
    Visit(PathBuf),
    /// See whether anybody can begin a task of the team in this directory.
    Board(PathBuf),
    /// Read an inbox of ours.
    Read(PathBuf, Owner),
    /// See what was taken from somebody else's inbox.
    Receipts(PathBuf),
    /// See whether a member has been asked something and does not answer.
    Requests(MemberId),
    /// End a member that agreed to it.
    Retire(MemberId),
    /// See whether a member's worker is there.
    Check(MemberId),
    /// Move workers to where their leads are.
    Follow,
    /// Take a member out of a `config.json` that was struck off the roster.
    TakeOff(MemberId),
    /// Give back what came for a worker when it had ended.
    Leftovers(MemberId),
    /// Take in what the transcripts of a team's lead have that is new.
    Listen(PathBuf),
    /// The same, and tell what is different on disk.
    Compare(PathBuf),
    /// See whether anything moves on teams with something to do.
    Watch,
}

impl Job {
    fn is_slow(&self) -> bool {
        matches!(self, Self::Retire(_) | Self::Check(_) | Self::Watch)
    }

    /// What it is about.
    pub(crate) fn about(&self) -> String {
        match self {
            Self::Visit(path) | Self::Read(path, _) | Self::Receipts(path) => {
                path.display().to_string()
            }
            Self::Listen(path) => format!("the transcript of the lead of {}", path.display()),
            Self::Compare(path) => format!("the picture of {}", path.display()),
            Self::Board(path) => format!("the tasks of {}", path.display()),
            Self::Requests(id) => format!("requests to {id}"),
            Self::Retire(id) => format!("the end of {id}"),
            Self::Check(id) => format!("the worker of {id}"),
            Self::Follow => "workers that follow their leads".to_owned(),
            Self::TakeOff(id) => format!("taking {id} off its team"),
            Self::Leftovers(id) => format!("mail for {id}, which has ended"),
            Self::Watch => "the watchdog".to_owned(),
        }
    }
}

/// What a job came to.
#[derive(Debug)]
pub(crate) enum Finding {
    Visit(Visit),
    /// What an inbox of ours had.
    Mail(Mail),
    /// What the journal now says of our own messages there.
    Receipts,
    /// When to look again, if somebody is still to answer.
    Requests(Option<Duration>),
    /// When to look again, if it is away and may come back.
    Checked(Option<Duration>),
    /// Where workers moved to.
    Followed(Followed),
    /// Where a team is heard of.
    Heard(Heard),
    /// What the watchdog saw.
    Watched(Round),
    /// It is done.
    Done,
}

/// All jobs.
pub(crate) struct Jobs {
    claude: ClaudeDir,
    shared: Arc<Shared>,
    events: mpsc::Sender<Event>,
    permits: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    /// Those that run, and whether each is to be done again.
    running: HashMap<Job, Option<Noted>>,
    /// Those whose time has not come.
    due: BTreeMap<Job, (Instant, Noted)>,
}

impl Jobs {
    pub(crate) fn new(claude: ClaudeDir, shared: Arc<Shared>, events: mpsc::Sender<Event>) -> Self {
        let permits = Arc::new(Semaphore::new(AT_A_TIME));
        let slow = Arc::new(Semaphore::new(SLOW_AT_A_TIME));
        let (running, due) = (HashMap::new(), BTreeMap::new());
        Self { claude, shared, events, permits, slow, running, due }
    }

    /// Whether none runs.
    pub(crate) fn are_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Lets it be done; if it runs already, once more afterwards.
    pub(crate) fn start(&mut self, job: Job, noted: Noted) {
        if let Some(again) = self.running.get_mut(&job) {
            let old = *again.get_or_insert(noted);
            *again = Some(Noted { since: old.since, stage: old.stage.min(noted.stage) });
            return;
        }
        self.due.remove(&job);
        self.running.insert(job.clone(), None);
        let (claude, shared) = (self.claude.clone(), self.shared.clone());
        let permits = if job.is_slow() { &self.slow } else { &self.permits };
        let (permits, events) = (permits.clone(), self.events.clone());
        let work = move || {
            let finding = run(&job, noted, &claude, &shared);
            // If nobody listens any more, the daemon ends.
            events.blocking_send(Event::Finished(job, finding)).ok();
        };
        match permits.clone().try_acquire_owned() {
            Ok(permit) => drop(tokio::task::spawn_blocking(move || {
                work();
                drop(permit);
            })),
            Err(_) => drop(tokio::spawn(async move {
                let _permit = permits.acquire_owned().await;
                blocking(work).await;
            })),
        }
    }

    /// Lets it be done then, unless something happens before.
    pub(crate) fn start_at(&mut self, when: Instant, job: Job, noted: Noted) {
        self.due.entry(job).or_insert((when, noted));
    }

    /// Lets it be done when nothing has asked for it for so long, but not put off for longer than `most`.
    pub(crate) fn start_after(&mut self, pause: Duration, most: Duration, job: Job, noted: Noted) {
        let (when, noted) = self.due.entry(job).or_insert((Instant::now(), noted));
        *when = (Instant::now() + pause).min(Instant::from_std(noted.since + most));
    }

    /// It is done; if it is to be done again, it has begun.
    pub(crate) fn finished(&mut self, job: &Job) {
        if let Some(Some(again)) = self.running.remove(job) {
            self.start(job.clone(), again);
        }
    }

    /// When the next is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due.values().map(|(when, _)| *when).min()
    }

    /// Starts what is due.
    pub(crate) fn start_due(&mut self, now: Instant) {
        let due = self.due.iter().filter(|(_, (when, _))| *when <= now);
        for (job, noted) in due.map(|(job, (_, noted))| (job.clone(), *noted)).collect::<Vec<_>>() {
            self.start(job, noted);
        }
    }
}

fn run(job: &Job, noted: Noted, claude: &ClaudeDir, shared: &Shared) -> Result<Finding> {
    let journal = &shared.journal;
    Ok(match job {
        Job::Visit(dir) => Finding::Visit(visit::visit(
            claude,
            &shared.state,
            dir,
            shared.settings().place.announce,
        )?),
        Job::Read(path, owner) => {
            let debounce = shared.settings().debounce();
            shared.expect(&owner.member);
            let mail = intake::read_inbox(journal, path, owner, noted, debounce)?;
            if mail.count > 0 {
                // The delivery need not wait for the disk, nor for the core.
                shared.ring(&owner.member);
                journal.sync()?;
            }
            Finding::Mail(mail)
        }
        Job::Receipts(path) => {
            intake::read_receipts(journal, path)?;
            Finding::Receipts
        }
        Job::Board(dir) => {
            let name = dir.file_name().unwrap_or_default().to_string_lossy();
            if let Some(team) = claude.team_in(&name)? {
                look_for_freed(claude, &shared.state, &team)?;
            }
            Finding::Done
        }
        Job::Requests(id) => Finding::Requests(farewell::unanswered(claude, shared, id)?),
        Job::Retire(id) => {
            farewell::retire(claude, shared, id)?;
            Finding::Done
        }
        Job::Check(id) => Finding::Checked(farewell::check(claude, shared, id)?),
        Job::Follow => Finding::Followed(follow::follow(claude, shared)?),
        Job::TakeOff(id) => {
            if let Some(team) = team_of(claude, id)? {
                take_off(&shared.state, &team, &id.name)?;
            }
            Roster::has_left(&shared.state, &id.team_dir, &id.name)?;
            Finding::Done
        }
        Job::Leftovers(id) => {
            // Who has the name now gets its mail. One of ours that is not on the roster is about to be taken off.
            let roster = Roster::load(&shared.state)?;
            let team = team_of(claude, id)?;
            let member = team.as_ref().and_then(|team| team.config.member(&id.name));
            let is_taken = roster.find(&id.team_dir, &id.name).is_some()
                || member.is_some_and(|member| !member.is_synthetic());
            if !is_taken {
                let why = (NOT_DELIVERED, "it had ended before");
                give_back(claude, &shared.state, journal, id, why)?;
                if let Some(team) = &team {
                    give_back_tasks(&shared.state, team, &id.name, why.1)?;
                }
            }
            Finding::Done
        }
        Job::Listen(dir) => Finding::Heard(shared.listener.listen(claude, journal, dir)?),
        Job::Compare(dir) => {
            let hears = shared.settings().observe.transcripts;
            Finding::Heard(shared.listener.compare(claude, journal, dir, hears)?)
        }
        Job::Watch => Finding::Watched(watchdog::round(claude, shared)?),
    })
}
