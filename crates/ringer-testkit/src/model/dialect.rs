//! The dialects in which agents talk to their models, told apart by the path that is asked.
//!
//! Owns the choice, and nothing of any dialect: a new one is a module beside this with the same
//! functions, and a line in each function here.

use serde_json::Value;

use super::{Turn, anthropic, gemini, openai};

/// A dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Messages, by Anthropic.
    Anthropic,
    /// `generateContent`, by Google.
    Gemini,
    /// Responses and Chat Completions, by `OpenAI`.
    OpenAi,
}

/// What goes back to the agent.
#[derive(Debug)]
pub(super) enum Reply {
    /// All at once, as JSON.
    Whole(Value),
    /// As the events of a stream. A turn that holds waits before the end; the beginning is enough
    /// for the agent to be busy.
    Stream {
        /// The first events.
        beginning: String,
        /// The others.
        end: String,
    },
}

impl Dialect {
    /// The dialect of requests to this path, if they are about a conversation.
    pub(super) fn of(path: &str) -> Option<Self> {
        if anthropic::speaks(path) {
            Some(Self::Anthropic)
        } else if gemini::speaks(path) {
            Some(Self::Gemini)
        } else if openai::speaks(path) {
            Some(Self::OpenAi)
        } else {
            None
        }
    }

    /// Whether a request is a turn of the agent.
    pub(super) fn is_turn(self, request: &Value) -> bool {
        match self {
            Self::Anthropic => anthropic::is_turn(request),
            Self::Gemini => gemini::is_turn(request),
            Self::OpenAi => openai::is_turn(request),
        }
    }

    /// What the user said, in order, in all of the conversation that the request repeats.
    pub(super) fn user_texts(self, request: &Value) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic::user_texts(request),
            Self::Gemini => gemini::user_texts(request),
            Self::OpenAi => openai::user_texts(request),
        }
    }

    /// The names of the tools that a request offers.
    pub(super) fn tool_names(self, request: &Value) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic::tool_names(request),
            Self::Gemini => gemini::tool_names(request),
            Self::OpenAi => openai::tool_names(request),
        }
    }

    /// What the model answers, in the form that was asked for.
    pub(super) fn answer(self, path: &str, request: &Value, number: usize, turn: &Turn) -> Reply {
        match self {
            Self::Anthropic => anthropic::answer(request, number, turn),
            Self::Gemini => gemini::answer(path, request, turn),
            Self::OpenAi => {
                let (beginning, end) = openai::answer(request, number, turn);
                Reply::Stream { beginning, end }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_a_dialect_by_its_path() {
        for (path, dialect) in [
            ("/v1/messages", Some(Dialect::Anthropic)),
            ("/v1/messages/count_tokens", None),
            ("/v1beta/models/gemini-2.5-pro:streamGenerateContent", Some(Dialect::Gemini)),
            ("/v1beta/models/gemini-2.5-pro:generateContent", Some(Dialect::Gemini)),
            ("/v1beta/models/gemini-2.5-pro:countTokens", None),
            ("/v1/responses", Some(Dialect::OpenAi)),
            ("/v1/chat/completions", Some(Dialect::OpenAi)),
            ("/", None),
        ] {
            assert_eq!(Dialect::of(path), dialect, "{path}");
        }
    }
}
