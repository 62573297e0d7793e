//! The journal on disk: states, what is pruned, what several processes and versions do to it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use ringer_bridge::{
    Claim, Delivered, Fetch, Filter, Intake, Journal, MemberId, Message, State, StateDir, Typing,
    Via,
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
    Typing { claim: None, via, shown_before, queued, now: SystemTime::now() }
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

fn fetch(claim: Claim, turn_ends: bool) -> Fetch {
    Fetch { via: Via::Hook, claim, woken: false, turn_ends }
}

#[test]
fn what_is_handed_over_is_not_typed_and_the_other_way_round() {
    let world = world();
    let now = SystemTime::now();
    world.receive(&[row(1), row(2), row(3)], now);
    let ours = || fetch(Claim::ours(), false);
    // The first is being typed: nothing behind it may overtake it.
    let first = world.next().unwrap().id;
    assert!(world.journal.delivering(first, &typing(0)).unwrap());
    assert!(world.journal.claim(&world.member, &ours()).unwrap().is_empty());
    world.deliver(first, now);
    let taken = world.journal.claim(&world.member, &ours()).unwrap();
    let texts: Vec<&str> = taken.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["text 2", "text 3"]);
    assert!(world.journal.claim(&world.member, &ours()).unwrap().is_empty(), "taken once");
    world.journal.handed_over(&taken, now).unwrap();
    assert!(!world.journal.delivering(taken[0].id, &typing(0)).unwrap(), "it has it already");
    assert!(!world.journal.waiting(taken[0].id, "busy", now).unwrap());
    let last = world.all().pop().unwrap();
    assert_eq!((last.state, last.via), (State::Delivered, Some(Via::Hook)));
    assert!(last.confirmed_at.is_some());
    assert_eq!(world.next().map(|message| message.id), None);
}

#[test]
fn a_claim_is_void_with_its_process_and_with_the_turn() {
    let world = world();
    let now = SystemTime::now();
    world.receive(&[row(1)], now);
    // No process has that number.
    let dead = Claim::of(u32::MAX);
    assert_eq!(world.journal.claim(&world.member, &fetch(dead, false)).unwrap()[0].copies, 1);
    let ours = world.journal.claim(&world.member, &fetch(Claim::ours(), false)).unwrap();
    assert_eq!(ours[0].copies, 2, "a second copy says so");
    assert!(world.journal.claim(&world.member, &fetch(Claim::ours(), false)).unwrap().is_empty());
    let again = world.journal.claim(&world.member, &fetch(Claim::ours(), true)).unwrap();
    assert_eq!(again.len(), 1, "the turn has ended, and nobody has seen it");
    world.journal.let_go(&again, now).unwrap();
    let waiting = world.next().unwrap();
    assert_eq!((waiting.state, waiting.reason.as_deref()), (State::Waiting, Some("forgotten")));
    assert!(world.journal.delivering(waiting.id, &typing(0)).unwrap());
}

#[test]
fn what_a_wake_line_was_typed_for_is_for_the_hook() {
    let world = world();
    let now = SystemTime::now();
    world.receive(&[row(1)], now);
    let id = world.next().unwrap().id;
    world.journal.delivering(id, &Typing { via: Via::Wake, ..typing(0) }).unwrap();
    let not_woken = fetch(Claim::ours(), false);
    assert!(world.journal.claim(&world.member, &not_woken).unwrap().is_empty());
    let woken = Fetch { woken: true, ..not_woken };
    let taken = world.journal.claim(&world.member, &woken).unwrap();
    assert_eq!((taken.len(), taken[0].copies), (1, 1), "the line is no copy of it");
}
