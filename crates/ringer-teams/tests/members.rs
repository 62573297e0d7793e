//! Synthetic members: what is added, what is refused, and what is left alone.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;

use ringer_teams::{ClaudeDir, NewMember, Outcome, SyntheticMemberService, Team, TeamConfig};
use ringer_testkit::put;

struct World {
    _dir: tempfile::TempDir,
    config: PathBuf,
    team: Team,
}

impl World {
    fn new(members: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("teams/t")).unwrap();
        let config = dir.path().join("teams/t/config.json");
        put(&config, &format!("{{\n  \"name\": \"t\",\n  \"members\": {members}\n}}"));
        let team = ClaudeDir::new(dir.path()).team("t").unwrap();
        Self { _dir: dir, config, team }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.config).unwrap()
    }

    fn register(&self, name: &str) -> Result<Outcome, &'static str> {
        SyntheticMemberService::register(&self.team, &NewMember::new(name, "/w", 7))
            .map_err(|e| e.code())
    }
}

#[test]
fn a_member_is_written_as_claude_code_writes_one() {
    let world = World::new("[]");
    assert_eq!(world.register("rust-impl"), Ok(Outcome::Added));
    let wanted = r#"{
  "name": "t",
  "members": [
    {
      "agentId": "rust-impl@t",
      "name": "rust-impl",
      "agentType": "gemini-worker",
      "model": "default",
      "joinedAt": 7,
      "tmuxPaneId": "synthetic",
      "cwd": "/w",
      "subscriptions": [],
      "backendType": "ringer",
      "color": "green",
      "isActive": true
    }
  ]
}"#;
    assert_eq!(world.text(), wanted);
    assert_eq!(world.register("rust-impl"), Ok(Outcome::Unchanged));
    assert_eq!(world.register("other"), Ok(Outcome::Added));
    assert!(world.text().contains(r#""color": "blue""#), "each gets a colour of its own");
}

#[test]
fn an_update_keeps_what_others_added_to_our_member() {
    let world = World::new(
        r#"[{"name": "rust-impl", "joinedAt": 5, "backendType": "ringer", "color": "red", "sub": {"kept": 1.0}, "subscriptions": ["x"]}]"#,
    );
    assert_eq!(world.register("rust-impl"), Ok(Outcome::Updated));
    let text = world.text();
    for kept in [r#""sub": {"kept": 1.0}"#, r#""joinedAt": 5"#, r#""color": "red""#, r#"["x"]"#] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    let config = TeamConfig::parse(&text).unwrap();
    assert_eq!(config.members.len(), 1);
    assert_eq!(config.members[0].cwd.as_deref(), Some("/w"));
    assert_eq!(world.register("rust-impl"), Ok(Outcome::Unchanged));
}

#[test]
fn names_that_somebody_has_are_refused_and_real_members_never_touched() {
    let world = World::new(
        r#"[{"name": "team-lead"}, {"name": "helper", "backendType": "tmux"}, {"name": "odd.name"}, 7]"#,
    );
    let before = world.text();
    assert_eq!(world.register("helper"), Err("agent_already_exists"));
    assert_eq!(world.register("odd-name"), Err("agent_already_exists"));
    assert_eq!(world.register("team-lead"), Err("invalid_name"));
    assert_eq!(
        SyntheticMemberService::remove(&world.team, "helper").unwrap_err().code(),
        "permission_denied"
    );
    assert_eq!(SyntheticMemberService::remove(&world.team, "nobody").unwrap(), Outcome::Unchanged);
    assert_eq!(SyntheticMemberService::remove_all(&world.team).unwrap(), Vec::<String>::new());
    assert_eq!(world.text(), before);
}

#[test]
fn whether_a_member_works_is_said_without_another_byte_changed() {
    let world = World::new(
        "[{\"name\": \"team-lead\", \"isActive\": true} ,\n\n  7,{ \"name\":\"a\", \"isActive\" : true,\n\"x\":1.0, \"backendType\": \"ringer\" } ]",
    );
    let before = world.text();
    let set = |name, active| SyntheticMemberService::set_active(&world.team, name, active);
    assert_eq!(set("a", true).unwrap(), Outcome::Unchanged);
    assert_eq!(world.text(), before);
    assert_eq!(set("a", false).unwrap(), Outcome::Updated);
    assert_eq!(world.text(), before.replace("\"isActive\" : true", "\"isActive\" : false"));
    assert_eq!(set("a", false).unwrap(), Outcome::Unchanged);
    assert_eq!(set("a", true).unwrap(), Outcome::Updated);
    assert_eq!(set("nobody", false).unwrap(), Outcome::Unchanged);
    assert_eq!(set("team-lead", false).unwrap_err().code(), "permission_denied");
    assert_eq!(world.text(), before);
}

#[test]
fn a_member_can_join_at_rest() {
    let world = World::new("[]");
    let mut member = NewMember::new("a", "/w", 7);
    member.active = false;
    assert_eq!(SyntheticMemberService::register(&world.team, &member).unwrap(), Outcome::Added);
    assert!(world.text().contains("\"isActive\": false"));
    assert_eq!(world.register("a"), Ok(Outcome::Updated));
    assert!(world.text().contains("\"isActive\": true"));
}

#[test]
fn all_of_ours_go_and_nobody_else() {
    let world = World::new(r#"[{"name": "team-lead", "x": 1}]"#);
    let before = world.text();
    world.register("a").unwrap();
    world.register("b").unwrap();
    assert_eq!(SyntheticMemberService::remove_all(&world.team).unwrap(), ["a", "b"]);
    assert_eq!(world.text(), before);
}

#[test]
fn paths_never_lead_out_of_the_teams_directory() {
    let dir = tempfile::tempdir().unwrap();
    let outside = dir.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(dir.path().join("claude/teams/inside")).unwrap();
    let put = |path: PathBuf| put(&path, "{\"members\": []}");
    put(outside.join("config.json"));
    put(dir.path().join("claude/teams/inside/config.json"));
    let teams = dir.path().join("claude/teams");
    std::os::unix::fs::symlink(&outside, teams.join("link")).unwrap();
    std::os::unix::fs::symlink(&outside, teams.join("inside/inboxes")).unwrap();

    let claude = ClaudeDir::new(dir.path().join("claude"));
    assert_eq!(claude.team("link").unwrap_err().code(), "permission_denied");
    assert_eq!(claude.team("../../outside").unwrap_err().code(), "invalid_name");
    let inside = claude.team("inside").unwrap();
    assert_eq!(inside.mailbox("x").unwrap_err().code(), "permission_denied");
    let teams = claude.teams().unwrap();
    assert_eq!((teams.found.len(), teams.broken.len()), (1, 1));
}

#[test]
fn directories_that_are_being_deleted_are_no_teams() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["t", "t.deleted-8a2c", "empty"] {
        fs::create_dir_all(dir.path().join("teams").join(name)).unwrap();
    }
    for name in ["t", "t.deleted-8a2c"] {
        let path = dir.path().join("teams").join(name).join("config.json");
        put(&path, "{\"members\": []}");
    }
    let teams = ClaudeDir::new(dir.path()).teams().unwrap();
    assert_eq!(teams.found.iter().map(Team::name).collect::<Vec<_>>(), ["t"]);
    assert!(teams.broken.is_empty());
    assert!(ClaudeDir::new(dir.path().join("nowhere")).teams().unwrap().found.is_empty());
}
