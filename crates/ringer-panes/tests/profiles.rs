//! Profiles: what is built in, what a user's file changes, and what is said of a mistake in one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "files of the test's own")]

use std::fs;
use std::path::Path;

use ringer_panes::{Payload, Profile, Submit};

const NOWHERE: &str = "/nonexistent";

fn load(name: &str, file: &str) -> Result<Profile, String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(format!("{name}.toml")), file).unwrap();
    let path = format!("{}/", dir.path().display());
    Profile::load(name, dir.path()).map_err(|error| error.to_string().replace(&path, ""))
}

#[test]
fn what_is_built_in_is_good() {
    let names: Vec<&str> = Profile::built_in().collect();
    assert_eq!(names, ["gemini", "codex", "opencode", "claude", "shell"]);
    for name in names {
        let profile = Profile::load(name, Path::new(NOWHERE)).unwrap();
        assert_eq!(profile.is_plain(), name == "shell", "{name}");
        assert!(!profile.about.is_empty());
        assert_eq!(profile.command.is_empty(), name == "shell");
    }
}

#[test]
fn a_file_changes_what_it_says_and_nothing_else() {
    let built_in = Profile::load("gemini", Path::new(NOWHERE)).unwrap();
    let own = load("gemini", "command = [\"gemini\", \"--yolo\"]\n[env]\nX = \"1\"").unwrap();
    assert_eq!(own.command, ["gemini", "--yolo"]);
    assert_eq!(own.env["X"], "1");
    assert_eq!((own.settle_ms, own.programs.clone()), (built_in.settle_ms, built_in.programs));
    assert!(!own.is_plain());
    let new = load("mine", "command = [\"mine\"]\nsubmit = \"blind\"").unwrap();
    assert!(new.is_plain() && new.submit == Submit::Blind);
}

#[test]
fn a_mistake_is_told_with_its_key_and_line() {
    for (file, why) in [
        ("about = \"x\"\n\nsettle = 5", "`gemini.toml` line 3: unknown field `settle`"),
        ("settle_ms = \"5\"", "`gemini.toml` line 1: invalid type: string \"5\", expected u64"),
        ("channel = \"smoke\"", "`gemini.toml` line 1: unknown variant `smoke`, expected `keys`"),
        ("[ready]\nscreen = '(x'", "`gemini.toml` line 2: `ready.screen`: unclosed group"),
        (
            "[prompt]\nscreen = 'x'",
            "`gemini.toml` line 2: `prompt.screen`: it has no group (?<text>…)",
        ),
        (
            "[[hold]]\nreason = \"x\"\nwhy = \"y\"",
            "`gemini.toml` line 2: `hold`: it needs a title or a screen to be known by",
        ),
        ("about = ", "`gemini.toml` line 1: "),
    ] {
        let said = load("gemini", file).unwrap_err();
        assert!(said.starts_with(why), "{file:?}: {said}");
    }
    let said = load("mine", "[ready]\nscreen = 'x'").unwrap_err();
    assert!(said.contains("`ready.screen` needs `prompt.screen`"), "{said}");
}

#[test]
fn an_unknown_profile_is_told_with_those_there_are() {
    for name in ["gemny", "../gemini", ""] {
        let said = Profile::load(name, Path::new(NOWHERE)).unwrap_err().to_string();
        let there = "there are gemini, codex, opencode, claude, shell";
        assert_eq!(said, format!("there is no profile `{name}`; {there}"));
    }
}

#[test]
fn a_program_is_recognised_by_its_command() {
    let recognise = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Profile::recognise(&words, Path::new(NOWHERE))
    };
    for (words, profile) in [
        (&["gemini"][..], Some("gemini")),
        (&["/usr/bin/node", "/usr/local/bin/gemini"], Some("gemini")),
        (&["codex", "--full-auto"], Some("codex")),
        (&["/opt/opencode/bin/opencode"], Some("opencode")),
        (&["claude"], Some("claude")),
        (&["vim", "gemini.toml"], None),
        (&["cat", "x", "gemini"], None),
        (&[], None),
    ] {
        assert_eq!(recognise(words).as_deref(), profile, "{words:?}");
    }
}

#[test]
fn files_that_a_message_mentions_are_not_handed_over() {
    for (name, text, typed) in [
        (
            "gemini",
            "[x] see @a.txt, a@b.c, @@c and \\@x",
            "[x] see \\@a.txt, a\\@b.c, \\@\\@c and \\@x",
        ),
        ("claude", "[x] @/etc/passwd now", "[x] \\@/etc/passwd now"),
        ("codex", "[x] see @a.txt now", "[x] see @a.txt now"),
    ] {
        let profile = Profile::load(name, Path::new(NOWHERE)).unwrap();
        assert_eq!(Payload::for_worker(text, &profile).as_str(), typed);
    }
}
