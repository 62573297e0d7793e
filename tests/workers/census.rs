//! Who is there: every process of a scene, whoever started it.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::scene::Scene;

/// A process, as the system knows it.
pub(crate) struct Somebody {
    pub(crate) pid: i32,
    environ: String,
    pub(crate) words: String,
}

impl Somebody {
    /// Everybody there is. Of one that has ended, nothing is known any more.
    pub(crate) fn all() -> Vec<Self> {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let text = |pid: i32, file: &str| {
            let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        pids.map(|pid| Self { pid, environ: text(pid, "environ"), words: text(pid, "cmdline") })
            .collect()
    }

    pub(crate) fn is_of(&self, scene: &Scene) -> bool {
        let world = scene.world.path().display().to_string();
        self.environ.contains(&world) || self.words.contains(&world)
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.environ.split('\0').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }
}

pub(crate) fn signal(pids: &[i32], signal: Signal) {
    for pid in pids {
        // Some end with the first of them.
        kill_process(Pid::from_raw(*pid).unwrap(), signal).ok();
    }
}

/// The processes of a worker, with or without ours that it started.
pub(crate) fn processes(scene: &Scene, name: &str, ours: bool) -> Vec<i32> {
    let ringer = scene.ringer(&[]).get_program().display().to_string();
    let is_one = |one: &Somebody| {
        let is_its = one.variable("RINGER_MEMBER") == Some(name) && one.is_of(scene);
        is_its && (ours || !one.words.starts_with(&ringer))
    };
    Somebody::all().into_iter().filter(is_one).map(|one| one.pid).collect()
}
