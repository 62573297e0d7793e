//! Leads come and go, the worker stays: real Claude Code is left and started again, and the same Gemini CLI hears
//! the next lead under the same name.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ringer_testkit::{Agent, Claude, Turn, wait_for};
use serde_json::{Value, json};

use crate::stage::{PATIENCE, Stage, notify, say};

const NAME: &str = "rust-impl";

/// What a lead is told that did not start the worker.
const ANNOUNCED: &str = "rust-impl is on your team now";

/// What every lead here is started with.
const OPTIONS: [&str; 1] = ["--dangerously-skip-permissions"];

/// What is allowed between a lead's `config.json` and the worker in it.
const SOON: Duration = Duration::from_secs(1);

/// A lead, and a worker that belongs to the directory in which both are.
struct Desk {
    version: &'static str,
    /// Ends before the stage.
    gemini: Agent,
    stage: Stage,
}

impl Desk {
    fn new(version: &'static str) -> Self {
        let stage = Stage::new(version, &["init"]);
        let gemini = stage.gemini("gemini");
        stage.profile("gemini", &gemini);
        stage.spawn(&["gemini", "--name", NAME]);
        let desk = Self { version, gemini, stage };
        let work = desk.stage.claude.work().canonicalize().unwrap();
        assert_eq!(desk.entry()["follows"], json!({"directory": work}), "{}", desk.entry());
        desk
    }

    /// The worker, on the roster.
    fn entry(&self) -> Value {
        let roster = fs::read_to_string(self.stage.scene.state().join("roster.json")).unwrap();
        let roster: Value = serde_json::from_str(&roster).unwrap();
        assert_eq!(roster["members"].as_array().unwrap().len(), 1, "{roster}");
        roster["members"][0].clone()
    }

    /// Its process, which runs.
    fn pid(&self) -> i64 {
        let pid = self.entry()["birth"]["process"]["pid"].as_i64().unwrap();
        assert!(fs::metadata(format!("/proc/{pid}")).is_ok(), "{}", self.stage.scene.all());
        pid
    }

    /// The session that leads the team.
    fn session(&self) -> String {
        let config = self.stage.scene.world.config(&self.stage.scene.team);
        config["leadSessionId"].as_str().unwrap().to_owned()
    }

    /// A lead starts where the last one was and comes to a team, on which the worker is soon.
    fn next_lead(&mut self, start: impl FnOnce(&mut Claude)) {
        let teams = self.stage.scene.world.claude().join("teams");
        let before: Vec<PathBuf> = teams_in(&teams);
        let claude = &mut self.stage.claude;
        let joined = thread::scope(|scope| {
            let looks = scope.spawn(|| {
                let seen = RefCell::new(HashMap::new());
                let joined = || {
                    let teams = teams_in(&teams).into_iter().filter(|team| !before.contains(team));
                    for team in teams {
                        let since =
                            *seen.borrow_mut().entry(team.clone()).or_insert_with(Instant::now);
                        if has_worker(&team) {
                            return Some((team, since, Instant::now()));
                        }
                    }
                    None
                };
                wait_for("the worker to be on a new team", PATIENCE, joined)
            });
            start(claude);
            let at_prompt = Instant::now();
            looks.join().unwrap().map(|joined| (joined, at_prompt))
        });
        let ((team, since, joined), at_prompt) =
            joined.unwrap_or_else(|e| panic!("{e}{}", self.stage.scene.all()));
        let took = joined - since;
        let name = team.file_name().unwrap().to_str().unwrap();
        name.clone_into(&mut self.stage.scene.team);
        let version = self.version;
        say(&format!("{version}: from the new lead's config.json to the worker in it {took:.0?}"));
        // A lead that takes long to come to its prompt has nobody who would miss the worker.
        let late = joined.saturating_duration_since(at_prompt);
        assert!(took < SOON || late < SOON / 2, "{took:?}, {late:?}{}", self.stage.scene.all());
    }

    /// The lead is left. Of its team nothing stays but the worker, which is in this state then.
    fn lead_ends(&self, state: &str) {
        self.stage.claude.exit().unwrap();
        let is = || self.stage.scene.state_of(NAME) == state;
        self.stage.wait(&format!("the worker to be {state:?}"), is);
        assert!(!self.stage.scene.world.team_dir(&self.stage.scene.team).exists());
    }

    /// The lead is left while the worker works, and has not had what was sent last.
    fn lead_ends_with_mail(&self, text: &str) {
        let (claude, model) = (&self.stage.claude, &self.gemini.model);
        model.queue([Turn::hold("DONE WITH THAT")]);
        claude.act([claude.send_message(NAME, "WORK FOR LONG", "orders")]).unwrap();
        self.stage.wait("it to work", || model.saw("WORK FOR LONG"));
        claude.act([claude.send_message(NAME, text, "orders")]).unwrap();
        self.stage.wait("it to wait", || self.stage.scene.state_of(NAME) == "waiting: busy");
        self.lead_ends("waiting: no team");
    }

    /// The lead's model sends the worker this, and hears what its model reports.
    fn round_trip(&self, text: &str, report: &str) {
        let (stage, model) = (&self.stage, &self.gemini.model);
        self.will_report(report);
        let find = Turn::call("ToolSearch", &json!({"query": "select:SendMessage"}));
        stage.claude.act([find, stage.claude.send_message(NAME, text, "orders")]).unwrap();
        stage.wait(&format!("the worker to see {text:?}"), || model.saw(text));
        self.reports(report);
        stage.message_is(text, "delivered");
    }

    /// What the worker's model does when it is asked next. It never ends a turn with the words of another one: that
    /// would look as if it had been cancelled.
    fn will_report(&self, report: &str) {
        let last_words = Turn::say(&format!("said so: {report}"));
        self.gemini.model.queue([notify("success", report), last_words]);
    }

    /// The lead hears it, and the worker is at its prompt again.
    fn reports(&self, report: &str) {
        self.stage.lead_sees(report);
        let last_words = format!("said so: {report}");
        self.stage.wait("the end of its turn", || self.stage.message(&last_words).is_some());
    }

    /// All that was ever typed to the worker, and that its model knows all of it.
    fn was_told(&self, texts: &[&str]) {
        let model = &self.gemini.model;
        let expected =
            texts.iter().map(|text| format!("[message from team-lead · orders]\n{text}"));
        assert_eq!(model.prompts(), expected.collect::<Vec<_>>(), "{}", self.stage.scene.all());
        for text in texts {
            assert_eq!(model.count(text), 1, "{text} in {}", model.end());
        }
    }

    fn announced(&self, times: usize) {
        let model = self.stage.claude.model();
        assert_eq!(model.count(ANNOUNCED), times, "{}{}", model.end(), self.stage.scene.all());
    }
}

fn teams_in(dir: &Path) -> Vec<PathBuf> {
    let teams = fs::read_dir(dir).unwrap().flatten();
    teams.map(|entry| entry.path()).filter(|dir| dir.join("config.json").exists()).collect()
}

fn has_worker(team: &Path) -> bool {
    fs::read_to_string(team.join("config.json")).is_ok_and(|text| text.contains(NAME))
}

#[test]
fn the_next_lead_has_the_worker_that_the_last_one_left() {
    let mut desk = Desk::new("2.1.325");
    let (pid, first) = (desk.pid(), desk.session());
    desk.round_trip("FIRST ORDER", "FIRST REPORT");
    desk.lead_ends_with_mail("ORDER OF THE OLD LEAD");

    desk.next_lead(|claude| claude.start_again(&OPTIONS).unwrap());
    assert_ne!(desk.session(), first);
    desk.stage.lead_sees(ANNOUNCED);
    // It comes to the end of its work, and what the old lead still wanted is not the next thing that it does.
    desk.gemini.model.release();
    desk.stage.lead_sees("DONE WITH THAT");
    desk.round_trip("ORDER OF THE NEW LEAD", "REPORT TO THE NEW LEAD");
    desk.was_told(&["FIRST ORDER", "WORK FOR LONG", "ORDER OF THE NEW LEAD"]);
    assert_eq!(desk.pid(), pid);
    desk.announced(1);
    let kept = desk.stage.message("ORDER OF THE OLD LEAD").unwrap();
    assert_eq!(kept["state"], "waiting", "{kept}");
}

#[test]
fn a_session_that_is_resumed_has_its_worker_back_and_the_worker_its_mail() {
    let mut desk = Desk::new("2.1.325");
    let (pid, first) = (desk.pid(), desk.session());
    desk.round_trip("FIRST ORDER", "FIRST REPORT");
    desk.lead_ends_with_mail("ORDER OF THE FIRST");

    desk.next_lead(|claude| claude.start_again(&OPTIONS).unwrap());
    desk.stage.lead_sees(ANNOUNCED);
    desk.gemini.model.release();
    desk.stage.lead_sees("DONE WITH THAT");
    desk.round_trip("SECOND ORDER", "SECOND REPORT");
    desk.lead_ends("no team");

    desk.will_report("REPORT AT LAST");
    let resume = ["--dangerously-skip-permissions", "--resume", &first];
    desk.next_lead(|claude| claude.start_again(&resume).unwrap());
    assert_eq!(desk.session(), first);
    desk.stage.lead_sees(ANNOUNCED);
    desk.reports("REPORT AT LAST");
    desk.round_trip("THIRD ORDER", "THIRD REPORT");
    desk.announced(1);
    desk.lead_ends("no team");

    // The same again, with no other lead in between: it knows the worker.
    let resume = ["--dangerously-skip-permissions", "--continue"];
    desk.next_lead(|claude| claude.start_again(&resume).unwrap());
    assert_eq!(desk.session(), first);
    desk.round_trip("FOURTH ORDER", "FOURTH REPORT");
    desk.announced(1);
    assert_eq!(desk.pid(), pid);
    desk.was_told(&[
        "FIRST ORDER",
        "WORK FOR LONG",
        "SECOND ORDER",
        "ORDER OF THE FIRST",
        "THIRD ORDER",
        "FOURTH ORDER",
    ]);
}

/// The lead of an old version starts again, and its model wants the team that the last one had.
fn creates_its_team(claude: &mut Claude) {
    claude.start_again(&OPTIONS).unwrap();
    let team = json!({"team_name": "exo-root", "description": "a test", "agent_type": "team-lead"});
    claude.act([Turn::call("TeamCreate", &team)]).unwrap();
}

/// This version leaves the team's directory, and then gives the next lead a team of another name.
#[test]
fn the_next_lead_of_an_old_version_has_the_worker_though_its_team_has_another_name() {
    let mut desk = Desk::new("2.1.39");
    let pid = desk.pid();
    desk.round_trip("FIRST ORDER", "FIRST REPORT");
    desk.stage.claude.exit().unwrap();
    assert!(has_worker(&desk.stage.scene.world.team_dir("exo-root")), "the team has stayed");

    desk.next_lead(creates_its_team);
    assert_ne!(desk.stage.scene.team, "exo-root");
    let old = desk.stage.scene.world.team_dir("exo-root");
    desk.stage.wait("it to leave the old team", || !has_worker(&old));
    desk.stage.lead_sees(ANNOUNCED);
    desk.round_trip("SECOND ORDER", "SECOND REPORT");
    desk.announced(1);
    assert_eq!(desk.pid(), pid);
    desk.was_told(&["FIRST ORDER", "SECOND ORDER"]);
}

#[test]
fn a_team_of_the_same_name_has_the_worker_again() {
    let mut desk = Desk::new("2.1.39");
    let pid = desk.pid();
    desk.round_trip("FIRST ORDER", "FIRST REPORT");
    desk.stage.claude.exit().unwrap();
    // The user clears away what this version leaves.
    fs::remove_dir_all(desk.stage.scene.world.team_dir("exo-root")).unwrap();
    desk.stage.wait("no team", || desk.stage.scene.state_of(NAME) == "no team");

    desk.next_lead(creates_its_team);
    assert_eq!(desk.stage.scene.team, "exo-root");
    desk.stage.lead_sees(ANNOUNCED);
    desk.round_trip("SECOND ORDER", "SECOND REPORT");
    desk.announced(1);
    assert_eq!(desk.pid(), pid);
    desk.was_told(&["FIRST ORDER", "SECOND ORDER"]);
}
