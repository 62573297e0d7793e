//! What a team has still to do.

use std::fmt::Write as _;

use ringer_teams::{Task, Team};

use crate::desk::RINGER;
use crate::error::Result;
use crate::journal::{Journal, Message};
use crate::roster::RosterEntry;

/// What comes back begins like this, and needs no answer.
const RETURNED: &str = "not delivered: ";

/// So many of a kind are named.
const MOST: usize = 10;

/// So many characters of a message say which one it is.
const WORDS: usize = 60;

/// Tasks that are not done, messages that nobody has answered, and such that wait to be delivered.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// Number, status, owner and subject of each task.
    pub(super) tasks: Vec<(String, String, Option<String>, String)>,
    /// Workers, each with the last message that it got and said nothing to.
    unanswered: Vec<(String, String)>,
    /// Workers for whom messages wait: how many, and why.
    unread: Vec<(String, u32, Option<String>)>,
}

impl Open {
    pub(super) fn of(journal: &Journal, team: &Team, workers: &[&RosterEntry]) -> Result<Self> {
        let tasks = team.tasks()?;
        let about = |task: &Task| {
            let (id, status) = (task.id.clone(), task.status.clone());
            (id, status, task.owner.clone(), task.subject.clone())
        };
        let mut open = Self { tasks: tasks.open().map(about).collect(), ..Self::default() };
        for worker in workers {
            let id = worker.id();
            if let Some(last) = journal.unanswered(&id, RINGER, RETURNED)? {
                open.unanswered.push((worker.name.clone(), words(&last)));
            }
            let queue = journal.queue(&id)?;
            if queue.queued > 0 {
                open.unread.push((worker.name.clone(), queue.queued, queue.reason));
            }
        }
        Ok(open)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.unanswered.is_empty() && self.unread.is_empty()
    }

    /// What the lead is told.
    pub(super) fn words(&self, workers: &[&RosterEntry]) -> String {
        let names: Vec<&str> = workers.iter().map(|worker| &*worker.name).collect();
        let (who, are) = (names.join(", "), if names.len() == 1 { "is" } else { "are" });
        let mut text =
            format!("all idle: {who} {are} at rest, and so are you, but not all is done.");
        let task = |(id, status, owner, subject): &(String, String, Option<String>, String)| {
            let owner = owner.as_deref().map_or("nobody's".to_owned(), |who| format!("{who}'s"));
            format!("task {id} is {status} and {owner}: {subject}")
        };
        list(&mut text, "Open tasks", &self.tasks, task);
        list(&mut text, "Not answered", &self.unanswered, |(name, words)| {
            format!("{name} got \"{words}\" and has said nothing since")
        });
        list(&mut text, "Not delivered", &self.unread, |(name, count, why)| {
            let messages = if *count == 1 { "message" } else { "messages" };
            let why = why.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
            format!("{count} {messages} for {name}{why}")
        });
        text.push_str("\n\nDecide what happens next. You are told this once.");
        text
    }
}

fn list<T>(text: &mut String, title: &str, all: &[T], say: impl Fn(&T) -> String) {
    if all.is_empty() {
        return;
    }
    write!(text, "\n\n{title}:").expect("a string takes everything");
    for one in all.iter().take(MOST) {
        write!(text, "\n- {}", say(one)).expect("a string takes everything");
    }
    if let Some(more) = all.len().checked_sub(MOST).filter(|more| *more > 0) {
        write!(text, "\n- and {more} more").expect("a string takes everything");
    }
}

/// What a message is about, in a few words.
fn words(message: &Message) -> String {
    let first = || message.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let words = message.summary.as_deref().unwrap_or_else(|| first()).trim();
    let cut: String = words.chars().take(WORDS).collect();
    if cut.len() < words.len() { format!("{cut}…") } else { cut }
}
