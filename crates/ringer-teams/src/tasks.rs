//! All tasks of a team: the numbered files in its directory under `tasks/`.
//!
//! Owns finding and counting them, and what they wait for. Must never write one, nor let a broken one hide the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::read::read_whole;
use crate::task::Task;

/// The largest number that JavaScript can count to.
const LARGEST: u64 = (1 << 53) - 1;

/// What is in a team's directory of tasks.
#[derive(Debug, Default)]
pub struct Tasks {
    /// The tasks, by number.
    pub found: Vec<Task>,
    /// Files that should be tasks and cannot be read, by number.
    pub broken: Vec<(PathBuf, Error)>,
}

impl Tasks {
    /// The tasks that still have to be done.
    pub fn open(&self) -> impl Iterator<Item = &Task> {
        self.found.iter().filter(|task| task.is_open())
    }

    /// The tasks that are done.
    pub fn completed(&self) -> impl Iterator<Item = &Task> {
        self.found.iter().filter(|task| task.is_completed())
    }

    /// How many there are, without those that are deleted.
    pub fn total(&self) -> usize {
        self.found.iter().filter(|task| !task.is_deleted()).count()
    }

    /// The task of that number.
    pub fn get(&self, id: &str) -> Option<&Task> {
        let at = self.found.binary_search_by_key(&whole_number(id)?, |task| numeral(&task.id));
        at.ok().map(|at| &self.found[at])
    }

    /// What each waits for.
    pub fn waits(&self) -> Waits<'_> {
        let mut waits = Waits { tasks: self, on: BTreeMap::new() };
        for task in &self.found {
            for blocker in &task.blocked_by {
                waits.add(&task.id, blocker);
            }
            for blocked in &task.blocks {
                waits.add(blocked, &task.id);
            }
        }
        waits
    }

    /// Reads the directory; one that is not there has no tasks.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let mut tasks = Self::default();
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(tasks),
            Err(e) => return Err(Error::io("list", dir)(e)),
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<_> = paths.filter_map(|path| Some((number(&path)?, path))).collect();
        files.sort();
        for (number, path) in files {
            match read_whole(&path, Task::parse) {
                // It would be changed in another file than it was read from.
                Ok(Some(task)) if task.id != number.to_string() => {
                    let why = format!("it says that it is task {}", task.id.escape_debug());
                    tasks.broken.push((path.clone(), Error::Unreadable { path, why }));
                }
                Ok(Some(task)) => tasks.found.push(task),
                // It was deleted since the directory was listed.
                Ok(None) => {}
                Err(error) => tasks.broken.push((path, error)),
            }
        }
        Ok(tasks)
    }
}

/// Which task waits for which. A dependency counts from the moment at which one of the two says it: whoever wrote it
/// may be about to write the other.
#[derive(Debug)]
pub struct Waits<'a> {
    tasks: &'a Tasks,
    on: BTreeMap<String, BTreeSet<String>>,
}

impl Waits<'_> {
    pub(crate) fn add(&mut self, waiting: &str, blocker: &str) {
        self.on.entry(waiting.to_owned()).or_default().insert(blocker.to_owned());
    }

    pub(crate) fn remove(&mut self, waiting: &str, blocker: &str) {
        if let Some(on) = self.on.get_mut(waiting) {
            on.remove(blocker);
        }
    }

    /// Every dependency: who waits, and for whom.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.on.iter();
        all.flat_map(|(blocked, on)| on.iter().map(|blocker| (blocked.as_str(), blocker.as_str())))
    }

    /// The tasks that this one still waits for, by number. One that is nowhere to be found is waited for, too, as
    /// Claude Code does.
    pub fn blockers(&self, id: &str) -> Vec<String> {
        let is_done = |blocker: &&String| {
            self.tasks.get(blocker).is_some_and(|task| task.is_completed() || task.is_deleted())
        };
        // What is done waits for nothing, whatever it says.
        let is_open = self.tasks.get(id).is_none_or(|task| !task.is_completed());
        let on = self.on.get(id).filter(|_| is_open).into_iter().flatten();
        let mut open: Vec<String> = on.filter(|blocker| !is_done(blocker)).cloned().collect();
        open.sort_by_key(|id| numeral(id));
        open
    }

    /// A way from one task over those that each waits for to another, both included.
    pub(crate) fn path(&self, from: &str, to: &str) -> Option<Vec<String>> {
        let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut next = vec![from];
        while let Some(here) = next.pop() {
            if here == to {
                let mut path = vec![here.to_owned()];
                let mut at = here;
                while at != from {
                    at = came_from[at];
                    path.push(at.to_owned());
                }
                path.reverse();
                return Some(path);
            }
            for on in self.on.get(here).into_iter().flatten() {
                if on != from && !came_from.contains_key(on.as_str()) {
                    came_from.insert(on, here);
                    next.push(on);
                }
            }
        }
        None
    }
}

/// A number to order by; what is none comes last.
fn numeral(id: &str) -> u64 {
    id.parse().unwrap_or(u64::MAX)
}

/// The number of a task's file; `None` for locks and all else that lies beside.
pub(crate) fn number(path: &Path) -> Option<u64> {
    whole_number(path.file_name()?.to_str()?.strip_suffix(".json")?)
}

/// A number as Claude Code writes it: no sign, which Rust would take, and nothing in front.
pub(crate) fn whole_number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    let number = plain.then(|| text.parse().ok()).flatten();
    number.filter(|number| *number <= LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringer_testkit::put;
    use std::os::unix::fs::symlink;
    use std::thread;
    use std::time::Duration;

    use crate::team::ClaudeDir;

    fn task(id: u32, status: &str) -> String {
        format!(r#"{{"id": "{id}", "subject": "s", "status": "{status}"}}"#)
    }

    #[test]
    fn numbered_files_are_read_by_number_and_a_broken_one_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        put(&at("10.json"), &task(10, "completed"));
        put(&at("2.json"), &task(2, "in_progress"));
        put(&at("1.json"), &task(1, "pending"));
        put(&at("3.json"), &task(3, "deleted"));
        put(&at("4.json"), "{\"id\": \"4\"");
        symlink(at("1.json"), at("5.json")).unwrap();
        put(&at("11.json"), &task(12, "pending"));
        for other in ["+6.json", "06.json", "x.json", ".json", ".lock", ".highwatermark", "7.txt"] {
            put(&at(other), &task(6, "pending"));
        }
        fs::create_dir(at("1.json.lock")).unwrap();

        let tasks = Tasks::read(dir.path()).unwrap();
        let ids: Vec<_> = tasks.found.iter().map(|t| t.id.as_str()).collect();
        assert_eq!(ids, ["1", "2", "3", "10"]);
        let broken: Vec<_> =
            tasks.broken.iter().map(|(path, e)| (path.clone(), e.code())).collect();
        let wanted = [
            (at("4.json"), "unreadable"),
            (at("5.json"), "permission_denied"),
            (at("11.json"), "unreadable"),
        ];
        assert_eq!(broken, wanted);
        let counts = (tasks.open().count(), tasks.completed().count(), tasks.total());
        assert_eq!(counts, (2, 1, 3));
    }

    #[test]
    fn a_torn_file_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1.json");
        put(&path, "");
        let writer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            put(&path, &task(1, "pending"));
        });
        let tasks = Tasks::read(dir.path()).unwrap();
        writer.join().unwrap();
        assert_eq!((tasks.found.len(), tasks.broken.len()), (1, 0));
    }

    #[test]
    fn a_team_has_the_tasks_under_its_directorys_name() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("teams/feature-a")).unwrap();
        put(&dir.path().join("teams/feature-a/config.json"), r#"{"name": "Feature A"}"#);
        let team = ClaudeDir::new(dir.path()).team("Feature A").unwrap();
        assert_eq!(team.tasks().unwrap().total(), 0, "there is no `tasks/` at all");
        fs::create_dir_all(team.tasks_dir()).unwrap();
        put(&dir.path().join("tasks/feature-a/1.json"), &task(1, "pending"));
        assert_eq!(team.tasks().unwrap().total(), 1);

        let outside = tempfile::tempdir().unwrap();
        fs::remove_dir_all(team.tasks_dir()).unwrap();
        symlink(outside.path(), team.tasks_dir()).unwrap();
        assert_eq!(team.tasks().unwrap_err().code(), "permission_denied");
    }
}
