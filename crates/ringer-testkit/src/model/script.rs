//! The script: what the model will do, and what it was asked.
//!
//! Owns the order of turns and the record of requests. It knows no dialect but by name.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::Value;

use super::Turn;
use super::dialect::Dialect;

/// Where the dialects keep the conversation in a request.
const CONVERSATION: [&str; 3] = ["messages", "contents", "input"];

/// What is to come, and what has been.
#[derive(Debug, Default)]
pub(super) struct Script {
    turns: VecDeque<Turn>,
    /// What is to come where the user's side says a marker.
    marked: Vec<(String, VecDeque<Turn>)>,
    /// Each with when it came.
    requests: Vec<(Instant, Value)>,
    /// Tools that were called, and when.
    calls: Vec<(Instant, String)>,
    prompts: Vec<String>,
    tools: Vec<String>,
    /// What the user said in each conversation, as it was repeated last.
    conversations: Vec<Vec<String>>,
}

impl Script {
    /// Adds to what is to come.
    pub(super) fn queue(&mut self, turns: impl IntoIterator<Item = Turn>) {
        self.turns.extend(turns);
    }

    /// Adds to what is to come in conversations in which the user's side says `marker`.
    pub(super) fn queue_for(&mut self, marker: &str, turns: impl IntoIterator<Item = Turn>) {
        match self.marked.iter_mut().find(|(known, _)| known == marker) {
            Some((_, queue)) => queue.extend(turns),
            None => self.marked.push((marker.to_owned(), turns.into_iter().collect())),
        }
    }

    /// Keeps a request; what to answer, and the how many-th request it was. Agents also ask for
    /// titles and the like: not a turn.
    pub(super) fn take(&mut self, dialect: Dialect, request: &Value) -> (Turn, usize) {
        let now = Instant::now();
        self.requests.push((now, request.clone()));
        let tools = dialect.tool_names(request);
        if !tools.is_empty() {
            self.tools = tools;
        }
        let turn = dialect.is_turn(request).then(|| {
            let texts = dialect.user_texts(request);
            let said = |marker: &str| texts.iter().any(|text| text.contains(marker));
            let marked = self.marked.iter_mut().find(|(marker, _)| said(marker));
            let turn = marked.map_or(&mut self.turns, |(_, turns)| turns).pop_front();
            self.hear(texts);
            turn
        });
        let mut turn = turn.flatten().unwrap_or_else(|| Turn::say("."));
        if let Turn::React(react) = turn {
            turn = react(&dialect.user_texts(request).pop().unwrap_or_default());
        }
        self.calls.extend(turn.calls().into_iter().map(|(tool, _)| (now, tool.to_owned())));
        (turn, self.requests.len())
    }

    /// The requests whose conversation had this text in it: when each came.
    pub(super) fn saw(&self, text: &str) -> Vec<Instant> {
        // As JSON writes it.
        let text = Value::from(text).to_string();
        let text = &text[1..text.len() - 1];
        let shown = |request: &Value| {
            CONVERSATION.iter().any(|key| request[*key].to_string().contains(text))
        };
        self.requests.iter().filter(|(_, request)| shown(request)).map(|(at, _)| *at).collect()
    }

    /// How often the last request of a turn has this text in its conversation.
    pub(super) fn count(&self, text: &str) -> usize {
        let turns = self.requests.iter().rev().map(|(_, request)| request);
        let longest = turns.max_by_key(|request| {
            CONVERSATION.iter().map(|key| request[*key].as_array().map_or(0, Vec::len)).max()
        });
        let said = |request: &Value| {
            CONVERSATION.iter().map(|key| request[*key].to_string().matches(text).count()).sum()
        };
        longest.map_or(0, said)
    }

    /// The end of the last conversation, for somebody who wonders what went wrong.
    pub(super) fn end(&self) -> String {
        let mut found = None;
        for (_, request) in self.requests.iter().rev() {
            found = CONVERSATION.iter().find_map(|key| request[*key].as_array());
            if found.is_some() {
                break;
            }
        }
        let messages = found.map_or(&[][..], |all| &all[all.len().saturating_sub(6)..]);
        messages.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
    }

    /// When a tool was called last.
    pub(super) fn called(&self, tool: &str) -> Option<Instant> {
        self.calls.iter().rev().find(|(_, name)| name == tool).map(|(at, _)| *at)
    }

    /// What the user's side said.
    pub(super) fn prompts(&self) -> &[String] {
        &self.prompts
    }

    /// The tools that were offered last.
    pub(super) fn tools(&self) -> &[String] {
        &self.tools
    }

    /// Every request repeats its conversation: what is new is what goes on from one that is known. A
    /// conversation that begins with the words of an older one is taken for that.
    fn hear(&mut self, texts: Vec<String>) {
        let common =
            |known: &Vec<String>| known.iter().zip(&texts).take_while(|(a, b)| a == b).count();
        let best = self.conversations.iter_mut().max_by_key(|known| common(known));
        match best.map(|known| (common(known), known)) {
            Some((old, known)) if old > 0 => {
                self.prompts.extend_from_slice(&texts[old..]);
                // Asked again about an earlier state of it, nothing is forgotten.
                if texts.len() >= known.len() || old < texts.len() {
                    *known = texts;
                }
            }
            _ => {
                self.prompts.extend_from_slice(&texts);
                self.conversations.push(texts);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(requests: &[&[&str]]) -> Vec<String> {
        let mut script = Script::default();
        for texts in requests {
            script.hear(texts.iter().map(|text| (*text).to_owned()).collect());
        }
        script.prompts
    }

    #[test]
    fn what_is_repeated_was_said_once() {
        assert_eq!(heard(&[&["a"], &["a"], &["a", "b"], &["a", "b", "b"]]), ["a", "b", "b"]);
    }

    #[test]
    fn another_conversation_in_between_does_not_repeat_the_first() {
        assert_eq!(heard(&[&["a"], &["x"], &["a", "b"], &["x", "y"]]), ["a", "x", "b", "y"]);
    }

    #[test]
    fn an_earlier_state_says_nothing_new() {
        assert_eq!(heard(&[&["a", "b"], &["a"], &["a", "b", "c"]]), ["a", "b", "c"]);
    }

    #[test]
    fn a_marked_conversation_has_turns_of_its_own() {
        let mut script = Script::default();
        script.queue([Turn::say("lead")]);
        script.queue_for("MARK", [Turn::say("worker")]);
        let mut answer = |prompt: &str| {
            let request = serde_json::json!({
                "messages": [{"role": "user", "content": prompt}], "tools": [{"name": "Bash"}],
            });
            match script.take(Dialect::Anthropic, &request).0 {
                Turn::Say(text) => text,
                other => panic!("{other:?}"),
            }
        };
        let answers = ["a MARK", "a MARK", "plain", "plain"].map(&mut answer);
        assert_eq!(answers, ["worker", ".", "lead", "."]);
    }

    #[test]
    fn a_turn_is_taken_only_by_what_is_one() {
        let mut script = Script::default();
        script.queue([Turn::say("first")]);
        let title = serde_json::json!({"messages": [{"role": "user", "content": "title?"}]});
        let (turn, number) = script.take(Dialect::Anthropic, &title);
        assert!(matches!(turn, Turn::Say(text) if text == "."));
        assert_eq!((number, script.prompts().len()), (1, 0));
        let turn = serde_json::json!({
            "messages": [{"role": "user", "content": "go"}], "tools": [{"name": "Bash"}],
        });
        let (turn, number) = script.take(Dialect::Anthropic, &turn);
        assert!(matches!(turn, Turn::Say(text) if text == "first"));
        assert_eq!(
            (number, script.prompts(), script.tools()),
            (2, &["go".to_owned()][..], &["Bash".to_owned()][..])
        );
        assert!(!script.saw("title?").is_empty());
    }
}
