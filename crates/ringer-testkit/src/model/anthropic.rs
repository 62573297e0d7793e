//! Anthropic's way of talking to a model: Messages, which Claude Code speaks.
//!
//! Owns the form of requests and answers. It has no state, and knows nothing of the server around it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Turn;
use super::dialect::Reply;

/// What Claude Code says in the user's name that the user never said.
const NOT_SAID: [&str; 5] =
    ["<system-reminder>", "<command-", "<local-command-", "<bash-", "[Request interrupted"];

/// Whether requests to this path are of this kind.
pub(super) fn speaks(path: &str) -> bool {
    path == "/v1/messages"
}

/// What some versions ask behind the user's back, with tools and all.
const SUGGESTION: &str = "[SUGGESTION MODE";

/// Whether a request is a turn of the agent. Claude Code also asks for titles and the like, and offers
/// no tools for it, and for what the user may want next.
pub(super) fn is_turn(request: &Value) -> bool {
    let last = user_texts(request).pop().unwrap_or_default();
    !tool_names(request).is_empty() && !last.starts_with(SUGGESTION)
}

/// What the user said, in order, in all of the conversation that the request repeats.
pub(super) fn user_texts(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().into_iter().flatten();
    let said = messages.filter(|message| message["role"] == "user").flat_map(|message| {
        let content = &message["content"];
        let parts = content.as_array().into_iter().flatten().map(|part| &part["text"]);
        std::iter::once(content).chain(parts).filter_map(Value::as_str)
    });
    said.filter(|text| !NOT_SAID.iter().any(|start| text.starts_with(start)))
        .map(str::to_owned)
        .collect()
}

/// The names of the tools that a request offers.
pub(super) fn tool_names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect()
}

/// What the model answers. While it holds back a text it has said nothing yet: Claude Code shows no
/// more that it works as soon as it shows words.
pub(super) fn answer(request: &Value, number: usize, turn: &Turn) -> Reply {
    let (blocks, stop) = match turn {
        Turn::Say(text) | Turn::Hold(text) => {
            (vec![json!({"type": "text", "text": text})], "end_turn")
        }
        Turn::React(_) => unreachable!("the script has asked it"),
        Turn::Use(..) | Turn::HoldUse(..) | Turn::UseAll(_) => {
            let block = |(at, (name, input)): (usize, (&str, &str))| {
                let id = call_id(number, at);
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            };
            (turn.calls().into_iter().enumerate().map(block).collect(), "tool_use")
        }
    };
    let mut message = json!({
        "id": format!("msg_scripted{number:06}"), "type": "message", "role": "assistant",
        "model": request["model"], "content": blocks, "stop_reason": stop,
        "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    if request["stream"] != json!(true) {
        return Reply::Whole(message);
    }
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    let beginning = stream(&[json!({"type": "message_start", "message": message})]);
    Reply::Stream { beginning, end: stream(&said(&blocks, stop)) }
}

/// What the call at this place of an answer is known by.
fn call_id(number: usize, at: usize) -> String {
    match at {
        0 => format!("toolu_scripted{number:06}"),
        _ => format!("toolu_scripted{number:06}x{at}"),
    }
}

/// The events with which something is said and the turn ends.
fn said(blocks: &[Value], stop: &str) -> Vec<Value> {
    let mut events = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let mut empty = block.clone();
        let delta = if block["type"] == "text" {
            empty["text"] = json!("");
            json!({"type": "text_delta", "text": block["text"]})
        } else {
            empty["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": block["input"]})
        };
        events.extend([
            json!({"type": "content_block_start", "index": index, "content_block": empty}),
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
            json!({"type": "content_block_stop", "index": index}),
        ]);
    }
    events.extend([
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
               "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]);
    events
}

fn stream(events: &[Value]) -> String {
    let mut out = String::new();
    for event in events {
        let kind = event["type"].as_str().unwrap_or_default();
        write!(out, "event: {kind}\ndata: {event}\n\n").expect("a string takes all");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_the_user_said_from_what_claude_code_adds() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let request = json!({"messages": [
            {"role": "user", "content": [text("<system-reminder>\nbe good"), text("one")]},
            {"role": "assistant", "content": [text("an answer")]},
            {"role": "user", "content": [
                {"type": "tool_result", "content": "a result"},
                text("<system-reminder>\nbe quick"),
            ]},
            {"role": "user", "content": "<command-name>/clear</command-name>"},
            {"role": "user", "content": "two\nlines"},
        ]});
        assert_eq!(user_texts(&request), ["one", "two\nlines"]);
    }

    #[test]
    fn calls_of_one_answer_have_their_own_places_and_names() {
        let request = json!({"stream": true, "model": "m"});
        let turn = Turn::call_all([("One", json!({"a": 1})), ("Two", json!({}))]);
        let Reply::Stream { end, .. } = answer(&request, 7, &turn) else {
            panic!("a stream was asked for");
        };
        for id in [r#""id":"toolu_scripted000007""#, r#""id":"toolu_scripted000007x1""#] {
            assert_eq!(end.matches(id).count(), 1, "{id} in {end}");
        }
        assert_eq!(end.matches(r#""index":1"#).count(), 3);
        assert_eq!(end.matches("event: message_stop\n").count(), 1);
    }

    #[test]
    fn holds_back_all_that_is_said() {
        let request = json!({"stream": true, "model": "m"});
        let Reply::Stream { beginning, end } = answer(&request, 7, &Turn::hold("the text")) else {
            panic!("a stream was asked for");
        };
        assert!(beginning.starts_with("event: message_start\n") && !beginning.contains("the text"));
        assert!(end.contains("the text") && end.contains("event: message_stop\n"));
    }
}
