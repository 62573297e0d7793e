//! How long it takes from Claude Code's write to the text in the worker's pane, beside the least that
//! it can take, and what a daemon costs that has nothing to do. Run with `just bench`.
//!
//! The limit is a program that does nothing but that: it sleeps in inotify, and when the file is
//! there it hands a prepared text to tmux. It does not even read the file.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::expect_used, reason = "a benchmark fails by panicking")]

use std::fs;
use std::io::Write as _;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringer_testkit::{Running, Tmux, World, command, put, received, receiver_program, wait_for};
use rustix::fs::inotify;
use serde_json::{Value, json};

const TEAM: &str = "bench";
const PATIENCE: Duration = Duration::from_secs(20);
const IDLE: Duration = Duration::from_mins(2);
const TEXT: &str = "Switch to a BTreeMap, please, and run the tests.";

fn main() {
    let mut idle: Vec<Idle> = [10, 1_000].map(Idle::start).into_iter().collect();
    let mut limit = Course::limit("limit", Duration::ZERO).run(500);
    let mut debounced = Course::limit("debounced", Duration::from_millis(100)).run(100);
    // By now the threads that a start needs have ended, and their numbers with them.
    idle.iter_mut().for_each(Idle::begin);
    let begun = Instant::now();
    let mut ringer = Course::ringer().run(500);
    println!("from the rename of the inbox to the text in the program      p50       p99");
    let limits = row("inotify + tmux control mode, nothing else (500)", &mut limit);
    let ringers = row("ringer (500)", &mut ringer);
    row("the limit with a fixed debounce of 100 ms (100)", &mut debounced);
    let over = ringers.saturating_sub(limits);
    println!(
        "goal: p50 within 2 ms of the limit: {:.2} ms over it, {}",
        over.as_secs_f64() * 1e3,
        met(over < Duration::from_millis(2))
    );

    println!();
    println!("a daemon with nothing to do, over {} s", IDLE.as_secs());
    thread::sleep(IDLE.saturating_sub(begun.elapsed()));
    for one in idle {
        let (per_minute, rss) = one.end();
        println!(
            "  {:>5} teams: {per_minute:>6.1} context switches a minute, {:.1} MB of memory",
            one.teams,
            f64::from(rss) / 1024.0
        );
        println!(
            "goal: under 1 wake-up a second, {}; under 20 MB, {}",
            met(per_minute < 60.0),
            met(rss < 20 * 1024)
        );
    }
}

fn row(name: &str, times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("  {name:<52} {:>6.2} ms {:>6.2} ms", ms(at(50)), ms(at(99)));
    at(50)
}

fn met(good: bool) -> &'static str {
    if good { "met" } else { "NOT MET" }
}

/// A worker, and something that brings it its mail.
struct Course {
    inbox: PathBuf,
    file: PathBuf,
    // What runs ends in this order.
    _carrier: Running,
    _tmux: Tmux,
    _world: World,
}

impl Course {
    fn new(carry: impl FnOnce(&World, &Tmux, &str, &Path) -> Running) -> Self {
        let world = World::new(env!("CARGO_BIN_EXE_ringer"));
        world.team(TEAM);
        let tmux = Tmux::start(world.path()).expect("tmux");
        let file = world.path().join("received");
        let receiver = receiver_program();
        let worker =
            [receiver.to_str().expect("a plain path"), file.to_str().expect("a plain path")];
        let pane = tmux.worker(&worker).expect("a worker");
        let prompt = || tmux.screen(&pane).ok()?.contains('>').then_some(());
        wait_for("the worker's prompt", PATIENCE, prompt).expect("a prompt");
        let inbox = world.inbox(TEAM, "worker");
        fs::create_dir_all(inbox.parent().expect("inboxes")).expect("inboxes");
        let carrier = carry(&world, &tmux, &pane, &inbox);
        Self { inbox, file, _carrier: carrier, _tmux: tmux, _world: world }
    }

    /// The daemon, as users have it, but for the pause before Enter.
    fn ringer() -> Self {
        Self::new(|world, tmux, pane, _| {
            let config = world.path().join(".config/ringer");
            fs::create_dir_all(&config).expect("a directory");
            put(&config.join("config.toml"), "[delivery]\nsettle_ms = 0\n");
            let address = format!("tmux:{}:{pane}", tmux.socket());
            let mut register = world.ringer();
            register.args(["register", "worker", "--team", TEAM, "--pane", &address]);
            assert!(register.output().expect("ringer runs").status.success());
            daemon(world)
        })
    }

    /// Nothing but what has to be.
    fn limit(name: &str, debounce: Duration) -> Self {
        Self::new(|_, tmux, pane, inbox| {
            let mut control = command("tmux");
            control.args(["-S", tmux.socket(), "-C", "attach", "-t", "main"]);
            control.args(["-f", "ignore-size,no-output"]).env_remove("TMUX");
            control.stdin(Stdio::piped()).stdout(Stdio::null());
            let mut control = Running::start_as_it_is(&mut control).expect("tmux");
            let mut tell = control.stdin().expect("its input");
            let dir = inbox.parent().expect("inboxes");
            let events = inotify::init(inotify::CreateFlags::CLOEXEC).expect("inotify");
            inotify::add_watch(&events, dir, inotify::WatchFlags::MOVED_TO).expect("a watch");
            let orders = format!(
                "set-buffer -b {name} -- \"[message from team-lead] {TEXT}\"\n\
                 paste-buffer -p -r -d -b {name} -t {pane}\nsend-keys -t {pane} Enter\n"
            );
            thread::spawn(move || {
                let mut space = [MaybeUninit::uninit(); 4096];
                let mut events = inotify::Reader::new(events, &mut space);
                while events.next().is_ok() {
                    thread::sleep(debounce);
                    if tell.write_all(orders.as_bytes()).is_err() {
                        return;
                    }
                }
            });
            control
        })
    }

    /// Sends so many messages, one after another, and how long each took.
    fn run(&mut self, count: usize) -> Vec<Duration> {
        // The first ones find nothing open and nothing warm.
        for number in 0..5 {
            self.send(number);
        }
        (5..count + 5).map(|number| self.send(number)).collect()
    }

    fn send(&mut self, number: usize) -> Duration {
        let entry = json!({
            "from": "team-lead", "text": format!("{TEXT} {number}"), "summary": "Change map",
            "timestamp": "2026-02-22T20:30:00.000Z", "msgV": 1, "msg_id": format!("id-{number}"),
            "type": "message", "read": false,
        });
        // As Claude Code does it: its lock, all that was there and one more, a rename.
        let lock = self.inbox.with_extension("json.lock");
        wait_for("the lock", PATIENCE, || fs::create_dir(&lock).ok()).expect("the lock");
        let text = fs::read_to_string(&self.inbox).unwrap_or_else(|_| "[]".to_owned());
        let mut entries: Vec<Value> = serde_json::from_str(&text).expect("an inbox");
        entries.push(entry);
        let temp = self.inbox.with_extension("tmp");
        put(&temp, &format!("{:#}", json!(entries)));
        let start = SystemTime::now();
        rustix::fs::rename(&temp, &self.inbox).expect("a rename");
        fs::remove_dir(&lock).expect("the lock");
        let arrived = || received(&self.file).get(number).map(|got| got.at_ns);
        let at = wait_for("the message", PATIENCE, arrived).expect("it arrives");
        let start = start.duration_since(UNIX_EPOCH).expect("it is later than 1970");
        // What follows a delivery is not to be measured with the next one.
        thread::sleep(Duration::from_millis(10));
        Duration::from_nanos(at).saturating_sub(start)
    }
}

fn daemon(world: &World) -> Running {
    let daemon = Running::start_as_it_is(world.ringer().arg("daemon").stderr(Stdio::null()));
    let daemon = daemon.expect("the daemon starts");
    let ready = || {
        let status = world.ringer().args(["status", "--json"]).output().ok()?;
        let status: Value = serde_json::from_slice(&status.stdout).ok()?;
        (status["ready"] == true).then_some(())
    };
    wait_for("the daemon", Duration::from_mins(1), ready).expect("the daemon is ready");
    daemon
}

/// A daemon that watches teams in which nothing happens.
struct Idle {
    teams: usize,
    daemon: Running,
    started: Instant,
    switches: u32,
    _world: World,
}

impl Idle {
    fn start(teams: usize) -> Self {
        let world = World::new(env!("CARGO_BIN_EXE_ringer"));
        for number in 0..teams {
            let name = format!("team-{number}");
            world.team(&name);
            fs::create_dir_all(world.team_dir(&name).join("inboxes")).expect("inboxes");
        }
        // One member on each of the first ten; the others are somebody else's.
        for number in 0..10 {
            let mut register = world.ringer();
            register.args(["register", "worker", "--team", &format!("team-{number}")]);
            assert!(register.output().expect("ringer runs").status.success());
        }
        let daemon = daemon(&world);
        Self { teams, switches: 0, daemon, started: Instant::now(), _world: world }
    }

    /// From here on it is counted.
    fn begin(&mut self) {
        self.started = Instant::now();
        self.switches = switches(self.daemon.id());
    }

    /// Context switches a minute, and kibibytes of memory.
    fn end(&self) -> (f64, u32) {
        let minutes = self.started.elapsed().as_secs_f64() / 60.0;
        let switches = switches(self.daemon.id()).saturating_sub(self.switches);
        let status = fs::read_to_string(format!("/proc/{}/status", self.daemon.id()));
        (f64::from(switches) / minutes, number(&status.expect("it runs"), "VmRSS:"))
    }
}

/// How often any thread of a process was put to sleep or off the processor.
fn switches(pid: u32) -> u32 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let status =
        tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
    status
        .map(|text| {
            number(&text, "voluntary_ctxt_switches:") + number(&text, "nonvoluntary_ctxt_switches:")
        })
        .sum()
}

fn number(text: &str, name: &str) -> u32 {
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
