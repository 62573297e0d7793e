//! Teams on disk: finding them under Claude Code's directory, and the paths inside one.
//!
//! Owns every path under `teams/`, and where a team's tasks are. None leads out, whatever a name or
//! a link says.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::board::Board;
use crate::config::{Member, TeamConfig};
use crate::error::{Error, Result};
use crate::lead::{Liveness, is_starting};
use crate::lock::DirLock;
use crate::mailbox::Mailbox;
use crate::members::sweep;
use crate::names::{check_team_name, inbox_file_name, is_half_deleted, is_half_founded};
use crate::read::read_whole;
use crate::tasks::Tasks;

/// Claude Code's directory: `$CLAUDE_CONFIG_DIR`, else `~/.claude`.
#[derive(Debug, Clone)]
pub struct ClaudeDir {
    root: PathBuf,
}

/// What is under `teams/`.
#[derive(Debug, Default)]
pub struct Teams {
    /// The teams, newest first.
    pub found: Vec<Team>,
    /// Directories that should be teams and cannot be read.
    pub broken: Vec<(PathBuf, Error)>,
}

/// One team, as it was when it was read.
#[derive(Debug, Clone)]
pub struct Team {
    teams: PathBuf,
    tasks: PathBuf,
    dir: PathBuf,
    dir_name: String,
    /// Its configuration.
    pub config: TeamConfig,
}

impl ClaudeDir {
    /// The directory at `root`. It need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// `teams/` in it.
    pub fn teams_dir(&self) -> PathBuf {
        self.root.join("teams")
    }

    /// `tasks/` in it.
    pub fn tasks_dir(&self) -> PathBuf {
        self.root.join("tasks")
    }

    /// All teams. A directory without a `config.json` is none, nor is one that is being made or deleted.
    pub fn teams(&self) -> Result<Teams> {
        let mut teams = Teams::default();
        let root = self.teams_dir();
        let entries = match fs::read_dir(&root) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(teams),
            Err(e) => return Err(Error::io("list", root)(e)),
        };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            match self.team_in(&name) {
                Ok(Some(team)) => teams.found.push(team),
                Ok(None) => {}
                Err(error) => teams.broken.push((entry.path(), error)),
            }
        }
        teams.found.sort_by(|a, b| {
            let newest_first = b.config.created_at.cmp(&a.config.created_at);
            newest_first.then_with(|| a.dir_name.cmp(&b.dir_name))
        });
        teams.broken.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(teams)
    }

    /// The team of that name: the name in its configuration, or its directory's.
    pub fn team(&self, name: &str) -> Result<Team> {
        let plain = check_team_name(name);
        if plain.is_ok()
            && let Some(team) = self.team_in(name)?
        {
            return Ok(team);
        }
        let teams = self.teams()?.found;
        let known = teams.iter().map(|team| team.name().to_owned()).collect();
        teams
            .into_iter()
            .find(|team| team.name() == name)
            .ok_or_else(|| plain.err().unwrap_or(Error::TeamNotFound { team: name.into(), known }))
    }

    /// The team in that directory below `teams/`, if there is one.
    pub fn team_in(&self, dir_name: &str) -> Result<Option<Team>> {
        let teams = self.teams_dir();
        if is_half_deleted(dir_name) || is_half_founded(dir_name) {
            return Ok(None);
        }
        let dir = teams.join(dir_name);
        let config = dir.join("config.json");
        match config.symlink_metadata() {
            Ok(_) => {}
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(e) => return Err(Error::io("look at", config)(e)),
        }
        let (tasks, dir_name) = (self.tasks_dir(), dir_name.to_owned());
        let team = |config| Team { teams, tasks, dir: dir.clone(), dir_name, config };
        check_inside(&self.teams_dir(), &dir)?;
        Ok(read_whole(&config, TeamConfig::parse)?.map(team))
    }
}

impl Team {
    /// What the team is called.
    pub fn name(&self) -> &str {
        self.config.name.as_deref().unwrap_or(&self.dir_name)
    }

    /// Whether Ringer founded it, without Claude Code.
    pub fn is_own(&self) -> bool {
        self.config.is_own()
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What its directory is called.
    pub fn dir_name(&self) -> &str {
        &self.dir_name
    }

    /// Its `config.json`.
    pub fn config_path(&self) -> PathBuf {
        self.dir.join("config.json")
    }

    /// Where its tasks are. It need not exist.
    pub fn tasks_dir(&self) -> PathBuf {
        self.tasks.join(&self.dir_name)
    }

    /// Its tasks, as they are now.
    pub fn tasks(&self) -> Result<Tasks> {
        let dir = self.tasks_dir();
        if fs::symlink_metadata(&dir).is_err_and(|e| e.kind() == ErrorKind::NotFound) {
            return Ok(Tasks::default());
        }
        check_inside(&self.tasks, &dir)?;
        Tasks::read(&dir)
    }

    /// The board that its tasks are changed on.
    pub fn board(&self) -> Board<'_> {
        Board::of(self)
    }

    /// Where the lead works.
    pub fn lead_cwd(&self) -> Option<&Path> {
        self.config.lead().and_then(|lead| lead.cwd.as_deref()).map(Path::new)
    }

    /// Whether the lead runs.
    pub fn lead_alive(&self) -> Liveness {
        Liveness::of(self.config.lead_process.as_ref())
    }

    /// Whether the lead runs and has yet to come to its prompt. Until then it may give this team up: a Claude Code that
    /// resumes a session makes a team first, then that of the session, and keeps the first one only if somebody has
    /// joined it.
    pub fn lead_is_starting(&self) -> bool {
        let sessions = self.teams.with_file_name("sessions");
        is_starting(self.config.lead_process.as_ref(), &sessions)
    }

    /// The member of that name.
    pub fn member(&self, name: &str) -> Result<&Member> {
        self.config.member(name).ok_or_else(|| Error::AgentNotFound {
            team: self.name().to_owned(),
            name: name.to_owned(),
            known: self.config.members.iter().map(|m| m.name.clone()).collect(),
        })
    }

    /// Clears away what writers of ours that were killed left in its directory: half-written files,
    /// and the locks of these members' inboxes and of the configuration.
    pub fn recover<'a>(&self, members: impl IntoIterator<Item = &'a str>) {
        sweep(self);
        DirLock::free_abandoned(&self.config_path());
        for mailbox in members.into_iter().flat_map(|name| self.mailboxes(name).unwrap_or_default())
        {
            DirLock::free_abandoned(mailbox.path());
        }
    }

    /// The inbox that messages to `name` go to. It need not exist, nor need the member.
    pub fn mailbox(&self, name: &str) -> Result<Mailbox> {
        let mail_dir = self.mail_dir();
        if mail_dir != self.dir
            && let Err(e) = fs::create_dir(&mail_dir)
            && e.kind() != ErrorKind::AlreadyExists
        {
            return Err(Error::io("create", &mail_dir)(e));
        }
        self.mailbox_in(&mail_dir, name)
    }

    /// Every inbox that `name` may find messages in: the one of [`Team::mailbox`] and, on the old
    /// versions that keep a team in two directories, the one that task assignments go to.
    pub fn mailboxes(&self, name: &str) -> Result<Vec<Mailbox>> {
        let mail_dir = self.mail_dir();
        let mut boxes = vec![self.mailbox_in(&mail_dir, name)?];
        if mail_dir != self.dir {
            boxes.push(self.mailbox_in(&self.dir, name)?);
        }
        Ok(boxes)
    }

    fn mailbox_in(&self, team_dir: &Path, name: &str) -> Result<Mailbox> {
        let inboxes = team_dir.join("inboxes");
        check_inside(&self.teams, &inboxes)?;
        Ok(Mailbox::new(inboxes.join(format!("{}.json", inbox_file_name(name)))))
    }

    /// The directory that holds `inboxes/`.
    ///
    /// Claude Code up to 2.1.177 names a team's directory in lower case with every other
    /// character than letters and digits replaced, but looks for inboxes under the name mapped as
    /// an inbox's is: a team `feature_A` has its config in `feature-a` and its mail in `feature_A`.
    fn mail_dir(&self) -> PathBuf {
        let mapped = inbox_file_name(self.name());
        let made_from_name =
            self.name().encode_utf16().map(lower_or_dash).eq(self.dir_name.chars());
        let dir = self.teams.join(&mapped);
        if mapped == self.dir_name || !made_from_name || dir.join("config.json").exists() {
            return self.dir.clone();
        }
        dir
    }
}

fn lower_or_dash(unit: u16) -> char {
    let c = u8::try_from(unit).map_or('-', char::from);
    if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }
}

/// Refuses a path that, links followed, is not below `root`. What does not exist yet cannot be a
/// link; its parent is checked instead.
pub(crate) fn check_inside(root: &Path, path: &Path) -> Result<()> {
    let mut existing = path;
    let real = loop {
        match existing.canonicalize() {
            Ok(real) => break real,
            Err(e) if e.kind() == ErrorKind::NotFound && !existing.is_symlink() => {
                existing = existing.parent().ok_or_else(|| Error::io("resolve", path)(e))?;
            }
            Err(e) => return Err(Error::io("resolve", path)(e)),
        }
    };
    let root = root.canonicalize().map_err(Error::io("resolve", root))?;
    let outside = || Error::OutsideRoot { path: path.into() };
    real.starts_with(root).then_some(()).ok_or_else(outside)
}
