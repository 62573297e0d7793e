//! OpenAI's two ways of talking to a model: Responses, which Codex speaks, and Chat Completions, which
//! OpenCode speaks.
//!
//! Owns the form of requests and answers. It has no state, and knows nothing of the server around it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Turn;

/// What Codex and OpenCode say in the user's name that the user never said.
const NOT_SAID: [&str; 5] = [
    "<environment_context>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<system-reminder>",
    "The following tool was executed by the user",
];

/// Whether requests to this path are of one of the two kinds.
pub(super) fn speaks(path: &str) -> bool {
    path.ends_with("/responses") || path.ends_with("/chat/completions")
}

/// Whether a request is a turn of the agent. Both programs also ask for a title: Codex wants that in
/// a form, OpenCode offers no tools for it.
pub(super) fn is_turn(request: &Value) -> bool {
    if is_response(request) {
        request["text"]["format"].is_null()
    } else {
        !tool_names(request).is_empty()
    }
}

/// What the user said, in order, in all of the conversation that the request repeats.
pub(super) fn user_texts(request: &Value) -> Vec<String> {
    let messages = if is_response(request) { &request["input"] } else { &request["messages"] };
    let messages = messages.as_array().into_iter().flatten();
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
    let name = |tool: &Value| {
        tool["name"].as_str().or(tool["function"]["name"].as_str()).map(str::to_owned)
    };
    tools.filter_map(name).collect()
}

/// The events with which an answer begins, and those with which it ends. A turn that holds waits
/// between them; the client is busy with the first half of the text until then.
pub(super) fn answer(request: &Value, number: usize, turn: &Turn) -> (String, String) {
    let (beginning, end) = if is_response(request) {
        response(number, turn)
    } else {
        completion(&request["model"], number, turn)
    };
    (stream(&beginning), stream(&end))
}

fn is_response(request: &Value) -> bool {
    request["input"].is_array()
}

/// A response: everything is said twice, once in small pieces and once as a whole.
fn response(number: usize, turn: &Turn) -> (Vec<Value>, Vec<Value>) {
    let id = format!("resp_scripted{number:06}");
    let item_id = format!("item_scripted{number:06}");
    let mut beginning = vec![json!({"type": "response.created", "response": {"id": id}})];
    let mut end = Vec::new();
    let items = match turn {
        Turn::Say(text) | Turn::Hold(text) => {
            let message = |content: Value| json!({"type": "message", "role": "assistant", "id": item_id, "content": content});
            let delta = |text: &str| {
                json!({"type": "response.output_text.delta", "item_id": item_id, "output_index": 0,
                       "content_index": 0, "delta": text})
            };
            let (first, second) = halves(text);
            beginning.push(json!({"type": "response.output_item.added", "output_index": 0,
                                  "item": message(json!([]))}));
            beginning.push(delta(first));
            end.push(delta(second));
            vec![message(json!([{"type": "output_text", "text": text, "annotations": []}]))]
        }
        Turn::React(_) => unreachable!("the script has asked it"),
        Turn::Use(..) | Turn::HoldUse(..) | Turn::UseAll(_) => {
            let item = |(at, (name, input)): (usize, (&str, &str))| {
                let mut item = json!({"type": "function_call", "id": numbered(&item_id, at),
                                      "call_id": call_id(number, at), "name": name,
                                      "arguments": input});
                // Tools of a server are called in its namespace.
                if let Some((namespace, name)) = name.split_once('/') {
                    item["namespace"] = json!(namespace);
                    item["name"] = json!(name);
                }
                item
            };
            turn.calls().into_iter().enumerate().map(item).collect()
        }
    };
    for (at, item) in items.into_iter().enumerate() {
        end.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
    let usage = json!({"input_tokens": 1, "input_tokens_details": null, "output_tokens": 1,
                       "output_tokens_details": null, "total_tokens": 2});
    end.push(json!({"type": "response.completed", "response": {"id": id, "usage": usage}}));
    (beginning, end)
}

/// A completion: only pieces, and at the end why there are no more.
fn completion(model: &Value, number: usize, turn: &Turn) -> (Vec<Value>, Vec<Value>) {
    let chunk = |delta: Value, reason: Option<&str>| {
        json!({
            "id": format!("chatcmpl-scripted{number:06}"), "object": "chat.completion.chunk",
            "created": 1_794_793_693, "model": model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        })
    };
    let mut beginning = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    let mut end = Vec::new();
    let reason = match turn {
        Turn::Say(text) | Turn::Hold(text) => {
            let (first, second) = halves(text);
            beginning.push(chunk(json!({"content": first}), None));
            end.push(chunk(json!({"content": second}), None));
            "stop"
        }
        Turn::React(_) => unreachable!("the script has asked it"),
        Turn::Use(..) | Turn::HoldUse(..) | Turn::UseAll(_) => {
            for (at, (name, input)) in turn.calls().into_iter().enumerate() {
                let call = json!({"index": at, "id": call_id(number, at), "type": "function",
                                  "function": {"name": name, "arguments": input}});
                end.push(chunk(json!({"tool_calls": [call]}), None));
            }
            "tool_calls"
        }
    };
    let mut last = chunk(json!({}), Some(reason));
    last["usage"] = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    end.push(last);
    (beginning, end)
}

/// What the call at this place of an answer is known by.
fn call_id(number: usize, at: usize) -> String {
    numbered(&format!("call_scripted{number:06}"), at)
}

/// The first of an answer has the plain name.
fn numbered(name: &str, at: usize) -> String {
    if at == 0 { name.to_owned() } else { format!("{name}x{at}") }
}

/// A text in two, the first of them not empty if the text is not.
fn halves(text: &str) -> (&str, &str) {
    let middle = text.chars().count().div_ceil(2);
    let at = text.char_indices().nth(middle).map_or(text.len(), |(at, _)| at);
    text.split_at(at)
}

fn stream(events: &[Value]) -> String {
    let mut out = String::new();
    for event in events {
        if let Some(kind) = event["type"].as_str() {
            writeln!(out, "event: {kind}").expect("a string takes all");
        }
        write!(out, "data: {event}\n\n").expect("a string takes all");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_the_user_said_from_what_codex_says_in_his_name() {
        let said =
            |text: &str| json!({"role": "user", "content": [{"type": "input_text", "text": text}]});
        let request = json!({"input": [
            {"role": "developer", "content": [{"type": "input_text", "text": "be good"}]},
            said("<environment_context>\n</environment_context>"),
            said("one"),
            {"type": "function_call_output", "output": "a result"},
            said("two"),
        ]});
        assert_eq!(user_texts(&request), ["one", "two"]);
    }

    #[test]
    fn tells_what_the_user_said_from_what_opencode_adds() {
        let request = json!({"messages": [
            {"role": "system", "content": "be good"},
            {"role": "user", "content": "one"},
            {"role": "tool", "content": "a result"},
            {"role": "user", "content": [
                {"type": "text", "text": "two"},
                {"type": "text", "text": "<system-reminder>\nonly plan"},
            ]},
        ]});
        assert_eq!(user_texts(&request), ["one", "two"]);
    }

    #[test]
    fn asking_for_a_title_is_no_turn() {
        assert!(is_turn(&json!({"input": [], "text": {"verbosity": "low"}})));
        assert!(!is_turn(&json!({"input": [], "text": {"format": {"type": "json_schema"}}})));
        assert!(is_turn(&json!({"messages": [], "tools": [{"function": {"name": "bash"}}]})));
        assert!(!is_turn(&json!({"messages": []})));
    }

    #[test]
    fn halves_join_to_the_whole() {
        for text in ["", "a", "ab", "日本語", "held back"] {
            let (first, second) = halves(text);
            assert_eq!(format!("{first}{second}"), text);
            assert_eq!(first.is_empty(), text.is_empty());
        }
    }
}
