//! Real Gemini CLI with our hooks: mail while it works, sure receipts, and a lead that knows when it is idle.

use std::fs;
use std::time::Duration;

use ringer_testkit::{Agent, Turn, cache_dir, put, wait_for};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::scene::{QUICK, Scene};
use crate::seat::{Kind, Program, Seat};

/// A worker under `ringer run`.
struct Desk<'s> {
    scene: &'s Scene,
    agent: Agent,
    seat: Seat<'s>,
    _safe: TempDir,
}

impl<'s> Desk<'s> {
    fn take(scene: &'s Scene) -> Self {
        Self::with_hooks(scene, &json!({}))
    }

    /// The same, with hooks of the user's.
    fn with_hooks(scene: &'s Scene, hooks: &Value) -> Self {
        let agent = Agent::gemini(&scene.world.path().join("w")).unwrap();
        let file = scene.world.path().join("w/home/.gemini/settings.json");
        let mut settings: Value =
            serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        settings["hooks"] = hooks.clone();
        put(&file, &settings.to_string());
        fs::create_dir_all(cache_dir()).unwrap();
        let safe = tempfile::Builder::new().prefix("run-").tempdir_in(cache_dir()).unwrap();
        let words = [&[agent.program.display().to_string()], &agent.args[..]].concat();
        let mut env = agent.env.clone();
        env.push(("XDG_RUNTIME_DIR".to_owned(), safe.path().display().to_string()));
        let program = Program { name: "w", profile: "gemini", words, env, cwd: agent.cwd.clone() };
        let seat = Seat::take(scene, Kind::Host, &program);
        Self { scene, agent, seat, _safe: safe }
    }

    fn wait(&self, what: &str, condition: impl Fn() -> bool) {
        let done = wait_for(what, Duration::from_mins(1), || condition().then_some(()));
        if let Err(error) = done {
            let (screen, end) = (self.seat.screen(), self.agent.model.end());
            panic!("{error}\n{screen}--- its model\n{end}{}", self.scene.all());
        }
    }

    fn sees(&self, text: &str) {
        self.wait(&format!("the model to see {text:?}"), || self.agent.model.saw(text));
    }

    fn message(&self, text: &str) -> Value {
        let log: Value = serde_json::from_str(&self.scene.run(&["log", "--json"])).unwrap();
        let all = log["messages"].as_array().unwrap();
        let found = all.iter().find(|message| message["text"].as_str().unwrap().contains(text));
        found.cloned().unwrap_or_default()
    }

    /// Waits until a message is delivered, and in this way; it is confirmed by the worker itself.
    fn delivered(&self, text: &str, via: &str) {
        self.wait(&format!("{text:?} to be confirmed"), || {
            let message = self.message(text);
            message["state"] == "delivered" && message["confirmed_at"].is_i64()
        });
        assert_eq!(self.message(text)["via"], via, "{}", self.message(text));
    }

    /// What the lead was told of turns that ended.
    fn idle(&self) -> Vec<Value> {
        let inbox = fs::read_to_string(self.scene.world.inbox(&self.scene.team, "team-lead"));
        let inbox: Vec<Value> = serde_json::from_str(&inbox.unwrap_or("[]".into())).unwrap();
        let texts = inbox.iter().filter_map(|entry| entry["text"].as_str());
        let known = texts.filter_map(|text| serde_json::from_str::<Value>(text).ok());
        known.filter(|message| message["type"] == "idle_notification").collect()
    }
}

fn list() -> Value {
    json!({"dir_path": "."})
}

#[test]
fn a_busy_worker_gets_its_mail_without_keys() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let desk = Desk::take(&scene);
    let model = &desk.agent.model;

    // Typed, and confirmed by the worker.
    model.queue([Turn::hold_call("list_directory", &list())]);
    scene.send("w", "first: look around");
    desk.sees("first: look around");
    desk.delivered("first: look around", "keys");

    // In the middle of its turn.
    scene.send("w", "second: if a < b, mail x@y.z & go on");
    desk.wait("it to wait", || scene.state_of("w") == "waiting: busy");
    model.queue([Turn::hold("THE FIRST ANSWER")]);
    model.release();
    desk.sees("second: if a");
    let state = desk.message("second: if a")["state"].clone();
    assert_ne!(state, "delivered", "the model may still forget it");

    // At its end.
    scene.send("w", "third: and now this, with @x and !y and <z>");
    desk.wait("both", || {
        desk.message("third:")["state"] == "received" || scene.state_of("w").starts_with("waiting")
    });
    model.queue([Turn::say("THE SECOND ANSWER")]);
    model.release();
    desk.delivered("second: if a", "hook");
    desk.sees("third: and now this, with @x and !y and <z>");
    desk.delivered("third: and now this", "hook");

    let prompts = model.prompts();
    let third = "[message from team-lead]\nthird: and now this, with @x and !y and <z>";
    assert_eq!(prompts, ["[message from team-lead]\nfirst: look around", third]);
    desk.wait("a word to the lead", || desk.idle().len() == 1);
    let idle = &desk.idle()[0];
    assert!(idle["summary"].as_str().unwrap().contains("THE SECOND ANSWER"), "{idle}");
    assert!(idle["reported"].is_null(), "{idle}");
    desk.wait("all to be read", || {
        let inbox = fs::read_to_string(scene.world.inbox(&scene.team, "w")).unwrap();
        !inbox.contains("\"read\": false")
    });
}

/// What is typed then would be in the way, and Gemini CLI has been seen to lose it.
#[test]
fn nothing_is_typed_while_a_worker_runs_hooks_before_its_turn() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let slow = json!({"type": "command", "name": "slow", "command": "sleep 2", "timeout": 10000});
    let desk = Desk::with_hooks(&scene, &json!({"BeforeAgent": [{"hooks": [slow]}]}));
    scene.send("w", "first");
    scene.send("w", "second");
    desk.delivered("first", "keys");
    desk.delivered("second", "hook");
    let prompts = ["first", "second"].map(|text| format!("[message from team-lead]\n{text}"));
    assert_eq!(desk.agent.model.prompts(), prompts);
}

/// Gemini CLI forgets what it was handed if the user cancels before the model has answered.
#[test]
fn what_a_cancelled_turn_forgets_comes_again() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let desk = Desk::take(&scene);
    let model = &desk.agent.model;
    model.queue([Turn::hold_call("list_directory", &list()), Turn::hold("NEVER SAID")]);
    scene.send("w", "look around");
    desk.sees("look around");
    scene.send("w", "do not forget me");
    desk.wait("it to wait", || scene.state_of("w") == "waiting: busy");
    model.release();
    desk.sees("do not forget me");
    desk.seat.presses("Escape");
    desk.wait("it to be typed", || {
        let typed = model.prompts();
        typed
            .iter()
            .any(|prompt| prompt.contains("[second copy") && prompt.contains("do not forget me"))
    });
    desk.wait("it to be confirmed", || desk.message("do not forget me")["confirmed_at"].is_i64());
}

/// A turn that is cancelled ends with what was said before, which is no answer.
#[test]
fn what_was_said_before_is_no_answer() {
    let scene = Scene::new();
    let _daemon = scene.start();
    let desk = Desk::take(&scene);
    let model = &desk.agent.model;
    model.queue([Turn::hold("THE FIRST ANSWER"), Turn::hold("NEVER SAID")]);
    scene.send("w", "begin");
    desk.sees("begin");
    scene.send("w", "do not forget me");
    desk.wait("it to wait", || scene.state_of("w") == "waiting: busy");
    model.release();
    // It is the next prompt, by hook; the model is about to answer.
    desk.sees("do not forget me");
    desk.wait("the request", || model.prompts().len() == 2);
    desk.seat.presses("Escape");
    desk.wait("it to come again", || {
        model.prompts().iter().any(|p| p.contains("[second copy") && p.contains("do not forget me"))
    });
    desk.wait("it to be confirmed", || desk.message("do not forget me")["confirmed_at"].is_i64());
}

#[test]
fn an_idle_worker_is_woken_and_its_hook_brings_the_text() {
    let scene = Scene::new();
    let workers = scene.settings_file().with_file_name("workers");
    fs::create_dir_all(&workers).unwrap();
    put(&workers.join("gemini.toml"), "body = \"hook\"\n");
    scene.settings(&format!("{QUICK}[lead]\nidle_notifications = false\n"));
    let _daemon = scene.start();
    let desk = Desk::take(&scene);
    desk.agent.model.queue([Turn::say("READ IT")]);
    scene.send("w", "see @secret.txt and /help\n!ls");
    desk.sees("see @secret.txt and /help\n!ls");
    desk.delivered("see @secret.txt", "hook");
    let prompts = desk.agent.model.prompts();
    assert!(prompts[0].starts_with("You have mail from your team."), "{prompts:?}");
    assert!(!desk.seat.screen().contains("secret"), "{}", desk.seat.screen());
    scene.send("w", "and one more");
    desk.delivered("and one more", "hook");
    assert_eq!(desk.message("and one more")["copies"], 1);
    assert!(desk.idle().is_empty(), "that was turned off");
}
