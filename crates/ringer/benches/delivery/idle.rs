//! What a daemon costs that has nothing to do.

use std::fs;
use std::time::Instant;

use ringer_testkit::{Running, World};

use super::daemon;

/// A daemon that watches teams in which nothing happens.
pub(super) struct Idle {
    pub(super) teams: usize,
    daemon: Running,
    started: Instant,
    switches: u32,
    _world: World,
}

impl Idle {
    pub(super) fn start(teams: usize) -> Self {
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
    pub(super) fn begin(&mut self) {
        self.started = Instant::now();
        self.switches = switches(self.daemon.id());
    }

    /// Context switches a minute, and kibibytes of memory.
    pub(super) fn end(&self) -> (f64, u32) {
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
