//! Notices when nothing moves: once, and not while somebody works.

use std::fs;

use ringer_testkit::put;
use serde_json::{Value, json};

use crate::scene::{QUICK, Scene};

impl Scene {
    /// Where leads are, with a watchdog that looks every second.
    fn watched() -> Self {
        let scene = Self::without_team();
        scene.settings(&format!("{QUICK}[watchdog]\nevery_s = 1\nstuck_after_s = 3\n"));
        scene
    }

    /// A lead of a team with a worker that keeps what it gets and never answers.
    fn lead_with_worker(&self, team: &str, name: &str) {
        let cwd = self.world.path().join(team);
        fs::create_dir_all(&cwd).unwrap();
        self.lead_starts(team, 1, &cwd);
        self.lead_is(team, "end_turn");
        let (code, words) = self.spawn(&["--team", team], name);
        assert_eq!(code, Some(0), "{words}");
    }

    /// What the lead's transcript ends with: it has said something, and this is why it stopped.
    fn lead_is(&self, team: &str, stop: &str) {
        let dir = self.world.claude().join("projects").join(team);
        fs::create_dir_all(&dir).unwrap();
        let content = json!([{"type": "text", "text": "words"}]);
        let line =
            json!({"type": "assistant", "message": {"content": content, "stop_reason": stop}});
        put(&dir.join(format!("{team}-id.jsonl")), &format!("{line}\n"));
    }

    /// A teammate of Claude Code's own, which works or not.
    fn native(&self, team: &str, works: bool) {
        let mut config = self.world.config(team);
        let members = config["members"].as_array_mut().unwrap();
        members.retain(|member| member["name"] != "helper");
        members.push(json!({"name": "helper", "backendType": "in-process", "isActive": works}));
        put(&self.world.team_dir(team).join("config.json"), &config.to_string());
    }

    fn task(&self, team: &str, status: &str) {
        let dir = self.world.claude().join("tasks").join(team);
        fs::create_dir_all(&dir).unwrap();
        let task = json!({"id": "1", "subject": "Mend it", "description": "", "status": status,
            "owner": "w", "blocks": [], "blockedBy": []});
        put(&dir.join("1.json"), &task.to_string());
    }

    /// How often the watchdog said something that begins like this to a lead.
    fn barks(&self, team: &str, beginning: &str) -> usize {
        let inbox = fs::read_to_string(self.world.inbox(team, "team-lead"));
        let inbox: Vec<Value> = serde_json::from_str(&inbox.unwrap_or("[]".into())).unwrap();
        let is_it = |entry: &&Value| {
            entry["from"] == "ringer" && entry["text"].as_str().unwrap().starts_with(beginning)
        };
        inbox.iter().filter(is_it).count()
    }
}

#[test]
fn a_deadlock_is_told_once_until_something_else_happens() {
    let mut scene = Scene::watched();
    let daemon = scene.start();
    scene.lead_with_worker("session-one", "w");
    scene.team = "session-one".to_owned();
    scene.send("w", "Answer me.\nPlease.");
    scene.wait("the message", || scene.texts("w").len() == 1);
    scene.wait("a word", || scene.barks("session-one", "all idle: w is at rest") == 1);
    let told = scene.told("session-one").pop().unwrap();
    assert_eq!(
        told,
        "all idle: w is at rest, and so are you, but not all is done.\n\n\
         Not answered:\n- w got \"Answer me.\" and has said nothing since\n\n\
         Decide what happens next. You are told this once."
    );
    // A daemon that starts again does not say it again, nor does one that goes on: the next word is about what
    // happens next, and there are as many words as there were deadlocks.
    drop(daemon);
    let _daemon = scene.start();
    scene.task("session-one", "pending");
    scene.wait("a second word", || scene.barks("session-one", "all idle") >= 2);
    let told = scene.told("session-one").pop().unwrap();
    assert!(told.contains("- task 1 is pending and w's: Mend it"), "{told}");
    scene.send("w", "Now?");
    scene.wait("a third word", || scene.barks("session-one", "all idle") >= 3);
    assert_eq!(scene.barks("session-one", ""), 3, "{:?}", scene.told("session-one"));

    // Who has answered, and done what there was, is left in peace: the next word is about the next thing.
    let id = scene.roster()["members"][0]["birth"]["id"].as_str().unwrap().to_owned();
    let mut reply = scene.ringer(&["reply", "here"]);
    assert!(reply.env("RINGER_WORKER", &id).output().unwrap().status.success());
    scene.task("session-one", "completed");
    scene.lead_with_worker("session-two", "x");
    scene.team = "session-two".to_owned();
    scene.send("x", "And you?");
    scene.wait("a word to the other", || scene.barks("session-two", "all idle: x") == 1);
    assert_eq!(scene.barks("session-one", ""), 3, "{:?}", scene.told("session-one"));
    scene.run(&["stop", "w"]);
    scene.run(&["stop", "x"]);
}

#[test]
fn nothing_is_said_while_the_lead_works_or_a_teammate_of_its_own() {
    let mut scene = Scene::watched();
    let _daemon = scene.start();
    let all = [("session-one", "w"), ("session-two", "x"), ("session-three", "y")];
    for (team, name) in all {
        scene.lead_with_worker(team, name);
    }
    scene.lead_is("session-one", "tool_use");
    scene.native("session-three", true);
    for (team, name) in all {
        scene.team = team.to_owned();
        scene.send(name, "Answer me.");
    }
    // The other one is the clock.
    scene.wait("a word", || scene.barks("session-two", "all idle: x") == 1);
    scene.team = "session-two".to_owned();
    scene.send("x", "And now?");
    scene.wait("another word", || scene.barks("session-two", "all idle: x") == 2);
    assert_eq!(scene.barks("session-one", ""), 0, "its lead works");
    assert_eq!(scene.barks("session-three", ""), 0, "a teammate works");
    scene.native("session-three", false);
    scene.wait("the word", || scene.barks("session-three", "all idle: y") == 1);
    scene.lead_is("session-one", "end_turn");
    scene.wait("the word", || scene.barks("session-one", "all idle: w") == 1);
    for (_, name) in all {
        scene.run(&["stop", name]);
    }
}

#[test]
fn who_waits_for_a_person_or_is_stuck_is_named_once_and_is_not_idle() {
    let scene = Scene::watched();
    let _daemon = scene.start();
    scene.lead_starts("session-one", 1, &scene.world.work());
    scene.lead_is("session-one", "end_turn");
    let dir = scene.settings_file().with_file_name("workers");
    fs::create_dir_all(&dir).unwrap();
    put(
        &dir.join("actor.toml"),
        "[ready]\nscreen = 'PROMPT>\\z'\n[prompt]\nscreen = 'PROMPT>(?<text>)\\z'\n\
         [[hold]]\nreason = 'dialog'\nscreen = 'SURE\\?'\nwhy = 'it asks something; answer in its pane'\n\
         [[hold]]\nreason = 'busy'\nscreen = 'WORKING'\nwhy = 'it works'\n",
    );
    // It shows what is in a file, and counts if that says so.
    let script = "printf '\\033[?2004h'; stty -echo; n=0; while :; do new=$(cat act); \
        [ \"$new\" != COUNT ] || { n=$((n + 1)); echo $n > count; new=\"WORKING $n\"; }; \
        [ \"$new\" = \"$old\" ] || { old=$new; printf '\\033[2J\\033[H%s' \"$new\"; }; sleep 0.05; done";
    let act = |what: &str| put(&scene.world.work().join("act"), what);
    act("PROMPT>");
    scene.run(&["spawn", "actor", "--name", "w", "--", "sh", "-c", script]);
    act("SURE?");
    // That it has said something does not mean that it is done.
    let id = scene.roster()["members"][0]["birth"]["id"].as_str().unwrap().to_owned();
    let mut reply = scene.ringer(&["reply", "on it"]);
    assert!(reply.env("RINGER_WORKER", &id).output().unwrap().status.success());
    scene.wait("a word", || scene.barks("session-one", "w waits for a person") == 1);
    let problems = || scene.status()["problems"].to_string();
    scene.wait("the user to be told", || {
        problems().contains("w on session-one: waits for a person")
    });
    act("COUNT");
    scene.wait("it to be over", || !problems().contains("waits for a person"));
    // While it draws something new, it works, for longer than it may be stuck.
    let count = || fs::read_to_string(scene.world.work().join("count")).unwrap_or_default();
    scene.wait("it to work", || count().trim().parse::<u32>().is_ok_and(|count| count > 100));
    assert_eq!(scene.barks("session-one", ""), 1);
    act("WORKING");
    scene.wait("another word", || {
        scene.barks("session-one", "w is busy, and nothing has changed") == 1
    });
    scene.wait("the user to be told", || problems().contains("w on session-one: stuck"));
    scene.task("session-one", "in_progress");
    act("PROMPT>");
    scene.wait("the last word", || scene.barks("session-one", "all idle: w") == 1);
    scene.wait("no problem", || problems() == "[]");
    assert_eq!(scene.barks("session-one", ""), 3, "{:?}", scene.told("session-one"));
    scene.run(&["stop", "w"]);
}
