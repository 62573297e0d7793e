//! Teams of our own, which no Claude Code session leads.
//!
//! Owns making them and deleting them. Must never delete a team that Claude Code made, nor anything
//! outside `teams/` and `tasks/`.
//!
//! A team is built beside its place and moved there whole, and moved away whole before it is
//! deleted. So nobody ever sees half a team, and of two who found the same one, one does. Ringer
//! does one of these at a time, under a lock of its own; Claude Code knows nothing of that lock, so
//! a team is also never moved over anything.
//!
//! # What a crash can lose
//!
//! | killed while … | what is on disk |
//! |---|---|
//! | founding, before the move | no team; a `.NAME.*.founding` beside, perhaps an empty `tasks/NAME` |
//! | founding, after the move | the team, whole |
//! | disbanding, after the move | no team; a `NAME.deleted-ringer-*` beside, perhaps its tasks |
//!
//! What is left beside is cleared away by the next who founds or disbands any team. None of it keeps
//! anybody from using the name.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde::Serialize;
use tempfile::TempDir;
use uuid::Uuid;

use crate::config::FOUNDER;
use crate::edit::sync_parent;
use crate::error::{Error, Result};
use crate::json::pretty;
use crate::lock::DirLock;
use crate::names::{HALF_FOUNDED, LEAD, check_own_team_name, is_half_founded};
use crate::team::{ClaudeDir, Team, check_inside};

/// No team is founded when there are this many, whoever made them.
pub const TEAMS_LIMIT: usize = 100;

/// Between a team's name and a random word, while it is deleted. Claude Code's own begin as this
/// does, but it is told from them: theirs are theirs to clear away.
const DELETED: &str = ".deleted-ringer-";

/// A team to found.
#[derive(Debug, Clone)]
pub struct NewTeam {
    /// What it will be called: lower case letters, digits and `-`.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// What stands for the session of its lead.
    pub session_id: String,
}

/// A configuration as it is written, in the order that Claude Code uses.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    created_at: i64,
    lead_agent_id: String,
    lead_session_id: &'a str,
    founder: &'a str,
    members: [(); 0],
}

impl ClaudeDir {
    /// Founds a team of our own, without members. Tasks that an earlier team of that name left
    /// behind are this one's from now on.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use ringer_teams::{ClaudeDir, NewTeam};
    /// let claude = ClaudeDir::new(dir.path());
    /// let new = NewTeam {
    ///     name: "exo-root".into(),
    ///     description: None,
    ///     created_at: 1_794_793_693_625,
    ///     session_id: "33d98fe4-6f3d-4460-8833-9ec8058846d3".into(),
    /// };
    /// let team = claude.found(&new)?;
    /// assert!(team.is_own());
    /// assert_eq!(claude.found(&new).unwrap_err().code(), "team_already_exists");
    /// claude.disband(&team)?;
    /// assert!(claude.teams()?.found.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn found(&self, new: &NewTeam) -> Result<Team> {
        check_own_team_name(&new.name)?;
        let (teams, tasks) = (self.teams_dir(), self.tasks_dir());
        make_dir(&teams)?;
        make_dir(&tasks)?;
        let _lock = lock(&teams)?;
        self.clear_away();
        self.check_free(&new.name)?;

        let its_tasks = tasks.join(&new.name);
        check_inside(&tasks, &its_tasks)?;
        make_dir(&its_tasks)?;
        let place = teams.join(&new.name);
        let half = build(&teams, new).map_err(Error::io("build", &place))?;
        match move_to(half.path(), &place) {
            Ok(()) => drop(half.keep()),
            Err(e) if is_taken(&e) => {
                return Err(Error::TeamAlreadyExists { team: new.name.clone(), taken_by: place });
            }
            Err(e) => return Err(Error::io("create", &place)(e)),
        }
        sync_parent(&place).map_err(|source| Error::Unsynced { path: place.clone(), source })?;
        let path = place.join("config.json");
        self.team_in(&new.name)?.ok_or(Error::TeamGone { path })
    }

    /// Deletes a team of our own with its mail and its tasks. Whether it is ours is read from its
    /// file once more: another team may have taken its place.
    pub fn disband(&self, team: &Team) -> Result<()> {
        let teams = self.teams_dir();
        let name = team.dir_name();
        let not_ours = || Error::NotOurTeam { team: team.name().to_owned() };
        // Every name that we gave passes; one that does not may lead anywhere.
        check_own_team_name(name).map_err(|_| not_ours())?;
        let _lock = lock(&teams)?;
        self.clear_away();
        let gone = || Error::TeamGone { path: team.config_path() };
        if !self.team_in(name)?.ok_or_else(gone)?.is_own() {
            return Err(not_ours());
        }
        let place = teams.join(name);
        let aside = teams.join(format!("{name}{DELETED}{}", Uuid::new_v4()));
        move_to(&place, &aside).map_err(Error::io("delete", &place))?;
        // Before anything is removed: after a crash of the machine the team must not be there again
        // without its tasks.
        sync_parent(&aside).map_err(|source| Error::Unsynced { path: place, source })?;
        self.finish(name, &aside)
    }

    /// Removes what is left of a disbanded team. Its tasks go first: as long as its directory is
    /// there, it can be seen that they still have to.
    fn finish(&self, name: &str, aside: &Path) -> Result<()> {
        // A team that has the name by now has these tasks, too.
        if !is_there(&self.teams_dir().join(name)) {
            remove(&self.tasks_dir().join(name))?;
        }
        remove(aside)
    }

    /// Clears away what those who were killed left behind. With the lock held, nobody is at it.
    fn clear_away(&self) {
        for entry in fs::read_dir(self.teams_dir()).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if is_half_founded(&name) {
                remove(&entry.path()).ok();
            } else if let Some((team, _)) = name.split_once(DELETED)
                && check_own_team_name(team).is_ok()
            {
                self.finish(team, &entry.path()).ok();
            }
        }
    }

    fn check_free(&self, name: &str) -> Result<()> {
        let teams = self.teams()?;
        let place = self.teams_dir().join(name);
        let namesake = || teams.found.iter().find(|t| t.name() == name).map(|t| t.dir().to_owned());
        let taken_by = if is_there(&place) { Some(place) } else { namesake() };
        if let Some(taken_by) = taken_by {
            return Err(Error::TeamAlreadyExists { team: name.to_owned(), taken_by });
        }
        if teams.found.len() + teams.broken.len() >= TEAMS_LIMIT {
            return Err(Error::LimitReached { limit: TEAMS_LIMIT });
        }
        Ok(())
    }
}

/// Only one Ringer founds or disbands at a time.
fn lock(teams: &Path) -> Result<DirLock> {
    DirLock::of(&teams.join(HALF_FOUNDED), DirLock::DEFAULT_WAIT)
}

/// A whole team, on the disk, beside its place; gone again when it is dropped.
fn build(teams: &Path, new: &NewTeam) -> io::Result<TempDir> {
    let written = Written {
        name: &new.name,
        description: new.description.as_deref(),
        created_at: new.created_at,
        lead_agent_id: format!("{LEAD}@{}", new.name),
        lead_session_id: &new.session_id,
        founder: FOUNDER,
        members: [],
    };
    let half = tempfile::Builder::new()
        .prefix(&format!(".{}.", new.name))
        .suffix(HALF_FOUNDED)
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(teams)?;
    fs::create_dir(half.path().join("inboxes"))?;
    let config = half.path().join("config.json");
    let mut config = OpenOptions::new().write(true).create_new(true).mode(0o600).open(config)?;
    config.write_all(pretty(&written, 0).as_bytes())?;
    config.sync_all()?;
    File::open(half.path())?.sync_all()?;
    Ok(half)
}

/// Moves a directory to where nothing is.
#[expect(clippy::disallowed_methods, reason = "a whole directory, and never over a file")]
fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system can do that. The plain way replaces an empty directory at worst.
        Err(Errno::INVAL | Errno::NOSYS) => fs::rename(from, to),
        other => Ok(other?),
    }
}

fn is_taken(error: &io::Error) -> bool {
    use ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | NotADirectory)
}

/// Whether anything has that path, be it a link to nowhere.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).map_or_else(|e| e.kind() != ErrorKind::NotFound, |_| true)
}

fn make_dir(path: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(Error::io("create", path))
}

/// Removes a directory and all in it. Of a link only the link goes.
fn remove(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io("remove", path)(e)),
        _ => Ok(()),
    }
}
