//! Other programs: the one place that starts them.

use std::ffi::OsStr;
use std::process::Command;

/// A command that is about to be run.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    Command::new(name)
}
