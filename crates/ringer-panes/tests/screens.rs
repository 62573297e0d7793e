//! The gate, on screens of the real programs: what each showed in a state that is known. `tests/screens`
//! has them, as tmux captured them, with paths put in place of the ones there were.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ringer_panes::{Gate, Occupant, Profile, Screen, Sight};
use serde::Deserialize;

/// A screen, and what was going on.
#[derive(Debug, Deserialize)]
struct Sample {
    name: String,
    state: String,
    title: String,
    cursor: Option<(usize, usize)>,
    hidden: bool,
    rows: Vec<String>,
}

impl Sample {
    fn sight(&self) -> Sight {
        let occupant = Occupant {
            pid: 1,
            started_with: String::new(),
            command: String::new(),
            foreground: None,
            server: 1,
        };
        Sight {
            occupant,
            screen: Screen {
                rows: self.rows.clone(),
                cursor: self.cursor,
                hidden: self.hidden,
                above: 0,
            },
            title: self.title.clone(),
            blocked: None,
            takes_paste: None,
            unsent: None,
            quiet: None,
            counts: None,
        }
    }
}

fn samples(profile: &str) -> Vec<Sample> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens");
    let text = fs::read_to_string(dir.join(format!("{profile}.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What the gate says of each screen must be what was going on. Where a state has no name of its own, it
/// is enough that nothing is typed.
fn check(name: &str) {
    let profile = Profile::load(name, Path::new("/nonexistent")).unwrap();
    let gate = Gate::new(&profile);
    let mut wrong = BTreeMap::new();
    let all = samples(name);
    for sample in &all {
        let said = gate.admit(&sample.sight()).err().map_or("ready".to_owned(), |hold| hold.reason);
        let right = match sample.state.as_str() {
            "ready" | "draft" | "busy" | "dialog" => said == sample.state,
            "shell" => said == "shell mode",
            "held" | "popup" | "starting" | "exited" => said != "ready",
            "any" | "after-enter" => true,
            other => panic!("{}: what is {other}?", sample.name),
        };
        if !right {
            wrong.insert(&sample.name, (&sample.state, said));
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong: {wrong:#?}", wrong.len(), all.len());
    for state in ["ready", "draft", "busy", "dialog"] {
        assert!(all.iter().any(|sample| sample.state == state), "no screen shows {name} {state}");
    }
}

#[test]
fn gemini() {
    check("gemini");
}

#[test]
fn codex() {
    check("codex");
}

#[test]
fn opencode() {
    check("opencode");
}

#[test]
fn claude() {
    check("claude");
}
