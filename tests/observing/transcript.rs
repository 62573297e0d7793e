//! A session that writes its transcript as Claude Code does.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::scene::Scene;

/// The session that leads the team of a scene.
pub(crate) const SESSION: &str = "33d98fe4-6f3d-4460-8833-9ec8058846d3";

pub(crate) struct Transcript {
    pub(crate) path: PathBuf,
    session: String,
    lines: std::cell::Cell<u32>,
}

impl Transcript {
    pub(crate) fn of(scene: &Scene, session: &str) -> Self {
        let dir = scene.world.claude().join("projects/-work");
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("{session}.jsonl"));
        Self { path, session: session.to_owned(), lines: std::cell::Cell::new(0) }
    }

    /// The lines of a call and its answer, and the id of the call.
    pub(crate) fn call(&self, tool: &str, input: &Value, result: &Value) -> (String, String) {
        let id = format!("toolu_{}_{}", &self.session[..4], self.lines.get());
        let using = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        let said = json!({"role": "assistant", "id": format!("msg_{id}"), "content": [using]});
        let answer =
            json!({"type": "tool_result", "tool_use_id": id, "content": result.to_string()});
        let heard = json!({"role": "user", "content": [answer]});
        let first = self.line("assistant", &json!({"message": said}));
        let second = self.line("user", &json!({"message": heard, "toolUseResult": result}));
        (format!("{first}\n{second}\n"), id)
    }

    /// A line of this type.
    pub(crate) fn line(&self, kind: &str, more: &Value) -> Value {
        self.lines.set(self.lines.get() + 1);
        let mut line = json!({
            "type": kind, "sessionId": self.session, "uuid": format!("u{}", self.lines.get()),
            "timestamp": Timestamp::now().to_string(), "isSidechain": false,
        });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    }

    /// Mail that the model is shown.
    pub(crate) fn mail(&self, from: &str, text: &str) -> String {
        let text =
            format!("<teammate-message teammate_id=\"{from}\">\n{text}\n</teammate-message>");
        let message = json!({"role": "user", "content": text});
        format!("{}\n", self.line("user", &json!({"message": message})))
    }

    pub(crate) fn write(&self, text: &str) {
        append(&self.path, text);
    }

    /// Makes the call, and has it answered; its id.
    pub(crate) fn act(&self, tool: &str, input: &Value, result: &Value) -> String {
        let (lines, id) = self.call(tool, input, result);
        self.write(&lines);
        id
    }

    /// Makes the team of the scene; the id of the call.
    pub(crate) fn create_team(&self, name: &str) -> String {
        self.act("TeamCreate", &json!({"team_name": name}), &json!({"team_name": name}))
    }

    /// Says something to somebody.
    pub(crate) fn say(&self, to: &str, text: &str) -> String {
        let routing = json!({"sender": "team-lead", "target": format!("@{to}")});
        let result = json!({"success": true, "routing": routing});
        self.act("SendMessage", &json!({"to": to, "message": text}), &result)
    }
}

/// Puts one file in the place of another.
#[expect(clippy::disallowed_methods, reason = "plays a program that replaces a transcript")]
pub(crate) fn replace(path: &Path, with: &Path) {
    fs::rename(with, path).unwrap();
}

pub(crate) fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}
