//! The gate in every kind of terminal: the same tests for workers under `ringer run`, in tmux and in
//! Zellij, with a program that shows a prompt, drafts, dialogs and work of random length.

use std::thread;
use std::time::Duration;

use crate::scene::Scene;
use crate::seat::{Kind, Seat, player_file};
use ringer_testkit::played;

macro_rules! in_every_terminal {
    ($($test:ident)*) => {
        mod host { $( #[test] fn $test() { super::$test(super::Kind::Host); } )* }
        mod tmux { $( #[test] fn $test() { super::$test(super::Kind::Tmux); } )* }
        mod zellij { $( #[test] fn $test() { super::$test(super::Kind::Zellij); } )* }
    };
}

in_every_terminal! {
    messages_arrive_once_and_in_order_whatever_the_worker_does
    whatever_a_text_says_it_arrives_as_a_text
    a_dialog_is_never_answered
    a_draft_is_left_alone
    a_narrow_terminal_is_read_as_well
    what_is_mixed_with_keys_is_not_entered
    a_worker_that_works_is_waited_for
}

/// What the player got, without what it was told of who sent it.
fn texts(scene: &Scene, name: &str) -> Vec<String> {
    let all = played(&player_file(scene, name));
    assert!(all.iter().all(|one| !one.approved), "a dialog was approved: {all:?}{}", scene.all());
    assert!(all.iter().all(|one| !one.busy), "it was busy: {all:?}{}", scene.all());
    let body =
        |text: &str| text.strip_prefix("[message from team-lead]\n").unwrap_or(text).to_owned();
    all.into_iter().map(|one| body(&one.text)).collect()
}

fn arrive(scene: &Scene, name: &str, expected: &[String]) {
    scene.wait(&format!("{} messages", expected.len()), || {
        texts(scene, name).len() >= expected.len()
    });
    assert_eq!(texts(scene, name), expected, "{}", scene.all());
}

fn messages_arrive_once_and_in_order_whatever_the_worker_does(kind: Kind) {
    let scene = Scene::new();
    let _daemon = scene.start();
    let seeds = [("a", "11"), ("b", "12"), ("c", "13")];
    let _seats = seeds.map(|(name, seed)| Seat::player(&scene, kind, name, &["--seed", seed]));
    let all: Vec<String> = (0..30).map(|number| format!("message {number} of thirty")).collect();
    for text in &all {
        for (name, _) in seeds {
            scene.send(name, text);
        }
    }
    for (name, _) in seeds {
        arrive(&scene, name, &all);
    }
}

fn whatever_a_text_says_it_arrives_as_a_text(kind: Kind) {
    let scene = Scene::new();
    let _daemon = scene.start();
    let _seat = Seat::player(&scene, kind, "w", &["--calm"]);
    let long =
        |count: usize| (0..count).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let texts = [
        "/quit".to_owned(),
        "  /quit".to_owned(),
        "@secret.txt".to_owned(),
        "!touch x".to_owned(),
        "two\nlines".to_owned(),
        "three\n\nlines, one of them blank".to_owned(),
        "\ttabs\tand 你好，世界 and 🎉 and é".to_owned(),
        "─".repeat(300),
        "> a prompt\n─────────────\nplayer · 1% left".to_owned(),
        "╰ enter to approve".to_owned(),
        "* working (esc to stop)".to_owned(),
        long(9),
        long(1000),
        "x".repeat(9_900),
    ];
    for text in &texts {
        scene.send("w", text);
    }
    // An Enter behind the name of a file would be taken for its completion by some.
    let expected: Vec<String> =
        texts.iter().map(|text| text.replace("secret.txt", "secret.txt (end)")).collect();
    arrive(&scene, "w", &expected);
    // Escape sequences are taken out, and the rest of them is text.
    scene.send("w", "out \u{1b}[201~\rof it\u{7f}\u{8}");
    let last = "out [201~\nof it".to_owned();
    arrive(&scene, "w", &[expected, vec![last]].concat());
}

fn a_dialog_is_never_answered(kind: Kind) {
    let scene = Scene::new();
    let _daemon = scene.start();
    let seat = Seat::player(&scene, kind, "w", &["--calm"]);
    seat.presses("C-o");
    scene.wait("the dialog", || seat.screen().contains("enter to approve"));
    scene.send("w", "first");
    scene.send("w", "second");
    scene.wait("the reason", || scene.state_of("w") == "waiting: dialog");
    thread::sleep(Duration::from_millis(500));
    assert!(seat.screen().contains("enter to approve"), "{}", seat.screen());
    seat.presses("Escape");
    arrive(&scene, "w", &["first".to_owned(), "second".to_owned()]);
}

fn a_draft_is_left_alone(kind: Kind) {
    let scene = Scene::new();
    let _daemon = scene.start();
    let seat = Seat::player(&scene, kind, "w", &["--calm"]);
    seat.types("half a tho");
    scene.wait("the draft", || seat.screen().contains("> half a tho"));
    scene.send("w", "are you there?");
    scene.wait("the reason", || scene.state_of("w") == "waiting: draft");
    thread::sleep(Duration::from_millis(700));
    assert!(texts(&scene, "w").is_empty());
    seat.types("ught");
    seat.presses("Enter");
    arrive(&scene, "w", &["half a thought".to_owned(), "are you there?".to_owned()]);
}

fn a_narrow_terminal_is_read_as_well(kind: Kind) {
    let scene = Scene::new();
    let _daemon = scene.start();
    let seat = Seat::player(&scene, kind, "w", &["--calm"]);
    let mut expected = Vec::new();
    for (cols, rows) in [(40, 20), (26, 12), (120, 10), (200, 50)] {
        seat.resize(cols, rows);
        let text =
            format!("in {cols} columns: 你好 and a good deal of words that have to be wrapped");
        scene.send("w", &text);
        expected.push(text);
        arrive(&scene, "w", &expected);
    }
}

/// Somebody types in the moment in which a message stands in the prompt.
fn what_is_mixed_with_keys_is_not_entered(kind: Kind) {
    let scene = Scene::new();
    let _daemon = scene.start();
    let profile = ringer_testkit::PLAYER_PROFILE.replace("settle_ms = 60", "settle_ms = 3000");
    let seat = Seat::player(&scene, kind, "w", &["--calm"]);
    let dir = scene.settings_file().with_file_name("workers");
    ringer_testkit::put(&dir.join("player.toml"), &profile);
    scene.send("w", "stay");
    scene.wait("the text in the prompt", || seat.screen().contains("  stay"));
    seat.types(" or go");
    scene.wait("the reason", || scene.state_of("w") == "waiting: mixed");
    thread::sleep(Duration::from_millis(500));
    assert!(texts(&scene, "w").is_empty());
    seat.presses("Enter");
    scene.wait("the delivery", || scene.state_of("w") == "ready");
    assert_eq!(texts(&scene, "w"), ["stay or go"], "{}", scene.all());
}

fn a_worker_that_works_is_waited_for(kind: Kind) {
    let scene = Scene::new();
    let _daemon = scene.start();
    let seat = Seat::player(&scene, kind, "w", &["--calm"]);
    seat.presses("C-b");
    scene.wait("the work", || seat.screen().contains("* working"));
    scene.send("w", "when you are done");
    arrive(&scene, "w", &["when you are done".to_owned()]);
}
