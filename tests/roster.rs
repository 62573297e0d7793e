//! The daemon keeps `config.json` as the roster says, whoever rewrites it and whoever edits the roster.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod scene;

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use ringer_testkit::{World, put};
use scene::{Scene, TEAM, said};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);

/// The names of our members in `config.json`; none while it is being written.
fn ours(scene: &Scene) -> Option<Vec<String>> {
    let config = fs::read_to_string(scene.world.team_dir(TEAM).join("config.json")).unwrap();
    let config: Value = serde_json::from_str(&config).ok()?;
    let members = config["members"].as_array()?.iter();
    let ours = members.filter(|member| member["backendType"] == "ringer");
    Some(ours.map(|member| member["name"].as_str().unwrap().to_owned()).collect())
}

/// Waits until these are our members; how long that took.
fn wait_for_members(scene: &Scene, names: &[&str]) -> Duration {
    let start = Instant::now();
    let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    scene.wait(&format!("{names:?} on the team"), || {
        let now = ours(scene).unwrap_or_default();
        now.iter().cloned().collect::<BTreeSet<_>>() == names && now.len() == names.len()
    });
    start.elapsed()
}

/// Runs a command that has to succeed, from any thread.
fn run(world: &World, arguments: &[&str]) {
    let output = world.ringer().args(arguments).args(["--team", TEAM]).output().unwrap();
    assert!(output.status.success(), "ringer {arguments:?}: {}", said(&output));
}

/// Rewrites `config.json` in place as Claude Code had it before we came, with another number in it.
fn swallow(world: &World, before: &Value, number: usize) {
    let mut config = before.clone();
    config["count"] = json!(number);
    put(&world.team_dir(TEAM).join("config.json"), &format!("{config:#}"));
}

#[test]
fn a_member_that_a_rewrite_swallowed_is_back_within_a_second_every_time() {
    let scene = Scene::new();
    let before = scene.world.config(TEAM);
    let worker = scene.worker("w");
    let _daemon = scene.start();
    let mut slowest = Duration::ZERO;
    for round in 0..20 {
        swallow(&scene.world, &before, round);
        let took = wait_for_members(&scene, &["w"]);
        slowest = slowest.max(took);
        let now = scene.world.config(TEAM);
        assert_eq!(now["count"], round, "the rewriter's last word stands");
        assert_eq!(now["futureField"], before["futureField"]);
        assert_eq!(now["members"][0], before["members"][0]);
    }
    println!("20 times swallowed, back after {slowest:.0?} at most");
    assert!(slowest < SECOND, "{slowest:?}{}", scene.all());
    assert_eq!(scene.state_of("w"), "ready");
    scene.send("w", "still here");
    scene.arrive(&worker, &["still here"]);
}

#[test]
fn all_members_that_one_rewrite_swallowed_are_back_within_a_second() {
    let scene = Scene::new();
    let before = scene.world.config(TEAM);
    let names: Vec<String> = (0..12).map(|n| format!("w{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in &names {
        scene.run(&["register", name, "--team", TEAM]);
    }
    let _daemon = scene.start();
    for round in 0..3 {
        swallow(&scene.world, &before, round);
        let took = wait_for_members(&scene, &names);
        println!("{} members are back after {took:.0?}", names.len());
        assert!(took < SECOND, "{took:?}{}", scene.all());
    }
}

#[test]
fn a_member_that_was_removed_stays_away_while_others_are_put_back() {
    let scene = Scene::new();
    let before = scene.world.config(TEAM);
    scene.run(&["register", "stays", "--team", TEAM]);
    let daemon = scene.start();
    for round in 0..20 {
        let name = format!("goes-{round}");
        scene.run(&["register", &name, "--team", TEAM]);
        // Rewrites while it is removed make the daemon put back whom it misses.
        let world = &scene.world;
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..4 {
                    swallow(world, &before, number);
                    thread::sleep(Duration::from_millis((17 * round as u64 + 7) % 60));
                }
            });
            run(world, &["remove", &name]);
        });
        swallow(&scene.world, &before, 1000 + round);
        // When this one is back, the daemon has seen the rewrite.
        wait_for_members(&scene, &["stays"]);
    }
    let members = scene.status()["members"].as_array().unwrap().clone();
    assert_eq!(members.len(), 1, "{members:?}");
    let roster = fs::read_to_string(scene.state().join("roster.json")).unwrap();
    assert!(!roster.contains("goes-"), "{roster}");
    // A last look when it ends would be one too many.
    swallow(&scene.world, &before, 0);
    assert!(daemon.stop().0.success());
    assert!(ours(&scene).unwrap().iter().all(|name| name == "stays"));
}

#[test]
fn eight_processes_edit_the_roster_while_the_daemon_runs() {
    const PROCESSES: usize = 8;
    const ROUNDS: usize = 5;
    let scene = Scene::new();
    let before = scene.world.config(TEAM);
    let worker = scene.worker("w");
    let _daemon = scene.start();
    thread::scope(|scope| {
        for process in 0..PROCESSES {
            let world = &scene.world;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let name = format!("w{process}-{round}");
                    run(world, &["register", &name, "--pane", "none"]);
                    if round > 0 {
                        run(world, &["remove", &name]);
                    }
                }
            });
        }
        scene.send("w", "in the middle");
        scene.arrive(&worker, &["in the middle"]);
    });
    let mut names = vec!["w".to_owned()];
    names.extend((0..PROCESSES).map(|process| format!("w{process}-0")));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    wait_for_members(&scene, &names);
    let known = || -> BTreeSet<String> {
        let members = scene.status()["members"].as_array().unwrap().clone();
        members.iter().map(|member| member["name"].as_str().unwrap().to_owned()).collect()
    };
    scene
        .wait("the daemon to know them", || known() == names.iter().map(|n| (*n).into()).collect());
    // And it goes on keeping them.
    swallow(&scene.world, &before, 1);
    wait_for_members(&scene, &names);
}

#[test]
fn a_roster_with_a_mistake_in_it_is_refused_and_the_old_one_kept() {
    let scene = Scene::new();
    let before = scene.world.config(TEAM);
    let worker = scene.worker("w");
    let _daemon = scene.start();
    let path = scene.state().join("roster.json");
    let good = fs::read_to_string(&path).unwrap();
    let problems = || scene.status()["problems"].to_string();
    for broken in ["", "{\"members\": [", &good.replace("tmux:", "screen:")] {
        put(&path, broken);
        scene.wait("the problem", || problems().contains("roster.json"));
        assert_eq!(scene.status()["members"][0]["name"], "w");
        assert_eq!(fs::read_to_string(&path).unwrap(), broken, "it is left as it is");
        put(&path, &good);
        scene.wait("no problem", || problems() == "[]");
    }
    // By hand, as people do.
    put(&path, &good.replace("\"w\"", "\"renamed\""));
    scene.wait("another name", || scene.status()["members"][0]["name"] == "renamed");
    put(&path, &good);
    scene.wait("the old one", || scene.status()["members"][0]["name"] == "w");
    swallow(&scene.world, &before, 1);
    scene.wait("its return", || ours(&scene).is_some_and(|ours| ours.contains(&"w".to_owned())));
    scene.send("w", "hello");
    scene.arrive(&worker, &["hello"]);
}

#[test]
fn mail_of_a_member_that_was_removed_waits_until_it_is_back() {
    let scene = Scene::new();
    let (worker, other) = (scene.worker("w"), scene.worker("other"));
    let _daemon = scene.start();
    scene.send("w", "one");
    scene.arrive(&worker, &["one"]);
    scene.block(&worker);
    scene.send("w", "two");
    scene.wait("a reason", || scene.state_of("w") == "waiting: copy mode");
    scene.run(&["remove", "w", "--team", TEAM]);
    scene.unblock(&worker);
    scene.send("other", "later");
    scene.arrive(&other, &["later"]);
    assert_eq!(worker.texts().len(), 1, "it is nobody's worker{}", scene.all());
    let log = || scene.run(&["log", "--member", "w"]);
    scene.wait("another reason", || log().contains("waiting: removed"));
    scene.register(&worker);
    scene.arrive(&worker, &["one", "two"]);
}
