//! Many at once: nobody is lost, and nobody heard twice.

use std::process::Command;
use std::thread;

use crate::stage::Stage;

const WORKERS: usize = 5;
const EACH: usize = 20;

fn crowd(version: &str) {
    let stage = Stage::new(version, &["init"]);
    let names: Vec<String> = (0..WORKERS).map(|n| format!("w{n}")).collect();
    for name in &names {
        stage.scene.run(&["register", name, "--team", &stage.scene.team]);
    }
    let replies = |name: &String| -> Vec<Command> {
        let reply = |number| {
            let text = format!("reply {name}-{number}.");
            let mut reply = stage.scene.ringer(&["reply", "--status", "success", &text]);
            reply.env("RINGER_TEAM", &stage.scene.team).env("RINGER_MEMBER", name);
            reply
        };
        (0..EACH).map(reply).collect()
    };
    let all: Vec<Vec<Command>> = names.iter().map(replies).collect();
    thread::scope(|scope| {
        for worker in all {
            scope.spawn(move || {
                for mut reply in worker {
                    let output = reply.output().unwrap();
                    assert!(output.status.success(), "{}", crate::scene::said(&output));
                }
            });
        }
    });
    let model = stage.claude.model();
    for name in &names {
        for number in 0..EACH {
            stage.lead_sees(&format!("[success] reply {name}-{number}."));
        }
    }
    // A turn more, so that a request has it all.
    stage.claude.act([]).unwrap();
    for name in &names {
        for number in 0..EACH {
            let text = format!("[success] reply {name}-{number}.");
            assert_eq!(model.count(&text), 1, "{text}");
        }
    }
    for name in &names {
        stage.message_is(&format!("reply {name}-{}.", EACH - 1), "taken");
    }
}

#[test]
fn a_hundred_replies_at_once_are_each_seen_once_by_a_lead_with_hooks() {
    crowd("2.1.325");
}

#[test]
fn a_hundred_replies_at_once_are_each_seen_once_by_a_lead_that_reads_by_itself() {
    crowd("2.1.177");
}
