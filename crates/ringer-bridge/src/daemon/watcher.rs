//! The InboxWatcher: tells what changed under `teams/` and `tasks/`, and in the few other files we go by.
//!
//! Owns the watches. Directories are watched, never files, since files are replaced. What it tells
//! is a hint to look, never the truth: whoever gets it reads the files.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RenameMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use ringer_teams::ClaudeDir;
use tokio::sync::Notify;
use tracing::{debug, warn};

/// So many directories may be made one in another while we look.
const MOST_LEVELS: usize = 8;

/// How far a write has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Somebody is writing.
    Begun,
    /// Somebody has written and closed it, or it is gone, or looks different.
    Closed,
    /// It was put there whole.
    Renamed,
}

/// What is known about a path that changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noted {
    /// Since when it has not been handled.
    pub(crate) since: Instant,
    pub(crate) stage: Stage,
}

/// What changed since the last time.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) paths: HashMap<PathBuf, Noted>,
    /// What was removed or renamed away: a watch on it is worth nothing, even if there is another
    /// of that name by now.
    pub(crate) gone: HashSet<PathBuf>,
    /// Events were lost: everything is to be looked at.
    pub(crate) all: bool,
}

/// Where the system's events arrive. One path is one line, however often it changes.
#[derive(Debug, Default)]
struct Board {
    changes: Mutex<Changes>,
    bell: Notify,
}

/// Why some directory is not watched, if one is not, and how many are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watching {
    pub(crate) watches: usize,
    pub(crate) trouble: Option<String>,
}

#[derive(Debug)]
pub(crate) struct InboxWatcher {
    places: Arc<Places>,
    board: Arc<Board>,
    watcher: Option<RecommendedWatcher>,
    /// Each directory, as the one it was when the watch was made.
    watched: BTreeMap<PathBuf, Directory>,
    trouble: Option<String>,
    /// What was last said of it.
    told: Option<String>,
}

/// A directory's device and number: a new one of the same name is another one.
type Directory = (u64, u64);

/// What is of interest.
#[derive(Debug)]
struct Places {
    teams: PathBuf,
    tasks: PathBuf,
    /// Where transcripts are.
    projects: PathBuf,
    files: Vec<PathBuf>,
}

impl Places {
    fn targets(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().chain([&self.teams, &self.tasks, &self.projects])
    }

    fn matter(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Ok(below) = path.strip_prefix(&self.tasks) {
            return match below.components().count() {
                0 | 1 => true,
                2 => name.ends_with(".json") && !name.starts_with('.'),
                _ => false,
            };
        }
        if let Ok(below) = path.strip_prefix(&self.projects) {
            return match below.components().count() {
                0 | 1 => true,
                2 => name.ends_with(".jsonl"),
                _ => false,
            };
        }
        let Ok(below) = path.strip_prefix(&self.teams) else {
            // One of the files, or a directory on the way to something.
            return self.targets().any(|target| target.starts_with(path));
        };
        match below.components().count() {
            0 | 1 => true,
            2 => name == "config.json" || name == "inboxes",
            3 => name.ends_with(".json") && !name.starts_with('.'),
            _ => false,
        }
    }
}

impl InboxWatcher {
    /// For the teams in Claude Code's directory, their tasks, transcripts that are asked for, and for these `files`. None
    /// of them need exist.
    pub(crate) fn new(claude: &ClaudeDir, files: Vec<PathBuf>) -> Self {
        let (teams, tasks) = (claude.teams_dir(), claude.tasks_dir());
        let places = Arc::new(Places { teams, tasks, projects: claude.projects_dir(), files });
        let board = Arc::new(Board::default());
        let mut new = Self {
            places,
            board,
            watcher: None,
            watched: BTreeMap::new(),
            trouble: None,
            told: None,
        };
        new.start();
        new
    }

    fn start(&mut self) {
        let (places, board) = (self.places.clone(), self.board.clone());
        let handle = move |event: notify::Result<notify::Event>| board.note(&places, event);
        match notify::recommended_watcher(handle) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => self.trouble = Some(explain(&error)),
        }
    }

    /// Waits until something has changed, and takes it.
    pub(crate) async fn changes(&self) -> Changes {
        loop {
            let told = self.board.bell.notified();
            let changes = std::mem::take(&mut *self.board.lock());
            if changes.all || !changes.paths.is_empty() {
                return changes;
            }
            told.await;
        }
    }

    /// What can be said of the watches.
    pub(crate) fn watching(&self) -> Watching {
        Watching { watches: self.watched.len(), trouble: self.trouble.clone() }
    }

    /// Makes the watches agree with what is on disk, everywhere. What a directory held before it
    /// was watched is for the caller to read.
    pub(crate) fn follow(&mut self) {
        if self.watcher.is_none() {
            self.start();
        }
        if self.watcher.is_some() {
            self.trouble = None;
        }
        let places = self.places.clone();
        let nearest = || -> BTreeSet<&Path> {
            let targets = places.targets();
            targets.filter_map(|path| path.ancestors().skip(1).find(|dir| dir.is_dir())).collect()
        };
        let mut above = nearest();
        // A directory that is made before its parent is watched tells nobody.
        for _ in 0..MOST_LEVELS {
            for (path, was) in self.watched.clone() {
                let below = [&places.teams, &places.tasks, &places.projects]
                    .iter()
                    .any(|place| path.starts_with(place));
                let wanted = below || above.contains(path.as_path());
                if !wanted || directory(&path) != Some(was) {
                    self.forget(&path);
                }
            }
            for dir in &above {
                self.watch(dir);
            }
            let now = nearest();
            if std::mem::replace(&mut above, now.clone()) == now {
                break;
            }
        }
        self.watch(&places.teams);
        self.watch(&places.tasks);
        self.watch(&places.projects);
        for entry in fs::read_dir(&places.teams).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.follow_team(&entry.path());
            }
        }
    }

    /// The same for one directory below `teams/`.
    pub(crate) fn follow_team(&mut self, dir: &Path) {
        self.watch(dir);
        self.watch(&dir.join("inboxes"));
        self.watch(&self.places.tasks.join(dir.file_name().unwrap_or_default()));
    }

    /// The directory that a transcript is in.
    pub(crate) fn follow_transcript(&mut self, path: &Path) {
        if let Some(dir) = path.parent().filter(|dir| dir.starts_with(&self.places.projects)) {
            self.watch(dir);
        }
    }

    /// Directories of teams that are watched.
    pub(crate) fn teams(&self) -> Vec<PathBuf> {
        let is_team = |dir: &&PathBuf| dir.parent() == Some(self.places.teams.as_path());
        self.watched.keys().filter(is_team).cloned().collect()
    }

    fn watch(&mut self, dir: &Path) {
        let now = directory(dir);
        if self.watched.get(dir).copied() == now {
            return;
        }
        self.forget(dir);
        let (Some(now), Some(watcher)) = (now, &mut self.watcher) else {
            return;
        };
        match watcher.watch(dir, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.watched.insert(dir.to_owned(), now);
            }
            Err(error) if is_nothing_to_us(&error) => debug!(dir = %dir.display(), "{error}"),
            Err(error) => {
                let why = explain(&error);
                if self.told.as_ref() != Some(&why) {
                    warn!(dir = %dir.display(), "{why}");
                }
                self.told = Some(why.clone());
                self.trouble = Some(why);
            }
        }
    }

    /// A directory is not what it was: whatever is there now is watched anew.
    pub(crate) fn forget(&mut self, dir: &Path) {
        if self.watched.remove(dir).is_some()
            && let Some(watcher) = &mut self.watcher
        {
            // Most often the watch went with the directory.
            watcher.unwatch(dir).ok();
        }
    }
}

impl Board {
    fn lock(&self) -> std::sync::MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs in the thread that reads the system's events: must be quick, and must not watch.
    fn note(&self, places: &Places, event: notify::Result<notify::Event>) {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                debug!("the watcher says: {error}");
                self.lock().all = true;
                return self.bell.notify_one();
            }
        };
        if event.need_rescan() {
            warn!("the system lost events; everything is looked at again");
            self.lock().all = true;
            return self.bell.notify_one();
        }
        let stage = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Remove(_)
            | EventKind::Create(CreateKind::Folder)
            | EventKind::Modify(ModifyKind::Metadata(_) | ModifyKind::Name(RenameMode::From)) => {
                Stage::Closed
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::To)) => Stage::Renamed,
            EventKind::Create(_) | EventKind::Modify(ModifyKind::Data(_)) => Stage::Begun,
            // Opened, read, and both halves of a rename, of which we have heard already.
            _ => return,
        };
        let paths: Vec<_> = event.paths.into_iter().filter(|path| places.matter(path)).collect();
        if paths.is_empty() {
            return;
        }
        let is_gone = matches!(
            event.kind,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From))
        );
        let mut changes = self.lock();
        for path in paths {
            if is_gone {
                changes.gone.insert(path.clone());
            }
            let new = Noted { since: Instant::now(), stage };
            let noted = changes.paths.entry(path).or_insert(new);
            noted.stage = noted.stage.max(stage);
        }
        drop(changes);
        self.bell.notify_one();
    }
}

fn directory(path: &Path) -> Option<Directory> {
    let meta = fs::metadata(path).ok()?;
    meta.is_dir().then(|| (meta.dev(), meta.ino()))
}

/// It was gone before we came, or is none of our business.
fn is_nothing_to_us(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(e) => e.kind() == std::io::ErrorKind::PermissionDenied,
        _ => false,
    }
}

/// What stands in the way of watching, and what helps.
fn explain(error: &notify::Error) -> String {
    let limit = |name: &str| {
        let value = fs::read_to_string(format!("/proc/sys/fs/inotify/{name}"));
        value.map_or_else(|_| "?".to_owned(), |text| text.trim().to_owned())
    };
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => format!(
            "no more directories can be watched (fs.inotify.max_user_watches is {}); \
             raise it with: sudo sysctl fs.inotify.max_user_watches=524288",
            limit("max_user_watches")
        ),
        notify::ErrorKind::Io(e) if e.raw_os_error() == Some(24) => format!(
            "no more watchers can be made (fs.inotify.max_user_instances is {}); \
             raise it with: sudo sysctl fs.inotify.max_user_instances=512",
            limit("max_user_instances")
        ),
        _ => format!("a directory cannot be watched: {error}"),
    }
}
