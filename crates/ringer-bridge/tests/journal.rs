//! The journal on disk: states, what is pruned, what several processes and versions do to it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use ringer_bridge::{
    Delivered, Filter, Intake, Journal, MemberId, Message, State, StateDir, Typing, Via,
};
use ringer_teams::Inbox;

const INBOX: &str = "/teams/exo/inboxes/w.json";

struct World {
    _dir: tempfile::TempDir,
    state: StateDir,
    journal: Journal,
    member: MemberId,
}

fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::new(dir.path().join("state"));
    let journal = Journal::open(&state).unwrap();
    World { _dir: dir, state, journal, member: MemberId::new("/teams/exo", "w") }
}

impl World {
    fn receive(&self, rows: &[String], now: SystemTime) -> usize {
        let inbox = Inbox::parse(&format!("[{}]", rows.join(","))).unwrap();
        let intake = Intake {
            member: &self.member,
            team: "exo",
            path: Path::new(INBOX),
            inbox: &inbox,
            read: Duration::from_micros(7),
            now,
        };
        self.journal.receive(&intake).unwrap()
    }

    fn next(&self) -> Option<Message> {
        self.journal.next(&self.member).unwrap()
    }

    fn all(&self) -> Vec<Message> {
        self.journal.messages(&Filter::default()).unwrap()
    }

    fn deliver(&self, id: i64, now: SystemTime) {
        self.journal.delivering(id, &typing(0)).unwrap();
        let how = Delivered { typed: Duration::ZERO, shown: None, now };
        self.journal.delivered(id, &how).unwrap();
    }
}

fn typing(shown_before: u32) -> Typing {
    let (via, queued) = (Via::Keys, Duration::from_micros(5));
    Typing { via, shown_before, queued, now: SystemTime::now() }
}

fn row(id: u32) -> String {
    format!(r#"{{"from": "team-lead", "text": "text {id}", "timestamp": "t", "msg_id": "{id}"}}"#)
}

#[test]
fn a_message_goes_through_its_states_and_keeps_its_turn() {
    let world = world();
    let now = SystemTime::now();
    assert_eq!(world.receive(&[row(1), row(2)], now), 2);
    assert_eq!(world.receive(&[row(1), row(2)], now), 0);

    let first = world.next().unwrap();
    assert_eq!((first.text.as_str(), first.state), ("text 1", State::Received));
    world.journal.waiting(first.id, "no pane", now).unwrap();
    let first = world.next().unwrap();
    assert_eq!((first.state, first.reason.as_deref()), (State::Waiting, Some("no pane")));

    world.journal.delivering(first.id, &typing(3)).unwrap();
    let first = world.next().unwrap();
    assert_eq!((first.state, first.copies, first.shown_before), (State::Delivering, 1, Some(3)));
    assert_eq!(first.reason, None);
    world.journal.entering(first.id).unwrap();
    assert!(world.next().unwrap().entering);

    let how = Delivered { typed: Duration::from_micros(9), shown: None, now };
    world.journal.delivered(first.id, &how).unwrap();
    assert_eq!(world.next().unwrap().text, "text 2");
    let first = world.all().remove(0);
    assert_eq!((first.read_us, first.queued_us, first.typed_us), (Some(7), Some(5), Some(9)));
    let queue = world.journal.queue(&world.member).unwrap();
    assert_eq!((queue.queued, queue.failed), (1, 0));
    assert!(queue.last_delivery.is_some());
}

#[test]
fn what_was_not_typed_is_no_copy() {
    let world = world();
    let now = SystemTime::now();
    world.receive(&[row(1)], now);
    let id = world.next().unwrap().id;
    world.journal.delivering(id, &typing(0)).unwrap();
    world.journal.not_typed(id, "copy mode", now).unwrap();
    assert_eq!(world.next().unwrap().copies, 0);
    world.journal.delivering(id, &typing(0)).unwrap();
    world.journal.entering(id).unwrap();
    world.journal.not_entered(id, "copy mode", now).unwrap();
    let message = world.next().unwrap();
    assert_eq!((message.copies, message.entering, message.state), (1, false, State::Waiting));
}

#[test]
fn pruning_touches_nothing_that_is_not_delivered_and_marked() {
    let world = world();
    let long_ago = SystemTime::now() - Duration::from_hours(24 * 90);
    world.receive(&[row(1), row(2), row(3)], long_ago);
    let ids: Vec<i64> = world.all().iter().map(|message| message.id).collect();
    world.deliver(ids[0], long_ago);
    world.journal.waiting(ids[1], "no pane", long_ago).unwrap();
    world.journal.failed_for(ids[2], "unseen", long_ago).unwrap();

    // The inbox does not say yet that the first was read.
    let then = SystemTime::now() - Duration::from_hours(24 * 30);
    assert_eq!(world.journal.prune(then, |_| false).unwrap(), 0);
    assert_eq!(world.all().len(), 3);
    // The team is gone, and the inbox with it: there is nothing to be marked any more.
    world.journal.prune(then, |_| true).unwrap();
    let left: Vec<State> = world.all().iter().map(|message| message.state).collect();
    assert_eq!(left, [State::Waiting, State::Failed]);
    // What was pruned is still known, as long as something of that inbox is.
    assert_eq!(world.receive(&[row(1)], SystemTime::now()), 0);
}

#[test]
fn only_its_user_can_read_it() {
    let world = world();
    world.receive(&[row(1)], SystemTime::now());
    for entry in std::fs::read_dir(world.state.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.file_name());
    }
}

#[test]
fn many_writers_lose_nothing() {
    let world = world();
    let all: Vec<_> = (0..4)
        .map(|writer| {
            let state = world.state.clone();
            thread::spawn(move || {
                let journal = Journal::open(&state).unwrap();
                let member = MemberId::new("/teams/exo", &format!("w{writer}"));
                for number in 0..50 {
                    let inbox = Inbox::parse(&format!("[{}]", row(number))).unwrap();
                    let path = format!("/teams/exo/inboxes/w{writer}.json");
                    let intake = Intake {
                        member: &member,
                        team: "exo",
                        path: Path::new(&path),
                        inbox: &inbox,
                        read: Duration::ZERO,
                        now: SystemTime::now(),
                    };
                    journal.receive(&intake).unwrap();
                }
            })
        })
        .collect();
    for one in all {
        one.join().unwrap();
    }
    let all = world.all();
    assert_eq!(all.len(), 200);
    // Followers see every change in an order that does not repeat.
    let mut revisions: Vec<i64> = all.iter().map(|message| message.revision).collect();
    revisions.sort_unstable();
    revisions.dedup();
    assert_eq!(revisions.len(), 200);
}

#[test]
fn a_journal_of_a_newer_ringer_is_refused_and_left_alone() {
    let world = world();
    let path = Journal::path_in(&world.state);
    drop(world.journal);
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let error = Journal::open(&world.state).unwrap_err();
    assert_eq!(error.code(), "unreadable");
    assert!(error.to_string().contains("has version 99"), "{error}");
}
