//! Makes the recordings in `crates/ringer-observe/tests/recordings`: lets real Claude Code builds live
//! through a team's whole life, and keeps what they wrote about it and what was on disk meanwhile.
//! Usage: `cargo run -p ringer-testkit --bin record -- OUT [VERSION…]`.

mod disk;
mod headless;
mod lead;
mod life;
mod line;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ringer_testkit::put;
use serde_json::Value;

use life::Life;

/// One of every generation: teams by tool with the old and the new messages, and a team for every
/// session.
const VERSIONS: [&str; 3] = ["2.1.39", "2.1.177", "2.1.325"];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let out = PathBuf::from(arguments.next().context("usage: record OUT [VERSION…]")?);
    let asked: Vec<String> = arguments.collect();
    let all = VERSIONS.map(String::from);
    for version in if asked.is_empty() { &all[..] } else { &asked[..] } {
        record(version, &out.join(version)).with_context(|| format!("Claude Code {version}"))?;
    }
    Ok(())
}

fn record(version: &str, out: &Path) -> Result<()> {
    // A fixed place: its path ends up in the recordings.
    let root = Path::new("/tmp/ringer-record");
    fs::remove_dir_all(root).ok();
    fs::create_dir_all(out)?;
    let life = Life::of(version)?;
    let (transcript, checkpoints) = lead::live(&life, root).context("in a terminal")?;
    put(&out.join("transcript.jsonl"), &line::sanitised(&transcript)?);
    let checkpoints: Vec<String> = checkpoints.iter().map(Value::to_string).collect();
    put(&out.join("disk.json"), &format!("[\n{}\n]\n", checkpoints.join(",\n")));
    let stream = headless::live(&life, root).context("headless")?;
    put(&out.join("stream.jsonl"), &line::sanitised(&stream)?);
    fs::remove_dir_all(root)?;
    Ok(())
}
