//! Calls that have not been answered yet.
//!
//! Owns bringing a call and its answer together, which come in different lines. Bounded in time, by the stream's own
//! clock, and in number.

use serde::{Deserialize, Serialize};

use crate::call::Call;

/// So long an answer is waited for; the tools of a team take milliseconds.
pub const TIME_TO_LIVE_MS: i64 = 30_000;

/// So many calls are kept; the oldest goes.
const MOST: usize = 1024;

/// A call, and who made it when.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) call: Call,
    /// Milliseconds since 1970, if the stream says so.
    pub(crate) at: Option<i64>,
    /// The answer of the model in which it was made.
    pub(crate) batch: Option<String>,
    /// The call within which it was made.
    pub(crate) parent: Option<String>,
}

/// All that wait, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Pending(Vec<Asked>);

impl Pending {
    /// Takes the place of an older one with the same id.
    pub(crate) fn ask(&mut self, asked: Asked) {
        self.0.retain(|old| old.id != asked.id);
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push(asked);
    }

    /// The call that this is the answer to, if there is one and it is not too old.
    pub(crate) fn answer(&mut self, id: &str, now: Option<i64>) -> Option<Asked> {
        let at = self.0.iter().position(|asked| asked.id == id)?;
        let asked = self.0.remove(at);
        (!is_stale(&asked, now)).then_some(asked)
    }

    /// Forgets what is too old; how many that were.
    pub(crate) fn flush(&mut self, now: Option<i64>) -> usize {
        let before = self.0.len();
        self.0.retain(|asked| !is_stale(asked, now));
        before - self.0.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn is_stale(asked: &Asked, now: Option<i64>) -> bool {
    asked.at.zip(now).is_some_and(|(then, now)| now.saturating_sub(then) > TIME_TO_LIVE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(id: &str, at: Option<i64>, name: &str) -> Asked {
        let call = Call::CreateTeam { name: name.to_owned() };
        let (id, tool) = (id.to_owned(), "TeamCreate".to_owned());
        Asked { id, tool, call, at, batch: None, parent: None }
    }

    #[test]
    fn a_call_meets_its_answer_once() {
        let mut pending = Pending::default();
        pending.ask(asked("a", Some(0), "x"));
        pending.ask(asked("b", Some(0), "x"));
        assert_eq!(pending.len(), 2);
        assert!(pending.answer("c", Some(0)).is_none());
        assert_eq!(pending.answer("a", Some(TIME_TO_LIVE_MS)).unwrap().id, "a");
        assert!(pending.answer("a", Some(0)).is_none());
        assert_eq!(pending.len(), 1);
    }

    #[test]
    fn a_repeated_id_replaces() {
        let mut pending = Pending::default();
        pending.ask(asked("a", None, "old"));
        pending.ask(asked("a", None, "new"));
        assert_eq!(pending.len(), 1);
        let call = pending.answer("a", None).unwrap().call;
        assert_eq!(call, Call::CreateTeam { name: "new".to_owned() });
    }

    #[test]
    fn what_is_too_old_is_forgotten_and_memory_is_bounded() {
        let mut pending = Pending::default();
        pending.ask(asked("old", Some(0), "x"));
        pending.ask(asked("timeless", None, "x"));
        pending.ask(asked("new", Some(1), "x"));
        assert_eq!(pending.flush(None), 0);
        assert_eq!(pending.flush(Some(TIME_TO_LIVE_MS)), 0);
        assert_eq!(pending.flush(Some(TIME_TO_LIVE_MS + 1)), 1);
        assert!(pending.answer("new", Some(TIME_TO_LIVE_MS + 2)).is_none(), "too late");
        assert!(pending.answer("timeless", Some(i64::MAX)).is_some());
        for n in 0..2 * MOST {
            pending.ask(asked(&n.to_string(), None, "x"));
        }
        assert_eq!(pending.len(), MOST);
        assert!(pending.answer("0", None).is_none());
    }
}
