//! The life of a team, as the model behind the lead and those it starts plays it.
//!
//! Owns what each of them says and calls, in the form that a version takes. What happens on disk
//! meanwhile is for who drives it.

use anyhow::{Context, Result};
use ringer_testkit::{Model, Turn};
use serde_json::{Value, json};

/// The name of the team, where one is chosen.
const TEAM: &str = "rec";

/// What the teammate is told first, and nobody else is ever told.
const WORKER: &str = "WORKER-PROMPT start";

/// The same for the subagent that is no teammate.
const PLAIN: &str = "PLAIN-PROMPT start";

/// What the teammate says when it has started.
pub(crate) const STARTED: &str = "hi lead, started";

/// The first version that makes a team for every session.
const IMPLICIT_TEAMS: u32 = 200;

/// The first version whose messages are for whom they are `to`.
const MESSAGES_TO: u32 = 100;

/// What a version's lead lives through.
#[derive(Debug)]
pub(crate) struct Life {
    /// Of Claude Code.
    pub(crate) version: String,
    /// Teams are made and deleted with tools.
    pub(crate) by_tool: bool,
    old_messages: bool,
}

impl Life {
    /// The life that is possible on this version.
    pub(crate) fn of(version: &str) -> Result<Self> {
        let patch: u32 = version.rsplit('.').next().context("a version")?.parse()?;
        let (by_tool, old_messages) = (patch < IMPLICIT_TEAMS, patch < MESSAGES_TO);
        Ok(Self { version: version.to_owned(), by_tool, old_messages })
    }

    /// What the others do until they are asked to end.
    pub(crate) fn queue_others(&self, model: &Model) {
        let hello = self.message("team-lead", STARTED, "started");
        model.queue_for(WORKER, [Turn::call_all([hello]), Turn::say("worker idle")]);
        model.queue_for(PLAIN, [Turn::say("plain done")]);
    }

    /// The team, three tasks, a dependency, a teammate and a subagent.
    pub(crate) fn founding(&self) -> Vec<Turn> {
        let tools =
            "select:SendMessage,TaskCreate,TaskUpdate,TaskList,TaskGet,TeamCreate,TeamDelete,Agent";
        let agent = if self.old_messages { "Task" } else { "Agent" };
        let mut alice = json!({
            "description": "helper", "prompt": WORKER, "subagent_type": "general-purpose",
            "name": "alice",
        });
        let plain = json!({
            "description": "plain", "prompt": PLAIN, "subagent_type": "general-purpose",
        });
        let mut turns = vec![Turn::call("ToolSearch", &json!({"query": tools, "max_results": 12}))];
        if self.by_tool {
            alice["team_name"] = json!(TEAM);
            let team = json!({"team_name": TEAM, "description": "d", "agent_type": "team-lead"});
            turns.push(Turn::call("TeamCreate", &team));
        }
        turns.extend([
            Turn::call_all([
                (
                    "TaskCreate",
                    json!({"subject": "One", "description": "first", "activeForm": "Doing one"}),
                ),
                ("TaskCreate", json!({"subject": "Two", "description": "second"})),
                ("TaskCreate", json!({"subject": "Three", "description": "third"})),
            ]),
            Turn::call("TaskUpdate", &json!({"taskId": "2", "addBlockedBy": ["1"]})),
            Turn::call(agent, &alice),
            Turn::call(agent, &plain),
        ]);
        turns
    }

    /// The teammate gets a task, and everybody a message, also who is not there.
    pub(crate) fn talk(&self) -> Vec<Turn> {
        let claim = json!({"taskId": "1", "owner": "alice", "status": "in_progress"});
        vec![
            Turn::call("TaskUpdate", &claim),
            Turn::call_all([self.message("alice", "hello alice", "greet")]),
            Turn::call_all([self.message("nobody", "hello nobody", "greet")]),
            Turn::call_all([self.message("gemini", "hello gemini", "greet")]),
        ]
    }

    /// Tasks are completed, looked at, deleted and not found; calls of one answer run together.
    pub(crate) fn work(&self) -> Vec<Turn> {
        let status =
            |id: &str, status: &str| ("TaskUpdate", json!({"taskId": id, "status": status}));
        let mut turns = vec![
            Turn::call_all([status("1", "completed"), ("TaskList", json!({}))]),
            Turn::call_all([
                ("TaskGet", json!({"taskId": "2"})),
                status("2", "deleted"),
                status("99", "completed"),
            ]),
        ];
        if self.old_messages {
            let all = json!({"type": "broadcast", "content": "all hands", "summary": "all"});
            turns.push(Turn::call("SendMessage", &all));
        }
        turns
    }

    /// The team cannot be deleted yet; the teammate is asked to end, and agrees.
    pub(crate) fn shutdown(&self, model: &Model) -> Vec<Turn> {
        let agree = if self.old_messages { agree_to_old } else { agree };
        model.queue_for(WORKER, [Turn::React(agree)]);
        let request = if self.old_messages {
            json!({"type": "shutdown_request", "recipient": "alice", "content": "done"})
        } else {
            json!({"to": "alice", "message": {"type": "shutdown_request", "reason": "done"}})
        };
        let delete = self.by_tool.then(|| Turn::call("TeamDelete", &json!({})));
        delete.into_iter().chain([Turn::call("SendMessage", &request)]).collect()
    }

    /// The team is deleted, where that is done.
    pub(crate) fn end(&self) -> Vec<Turn> {
        self.by_tool.then(|| Turn::call("TeamDelete", &json!({}))).into_iter().collect()
    }

    fn message(&self, to: &str, text: &str, summary: &str) -> (&'static str, Value) {
        let input = if self.old_messages {
            json!({"type": "message", "recipient": to, "content": text, "summary": summary})
        } else {
            json!({"to": to, "message": text, "summary": summary})
        };
        ("SendMessage", input)
    }
}

fn agree(said: &str) -> Turn {
    answered(said, |id| {
        let answer = json!({"type": "shutdown_response", "request_id": id, "approve": true});
        json!({"to": "team-lead", "message": answer})
    })
}

fn agree_to_old(said: &str) -> Turn {
    answered(
        said,
        |id| json!({"type": "shutdown_response", "request_id": id, "approve": true, "content": "ok"}),
    )
}

/// The request is JSON in what was said.
fn answered(said: &str, answer: impl Fn(&str) -> Value) -> Turn {
    let id = said.split('"').find(|word| word.starts_with("shutdown-"));
    id.map_or_else(|| Turn::say("."), |id| Turn::call("SendMessage", &answer(id)))
}
