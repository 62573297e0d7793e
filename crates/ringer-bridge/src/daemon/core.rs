//! The heart of the daemon: hears what happened, and lets the right thing look.
//!
//! Owns what is known of teams and inboxes. It decides nothing from events alone: each one ends in
//! "read that again". What blocks is done elsewhere, one job per file at a time, and reports back.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ringer_teams::ClaudeDir;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::control::Request;
use super::deliver::one_line;
use super::intake::{self, Owner};
use super::report::Report;
use super::router::{Place, Router, Shared, blocking};
use super::signature::Signatures;
use super::visit::{self, Visit};
use super::watcher::{Changes, InboxWatcher, Noted, Stage};
use super::{Identification, Options};
use crate::error::Result;
use crate::journal::MemberId;
use crate::roster::Roster;
use crate::settings::Settings;

/// Between two looks at everything, in case an event was missed.
const SWEEP: Duration = Duration::from_mins(1);

/// Before something that could not be read is read again without a reason.
const RETRY: Duration = Duration::from_secs(2);

/// Between two times that a member is put back on a team that loses it again and again.
const COOLING: Duration = Duration::from_millis(200);

/// Jobs at a time: each may wait for a second for a file that somebody is writing.
const JOBS: usize = 16;

/// Before journals are pruned again.
const PRUNING: Duration = Duration::from_hours(12);

/// All that can wake the core, but for the watcher and the clock.
#[derive(Debug)]
pub(crate) enum Event {
    /// A client asks something.
    Asked(Request, oneshot::Sender<Value>),
    /// A job is done.
    Visited(PathBuf, Result<Visit>),
    Read(PathBuf, Result<usize>),
    Receipts(PathBuf, Result<usize>),
    /// The user wants everything looked at, settings included.
    Reload,
    /// The user wants it to end.
    Stop,
}

/// What is done beside the core, one of a kind at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Job {
    /// Put members on a team and find their inboxes.
    Visit(PathBuf),
    /// Read an inbox of ours.
    Read(PathBuf),
    /// See what was taken from somebody else's inbox.
    Receipts(PathBuf),
}

pub(crate) struct Core {
    options: Options,
    who: Identification,
    claude: ClaudeDir,
    watcher: InboxWatcher,
    shared: Arc<Shared>,
    router: Router,
    settings: watch::Sender<Arc<Settings>>,
    events: mpsc::Sender<Event>,
    roster: Roster,
    /// The inboxes of our members.
    inboxes: HashMap<PathBuf, Owner>,
    /// Teams of the roster that are there.
    teams: HashSet<PathBuf>,
    /// Jobs that run, and whether each is to be done again.
    running: HashMap<Job, Option<Noted>>,
    jobs: Arc<Semaphore>,
    /// What is to be done when nothing happens before.
    due: BTreeMap<Job, (Instant, Noted)>,
    cooling: HashMap<PathBuf, Instant>,
    /// What does not work, by what it is about.
    problems: BTreeMap<String, String>,
    signatures: Signatures,
    next_sweep: Instant,
    next_pruning: Instant,
    ready: bool,
    stopping: bool,
}

impl Core {
    pub(crate) fn new(
        options: Options,
        who: Identification,
        shared: Arc<Shared>,
        settings: watch::Sender<Arc<Settings>>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        let files = vec![Roster::path_in(&options.state), options.config.clone()];
        Self {
            claude: options.claude.clone(),
            watcher: InboxWatcher::new(options.claude.teams_dir(), files),
            router: Router::new(shared.clone()),
            options,
            who,
            shared,
            settings,
            events,
            roster: Roster::default(),
            inboxes: HashMap::new(),
            teams: HashSet::new(),
            running: HashMap::new(),
            jobs: Arc::new(Semaphore::new(JOBS)),
            due: BTreeMap::new(),
            cooling: HashMap::new(),
            problems: BTreeMap::new(),
            signatures: Signatures::default(),
            next_sweep: Instant::now() + SWEEP,
            next_pruning: Instant::now(),
            ready: false,
            stopping: false,
        }
    }

    /// Runs until somebody says stop.
    pub(crate) async fn run(mut self, mut heard: mpsc::Receiver<Event>, stop: watch::Sender<bool>) {
        self.look_at_everything();
        self.catch_up().await;
        while !self.stopping {
            self.announce();
            let wake_at = self.wake_at();
            tokio::select! {
                changes = self.watcher.changes() => self.changed(changes),
                Some(event) = heard.recv() => self.happened(event),
                () = tokio::time::sleep_until(wake_at) => self.clock().await,
            }
        }
        // What runs beside us ends by itself.
        stop.send_replace(true);
        self.router.finish(super::LAST_DELIVERIES).await;
    }

    /// What the journal says is still to be done, whoever left it undone.
    async fn catch_up(&mut self) {
        let journal = self.shared.journal.clone();
        let left = blocking(move || -> Result<_> {
            let mut members = journal.members_with_mail()?;
            members.extend(journal.members_with_marks()?);
            Ok((members, journal.inboxes_with_receipts_due()?))
        });
        match left.await {
            Ok((members, inboxes)) => {
                for member in members {
                    self.router.wake(&member);
                }
                for path in inboxes {
                    self.start(Job::Receipts(path), now(Stage::Closed));
                }
                self.solved("journal");
            }
            Err(error) => self.problem("journal", &one_line(&error)),
        }
    }

    /// Says once that all is looked at.
    fn announce(&mut self) {
        if !self.ready && self.running.is_empty() {
            self.ready = true;
            let watching = self.watcher.watching();
            info!(members = self.roster.members.len(), watches = watching.watches, "ready");
        }
    }

    fn wake_at(&self) -> Instant {
        let due = self.due.values().map(|(at, _)| *at);
        due.chain([self.next_sweep, self.next_pruning]).min().unwrap_or(self.next_sweep)
    }

    async fn clock(&mut self) {
        let now = Instant::now();
        let due: Vec<Job> =
            self.due.iter().filter(|(_, (at, _))| *at <= now).map(|(job, _)| job.clone()).collect();
        for job in due {
            if let Some((_, noted)) = self.due.remove(&job) {
                self.start(job, noted);
            }
        }
        if self.next_sweep <= now {
            self.sweep();
        }
        if self.next_pruning <= now {
            self.next_pruning = now + PRUNING;
            self.prune().await;
        }
    }

    /// The slow way to learn of changes: for what cannot be watched, and for what was missed.
    fn sweep(&mut self) {
        tokio::task::block_in_place(|| self.watcher.follow());
        let mut paths = vec![Roster::path_in(&self.options.state), self.options.config.clone()];
        paths.extend(self.team_dirs().iter().map(|dir| dir.join("config.json")));
        paths.extend(self.inboxes.keys().cloned());
        let changed = tokio::task::block_in_place(|| self.signatures.changed(&paths));
        for path in changed {
            self.path_changed(&path, now(Stage::Closed));
        }
        let trouble = self.watcher.watching().trouble.is_some();
        let pause = if trouble { self.shared.settings().poll() } else { SWEEP };
        self.next_sweep = Instant::now() + pause;
    }

    async fn prune(&mut self) {
        let (journal, keep) = (self.shared.journal.clone(), self.shared.settings().keep());
        let pruned = blocking(move || {
            let then = SystemTime::now().checked_sub(keep).unwrap_or(SystemTime::UNIX_EPOCH);
            journal.prune(then, |inbox| inbox.ancestors().nth(2).is_some_and(|dir| !dir.exists()))
        });
        match pruned.await {
            Ok(0) => {}
            Ok(count) => info!(count, "old messages pruned from the journal"),
            Err(error) => warn!("the journal was not pruned: {}", one_line(&error)),
        }
    }

    fn changed(&mut self, changes: Changes) {
        if changes.all {
            self.look_at_everything();
        }
        for (path, noted) in changes.paths {
            self.path_changed(&path, noted);
        }
    }

    fn path_changed(&mut self, path: &Path, noted: Noted) {
        let teams = self.claude.teams_dir();
        if path == Roster::path_in(&self.options.state) {
            self.load_roster();
        } else if path == self.options.config {
            self.load_settings();
        } else if let Ok(below) = path.strip_prefix(&teams) {
            let mut parts = below.components();
            match (parts.next(), parts.next(), parts.next()) {
                (None, ..) => self.look_at_everything(),
                (Some(team), None, _) => self.look_at_team(&teams.join(team)),
                (Some(team), Some(file), None) if file.as_os_str() == "config.json" => {
                    let job = Job::Visit(teams.join(team));
                    self.written(job, noted);
                }
                (Some(team), Some(_), None) => self.look_at_team(&teams.join(team)),
                (Some(_), Some(_), Some(_)) if self.inboxes.contains_key(path) => {
                    self.written(Job::Read(path.to_owned()), noted);
                }
                (Some(_), Some(_), Some(_)) => self.written(Job::Receipts(path.to_owned()), noted),
            }
        } else {
            // A directory on the way to something of ours.
            self.look_at_everything();
        }
    }

    /// A write that has only begun is waited for, but not for ever.
    fn written(&mut self, job: Job, noted: Noted) {
        if noted.stage == Stage::Begun {
            let at = Instant::from_std(noted.since + self.shared.settings().debounce());
            self.due.entry(job).or_insert((at, noted));
        } else {
            self.start(job, noted);
        }
    }

    fn look_at_everything(&mut self) {
        tokio::task::block_in_place(|| self.watcher.follow());
        let trouble = self.watcher.watching().trouble.is_some();
        if trouble {
            self.next_sweep = Instant::now() + self.shared.settings().poll();
        }
        self.load_roster();
        for dir in self.team_dirs() {
            self.start(Job::Visit(dir), now(Stage::Closed));
        }
        for path in self.inboxes.keys().cloned().collect::<Vec<_>>() {
            self.start(Job::Read(path), now(Stage::Closed));
        }
    }

    /// A directory of a team came, went or was replaced.
    fn look_at_team(&mut self, dir: &Path) {
        tokio::task::block_in_place(|| self.watcher.follow_team(dir));
        if self.roster.on(dir).next().is_some() {
            self.start(Job::Visit(dir.to_owned()), now(Stage::Closed));
        }
        let below: Vec<_> =
            self.inboxes.keys().filter(|path| path.starts_with(dir)).cloned().collect();
        for path in below {
            self.start(Job::Read(path), now(Stage::Closed));
        }
    }

    fn team_dirs(&self) -> HashSet<PathBuf> {
        self.roster.members.iter().map(|entry| PathBuf::from(&entry.team_dir)).collect()
    }

    fn load_roster(&mut self) {
        let loaded = tokio::task::block_in_place(|| Roster::load(&self.options.state));
        let roster = match loaded {
            Ok(roster) => roster,
            Err(error) => return self.problem("roster", &one_line(&error)),
        };
        self.solved("roster");
        if roster == self.roster && self.ready {
            return;
        }
        let before = std::mem::replace(&mut self.roster, roster);
        let places = self.roster.members.iter().map(|entry| Place {
            id: entry.id(),
            pane: entry.pane.clone(),
            occupant: entry.occupant.clone(),
        });
        self.router.assign(places.collect());
        let members: HashSet<MemberId> =
            self.roster.members.iter().map(|entry| entry.id()).collect();
        self.inboxes.retain(|_, owner| members.contains(&owner.member));
        let known: HashSet<MemberId> = before.members.iter().map(|entry| entry.id()).collect();
        for id in members.difference(&known) {
            self.router.wake(id);
            self.start(Job::Visit(id.team_dir.clone()), now(Stage::Closed));
        }
    }

    fn load_settings(&mut self) {
        let options = &self.options;
        let loaded =
            tokio::task::block_in_place(|| Settings::load(&options.config, options.config_named));
        match loaded {
            Err(error) => {
                self.problem("settings", &format!("{error}; the old settings stay"));
            }
            Ok(new) => {
                self.solved("settings");
                let old = self.shared.settings();
                if *old == new {
                    return;
                }
                info!("settings changed");
                let (was, is) = (old.delivery.parallel, new.delivery.parallel);
                if is > was {
                    self.shared.typing.add_permits(is - was);
                } else {
                    self.shared.typing.forget_permits(was - is);
                }
                self.settings.send_replace(Arc::new(new));
            }
        }
    }

    /// Lets a job be done; if it runs already, once more afterwards.
    fn start(&mut self, job: Job, noted: Noted) {
        if let Some(again) = self.running.get_mut(&job) {
            let old = *again.get_or_insert(noted);
            again.replace(Noted { since: old.since, stage: old.stage.min(noted.stage) });
            return;
        }
        if let Job::Visit(dir) = &job
            && let Some(until) = self.cooling.get(dir)
            && *until > Instant::now()
        {
            self.due.insert(job, (*until, noted));
            return;
        }
        self.due.remove(&job);
        self.running.insert(job.clone(), None);
        let (jobs, events, journal) =
            (self.jobs.clone(), self.events.clone(), self.shared.journal.clone());
        let (claude, state) = (self.claude.clone(), self.options.state.clone());
        let debounce = self.shared.settings().debounce();
        let owner = match &job {
            Job::Read(path) => self.inboxes.get(path).cloned(),
            _ => None,
        };
        tokio::spawn(async move {
            let _permit = jobs.acquire_owned().await;
            let event = blocking(move || match job {
                Job::Visit(dir) => {
                    let visit = visit::visit(&claude, &state, &dir);
                    Event::Visited(dir, visit)
                }
                Job::Read(path) => {
                    let read = owner.map_or(Ok(0), |owner| {
                        intake::read_inbox(&journal, &path, &owner, noted, debounce)
                    });
                    Event::Read(path, read)
                }
                Job::Receipts(path) => {
                    let receipts = intake::read_receipts(&journal, &path);
                    Event::Receipts(path, receipts)
                }
            });
            // If nobody listens any more, the daemon ends.
            events.send(event.await).await.ok();
        });
    }

    fn done(&mut self, job: Job) {
        if let Some(Some(again)) = self.running.remove(&job) {
            self.start(job, again);
        }
    }

    fn happened(&mut self, event: Event) {
        match event {
            Event::Visited(dir, result) => {
                let what = dir.display().to_string();
                let job = Job::Visit(dir.clone());
                match result {
                    Ok(visit) => {
                        self.solved(&what);
                        self.visited(&dir, visit);
                        self.done(job);
                    }
                    Err(error) => self.failed(job, &what, &one_line(&error)),
                }
            }
            Event::Read(path, result) => {
                let what = path.display().to_string();
                let job = Job::Read(path.clone());
                match result {
                    Ok(count) => {
                        self.solved(&what);
                        if count > 0
                            && let Some(owner) = self.inboxes.get(&path)
                        {
                            debug!(member = %owner.member, count, "new mail");
                            self.router.wake(&owner.member);
                        }
                        self.done(job);
                    }
                    Err(error) => self.failed(job, &what, &one_line(&error)),
                }
            }
            Event::Receipts(path, result) => {
                if let Err(error) = result {
                    debug!(path = %path.display(), "{}", one_line(&error));
                }
                self.done(Job::Receipts(path));
            }
            Event::Asked(request, answer) => self.asked(request, answer),
            Event::Reload => {
                self.load_settings();
                self.look_at_everything();
            }
            Event::Stop => self.stopping = true,
        }
    }

    fn failed(&mut self, job: Job, what: &str, why: &str) {
        self.problem(what, why);
        self.done(job.clone());
        if !self.running.contains_key(&job) {
            self.due.entry(job).or_insert((Instant::now() + RETRY, now(Stage::Closed)));
        }
    }

    fn visited(&mut self, dir: &Path, visit: Visit) {
        if visit.exists {
            self.teams.insert(dir.to_owned());
        } else if self.teams.remove(dir) {
            info!(dir = %dir.display(), "the team is gone; its members wait");
        }
        if visit.restored {
            self.cooling.insert(dir.to_owned(), Instant::now() + COOLING);
        }
        let about = format!("{} ", dir.display());
        self.problems.retain(|what, _| !what.starts_with(&about));
        for (member, why) in visit.problems {
            self.problem(&format!("{about}{}", member.name), &why);
        }
        for (path, owner) in visit.inboxes {
            if self.inboxes.insert(path.clone(), owner).is_none() {
                self.start(Job::Read(path), now(Stage::Closed));
            }
        }
    }

    fn asked(&mut self, request: Request, answer: oneshot::Sender<Value>) {
        match request {
            Request::Status => {
                let report = Report {
                    who: self.who.clone(),
                    ready: self.ready,
                    options: self.options.clone(),
                    watching: self.watcher.watching(),
                    poll: self.shared.settings().poll(),
                    roster: self.roster.clone(),
                    teams: self.teams.clone(),
                    problems: self.problems.clone(),
                    shared: self.shared.clone(),
                };
                // Many members are many questions to the journal.
                tokio::spawn(async move {
                    let status = blocking(move || report.status()).await;
                    answer.send(json!(status)).ok();
                });
            }
            Request::Wake => {
                self.look_at_everything();
                answer.send(json!({"success": true})).ok();
            }
            Request::Stop => {
                self.stopping = true;
                answer.send(json!({"success": true})).ok();
            }
        }
    }

    fn problem(&mut self, what: &str, why: &str) {
        let old = self.problems.insert(what.to_owned(), why.to_owned());
        if old.as_deref() != Some(why) {
            warn!("{why}");
        }
    }

    fn solved(&mut self, what: &str) {
        if self.problems.remove(what).is_some() {
            info!("{what}: good again");
        }
    }
}

fn now(stage: Stage) -> Noted {
    Noted { since: std::time::Instant::now(), stage }
}
