//! Notices when nothing moves, and says so once.
//!
//! Owns what was seen in the last round, and what was said. Rounds are made only while a team has something to do
//! (`open`) or somebody works there. Nothing is said on one look: what is so in two rounds in a row is so.

mod lead;
mod open;

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ringer_panes::{Address, Condition, Gate, PLAIN, Pane, Sight};
use ringer_teams::{ClaudeDir, LEAD, Liveness, Team};
use tracing::{info, warn};

use self::open::Open;
use super::later::one_line;
use super::shared::Shared;
use crate::depart::team_of;
use crate::desk::RINGER;
use crate::error::Result;
use crate::journal::MemberId;
use crate::post::{Letter, post};
use crate::roster::{Roster, RosterEntry};
use crate::settings::Settings;

/// What a lead was told of last, by the directory of its team. Kept, so that a restart does not say it again.
const FILE: &str = "watchdog.json";

/// A pane that does not answer by then is not idle.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is known from the last round.
#[derive(Debug, Default)]
pub(crate) struct Watchdog(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Teams that were all at rest: how everything was.
    quiet: HashMap<PathBuf, (String, u64)>,
    /// What was said last on each team.
    pulses: HashMap<PathBuf, (i64, i64)>,
    workers: HashMap<MemberId, Seen>,
}

/// How a worker was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    how: How,
    screen: u64,
    since: Instant,
    /// Whether the lead was told.
    told: bool,
}

/// How a worker is, to the watchdog.
#[derive(Debug, Clone, PartialEq, Eq)]
enum How {
    /// It could take a message, and nobody is at it.
    Idle,
    /// It works, or what it leads does.
    Busy,
    /// That cannot be told now.
    Unseen,
    /// A person is at it, or was.
    Occupied,
    /// It waits for a person.
    Asking,
}

/// What a round came to.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// Whether there is something to watch, so that there is to be another.
    pub(crate) again: bool,
    /// Workers that need somebody, and why.
    pub(crate) troubles: Vec<(MemberId, String)>,
}

/// Looks at all teams that have something to do, and tells leads what they should know.
pub(crate) fn round(claude: &ClaudeDir, shared: &Shared) -> Result<Round> {
    let mut round = Round::default();
    let settings = shared.settings();
    if settings.watchdog().is_none() {
        return Ok(round);
    }
    let roster = Roster::load(&shared.state)?;
    let mut teams: BTreeMap<PathBuf, Vec<&RosterEntry>> = BTreeMap::new();
    for entry in roster.members.iter().filter(|entry| is_watched(entry)) {
        teams.entry(entry.id().team_dir).or_default().push(entry);
    }
    let mut known = shared.watchdog.known();
    known.workers.retain(|id, _| roster.find(&id.team_dir, &id.name).is_some());
    known.quiet.retain(|dir, _| teams.contains_key(dir));
    known.pulses.retain(|dir, _| teams.contains_key(dir));
    for (dir, workers) in teams {
        // One team that cannot be read keeps nobody from the others.
        let seen =
            Patrol { claude, shared, settings: &settings, roster: &roster, known: &mut known }
                .team(&workers, &mut round);
        if let Err(error) = seen {
            warn!(team = %dir.display(), "the watchdog could not look: {}", one_line(&error));
            round.again = true;
        }
    }
    Ok(round)
}

fn is_watched(entry: &RosterEntry) -> bool {
    let is_there = entry.pane != Address::None && entry.away_since.is_none();
    is_there && !entry.leads && !entry.retiring && !entry.is_starting()
}

impl Watchdog {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One round.
struct Patrol<'a> {
    claude: &'a ClaudeDir,
    shared: &'a Shared,
    settings: &'a Settings,
    roster: &'a Roster,
    known: &'a mut Known,
}

impl Patrol<'_> {
    /// Looks at the workers of one team.
    fn team(&mut self, workers: &[&RosterEntry], round: &mut Round) -> Result<()> {
        let Some(first) = workers.first() else { return Ok(()) };
        let Some(team) = team_of(self.claude, &first.id())? else { return Ok(()) };
        let open = Open::of(&self.shared.journal, &team, workers)?;
        let pulse = self.shared.journal.pulse(team.dir(), RINGER)?;
        // Whoever was told something may work on it, though it has said a word meanwhile.
        let stirs = self.known.pulses.insert(team.dir().to_owned(), pulse) != Some(pulse);
        let worked = |seen: &Seen| matches!(seen.how, How::Busy | How::Asking);
        let works = workers.iter().any(|w| self.known.workers.get(&w.id()).is_some_and(worked));
        let is_over = open.is_empty() && !stirs && !works;
        if is_over || team.lead_alive() == Liveness::Dead {
            self.known.quiet.remove(team.dir());
            return Ok(());
        }
        let mut seen = Vec::new();
        for worker in workers {
            seen.push(self.worker(&team, worker, round)?);
        }
        let works = seen.iter().any(|how| matches!(how, How::Busy | How::Asking));
        round.again |= works || !open.is_empty();
        if works {
            // Something happens: what was said of this team before is over.
            self.said(&team, None)?;
        }
        if open.is_empty() || seen.iter().any(|how| *how != How::Idle) || has_others_at_work(&team)
        {
            self.known.quiet.remove(team.dir());
            return Ok(());
        }
        let Some(mark) = self.lead_at_rest(&team) else {
            self.known.quiet.remove(team.dir());
            return Ok(());
        };
        let state = format!("{pulse:?} {:016x}", hash(&open.tasks));
        let before = self.known.quiet.insert(team.dir().to_owned(), (state.clone(), mark));
        let all: BTreeMap<String, String> = self.shared.state.load(FILE)?;
        let was_said = all.get(&key(&team)).is_some_and(|said| *said == state);
        if was_said || before != Some((state.clone(), mark)) {
            return Ok(());
        }
        // Noted first: a crash in between is better than the same word twice. What could not be written is tried again.
        self.said(&team, Some(&state))?;
        info!(team = team.name(), "all idle");
        let told = self.tell(&team, &open.words(workers), "all idle");
        if told.is_err() {
            self.said(&team, None)?;
        }
        told
    }

    /// Looks at one worker, and tells its lead if it needs somebody.
    fn worker(&mut self, team: &Team, worker: &RosterEntry, round: &mut Round) -> Result<How> {
        let id = worker.id();
        let sight = self.look(worker);
        let mut how = sight.as_ref().map_or(How::Unseen, |sight| self.judge(worker, sight));
        let sight_is_busy = how == How::Busy;
        if how == How::Idle && self.works_below(worker, &mut Vec::new()) {
            how = How::Busy;
        }
        let screen = sight.map_or(0, |sight| hash(&sight.screen.rows));
        let old = self.known.workers.remove(&id);
        // What it waits for below is not its own screen.
        let counts = how == How::Busy && sight_is_busy;
        let same = |old: &Seen| old.how == how && (!counts || old.screen == screen);
        let lasts = old.as_ref().is_some_and(same);
        let mut seen = match old.filter(same) {
            Some(old) => Seen { screen, ..old },
            None => Seen { how: how.clone(), screen, since: Instant::now(), told: false },
        };
        let long = seen.since.elapsed();
        let words = match how {
            How::Asking if lasts => Some((
                "waits for a person",
                format!(
                    "{} waits for a person: it asks something, and nobody but a person can answer. \
                     `ringer attach {0}` shows it, or look into its pane.",
                    worker.name
                ),
            )),
            How::Busy if counts && lasts && long >= self.settings.stuck_after() => Some((
                "stuck",
                format!(
                    "{} is busy, and nothing has changed on its screen for {}. It may be stuck.",
                    worker.name,
                    span(long)
                ),
            )),
            _ => None,
        };
        if let Some((summary, words)) = words {
            if !seen.told {
                seen.told = true;
                info!(member = %id, "{summary}");
                self.tell(team, &words, &format!("{} {summary}", worker.name))?;
            }
            round
                .troubles
                .push((id.clone(), format!("{} on {}: {summary}", worker.name, team.name())));
        }
        self.known.workers.insert(id, seen);
        Ok(how)
    }

    fn look(&self, worker: &RosterEntry) -> Option<Sight> {
        let mut pane = self.shared.terminals.pane(&worker.pane).ok()?;
        let look = async { tokio::time::timeout(PATIENCE, pane.look()).await };
        tokio::runtime::Handle::current().block_on(look).ok()?.ok()
    }

    fn judge(&self, worker: &RosterEntry, sight: &Sight) -> How {
        let profile = self.shared.profiles.get(worker.profile.as_deref().unwrap_or(PLAIN));
        let Ok(profile) = profile else { return How::Unseen };
        match Gate::new(&profile).condition(sight) {
            (Condition::Ready, None) => How::Idle,
            (Condition::Ready, Some(_)) => How::Occupied,
            (Condition::Asking, _) => How::Asking,
            _ => How::Busy,
        }
    }

    /// Whether somebody works on a team that a worker leads, however far below.
    fn works_below(&self, worker: &RosterEntry, seen: &mut Vec<PathBuf>) -> bool {
        if worker.birth.as_ref().is_none_or(|birth| birth.session.is_none()) {
            return false;
        }
        let is_led =
            |team: &Team| self.roster.leader_of(team).is_some_and(|l| l.id() == worker.id());
        let teams = self.claude.teams().unwrap_or_default().found;
        let led: Vec<Team> = teams.into_iter().filter(is_led).collect();
        led.iter().any(|team| {
            // Whoever wrote these files may have made a circle.
            if seen.iter().any(|dir| dir == team.dir()) {
                return false;
            }
            seen.push(team.dir().to_owned());
            let below = self.roster.on(team.dir()).filter(|entry| is_watched(entry));
            has_others_at_work(team)
                || below.into_iter().any(|entry| {
                    let how = self.look(entry).map_or(How::Unseen, |s| self.judge(entry, &s));
                    how != How::Idle || self.works_below(entry, seen)
                })
        })
    }

    /// Writes down what a lead was told of, or that it is over.
    fn said(&self, team: &Team, state: Option<&str>) -> Result<()> {
        let all: BTreeMap<String, String> = self.shared.state.load(FILE)?;
        if all.get(&key(team)).map(String::as_str) == state {
            return Ok(());
        }
        self.shared.state.change(FILE, |all: &mut BTreeMap<String, String>| {
            all.retain(|dir, _| PathBuf::from(dir).exists());
            match state {
                Some(state) => all.insert(key(team), state.to_owned()),
                None => all.remove(&key(team)),
            };
        })
    }

    fn tell(&self, team: &Team, text: &str, summary: &str) -> Result<()> {
        let to = team.config.lead().map_or(LEAD, |lead| &lead.name);
        let letter = Letter { from: RINGER, to, text, summary: Some(summary), force: true };
        for one in post(&self.shared.state, team, &letter, SystemTime::now())?.posted {
            one.outcome?;
        }
        Ok(())
    }
}

/// Whether teammates of Claude Code's own are at work, or that is not said.
fn has_others_at_work(team: &Team) -> bool {
    let lead = team.config.lead().map(|lead| &lead.name);
    let others = team.config.members.iter().filter(|m| !m.is_synthetic() && Some(&m.name) != lead);
    others.into_iter().any(|member| member.is_active != Some(false))
}

fn key(team: &Team) -> String {
    team.dir().display().to_string()
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// How long, for people.
fn span(long: Duration) -> String {
    match long.as_secs() {
        seconds @ 0..120 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds / 60),
    }
}
