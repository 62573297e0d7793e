//! The heart of the daemon: hears what happened, and lets the right thing look.
//!
//! Owns what is known of teams and inboxes. It decides nothing from events alone: each one ends in
//! "read that again". What blocks is done elsewhere, one job per file at a time, and reports back.

mod found;
mod hearing;
mod reload;
mod upkeep;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ringer_teams::ClaudeDir;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tracing::info;

use super::control::Request;
use super::intake::Owner;
use super::jobs::{Finding, Job, Jobs};
use super::later::one_line;
use super::presence::Presence;
use super::problems::Problems;
use super::report::Report;
use super::router::Router;
use super::shared::{Shared, blocking};
use super::signature::Signatures;
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

/// Before journals are pruned again.
const PRUNING: Duration = Duration::from_hours(12);

/// All that can wake the core, but for the watcher and the clock.
#[derive(Debug)]
pub(crate) enum Event {
    /// A client asks something.
    Asked(Request, oneshot::Sender<Value>),
    /// A job is done.
    Finished(Job, Result<Finding>),
    /// The process of a member's worker has ended.
    Ended(MemberId),
    /// What the journal says is still to be done.
    Left(Result<Left>),
    /// The user wants everything looked at, settings included.
    Reload,
    /// The user wants it to end.
    Stop,
}

/// What somebody left undone.
#[derive(Debug)]
pub(crate) struct Left {
    /// Members with something to be delivered or marked.
    members: Vec<MemberId>,
    /// Members that were asked to shut down, lately.
    asked: Vec<MemberId>,
    /// Workers that ended lately.
    ended: Vec<MemberId>,
    /// Inboxes with messages of ours.
    inboxes: Vec<PathBuf>,
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
    /// Transcripts that are followed, and the teams that each tells of.
    transcripts: HashMap<PathBuf, HashSet<PathBuf>>,
    /// Transcripts beside them, of sessions that lead no team.
    strangers: HashSet<PathBuf>,
    jobs: Jobs,
    presence: Presence,
    /// Teams that lose our members again and again, and when each may be visited next.
    cooling: HashMap<PathBuf, Instant>,
    problems: Problems,
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
            watcher: InboxWatcher::new(&options.claude, files),
            router: Router::new(shared.clone()),
            jobs: Jobs::new(options.claude.clone(), shared.clone(), events.clone()),
            presence: Presence::new(events.clone()),
            events,
            options,
            who,
            shared,
            settings,
            roster: Roster::default(),
            inboxes: HashMap::new(),
            teams: HashSet::new(),
            transcripts: HashMap::new(),
            strangers: HashSet::new(),
            cooling: HashMap::new(),
            problems: Problems::default(),
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
        self.catch_up(true);
        while !self.stopping {
            self.announce();
            let wake_at = self.wake_at();
            tokio::select! {
                changes = self.watcher.changes() => self.changed(changes),
                Some(event) = heard.recv() => self.happened(event),
                () = tokio::time::sleep_until(wake_at) => self.clock(),
            }
        }
        // What runs beside us ends by itself.
        stop.send_replace(true);
        self.router.finish(super::LAST_DELIVERIES).await;
    }

    /// Says once that all is looked at.
    fn announce(&mut self) {
        if !self.ready && self.jobs.are_idle() {
            self.ready = true;
            let watching = self.watcher.watching();
            info!(members = self.roster.members.len(), watches = watching.watches, "ready");
        }
    }

    fn wake_at(&self) -> Instant {
        let clock = self.next_sweep.min(self.next_pruning);
        self.jobs.next_due().map_or(clock, |due| due.min(clock))
    }

    fn clock(&mut self) {
        let now = Instant::now();
        self.jobs.start_due(now);
        if self.next_sweep <= now {
            self.sweep();
        }
        if self.next_pruning <= now {
            self.next_pruning = now + PRUNING;
            self.prune();
        }
    }

    fn changed(&mut self, changes: Changes) {
        for path in &changes.gone {
            tokio::task::block_in_place(|| self.watcher.forget(path));
        }
        if changes.all {
            self.look_at_everything();
        }
        for (path, noted) in changes.paths {
            self.path_changed(&path, noted);
        }
    }

    fn path_changed(&mut self, path: &Path, noted: Noted) {
        let teams = self.claude.teams_dir();
        self.picture_changed(path);
        if path == Roster::path_in(&self.options.state) {
            self.load_roster();
        } else if path == self.options.config {
            self.load_settings();
        } else if let Ok(below) = path.strip_prefix(&teams) {
            let mut parts = below.components();
            match (parts.next(), parts.next(), parts.next()) {
                (None, ..) => self.look_at_everything(),
                (Some(team), Some(file), None) if file.as_os_str() == "config.json" => {
                    let dir = teams.join(team);
                    // A team of nobody's may be the one that somebody waits for.
                    let known = self.roster.on(&dir).next().is_some();
                    if known {
                        self.written(Job::Visit(dir), noted);
                    }
                    if self.somebody_follows() {
                        self.written(Job::Follow, noted);
                    }
                }
                (Some(team), _, None) => self.look_at_team(&teams.join(team)),
                (Some(_), _, Some(_)) => {
                    let job = match self.inboxes.get(path) {
                        Some(owner) => Job::Read(path.to_owned(), owner.clone()),
                        None => Job::Receipts(path.to_owned()),
                    };
                    self.written(job, noted);
                }
            }
        } else if let Ok(below) = path.strip_prefix(self.claude.tasks_dir()) {
            let mut parts = below.components();
            match (parts.next(), parts.next()) {
                (None, _) => self.look_at_everything(),
                (Some(team), file) => {
                    let dir = teams.join(team);
                    if file.is_none() {
                        tokio::task::block_in_place(|| self.watcher.follow_team(&dir));
                    }
                    if self.roster.on(&dir).next().is_some() {
                        self.written(Job::Board(dir), noted);
                    }
                }
            }
        } else if path.starts_with(self.claude.projects_dir()) {
            self.transcript_changed(path, noted);
        } else {
            // A directory on the way to something of ours.
            self.look_at_everything();
        }
    }

    /// A write that has only begun is waited for, but not for ever.
    fn written(&mut self, job: Job, noted: Noted) {
        if noted.stage == Stage::Begun {
            let at = Instant::from_std(noted.since + self.shared.settings().debounce());
            self.jobs.start_at(at, job, noted);
        } else if let Job::Visit(dir) = job {
            self.visit(dir, noted);
        } else {
            self.jobs.start(job, noted);
        }
    }

    fn visit(&mut self, dir: PathBuf, noted: Noted) {
        let cooling = self.cooling.get(&dir).copied().filter(|until| *until > Instant::now());
        match cooling {
            Some(until) => self.jobs.start_at(until, Job::Visit(dir), noted),
            None => self.jobs.start(Job::Visit(dir), noted),
        }
    }

    /// Reads the inboxes in a directory, or all.
    fn read_inboxes(&mut self, below: Option<&Path>) {
        for (path, owner) in &self.inboxes {
            if below.is_none_or(|dir| path.starts_with(dir)) {
                self.jobs.start(Job::Read(path.clone(), owner.clone()), now(Stage::Closed));
            }
        }
    }

    fn look_at_everything(&mut self) {
        tokio::task::block_in_place(|| self.watcher.follow());
        let trouble = self.watcher.watching().trouble.is_some();
        if trouble {
            self.next_sweep = Instant::now() + self.shared.settings().poll();
        }
        self.load_settings();
        self.load_roster();
        for dir in self.team_dirs() {
            self.visit(dir, now(Stage::Closed));
        }
        self.read_inboxes(None);
        self.follow();
        self.compare_all();
    }

    fn somebody_follows(&self) -> bool {
        self.roster.members.iter().any(|entry| !entry.follows.is_team())
    }

    /// Leads may have come or gone.
    fn follow(&mut self) {
        if self.somebody_follows() {
            self.jobs.start(Job::Follow, now(Stage::Closed));
        }
    }

    /// A directory of a team came, went or was replaced.
    fn look_at_team(&mut self, dir: &Path) {
        tokio::task::block_in_place(|| self.watcher.follow_team(dir));
        if self.roster.on(dir).next().is_some() {
            self.visit(dir.to_owned(), now(Stage::Closed));
        }
        self.read_inboxes(Some(dir));
        self.follow();
    }

    fn team_dirs(&self) -> HashSet<PathBuf> {
        self.roster.members.iter().map(|entry| PathBuf::from(&entry.team_dir)).collect()
    }

    fn happened(&mut self, event: Event) {
        match event {
            Event::Finished(job, Ok(finding)) => {
                self.problems.solve(&job.about());
                self.found(&job, finding);
                self.jobs.finished(&job);
            }
            // What is not ours any more is nobody's problem here.
            Event::Finished(job, Err(_)) if !self.is_wanted(&job) => {
                self.problems.solve(&job.about());
                self.jobs.finished(&job);
            }
            Event::Finished(job, Err(error)) => {
                self.problems.report(&job.about(), &one_line(&error));
                self.jobs.finished(&job);
                self.jobs.start_at(Instant::now() + RETRY, job, now(Stage::Closed));
            }
            Event::Left(Ok(left)) => {
                self.problems.solve("journal");
                for member in left.members {
                    self.router.wake(&member);
                }
                for member in left.asked {
                    self.jobs.start(Job::Requests(member), now(Stage::Closed));
                }
                for member in left.ended {
                    self.jobs.start(Job::Leftovers(member), now(Stage::Closed));
                }
                for path in left.inboxes {
                    self.jobs.start(Job::Receipts(path), now(Stage::Closed));
                }
            }
            Event::Left(Err(error)) => self.problems.report("journal", &one_line(&error)),
            Event::Asked(request, answer) => self.asked(request, answer),
            Event::Ended(id) => self.jobs.start(Job::Check(id), now(Stage::Closed)),
            Event::Reload => self.look_at_everything(),
            Event::Stop => self.stopping = true,
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
                    problems: self.problems.list(),
                    shared: self.shared.clone(),
                };
                // Many members are many questions to the journal.
                tokio::spawn(async move {
                    let status = blocking(move || report.status()).await;
                    answer.send(json!(status)).ok();
                });
            }
            Request::Wake => {
                self.load_roster();
                self.catch_up(false);
                answer.send(json!({"success": true})).ok();
            }
            Request::Stop => {
                self.stopping = true;
                answer.send(json!({"success": true})).ok();
            }
        }
    }
}

fn now(stage: Stage) -> Noted {
    Noted { since: std::time::Instant::now(), stage }
}
