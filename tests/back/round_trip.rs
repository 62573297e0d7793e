//! There and back: Claude sends, the worker gets it, its model reports, the lead's model sees it.

use std::time::Duration;

use ringer_testkit::Turn;
use serde_json::json;

use crate::seat::Kind;
use crate::stage::{NOTIFY, Stage, agree, ask_to_shut_down, notify, say};

/// The first version that makes a team for every session and reads no inbox by itself.
const IMPLICIT: u32 = 200;

fn round_trip(version: &str) {
    let stage = Stage::new(version, &["init"]);
    for (kind, name) in
        [(Kind::Host, "under-run"), (Kind::Tmux, "in-tmux"), (Kind::Zellij, "in-zellij")]
    {
        let gemini = stage.gemini(name);
        let seat = stage.seat(kind, name, &gemini);
        let news = format!("42 TESTS PASS {name}");
        gemini.model.queue([notify("success", &news), Turn::say("reported")]);
        let text = format!("Run the tests, {name}");
        stage.claude.act([stage.claude.send_message(name, &text, "Tests")]).unwrap();
        stage.wait("the worker to be asked", || gemini.model.saw(&text));
        let seen = stage.lead_sees(&news);
        let took = seen - gemini.model.called_at(NOTIFY).unwrap();
        say(&format!(
            "{version}, {name}: from the worker's tool call to the lead's model {took:.0?}"
        ));
        assert!(stage.claude.model().saw(&format!("teammate_id=\"{name}\"")));
        stage.message_is(&news, "taken");
        stage.message_is(&text, "delivered");

        let patch: u32 = version.rsplit('.').next().unwrap().parse().unwrap();
        if patch >= IMPLICIT {
            in_the_middle_of_a_turn(&stage, &gemini, name);
        }
        // The end: the worker's model agrees, the worker ends and is off the team.
        gemini.model.queue([agree(), Turn::say("bye")]);
        stage.claude.act([ask_to_shut_down(version, name)]).unwrap();
        stage.wait("it to be off the team", || !stage.members().contains(&name.to_owned()));
        stage.lead_sees("shutdown_approved");
        let gone = || !seat.screen().contains("Type your message");
        stage.wait("the worker to end", gone);
        let status = stage.scene.status();
        assert_eq!(status["members"].as_array().unwrap().len(), 0, "{status}");
    }
}

/// The lead works, and hears of it before it has come to the end of its turn.
fn in_the_middle_of_a_turn(stage: &Stage, gemini: &ringer_testkit::Agent, name: &str) {
    let news = format!("MID-TURN NEWS {name}");
    let end = format!("LONG-TURN-ENDS-{name}");
    let bash = |command: &str| Turn::call("Bash", &json!({"command": command, "description": "x"}));
    let model = stage.claude.model();
    let turns = [bash("sleep 6"), bash("true"), bash("true"), Turn::say(&end)];
    stage.claude.begin(&format!("work while {name} works"), turns).unwrap();
    let begun = model.called_at("Bash");
    stage.wait("the lead to work", || model.called_at("Bash") != begun || begun.is_some());
    gemini.model.queue([notify("blocked", &news), Turn::say("asked")]);
    stage.scene.send(name, "and now?");
    let seen = stage.lead_sees(&news);
    stage.wait("the end of the turn", || stage.claude.screen().contains(&end));
    // The last request of the turn is the one that follows the last tool.
    let last = model.called_at("Bash").unwrap();
    assert!(seen <= last + Duration::from_millis(1), "only after the turn");
    let took = seen - gemini.model.called_at(NOTIFY).unwrap();
    say(&format!("{name}, mid-turn: from the worker's tool call to the lead's model {took:.0?}"));
}

#[test]
fn claude_code_2_1_39() {
    round_trip("2.1.39");
}

#[test]
fn claude_code_2_1_177() {
    round_trip("2.1.177");
}

#[test]
fn claude_code_2_1_325() {
    round_trip("2.1.325");
}
