//! The model behind Claude Code, scripted: answers what the test queued, and keeps what it was asked.
//!
//! Owns a server on loopback that speaks as much of the Messages API as Claude Code needs.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::Uri;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// What the model does when it is its turn.
#[derive(Debug, Clone)]
pub enum Turn {
    /// Says something, which ends the turn.
    Say(String),
    /// Calls a tool, by name and with the JSON of its input.
    Use(String, String),
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
}

#[derive(Debug, Default)]
struct Script {
    turns: VecDeque<Turn>,
    requests: Vec<Value>,
}

type Shared = Arc<Mutex<Script>>;

/// A scripted model on a port of its own.
#[derive(Debug)]
pub struct Model {
    script: Shared,
    port: u16,
    /// Dropping it ends the server.
    _runtime: Runtime,
}

impl Model {
    /// Starts one.
    pub fn start() -> Result<Self> {
        let script = Shared::default();
        let runtime = Runtime::new()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let port = listener.local_addr()?.port();
        let app = Router::new().fallback(answer).with_state(script.clone());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Ok(Self { script, port, _runtime: runtime })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Adds to what it will do.
    pub fn queue(&self, turns: impl IntoIterator<Item = Turn>) {
        lock(&self.script).turns.extend(turns);
    }

    /// Whether it was ever shown this text.
    pub fn saw(&self, text: &str) -> bool {
        lock(&self.script).requests.iter().any(|r| r["messages"].to_string().contains(text))
    }

    /// The names of the tools that it was offered last.
    pub fn tools(&self) -> Vec<String> {
        let script = lock(&self.script);
        let names = script.requests.iter().rev().map(tool_names);
        names.into_iter().find(|names| !names.is_empty()).unwrap_or_default()
    }
}

fn lock(script: &Shared) -> MutexGuard<'_, Script> {
    script.lock().expect("no test panics while it holds the script")
}

fn tool_names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect()
}

async fn answer(State(script): State<Shared>, uri: Uri, body: Bytes) -> Response {
    // Half an emoji comes as `\ud83d`, which serde_json does not take; JavaScript escapes no other
    // character that way, so any other letter does for a script.
    let body = String::from_utf8_lossy(&body).replace("\\ud", "\\u0");
    let request: Value = serde_json::from_str(&body).unwrap_or_default();
    if uri.path() != "/v1/messages" {
        return json_response(&json!({"input_tokens": 1}));
    }
    let number;
    let turn = {
        let mut script = lock(&script);
        // Claude Code also asks for titles and the like, without the tools: not a turn.
        let turn = if tool_names(&request).is_empty() { None } else { script.turns.pop_front() };
        script.requests.push(request.clone());
        number = script.requests.len();
        turn.unwrap_or_else(|| Turn::say("."))
    };
    let (block, stop) = match turn {
        Turn::Say(text) => (json!({"type": "text", "text": text}), "end_turn"),
        Turn::Use(name, input) => {
            let id = format!("toolu_scripted{number:06}");
            (json!({"type": "tool_use", "id": id, "name": name, "input": input}), "tool_use")
        }
    };
    let mut message = json!({
        "id": format!("msg_scripted{number:06}"), "type": "message", "role": "assistant",
        "model": request["model"], "content": [block.clone()], "stop_reason": stop,
        "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    if request["stream"] != json!(true) {
        return json_response(&message);
    }
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    ([(CONTENT_TYPE, "text/event-stream")], stream(&message, &block, stop)).into_response()
}

/// The whole answer as the events of a stream.
fn stream(message: &Value, block: &Value, stop: &str) -> String {
    let mut empty = block.clone();
    let delta = if block["type"] == "text" {
        empty["text"] = json!("");
        json!({"type": "text_delta", "text": block["text"]})
    } else {
        empty["input"] = json!({});
        json!({"type": "input_json_delta", "partial_json": block["input"]})
    };
    let events = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": empty}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
               "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ];
    let mut out = String::new();
    for event in events {
        let kind = event["type"].as_str().unwrap_or_default();
        write!(out, "event: {kind}\ndata: {event}\n\n").expect("a string takes all");
    }
    out
}

fn json_response(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}
