//! Everybody at one board at once, real processes all: workers claim, note, release and complete tasks at random, half
//! through the command line and half through tools, leads link and make some, and programs that lock like Claude Code
//! change the same files. No task is ever owned by two, nothing is lost, and both sides of every dependency agree.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "what came of it is worth knowing")]

mod hands;
mod inspection;
mod watch;
mod worker;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ringer_testkit::{Running, World, node_with, put};
use serde_json::{Value, json};

use self::hands::{Cli, Hands, Mcp};
use self::inspection::Inspection;
use self::worker::{Book, Dice, Worker};

const TEAM: &str = "exo-root";
const TASKS: u64 = 200;
/// The first so many are linked in any direction, by Ringers alone, who have to see to it that no circle comes of it.
const KNOT: u64 = 30;
const WORKERS: u64 = 16;
const NODES: usize = 4;
const TIME: Duration = Duration::from_secs(30);

fn tasks_dir(world: &World) -> PathBuf {
    world.claude().join("tasks").join(TEAM)
}

fn task_path(world: &World, id: &str) -> PathBuf {
    tasks_dir(world).join(format!("{id}.json"))
}

/// A task as it is now; one that is just being written in place is read again.
fn read_task(world: &World, id: &str) -> Value {
    let whole = || {
        let text = fs::read_to_string(task_path(world, id)).ok()?;
        serde_json::from_str(&text).ok()
    };
    ringer_testkit::wait_for("a task to be whole", Duration::from_secs(2), whole).unwrap()
}

/// A team with its workers, and 200 tasks of which some wait for others.
fn world() -> World {
    let world = World::new(env!("CARGO_BIN_EXE_ringer"));
    world.team(TEAM);
    for number in 0..WORKERS {
        let register = ["register", &name(number), "--team", TEAM];
        assert!(world.ringer().args(register).output().unwrap().status.success());
    }
    fs::create_dir_all(tasks_dir(&world)).unwrap();
    let waits = |id: u64| id > KNOT + 7 && id <= TASKS && id.is_multiple_of(5);
    for id in 1..=TASKS {
        let blocks = if waits(id + 7) { vec![(id + 7).to_string()] } else { Vec::new() };
        let blocked_by = if waits(id) { vec![(id - 7).to_string()] } else { Vec::new() };
        let task = json!({
            "id": id.to_string(), "subject": format!("task {id}"), "description": "words ".repeat(30),
            "status": "pending", "blocks": blocks, "blockedBy": blocked_by,
        });
        put(&task_path(&world, &id.to_string()), &format!("{task:#}"));
    }
    world
}

fn name(number: u64) -> String {
    format!("w{number}")
}

fn worker(world: &World, number: u64) -> Worker<'_> {
    let name = name(number);
    let hands: Box<dyn Hands> = if number.is_multiple_of(2) {
        Box::new(Cli { world, name: name.clone() })
    } else {
        Box::new(Mcp::start(world, &name))
    };
    Worker {
        world,
        name,
        hands,
        dice: Dice::new(number),
        book: Book::default(),
        started: Instant::now(),
    }
}

fn node(world: &World, number: usize) -> Running {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/node/tasks.cjs");
    let mut node = node_with("proper-lockfile", "4.1.2").unwrap();
    node.arg(script).arg(tasks_dir(world)).args([format!("n{number}"), (KNOT + 1).to_string()]);
    Running::start(&mut node).unwrap()
}

/// What it says of itself, after its end.
fn finished(node: Running) -> Value {
    let output = node.finish().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(answer["failed"], 0, "a lock was held too long: {answer}");
    answer
}

/// Says that it is over, also if a check fails: else the watcher would go on for ever.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn sixteen_workers_and_claude_code_share_two_hundred_tasks() {
    let world = world();
    let (dir, over) = (tasks_dir(&world), AtomicBool::new(false));
    let nodes: Vec<Running> = (0..NODES).map(|number| node(&world, number)).collect();
    let (books, looks) = thread::scope(|scope| {
        let at_end = SetOnDrop(&over);
        let watcher = scope.spawn(|| watch::watch(&dir, &over));
        let workers: Vec<Worker<'_>> = (0..WORKERS).map(|number| worker(&world, number)).collect();
        let at_work: Vec<_> =
            workers.into_iter().map(|worker| scope.spawn(move || worker.work(TIME))).collect();
        let books: Vec<Book> = at_work.into_iter().map(|one| one.join().unwrap()).collect();
        drop(at_end);
        (books, watcher.join().unwrap())
    });
    let nodes: Vec<Value> = nodes.into_iter().map(finished).collect();
    print_figures(&books, &nodes, looks);
    Inspection::new(&world, &books, &nodes).check();

    let won: usize = books.iter().map(|book| book.holds.len()).sum();
    assert!(won > 100 && books.iter().all(|book| !book.holds.is_empty()), "too little happened");
}

fn print_figures(books: &[Book], nodes: &[Value], looks: usize) {
    let mut answers: BTreeMap<&str, usize> = BTreeMap::new();
    for (what, count) in books.iter().flat_map(|book| &book.answers) {
        *answers.entry(what).or_default() += count;
    }
    for (what, count) in answers {
        println!("{count:>6} {what}");
    }
    for (way, first) in [("command line", 0), ("tools", 1)] {
        let books = books.iter().skip(first).step_by(2);
        let mut times: Vec<Duration> = books.flat_map(|book| &book.times).copied().collect();
        times.sort();
        let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
        println!(
            "{:>6} calls by {way}: median {:.0?}, 99 % under {:.0?}, longest {:.0?}",
            times.len(),
            at(50),
            at(99),
            at(100)
        );
    }
    for node in nodes {
        let updates = node["updates"].as_object().unwrap().values();
        let updates: u64 = updates.filter_map(Value::as_u64).sum();
        println!(
            "{updates:>6} updates by node {}, and {} links, {} tasks made; longest {} ms",
            node["tag"],
            node["links"].as_array().unwrap().len(),
            node["created"].as_array().unwrap().len(),
            node["longest"]
        );
    }
    println!("{looks:>6} looks at all of the board");
}
