//! All tasks of a team: the numbered files in its directory under `tasks/`.
//!
//! Owns finding and counting them. Must never write one, nor let a broken one hide the others.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::read::read_whole;
use crate::task::Task;

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
        for (_, path) in files {
            match read_whole(&path, Task::parse) {
                Ok(Some(task)) => tasks.found.push(task),
                // It was deleted since the directory was listed.
                Ok(None) => {}
                Err(error) => tasks.broken.push((path, error)),
            }
        }
        Ok(tasks)
    }
}

/// The number of a task's file; `None` for locks and all else that lies beside.
fn number(path: &Path) -> Option<u64> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".json")?;
    // Rust would take a sign for part of a number.
    stem.bytes().all(|b| b.is_ascii_digit()).then(|| stem.parse().ok()).flatten()
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
        for other in ["+6.json", "x.json", ".json", ".lock", ".highwatermark", "7.txt"] {
            put(&at(other), &task(6, "pending"));
        }
        fs::create_dir(at("1.json.lock")).unwrap();

        let tasks = Tasks::read(dir.path()).unwrap();
        let ids: Vec<_> = tasks.found.iter().map(|t| t.id.as_str()).collect();
        assert_eq!(ids, ["1", "2", "3", "10"]);
        let broken: Vec<_> =
            tasks.broken.iter().map(|(path, e)| (path.clone(), e.code())).collect();
        assert_eq!(broken, [(at("4.json"), "unreadable"), (at("5.json"), "permission_denied")]);
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
