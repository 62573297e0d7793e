//! Google's way of talking to a model: `generateContent`, which Gemini CLI speaks.
//!
//! Owns the form of requests and answers. It has no state, and knows nothing of the server around it.

use serde_json::{Value, json};

use super::Turn;
use super::dialect::Reply;

/// What Gemini CLI says in the user's name that the user never said.
const NOT_SAID: &str = "<session_context>";

/// Whether requests to this path are of this kind.
pub(super) fn speaks(path: &str) -> bool {
    path.ends_with(":generateContent") || streams(path)
}

/// Whether a request is a turn of the agent. Gemini CLI also asks which model a question needs and the
/// like, and offers no tools for it.
pub(super) fn is_turn(request: &Value) -> bool {
    !tool_names(request).is_empty()
}

/// What the user said, in order, in all of the conversation that the request repeats. Files that
/// Gemini CLI put into a message are part of it.
pub(super) fn user_texts(request: &Value) -> Vec<String> {
    let messages = request["contents"].as_array().into_iter().flatten();
    let said = messages.filter(|message| message["role"] == "user").map(|message| {
        let parts = message["parts"].as_array().into_iter().flatten();
        let texts = parts.filter_map(|part| part["text"].as_str());
        texts.filter(|text| !text.starts_with(NOT_SAID)).collect::<String>()
    });
    said.filter(|text| !text.is_empty()).collect()
}

/// The names of the tools that a request offers.
pub(super) fn tool_names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    let functions = tools.filter_map(|tool| tool["functionDeclarations"].as_array()).flatten();
    functions.filter_map(|function| function["name"].as_str()).map(str::to_owned).collect()
}

/// What the model answers. It begins with nothing: Gemini CLI is busy as soon as it has asked.
pub(super) fn answer(path: &str, request: &Value, turn: &Turn) -> Reply {
    let parts = match turn {
        // Which model is to answer, is asked with a form for the answer.
        _ if !request["generationConfig"]["responseMimeType"].is_null() => {
            vec![json!({"text": r#"{"reasoning": "scripted", "model_choice": "pro"}"#})]
        }
        Turn::Say(text) | Turn::Hold(text) => vec![json!({"text": text})],
        Turn::React(_) => unreachable!("the script has asked it"),
        Turn::Use(..) | Turn::HoldUse(..) | Turn::UseAll(_) => {
            let part = |(name, input): (&str, &str)| {
                let input: Value = serde_json::from_str(input).unwrap_or_default();
                json!({"functionCall": {"name": name, "args": input}})
            };
            turn.calls().into_iter().map(part).collect()
        }
    };
    let usage = json!({"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2});
    let content = json!({"role": "model", "parts": parts});
    let candidate = json!({"content": content, "finishReason": "STOP", "index": 0});
    let whole = json!({"candidates": [candidate], "usageMetadata": usage});
    if streams(path) {
        Reply::Stream { beginning: String::new(), end: format!("data: {whole}\r\n\r\n") }
    } else {
        Reply::Whole(whole)
    }
}

fn streams(path: &str) -> bool {
    path.ends_with(":streamGenerateContent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_the_user_said_from_what_gemini_cli_adds() {
        let request = json!({"contents": [
            {"role": "user", "parts": [{"text": "<session_context>\n"}, {"text": "one"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "glob"}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "glob"}}]},
            {"role": "model", "parts": [{"text": "an answer"}]},
            {"role": "user", "parts": [{"text": "see @f"}, {"text": "\nContent from @f:\n"}]},
        ]});
        assert_eq!(user_texts(&request), ["one", "see @f\nContent from @f:\n"]);
    }

    #[test]
    fn a_stream_is_answered_as_one_and_a_call_has_arguments() {
        let turn = Turn::call("run_shell_command", &json!({"command": "true"}));
        let Reply::Stream { end, .. } = answer("m:streamGenerateContent", &Value::Null, &turn)
        else {
            panic!("a stream was asked for");
        };
        assert!(end.starts_with("data: {") && end.contains(r#""args":{"command":"true"}"#));
        let reply = answer("m:generateContent", &Value::Null, &Turn::say("x"));
        assert!(matches!(reply, Reply::Whole(_)));
    }
}
