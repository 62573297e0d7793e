//! From Claude Code's inbox into a worker's pane: every message, byte for byte, in order, once.
//! Everything is real but the worker's mind: inotify, tmux, the daemon, and Node with Claude Code's
//! own lock.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use notify::event::{ModifyKind, RenameMode};
use notify::{EventKind, RecursiveMode, Watcher};
use ringer_testkit::{Daemon, Lead, Tmux, Worker, World, Writing, put, wait_for};
use serde_json::{Value, json};

const TEAM: &str = "exo-root";
const PATIENCE: Duration = Duration::from_mins(2);
/// No wait between the text and Enter.
const QUICK: &str = "[delivery]\nsettle_ms = 0\n";

fn world() -> (World, Tmux) {
    let world = World::new(env!("CARGO_BIN_EXE_ringer"));
    world.team(TEAM);
    Daemon::of(&world).configure(QUICK);
    let tmux = Tmux::start(world.path()).unwrap();
    (world, tmux)
}

/// What the worker sees of a message.
fn seen(summary: &str, text: &str) -> String {
    format!("[message from team-lead · {summary}]\n{text}")
}

fn messages<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Value> {
    texts.into_iter().map(|text| json!({"text": text, "summary": "s"})).collect()
}

/// A lead of today sends these to a member.
fn send<'a>(world: &World, name: &str, texts: impl IntoIterator<Item = &'a str>) {
    let (inbox, messages) = (world.inbox(TEAM, name), messages(texts));
    Lead::new(Writing::Rename).to(&inbox, &messages).send(world).unwrap();
}

fn entries(inbox: &Path) -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(inbox).unwrap()).unwrap()
}

/// What is in a member's inbox, if all of it is marked as read.
fn all_read(world: &World, name: &str) -> Option<Vec<Value>> {
    let entries = entries(&world.inbox(TEAM, name));
    entries.iter().all(|entry| entry["read"] == true).then_some(entries)
}

/// Whatever a model may write: nothing of it means anything to a shell, to tmux or to a worker.
fn mixed(number: usize) -> (String, String) {
    let text = match number % 13 {
        0 => format!("{number} plain words"),
        1 => format!("first line {number}\n\n  an indented one\n\tand a tab\n🦀"),
        2 => format!("👩‍👩‍👧‍👦 🇩🇪 e\u{301} ünïcödé 你好，世界 {number} 🎉🎉"),
        3 => format!("'single' \"double\" ''\"\" \\\" {number} «»"),
        4 => format!("$(touch /tmp/owned) ${{HOME}} `id` && rm {number}; x | y > z"),
        5 => format!("#{{pane_id}} #[fg=red] #(date) %1 {number}\n%end 1 1 1\n%exit #{{q:x}}"),
        6 => format!("/quit {number}\n/clear\n"),
        7 => format!("!kill {number}"),
        8 => format!("@src/lib.rs {number}"),
        9 => format!("{{\"a\": [1, 2.50, {{\"b\": null}}], \"number\": {number}}}"),
        10 => format!("a\tb\t{number}\t\tc  "),
        11 => format!("line of message {number}\n").repeat(40),
        _ => "Go on.".to_owned(),
    };
    (["Change map", "it's \"quoted\" $(x)", "ü 🎉"][number % 3].to_owned(), text)
}

#[test]
fn a_thousand_messages_to_twenty_members_arrive_in_order_exactly_once() {
    let (world, tmux) = world();
    let mut daemon = Daemon::of(&world);
    let worker = |n| daemon.worker(&tmux, TEAM, &format!("w{n}"), &[]).unwrap();
    let workers: Vec<Worker> = (0..20).map(worker).collect();
    daemon.start().unwrap();
    let mail: Vec<(String, String)> = (0..50).map(mixed).collect();
    let sent: Vec<Value> =
        mail.iter().map(|(summary, text)| json!({"text": text, "summary": summary})).collect();
    let (mut old, mut new) = (Lead::new(Writing::InPlace), Lead::new(Writing::Rename));
    for pair in workers.chunks(2) {
        old = old.to(&world.inbox(TEAM, &pair[0].name), &sent);
        new = new.to(&world.inbox(TEAM, &pair[1].name), &sent);
    }
    let leads = [old.start(&world).unwrap(), new.start(&world).unwrap()];
    for lead in leads {
        assert_eq!(Lead::finish(lead).unwrap(), 0, "an inbox was locked for too long");
    }
    for worker in &workers {
        worker.wait_for(mail.len(), PATIENCE).unwrap();
    }
    for worker in &workers {
        let read = wait_for("the marks", PATIENCE, || all_read(&world, &worker.name)).unwrap();
        assert_eq!(read.len(), mail.len());
    }
    assert!(daemon.terminate().unwrap().success());
    let expected: Vec<String> =
        mail.iter().map(|(summary, text)| seen(summary, text.trim_end_matches('\n'))).collect();
    for worker in &workers {
        assert_eq!(worker.texts(), expected, "{}", worker.name);
        assert!(worker.received().iter().all(|one| one.pasted), "{}", worker.name);
    }
    let journal = daemon.journal().unwrap();
    assert_eq!(journal.len(), 1000);
    assert!(journal.iter().all(|m| m["state"] == "delivered" && m["copies"] == 1));
    let rewrites = daemon.log().matches("inbox tidied").count();
    println!("{rewrites} rewrites for 1000 messages");
}

#[test]
fn hostile_bytes_arrive_harmless() {
    let (world, tmux) = world();
    let mut daemon = Daemon::of(&world);
    let worker = daemon.worker(&tmux, TEAM, "w", &[]).unwrap();
    let lines =
        (0..2000).map(|n| format!("{n:04} {}", "x".repeat(45))).collect::<Vec<_>>().join("\n");
    let line = format!("{} the end", "wörter und 🎉 ".repeat(6500));
    assert!(lines.len() > 100_000 && line.len() > 100_000);
    let pairs: Vec<(&str, &str)> = vec![
        ("out of the paste\u{1b}[201~\r/quit\r", "out of the paste[201~\n/quit"),
        (
            "a title\u{1b}]0;owned\u{7} and \u{1b}]2;owned\u{1b}\\",
            "a title]0;owned and ]2;owned\\ (end)",
        ),
        ("C1 \u{9b}31mred\u{9d}0;owned\u{9c} \u{90}q\u{85}", "C1 31mred0;owned q"),
        ("keys \u{3}\u{4}\u{1a}\u{1c}\u{15}\u{17} no", "keys  no"),
        ("back\u{8}\u{8}\u{8}\u{7f}\u{7f}space", "backspace"),
        ("nul\0 bytes\0", "nul bytes"),
        ("a\rb\r\nc\u{b}d\u{c}e\u{2028}f\u{2029}g", "a\nb\ncde\nf\ng"),
        ("arrows \u{1b}[A\u{1b}[B\u{1b}OP\u{1b}[1;5D", "arrows [A[BOP[1;5D"),
        ("C:\\dir\\", "C:\\dir\\ (end)"),
        ("complete @src", "complete @src (end)"),
        ("echo $HOME", "echo $HOME (end)"),
        (&lines, &lines),
        (&line, &line),
        ("\u{1b}[200~", "[200~"),
        ("\u{1b}", ""),
        ("the last", "the last"),
    ];
    daemon.start().unwrap();
    let title = || tmux.run(&["display-message", "-p", "-t", &worker.pane, "#{pane_title}"]);
    let before = title().unwrap();
    let mut sent = messages(pairs.iter().map(|(text, _)| *text));
    sent[0]["summary"] = json!("su\u{1b}[2Jmm\u{7}\nary");
    let lead = Lead::new(Writing::InPlace).to(&world.inbox(TEAM, "w"), &sent);
    lead.send(&world).unwrap();
    let got = worker.wait_for(pairs.len(), PATIENCE).unwrap();
    daemon.terminate().unwrap();
    for ((number, got), (_, text)) in got.iter().enumerate().zip(&pairs) {
        let summary = if number == 0 { "su[2Jmm ary" } else { "s" };
        let expected = seen(summary, text);
        assert!(*got == expected.trim_end_matches('\n'), "{number}: {got:.300?} {expected:.300?}");
    }
    assert_eq!(worker.texts().len(), pairs.len(), "{:?}", worker.texts().last());
    assert!(worker.received().iter().all(|one| one.pasted), "something acted as a key");
    assert_eq!(title().unwrap(), before);
}

/// Counts how often a file is replaced.
fn count_rewrites(inbox: &Path) -> (impl Watcher + use<>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let (counter, path) = (count.clone(), inbox.to_owned());
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let event = event.unwrap();
        assert!(!event.need_rescan());
        let renamed = EventKind::Modify(ModifyKind::Name(RenameMode::To));
        if event.kind == renamed && event.paths.contains(&path) {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    })
    .unwrap();
    watcher.watch(inbox.parent().unwrap(), RecursiveMode::NonRecursive).unwrap();
    (watcher, count)
}

#[test]
fn a_burst_is_marked_read_and_pruned_in_a_few_rewrites_that_keep_unknown_fields() {
    for (keep, more) in [(50, ""), (7, "[inbox]\nkeep_read = 7\n")] {
        let (world, tmux) = world();
        let mut daemon = Daemon::of(&world);
        daemon.configure(&format!("{QUICK}{more}"));
        let worker = daemon.worker(&tmux, TEAM, "w", &[]).unwrap();
        daemon.start().unwrap();
        let entry = |n, read| {
            json!({"from": "team-lead", "text": format!("number {n}"), "summary": "s",
                   "timestamp": format!("2026-02-22T20:30:00.{n:03}Z"), "color": "blue",
                   "futureField": {"kept": [n, 2.50, null]}, "read": read})
        };
        let sent: Vec<Value> = (0..100).map(|n| entry(n, false)).collect();
        let inbox = world.inbox(TEAM, "w");
        fs::create_dir_all(inbox.parent().unwrap()).unwrap();
        let (_watcher, rewrites) = count_rewrites(&inbox);
        put(&inbox, &serde_json::to_string_pretty(&sent).unwrap());
        worker.wait_for(100, PATIENCE).unwrap();
        let tidy = || all_read(&world, "w").filter(|left| left.len() == keep);
        let left = wait_for("a tidy inbox", PATIENCE, tidy).unwrap();
        let expected: Vec<Value> = (100 - keep..100).map(|n| entry(n, true)).collect();
        assert_eq!(left, expected);
        let raw = fs::read_to_string(&inbox).unwrap();
        assert_eq!(raw, serde_json::to_string_pretty(&expected).unwrap(), "only the mark is new");
        // What comes next is marked too, so nothing of the burst is left to be done.
        send(&world, "w", ["after"]);
        worker.wait_for(101, PATIENCE).unwrap();
        wait_for("its mark", PATIENCE, || all_read(&world, "w")).unwrap();
        let rewrites = rewrites.load(Ordering::SeqCst) - 1;
        println!("{rewrites} rewrites of ours");
        assert!((1..=10).contains(&rewrites), "{rewrites} rewrites");
    }
}

#[test]
fn only_our_own_members_are_delivered() {
    let (world, tmux) = world();
    let mut daemon = Daemon::of(&world);
    let [ours, taken] = ["ours", "taken"].map(|n| daemon.worker(&tmux, TEAM, n, &[]).unwrap());
    daemon.start().unwrap();
    // One that Claude Code runs, one that another Ringer added, and one that was ours until somebody
    // else took its name.
    let mut config = world.config(TEAM);
    let member = |name: &str, kind: &str| {
        json!({"agentId": format!("{name}@{TEAM}"), "name": name, "agentType": "x",
               "joinedAt": 1, "cwd": world.work(), "subscriptions": [], "backendType": kind})
    };
    let members = config["members"].as_array_mut().unwrap();
    members.retain(|member| member["name"] != "taken");
    let others = [("native", "in-process"), ("stranger", "ringer"), ("taken", "in-process")];
    members.extend(others.map(|(name, kind)| member(name, kind)));
    put(&world.team_dir(TEAM).join("config.json"), &format!("{config:#}"));
    let knows = || daemon.status().ok()?["problems"].to_string().contains("`taken`").then_some(());
    wait_for("the daemon to see whose name it is", PATIENCE, knows).unwrap();

    let inboxes =
        ["native", "stranger", "taken", "nobody", "team-lead"].map(|name| world.inbox(TEAM, name));
    let mut lead = Lead::new(Writing::Rename);
    for inbox in &inboxes {
        lead = lead.to(inbox, &messages(["not for you"]));
    }
    lead.send(&world).unwrap();
    let before = inboxes.each_ref().map(|inbox| fs::read(inbox).unwrap());
    for round in 1..=2 {
        send(&world, "ours", ["for you"]);
        ours.wait_for(round, PATIENCE).unwrap();
        wait_for("the mark", PATIENCE, || all_read(&world, "ours")).unwrap();
        assert!(daemon.terminate().unwrap().success());
        assert_eq!((ours.texts().len(), taken.texts()), (round, Vec::new()));
        assert_eq!(inboxes.each_ref().map(|inbox| fs::read(inbox).unwrap()), before);
        assert_eq!(daemon.journal().unwrap().len(), round);
        // The same for a daemon that finds all of it when it starts.
        daemon.start().unwrap();
    }
}

#[test]
fn a_member_without_a_pane_keeps_its_mail_until_it_has_one() {
    let (world, tmux) = world();
    let mut daemon = Daemon::of(&world);
    daemon.ask(&["register", "w", "--team", TEAM]).unwrap();
    daemon.start().unwrap();
    send(&world, "w", ["one", "two", "three"]);
    let queued = || daemon.member("w").ok().filter(|member| member["queued"] == 3);
    wait_for("all three", PATIENCE, queued).unwrap();
    daemon.wait_for_state("w", "waiting", Some("no pane")).unwrap();
    assert!(entries(&world.inbox(TEAM, "w")).iter().all(|entry| entry["read"] == false));

    let worker = Worker::open(&world, &tmux, "w", &[]).unwrap();
    assert!(worker.texts().is_empty());
    let pane = worker.address(&tmux);
    daemon.ask(&["register", "w", "--team", TEAM, "--pane", &pane]).unwrap();
    let got = worker.wait_for(3, Duration::from_secs(3)).unwrap();
    assert_eq!(got, ["one", "two", "three"].map(|text| seen("s", text)));
    wait_for("the marks", PATIENCE, || all_read(&world, "w")).unwrap();
    daemon.wait_for_state("w", "ready", None).unwrap();
}

#[test]
fn a_stuck_member_delays_nobody_and_says_why() {
    let (world, tmux) = world();
    let mut daemon = Daemon::of(&world);
    // Others have as long as that to get past the one that shows nothing.
    daemon.configure(&format!("{QUICK}confirm_timeout_ms = 5000\nretry_max_ms = 500\n"));
    let [scrolling, silent, other] =
        [("scrolling", &[][..]), ("silent", &["--no-echo"]), ("other", &[])]
            .map(|(name, options)| daemon.worker(&tmux, TEAM, name, options).unwrap());
    tmux.run(&["copy-mode", "-t", &scrolling.pane]).unwrap();
    daemon.start().unwrap();
    send(&world, "scrolling", ["one", "two"]);
    send(&world, "silent", ["one", "two"]);
    daemon.wait_for_state("scrolling", "waiting", Some("copy mode")).unwrap();
    daemon.wait_for_state("silent", "delivering", None).unwrap();
    let texts: Vec<String> = (0..10).map(|n| format!("number {n}")).collect();
    send(&world, "other", texts.iter().map(String::as_str));
    let got = other.wait_for(10, PATIENCE).unwrap();
    let still = daemon.member("silent").unwrap();
    assert_eq!(still["state"], "delivering", "the others waited for it: {still}");
    assert_eq!(got, texts.iter().map(|text| seen("s", text)).collect::<Vec<_>>());

    daemon.wait_for_state("silent", "waiting", Some("unseen")).unwrap();
    let log = daemon.journal().unwrap();
    let reasons = |name: &str| -> Vec<Value> {
        log.iter().filter(|m| m["to"] == name).map(|m| m["reason"].clone()).collect()
    };
    assert_eq!(reasons("scrolling"), [json!("copy mode"), Value::Null]);
    assert_eq!(reasons("silent"), [json!("unseen"), Value::Null]);
    for (name, said) in
        [("scrolling@exo-root", "is in copy mode"), ("silent@exo-root", "does not show")]
    {
        let says = |line: &str| line.contains(name) && line.contains(said);
        assert!(daemon.log().lines().any(says), "nothing in the log about {name}");
    }
    assert!(scrolling.texts().is_empty() && silent.texts().is_empty());
    tmux.run(&["send-keys", "-t", &scrolling.pane, "-X", "cancel"]).unwrap();
    let got = scrolling.wait_for(2, PATIENCE).unwrap();
    assert_eq!(got, [seen("s", "one"), seen("s", "two")]);
    assert!(silent.texts().is_empty(), "Enter was pressed blindly");
}

#[test]
fn structured_messages_arrive_as_sentences() {
    let (world, tmux) = world();
    let mut daemon = Daemon::of(&world);
    let worker = daemon.worker(&tmux, TEAM, "w", &[]).unwrap();
    daemon.start().unwrap();
    let time = "2026-11-16T02:15:56.213Z";
    let shutdown = json!({"type": "shutdown_request", "requestId": "shutdown-1@w",
                          "from": "team-lead", "reason": "all done", "timestamp": time});
    let task = json!({"type": "task_assignment", "taskId": "2", "subject": "Write the files",
                      "description": "Two of\nthem.", "assignedBy": "team-lead", "timestamp": time});
    let sent = [shutdown, task].map(|message| json!({"text": message.to_string()}));
    Lead::new(Writing::Rename).to(&world.inbox(TEAM, "w"), &sent).send(&world).unwrap();
    let got = worker.wait_for(2, PATIENCE).unwrap();
    let begin = "[message from team-lead · shutdown request]\nteam-lead asks you to end your work \
                 and shut down. Reason: all done\n";
    assert!(got[0].starts_with(begin), "{}", got[0]);
    // What it is told to run is what answers.
    let (_, command) = got[0].split_once("run: ringer ").unwrap();
    let words = command.lines().next().unwrap().split_whitespace();
    let arguments: Vec<&str> = words.chain(["--as", "w", "--team", TEAM]).collect();
    daemon.ask(&arguments).unwrap();
    let answer: Value = entries(&world.inbox(TEAM, "team-lead"))[0].take();
    let text: Value = serde_json::from_str(answer["text"].as_str().unwrap()).unwrap();
    assert_eq!(answer["from"], "w");
    assert_eq!(
        (&text["type"], &text["requestId"]),
        (&json!("shutdown_approved"), &json!("shutdown-1@w"))
    );
    let task = "[message from team-lead · task 2]\nteam-lead gave you task 2: Write the files\nTwo of\nthem.\n\nBegin with ";
    assert!(got[1].starts_with(task), "{}", got[1]);
}

#[test]
fn the_journal_knows_every_message_once_with_and_without_a_daemon() {
    let (world, tmux) = world();
    let mut daemon = Daemon::of(&world);
    let worker = daemon.worker(&tmux, TEAM, "w", &[]).unwrap();
    daemon.start().unwrap();
    let texts: Vec<String> = (0..20).map(|n| format!("number {n}")).collect();
    send(&world, "w", texts.iter().map(String::as_str));
    worker.wait_for(20, PATIENCE).unwrap();
    let lead = world.inbox(TEAM, "team-lead");
    for text in ["read by the lead", "removed by the lead", "not seen by the lead"] {
        daemon.ask(&["send", "--team", TEAM, "--from", "w", "--to", "team-lead", text]).unwrap();
    }
    let states = || -> Vec<Value> {
        let out = daemon.journal().unwrap().into_iter().filter(|m| m["direction"] == "out");
        out.map(|message| message["state"].clone()).collect()
    };
    assert_eq!(states(), ["written", "written", "written"]);
    let wait_until = |expected: [&str; 3]| {
        wait_for("a receipt", PATIENCE, || (states() == expected).then_some(())).unwrap();
    };
    let mut now = entries(&lead);
    now[0]["read"] = true.into();
    put(&lead, &serde_json::to_string_pretty(&now).unwrap());
    wait_until(["taken", "written", "written"]);
    now.remove(1);
    put(&lead, &serde_json::to_string_pretty(&now).unwrap());
    wait_until(["taken", "taken", "written"]);

    daemon.wait_for_state("w", "ready", None).unwrap();
    let running = daemon.journal().unwrap();
    assert!(daemon.terminate().unwrap().success());
    assert_eq!(daemon.journal().unwrap(), running, "the log is the same without a daemon");
    let incoming: Vec<&Value> = running.iter().filter(|m| m["direction"] == "in").collect();
    assert_eq!(incoming.iter().map(|m| m["text"].as_str().unwrap()).collect::<Vec<_>>(), texts);
    for message in incoming {
        assert_eq!((&message["state"], &message["copies"]), (&json!("delivered"), &json!(1)));
        for duration in ["read_us", "queued_us", "typed_us", "shown_us"] {
            assert!(message[duration].as_i64().is_some_and(|us| us >= 0), "{duration}: {message}");
        }
        assert!(message["delivered_at"].as_i64() >= message["received_at"].as_i64(), "{message}");
    }
}
