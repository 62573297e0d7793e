//! A worker's tools: with the official MCP Inspector, and called by the models of real agents.

use std::fs;
use std::process::Output;

use ringer_testkit::{Agent, Turn, command, npm_package, wait_for};
use serde_json::{Value, json};

use crate::scene::{PATIENCE, Scene, said};
use crate::seat::{Kind, Program, Seat};

const INSPECTOR: &str = "2.12.0";

/// A server of tools, as the inspector starts it.
pub(crate) struct Server<'s> {
    scene: &'s Scene,
    words: Vec<&'static str>,
    env: Vec<(&'static str, String)>,
}

impl<'s> Server<'s> {
    /// With these arguments, and more in its environment.
    pub(crate) fn new(
        scene: &'s Scene,
        words: &[&'static str],
        env: &[(&'static str, String)],
    ) -> Self {
        Self { scene, words: words.to_vec(), env: env.to_vec() }
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        let modules = npm_package("@modelcontextprotocol/inspector", INSPECTOR).unwrap();
        let ringer = self.scene.ringer(&[]);
        let mut inspector = command(modules.join(".bin/mcp-inspector"));
        inspector.env_clear().current_dir(self.scene.world.work());
        inspector.envs(ringer.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inspector.arg("--cli");
        let places = [
            ("RINGER_CLAUDE_DIR", self.scene.world.claude().display().to_string()),
            ("RINGER_STATE_DIR", self.scene.state().display().to_string()),
        ];
        for (name, value) in places.iter().chain(&self.env) {
            inspector.args(["-e", &format!("{name}={value}")]);
        }
        inspector.arg(ringer.get_program()).args(&self.words).args(arguments);
        inspector.output().unwrap()
    }

    /// All its tools.
    pub(crate) fn tools(&self) -> Vec<Value> {
        let answer = json_of(&self.ask(&["--method", "tools/list"]));
        answer["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
    }

    /// Calls a tool; whether that was an error, and what it said.
    pub(crate) fn call(&self, tool: &str, arguments: &[&str]) -> (bool, Value) {
        let mut all = vec!["--method", "tools/call", "--tool-name", tool];
        for argument in arguments {
            all.extend(["--tool-arg", argument]);
        }
        let answer = json_of(&self.ask(&all));
        let text = answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        let said = serde_json::from_str(text).unwrap_or_else(|_| panic!("{answer}"));
        (answer["isError"] == true, said)
    }
}

/// The names of tools, sorted.
pub(crate) fn names(tools: &[Value]) -> Vec<&str> {
    let mut names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(output)))
}

/// Calls a tool as this worker.
fn call(scene: &Scene, member: &str, tool: &str, arguments: &[&str]) -> (bool, Value) {
    let who = [("RINGER_TEAM", scene.team.clone()), ("RINGER_MEMBER", member.to_owned())];
    Server::new(scene, &["mcp"], &who).call(tool, arguments)
}

fn inbox(scene: &Scene, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(scene.world.inbox(&scene.team, name)).unwrap_or("[]".into());
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_inspector_finds_every_tool_and_each_does_its_work() {
    let scene = Scene::new();
    for name in ["w", "x"] {
        scene.run(&["register", name, "--team", &scene.team]);
    }
    let tools = Server::new(&scene, &["mcp"], &[]).tools();
    assert_eq!(
        names(&tools),
        [
            "broadcast",
            "claim_task",
            "create_task",
            "get_task",
            "list_tasks",
            "list_teammates",
            "notify_parent",
            "read_messages",
            "release_task",
            "request_plan_approval",
            "send_message",
            "shutdown_response",
            "update_task_status"
        ]
    );
    for tool in &tools {
        let words = tool["description"].as_str().unwrap();
        assert!(words.len() > 60, "it teaches nothing: {words}");
        let properties = tool["inputSchema"]["properties"].to_string();
        assert!(
            !properties.contains("\"from\"") && !properties.contains("\"team\""),
            "{properties}"
        );
    }

    let (error, answer) =
        call(&scene, "w", "notify_parent", &["status=success", "message=All pass"]);
    assert!(!error && answer["sent_to"] == json!(["team-lead"]), "{answer}");
    let entry = inbox(&scene, "team-lead").pop().unwrap();
    assert_eq!((&entry["from"], &entry["text"]), (&json!("w"), &json!("[success] All pass")));
    assert_eq!(entry["summary"], "success: All pass");

    let (error, answer) = call(&scene, "w", "notify_parent", &["status=maybe", "message=x"]);
    assert!(error && answer["error"] == "invalid_status", "{answer}");
    let (error, answer) = call(&scene, "w", "notify_parent", &["status=success", "message= "]);
    assert!(error && answer["error"] == "empty_message", "{answer}");

    let (_, answer) = call(&scene, "w", "list_teammates", &[]);
    assert_eq!(answer["you"], "w");
    assert_eq!(answer["teammates"].as_array().unwrap().len(), 3);

    let (error, _) = call(&scene, "w", "send_message", &["to=x", "message=hello x", "summary=hi"]);
    assert!(!error);
    let (error, answer) = call(&scene, "w", "send_message", &["to=nobody", "message=hello"]);
    assert!(error && answer["error"] == "agent_not_found", "{answer}");
    assert!(answer["hint"].as_str().unwrap().contains("team-lead"), "{answer}");
    let (error, _) = call(&scene, "w", "broadcast", &["message=to all of you"]);
    assert!(!error);
    let (error, answer) = call(&scene, "w", "broadcast", &["message=again"]);
    assert!(error && answer["error"] == "rate_limit", "{answer}");

    // What x has got, it reads once; then it is known to have it.
    let (_, answer) = call(&scene, "x", "read_messages", &[]);
    let texts: Vec<&Value> =
        answer["messages"].as_array().unwrap().iter().map(|m| &m["text"]).collect();
    assert_eq!(texts, ["hello x", "to all of you"], "{answer}");
    let (_, answer) = call(&scene, "x", "read_messages", &[]);
    assert_eq!(answer["messages"], json!([]));

    let (error, answer) =
        call(&scene, "w", "shutdown_response", &["request_id=no", "approve=true"]);
    assert!(error && answer["error"] == "request_not_found", "{answer}");
    let (error, answer) = call(&scene, "w", "request_plan_approval", &["plan=1. read 2. write"]);
    assert!(!error, "{answer}");
    let id = answer["request_id"].as_str().unwrap();
    let asked = inbox(&scene, "team-lead").pop().unwrap()["text"].as_str().unwrap().to_owned();
    let asked: Value = serde_json::from_str(&asked).unwrap();
    assert_eq!(
        (&asked["type"], &asked["requestId"]),
        (&json!("plan_approval_request"), &json!(id))
    );
    assert_eq!(asked["planContent"], "1. read 2. write");

    // Somebody who is not on the team can do nothing.
    let (error, answer) =
        call(&scene, "stranger", "notify_parent", &["status=success", "message=x"]);
    assert!(error && answer["error"] == "agent_not_found", "{answer}");
}

#[test]
fn the_board_can_be_worked_with_tools_alone() {
    let scene = Scene::new();
    for name in ["w", "x"] {
        scene.run(&["register", name, "--team", &scene.team]);
    }
    let create = |subject: &str| {
        scene.run(&["tasks", "create", "-s", subject, "--team", &scene.team]);
    };
    for subject in ["first", "second", "third"] {
        create(subject);
    }
    scene.run(&[
        "tasks",
        "update",
        "3",
        "--add-blocked-by",
        "1",
        "--owner",
        "x",
        "-t",
        &scene.team,
    ]);
    let refused = |member: &str, tool: &str, arguments: &[&str]| {
        let (error, answer) = call(&scene, member, tool, arguments);
        assert!(error && answer["success"] == false, "{answer}");
        assert!(answer["message"].is_string(), "{answer}");
        answer["error"].as_str().unwrap().to_owned()
    };
    let done = |member: &str, tool: &str, arguments: &[&str]| {
        let (error, answer) = call(&scene, member, tool, arguments);
        assert!(!error && answer["success"] == true, "{answer}");
        answer
    };

    assert_eq!(refused("w", "create_task", &["subject=mine"]), "permission_denied");
    let config = scene.settings_file().display().to_string();
    ringer_testkit::put(&scene.settings_file(), "[tasks]\nanybody_creates = true\n");
    let who = [
        ("RINGER_TEAM", scene.team.clone()),
        ("RINGER_MEMBER", "w".to_owned()),
        ("RINGER_CONFIG", config),
    ];
    let free = Server::new(&scene, &["mcp"], &who);
    let (error, answer) = free.call("create_task", &["subject=mine", "priority=2", "owner=w"]);
    assert!(!error && answer["task"]["id"] == "4" && answer["task"]["priority"] == 2, "{answer}");
    let (error, answer) = free.call("create_task", &["subject=yours", "owner=x"]);
    assert!(error && answer["error"] == "permission_denied", "{answer}");

    let listed = done("w", "list_tasks", &["status=pending"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 4, "{listed}");
    assert_eq!(listed["tasks"][2]["waits_for"], json!(["1"]));
    assert_eq!(done("w", "list_tasks", &["owner=x"])["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(done("w", "get_task", &["task_id=3"])["task"]["blocked"], true);
    assert_eq!(refused("w", "get_task", &["task_id=77"]), "task_not_found");

    assert_eq!(done("w", "claim_task", &["task_id=1"])["task"]["status"], "in_progress");
    assert_eq!(refused("x", "claim_task", &["task_id=1"]), "conflict");
    assert_eq!(refused("w", "claim_task", &["task_id=2"]), "busy");
    assert_eq!(refused("x", "claim_task", &["task_id=3"]), "blocked");
    assert_eq!(refused("x", "claim_task", &["task_id=2", "assignee=w"]), "permission_denied");
    assert_eq!(refused("x", "release_task", &["task_id=1"]), "permission_denied");
    let update = |status: &str| format!("status={status}");
    let (completed, wrong) = (update("completed"), update("done"));
    assert_eq!(refused("x", "update_task_status", &["task_id=1", &completed]), "permission_denied");
    assert_eq!(refused("w", "update_task_status", &["task_id=1", &wrong]), "invalid_status");
    done("w", "release_task", &["task_id=1"]);
    assert_eq!(refused("w", "update_task_status", &["task_id=1", &completed]), "permission_denied");
    done("w", "claim_task", &["task_id=1"]);
    let answer =
        done("w", "update_task_status", &["task_id=1", &completed, "result_summary=42 pass"]);
    assert_eq!(answer["unblocked"], json!(["3"]));
    assert_eq!(answer["told"], json!(["team-lead", "x"]));
    assert_eq!(answer["task"]["result_summary"], "42 pass");
    let told = inbox(&scene, "x").pop().unwrap();
    assert_eq!((&told["from"], &told["summary"]), (&json!("w"), &json!("task 3 can begin")));
    assert_eq!(done("x", "claim_task", &["task_id=3"])["task"]["owner"], "x");
}

/// A real agent under `ringer run`, whose model calls the tool by the name that it knows it by.
fn reports(profile: &str, agent: &Agent, tool: &str) {
    let scene = Scene::new();
    let _daemon = scene.start();
    let words = [&[agent.program.display().to_string()], &agent.args[..]].concat();
    let (env, cwd) = (agent.env.clone(), agent.cwd.clone());
    let program = Program { name: "w", profile, words, env, cwd };
    let seat = Seat::take(&scene, Kind::Host, &program);
    let input = json!({"status": "success", "message": "REPORTED BY ITSELF"});
    agent.model.queue([Turn::call(tool, &input), Turn::say("done")]);
    scene.send("w", "do it and report");
    let arrived = || {
        let all = inbox(&scene, "team-lead");
        all.iter()
            .any(|e| e["from"] == "w" && e["text"] == "[success] REPORTED BY ITSELF")
            .then_some(())
    };
    let waited = wait_for("the report", PATIENCE, arrived);
    assert!(waited.is_ok(), "{}\n{}{}", seat.screen(), agent.model.end(), scene.all());
}

#[test]
fn codex_reports() {
    let dir = tempfile::tempdir().unwrap();
    reports("codex", &Agent::codex(dir.path()).unwrap(), "mcp__ringer/notify_parent");
}

#[test]
fn opencode_reports() {
    let dir = tempfile::tempdir().unwrap();
    reports("opencode", &Agent::opencode(dir.path()).unwrap(), "ringer_notify_parent");
}

#[test]
fn claude_code_reports() {
    let dir = tempfile::tempdir().unwrap();
    reports("claude", &Agent::claude(dir.path()).unwrap(), "mcp__ringer__notify_parent");
}
