//! Synthetic members: the entries in `config.json` that Ringer owns.
//!
//! Owns adding, changing and removing them. Must never touch a member with another `backendType`,
//! nor any other byte of the file.
//!
//! What can be promised about a file that others write without a lock is in `settle`.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::Serialize;

use crate::config::{BACKEND, Member, TeamConfig};
use crate::edit::{self, Change};
use crate::error::{Error, Result};
use crate::json::{Array, NotWhole, Object, pretty};
use crate::names::{LEAD, check_member_name, inbox_file_name};
use crate::settle::settle;
use crate::team::Team;

/// How deep a member lies in `config.json`.
const DEPTH: usize = 2;

/// Colours for members whose user chose none.
const COLORS: [&str; 8] = ["green", "blue", "yellow", "purple", "orange", "pink", "cyan", "red"];

/// A member to add. What is left out is filled in.
#[derive(Debug, Clone)]
pub struct NewMember {
    /// What `SendMessage` will call it.
    pub name: String,
    /// What kind of agent it is.
    pub agent_type: String,
    /// The model that it runs on.
    pub model: String,
    /// Where it works.
    pub cwd: PathBuf,
    /// The colour it is shown in; by default one that nobody on the team has yet.
    pub color: Option<String>,
    /// Milliseconds since 1970.
    pub joined_at: i64,
    /// Whether it is working.
    pub active: bool,
}

impl NewMember {
    /// A Gemini worker of that name, at work.
    pub fn new(name: &str, cwd: impl Into<PathBuf>, joined_at: i64) -> Self {
        Self {
            name: name.into(),
            agent_type: "gemini-worker".into(),
            model: "default".into(),
            cwd: cwd.into(),
            color: None,
            joined_at,
            active: true,
        }
    }
}

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The member is new.
    Added,
    /// It was there, and is different now.
    Updated,
    /// It is gone.
    Removed,
    /// All was as wanted.
    Unchanged,
}

impl Outcome {
    /// In lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Updated => "updated",
            Self::Removed => "removed",
            Self::Unchanged => "unchanged",
        }
    }
}

/// A member as it is written, in the order that Claude Code uses.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    agent_id: &'a str,
    name: &'a str,
    agent_type: &'a str,
    model: &'a str,
    joined_at: i64,
    tmux_pane_id: &'a str,
    cwd: Cow<'a, str>,
    subscriptions: [(); 0],
    backend_type: &'a str,
    color: &'a str,
    is_active: bool,
}

/// Keeps synthetic members in the `config.json` of teams.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # std::fs::create_dir_all(dir.path().join("teams/demo"))?;
/// # std::fs::write(dir.path().join("teams/demo/config.json"), r#"{"name": "demo", "members": []}"#)?;
/// use ringer_teams::{ClaudeDir, NewMember, Outcome, SyntheticMemberService};
/// let claude = ClaudeDir::new(dir.path());
/// let team = claude.team("demo")?;
/// let worker = NewMember::new("rust-impl", "/work", 1_794_793_693_625);
/// assert_eq!(SyntheticMemberService::register(&team, &worker)?, Outcome::Added);
/// assert_eq!(SyntheticMemberService::register(&team, &worker)?, Outcome::Unchanged);
/// assert!(claude.team("demo")?.member("rust-impl")?.is_synthetic());
/// assert_eq!(SyntheticMemberService::remove(&team, "rust-impl")?, Outcome::Removed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SyntheticMemberService;

/// What a change makes of a configuration: an error of its own leaves the file as it is.
pub(crate) type Changed<T> = std::result::Result<Change<Result<T>>, NotWhole>;

impl SyntheticMemberService {
    /// Puts a member on a team, or brings the one of ours that is there up to date. It can be the
    /// lead only on a team of our own.
    pub fn register(team: &Team, new: &NewMember) -> Result<Outcome> {
        sweep(team);
        settle(team, |text| add(text, team, new))
    }

    /// Puts several members on a team in one change, each on its own terms: one whose name is taken
    /// does not keep the others away.
    pub fn register_all(team: &Team, all: &[NewMember]) -> Result<Vec<Result<Outcome>>> {
        sweep(team);
        settle(team, |text| {
            let mut text = text.to_owned();
            let mut outcomes = Vec::new();
            let mut changed = false;
            for new in all {
                match add(&text, team, new)? {
                    Change::Keep(outcome) => outcomes.push(outcome),
                    Change::Write { text: with, value, .. } => {
                        text = with;
                        changed = true;
                        outcomes.push(value);
                    }
                }
            }
            Ok(if changed {
                Change::Write { text, sync: true, value: Ok(outcomes) }
            } else {
                Change::Keep(Ok(outcomes))
            })
        })
    }

    /// Says of a member of ours whether it is working, and changes nothing else about it. One that
    /// is not there stays away: it may have left while its worker came to an end.
    pub fn set_active(team: &Team, name: &str, active: bool) -> Result<Outcome> {
        settle(team, |text| {
            let config = TeamConfig::parse(text)?;
            let Some(member) = config.member(name) else {
                return Ok(Change::Keep(Ok(Outcome::Unchanged)));
            };
            if !member.is_synthetic() {
                return Ok(Change::Keep(Err(not_ours(team, name))));
            }
            if member.is_active == Some(active) {
                return Ok(Change::Keep(Ok(Outcome::Unchanged)));
            }
            let updated = Object::parse(&member.raw)?.with("isActive", &active.to_string());
            replace(text, member, &updated)
        })
    }

    /// Takes a member of ours off a team. One that is not there at all is an error only if the
    /// name was never ours to remove: a real member's.
    pub fn remove(team: &Team, name: &str) -> Result<Outcome> {
        let done = settle(team, |text| {
            let config = TeamConfig::parse(text)?;
            if config.member(name).is_some_and(|m| !m.is_synthetic()) {
                return Ok(Change::Keep(Err(not_ours(team, name))));
            }
            take_out(text, |member| member.name == name)
        })?;
        Ok(if done.is_empty() { Outcome::Unchanged } else { Outcome::Removed })
    }

    /// Takes every member of ours off a team and returns their names.
    pub fn remove_all(team: &Team) -> Result<Vec<String>> {
        settle(team, |text| take_out(text, |_| true))
    }
}

fn not_ours(team: &Team, name: &str) -> Error {
    Error::NotOurs { team: team.name().into(), name: name.into() }
}

fn add(text: &str, team: &Team, new: &NewMember) -> Changed<Outcome> {
    let config = TeamConfig::parse(text)?;
    // Nobody else leads a team of our own, so its lead can be one of ours as well.
    if !(new.name == LEAD && config.is_own())
        && let Err(error) = check_member_name(&new.name)
    {
        return Ok(Change::Keep(Err(error)));
    }
    if let Some(taken_by) = clash(&config, &new.name) {
        let (team, name) = (team.name().to_owned(), new.name.clone());
        return Ok(Change::Keep(Err(Error::AgentAlreadyExists { team, name, taken_by })));
    }
    let old = config.member(&new.name);
    let agent_id = format!("{}@{}", new.name, team.name());
    let color = new.color.clone().or_else(|| old.and_then(|m| m.color.clone()));
    let color = color.unwrap_or_else(|| free_color(&config).to_owned());
    let written = Written {
        agent_id: &agent_id,
        name: &new.name,
        agent_type: &new.agent_type,
        model: &new.model,
        joined_at: old.and_then(|m| m.joined_at).unwrap_or(new.joined_at),
        tmux_pane_id: "synthetic",
        cwd: new.cwd.to_string_lossy(),
        subscriptions: [],
        backend_type: BACKEND,
        color: &color,
        is_active: new.active,
    };
    let Some(old) = old else {
        let text = with_member(text, &pretty(&written, DEPTH))?;
        return Ok(Change::Write { text, sync: true, value: Ok(Outcome::Added) });
    };
    let updated = update(&old.raw, &written)?;
    if updated == old.raw {
        return Ok(Change::Keep(Ok(Outcome::Unchanged)));
    }
    replace(text, old, &updated)
}

/// The configuration with `member` as it is in `updated`.
fn replace(text: &str, member: &Member, updated: &str) -> Changed<Outcome> {
    let object = Object::parse(text)?;
    let members = Array::parse(object.get("members").unwrap_or("[]"))?;
    let text = object.with("members", &members.with_replaced(&member.raw, updated));
    Ok(Change::Write { text, sync: true, value: Ok(Outcome::Updated) })
}

/// The member as it is, with only the fields replaced that differ; fields of others' stay.
fn update(raw: &str, written: &Written<'_>) -> std::result::Result<String, NotWhole> {
    let compact = serde_json::to_string(written).expect("plain data always serialises");
    let mut text = raw.to_owned();
    for (key, value) in Object::parse(&compact)?.fields() {
        let object = Object::parse(&text)?;
        let same = object.get(key).is_some_and(|old| same_json(old, value));
        // What somebody subscribed it to is not ours to reset.
        if !same && key != "subscriptions" {
            text = object.with(key, value);
        }
    }
    Ok(text)
}

pub(crate) fn same_json(a: &str, b: &str) -> bool {
    let value = |text| serde_json::from_str::<serde_json::Value>(text).ok();
    a == b || (value(a).is_some() && value(a) == value(b))
}

/// The configuration with one more member.
pub(crate) fn with_member(text: &str, member: &str) -> std::result::Result<String, NotWhole> {
    let object = Object::parse(text)?;
    let members = Array::parse(object.get("members").unwrap_or("[]"))?;
    Ok(object.with("members", &members.with_pushed(member, DEPTH)))
}

/// Removes what crashed writers left in the team's directories.
pub(crate) fn sweep(team: &Team) {
    edit::sweep(team.dir());
    edit::sweep(&team.dir().join("inboxes"));
}

/// Who stands in the way of a name: a real member, or one whose inbox would be the same file.
pub(crate) fn clash(config: &TeamConfig, name: &str) -> Option<String> {
    let file = inbox_file_name(name);
    let other = config
        .members
        .iter()
        .find(|m| inbox_file_name(&m.name) == file && !(m.name == name && m.is_synthetic()))?;
    Some(if other.name == name {
        "a member of that name is there already, and Ringer did not add it".to_owned()
    } else {
        format!("`{}` has the same inbox file", other.name)
    })
}

fn free_color(config: &TeamConfig) -> &'static str {
    let taken = |color| config.members.iter().filter(|m| m.color.as_deref() == Some(color)).count();
    COLORS.into_iter().min_by_key(|color| taken(color)).expect("there are colours")
}

/// Takes out the members of ours that `which` picks.
pub(crate) fn take_out(text: &str, which: impl Fn(&Member) -> bool) -> Changed<Vec<String>> {
    let config = TeamConfig::parse(text)?;
    let goes = |m: &&Member| m.is_synthetic() && which(m);
    let gone: Vec<&Member> = config.members.iter().filter(goes).collect();
    let names = gone.iter().map(|m| m.name.clone()).collect();
    if gone.is_empty() {
        return Ok(Change::Keep(Ok(names)));
    }
    let object = Object::parse(text)?;
    let members = Array::parse(object.get("members").unwrap_or("[]"))?;
    let stays = members.items.iter().copied().filter(|raw| gone.iter().all(|m| m.raw != **raw));
    let text = object.with("members", &members.with_items(stays, DEPTH));
    Ok(Change::Write { text, sync: true, value: Ok(names) })
}
