//! Tools for leads: Claude Code grows its team with them, and so does any other agent that leads one.

use std::fs;
use std::process::Stdio;

use ringer_testkit::{Agent, Turn, cache_dir, received, receiver_program, wait_for};
use serde_json::{Value, json};

use crate::scene::{PATIENCE, Scene, TEAM};
use crate::stage::Stage;
use crate::tools::{Server, names};

const LEADS: [&str; 10] = [
    "claim_task",
    "create_task",
    "finish_team",
    "get_task",
    "list_tasks",
    "list_teammates",
    "release_task",
    "remove_teammate",
    "spawn_teammate",
    "update_task_status",
];

/// The arguments of a worker that keeps what it gets.
fn receiver(scene: &Scene, name: &str) -> Value {
    let file = scene.world.path().join(format!("{name}.got"));
    json!({"profile": "shell", "name": name, "command": [receiver_program(), file]})
}

fn texts(scene: &Scene, name: &str) -> Vec<String> {
    let all = received(&scene.world.path().join(format!("{name}.got")));
    all.into_iter().map(|one| one.text).collect()
}

fn member_names(scene: &Scene, team: &str) -> Vec<String> {
    let config = scene.world.config(team);
    let all = config["members"].as_array().unwrap().iter();
    all.map(|member| member["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn who_leads_is_who_the_process_is_and_nobody_else_may() {
    let scene = Scene::without_team();
    let _daemon = scene.start();
    scene.world.team(TEAM);
    // This process leads `session-one`, and nothing in its environment says so.
    scene.lead_starts("session-one", 1, &scene.world.work());
    let lead = Server::new(&scene, &["mcp", "--lead"], &[]);
    assert_eq!(names(&lead.tools()), LEADS);
    for tool in lead.tools() {
        assert!(tool["description"].as_str().unwrap().len() > 60, "it teaches nothing: {tool}");
        let properties = tool["inputSchema"]["properties"].to_string();
        assert!(!properties.contains("\"team\"") && !properties.contains("\"from\""));
    }

    let command = format!("command={}", receiver(&scene, "w")["command"]);
    let spawn = ["profile=shell", "name=w", "prompt=Begin.", &command];
    let (error, answer) = lead.call("spawn_teammate", &spawn);
    assert!(!error, "{answer}");
    assert_eq!((&answer["name"], &answer["team"]), (&json!("w"), &json!("session-one")));
    scene.wait("its first prompt", || {
        texts(&scene, "w") == ["[message from team-lead · first prompt]\nBegin."]
    });
    let (_, answer) = lead.call("list_teammates", &[]);
    let states: Vec<(&str, &str)> = answer["teammates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (m["name"].as_str().unwrap(), m["state"].as_str().unwrap_or("-")))
        .collect();
    assert_eq!(states, [("team-lead", "-"), ("w", "ready")], "{answer}");
    // A name that is taken gets a number.
    let (error, answer) = lead.call("spawn_teammate", &spawn);
    assert!(!error && answer["name"] == "w-2", "{answer}");
    for (arguments, code, word) in [
        (vec!["profile=nobody"], "profile_not_found", "nobody"),
        (vec!["profile=shell"], "invalid_usage", "has no command"),
        (vec!["profile=shell", "name=a b", &command], "invalid_name", "a b"),
        (vec!["profile=shell", "cwd=nowhere", &command], "invalid_usage", "no directory"),
    ] {
        let (error, answer) = lead.call("spawn_teammate", &arguments);
        assert!(error && answer["error"] == code, "{arguments:?}: {answer}");
        assert!(answer["message"].as_str().unwrap().contains(word), "{answer}");
    }
    let (error, answer) = lead.call("remove_teammate", &["name=w-2"]);
    assert!(!error && answer["removed"] == json!(["w-2"]), "{answer}");
    for (name, code) in [("w-2", "agent_not_found"), ("team-lead", "permission_denied")] {
        let (error, answer) = lead.call("remove_teammate", &[&format!("name={name}")]);
        assert!(error && answer["error"] == code, "{answer}");
    }

    // The board is the lead's to fill, and to give away from.
    let (error, answer) = lead.call("create_task", &["subject=Sort the mail", "owner=w"]);
    assert!(!error && answer["told"] == json!(["w"]), "{answer}");
    scene.wait("the task", || {
        texts(&scene, "w").last().unwrap().contains("gave you task 1: Sort the mail")
    });
    let (error, answer) = lead.call("claim_task", &["task_id=1", "assignee=w"]);
    assert!(!error && answer["task"]["owner"] == "w", "{answer}");
    let (error, answer) = lead.call("update_task_status", &["task_id=1", "status=deleted"]);
    assert!(!error, "{answer}");

    // A worker is no lead, whatever it says: its own process tells.
    let result = scene.world.path().join("denied");
    let ringer = env!("CARGO_BIN_EXE_ringer");
    let calls = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "finish_team", "arguments": {"summary": "mutiny", "force": true}}}),
    ];
    let calls = calls.map(|call| call.to_string()).join("\n");
    let script = format!(
        "env -u RINGER_WORKER CLAUDE_CODE_SESSION_ID=33d98fe4-6f3d-4460-8833-9ec8058846d3 {ringer} mcp --lead \
         <<'EOF' > {}\n{calls}\nEOF\nexec {} {}",
        result.display(),
        receiver_program().display(),
        scene.world.path().join("rebel.got").display()
    );
    scene.run(&[
        "spawn",
        "shell",
        "--name",
        "rebel",
        "--team",
        "session-one",
        "--",
        "sh",
        "-c",
        &script,
    ]);
    let said = || fs::read_to_string(&result).unwrap_or_default();
    scene.wait("the answer", || said().contains("\"id\":2"));
    assert!(said().contains("permission_denied"), "{}", said());
    assert_eq!(member_names(&scene, "session-one"), ["team-lead", "w", "rebel"]);

    let (error, answer) = lead.call("finish_team", &["summary=all done"]);
    assert!(!error && answer["success"] == true, "{answer}");
    assert_eq!((&answer["completed_tasks"], &answer["summary"]), (&json!(0), &json!("all done")));
    assert_eq!(member_names(&scene, "session-one"), ["team-lead"]);
    scene.lead_ends("session-one");
    let (error, answer) = lead.call("finish_team", &["summary=again"]);
    assert!(error && answer["error"] == "permission_denied", "{answer}");
}

/// A real lead, by its model's tool calls.
fn claude_grows_its_team(version: &str) {
    let stage = Stage::new(version, &["init"]);
    let tool = |name: &str| format!("mcp__ringer-lead__{name}");
    let model = stage.claude.model();
    let find = json!({"query": "select:mcp__ringer-lead__spawn_teammate,mcp__ringer-lead__list_teammates,\
        mcp__ringer-lead__remove_teammate,mcp__ringer-lead__finish_team", "max_results": 9});
    let mut wanted = receiver(&stage.scene, "helper");
    wanted["prompt"] = json!("Wait for mail.");
    stage
        .claude
        .act([
            Turn::call("ToolSearch", &find),
            Turn::call(&tool("spawn_teammate"), &wanted),
            Turn::call(&tool("list_teammates"), &json!({})),
        ])
        .unwrap();
    let first = "[message from team-lead · first prompt]\nWait for mail.";
    stage.wait("its first prompt", || texts(&stage.scene, "helper") == [first]);
    assert!(model.saw("\"state\":\"ready\""), "{}", model.end());
    // It is a teammate like the others.
    stage.claude.act([stage.claude.send_message("helper", "HELLO HELPER", "hi")]).unwrap();
    stage.wait("the message", || texts(&stage.scene, "helper").len() == 2);
    stage
        .claude
        .act([Turn::call(&tool("finish_team"), &json!({"summary": "ALL DONE HERE"}))])
        .unwrap();
    assert!(model.saw("\"completed_tasks\":0"), "{}", model.end());
    assert!(!stage.members().contains(&"helper".to_owned()));
}

#[test]
fn claude_code_2_1_325_grows_its_team() {
    claude_grows_its_team("2.1.325");
}

#[test]
fn claude_code_2_1_39_grows_its_team() {
    claude_grows_its_team("2.1.39");
}

/// A team without Claude: a real Gemini CLI leads it.
#[test]
fn gemini_leads_a_team_of_its_own() {
    let scene = Scene::without_team();
    let _daemon = scene.start();
    let safe = tempfile::Builder::new().prefix("run-").tempdir_in(cache_dir()).unwrap();
    let gemini = Agent::gemini(&scene.world.path().join("lead")).unwrap();
    assert!(
        scene.run(&["teams", "create", "mine", "--description", "a test"]).contains("made mine")
    );
    let mut lead = scene.ringer(&["run", "gemini", "--lead", "--team", "mine", "--detach", "--"]);
    lead.arg(&gemini.program).args(&gemini.args).envs(gemini.env.iter().cloned());
    // Its own home is not ours.
    lead.env("RINGER_STATE_DIR", scene.state()).env("RINGER_CONFIG", scene.settings_file());
    lead.env("XDG_RUNTIME_DIR", safe.path()).stdin(Stdio::null());
    let output = lead.output().unwrap();
    assert!(output.status.success(), "{}", crate::scene::said(&output));
    let wait = |what: &str, condition: &dyn Fn() -> bool| {
        let waited = wait_for(what, PATIENCE * 2, || condition().then_some(()));
        assert!(waited.is_ok(), "waited for {what}\n{}{}", gemini.model.end(), scene.all());
    };
    // Its inbox is delivered like everyone's.
    let to_lead = ["send", "--team", "mine", "--to", "team-lead", "--from", "user", "--force"];
    let ask = |text: &str| drop(scene.run(&[&to_lead[..], &[text]].concat()));
    let tool = |name: &str, input: &Value| Turn::call(&format!("mcp_ringer_{name}"), input);
    gemini.model.queue([
        tool("spawn_teammate", &receiver(&scene, "a")),
        tool("spawn_teammate", &receiver(&scene, "b")),
        tool("list_teammates", &json!({})),
        tool("send_message", &json!({"to": "a", "message": "WORK FOR A"})),
        tool("send_message", &json!({"to": "b", "message": "WORK FOR B"})),
        Turn::say("they work"),
    ]);
    ask("Grow a team.");
    wait("both to have work", &|| ["a", "b"].iter().all(|name| texts(&scene, name).len() == 1));
    assert_eq!(texts(&scene, "a"), ["[message from team-lead]\nWORK FOR A"]);
    wait("the end of the turn", &|| gemini.model.saw("\"sent_to\":[\"b\"]"));
    // They answer, as any program can, and the lead hears them.
    let reply = |name: &str, text: &str| {
        let roster: Value =
            serde_json::from_str(&fs::read_to_string(scene.state().join("roster.json")).unwrap())
                .unwrap();
        let members = roster["members"].as_array().unwrap();
        let id = members.iter().find(|m| m["name"] == name).unwrap()["birth"]["id"].clone();
        let mut reply = scene.ringer(&["reply", "--status", "success", text]);
        assert!(
            reply.env("RINGER_WORKER", id.as_str().unwrap()).output().unwrap().status.success()
        );
    };
    reply("a", "A IS DONE");
    wait("the lead to hear a", &|| gemini.model.saw("A IS DONE"));
    reply("b", "B IS DONE");
    wait("the lead to hear b", &|| gemini.model.saw("B IS DONE"));
    // Nobody deletes a team with members by mistake.
    let output = scene.ringer(&["teams", "delete", "mine"]).output().unwrap();
    let said = crate::scene::said(&output);
    assert!(said.contains("error: mine has active members: team-lead, a, b"), "{said}");
    gemini
        .model
        .queue([tool("finish_team", &json!({"summary": "IT IS FINISHED"})), Turn::say("finished")]);
    ask("Finish.");
    wait("the end", &|| gemini.model.saw("\"summary\":\"IT IS FINISHED\""));
    assert_eq!(member_names(&scene, "mine"), ["team-lead"]);
    assert_eq!(scene.run(&["teams", "delete", "mine", "--force"]), "deleted mine\n");
    assert!(!scene.world.team_dir("mine").exists());
}
