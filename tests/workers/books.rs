//! A lead that keeps a copy of all that it sends, and asks in the end what became of each message.
//!
//! Owns the accounts: a message is accounted for if its worker got it, or if it went back. What came twice, or may have,
//! has to say so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;

use crate::scene::{Scene, TEAM, said, within};

const FROM_LEAD: &str = "[message from team-lead]\n";
const SECOND_COPY: &str = "[second copy: the first one may have arrived] ";
const RETURNED: &str = "not delivered: worker ended (";
const MAYBE: &str = " (it may have arrived)";

/// As many rounds of mail as fit into one message when they all go back.
const MOST_ROUNDS: usize = 250;

/// Who a message was for, and what it said.
type Copy = (String, String);

pub(crate) struct Lead {
    /// How anything is sent.
    send: Command,
    pub(crate) workers: Vec<String>,
    sent: Mutex<Vec<Copy>>,
    rounds: AtomicUsize,
    enough: AtomicBool,
}

/// What became of it all.
pub(crate) struct Books {
    pub(crate) sent: usize,
    /// Went back to the lead.
    pub(crate) returned: usize,
    /// Delivered to a worker that was killed in that very moment: only the journal knows of it.
    pub(crate) taken_along: usize,
}

impl fmt::Display for Books {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, returned, taken_along } = self;
        write!(f, "{sent} sent, {returned} came back, {taken_along} taken along")
    }
}

impl Lead {
    pub(crate) fn of(scene: &Scene, workers: &[String]) -> Self {
        Self {
            send: scene.ringer(&["send", "--team", TEAM, "--json"]),
            workers: workers.to_vec(),
            sent: Mutex::default(),
            rounds: AtomicUsize::new(0),
            enough: AtomicBool::new(false),
        }
    }

    /// Sends a message, no two of which may be alike, unless nobody has that name any more.
    pub(crate) fn send(&self, to: &str, text: &str) {
        let output = within(&[], &self.send).args(["--to", to, text]).output().unwrap();
        if output.status.success() {
            self.sent.lock().unwrap().push((to.to_owned(), text.to_owned()));
        } else {
            assert!(said(&output).contains("\"agent_not_found\""), "{}", said(&output));
        }
    }

    /// Writes to everybody, whether or not they are there.
    pub(crate) fn write(&self) {
        let round = self.rounds.fetch_add(1, Ordering::Relaxed);
        for name in &self.workers {
            self.send(name, &format!("round {round} for {name}."));
        }
    }

    /// Does so again and again, until it is told that this is enough.
    pub(crate) fn keep_writing(&self) {
        while !self.enough.load(Ordering::Relaxed) && self.rounds() < MOST_ROUNDS {
            self.write();
        }
    }

    pub(crate) fn stop_writing(&self) {
        self.enough.store(true, Ordering::Relaxed);
    }

    /// Waits until whoever keeps writing has written to everybody once more.
    pub(crate) fn wait_for_mail(&self, scene: &Scene) {
        let enough = (self.rounds() + 2).min(MOST_ROUNDS);
        scene.wait("mail", || self.rounds() >= enough);
    }

    fn rounds(&self) -> usize {
        self.rounds.load(Ordering::Relaxed)
    }

    /// What a worker was sent that somebody saw, as it is shown to it.
    pub(crate) fn seen(&self, name: &str, saw: impl Fn(&str) -> bool) -> Vec<String> {
        let sent = self.sent.lock().unwrap();
        let texts = sent.iter().filter(|(to, text)| to == name && saw(text));
        texts.map(|(_, text)| format!("{FROM_LEAD}{text}")).collect()
    }

    /// Waits until every message is accounted for, and sees that all is right with them. `has` says what a worker has
    /// got; only one that is not `left` can have taken anything along.
    pub(crate) fn settle(
        &self,
        scene: &Scene,
        has: &dyn Fn(&str) -> Vec<String>,
        left: &[String],
    ) -> Books {
        let sent = self.sent.lock().unwrap().clone();
        let all: BTreeSet<&Copy> = sent.iter().collect();
        assert_eq!(all.len(), sent.len(), "some are alike");
        scene.wait("every message to be accounted for", || {
            let (got, back) = (self.arrived(&all, has), came_back(scene));
            let open = |copy: &&&Copy| !got.contains_key(*copy) && !back.contains_key(*copy);
            let open: Vec<&&Copy> = all.iter().filter(open).collect();
            if open.is_empty() || open.iter().any(|copy| left.contains(&copy.0)) {
                return open.is_empty();
            }
            let states = states(scene);
            open.iter().all(|copy| states.get(&copy.1).is_some_and(|state| state == "delivered"))
        });
        let (got, back) = (self.arrived(&all, has), came_back(scene));
        let mut along: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for copy in all.iter().copied() {
            let (to, text) = copy;
            match (got.contains_key(copy), back.get(copy)) {
                (true, None) => {}
                (false, None) => along.entry(to).or_default().push(text),
                (got, Some(times)) => {
                    let says_so = times.iter().all(|maybe| *maybe);
                    assert!(!got || says_so, "{to} got {text:?}, and it came back{}", scene.all());
                    // A daemon that is killed just after it gave something back does it again.
                    assert!(times.len() <= 2, "{text:?} came back again and again{}", scene.all());
                }
            }
        }
        for (name, texts) in &along {
            assert!(texts.len() == 1, "{name} never got {texts:?}{}", scene.all());
        }
        Books { sent: sent.len(), returned: back.len(), taken_along: along.len() }
    }

    /// What workers got, and how often. Who gets something again has to be told.
    fn arrived(
        &self,
        all: &BTreeSet<&Copy>,
        has: &dyn Fn(&str) -> Vec<String>,
    ) -> BTreeMap<Copy, usize> {
        let mut arrived: BTreeMap<Copy, usize> = BTreeMap::new();
        for name in &self.workers {
            for text in has(name) {
                let again = text.strip_prefix(SECOND_COPY);
                let words = again.unwrap_or(&text).strip_prefix(FROM_LEAD).unwrap_or(&text);
                let copy = (name.clone(), words.to_owned());
                assert!(all.contains(&copy), "{name} got {text:?}, which nobody sent");
                let times = arrived.entry(copy).or_default();
                *times += 1;
                assert!(*times == 1 || again.is_some(), "{name} got {text:?} twice");
            }
        }
        arrived
    }
}

/// What came back, and each time whether it may have arrived.
fn came_back(scene: &Scene) -> BTreeMap<Copy, Vec<bool>> {
    let mut back: BTreeMap<Copy, Vec<bool>> = BTreeMap::new();
    for letter in scene.told(TEAM).iter().filter(|text| text.starts_with(RETURNED)) {
        let mut parts = letter.split("\n\n");
        let head = parts.next().and_then(|head| head.lines().nth(1)).unwrap();
        let name = head.split(' ').next().unwrap();
        for part in parts {
            let (number, text) = part.split_once('\n').unwrap();
            let maybe = number.ends_with(MAYBE);
            back.entry((name.to_owned(), text.to_owned())).or_default().push(maybe);
        }
    }
    back
}

/// What the journal says of each message, by its text.
fn states(scene: &Scene) -> BTreeMap<String, String> {
    let log = scene.run(&["log", "--last", "100000", "--json"]);
    let log: Value = serde_json::from_str(&log).unwrap();
    let word = |message: &Value, key: &str| message[key].as_str().unwrap().to_owned();
    let all = log["messages"].as_array().unwrap().iter();
    all.map(|message| (word(message, "text"), word(message, "state"))).collect()
}
