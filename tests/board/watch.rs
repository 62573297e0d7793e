//! Somebody who looks at the board all the time.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// Between two looks: it is not to be the one who takes most of the machine.
const PAUSE: Duration = Duration::from_millis(50);

/// A task that somebody was at when it was read. The file stays open, so that no other can get its number.
struct Active {
    path: PathBuf,
    file: File,
}

impl Active {
    /// Whether it has been somebody's since it was read: a Ringer gives a task away by a new file only, and Claude
    /// Code's writers here never do.
    fn is_unchanged(&self) -> bool {
        let id = |meta: fs::Metadata| (meta.dev(), meta.ino());
        self.file.metadata().map(id).ok() == fs::metadata(&self.path).map(id).ok()
    }
}

/// Looks until it is over; how often it did. Nobody is ever at two tasks.
pub(crate) fn watch(dir: &Path, over: &AtomicBool) -> usize {
    let mut looks = 0;
    while !over.load(Ordering::SeqCst) {
        look(dir);
        looks += 1;
        thread::sleep(PAUSE);
    }
    looks
}

fn look(dir: &Path) {
    let mut at: HashMap<String, Active> = HashMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let Some((owner, active)) = read(path) else { continue };
        // The first was that member's when it was read, and still is after the second was read.
        if let Some(first) = at.get(&owner) {
            let (one, other) = (first.path.display(), active.path.display());
            assert!(!first.is_unchanged(), "{owner} is at two tasks: {one} and {other}");
        }
        at.insert(owner, active);
    }
}

/// Who is at this task. One that is just being written says nothing.
fn read(path: PathBuf) -> Option<(String, Active)> {
    let mut file = File::open(&path).ok()?;
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let task: Value = serde_json::from_str(&text).ok()?;
    let is_active = task["status"] == "in_progress";
    is_active.then_some((task["owner"].as_str()?.to_owned(), Active { path, file }))
}
