//! `ringer init`: what it puts into Claude Code's settings, and that it takes exactly that out again.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Output;

use ringer_testkit::{World, put};
use serde_json::{Value, json};

fn world() -> World {
    World::new(env!("CARGO_BIN_EXE_ringer"))
}

fn init(world: &World, arguments: &[&str]) -> Output {
    let policy = world.path().join("policy");
    world.ringer().arg("init").arg("--policy").arg(policy).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn done(world: &World, arguments: &[&str]) -> String {
    let output = init(world, arguments);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

fn settings(world: &World) -> PathBuf {
    world.claude().join("settings.json")
}

fn servers(world: &World) -> PathBuf {
    world.claude().join(".claude.json")
}

fn read(path: &PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn backups(world: &World) -> Vec<PathBuf> {
    let all = fs::read_dir(world.claude()).unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| path.to_string_lossy().contains("before-ringer")).collect()
}

#[test]
fn a_new_file_has_all_of_it_and_goes_again() {
    let world = world();
    let shown = done(&world, &["--yes", "--spawn"]);
    assert!(shown.contains("+  \"env\": {"), "{shown}");
    let now = read(&settings(&world));
    let program = env!("CARGO_BIN_EXE_ringer");
    for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
        let hook = &now["hooks"][event][0]["hooks"][0];
        assert_eq!(hook["command"], format!("{program} hook wait"));
        assert_eq!((&hook["async"], &hook["asyncRewake"]), (&json!(true), &json!(true)));
        assert_eq!(hook["timeout"], 86400);
    }
    let hook = &now["hooks"]["PostToolUse"][0]["hooks"][0];
    assert_eq!(hook["command"], format!("{program} hook post-tool"));
    assert_eq!(now["env"]["CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS"], "1");
    assert_eq!(now["env"]["CLAUDE_CODE_TEAMMATE_COMMAND"], program);
    assert_eq!(now["permissions"]["allow"], json!(["mcp__ringer", "mcp__ringer-lead"]));
    assert_eq!(now["teammateMode"], "tmux");
    let server = json!({"type": "stdio", "command": program, "args": ["mcp", "--lead"]});
    assert_eq!(read(&servers(&world))["mcpServers"]["ringer-lead"], server);
    assert!(done(&world, &["--yes", "--spawn"]).contains("nothing to change"));
    // Without the option, what it had put in goes.
    done(&world, &["--yes"]);
    assert!(read(&settings(&world))["teammateMode"].is_null());
    done(&world, &["--uninstall", "--yes"]);
    assert!(!settings(&world).exists() && !servers(&world).exists());
    assert!(done(&world, &["--uninstall", "--yes"]).contains("nothing to change"));
}

const THEIRS: &str = r#"{
    "model": "opus",   "env": { "EDITOR": "vi", "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "0" },
    "teammateMode": "auto",
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]},
    "permissions": {"allow": ["Bash(ls:*)"], "ask": [1.50]}
}
"#;

#[test]
fn what_the_user_has_stays_and_comes_back() {
    let world = world();
    put(&settings(&world), THEIRS);
    let shown = done(&world, &["--yes", "--spawn"]);
    assert!(
        shown.contains("warning: `env.CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS` is \"0\""),
        "{shown}"
    );
    let now = fs::read_to_string(settings(&world)).unwrap();
    assert!(now.contains("\"model\": \"opus\",   \"env\""), "{now}");
    assert!(now.contains("[1.50]") && now.contains("say done"), "{now}");
    assert_eq!(read(&settings(&world))["teammateMode"], "tmux");
    let kept = backups(&world);
    assert_eq!(fs::read_to_string(&kept[0]).unwrap(), THEIRS);
    done(&world, &["--uninstall", "--yes"]);
    let theirs: Value = serde_json::from_str(THEIRS).unwrap();
    assert_eq!(read(&settings(&world)), theirs);
}

#[test]
fn the_lead_s_tools_go_where_claude_code_looks_for_them() {
    let world = world();
    let theirs = json!({"numStartups": 7, "mcpServers": {"x": {"command": "x"}}, "projects": {}});
    let work = world.work().canonicalize().unwrap().display().to_string();
    // Beside the usual directory, unless another one was chosen.
    let usual = world.path().join(".claude.json");
    put(&usual, &theirs.to_string());
    let run = |arguments: &[&str]| {
        let mut ringer = world.ringer();
        ringer.args(["init", "--yes"]).args(arguments).env_remove("CLAUDE_CONFIG_DIR");
        let output = ringer.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    run(&[]);
    let now = read(&usual);
    assert_eq!(now["mcpServers"]["ringer-lead"]["args"], json!(["mcp", "--lead"]));
    assert_eq!((&now["numStartups"], &now["mcpServers"]["x"]["command"]), (&json!(7), &json!("x")));
    // Claude Code writes it anew meanwhile.
    let mut now = now;
    now["numStartups"] = json!(8);
    put(&usual, &format!("{now:#}"));
    run(&["--uninstall"]);
    let mut expected = theirs.clone();
    expected["numStartups"] = json!(8);
    assert_eq!(read(&usual), expected);

    run(&["--local"]);
    let here = &read(&usual)["projects"][&work]["mcpServers"]["ringer-lead"];
    assert_eq!(here["args"], json!(["mcp", "--lead"]));
    run(&["--local", "--uninstall"]);
    assert_eq!(read(&usual), expected);
    run(&["--project"]);
    let shared = world.work().join(".mcp.json");
    assert_eq!(read(&shared)["mcpServers"]["ringer-lead"]["args"], json!(["mcp", "--lead"]));
    run(&["--project", "--uninstall"]);
    assert!(!shared.exists());
}

#[test]
fn a_link_is_followed() {
    let world = world();
    let kept = world.path().join("dotfiles.json");
    put(&kept, "{\"model\": \"opus\"}");
    symlink(&kept, settings(&world)).unwrap();
    done(&world, &["--yes"]);
    assert!(settings(&world).is_symlink());
    assert_eq!(read(&kept)["permissions"]["allow"], json!(["mcp__ringer", "mcp__ringer-lead"]));
}

#[test]
fn nothing_is_changed_unasked_or_in_a_broken_file() {
    let world = world();
    let output = init(&world, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("hook wait"), "the change is shown");
    let error = "error: nothing was changed: nobody can be asked\nhint: say --yes to go ahead\n";
    assert_eq!(text(&output.stderr), error);
    assert!(!settings(&world).exists());

    put(&settings(&world), "{\"model\": ");
    let output = init(&world, &["--yes", "--json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &answer["error"]), (Some(1), &json!("unreadable")));
    assert_eq!(fs::read_to_string(settings(&world)).unwrap(), "{\"model\": ");
    assert!(backups(&world).is_empty());
}

#[test]
fn a_policy_that_stands_in_the_way_is_said() {
    let world = world();
    fs::create_dir_all(world.path().join("policy/managed-settings.d")).unwrap();
    let policy = json!({"allowManagedHooksOnly": true, "env": {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "0"}});
    put(&world.path().join("policy/managed-settings.json"), &policy.to_string());
    put(&world.path().join("policy/managed-settings.d/x.json"), "{\"disableAllHooks\": true}");
    let output = init(&world, &["--yes", "--json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let warnings = answer["warnings"].to_string();
    for word in ["allowManagedHooksOnly", "disableAllHooks", "sets `env.CLAUDE_CODE_EXPERIMENTAL"] {
        assert!(warnings.contains(word), "{word}: {warnings}");
    }
}

#[test]
fn the_other_places_are_of_this_directory() {
    let world = world();
    done(&world, &["--yes", "--project"]);
    assert!(world.work().join(".claude/settings.json").exists());
    done(&world, &["--yes", "--local"]);
    assert!(world.work().join(".claude/settings.local.json").exists());
    assert!(!settings(&world).exists());
    let output = init(&world, &["--yes", "--local", "--project"]);
    assert_eq!(output.status.code(), Some(2));
    done(&world, &["--yes", "--project", "--uninstall"]);
    assert!(!world.work().join(".claude/settings.json").exists());
    assert!(world.work().join(".claude/settings.local.json").exists());
}

/// By whatever name it is started, and whether or not it remembers what it did.
#[test]
fn another_name_and_a_lost_record_leave_nothing_behind() {
    let world = world();
    let program = world.path().join("ringer-dev");
    fs::copy(env!("CARGO_BIN_EXE_ringer"), &program).unwrap();
    let run = |arguments: &[&str]| {
        let mut ringer = ringer_testkit::command(&program);
        ringer.args(arguments).env_clear().env("HOME", world.path());
        ringer.env("CLAUDE_CONFIG_DIR", world.claude()).current_dir(world.work());
        let output = ringer.env("XDG_STATE_HOME", world.path().join("state")).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    run(&["init", "--yes"]);
    run(&["init", "--yes"]);
    let now = read(&settings(&world));
    assert_eq!(now["hooks"]["Stop"].as_array().unwrap().len(), 1, "{now}");
    run(&["init", "--yes", "--uninstall"]);
    assert!(!settings(&world).exists());

    done(&world, &["--yes"]);
    fs::remove_file(world.path().join("state/ringer/init.json")).unwrap();
    done(&world, &["--yes", "--uninstall"]);
    let left = fs::read_to_string(settings(&world)).unwrap();
    assert!(!left.contains("ringer"), "{left}");
}

/// Who starts a worker for a lead that would not hear it is told so, and not if it would.
#[test]
fn a_worker_s_start_says_if_its_lead_would_not_hear_it() {
    let world = world();
    world.team("session-33d98fe4");
    world.team("chosen");
    let run = |team: &str| {
        let mut ringer = world.ringer();
        ringer.args(["run", "shell", "--name", "w", "--team", team, "--", "true"]);
        let output = ringer.env("PATH", "/usr/bin:/bin").output().unwrap();
        text(&output.stderr)
    };
    let hint = "hint: this Claude Code does not hear its workers yet: run `ringer init`";
    assert!(run("session-33d98fe4").contains(hint), "{}", run("session-33d98fe4"));
    assert!(!run("chosen").contains(hint));
    done(&world, &["--yes"]);
    assert!(!run("session-33d98fe4").contains(hint));
    world.ringer().arg("down").output().unwrap();
}
