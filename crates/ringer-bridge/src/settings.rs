//! Settings: what `config.toml` can change.
//!
//! Owns the file's meaning. Every key is in `config/config.toml`, with its default and what it
//! means; that file is built in, so neither keys nor defaults are written down twice.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use toml::{Table, Value};

use crate::error::{Error, Result};
use crate::roster::TwoLeads;

/// All keys, their defaults and what they mean.
pub const DEFAULTS: &str = include_str!("../../../config/config.toml");

/// Claude Code's own limit for a team.
const MOST_WORKERS: usize = 50;

/// What the daemon goes by.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    debounce_ms: u64,
    /// How messages get to panes.
    pub delivery: Delivery,
    /// What the lead is told.
    pub lead: Lead,
    /// Workers that are started, by us or by Claude itself.
    pub spawn: Spawn,
    /// Which team a worker is on, and what happens when it changes.
    pub place: Place,
    tmux: Tmux,
    /// What is done to the inboxes of members.
    pub inbox: Inbox,
    /// What the journal keeps.
    pub journal: Journal,
    /// The board.
    pub tasks: Tasks,
    /// What is told of teams.
    pub observe: Observe,
    watch: Watch,
    watchdog: Watchdog,
}

/// How messages get to panes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// What a worker sees.
    pub template: String,
    /// When Enter is pressed.
    pub confirm: Confirm,
    settle_ms: u64,
    confirm_timeout_ms: u64,
    /// How many deliveries go on at a time.
    pub parallel: usize,
    retry_max_ms: u64,
    /// In bytes; a longer text goes into a file.
    pub longest_text: usize,
}

/// What the lead is told.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lead {
    /// Whether it is told when a worker ends a turn.
    pub idle_notifications: bool,
    /// So many characters of what the worker said.
    pub idle_summary: usize,
}

/// Which team a worker is on, and what happens when it changes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// What to do when a second lead starts in a directory.
    pub two_leads: TwoLeads,
    /// Whether mail that was not delivered goes along.
    pub carry_mail: bool,
    /// Whether the new lead is told.
    pub announce: bool,
    away_s: u64,
}

/// Workers that are started, by us or by Claude itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    /// At most so many workers a team.
    pub max_workers: usize,
    ready_s: u64,
    names: Vec<(String, String)>,
    /// The Claude Code that the others are; empty for the lead's own.
    pub claude: String,
}

impl Spawn {
    /// How long a worker may take to come to its prompt.
    pub fn ready(&self) -> Duration {
        Duration::from_secs(self.ready_s)
    }

    /// The profile of a teammate of that name, if it is to be a worker of ours.
    pub fn profile(&self, name: &str) -> Option<&str> {
        let fits = |pattern: &str| match pattern.split_once('*') {
            None => pattern == name,
            Some((start, end)) => {
                name.len() >= start.len() + end.len()
                    && name.starts_with(start)
                    && name.ends_with(end)
            }
        };
        self.names.iter().find(|(pattern, _)| fits(pattern)).map(|(_, profile)| profile.as_str())
    }
}

/// When Enter is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confirm {
    /// When the screen shows the text.
    Screen,
    /// Without a look.
    None,
}

/// What is done to the inboxes of members.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inbox {
    /// So many that were read are kept.
    pub keep_read: usize,
}

/// What the journal keeps.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    keep_days: u32,
}

/// The board.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    /// Whether workers may make tasks, or only the lead.
    pub anybody_creates: bool,
}

/// What is told of teams.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// Whether the transcripts of leads are read.
    pub transcripts: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tmux {
    control_mode: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Watch {
    poll_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Watchdog {
    every_s: u64,
    stuck_after_s: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self::parse("").expect("the defaults are good")
    }
}

impl Settings {
    /// Reads a file. If there is none, the defaults hold, unless the user has named it.
    pub fn load(path: &Path, named: bool) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::NotFound && !named => String::new(),
            Err(e) => return Err(Error::io("read", path)(e)),
        };
        Self::parse(&text).map_err(|why| Error::Settings { path: path.into(), why })
    }

    /// Reads the text of a file.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut all: Table = DEFAULTS.parse().expect("the defaults are TOML");
        let given: Table = text.parse().map_err(|e: toml::de::Error| plain(&e))?;
        check_keys("", &given, &all)?;
        merge(&mut all, given);
        let settings: Self = all.try_into().map_err(|e: toml::de::Error| plain(&e))?;
        settings.check()
    }

    fn check(self) -> std::result::Result<Self, String> {
        let positive = [
            ("delivery.parallel", self.delivery.parallel as u64),
            ("delivery.retry_max_ms", self.delivery.retry_max_ms),
            ("delivery.confirm_timeout_ms", self.delivery.confirm_timeout_ms),
            ("delivery.longest_text", self.delivery.longest_text as u64),
            ("watch.poll_ms", self.watch.poll_ms),
            ("watchdog.stuck_after_s", self.watchdog.stuck_after_s),
            ("spawn.ready_s", self.spawn.ready_s),
            ("spawn.max_workers", self.spawn.max_workers as u64),
        ];
        if let Some((key, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(format!("`{key}` must be more than 0"));
        }
        if let Some((pattern, _)) =
            self.spawn.names.iter().find(|(p, _)| p.matches('*').count() > 1)
        {
            return Err(format!("`spawn.names`: `{pattern}` has more than one *"));
        }
        if self.spawn.max_workers > MOST_WORKERS {
            return Err(format!(
                "`spawn.max_workers` can be {MOST_WORKERS} at most: Claude Code takes no more on a team"
            ));
        }
        if !self.delivery.template.contains("{text}") {
            return Err("`delivery.template` has no {text} in it".to_owned());
        }
        Ok(self)
    }

    /// Whether connections to tmux are kept.
    pub fn control_mode(&self) -> bool {
        self.tmux.control_mode
    }

    /// The longest wait for a write to end.
    pub fn debounce(&self) -> Duration {
        Duration::from_millis(self.debounce_ms)
    }

    /// The longest wait for a text to be on the screen.
    pub fn confirm_timeout(&self) -> Duration {
        Duration::from_millis(self.delivery.confirm_timeout_ms)
    }

    /// Between the text on the screen and Enter.
    pub fn settle(&self) -> Duration {
        Duration::from_millis(self.delivery.settle_ms)
    }

    /// The longest pause between two tries.
    pub fn retry_max(&self) -> Duration {
        Duration::from_millis(self.delivery.retry_max_ms)
    }

    /// How old a message in the journal gets once it is delivered.
    pub fn keep(&self) -> Duration {
        Duration::from_hours(24 * u64::from(self.journal.keep_days))
    }

    /// Between two rounds of the watchdog; none if there is to be none.
    pub fn watchdog(&self) -> Option<Duration> {
        Some(Duration::from_secs(self.watchdog.every_s)).filter(|every| !every.is_zero())
    }

    /// A worker that is busy and whose screen does not change for so long is stuck.
    pub fn stuck_after(&self) -> Duration {
        Duration::from_secs(self.watchdog.stuck_after_s)
    }

    /// How long a worker that is away may come back.
    pub fn away(&self) -> Duration {
        Duration::from_secs(self.place.away_s)
    }

    /// Between two looks where files cannot be watched.
    pub fn poll(&self) -> Duration {
        Duration::from_millis(self.watch.poll_ms)
    }
}

fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(into)), Value::Table(from)) => merge(into, from),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// Refuses keys that nobody knows, with the one that may have been meant.
fn check_keys(above: &str, given: &Table, known: &Table) -> std::result::Result<(), String> {
    for (key, value) in given {
        let full = format!("{above}{key}");
        match (known.get(key), value) {
            (Some(Value::Table(known)), Value::Table(given)) => {
                check_keys(&format!("{full}."), given, known)?;
            }
            (Some(_), _) => {}
            (None, _) => {
                let mut all = Vec::new();
                names("", &DEFAULTS.parse().expect("the defaults are TOML"), &mut all);
                let near = |name: &String| strsim::jaro_winkler(&full, name);
                let nearest = all.into_iter().max_by(|a, b| near(a).total_cmp(&near(b)));
                let nearest = nearest.unwrap_or_default();
                return Err(format!("there is no key `{full}`; did you mean `{nearest}`?"));
            }
        }
    }
    Ok(())
}

fn names(above: &str, table: &Table, into: &mut Vec<String>) {
    for (key, value) in table {
        let full = format!("{above}{key}");
        match value {
            Value::Table(table) => names(&format!("{full}."), table, into),
            _ => into.push(full),
        }
    }
}

/// What the parser says, on one line.
fn plain(error: &toml::de::Error) -> String {
    error.message().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_is_the_default() {
        let settings = Settings::parse("debounce_ms = 5\n[inbox]\nkeep_read = 0").unwrap();
        assert_eq!(settings.debounce(), Duration::from_millis(5));
        assert_eq!(settings.inbox.keep_read, 0);
        assert_eq!(settings.delivery, Settings::default().delivery);
        assert!(settings.delivery.template.starts_with("[message from {from}"));
    }

    #[test]
    fn one_setting_turns_the_watchdog_off() {
        let of = |text: &str| Settings::parse(text).unwrap().watchdog();
        assert_eq!(of(""), Some(Duration::from_secs(10)));
        assert_eq!(of("[watchdog]\nevery_s = 0"), None);
    }

    #[test]
    fn a_name_decides_what_a_teammate_is() {
        let settings = Settings::parse(
            "[spawn]\nnames = [[\"gemini-*\", \"gemini\"], [\"x\", \"codex\"], [\"*-sh\", \"shell\"]]",
        );
        let spawn = settings.unwrap().spawn;
        for (name, profile) in [
            ("gemini-one", Some("gemini")),
            ("gemini-", Some("gemini")),
            ("gemini", None),
            ("x", Some("codex")),
            ("xy", None),
            ("a-sh", Some("shell")),
            ("researcher", None),
        ] {
            assert_eq!(spawn.profile(name), profile, "{name}");
        }
        assert!(Settings::parse("[spawn]\nnames = [[\"*a*\", \"x\"]]").is_err());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, why) in [
            ("debouce_ms = 5", "there is no key `debouce_ms`; did you mean `debounce_ms`?"),
            ("[delivery]\nkeep_read = 1", "there is no key `delivery.keep_read`; did you mean"),
            ("debounce_ms = \"5\"", "invalid type: string \"5\", expected u64"),
            ("[delivery]\nparallel = 0", "`delivery.parallel` must be more than 0"),
            ("[delivery]\ntemplate = \"x\"", "`delivery.template` has no {text} in it"),
            ("[delivery]\nconfirm = \"maybe\"", "unknown variant `maybe`"),
            ("debounce_ms = ", "string values must be quoted"),
        ] {
            let error = Settings::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
