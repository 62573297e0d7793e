//! What a worker does at random, and its book of what came of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ringer_testkit::World;
use serde_json::Value;

use crate::hands::{Answer, Deed, Hands, answer_of};
use crate::{KNOT, TASKS, TEAM, read_task};

/// So many tasks all workers are after at a time, beside all others; the next ones every second.
const WANTED: u64 = 6;

/// A time in which a task was this worker's beyond doubt: from when it was told so until before it gave the task back.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) task: u64,
    pub(crate) who: String,
    pub(crate) from: Instant,
    /// Never, for one that was completed.
    pub(crate) until: Option<Instant>,
}

/// What was written into a task by its owner.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) task: u64,
    pub(crate) text: String,
    pub(crate) at: Instant,
}

/// All that a worker did.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) holds: Vec<Hold>,
    pub(crate) notes: Vec<Note>,
    /// Facts that have to be on the board, by their names.
    pub(crate) marks: Vec<(u64, String)>,
    /// Who waits, and for whom.
    pub(crate) links: Vec<(String, String)>,
    pub(crate) created: Vec<String>,
    /// What was answered how often.
    pub(crate) answers: BTreeMap<String, usize>,
    pub(crate) times: Vec<Duration>,
}

impl Book {
    fn count(&mut self, what: &str, answer: &Answer) {
        let how = answer.as_ref().err().map_or("done", String::as_str);
        *self.answers.entry(format!("{what}: {how}")).or_default() += 1;
    }
}

/// Numbers that look like chance.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// Somebody who works at the board until it is over.
pub(crate) struct Worker<'w> {
    pub(crate) world: &'w World,
    pub(crate) name: String,
    pub(crate) hands: Box<dyn Hands + 'w>,
    pub(crate) dice: Dice,
    pub(crate) book: Book,
    pub(crate) started: Instant,
}

impl Worker<'_> {
    pub(crate) fn work(mut self, time: Duration) -> Book {
        self.started = Instant::now();
        while self.started.elapsed() < time {
            if let Some(hold) = self.claims() {
                self.has(hold);
            }
            if self.hands.marks() && self.dice.below(4) == 0 {
                self.leads();
            }
        }
        self.book
    }

    /// One of those that there were, or that come while it goes on; as often one that the others are after now, too.
    fn any_task(&mut self) -> u64 {
        let wanted_by_all = self.started.elapsed().as_secs() * WANTED;
        match self.dice.below(2) {
            0 => 1 + self.dice.below(TASKS + 20),
            _ => 1 + (wanted_by_all + self.dice.below(WANTED)) % TASKS,
        }
    }

    fn text(&self) -> String {
        format!("{}-{}", self.name, self.book.times.len())
    }

    fn all(&mut self, what: &str, deeds: &[Deed]) -> Vec<Answer> {
        let started = Instant::now();
        let answers = self.hands.all(deeds);
        self.book.times.push(started.elapsed());
        for answer in &answers {
            self.book.count(what, answer);
        }
        answers
    }

    /// Something that nothing stands in the way of.
    fn does(&mut self, what: &str, deed: &Deed) {
        let answers = self.all(what, std::slice::from_ref(deed));
        assert!(answers[0].is_ok(), "{}: {deed:?}: {answers:?}", self.name);
    }

    /// Claims a task, or two at once, of which it can get one.
    fn claims(&mut self) -> Option<Hold> {
        let mut ids = vec![self.any_task()];
        if self.dice.below(4) == 0 {
            ids.push(self.any_task());
        }
        ids.dedup();
        let deeds: Vec<Deed> = ids.iter().map(|id| Deed::Claim(*id)).collect();
        let answers = self.all("claim", &deeds);
        let from = Instant::now();
        let mut won = Vec::new();
        for (task, answer) in ids.iter().zip(&answers) {
            match answer {
                Ok(answer) => {
                    waits_for_nothing(&answer["task"]);
                    won.push(*task);
                }
                Err(code) => self.accepts_refusal(*task, code, ids.len() > 1),
            }
        }
        assert!(won.len() < 2, "{} was given two tasks at once: {won:?}", self.name);
        won.pop().map(|task| Hold { task, who: self.name.clone(), from, until: None })
    }

    fn accepts_refusal(&self, task: u64, code: &str, is_busy: bool) {
        let is_fair = match code {
            "conflict" | "blocked" | "invalid_status" => true,
            // It has nothing, unless it has just been given the other one.
            "busy" => is_busy,
            "task_not_found" => task > TASKS,
            _ => false,
        };
        assert!(is_fair, "{} claimed task {task}: {code}", self.name);
    }

    /// Works on a task, and gives it back or completes it.
    fn has(&mut self, mut hold: Hold) {
        let task = hold.task;
        for _ in 0..self.dice.below(3) {
            let text = self.text();
            self.does("note", &Deed::Note(task, text.clone()));
            self.notes(task, text);
        }
        if self.dice.below(6) == 0 {
            self.wants_more(task);
        }
        if self.dice.below(12) == 0 {
            let text = self.text();
            self.does("complete", &Deed::Complete(task, text.clone()));
            self.notes(task, text);
        } else {
            hold.until = Some(Instant::now());
            self.does("release", &Deed::Release(task));
        }
        self.book.holds.push(hold);
    }

    fn notes(&mut self, task: u64, text: String) {
        if self.hands.marks() {
            self.book.marks.push((task, text.clone()));
        }
        self.book.notes.push(Note { task, text, at: Instant::now() });
    }

    /// Claims another one while it has one.
    fn wants_more(&mut self, has: u64) {
        let other = self.any_task();
        if other == has {
            return;
        }
        let answers = self.all("claim a second", &[Deed::Claim(other)]);
        match &answers[0] {
            Ok(_) => panic!("{} has task {has} and was given {other}", self.name),
            Err(code) => self.accepts_refusal(other, code, true),
        }
    }

    /// Does something as the lead, with tasks that anybody may have.
    fn leads(&mut self) {
        match self.dice.below(8) {
            0..3 => {
                let (task, mark) = (1 + self.dice.below(TASKS), format!("lead-{}", self.text()));
                let meta = format!("{mark}=true");
                let answer = self.lead("mark", &["update", &task.to_string(), "--meta", &meta]);
                assert!(answer.is_ok(), "{answer:?}");
                self.book.marks.push((task, mark));
            }
            3..6 => self.links(),
            _ => {
                let on = (1 + self.dice.below(TASKS)).to_string();
                let answer =
                    self.lead("create", &["create", "--subject", "new", "--blocked-by", &on]);
                let id = answer.unwrap()["task"]["id"].as_str().unwrap().to_owned();
                self.is_linked(&id, &on);
                self.book.created.push(id);
            }
        }
    }

    /// Makes a task wait for another, if that closes no circle.
    fn links(&mut self) {
        let (one, other) = (1 + self.dice.below(KNOT), 1 + self.dice.below(KNOT));
        if one == other {
            return;
        }
        let (one, other) = (one.to_string(), other.to_string());
        match self.lead("link", &["update", &one, "--add-blocked-by", &other]) {
            Ok(_) => self.is_linked(&one, &other),
            Err(code) => assert_eq!(code, "circular_dependency"),
        }
    }

    /// Looks at once: whoever changes the board next would add a side that is missing.
    fn is_linked(&mut self, one: &str, other: &str) {
        let (waits, on) = (read_task(self.world, one), read_task(self.world, other));
        let says = |task: &Value, list: &str, id: &str| {
            task[list].as_array().unwrap().iter().any(|item| item == id)
        };
        assert!(says(&waits, "blockedBy", other) && says(&on, "blocks", one), "{waits}\n{on}");
        self.book.links.push((one.to_owned(), other.to_owned()));
    }

    fn lead(&mut self, what: &str, arguments: &[&str]) -> Answer {
        let mut ringer = self.world.ringer();
        ringer.arg("tasks").args(arguments).args(["--team", TEAM, "--json"]);
        let started = Instant::now();
        let answer = answer_of(&ringer.output().unwrap());
        self.book.times.push(started.elapsed());
        self.book.count(what, &answer);
        answer
    }
}

/// Whether all was completed that the task said it waits for when it was claimed. What was added since is in its list of
/// open ones alone.
fn waits_for_nothing(task: &Value) {
    let open = task["waits_for"].as_array().unwrap();
    let waited = task["blocked_by"].as_array().unwrap();
    assert!(!waited.iter().any(|id| open.contains(id)), "it was blocked: {task}");
}
