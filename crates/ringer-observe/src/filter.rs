//! Which lines can matter at all.
//!
//! Owns the look at bytes that spares the parsing: a transcript is mostly files that were read and commands that ran. It
//! may let through too much, never too little: names of tools are looked for as JSON writes them, in quotes.

use aho_corasick::packed::{Config, MatchKind, Searcher};
use memchr::memmem;

/// In a line that matters there is one of these.
const MARKS: [&str; 9] = [
    // `TeamCreate`, `TeamDelete`, `Teammate`, and whatever will be called like that.
    "\"Team",
    // `Task`, `TaskCreate`, `TaskUpdate`, `TaskGet`, `TaskList`.
    "\"Task",
    "\"Agent",
    "\"SendMessage\"",
    // Mail that was shown to the model.
    "<teammate-message",
    // The end of a stream, and of a turn in it.
    "\"result\"",
    "\"cost-state\"",
    // A teammate within the process has ended.
    "\"task_notification\"",
    // The beginning: whose stream it is.
    "\"init\"",
];

/// Finds the next place that may matter.
#[derive(Debug)]
pub(crate) struct Filter {
    marks: Option<Searcher>,
    result: memmem::Finder<'static>,
    said: memmem::Finder<'static>,
}

impl Filter {
    pub(crate) fn new() -> Self {
        let mut builder = Config::new().match_kind(MatchKind::LeftmostFirst).builder();
        let marks = builder.extend(MARKS).build();
        Self {
            marks,
            result: memmem::Finder::new("\"tool_result\""),
            said: memmem::Finder::new("\"assistant\""),
        }
    }

    /// Where the next mark is.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<usize> {
        match &self.marks {
            Some(marks) => marks.find(bytes).map(|found| found.start()),
            // Where the processor cannot search for several at once.
            None => MARKS.iter().filter_map(|mark| memmem::find(bytes, mark.as_bytes())).min(),
        }
    }

    /// Whether a line matters while a result is waited for, or the end of what a model says.
    pub(crate) fn is_answer(&self, line: &[u8]) -> bool {
        self.result.find(line).is_some() || self.said.find(line).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_where_it_is_json_and_nowhere_else() {
        let filter = Filter::new();
        for (line, at) in [
            (r#"{"type":"tool_use","name":"TeamCreate"}"#, Some(26)),
            (r#"{"name": "SendMessage"}"#, Some(9)),
            (r#"{"type":"result"}"#, Some(8)),
            (r#"{"text":"SendMessage, Tasks and Agents"}"#, None),
            (r#"{"text":"say \"SendMessage\""}"#, None),
            (r#"{"name":"Bash","input":{"command":"ls"}}"#, None),
        ] {
            assert_eq!(filter.find(line.as_bytes()), at, "{line}");
        }
    }
}
