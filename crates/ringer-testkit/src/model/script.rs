//! The script: what the model will do, and what it was asked.
//!
//! Owns the order of turns and the record of requests. It knows no dialect but by name.

use std::collections::VecDeque;

use serde_json::Value;

use super::Turn;
use super::dialect::Dialect;

/// Where the dialects keep the conversation in a request.
const CONVERSATION: [&str; 3] = ["messages", "contents", "input"];

/// What is to come, and what has been.
#[derive(Debug, Default)]
pub(super) struct Script {
    turns: VecDeque<Turn>,
    requests: Vec<Value>,
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

    /// Keeps a request; what to answer, and the how many-th request it was. Agents also ask for
    /// titles and the like: not a turn.
    pub(super) fn take(&mut self, dialect: Dialect, request: &Value) -> (Turn, usize) {
        self.requests.push(request.clone());
        let tools = dialect.tool_names(request);
        if !tools.is_empty() {
            self.tools = tools;
        }
        let turn = dialect.is_turn(request).then(|| {
            self.hear(dialect.user_texts(request));
            self.turns.pop_front()
        });
        (turn.flatten().unwrap_or_else(|| Turn::say(".")), self.requests.len())
    }

    /// Whether a conversation had this text in it.
    pub(super) fn saw(&self, text: &str) -> bool {
        let shown = |request: &Value| {
            CONVERSATION.iter().any(|key| request[*key].to_string().contains(text))
        };
        self.requests.iter().any(shown)
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
        assert!(script.saw("title?"));
    }
}
