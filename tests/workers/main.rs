//! Workers from their start to their end: spawned, on the right team, and off it in every case.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod books;
mod census;
mod departing;
mod following;
#[path = "../scene/leads.rs"]
mod leads;
mod mayhem;
#[path = "../scene/mod.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod scene;
mod spawning;
mod watchdog;

use std::fs;
use std::path::Path;

use ringer_testkit::{received, receiver_program};
use serde_json::Value;

use scene::{Scene, TEAM, said};

impl Scene {
    /// Starts workers that keep what they get, and says how that went.
    pub(crate) fn spawn(&self, options: &[&str], name: &str) -> (Option<i32>, String) {
        let file = self.got(name).display().to_string();
        let program = receiver_program().display().to_string();
        let mut words = vec!["spawn", "shell", "--name", name];
        words.extend(options);
        words.extend(["--", &program, &file]);
        let output = self.ringer(&words).output().unwrap();
        (output.status.code(), said(&output))
    }

    fn got(&self, name: &str) -> std::path::PathBuf {
        self.world.path().join(format!("{name}.got"))
    }

    /// What a worker was sent.
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        received(&self.got(name)).into_iter().map(|one| one.text).collect()
    }

    /// Who is on a team, besides its lead.
    pub(crate) fn members(&self, team: &str) -> Vec<String> {
        let config = self.world.config(team);
        let all = config["members"].as_array().unwrap().iter();
        let names = all.map(|member| member["name"].as_str().unwrap().to_owned());
        names.filter(|name| name != "team-lead").collect()
    }

    /// What `ringer ps` says of a worker.
    pub(crate) fn worker_row(&self, name: &str) -> Option<Value> {
        let all: Value = serde_json::from_str(&self.run(&["ps", "--all", "--json"])).unwrap();
        all["workers"].as_array().unwrap().iter().find(|row| row["name"] == name).cloned()
    }

    /// What is in the lead's inbox.
    pub(crate) fn told(&self, team: &str) -> Vec<String> {
        let inbox = fs::read_to_string(self.world.inbox(team, "team-lead"));
        let inbox: Vec<Value> = serde_json::from_str(&inbox.unwrap_or("[]".into())).unwrap();
        inbox.iter().map(|entry| entry["text"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn roster(&self) -> Value {
        let text = fs::read_to_string(self.state().join("roster.json")).unwrap_or("{}".into());
        serde_json::from_str(&text).unwrap()
    }

    /// A number of a worker's, from the roster.
    pub(crate) fn pid(&self, name: &str, what: &str) -> i32 {
        let roster = self.roster();
        let all = roster["members"].as_array().unwrap();
        let entry = all.iter().find(|entry| entry["name"] == name).unwrap();
        i32::try_from(entry["birth"][what]["pid"].as_i64().unwrap()).unwrap()
    }
}

/// Whether a process runs.
pub(crate) fn runs(pid: i32) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Everything in the state directory but what a daemon and the journal have there.
pub(crate) fn files_left(scene: &Scene) -> Vec<String> {
    let all = fs::read_dir(scene.state()).unwrap().flatten();
    let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let known = [
        "daemon",
        "journal",
        "roster",
        "control.sock",
        "broadcasts",
        "said",
        "departing",
        "tasks-created",
    ];
    names.filter(|name| !known.iter().any(|known| name.starts_with(known))).collect()
}

pub(crate) const HERE: [&str; 2] = ["--team", TEAM];
