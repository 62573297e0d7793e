//! The board after all is over, against what everybody says that they did.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;

use ringer_testkit::World;
use serde_json::Value;

use crate::worker::{Book, Hold, Note};
use crate::{TASKS, read_task, tasks_dir};

/// Everything on the board, and all that was done there.
pub(crate) struct Inspection<'b> {
    tasks: BTreeMap<String, Value>,
    books: &'b [Book],
    /// What those who lock like Claude Code say of themselves.
    nodes: &'b [Value],
}

impl<'b> Inspection<'b> {
    /// Reads the board, where nothing may lie but tasks.
    pub(crate) fn new(world: &World, books: &'b [Book], nodes: &'b [Value]) -> Self {
        let mut tasks = BTreeMap::new();
        for entry in fs::read_dir(tasks_dir(world)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if name == ".lock" {
                continue;
            }
            let id = name.strip_suffix(".json").filter(|id| id.parse::<u64>().is_ok());
            let id = id.unwrap_or_else(|| panic!("{name} was left behind"));
            assert!(entry.file_type().unwrap().is_file(), "{name}");
            let task = read_task(world, id);
            assert_eq!(task["id"], id, "{task}");
            tasks.insert(id.to_owned(), task);
        }
        Self { tasks, books, nodes }
    }

    pub(crate) fn check(&self) {
        self.no_task_was_ever_owned_by_two();
        self.everybody_gave_back_what_they_had();
        self.nothing_is_missing_and_no_number_was_given_twice();
        self.no_update_was_lost();
        self.both_sides_of_every_dependency_agree();
        self.nothing_waits_in_a_circle();
    }

    fn no_task_was_ever_owned_by_two(&self) {
        let mut holds: BTreeMap<u64, Vec<&Hold>> = BTreeMap::new();
        for hold in self.books.iter().flat_map(|book| &book.holds) {
            holds.entry(hold.task).or_default().push(hold);
        }
        for of_one in holds.values_mut() {
            of_one.sort_by_key(|hold| hold.from);
            for pair in of_one.windows(2) {
                let is_over = pair[0].until.is_some_and(|until| until < pair[1].from);
                assert!(is_over, "two had the same task: {pair:#?}");
            }
        }
        for book in self.books {
            for pair in book.holds.windows(2) {
                assert!(pair[0].until.is_none_or(|until| until < pair[1].from), "{pair:#?}");
            }
        }
    }

    fn everybody_gave_back_what_they_had(&self) {
        let holds = self.books.iter().flat_map(|book| &book.holds);
        let completed: HashMap<String, &str> = holds
            .filter(|hold| hold.until.is_none())
            .map(|hold| (hold.task.to_string(), hold.who.as_str()))
            .collect();
        for (id, task) in &self.tasks {
            let (status, owner) = (&task["status"], task["owner"].as_str());
            match completed.get(id) {
                Some(who) => assert!(status == "completed" && owner == Some(who), "{task}"),
                None => assert!(status == "pending" && owner.is_none(), "{task}"),
            }
        }
    }

    fn nothing_is_missing_and_no_number_was_given_twice(&self) {
        let first: Vec<String> = (1..=TASKS).map(|id| id.to_string()).collect();
        let ours = self.books.iter().flat_map(|book| &book.created).map(String::as_str);
        let theirs = self.nodes.iter().flat_map(|node| strings(&node["created"]));
        let all: Vec<&str> = first.iter().map(String::as_str).chain(ours).chain(theirs).collect();
        let each_once: BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), each_once.len(), "a number was given twice");
        assert!(each_once.into_iter().eq(self.tasks.keys()), "{:?}", self.tasks.keys());
    }

    fn no_update_was_lost(&self) {
        for (task, mark) in self.books.iter().flat_map(|book| &book.marks) {
            let facts = &self.tasks[&task.to_string()]["metadata"];
            assert_eq!(facts[mark], true, "{mark} is lost from task {task}: {facts}");
        }
        // Only its owner writes what came of a task: the last one did so last.
        let mut last: BTreeMap<u64, &Note> = BTreeMap::new();
        for note in self.books.iter().flat_map(|book| &book.notes) {
            let there = last.entry(note.task).or_insert(note);
            if there.at < note.at {
                *there = note;
            }
        }
        for (id, note) in last {
            let result = &self.tasks[&id.to_string()]["metadata"]["result_summary"];
            assert_eq!(*result, note.text, "task {id}");
        }
        for node in self.nodes {
            let tag = node["tag"].as_str().unwrap();
            let counted = node["updates"].as_object().unwrap();
            for (id, task) in &self.tasks {
                let (there, said) = (&task["metadata"][tag], counted.get(id));
                assert_eq!(there, said.unwrap_or(&Value::Null), "{tag} at task {id}");
            }
        }
        // The last of all who called a task something is the last that one of them called it.
        for (id, task) in &self.tasks {
            let called: Vec<&Value> =
                self.nodes.iter().filter_map(|node| node["subjects"].get(id)).collect();
            let subject = &task["subject"];
            assert!(called.is_empty() || called.contains(&subject), "{subject}: {called:?}");
        }
    }

    /// Every dependency as it is told by one of the two lists: who waits, and for whom.
    fn told_by(&self, list: &str) -> BTreeSet<(&str, &str)> {
        let mut all = BTreeSet::new();
        for (id, task) in &self.tasks {
            let others: Vec<&str> = strings(&task[list]).collect();
            let pairs: BTreeSet<(&str, &str)> = others
                .iter()
                .map(|other| if list == "blocks" { (*other, &**id) } else { (&**id, *other) })
                .collect();
            assert_eq!(pairs.len(), others.len(), "one is there twice: {task}");
            all.extend(pairs);
        }
        all
    }

    fn both_sides_of_every_dependency_agree(&self) {
        let (waiting, waited_for) = (self.told_by("blockedBy"), self.told_by("blocks"));
        let differ: Vec<_> = waiting.symmetric_difference(&waited_for).collect();
        assert!(differ.is_empty(), "only one side says it: {differ:?}");
        let ours = self.books.iter().flat_map(|book| &book.links);
        for (one, other) in ours {
            assert!(waiting.contains(&(one, other)), "{one} does not wait for {other} any more");
        }
        for link in self.nodes.iter().flat_map(|node| node["links"].as_array().unwrap()) {
            let ends: Vec<&str> = strings(link).collect();
            assert!(waiting.contains(&(ends[0], ends[1])), "{ends:?}");
        }
    }

    fn nothing_waits_in_a_circle(&self) {
        let mut waits = self.told_by("blockedBy");
        loop {
            let waiting: BTreeSet<&str> = waits.iter().map(|(one, _)| *one).collect();
            let before = waits.len();
            waits.retain(|(_, on)| waiting.contains(on));
            if waits.len() == before {
                break;
            }
        }
        assert!(waits.is_empty(), "they wait for each other: {waits:?}");
    }
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap())
}
