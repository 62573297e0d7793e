//! Writers are killed at any moment: the file stays whole, and nothing acknowledged is lost.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ringer_teams::{DirLock, Inbox, Mailbox};
use ringer_testkit::{Running, World, command, node_with, put, wait_for};

const TEAM: &str = "exo-root";
const MEMBER: &str = "rust-impl";
const KILLS: usize = 200;

fn world() -> World {
    let world = World::new(env!("CARGO_BIN_EXE_ringer"));
    world.team(TEAM);
    let register = ["register", MEMBER, "--team", TEAM];
    assert!(world.ringer().args(register).output().unwrap().status.success());
    std::fs::create_dir_all(world.team_dir(TEAM).join("inboxes")).unwrap();
    world
}

fn send(world: &World, text: &str) -> Command {
    let mut send = world.ringer();
    send.args(["send", "--team", TEAM, "--to", MEMBER, text]).stdout(Stdio::null());
    send
}

/// A large inbox makes every step long enough to be hit.
fn fill(path: &Path) {
    let entry =
        |n| format!("{{\"from\": \"x\", \"text\": \"old-{n}\", \"pad\": \"{}\"}}", "p".repeat(300));
    let entries: Vec<_> = (0..3000).map(entry).collect();
    put(path, &format!("[\n  {}\n]", entries.join(",\n  ")));
}

#[test]
fn two_hundred_kills_lose_nothing_that_was_acknowledged() {
    let world = world();
    let inbox = world.inbox(TEAM, MEMBER);
    fill(&inbox);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/node/append.cjs");
    let acknowledged: Mutex<HashSet<String>> =
        Mutex::new((0..3000).map(|n| format!("old-{n}")).collect());
    let acknowledge = |text: String| acknowledged.lock().unwrap().insert(text);
    let over = AtomicBool::new(false);
    let left_locked = AtomicUsize::new(0);
    thread::scope(|scope| {
        // One that is never killed, of each kind.
        scope.spawn(|| {
            for n in 0.. {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let text = format!("steady-{n}");
                assert!(send(&world, &text).status().unwrap().success(), "locked out");
                acknowledge(text);
            }
        });
        scope.spawn(|| {
            for n in 0.. {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let mut node = node_with("proper-lockfile", "4.1.2").unwrap();
                let tag = format!("node{n}");
                let node = node.arg(&script).arg(&inbox).args(["5", &tag, "rename"]);
                let output = node.output().unwrap();
                let answer = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(answer.contains("\"failed\":0"), "{answer}");
                for i in 0..5 {
                    acknowledge(format!("{tag}-{i}"));
                }
            }
        });
        // Somewhere between its start and a little after the time that a send takes here and now.
        let started = Instant::now();
        assert!(send(&world, "first").status().unwrap().success());
        let typical = u64::try_from(started.elapsed().as_micros()).unwrap();
        let mut random = Random(0x9e37_79b9);
        for n in 0..KILLS {
            let text = format!("victim-{n}");
            let victim = Running::start(&mut send(&world, &text)).unwrap();
            thread::sleep(Duration::from_micros(random.below(typical * 3 / 2)));
            if victim.kill().unwrap() {
                acknowledge(text);
            }
            let lock = inbox.with_extension("json.lock");
            if lock.exists() {
                left_locked.fetch_add(1, Ordering::SeqCst);
            }
            // No writer here writes in place, so there is no moment in which it is not whole.
            Inbox::parse(&std::fs::read_to_string(&inbox).unwrap()).unwrap();
        }
        over.store(true, Ordering::SeqCst);
    });
    let started = Instant::now();
    assert!(send(&world, "last").status().unwrap().success());
    assert!(started.elapsed() < Duration::from_secs(5), "the lock was not free");

    let inbox = Mailbox::new(inbox).read().unwrap();
    let texts: Vec<&str> = inbox.entries().map(|entry| entry.text.as_str()).collect();
    let distinct: HashSet<&str> = texts.iter().copied().collect();
    assert_eq!(texts.len(), distinct.len(), "something is there twice");
    let acknowledged = acknowledged.into_inner().unwrap();
    let lost: Vec<_> = acknowledged.iter().filter(|t| !distinct.contains(t.as_str())).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    let victims = distinct.iter().filter(|t| t.starts_with("victim")).count();
    assert!(victims > 0 && victims < KILLS, "the kills came all too late or too early: {victims}");
    println!(
        "{KILLS} kills, {victims} of them after the message was in, {} with a lock in sight",
        left_locked.load(Ordering::SeqCst)
    );
}

/// What a Ringer does to hold a lock, done by a shell that lives until it is killed.
const HOLD: &str = r#"mkdir -m 1700 "$1" && exec 9<"$1" && flock 9 && touch "$2" && exec sleep 60"#;

#[test]
fn the_lock_of_a_process_that_was_killed_is_had_at_once() {
    let world = world();
    let inbox = world.inbox(TEAM, MEMBER);
    let lock = inbox.with_extension("json.lock");
    for n in 0..10 {
        let held = world.path().join(format!("held-{n}"));
        let mut holder = command("bash");
        let holder = holder.args(["-c", HOLD, "hold"]).args([&lock, &held]);
        let holder = Running::start(holder).unwrap();
        wait_for("the lock", Duration::from_secs(10), || held.exists().then_some(())).unwrap();
        assert!(DirLock::of(&inbox, Duration::from_millis(50)).is_err(), "it is held");
        holder.kill().unwrap();
        assert!(lock.exists(), "nobody could clean up");
        DirLock::of(&inbox, Duration::from_millis(50)).expect("its holder is gone");
    }
}

/// The same sequence in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
