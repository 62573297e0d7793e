//! Making a change to `config.json` that stays, though others write it without a lock.
//!
//! Owns the looks after a change, and what they lead to.
//!
//! Claude Code writes `config.json` in place on every version, and before 2.1.177 without a lock. A
//! lock cannot keep such a writer from overwriting our change with what it had read before, nor us
//! from replacing a file that it is just writing. But Ringer replaces the file and Claude Code
//! writes into it, so the two can be told apart: for a fifth of a second after a change, both the
//! file that we wrote and the one that we replaced are looked at again.
//!
//! - Somebody wrote into ours, and a member that Ringer had put there is missing or back again: our
//!   members are put as they were, on top of what was written.
//! - Somebody wrote into the one that we replaced: that is newer than what we had read, so what we
//!   wrote is made anew on top of it.
//! - Another Ringer replaced ours: it had read our change, and has the last word.
//!
//! A writer that takes longer than that between its read and its write can still undo a change;
//! keeping members in place for longer than a moment is the daemon's job.

use std::io::ErrorKind;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::config::{Member, TeamConfig};
use crate::edit::{self, Change, Done, Swap, Version};
use crate::error::{Error, Result};
use crate::json::NotWhole;
use crate::members::{Changed, clash, same_json, take_out, with_member};
use crate::read::{TORN, read_whole};
use crate::team::Team;

/// When a change is looked at again.
const LOOKS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(10),
    Duration::from_millis(30),
    Duration::from_millis(60),
    Duration::from_millis(100),
];

/// How often a change is made again before it is given up: about ten seconds.
const ROUNDS: usize = 50;

type Parsed<T> = std::result::Result<T, NotWhole>;

/// Changes a team's configuration and sees to it that the change stays.
pub(crate) fn settle<T>(team: &Team, change: impl Fn(&str) -> Changed<T>) -> Result<T> {
    let path = team.config_path();
    let gone = |error| match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
            Error::TeamGone { path: path.clone() }
        }
        other => other,
    };
    let Done { value, mut swap, .. } = edit::edit(&path, None, &change).map_err(gone)?;
    let value = value?;
    for _ in 0..ROUNDS {
        let Some(mut last) = swap else { return Ok(value) };
        let Some(undone) = watch(&path, &mut last, &change)? else { return Ok(value) };
        let again =
            edit::edit(&path, None, |current| redo(&path, &last, &undone, current, &change));
        let again = again.map_err(gone)?;
        again.value?;
        swap = again.swap;
    }
    Err(Error::Unsettled { path })
}

/// What a look found.
struct Undone {
    /// What somebody wrote into the file that we replaced.
    theirs: Option<String>,
}

/// Looks again and again; `None` if all stayed well.
fn watch<T>(
    path: &Path,
    last: &mut Swap,
    change: impl Fn(&str) -> Changed<T>,
) -> Result<Option<Undone>> {
    for pause in LOOKS {
        thread::sleep(pause);
        let theirs = last.old.as_mut().and_then(written_into);
        let undone = if last.new.is_at(path) {
            let now = written_into(&mut last.new);
            now.is_some_and(|now| !same_members(&now, &last.new.text).unwrap_or(true))
        } else {
            let handed_over = |now: &str| -> Parsed<bool> {
                let by_ringer = without_ours(now)? == without_ours(&last.new.text)?;
                Ok(by_ringer || matches!(change(now)?, Change::Keep(_)))
            };
            !read_whole(path, handed_over)?.unwrap_or(true)
        };
        if undone || theirs.is_some() {
            return Ok(Some(Undone { theirs }));
        }
    }
    Ok(None)
}

/// What somebody has written into this file, once they are done with it.
fn written_into(version: &mut Version) -> Option<String> {
    let started = Instant::now();
    loop {
        let text = version.overwritten()?;
        if TeamConfig::parse(&text).is_ok() {
            return Some(text);
        }
        // Empty or half: they are at it right now. One that stays so is nobody's last word.
        if started.elapsed() > TORN {
            return None;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The change once more: our members as we had them, Claude Code's part as it is newest.
fn redo<T>(
    path: &Path,
    last: &Swap,
    undone: &Undone,
    current: &str,
    change: impl Fn(&str) -> Changed<T>,
) -> Changed<T> {
    let ours = if last.new.is_at(path) { &last.new.text } else { current };
    let base = last.old.as_ref().map(|old| without_ours(&old.text)).transpose()?;
    let theirs = match &undone.theirs {
        // Newer, unless Claude Code's part has changed once more since.
        Some(theirs) if base == Some(without_ours(current)?) => theirs,
        _ => current,
    };
    let merged = merge(theirs, ours)?;
    Ok(match change(&merged)? {
        Change::Keep(value) if merged != current => {
            Change::Write { text: merged, sync: true, value }
        }
        other => other,
    })
}

/// Claude Code's part of a configuration: all but the members that are ours.
fn without_ours(text: &str) -> Parsed<String> {
    Ok(match take_out(text, |_| true)? {
        Change::Write { text, .. } => text,
        Change::Keep(_) => text.to_owned(),
    })
}

/// Claude Code's part of `theirs` with our members of `ours`, but for those whose name somebody
/// has taken meanwhile.
fn merge(theirs: &str, ours: &str) -> Parsed<String> {
    let mut text = without_ours(theirs)?;
    let config = TeamConfig::parse(&text)?;
    for member in TeamConfig::parse(ours)?.members.iter().filter(|m| m.is_synthetic()) {
        if clash(&config, &member.name).is_none() {
            text = with_member(&text, &member.raw)?;
        }
    }
    Ok(text)
}

/// Whether both have the same members of ours.
fn same_members(a: &str, b: &str) -> Parsed<bool> {
    let ours = |text| -> Parsed<Vec<String>> {
        let config = TeamConfig::parse(text)?;
        let mut ours: Vec<_> = config.members.into_iter().filter(Member::is_synthetic).collect();
        ours.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(ours.into_iter().map(|m| m.raw).collect())
    };
    let (a, b) = (ours(a)?, ours(b)?);
    Ok(a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same_json(a, b)))
}
