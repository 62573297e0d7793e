//! How long it takes from Claude Code's write to the text in the worker's pane, beside the least that
//! it can take, and what a daemon costs that has nothing to do. Run with `just bench`.
//!
//! The limit is a program that does nothing but that: it sleeps in inotify, and when the file is
//! there it hands a prepared text to tmux. It does not even read the file.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::expect_used, reason = "a benchmark fails by panicking")]

mod idle;

use std::fs;
use std::io::{Read as _, Write as _};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringer_testkit::{
    Running, Tmux, World, Zellij, command, put, received, receiver_program, wait_for,
    zellij_program,
};
use rustix::fs::inotify;
use serde_json::{Value, json};

use self::idle::Idle;

const TEAM: &str = "bench";
const PATIENCE: Duration = Duration::from_secs(20);
const IDLE: Duration = Duration::from_mins(1);
const TEXT: &str = "Switch to a BTreeMap, please, and run the tests.";

/// All of it, or what the arguments name: `tmux`, `host`, `zellij`, `idle`.
fn main() {
    let named: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let wanted = |part: &str| named.is_empty() || named.iter().any(|name| name == part);
    let teams: &[usize] = if wanted("idle") { &[10, 1_000] } else { &[] };
    let mut idle: Vec<Idle> = teams.iter().map(|teams| Idle::start(*teams)).collect();
    if wanted("tmux") {
        in_tmux();
    }
    // By now the threads that a start needs have ended, and their numbers with them.
    idle.iter_mut().for_each(Idle::begin);
    let begun = Instant::now();
    if wanted("host") {
        hosted();
    }
    if wanted("zellij") {
        in_zellij();
    }
    if !idle.is_empty() {
        println!("a daemon with nothing to do, over {} s", IDLE.as_secs());
        thread::sleep(IDLE.saturating_sub(begun.elapsed()));
    }
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

fn in_tmux() {
    let mut limit = Course::limit("limit", Duration::ZERO).run(500);
    let mut debounced = Course::limit("debounced", Duration::from_millis(100)).run(100);
    let mut ringer = Course::ringer().run(500);
    println!("from the rename of the inbox to the text in the program      p50       p99");
    let limits = row("inotify + tmux control mode, nothing else (500)", &mut limit);
    let ringers = row("ringer (500)", &mut ringer);
    row("the limit with a fixed debounce of 100 ms (100)", &mut debounced);
    let over = ringers.saturating_sub(limits);
    println!(
        "goal: p50 within 2 ms of the limit: {:.2} ms over it, {}\n",
        over.as_secs_f64() * 1e3,
        met(over < Duration::from_millis(2))
    );
}

fn hosted() {
    let mut floor = Course::floor().run(500);
    let mut host = Course::host().run(500);
    println!("the same, to a worker under `ringer run`                     p50       p99");
    let floors = row("inotify, a read, a write to a PTY, nothing else (500)", &mut floor);
    let hosts = row("ringer (500)", &mut host);
    let times = hosts.as_secs_f64() / floors.as_secs_f64();
    println!("goal: p50 at most twice that: {times:.1} times, {}\n", met(times <= 2.0));
}

fn in_zellij() {
    let (mut course, mut bare) = Course::zellij();
    let mut ringer = course.run(100);
    println!("the same, to a worker in Zellij                              p50       p99");
    row("one `zellij action paste`, nothing else (50)", &mut bare);
    row("ringer (100)", &mut ringer);
    println!();
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
    _carrier: Carrier,
    _tmux: Option<Tmux>,
    _zellij: Option<Zellij>,
    world: World,
}

/// Whatever brings the mail.
enum Carrier {
    Program(#[expect(dead_code, reason = "it ends with this")] Running),
    /// A worker under a PTY that a thread of ours writes to.
    Floor(Box<dyn portable_pty::Child + Send + Sync>),
}

impl Drop for Carrier {
    fn drop(&mut self) {
        if let Self::Floor(worker) = self {
            worker.kill().ok();
        }
    }
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
        let carrier = Carrier::Program(carrier);
        Self { inbox, file, _carrier: carrier, _tmux: Some(tmux), _zellij: None, world }
    }

    /// The least that it can take to a worker under a PTY.
    fn floor() -> Self {
        let world = World::new(env!("CARGO_BIN_EXE_ringer"));
        let file = world.path().join("received");
        let inbox = world.inbox(TEAM, "worker");
        let dir = inbox.parent().expect("inboxes").to_owned();
        fs::create_dir_all(&dir).expect("inboxes");
        let pair = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default());
        let pair = pair.expect("a PTY");
        let mut receiver = portable_pty::CommandBuilder::new(receiver_program());
        receiver.arg(&file);
        let worker = pair.slave.spawn_command(receiver).expect("a worker");
        let mut output = pair.master.try_clone_reader().expect("its output");
        let mut input = pair.master.take_writer().expect("its input");
        let mut prompt = [0; 64];
        let seen = output.read(&mut prompt).expect("a prompt");
        assert!(seen > 0);
        thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        let events = inotify::init(inotify::CreateFlags::CLOEXEC).expect("inotify");
        inotify::add_watch(&events, &dir, inotify::WatchFlags::MOVED_TO).expect("a watch");
        let path = inbox.clone();
        thread::spawn(move || {
            let mut space = [MaybeUninit::uninit(); 4096];
            let mut events = inotify::Reader::new(events, &mut space);
            let _master = pair.master;
            while events.next().is_ok() {
                fs::read(&path).ok();
                let text = format!("\x1b[200~[message from team-lead] {TEXT}\x1b[201~\r");
                if input.write_all(text.as_bytes()).is_err() {
                    return;
                }
            }
        });
        Self { inbox, file, _carrier: Carrier::Floor(worker), _tmux: None, _zellij: None, world }
    }

    /// A worker in Zellij; and how long it takes to paste something there.
    fn zellij() -> (Self, Vec<Duration>) {
        let world = World::new(env!("CARGO_BIN_EXE_ringer"));
        world.team(TEAM);
        configure(&world);
        let zellij = Zellij::start(world.path()).expect("Zellij");
        let file = world.path().join("received");
        let inbox = world.inbox(TEAM, "worker");
        fs::create_dir_all(inbox.parent().expect("inboxes")).expect("inboxes");
        let receiver = receiver_program();
        let other = world.path().join("other");
        let words = |file: &Path| [receiver.display().to_string(), file.display().to_string()];
        let open = |file: &Path| {
            let words = words(file);
            let pane = zellij.worker(&[words[0].as_str(), words[1].as_str()]).expect("a worker");
            let prompt = || zellij.screen(&pane).ok()?.contains('>').then_some(());
            wait_for("the worker's prompt", PATIENCE, prompt).expect("a prompt");
            pane
        };
        let (pane, spare) = (open(&file), open(&other));
        let bare = (0..50).map(|_| {
            let start = Instant::now();
            zellij.action(&["paste", "-p", &spare, "--", TEXT]).expect("a paste");
            start.elapsed()
        });
        let bare = bare.collect();
        let address = format!("zellij:{}:{pane}", zellij.session());
        let mut register = zellij_ringer(&world, &zellij);
        register.args(["register", "worker", "--team", TEAM, "--pane", &address]);
        assert!(register.output().expect("ringer runs").status.success());
        let daemon = daemon_of(&world, zellij_ringer(&world, &zellij));
        let carrier = Carrier::Program(daemon);
        (Self { inbox, file, _carrier: carrier, _tmux: None, _zellij: Some(zellij), world }, bare)
    }

    /// A worker under `ringer run`, with nobody in front of it.
    fn host() -> Self {
        let world = World::new(env!("CARGO_BIN_EXE_ringer"));
        world.team(TEAM);
        configure(&world);
        let file = world.path().join("received");
        let inbox = world.inbox(TEAM, "worker");
        fs::create_dir_all(inbox.parent().expect("inboxes")).expect("inboxes");
        let daemon = daemon(&world);
        let mut run = world.ringer();
        run.args(["run", "shell", "--detach", "--name", "worker", "--team", TEAM, "--"]);
        run.arg(receiver_program()).arg(&file);
        let output = run.output().expect("ringer runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let carrier = Carrier::Program(daemon);
        Self { inbox, file, _carrier: carrier, _tmux: None, _zellij: None, world }
    }

    /// The daemon, as users have it, but for the pause before Enter.
    fn ringer() -> Self {
        Self::new(|world, tmux, pane, _| {
            configure(world);
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

/// No pause before Enter.
fn configure(world: &World) {
    let config = world.path().join(".config/ringer");
    fs::create_dir_all(&config).expect("a directory");
    put(&config.join("config.toml"), "[delivery]\nsettle_ms = 0\n");
}

impl Drop for Course {
    fn drop(&mut self) {
        // If there is a worker of this name, it was started in the background.
        self.world.ringer().args(["stop", "worker"]).output().ok();
    }
}

/// The command, able to find Zellij and this session.
fn zellij_ringer(world: &World, zellij: &Zellij) -> Command {
    let mut ringer = world.ringer();
    let program = zellij_program();
    ringer.env("PATH", program.parent().expect("a program is in a directory"));
    ringer.env("ZELLIJ_SOCKET_DIR", zellij.sockets());
    ringer
}

fn daemon(world: &World) -> Running {
    daemon_of(world, world.ringer())
}

fn daemon_of(world: &World, mut command: Command) -> Running {
    let daemon = Running::start_as_it_is(command.arg("daemon").stderr(Stdio::null()));
    let daemon = daemon.expect("the daemon starts");
    let ready = || {
        let status = world.ringer().args(["status", "--json"]).output().ok()?;
        let status: Value = serde_json::from_slice(&status.stdout).ok()?;
        (status["ready"] == true).then_some(())
    };
    wait_for("the daemon", Duration::from_mins(1), ready).expect("the daemon is ready");
    daemon
}
