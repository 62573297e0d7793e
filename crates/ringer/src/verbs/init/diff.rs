//! What a change to a file is, for people.

use std::io;
use std::path::Path;

use similar::{ChangeTag, TextDiff};

use crate::output::{BOLD, GREEN, Output, RED};

/// Shows it as `diff -u` does.
pub(super) fn show(out: Output, path: &Path, before: &str, after: &str) -> io::Result<()> {
    let diff = TextDiff::from_lines(before, after);
    out.styled(BOLD, &format!("{}:", path.display()))?;
    for hunk in diff.unified_diff().context_radius(2).iter_hunks() {
        out.line(hunk.header().to_string().trim_end())?;
        for change in hunk.iter_changes() {
            let (style, sign) = match change.tag() {
                ChangeTag::Delete => (RED, '-'),
                ChangeTag::Insert => (GREEN, '+'),
                ChangeTag::Equal => ("", ' '),
            };
            out.styled(style, &format!("{sign}{}", change.value().trim_end_matches('\n')))?;
        }
    }
    Ok(())
}
