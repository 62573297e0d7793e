//! Members come and go while another program rewrites config.json in place and without a lock.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

use ringer_testkit::{Running, World, command};
use serde_json::{Value, json};

const TEAM: &str = "exo-root";
const PROCESSES: usize = 8;
const ROUNDS: usize = 5;

fn ringer(world: &World, arguments: &[&str]) {
    let output = world.ringer().args(arguments).args(["--team", TEAM]).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn eight_processes_register_and_remove_while_claude_code_rewrites_the_file() {
    let world = World::new(env!("CARGO_BIN_EXE_ringer"));
    world.team(TEAM);
    let config = world.team_dir(TEAM).join("config.json");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/node/rewrite_config.cjs");
    let claude = Running::start(command("node").arg(script).arg(&config)).unwrap();

    thread::scope(|scope| {
        for process in 0..PROCESSES {
            let world = &world;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let name = format!("w{process}-{round}");
                    ringer(world, &["register", &name, "--model", "m"]);
                    if round % 2 == 0 {
                        ringer(world, &["remove", &name]);
                    }
                }
            });
        }
    });
    let output = claude.finish().unwrap();
    let count: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("the rewriter crashed: {}", String::from_utf8_lossy(&output.stderr))
    });

    let now = world.config(TEAM);
    let ours = |m: &&Value| m["backendType"] == "ringer";
    let name = |m: &Value| m["name"].as_str().unwrap().to_owned();
    let members = now["members"].as_array().unwrap();
    let names: Vec<String> = members.iter().filter(ours).map(name).collect();
    let wanted = (0..PROCESSES).flat_map(|p| [1, 3].map(|round| format!("w{p}-{round}")));
    assert_eq!(names.iter().cloned().collect::<BTreeSet<_>>(), wanted.collect::<BTreeSet<_>>());
    assert_eq!(names.len(), PROCESSES * 2, "somebody is on it twice: {names:?}");

    assert_eq!(now["count"], count["count"], "the rewriter's last word stands");
    assert_eq!(now["futureField"], json!({"kept": [1, 2.50, null]}));
    assert_eq!(members[0]["unknownInMember"], "kept");
    let helpers = members.iter().filter(|m| m["name"] == "helper").count();
    let last = count["count"].as_u64().unwrap();
    assert_eq!(helpers, usize::from(last % 2 == 1), "the rewriter's own member is as it left it");
    println!(
        "{} changes against {last} rewrites in place",
        PROCESSES * (ROUNDS + ROUNDS.div_ceil(2))
    );
}

#[test]
fn ringers_that_want_different_things_do_not_fight() {
    let world = World::new(env!("CARGO_BIN_EXE_ringer"));
    world.team(TEAM);
    thread::scope(|scope| {
        for process in 0..4 {
            let world = &world;
            scope.spawn(move || {
                let model = format!("m{process}");
                for _ in 0..3 {
                    ringer(world, &["register", "same", "--model", &model]);
                    ringer(world, &["register", "coming-and-going"]);
                    ringer(world, &["remove", "coming-and-going"]);
                }
            });
        }
    });
    let now = world.config(TEAM);
    let names: Vec<_> = now["members"].as_array().unwrap().iter().map(|m| &m["name"]).collect();
    assert_eq!(names.iter().filter(|name| **name == "same").count(), 1, "{names:?}");
    assert!(names.len() <= 3, "{names:?}");
}
