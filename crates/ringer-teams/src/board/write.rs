//! Writing one task, so that the change stays.
//!
//! Owns the looks after a change. The oldest Claude Code changes a task without a lock: what it had read before ours, it
//! may write after it. So on teams that one so old may lead, a change is looked at again a moment later, and made again
//! if it was undone.

use std::cell::RefCell;
use std::thread;
use std::time::Duration;

use super::change::Edits;
use super::{Board, TaskError, rules};
use crate::edit::{self, Change};
use crate::error::Result;
use crate::json::NotWhole;
use crate::task::Task;

/// After so long a change is looked at again, at most so often. The oldest Claude Code takes 0.1 to 0.4 ms from its
/// look at a task to its write.
const LOOK: Duration = Duration::from_millis(5);
const LOOKS: u32 = 5;

/// What a change gave, or why it was refused.
type Kept<T> = std::result::Result<T, TaskError>;

/// Changes a task as `decide` says, which sees it as it is in its file; the task before and after.
pub(super) fn write(
    board: &Board<'_>,
    id: &str,
    decide: impl Fn(&Task) -> Kept<Edits>,
) -> Result<Kept<(Task, Task)>> {
    let path = board.path(id);
    let made = RefCell::new(Edits::default());
    let change = |text: &str| -> std::result::Result<_, NotWhole> {
        let before = Task::parse(text)?;
        let edits = match decide(&before) {
            Ok(edits) => edits,
            Err(refusal) => return Ok(Change::Keep(Err(refusal))),
        };
        let text = edits.apply(text)?;
        let task = Task::parse(&text)?;
        if task == before {
            return Ok(Change::Keep(Ok((before, task))));
        }
        if let Err(refusal) = rules::check_growth(&before, &task) {
            return Ok(Change::Keep(Err(refusal)));
        }
        made.replace(edits);
        Ok(Change::Write { text, sync: true, value: Ok((before, task)) })
    };
    let first = edit::edit(&path, None, change)?;
    let (Ok((before, task)), true) = (&first.value, has_unlocked_writers(board)) else {
        return Ok(first.value);
    };
    let (before, task, mut swap) = (before.clone(), task.clone(), first.swap);
    for _ in 0..LOOKS {
        let Some(last) = &mut swap else { break };
        thread::sleep(LOOK);
        let now = if last.new.is_at(&path) { last.new.overwritten() } else { None };
        if !now.is_some_and(|now| made.borrow().is_undone(&before.raw, &now)) {
            break;
        }
        let again = edit::edit(&path, None, change)?;
        if let Err(refusal) = again.value {
            return Ok(Err(refusal));
        }
        swap = again.swap;
    }
    Ok(Ok((before, task)))
}

/// Whether the lead may be a Claude Code that takes no lock to change a task. Those that make a team for every session
/// all do.
fn has_unlocked_writers(board: &Board<'_>) -> bool {
    !board.team.is_own() && !board.team.dir_name().starts_with("session-")
}
