//! What tells one version of a file from another without reading it.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Number, size and time; nothing if there is no file.
type Signature = Option<(u64, u64, i64, i64)>;

/// How files looked when they were last asked about.
#[derive(Debug, Default)]
pub(crate) struct Signatures(HashMap<PathBuf, Signature>);

impl Signatures {
    /// Those of the files that look different from the last time, or were not asked about then.
    /// Files that are not named are forgotten.
    pub(crate) fn changed(&mut self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let mut old = std::mem::take(&mut self.0);
        let mut changed = Vec::new();
        for path in paths {
            let now = signature(path);
            if old.remove(path) != Some(now) {
                changed.push(path.clone());
            }
            self.0.insert(path.clone(), now);
        }
        changed
    }
}

fn signature(path: &Path) -> Signature {
    let meta = fs::metadata(path).ok()?;
    Some((meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
}
