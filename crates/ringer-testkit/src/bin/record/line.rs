//! Lines of a transcript or a stream, without what is private, big, or not ours to show.
//!
//! Owns what is left of a line. Every line stays, in its place, and what stays of it is the text that
//! Claude Code wrote, byte for byte.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Lines that tell of the session; of others only the frame stays.
const KEPT: [&str; 6] = ["user", "assistant", "system", "result", "cost-state", "progress"];

const FRAME: [&str; 3] = ["type", "sessionId", "timestamp"];

/// What says much about the machine and Claude Code's own texts, and nothing about a team. Of hooks,
/// what they printed.
const DROPPED: [&str; 20] = [
    "additional_directories",
    "agents",
    "attachment",
    "capabilities",
    "gitBranch",
    "mcp_servers",
    "memory_paths",
    "messaging_socket_path",
    "original_cwd",
    "output",
    "plugins",
    "rendered",
    "skills",
    "slash_commands",
    "stderr",
    "stdout",
    "terminal_slash_commands",
    "todos",
    "toolDenialKind",
    "tools",
];

/// All lines, as they may be shown.
pub(crate) fn sanitised(text: &str) -> Result<String> {
    let mut out = String::new();
    for line in text.lines() {
        let fields = fields(line).with_context(|| format!("in `{line}`"))?;
        let kind: Value = serde_json::from_str(line)?;
        let kind = kind["type"].as_str().unwrap_or_default();
        let whole = KEPT.contains(&kind);
        let stays = |key: &str| if whole { !DROPPED.contains(&key) } else { FRAME.contains(&key) };
        let kept: Vec<&str> =
            fields.into_iter().filter(|(key, _)| stays(key)).map(|(_, field)| field).collect();
        out.extend(["{", &kept.join(","), "}\n"]);
    }
    Ok(out)
}

/// The fields of a compact object: each key, and the text of key and value.
fn fields(line: &str) -> Result<Vec<(&str, &str)>> {
    let inside = line.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let inside = inside.context("not an object")?;
    let (mut fields, mut start, mut depth, mut quoted, mut escaped) =
        (vec![], 0, 0_u32, false, false);
    // A comma after the last makes it one of many.
    for (at, byte) in inside.bytes().chain([b',']).enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                let field = &inside[start..at];
                let key = field.strip_prefix('"').and_then(|rest| rest.split_once("\":"));
                fields.push((key.context("a field without a key")?.0, field));
                start = at + 1;
            }
            _ => {}
        }
    }
    ensure!(start == inside.len() + 1, "it ends too early");
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_text_and_order_of_what_stays() {
        let line = r#"{"z":1.50,"tools":["a","b"],"type":"user","message":{"b":"\",{","a":[1,2]}}"#;
        let expected = r#"{"z":1.50,"type":"user","message":{"b":"\",{","a":[1,2]}}"#;
        assert_eq!(sanitised(line).unwrap(), format!("{expected}\n"));
    }

    #[test]
    fn leaves_the_frame_of_other_lines() {
        let text = "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"s\"}\n{\"a\":1}\n";
        assert_eq!(sanitised(text).unwrap(), "{\"type\":\"mode\",\"sessionId\":\"s\"}\n{}\n");
    }

    #[test]
    fn refuses_half_a_line() {
        assert!(sanitised(r#"{"type":"user","message":"#).is_err());
    }
}
