//! The `receiver` program, a worker that keeps what it is sent: where it is, and what it got.
//!
//! Owns building it, since cargo tells its path to no other crate's tests.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::process::command;

/// A message that a receiver got: all that came before an Enter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// When its first byte was read, in nanoseconds since 1970.
    pub at_ns: u64,
    /// The text, byte for byte.
    pub text: String,
    /// Whether all of it came as a bracketed paste. What did not could have acted as keys.
    pub pasted: bool,
}

/// What a receiver wrote to this file so far.
pub fn received(file: &Path) -> Vec<Received> {
    let text = fs::read_to_string(file).unwrap_or_default();
    // Each line is written at once, but a reader can still see the first half of a long one.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// The program, built if it is not up to date.
///
/// `receiver FILE [--plain] [--no-echo]` appends a line of JSON to FILE for every message.
pub fn receiver_program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| build("receiver")).clone()
}

/// The program that plays a terminal agent, built if it is not up to date.
pub fn player_program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| build("player")).clone()
}

/// Asks cargo every time: it alone knows whether the program is up to date, and has a lock of its own
/// for those who ask at once.
fn build(program: &str) -> PathBuf {
    let this = env::current_exe().expect("the path of this test");
    // TARGET/PROFILE/deps/TEST or TARGET/PROFILE/PROGRAM
    let mut dir = this.parent().expect("a test is in a directory");
    if dir.ends_with("deps") {
        dir = dir.parent().expect("`deps` is in a profile's directory");
    }
    let profile = match dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let target = dir.parent().expect("a profile's directory is in the target directory");
    let output = command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "-p", "ringer-testkit", "--bin", program])
        .args(["--profile", profile, "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs where tests do");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo could not build `{program}`: {stderr}");
    dir.join(program)
}
