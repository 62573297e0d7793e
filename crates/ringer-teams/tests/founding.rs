//! Teams of our own: how they come to be, and how they go.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use ringer_teams::{ClaudeDir, NewMember, NewTeam, Outcome, SyntheticMemberService, TEAMS_LIMIT};
use ringer_testkit::put;

fn new(name: &str) -> NewTeam {
    NewTeam { name: name.into(), description: None, created_at: 7, session_id: "s".into() }
}

fn world() -> (tempfile::TempDir, ClaudeDir) {
    let dir = tempfile::tempdir().unwrap();
    let claude = ClaudeDir::new(dir.path());
    (dir, claude)
}

fn code<T: std::fmt::Debug>(result: ringer_teams::Result<T>) -> &'static str {
    result.unwrap_err().code()
}

fn claude_team(root: &Path, dir: &str, name: &str) {
    let dir = root.join("teams").join(dir);
    fs::create_dir_all(&dir).unwrap();
    put(&dir.join("config.json"), &format!("{{\"name\": \"{name}\", \"members\": []}}"));
}

fn names(dir: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| name(e.unwrap())).collect();
    names.sort();
    names
}

#[test]
fn a_team_is_written_as_claude_code_writes_one() {
    let (dir, claude) = world();
    let team = claude.found(&NewTeam { description: Some("a \"test\"".into()), ..new("exo-root") });
    let team = team.unwrap();
    let wanted = r#"{
  "name": "exo-root",
  "description": "a \"test\"",
  "createdAt": 7,
  "leadAgentId": "team-lead@exo-root",
  "leadSessionId": "s",
  "founder": "ringer",
  "members": []
}"#;
    assert_eq!(fs::read_to_string(team.config_path()).unwrap(), wanted);
    assert!(team.is_own());
    assert_eq!(names(&dir.path().join("teams")), ["exo-root"]);
    assert_eq!(names(&dir.path().join("teams/exo-root")), ["config.json", "inboxes"]);
    assert_eq!(names(&dir.path().join("tasks")), ["exo-root"]);
    let plain = claude.found(&new("plain")).unwrap();
    assert_eq!(plain.config.description, None);
    assert_eq!(plain.config.lead_session_id.as_deref(), Some("s"));
}

#[test]
fn of_many_founders_at_once_exactly_one_wins() {
    let (dir, claude) = world();
    for round in 0..10 {
        let name = format!("t-{round}");
        let start = Barrier::new(4);
        let found = || {
            start.wait();
            claude.found(&new(&name)).map(|_| ()).map_err(|e| e.code())
        };
        let mut results = thread::scope(|scope| {
            let founders: Vec<_> = (0..4).map(|_| scope.spawn(found)).collect();
            founders.into_iter().map(|f| f.join().unwrap()).collect::<Vec<_>>()
        });
        results.sort();
        let lost = Err("team_already_exists");
        assert_eq!(results, [Ok(()), lost, lost, lost]);
    }
    assert_eq!(names(&dir.path().join("teams")).len(), 10);
}

#[test]
fn a_name_that_anything_has_is_taken() {
    let (dir, claude) = world();
    let teams = dir.path().join("teams");
    claude_team(dir.path(), "session-1", "chosen");
    fs::create_dir(teams.join("stray")).unwrap();
    put(&teams.join("file"), "");
    symlink("nowhere", teams.join("link")).unwrap();
    for name in ["session-1", "chosen", "stray", "file", "link"] {
        assert_eq!(code(claude.found(&new(name))), "team_already_exists", "{name}");
    }
    for name in ["", "-a", "Upper", "a.b", "..", "../x"] {
        assert_eq!(code(claude.found(&new(name))), "invalid_name", "{name}");
    }
    assert_eq!(names(&teams), ["file", "link", "session-1", "stray"]);
}

#[test]
fn there_are_only_so_many_teams() {
    let (dir, claude) = world();
    for n in 1..TEAMS_LIMIT {
        claude_team(dir.path(), &format!("t-{n}"), "t");
    }
    let last = claude.found(&new("last")).unwrap();
    assert_eq!(code(claude.found(&new("more"))), "limit_reached");
    claude.disband(&last).unwrap();
    claude.found(&new("more")).unwrap();
}

#[test]
fn a_disbanded_team_leaves_nothing_and_its_name_is_free() {
    let (dir, claude) = world();
    let team = claude.found(&new("a")).unwrap();
    let other = claude.found(&new("b")).unwrap();
    put(&dir.path().join("teams/a/inboxes/x.json"), "[]");
    put(&dir.path().join("tasks/a/1.json"), "{}");
    claude.disband(&team).unwrap();
    assert_eq!(names(&dir.path().join("teams")), ["b"]);
    assert_eq!(names(&dir.path().join("tasks")), ["b"]);
    assert_eq!(code(claude.disband(&team)), "team_not_found");
    claude.found(&new("a")).unwrap();
    assert_eq!(claude.teams().unwrap().found.len(), 2);
    claude.disband(&other).unwrap();
}

#[test]
fn a_team_of_claude_codes_is_never_deleted() {
    let (dir, claude) = world();
    claude_team(dir.path(), "theirs", "theirs");
    claude_team(dir.path(), "odd.name", "x");
    fs::create_dir_all(dir.path().join("tasks/theirs")).unwrap();
    for name in ["theirs", "odd.name"] {
        let team = claude.team(name).unwrap();
        assert!(!team.is_own());
        assert_eq!(code(claude.disband(&team)), "permission_denied", "{name}");
    }
    // One that was ours when it was looked at, and has made way since.
    let ours = claude.found(&new("ours")).unwrap();
    fs::remove_dir_all(ours.dir()).unwrap();
    claude_team(dir.path(), "ours", "ours");
    assert_eq!(code(claude.disband(&ours)), "permission_denied");
    assert_eq!(names(&dir.path().join("teams")), ["odd.name", "ours", "theirs"]);
    assert_eq!(names(&dir.path().join("tasks")), ["ours", "theirs"]);
}

#[test]
fn no_link_leads_out() {
    let (dir, claude) = world();
    let outside = tempfile::tempdir().unwrap();
    put(&outside.path().join("kept"), "");
    fs::create_dir(dir.path().join("tasks")).unwrap();
    symlink(outside.path(), dir.path().join("tasks/a")).unwrap();
    assert_eq!(code(claude.found(&new("a"))), "permission_denied");
    assert!(claude.teams().unwrap().found.is_empty());

    let team = claude.found(&new("b")).unwrap();
    fs::remove_dir(dir.path().join("tasks/b")).unwrap();
    symlink(outside.path(), dir.path().join("tasks/b")).unwrap();
    symlink(outside.path(), team.dir().join("inboxes/x")).unwrap();
    claude.disband(&team).unwrap();
    assert_eq!(names(&dir.path().join("tasks")), ["a"], "only the link of the team went");

    put(&outside.path().join("config.json"), "{\"founder\": \"ringer\", \"members\": []}");
    let linked = claude.found(&new("c")).unwrap();
    fs::remove_dir_all(linked.dir()).unwrap();
    symlink(outside.path(), linked.dir()).unwrap();
    assert_eq!(code(claude.disband(&linked)), "permission_denied");
    assert_eq!(names(outside.path()), ["config.json", "kept"]);
}

#[test]
fn what_the_killed_left_is_no_team_and_is_cleared_away() {
    let (dir, claude) = world();
    let own = "{\"name\": \"a\", \"founder\": \"ringer\", \"members\": []}";
    let leftovers =
        [".a.x1.founding", "a.deleted-ringer-1", "b.deleted-ringer-2", "b.deleted-theirs"];
    for name in leftovers.iter().chain(&["..deleted-ringer-3", "b"]) {
        fs::create_dir_all(dir.path().join("teams").join(name)).unwrap();
        put(&dir.path().join("teams").join(name).join("config.json"), own);
    }
    for name in ["a", "b"] {
        fs::create_dir_all(dir.path().join("tasks").join(name)).unwrap();
        put(&dir.path().join("tasks").join(name).join("1.json"), "{}");
    }
    assert_eq!(claude.teams().unwrap().found.len(), 1);
    claude.found(&new("c")).unwrap();
    let left = names(&dir.path().join("teams"));
    assert_eq!(left, ["..deleted-ringer-3", "b", "b.deleted-theirs", "c"]);
    // `a` was being disbanded, and its tasks with it; somebody else has `b` by now.
    assert_eq!(names(&dir.path().join("tasks")), ["b", "c"]);
    assert!(dir.path().join("tasks/b/1.json").exists());
}

#[test]
fn the_lead_of_our_own_team_can_be_one_of_ours() {
    let (dir, claude) = world();
    let mut lead = NewMember::new("team-lead", "/w", 7);
    lead.agent_type = "team-lead".into();
    let team = claude.found(&new("ours")).unwrap();
    assert_eq!(SyntheticMemberService::register(&team, &lead).unwrap(), Outcome::Added);
    let team = claude.team("ours").unwrap();
    let member = team.config.lead().unwrap();
    assert_eq!(member.agent_id.as_deref(), Some("team-lead@ours"));
    assert_eq!(member.agent_id, team.config.lead_agent_id);
    assert_eq!(member.agent_type.as_deref(), Some("team-lead"));
    assert_eq!(team.lead_cwd(), Some(Path::new("/w")));

    claude_team(dir.path(), "theirs", "theirs");
    let theirs = claude.team("theirs").unwrap();
    assert_eq!(code(SyntheticMemberService::register(&theirs, &lead)), "invalid_name");
    let all = SyntheticMemberService::register_all(&theirs, &[lead, NewMember::new("a", "/w", 7)]);
    let codes: Vec<_> = all.unwrap().into_iter().map(|r| r.map_err(|e| e.code())).collect();
    assert_eq!(codes, [Err("invalid_name"), Ok(Outcome::Added)]);
}
