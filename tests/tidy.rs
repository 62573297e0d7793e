//! Keeps the house in order: what the documents say must be there, and every module says what it owns.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use ringer_testkit::command;

/// A longer file says so in its first lines, with this word and a reason.
const LONGEST: usize = 400;
const EXCUSE: &str = "Long because";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file that git has or would take, by its path in the checkout.
fn files(suffix: &str) -> Vec<(String, String)> {
    let mut git = command("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let listed = String::from_utf8(git.output().unwrap().stdout).unwrap();
    let found: Vec<_> = listed
        .lines()
        .filter(|path| path.ends_with(suffix))
        .filter_map(|path| Some((path.to_owned(), fs::read_to_string(root().join(path)).ok()?)))
        .collect();
    assert!(!found.is_empty(), "no {suffix} files");
    found
}

/// What stands between backticks, and the lines of code blocks, with the file it stands in.
fn quoted() -> Vec<(String, String)> {
    let mut quoted = Vec::new();
    for (path, text) in files(".md") {
        let mut in_block = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                in_block = !in_block;
            } else if in_block || line.starts_with("    ") {
                quoted.push((path.clone(), line.trim().to_owned()));
            } else {
                let parts = line.split('`').skip(1).step_by(2);
                quoted.extend(parts.map(|part| (path.clone(), part.to_owned())));
            }
        }
    }
    quoted
}

#[test]
fn every_module_says_what_it_is_for() {
    for (path, text) in files(".rs") {
        assert!(text.starts_with("//! "), "{path} does not begin with `//!`");
    }
}

#[test]
fn long_files_give_a_reason() {
    for (path, text) in files(".rs") {
        let excused = text.lines().take(20).any(|line| line.contains(EXCUSE));
        let lines = text.lines().count();
        assert!(lines <= LONGEST || excused, "{path} has {lines} lines; split it, or say why");
    }
}

#[test]
fn every_path_that_the_documents_name_exists() {
    let places = ["crates/", "docs/", "tests/", "tools/", "config/", "systemd/", ".ci/"];
    let mut checked = 0;
    for (file, words) in quoted() {
        for word in words.split_whitespace() {
            let word = word.trim_start_matches("./").trim_end_matches([',', ';', ':', ')']);
            if places.iter().any(|place| word.starts_with(place)) && !word.contains(['*', '<', '{'])
            {
                assert!(root().join(word).exists(), "{file} names {word}, which does not exist");
                checked += 1;
            }
        }
    }
    for (file, text) in files(".md") {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let here = root().join(&file);
            assert!(here.parent().unwrap().join(target).exists(), "{file} links to {target}");
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} paths were found: the check is broken");
}

#[test]
fn every_command_that_the_documents_name_exists() {
    let help = command(env!("CARGO_BIN_EXE_ringer")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let verbs: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let justfile = fs::read_to_string(root().join("justfile")).unwrap();
    let recipes: Vec<&str> = justfile
        .lines()
        .filter(|line| !line.starts_with([' ', '#', '@']))
        .filter_map(|line| line.split([':', ' ']).next())
        .collect();
    let mut checked = 0;
    for (file, words) in quoted() {
        let words = words.trim_start_matches("$ ").replace("cargo run --release --", "ringer");
        let words: Vec<&str> = words.split_whitespace().collect();
        let (known, what) = match words.as_slice() {
            ["ringer", verb, ..] => (verbs.contains(verb) || verb.starts_with('-'), *verb),
            ["just", recipe, ..] => (recipes.contains(recipe), *recipe),
            _ => continue,
        };
        assert!(known || what.chars().all(|c| !c.is_lowercase()), "{file}: `{}`", words.join(" "));
        checked += 1;
    }
    assert!(checked > 10, "only {checked} commands were found: the check is broken");
}
