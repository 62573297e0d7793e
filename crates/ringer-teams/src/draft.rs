//! A message before it is sent: its limits, and what happens to a long one.
//!
//! Owns the rules for text and summary. No clock of its own: the caller says what time it is.

use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use uuid::Uuid;

use crate::edit::sync_parent;
use crate::error::{Error, Result};

/// A longer text goes to a file, and the message says where.
pub const TEXT_LIMIT: usize = 10_000;

/// A longer summary is cut.
pub const SUMMARY_LIMIT: usize = 100;

/// Nothing beyond this is taken at all.
pub const BYTES_LIMIT: u64 = 16 * 1024 * 1024;

/// How much of a long text stays in the message. The rest of [`TEXT_LIMIT`] is for the path.
const BEGINNING: usize = 4_000;

/// A message that can be appended to an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub(crate) from: String,
    pub(crate) text: String,
    pub(crate) summary: Option<String>,
    pub(crate) timestamp: String,
    pub(crate) color: Option<String>,
    pub(crate) msg_id: String,
}

impl Draft {
    /// A message from `from`. `timestamp` is what JavaScript's `toISOString` gives.
    pub fn new(from: &str, text: &str, timestamp: &str) -> Result<Self> {
        if text.trim().is_empty() {
            return Err(Error::EmptyMessage);
        }
        let bytes = text.len() as u64;
        if bytes > BYTES_LIMIT {
            return Err(Error::TooLarge { bytes, limit: BYTES_LIMIT });
        }
        Ok(Self {
            from: from.to_owned(),
            text: text.to_owned(),
            summary: None,
            timestamp: timestamp.to_owned(),
            color: None,
            msg_id: Uuid::new_v4().to_string(),
        })
    }

    /// With a few words for people, cut at [`SUMMARY_LIMIT`] characters and put on one line.
    #[must_use]
    pub fn summary(mut self, summary: &str) -> Self {
        let one_line = summary.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut: String = one_line.chars().take(SUMMARY_LIMIT).collect();
        self.summary = (!cut.is_empty()).then_some(cut);
        self
    }

    /// With the sender's colour.
    #[must_use]
    pub fn color(mut self, color: Option<&str>) -> Self {
        self.color = color.map(str::to_owned);
        self
    }

    /// The same message to somebody else: everything but its identity.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self { msg_id: Uuid::new_v4().to_string(), ..self.clone() }
    }

    /// A text of more than [`TEXT_LIMIT`] characters is stored whole in `dir`, synced, and the
    /// message carries its beginning and the path. A shorter one is left as it is.
    pub fn fit(mut self, dir: &Path) -> Result<Self> {
        let length = self.text.chars().count();
        if length <= TEXT_LIMIT {
            return Ok(self);
        }
        self.text = stored(&self.text, dir, &self.msg_id)?;
        Ok(self)
    }
}

/// Stores a long text whole in a file `name`.txt in `dir`, synced, and returns what a message says
/// instead: its beginning, and where the file is. A file that is there already is replaced.
pub fn stored(text: &str, dir: &Path, name: &str) -> Result<String> {
    let file = dir.join(format!("{name}.txt"));
    store(dir, &file, text).map_err(Error::io("store the long message in", &file))?;
    let beginning: String = text.chars().take(BEGINNING).collect();
    Ok(format!(
        "{beginning}\n\n[This is the beginning of a message of {length} characters. \
         Read the whole of it in the file {file}]",
        length = text.chars().count(),
        file = file.display()
    ))
}

fn store(dir: &Path, file: &Path, text: &str) -> io::Result<()> {
    if !dir.exists() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        sync_parent(dir)?;
    }
    let mut temp = tempfile::NamedTempFile::new_in(dir)?;
    temp.write_all(text.as_bytes())?;
    temp.as_file().sync_all()?;
    temp.persist(file).map_err(|e| e.error)?;
    sync_parent(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Draft {
        Draft::new("a", text, "t").unwrap()
    }

    #[test]
    fn an_empty_message_is_refused() {
        for empty in ["", " \n\t"] {
            assert_eq!(Draft::new("a", empty, "t").unwrap_err().code(), "empty_message");
        }
        let huge = "x".repeat(usize::try_from(BYTES_LIMIT).unwrap() + 1);
        assert_eq!(Draft::new("a", &huge, "t").unwrap_err().code(), "too_large");
    }

    #[test]
    fn summaries_are_cut_on_a_character_boundary() {
        let summary = |text: &str| draft("x").summary(text).summary;
        assert_eq!(summary(&"é😀".repeat(80)).unwrap().chars().count(), 100);
        assert_eq!(summary("two\nlines").unwrap(), "two lines");
        assert_eq!(summary("  "), None);
    }

    #[test]
    fn a_long_text_is_kept_whole_in_a_file_and_pointed_to() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("state/messages");
        let just = "é".repeat(TEXT_LIMIT);
        assert_eq!(draft(&just).fit(&store).unwrap().text, just);
        assert!(!store.exists());

        let long = "é".repeat(TEXT_LIMIT + 1);
        let fitted = draft(&long).fit(&store).unwrap();
        let file = store.join(format!("{}.txt", fitted.msg_id));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), long);
        assert!(fitted.text.starts_with("ééé"));
        assert!(fitted.text.contains(file.to_str().unwrap()));
        assert!(fitted.text.chars().count() < TEXT_LIMIT);
    }
}
