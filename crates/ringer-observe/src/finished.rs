//! Who has completed a task and not begun another.
//!
//! Owns when that counts: not before the model says something else, since what it says at once comes in several lines.

use serde::{Deserialize, Serialize};

/// All of them, in their order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Finished(Vec<Done>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Done {
    who: String,
    /// The answer of the model in which it was.
    batch: Option<String>,
    /// When, in milliseconds since 1970, if the stream says so.
    at: Option<i64>,
}

impl Finished {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, who: String, batch: Option<&str>, at: Option<i64>) {
        self.0.push(Done { who, batch: batch.map(str::to_owned), at });
    }

    /// Somebody begins another in the same answer.
    pub(crate) fn begins(&mut self, who: &str, batch: Option<&str>) {
        self.0.retain(|done| done.who != who || done.batch.as_deref() != batch);
    }

    /// The model says something else now: who is due. A line that is older than what was completed says nothing about it;
    /// it is there again, and was not looked at the first time.
    pub(crate) fn take(&mut self, batch: Option<&str>, now: Option<i64>) -> Vec<String> {
        let is_due = |done: &Done| {
            let is_other = batch.is_none() || done.batch.as_deref() != batch;
            is_other && done.at.zip(now).is_none_or(|(at, now)| now > at)
        };
        let (due, rest) = std::mem::take(&mut self.0).into_iter().partition(is_due);
        self.0 = rest;
        Vec::into_iter(due).map(|done| done.who).collect()
    }
}
