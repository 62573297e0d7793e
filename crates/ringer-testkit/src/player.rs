//! The `player` program, a small terminal agent: what it kept, and the profile for it.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Something that happened to a player.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// The text that was submitted.
    pub text: String,
    /// Whether it was the approval of a dialog instead.
    pub approved: bool,
    /// Whether it was busy.
    pub busy: bool,
    /// So many milliseconds a dialog that was approved had been on the screen; 0 if it was not drawn yet.
    #[serde(default)]
    pub shown_ms: u64,
}

/// How to see what it is doing, for `workers/player.toml`.
pub const PLAYER_PROFILE: &str = r#"
about = "The player of the tests"
programs = ["player"]
settle_ms = 60

[ready]
screen = '''(?m)^─{10,}\n>   Say something\n─{10,}\nplayer · [^\n]*\z'''

[prompt]
screen = '''(?m)^─{10,}\n> (?<text>[^\n]*(?:\n  [^\n]*|\n)*)\n─{10,}\nplayer · [^\n]*\z'''
decoration = '''^  '''
pasted = '''\[Pasted text \+(?<lines>\d+) lines\]'''

[[hold]]
reason = "dialog"
why = "it asks something"
title = '''^Action Required'''
screen = '''╰ enter to approve\z'''

[[hold]]
reason = "busy"
why = "it is working"
title = '''^Working'''
screen = '''(?m)^\* working[^\n]*\n─{10,}\n> [^─]*─+\nplayer[^\n]*\z'''
"#;

/// What happened to the player that writes to this file, so far.
pub fn played(file: &Path) -> Vec<Played> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}
