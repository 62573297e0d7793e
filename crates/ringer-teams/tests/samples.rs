//! Files that six real Claude Code builds wrote, read back. `ringer-testkit`'s `capture` makes them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use ringer_teams::{ClaudeDir, Draft, Inbox, Known, Mailbox, Structured, Task, TeamConfig};

fn versions() -> Vec<PathBuf> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut found: Vec<_> = fs::read_dir(samples).unwrap().map(|e| e.unwrap().path()).collect();
    found.sort();
    assert_eq!(found.len(), 6, "one sample per generation: {found:?}");
    found
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn number(version: &Path) -> u32 {
    version.extension().unwrap().to_str().unwrap().parse().unwrap()
}

#[test]
fn configurations_of_every_version_are_read() {
    for version in versions() {
        let config = TeamConfig::parse(&read(version.join("config.json"))).unwrap();
        let lead = config.lead().unwrap();
        assert_eq!(lead.name, "team-lead");
        assert_eq!(lead.cwd.as_deref(), Some("/tmp/ringer-capture/project"));
        assert!(config.created_at.unwrap() > 1_700_000_000_000);
        assert_eq!(config.lead_session_id.as_ref().unwrap().len(), 36);
        let implicit = config.name.as_ref().unwrap().starts_with("session-");
        assert_eq!(implicit, number(&version) >= 200);
        if number(&version) == 325 {
            let process = config.lead_process.unwrap();
            assert!(process.pid > 0 && process.pid_space.is_some() && process.proc_start.is_some());
        }
        assert!(config.odd.is_empty());
    }
}

#[test]
fn inboxes_of_every_version_are_read() {
    for version in versions() {
        let inbox = Inbox::parse(&read(version.join("inboxes/rust-impl.json"))).unwrap();
        assert!(inbox.odd().next().is_none());
        let entries: Vec<_> = inbox.entries().collect();
        assert_eq!(entries.len(), 4, "{}", version.display());
        assert_eq!(entries[0].text, "Switch to \"BTreeMap\", é 😀\n\ttwo lines");
        assert_eq!(entries[0].summary.as_deref(), Some("Change map"));
        assert_eq!(entries[1].text, "cut here: \u{fffd}");
        assert!(entries[1].raw.contains(r"cut here: \ud83d"));
        assert!(
            entries.iter().all(|e| e.from == "team-lead" && !e.read && e.timestamp.ends_with('Z'))
        );
        assert_eq!(entries[0].msg_id.is_some(), number(&version) >= 200);
        assert!(matches!(
            entries[2].structured(),
            Some(Structured::Known(Known::TaskAssignment { task_id, .. })) if task_id == "2"
        ));
        assert!(matches!(
            entries[3].structured(),
            Some(Structured::Known(Known::ShutdownRequest { reason: Some(reason), .. })) if reason == "done"
        ));
    }
}

#[test]
fn tasks_of_every_version_are_read() {
    for version in versions() {
        let task = |n: u32| Task::parse(&read(version.join(format!("tasks/{n}.json")))).unwrap();
        let (first, second) = (task(1), task(2));
        assert_eq!((first.id.as_str(), first.status.as_str()), ("1", "in_progress"));
        assert_eq!(first.active_form.as_deref(), Some("Reading the files"));
        assert_eq!(first.blocks, ["2"]);
        assert!(first.metadata.unwrap().contains("1.5"));
        assert_eq!(second.owner.as_deref(), Some("rust-impl"));
        assert_eq!(second.blocked_by, ["1"]);
    }
}

#[test]
fn an_inbox_of_every_version_keeps_every_byte_when_we_append() {
    for version in versions() {
        let before = read(version.join("inboxes/rust-impl.json"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rust-impl.json");
        fs::copy(version.join("inboxes/rust-impl.json"), &path).unwrap();
        let draft = Draft::new("rust-impl", "hello", "2026-02-22T20:30:00.000Z").unwrap();
        Mailbox::new(&path).append(&draft.summary("words")).unwrap();
        let after = read(path);
        let kept = before.strip_suffix("\n]").unwrap();
        assert!(after.starts_with(kept), "{}", version.display());
        assert_eq!(Inbox::parse(&after).unwrap().entries().count(), 5);
    }
}

#[test]
fn our_entries_have_the_keys_that_the_newest_version_writes() {
    let keys = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("    \""));
        lines.filter_map(|line| line.split_once('"')).map(|(key, _)| key.to_owned()).collect()
    };
    let newest = versions().into_iter().max_by_key(|v| number(v)).unwrap();
    let theirs = read(newest.join("inboxes/odd-name--.json"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.json");
    let draft = Draft::new("team-lead", "hello", "2026-02-22T20:30:00.000Z").unwrap();
    Mailbox::new(&path).append(&draft.summary("greeting")).unwrap();
    assert_eq!(keys(&read(path)), keys(&theirs));
}

#[test]
fn names_become_the_files_that_real_builds_made() {
    for version in versions() {
        let file = format!("inboxes/{}.json", ringer_teams::inbox_file_name("odd.name😀"));
        assert!(version.join(&file).exists(), "{} has no {file}", version.display());
    }
}

#[test]
fn a_team_of_an_old_version_that_lives_in_two_directories_is_found_whole() {
    let dir = tempfile::tempdir().unwrap();
    let teams = dir.path().join("teams");
    fs::create_dir_all(teams.join("exo-main-feature-a")).unwrap();
    let config =
        read(versions().into_iter().min_by_key(|v| number(v)).unwrap().join("config.json"));
    let config = config.replace("exo-root", "exo-main.feature_A");
    let file = teams.join("exo-main-feature-a/config.json");
    ringer_testkit::put(&file, &config);

    let claude = ClaudeDir::new(dir.path());
    for name in ["exo-main.feature_A", "exo-main-feature-a"] {
        let team = claude.team(name).unwrap();
        assert_eq!(team.name(), "exo-main.feature_A");
        let mailbox = team.mailbox("team-lead").unwrap();
        assert_eq!(mailbox.path(), teams.join("exo-main-feature_A/inboxes/team-lead.json"));
        assert_eq!(team.mailboxes("w").unwrap().len(), 2);
    }
    assert_eq!(claude.teams().unwrap().found.len(), 1, "the mail's directory is not a team");
}
