//! The daemon is killed at any moment, and started again: nothing is lost, and what may have arrived
//! twice says so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringer_testkit::{Daemon, Lead, Tmux, Worker, World, Writing, command, wait_for};
use serde_json::{Value, json};

const TEAM: &str = "exo-root";
const PATIENCE: Duration = Duration::from_mins(2);
const SECOND_COPY: &str = "[second copy: the first one may have arrived] ";
const KILLS: usize = 50;
const EACH: usize = 60;

fn world() -> (World, Tmux) {
    let world = World::new(env!("CARGO_BIN_EXE_ringer"));
    world.team(TEAM);
    let tmux = Tmux::start(world.path()).unwrap();
    (world, tmux)
}

fn send(world: &World, name: &str, text: &str) {
    let message = json!({"text": text, "summary": "s"});
    Lead::new(Writing::Rename).to(&world.inbox(TEAM, name), &[message]).send(world).unwrap();
}

fn seen(text: &str) -> String {
    format!("[message from team-lead · s]\n{text}")
}

fn delivered(journal: &[Value]) -> usize {
    journal.iter().filter(|message| message["state"] == "delivered").count()
}

/// What came of the messages to one member.
#[derive(Debug, Default)]
struct Arrivals {
    /// In the order in which each came first.
    first: Vec<usize>,
    /// Copies of what had come already.
    again: usize,
    /// Those that are marked as second copies and came first.
    only_marked: usize,
}

impl Arrivals {
    /// Every record has to be one of the `sent`, whole, and every copy has to say that it is one.
    fn of(worker: &Worker, sent: &[String]) -> Self {
        let numbers: HashMap<&str, usize> =
            sent.iter().enumerate().map(|(number, text)| (text.as_str(), number)).collect();
        let mut arrivals = Self::default();
        for record in worker.received() {
            let what = format!("{}: {record:?}", worker.name);
            assert!(record.pasted, "not as a paste, {what}");
            let copy = record.text.strip_prefix(SECOND_COPY);
            let number = *numbers
                .get(copy.unwrap_or(&record.text))
                .unwrap_or_else(|| panic!("nobody sent that, {what}"));
            if arrivals.first.contains(&number) {
                assert!(copy.is_some(), "a copy that does not say so, {what}");
                arrivals.again += 1;
            } else {
                arrivals.first.push(number);
                arrivals.only_marked += usize::from(copy.is_some());
            }
        }
        arrivals
    }
}

/// The processes that are connected to a server in control mode.
fn clients(tmux: &Tmux) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    // A zombie has no command line.
    let command = |path: PathBuf| fs::read_to_string(path.join("cmdline")).unwrap_or_default();
    let all = processes.map(|entry| command(entry.path()));
    all.filter(|line| line.contains(tmux.socket()) && line.contains("\0-C\0")).collect()
}

/// Messages of several kinds, no two alike.
fn texts(name: &str) -> Vec<String> {
    let text = |number: usize| match number % 5 {
        0 => format!("{name}: number {number}"),
        1 => format!("{name}: number {number}\n\nwith $(three) lines"),
        2 => format!("/quit {name} {number} 🎉"),
        3 => format!("{name} has many lines {number}\n").repeat(30),
        _ => format!("{{\"to\": \"{name}\", \"number\": {number}}}"),
    };
    (0..EACH).map(text).collect()
}

#[test]
fn fifty_kills_lose_nothing_and_every_second_copy_says_so() {
    let mut random = Random::seeded();
    println!("RINGER_SEED={}", random.0);
    let (world, tmux) = world();
    let mut daemon = Daemon::of(&world);
    let workers: Vec<Worker> =
        (0..6).map(|n| daemon.worker(&tmux, TEAM, &format!("w{n}"), &[]).unwrap()).collect();
    // About as long as all the kills take. A daemon that was killed may have had an inbox locked, and
    // the next ones may be killed before they see to that.
    let lead = |how| Lead::new(how).insisting().pausing(5, Duration::from_millis(700));
    let (mut old, mut new) = (lead(Writing::InPlace), lead(Writing::Rename));
    for pair in workers.chunks(2) {
        let mail = |worker: &Worker| -> Vec<Value> {
            let message = |text| json!({"text": text, "summary": "s"});
            texts(&worker.name).iter().map(message).collect()
        };
        old = old.to(&world.inbox(TEAM, &pair[0].name), &mail(&pair[0]));
        new = new.to(&world.inbox(TEAM, &pair[1].name), &mail(&pair[1]));
    }
    let leads = [old.start(&world).unwrap(), new.start(&world).unwrap()];
    let mut at_work = 0;
    for _ in 0..KILLS {
        // Now and then long enough to be hit, with Enter still to come.
        let settle = [0, 5, 40][usize::try_from(random.below(3)).unwrap()];
        daemon.configure(&format!("[delivery]\nsettle_ms = {settle}\n"));
        daemon.spawn().unwrap();
        thread::sleep(Duration::from_micros(random.below(300_000)));
        daemon.kill().unwrap();
        let journal = daemon.journal().unwrap();
        at_work += journal.iter().filter(|message| message["state"] == "delivering").count();
    }
    let refused: u64 = leads.into_iter().map(|lead| Lead::finish(lead).unwrap()).sum();
    let total = workers.len() * EACH;
    let before = delivered(&daemon.journal().unwrap());
    daemon.start().unwrap();
    let done = || Some(daemon.journal().ok()?).filter(|journal| delivered(journal) == total);
    let journal = wait_for("all messages", PATIENCE, done).unwrap();
    assert_eq!(journal.len(), total);
    for worker in &workers {
        let tidy = || {
            let text = fs::read_to_string(world.inbox(TEAM, &worker.name)).ok()?;
            let entries: Vec<Value> = serde_json::from_str(&text).ok()?;
            (entries.len() == 50 && entries.iter().all(|entry| entry["read"] == true)).then_some(())
        };
        wait_for("a tidy inbox", PATIENCE, tidy).unwrap();
    }
    assert!(daemon.terminate().unwrap().success());
    // A client that stays keeps its server from ending, too.
    let left = || clients(&tmux).is_empty().then_some(());
    wait_for("the clients of killed daemons to go", Duration::from_secs(5), left).unwrap();

    let (mut again, mut only_marked) = (0, 0);
    for worker in &workers {
        let sent: Vec<String> =
            texts(&worker.name).iter().map(|text| seen(text.trim_end_matches('\n'))).collect();
        let arrivals = Arrivals::of(worker, &sent);
        assert_eq!(arrivals.first, (0..EACH).collect::<Vec<_>>(), "{}", worker.name);
        assert!(arrivals.again <= KILLS, "{}: {arrivals:?}", worker.name);
        again += arrivals.again;
        only_marked += arrivals.only_marked;
    }
    // Else the kills did not hit what they are about.
    assert!(at_work > 0 && before > 0, "{at_work} in flight, {before} delivered between kills");
    println!(
        "{KILLS} kills, {at_work} messages in flight: {again} came twice, {only_marked} came once \
         and are marked; {before} of {total} were delivered between kills; {refused} times \
         Claude Code found an inbox locked for too long"
    );
}

#[test]
fn a_text_that_was_typed_before_the_kill_is_submitted_once_and_not_typed_again() {
    let (world, tmux) = world();
    let mut daemon = Daemon::of(&world);
    daemon.configure("[delivery]\nsettle_ms = 1000\n");
    let worker = daemon.worker(&tmux, TEAM, "w", &[]).unwrap();
    daemon.start().unwrap();
    for round in 0..3 {
        let text = format!("round {round}\nof three");
        send(&world, "w", &text);
        let typed =
            || tmux.screen(&worker.pane).ok()?.contains(&format!("round {round}")).then_some(());
        wait_for("the text", PATIENCE, typed).unwrap();
        daemon.kill().unwrap();
        assert_eq!(worker.texts().len(), round, "Enter came before the kill");
        assert_eq!(daemon.journal().unwrap()[round]["state"], "delivering");
        daemon.start().unwrap();
        assert_eq!(worker.wait_for(round + 1, PATIENCE).unwrap()[round], seen(&text));
    }
    // What comes next is the next that comes.
    send(&world, "w", "the last");
    worker.wait_for(4, PATIENCE).unwrap();
    let done = || Some(daemon.journal().ok()?).filter(|journal| delivered(journal) == 4);
    let journal = wait_for("the journal", PATIENCE, done).unwrap();
    assert!(journal.iter().all(|message| message["copies"] == 1), "{journal:?}");
    let all = ["round 0\nof three", "round 1\nof three", "round 2\nof three", "the last"];
    assert_eq!(worker.texts(), all.map(seen));
}

#[test]
fn what_waits_when_the_daemon_is_killed_still_waits_and_arrives_once() {
    let (world, tmux) = world();
    let mut daemon = Daemon::of(&world);
    daemon.configure("[delivery]\nretry_max_ms = 500\n");
    let worker = daemon.worker(&tmux, TEAM, "w", &[]).unwrap();
    // Not while the daemon connects: a change of mode then crashes tmux 3.3a (tmux/tmux#4980).
    tmux.run(&["copy-mode", "-t", &worker.pane]).unwrap();
    daemon.start().unwrap();
    for text in ["one", "two"] {
        send(&world, "w", text);
    }
    for _ in 0..3 {
        daemon.wait_for_state("w", "waiting", Some("copy mode")).unwrap();
        assert_eq!(daemon.member("w").unwrap()["queued"], 2);
        daemon.kill().unwrap();
        daemon.start().unwrap();
    }
    assert!(worker.texts().is_empty());
    tmux.run(&["send-keys", "-t", &worker.pane, "-X", "cancel"]).unwrap();
    worker.wait_for(2, PATIENCE).unwrap();
    daemon.wait_for_state("w", "ready", None).unwrap();
    assert!(daemon.terminate().unwrap().success());
    assert_eq!(worker.texts(), ["one", "two"].map(seen));
    let journal = daemon.journal().unwrap();
    assert!(journal.iter().all(|m| m["state"] == "delivered" && m["copies"] == 1), "{journal:?}");
}

#[test]
fn a_lock_that_a_killed_daemon_left_is_free_when_the_next_one_is_ready() {
    let (world, tmux) = world();
    let mut daemon = Daemon::of(&world);
    let worker = daemon.worker(&tmux, TEAM, "w", &[]).unwrap();
    daemon.start().unwrap();
    send(&world, "w", "one");
    worker.wait_for(1, PATIENCE).unwrap();
    daemon.wait_for_state("w", "ready", None).unwrap();
    daemon.kill().unwrap();
    let lock = world.inbox(TEAM, "w").with_extension("json.lock");
    // What is left of one that is killed while it has the inbox locked.
    let mut mkdir = command("mkdir");
    assert!(mkdir.args(["-p", "-m", "1700"]).arg(&lock).status().unwrap().success());
    daemon.start().unwrap();
    // Claude Code gives up after 0.7 s, and its message is not sent. The lock is stale after 10 s.
    let free = || (!lock.exists()).then_some(());
    wait_for("the lock to be free", Duration::from_millis(500), free).unwrap();
    send(&world, "w", "two");
    assert_eq!(worker.wait_for(2, PATIENCE).unwrap(), ["one", "two"].map(seen));
}

/// Moments that can be had again: `RINGER_SEED` is what a run printed.
struct Random(u64);

impl Random {
    fn seeded() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let given = env::var("RINGER_SEED").ok().map(|seed| seed.parse().unwrap());
        let seed = given.unwrap_or_else(|| u64::try_from(now).unwrap());
        Self(seed | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
