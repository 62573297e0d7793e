//! A lead with hooks: what it hears, when, and from whom; and one without.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ringer_testkit::{Turn, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::stage::{PATIENCE, Stage, say};

/// The newest version, with hooks, and a member.
fn stage() -> Stage {
    let stage = Stage::new("2.1.325", &["init"]);
    stage.scene.run(&["register", "w", "--team", &stage.scene.team]);
    stage
}

impl Stage {
    /// As the worker `w` does.
    fn reply(&self, text: &str) {
        let mut reply = self.scene.ringer(&["reply", text]);
        reply.env("RINGER_TEAM", &self.scene.team).env("RINGER_MEMBER", "w");
        let output = reply.output().unwrap();
        assert!(output.status.success(), "{}", crate::scene::said(&output));
    }

    /// The processes that wait for this lead's mail.
    fn waiters(&self) -> Vec<i32> {
        let home = format!("HOME={}", self.claude.home().display());
        let is_waiter = |process: &Path| {
            let read = |name| fs::read(process.join(name)).unwrap_or_default();
            let words = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            let env = read("environ");
            words.ends_with("hook wait ")
                && !words.starts_with("/bin/sh")
                && env.split(|byte| *byte == 0).any(|pair| pair == home.as_bytes())
        };
        let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let waiters = all.filter(|process| is_waiter(process));
        waiters.filter_map(|process| process.file_name()?.to_str()?.parse().ok()).collect()
    }
}

#[test]
fn one_waits_through_turns_clearing_and_interruptions() {
    let stage = stage();
    stage.wait("a waiter", || stage.waiters().len() == 1);
    for number in 0..3 {
        stage.claude.act([]).unwrap();
        stage.reply(&format!("NEWS-{number}"));
        stage.lead_sees(&format!("NEWS-{number}"));
    }
    stage.wait("one waiter", || stage.waiters().len() == 1);

    // The session has another id from here on.
    stage.claude.begin("/clear", []).unwrap();
    stage.wait("an empty screen", || !stage.claude.screen().contains("TURN-3-ENDS"));
    stage.reply("AFTER A CLEAR");
    stage.lead_sees("AFTER A CLEAR");
    stage.reply("AND AGAIN");
    stage.lead_sees("AND AGAIN");

    // Whoever interrupts it does not make it deaf.
    let sleep =
        Turn::call("Bash", &json!({"command": "timeout 30 tail -f /dev/null", "description": "x"}));
    stage.claude.begin("work for long", [sleep]).unwrap();
    stage.wait("work", || stage.claude.model().called_at("Bash").is_some());
    stage.wait("it to show", || stage.claude.screen().contains("esc to interrupt"));
    stage.claude.press("Escape").unwrap();
    stage.wait("the interruption", || stage.claude.screen().contains("Interrupted"));
    stage.reply("AFTER ESCAPE");
    stage.lead_sees("AFTER ESCAPE");
    stage.reply("STILL THERE");
    stage.lead_sees("STILL THERE");
    stage.wait("one waiter", || stage.waiters().len() == 1);
}

#[test]
fn a_waiter_ends_with_its_session_however_that_ends() {
    for killed in [false, true] {
        let stage = stage();
        stage.wait("a waiter", || stage.waiters().len() == 1);
        let pid =
            stage.claude.tmux(&["display-message", "-p", "-t", "lead", "#{pane_pid}"]).unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        kill_process(pid, if killed { Signal::KILL } else { Signal::TERM }).unwrap();
        wait_for("no waiter", PATIENCE, || stage.waiters().is_empty().then_some(())).unwrap();
    }
}

#[test]
fn a_lead_without_hooks_is_said_to_hear_nothing() {
    let stage = Stage::new("2.1.325", &[]);
    stage.scene.run(&["register", "w", "--team", &stage.scene.team]);
    stage.reply("ANYBODY THERE?");
    let status = || stage.scene.run(&["status"]);
    assert!(!status().contains("unheard"), "too early: {}", status());
    stage.wait("a word about it", || status().contains("unheard"));
    let words = format!(
        "the lead of {} does not read its inbox: a message not taken; run `ringer init`",
        stage.scene.team
    );
    assert!(status().contains(&words), "{}", status());
    let output = stage.scene.ringer(&["log"]).output().unwrap();
    let log = crate::scene::said(&output);
    assert!(log.contains("written: not read") && log.contains(&words), "{log}");
    assert!(!stage.claude.model().saw("ANYBODY THERE?"));
}

/// Whenever mail comes, before, while and after the lead was woken by other mail, it is heard in moments.
#[test]
fn every_reply_is_heard_in_moments_whenever_it_comes() {
    let stage = stage();
    stage.wait("a waiter", || stage.waiters().len() == 1);
    let mut longest = Duration::ZERO;
    for (number, pause) in
        [0, 30, 120, 250, 400, 700, 1100, 1900, 3000, 10, 60].iter().cycle().take(33).enumerate()
    {
        thread::sleep(Duration::from_millis(*pause));
        let text = format!("NUMBER {number}.");
        let sent = Instant::now();
        stage.reply(&text);
        let heard = stage.lead_sees(&text);
        longest = longest.max(heard.saturating_duration_since(sent));
    }
    say(&format!("33 replies, one after another: the slowest was heard after {longest:.0?}"));
    assert!(longest < Duration::from_secs(5), "{longest:?}");
    // And all of them are known to have been, long before the daemon looks at everything again.
    thread::sleep(Duration::from_secs(1));
    let log = stage.scene.run(&["log"]);
    assert_eq!(log.matches("  taken  ").count(), 33, "{log}");
}
