//! How long it takes to append to an inbox, how long the inbox is locked for it, how `ringer send`
//! compares to a Node program that does the same, and `ringer tasks list` to jq. Run with `just bench`.
//!
//! Machines differ and are noisy: what counts is the ratio to the other program in the same run.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ringer_teams::{Draft, Mailbox};
use ringer_testkit::{Running, World, command, node_with, put};

const TEAM: &str = "bench";
const MEMBER: &str = "rust-impl";
const TASKS: usize = 1_000;

fn main() {
    println!("append to an inbox (in this process)      p50       p99    locked p50  locked p99");
    for entries in [10, 1_000, 10_000] {
        let (total, held) = appends(entries, if entries > 1_000 { 50 } else { 200 }, None);
        row(&format!("{entries} entries"), total, held);
    }
    let node = node_with("proper-lockfile", "4.1.2").expect("node and proper-lockfile");
    let (total, held) = appends(1_000, 200, Some(node));
    row("1000 entries, a Node writer beside it", total, held.clone());
    let worst = percentile(&sorted(held), 99);
    println!(
        "goal: locked p99 under 5 ms at 1000 entries: {worst:.2?}, {}",
        met(worst < Duration::from_millis(5))
    );

    let (ringer, node, bare) = whole_programs();
    println!();
    println!("one message, the whole program, 1000 entries in the inbox (median of 41)");
    println!("  ringer send         {ringer:>10.2?}");
    println!("  node append.cjs     {node:>10.2?}");
    println!("  ringer --version    {bare:>10.2?}   (starting a program at all)");
    let ratio = node.as_secs_f64() / ringer.as_secs_f64();
    println!("goal: under a tenth of the Node program's time: 1/{ratio:.1}, {}", met(ratio > 10.0));

    let (table, json, jq) = lists();
    println!();
    println!("a board of {TASKS} tasks, the whole program (median of 41)");
    println!("  ringer tasks list          {table:>10.2?}");
    println!("  ringer tasks list --json   {json:>10.2?}");
    println!("  jq -s . *.json             {jq:>10.2?}");
    let slower = table.max(json);
    let ratio = jq.as_secs_f64() / slower.as_secs_f64();
    println!(
        "goal: under 20 ms: {slower:.2?}, 1/{ratio:.1} of jq's time, {}",
        met(slower < Duration::from_millis(20))
    );
}

/// Appends `times` to an inbox of `entries`, and the times each took and held the lock.
fn appends(entries: usize, times: usize, rival: Option<Command>) -> (Vec<Duration>, Vec<Duration>) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let inbox = dir.path().join("rust-impl.json");
    fill(&inbox, entries);
    let rival = rival.map(|mut node| {
        let arguments = ["100000", "rival", "rename", &entries.to_string()];
        Running::start(node.arg(script()).arg(&inbox).args(arguments)).expect("node starts")
    });
    if rival.is_some() {
        thread::sleep(Duration::from_millis(300));
    }
    let mailbox = Mailbox::new(&inbox);
    let one = |_| {
        let draft = Draft::new("team-lead", &"words ".repeat(40), "2026-02-22T20:30:00.000Z");
        let draft = draft.expect("it is not empty");
        let started = Instant::now();
        let done = mailbox.append(&draft).expect("the inbox is ours");
        (started.elapsed(), done.held)
    };
    (0..times).map(one).unzip()
}

/// Medians of the whole programs, run in turn so that both see the same machine.
fn whole_programs() -> (Duration, Duration, Duration) {
    let world = World::new(env!("CARGO_BIN_EXE_ringer"));
    world.team(TEAM);
    std::fs::create_dir_all(world.team_dir(TEAM).join("inboxes")).expect("inboxes");
    let inbox = world.inbox(TEAM, MEMBER);
    let (mut ours, mut theirs, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..41 {
        fill(&inbox, 1_000);
        let send = ["send", "--force", "--team", TEAM, "--to", MEMBER, "words"];
        ours.push(run(world.ringer().args(send)));
        fill(&inbox, 1_000);
        let mut node = node_with("proper-lockfile", "4.1.2").expect("node and proper-lockfile");
        theirs.push(run(node.arg(script()).arg(&inbox).args(["1", "tag", "rename"])));
        bare.push(run(command(env!("CARGO_BIN_EXE_ringer")).arg("--version")));
    }
    let median = |times| percentile(&sorted(times), 50);
    (median(ours), median(theirs), median(bare))
}

/// Medians of listing a board, as a table and for programs, and of jq with the same files.
fn lists() -> (Duration, Duration, Duration) {
    let world = World::new(env!("CARGO_BIN_EXE_ringer"));
    world.team(TEAM);
    let board = world.claude().join("tasks").join(TEAM);
    std::fs::create_dir_all(&board).expect("a board");
    for id in 1..=TASKS {
        put(&board.join(format!("{id}.json")), &task(id));
    }
    let (mut table, mut json, mut jq) = (Vec::new(), Vec::new(), Vec::new());
    let list = ["tasks", "list", "--team", TEAM];
    for _ in 0..41 {
        table.push(run(world.ringer().args(list)));
        json.push(run(world.ringer().args(list).arg("--json")));
        let files = (1..=TASKS).map(|id| format!("{id}.json"));
        jq.push(run(command("jq").args(["-s", "."]).args(files).current_dir(&board)));
    }
    let median = |times| percentile(&sorted(times), 50);
    (median(table), median(json), median(jq))
}

/// A task as Claude Code writes it. Every fifth waits for the one before it.
fn task(id: usize) -> String {
    let waits = |id: usize| id.is_multiple_of(5);
    let others = |is_one: bool, other: usize| {
        if is_one { format!("[\n    \"{other}\"\n  ]") } else { "[]".to_owned() }
    };
    let status = ["pending", "in_progress", "completed"][id % 3];
    format!(
        "{{\n  \"id\": \"{id}\",\n  \"subject\": \"Mend the {id}th thing that is broken\",\n  \"description\": \"{}\",\n  \"activeForm\": \"Mending the {id}th thing\",\n  \"owner\": \"{MEMBER}\",\n  \"status\": \"{status}\",\n  \"blocks\": {},\n  \"blockedBy\": {},\n  \"metadata\": {{\n    \"priority\": 1\n  }}\n}}",
        "word ".repeat(40),
        others(waits(id + 1), id + 1),
        others(waits(id), id.saturating_sub(1)),
    )
}

fn run(command: &mut Command) -> Duration {
    let command = command.stdout(Stdio::null());
    let started = Instant::now();
    let status = command.status().expect("it starts");
    assert!(status.success(), "{command:?}");
    started.elapsed()
}

fn fill(inbox: &Path, entries: usize) {
    let entry = |n: usize| {
        format!(
            "  {{\n    \"from\": \"team-lead\",\n    \"text\": \"message {n} {}\",\n    \"summary\": \"a test\",\n    \"timestamp\": \"2026-02-22T20:30:00.000Z\",\n    \"msgV\": 1,\n    \"msg_id\": \"858f266b-5dab-49d4-975f-{n:012}\",\n    \"type\": \"message\",\n    \"read\": false\n  }}",
            "words ".repeat(20)
        )
    };
    put(inbox, &format!("[\n{}\n]", (0..entries).map(entry).collect::<Vec<_>>().join(",\n")));
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/node/append.cjs")
}

fn row(what: &str, total: Vec<Duration>, held: Vec<Duration>) {
    let (total, held) = (sorted(total), sorted(held));
    let at = |times: &[Duration], p| format!("{:.2?}", percentile(times, p));
    let cells = [at(&total, 50), at(&total, 99), at(&held, 50), at(&held, 99)];
    println!("  {what:<38} {:>9} {:>9} {:>11} {:>11}", cells[0], cells[1], cells[2], cells[3]);
}

fn sorted(mut times: Vec<Duration>) -> Vec<Duration> {
    times.sort();
    times
}

fn percentile(sorted: &[Duration], p: usize) -> Duration {
    sorted[(sorted.len() * p / 100).min(sorted.len() - 1)]
}

fn met(goal: bool) -> &'static str {
    if goal { "met" } else { "MISSED" }
}
