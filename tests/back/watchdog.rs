//! A real lead that has forgotten whom it asked is told, once.

use ringer_testkit::{Turn, received, receiver_program};

use crate::scene::QUICK;
use crate::stage::Stage;

fn a_deadlock(version: &str) {
    let stage = Stage::new(version, &["init"]);
    let scene = &stage.scene;
    scene.settings(&format!("{QUICK}[watchdog]\nevery_s = 1\n"));
    let file = scene.world.path().join("quiet.got");
    let program = receiver_program().display().to_string();
    let words = ["spawn", "shell", "--name", "quiet", "--team", &scene.team, "--"];
    scene.run(&[&words[..], &[&program, file.to_str().unwrap()]].concat());
    let model = stage.claude.model();
    for number in 1..=2 {
        let text = format!("QUESTION {number}");
        // What it says when it is told is no reason to be told again.
        stage.claude.act([stage.claude.send_message("quiet", &text, &text)]).unwrap();
        model.queue([Turn::say("so be it")]);
        stage.wait("the question", || received(&file).len() == number);
        stage.lead_sees(&format!("quiet got \"{text}\" and has said nothing since"));
    }
    let log = scene.run(&["log", "--json"]);
    assert_eq!(log.matches("\"from\":\"ringer\"").count(), 2, "{log}");
}

#[test]
fn claude_code_2_1_325_is_told_once_of_each_deadlock() {
    a_deadlock("2.1.325");
}

#[test]
fn claude_code_2_1_39_is_told_once_of_each_deadlock() {
    a_deadlock("2.1.39");
}
