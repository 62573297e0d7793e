//! What a session of Claude Code has written down of itself: whether a turn goes on.
//!
//! Owns finding the file, and reading the end of it. Never writes there. Newer versions say it themselves: see
//! `session`.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::session::Activity;
use crate::team::ClaudeDir;

/// So much of the end is read. Results of tools can be long, and what comes after one is short.
const END: u64 = 512 * 1024;

/// Old versions do not write down whether more is to come after what the model said. If nothing came for so long,
/// nothing will.
const SETTLED: Duration = Duration::from_secs(30);

/// A session's transcript, as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transcript {
    /// How the session is.
    pub activity: Activity,
    /// How long the file is: it only grows.
    pub length: u64,
    /// Whether another session has written in the same directory since: it may be this one, cleared.
    pub superseded: bool,
}

impl ClaudeDir {
    /// The transcript of a session, if there is one.
    pub fn transcript(&self, session: &str) -> Option<Transcript> {
        Transcript::read(&self.transcript_path(session)?)
    }

    /// Where the transcript of a session is, if there is one.
    pub fn transcript_path(&self, session: &str) -> Option<PathBuf> {
        let plain = !session.is_empty()
            && session.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        let name = plain.then(|| format!("{session}.jsonl"))?;
        let projects = fs::read_dir(self.projects_dir()).ok()?.flatten();
        projects.map(|dir| dir.path().join(&name)).find(|path| path.is_file())
    }

    /// `projects/` in it: a directory for each that sessions work in, with their transcripts.
    pub fn projects_dir(&self) -> PathBuf {
        self.path().join("projects")
    }
}

impl Transcript {
    fn read(path: &Path) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let about = file.metadata().ok()?;
        let length = about.len();
        file.seek(SeekFrom::Start(length.saturating_sub(END))).ok()?;
        let mut end = Vec::new();
        file.take(END).read_to_end(&mut end).ok()?;
        let quiet = about.modified().ok().and_then(|then| then.elapsed().ok());
        let is_settled = quiet.is_some_and(|quiet| quiet >= SETTLED);
        let activity = activity(&String::from_utf8_lossy(&end), is_settled);
        Some(Self { activity, length, superseded: is_superseded(path).unwrap_or(true) })
    }
}

fn is_superseded(path: &Path) -> std::io::Result<bool> {
    let written = path.metadata()?.modified()?;
    let others = fs::read_dir(path.parent().unwrap_or(path))?.flatten();
    let mut others = others.filter(|other| other.path().extension().is_some_and(|e| e == "jsonl"));
    Ok(others.any(|other| {
        other.path() != path
            && other.metadata().and_then(|m| m.modified()).is_ok_and(|at| at > written)
    }))
}

/// What the last line says that is part of the conversation itself.
fn activity(end: &str, is_settled: bool) -> Activity {
    let lines = end.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut said = lines.filter(|line| line["isSidechain"] != true && line["isMeta"] != true);
    let found = said.find_map(|line| match line["type"].as_str()? {
        "assistant" => Some(after_model(&line["message"], is_settled)),
        "user" => after_user(&line["message"]["content"]),
        _ => None,
    });
    found.unwrap_or(Activity::Unknown)
}

fn after_model(message: &Value, is_settled: bool) -> Activity {
    let blocks = message["content"].as_array().map_or(&[][..], |blocks| blocks);
    if blocks.iter().any(|block| block["type"] == "tool_use") {
        return Activity::Working;
    }
    match message["stop_reason"].as_str() {
        Some("tool_use" | "pause_turn") => Activity::Working,
        Some(_) => Activity::AtRest,
        None if is_settled => Activity::AtRest,
        None => Activity::Working,
    }
}

/// `None` if it was not said to the model.
fn after_user(content: &Value) -> Option<Activity> {
    let text = match content {
        Value::String(text) => text,
        Value::Array(blocks) => blocks.first()?["text"].as_str().unwrap_or_default(),
        _ => return None,
    };
    if text.starts_with("<command-") || text.starts_with("<local-command-") {
        return None;
    }
    let interrupted = text.starts_with("[Request interrupted by user");
    Some(if interrupted { Activity::AtRest } else { Activity::Working })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringer_testkit::put;
    use serde_json::json;

    fn user(content: &Value) -> Value {
        json!({"type": "user", "isSidechain": false, "message": {"role": "user", "content": content}})
    }

    fn model(kind: &str, stop: Option<&str>) -> Value {
        let content = json!([{"type": kind, "text": "x"}]);
        json!({"type": "assistant", "isSidechain": false, "message": {"content": content, "stop_reason": stop}})
    }

    #[test]
    fn the_last_words_tell_whether_a_turn_goes_on() {
        use Activity::{AtRest, Unknown, Working};
        let result = json!([{"type": "tool_result", "content": "ok"}]);
        let interrupted =
            json!([{"type": "text", "text": "[Request interrupted by user for tool use]"}]);
        let aside = json!({"type": "system", "subtype": "turn_duration"});
        let mut helper = model("tool_use", Some("tool_use"));
        helper["isSidechain"] = json!(true);
        let mut meta = user(&json!("## Context Usage"));
        meta["isMeta"] = json!(true);
        let command = user(&json!("<command-name>/clear</command-name>"));
        for (lines, settled, expected) in [
            (vec![], true, Unknown),
            (vec![user(&json!("do it"))], true, Working),
            (vec![model("text", Some("tool_use"))], true, Working),
            (vec![model("tool_use", Some("tool_use"))], true, Working),
            (vec![user(&result)], true, Working),
            (vec![model("text", Some("end_turn")), aside.clone()], false, AtRest),
            (vec![model("text", Some("end_turn")), helper], false, AtRest),
            (vec![model("text", Some("end_turn")), meta, command], false, AtRest),
            (vec![user(&result), user(&interrupted)], false, AtRest),
            // Old versions do not say why the model stopped.
            (vec![model("text", None)], false, Working),
            (vec![model("text", None)], true, AtRest),
            (vec![model("tool_use", None)], true, Working),
            (vec![json!({"type": "progress"}), aside], true, Unknown),
        ] {
            let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
            assert_eq!(activity(&text, settled), expected, "{text}");
            // Half a line at either end is no line.
            let torn = format!("me\"}}\n{text}\n{{\"type\": \"user\", \"mess");
            assert_eq!(activity(&torn, settled), expected, "{torn}");
        }
    }

    #[test]
    fn a_transcript_is_found_by_its_session_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("projects/-home-a");
        fs::create_dir_all(&dir).unwrap();
        put(&dir.join("id-1.jsonl"), &format!("{}\n", user(&json!("do it"))));
        let claude = ClaudeDir::new(root.path());
        let found = claude.transcript("id-1").unwrap();
        assert_eq!(found.activity, Activity::Working);
        assert_eq!(found.length, dir.join("id-1.jsonl").metadata().unwrap().len());
        assert!(!found.superseded);
        put(&dir.join("id-3.jsonl"), "");
        let later = std::time::SystemTime::now() + Duration::from_secs(5);
        File::open(dir.join("id-3.jsonl")).unwrap().set_modified(later).unwrap();
        assert!(claude.transcript("id-1").unwrap().superseded);
        for odd in ["id-2", "", "../-home-a/id-1", "."] {
            assert_eq!(claude.transcript(odd), None, "{odd}");
        }
    }
}
