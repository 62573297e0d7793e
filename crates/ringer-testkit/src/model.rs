//! The model behind an agent, scripted: answers what the test queued, and keeps what it was asked.
//!
//! Owns a server on loopback and the script. How requests are read and answers written is for the
//! dialects: `anthropic` for Claude Code, `gemini` for Gemini CLI, `openai` for Codex and OpenCode.

mod anthropic;
mod dialect;
mod gemini;
mod openai;
mod script;

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use anyhow::Result;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::Uri;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use dialect::{Dialect, Reply};
use script::Script;

/// What the model does when it is its turn.
#[derive(Debug, Clone)]
pub enum Turn {
    /// Says something, which ends the turn.
    Say(String),
    /// Calls a tool, by name and with the JSON of its input.
    Use(String, String),
    /// Calls a tool, but not before [`Model::release`].
    HoldUse(String, String),
    /// Calls several tools in one answer, each as with [`Turn::Use`].
    UseAll(Vec<(String, String)>),
    /// Does what follows from what the user said last.
    React(fn(&str) -> Self),
    /// Says something, but not to the end before [`Model::release`]: until then the agent is busy.
    Hold(String),
}

impl Turn {
    /// Says something.
    pub fn say(text: &str) -> Self {
        Self::Say(text.to_owned())
    }

    /// Calls a tool.
    pub fn call(tool: &str, input: &Value) -> Self {
        Self::Use(tool.to_owned(), input.to_string())
    }

    /// Calls several tools in one answer.
    pub fn call_all<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let calls = calls.into_iter();
        Self::UseAll(calls.map(|(tool, input)| (tool.to_owned(), input.to_string())).collect())
    }

    /// Calls a tool when it is released.
    pub fn hold_call(tool: &str, input: &Value) -> Self {
        Self::HoldUse(tool.to_owned(), input.to_string())
    }

    /// Says something when it is released.
    pub fn hold(text: &str) -> Self {
        Self::Hold(text.to_owned())
    }

    /// The tools that it calls, in order, each with its input.
    fn calls(&self) -> Vec<(&str, &str)> {
        match self {
            Self::Use(tool, input) | Self::HoldUse(tool, input) => vec![(tool, input)],
            Self::UseAll(calls) => {
                calls.iter().map(|(tool, input)| (tool.as_str(), input.as_str())).collect()
            }
            Self::Say(_) | Self::Hold(_) | Self::React(_) => Vec::new(),
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    script: Mutex<Script>,
    /// Changes with every release.
    released: watch::Sender<()>,
}

impl Shared {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().expect("no test panics while it holds the script")
    }
}

/// A scripted model on a port of its own.
#[derive(Debug)]
pub struct Model {
    shared: Arc<Shared>,
    port: u16,
    /// Dropping it ends the server.
    _runtime: Runtime,
}

impl Model {
    /// Starts one.
    pub fn start() -> Result<Self> {
        let shared = Arc::<Shared>::default();
        let runtime = Runtime::new()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let port = listener.local_addr()?.port();
        let app = Router::new().fallback(answer).with_state(shared.clone());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Ok(Self { shared, port, _runtime: runtime })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Adds to what it will do.
    pub fn queue(&self, turns: impl IntoIterator<Item = Turn>) {
        self.shared.script().queue(turns);
    }

    /// Adds to what it will do in conversations in which the user's side says `marker`. These never
    /// take from what [`Model::queue`] added: a lead and those it starts can have one model.
    pub fn queue_for(&self, marker: &str, turns: impl IntoIterator<Item = Turn>) {
        self.shared.script().queue_for(marker, turns);
    }

    /// Lets go of all that it holds back now. What it is asked later is held again.
    pub fn release(&self) {
        self.shared.released.send_replace(());
    }

    /// Whether it was ever shown this text, by whomever.
    pub fn saw(&self, text: &str) -> bool {
        !self.shared.script().saw(text).is_empty()
    }

    /// When it was first shown this text.
    pub fn saw_at(&self, text: &str) -> Option<Instant> {
        self.shared.script().saw(text).into_iter().min()
    }

    /// How often the longest conversation that it was shown has this text in it; both as JSON.
    pub fn count(&self, text: &str) -> usize {
        self.shared.script().count(text)
    }

    /// The end of the last conversation that it was shown.
    pub fn end(&self) -> String {
        self.shared.script().end()
    }

    /// When it last called this tool.
    pub fn called_at(&self, tool: &str) -> Option<Instant> {
        self.shared.script().called(tool)
    }

    /// What the user's side said, in order, once each, as it arrived here; no results of tools, and
    /// nothing that the agent says in the user's name. A text is here before its answer has begun,
    /// and what [`Turn::Hold`] holds back for it can be released from then on.
    pub fn prompts(&self) -> Vec<String> {
        self.shared.script().prompts().to_vec()
    }

    /// The names of the tools that it was offered last.
    pub fn tools(&self) -> Vec<String> {
        self.shared.script().tools().to_vec()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, body: Bytes) -> Response {
    let path = uri.path();
    let Some(dialect) = Dialect::of(path) else {
        return whole(&json!({"input_tokens": 1, "totalTokens": 1}));
    };
    let request = parsed(&body);
    let (turn, number, mut released) = {
        let mut script = shared.script();
        let (turn, number) = script.take(dialect, &request);
        // Listening before the prompt can be seen, so that no release comes too early.
        (turn, number, shared.released.subscribe())
    };
    let held = matches!(turn, Turn::Hold(_) | Turn::HoldUse(..));
    match dialect.answer(path, &request, number, &turn) {
        Reply::Whole(value) => whole(&value),
        Reply::Stream { beginning, end } => {
            let rest = async move {
                if held {
                    // An error means that the model is gone, and with it the test.
                    released.changed().await.ok();
                }
                end
            };
            let first = (!beginning.is_empty()).then_some(beginning);
            let parts = stream::iter(first).chain(stream::once(rest));
            let body = Body::from_stream(parts.map(Ok::<_, Infallible>));
            ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
        }
    }
}

/// The request. Half an emoji comes as `\ud83d`, which `serde_json` does not take; any other letter
/// does for a script.
fn parsed(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| {
        let body = String::from_utf8_lossy(body).replace("\\ud", "\\u0");
        serde_json::from_str(&body).unwrap_or_default()
    })
}

fn whole(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_a_text_as_it_is_and_half_an_emoji_as_something() {
        assert_eq!(parsed(br#"{"text": "C:\\udir \ud83d\ude00"}"#)["text"], "C:\\udir 😀");
        assert_eq!(parsed(br#"{"text": "half \ud83d"}"#)["text"], "half \u{83d}");
        assert_eq!(parsed(b"no JSON"), Value::Null);
    }
}
