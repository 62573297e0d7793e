//! Any sequence of operations keeps what must hold.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use ringer_teams::{Actor, NewTask, TaskChange, TaskStatus, Tasks};

use crate::Place;

const NAMES: [&str; 3] = ["a", "b", "c"];

#[derive(Debug, Clone)]
enum Op {
    Create {
        owner: Option<usize>,
        blocked_by: Vec<u64>,
        blocks: Vec<u64>,
    },
    Claim {
        id: u64,
        by: Option<usize>,
        who: usize,
    },
    Release {
        id: u64,
        by: Option<usize>,
    },
    Delete {
        id: u64,
        by: Option<usize>,
    },
    Change {
        id: u64,
        by: Option<usize>,
        status: Option<TaskStatus>,
        owner: Option<usize>,
        blocked_by: Vec<u64>,
        blocks: Vec<u64>,
        no_more: Vec<u64>,
    },
}

fn ops() -> impl Strategy<Value = Op> {
    let id = || 1..9u64;
    let ids = || vec(id(), 0..3);
    let name = || 0..NAMES.len();
    let by = || proptest::option::of(name());
    let status = proptest::option::of(proptest::sample::select(TaskStatus::ALL.to_vec()));
    prop_oneof![
        3 => (proptest::option::of(name()), ids(), ids())
            .prop_map(|(owner, blocked_by, blocks)| Op::Create { owner, blocked_by, blocks }),
        4 => (id(), by(), name()).prop_map(|(id, by, who)| Op::Claim { id, by, who }),
        1 => (id(), by()).prop_map(|(id, by)| Op::Release { id, by }),
        1 => (id(), by()).prop_map(|(id, by)| Op::Delete { id, by }),
        6 => (id(), by(), status, proptest::option::of(name()), ids(), ids(), ids()).prop_map(
            |(id, by, status, owner, blocked_by, blocks, no_more)| Op::Change { id, by, status, owner, blocked_by, blocks, no_more }
        ),
    ]
}

fn text(ids: &[u64]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

fn actor(by: Option<usize>) -> Actor {
    by.map_or(Actor::Lead, |at| Actor::Member(NAMES[at].into()))
}

/// Does it; the number of a task that was made.
fn apply(place: &Place, op: &Op) -> ringer_teams::Result<Option<String>> {
    let board = place.team.board();
    let name = |at: &Option<usize>| at.map(|at| NAMES[at].to_owned());
    match op {
        Op::Create { owner, blocked_by, blocks } => {
            let new = NewTask {
                subject: "s".into(),
                owner: name(owner),
                blocked_by: text(blocked_by),
                blocks: text(blocks),
                ..NewTask::default()
            };
            return board.create(&new).map(|task| Some(task.id));
        }
        Op::Claim { id, by, who } => board.claim(&id.to_string(), &actor(*by), NAMES[*who])?,
        Op::Release { id, by } => board.release(&id.to_string(), &actor(*by))?,
        Op::Delete { id, by } => board.delete(&id.to_string(), &actor(*by))?,
        Op::Change { id, by, status, owner, blocked_by, blocks, no_more } => {
            let change = TaskChange {
                status: *status,
                owner: name(owner),
                add_blocked_by: text(blocked_by),
                add_blocks: text(blocks),
                remove_blocked_by: text(no_more),
                ..TaskChange::default()
            };
            board.change(&id.to_string(), &actor(*by), &change)?
        }
    };
    Ok(None)
}

/// What must hold of every board that only we have changed.
fn check(tasks: &Tasks) {
    assert!(tasks.broken.is_empty(), "{:?}", tasks.broken);
    let mut active = BTreeMap::new();
    for task in &tasks.found {
        task.status.parse::<TaskStatus>().unwrap();
        assert!(!task.is_deleted(), "a deleted task has no file");
        if let Some(owner) = task.owner.as_ref().filter(|_| task.is_active()) {
            assert_eq!(active.insert(owner, &task.id), None, "{owner} is at two");
        }
        for other in &task.blocks {
            let other = tasks.get(other).expect("what it blocks is there");
            assert!(other.blocked_by.contains(&task.id), "{} blocks {}", task.id, other.id);
        }
        for other in &task.blocked_by {
            let other = tasks.get(other).expect("what blocks it is there");
            assert!(other.blocks.contains(&task.id), "{} waits for {}", task.id, other.id);
        }
        let unique: BTreeSet<_> = task.blocked_by.iter().collect();
        assert_eq!(unique.len(), task.blocked_by.len());
    }
    // No circle: taking away, again and again, what waits for nothing leaves nothing.
    let mut left: Vec<_> = tasks.found.iter().collect();
    loop {
        let ids: BTreeSet<_> = left.iter().map(|task| task.id.clone()).collect();
        let before = left.len();
        left.retain(|task| task.blocked_by.iter().any(|id| ids.contains(id)));
        if left.len() == before {
            break;
        }
    }
    assert!(left.is_empty(), "these wait for each other: {left:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_keeps_the_rules(ops in vec(ops(), 1..40)) {
        let place = Place::new(&NAMES);
        let mut given = BTreeSet::new();
        for op in &ops {
            let before = place.team.tasks().unwrap();
            let was_blocked = |id: &str| !before.waits().blockers(id).is_empty();
            match apply(&place, op) {
                Ok(Some(id)) => prop_assert!(given.insert(id.clone()), "number {id} was given twice"),
                Ok(None) => {}
                Err(error) => {
                    prop_assert!(error.code() != "internal_error", "{op:?}: {error}");
                    let after = place.team.tasks().unwrap();
                    prop_assert_eq!(&before.found, &after.found, "a refusal changes nothing");
                }
            }
            let after = place.team.tasks().unwrap();
            check(&after);
            for task in after.found.iter().filter(|task| task.is_active()) {
                let started = before.get(&task.id).is_none_or(|task| !task.is_active());
                prop_assert!(!(started && was_blocked(&task.id)), "{} was blocked", task.id);
            }
        }
    }
}
