//! A session that is made up line by line. Owns the form of lines; every line has its own `uuid` and time, and after
//! each the names of the members are in step with the members.

use ringer_observe::{Counts, Event, Observer, Scanner, Seen, Standing, TeamState};
use serde_json::{Value, json};

pub(crate) const SESSION: &str = "0657d5f2-f6d5-4795-9df1-f5d362f1502d";

/// 2026-02-05T20:30:00Z.
const BEGINNING: i64 = 1_770_323_400_000;

pub(crate) struct Stage {
    pub(crate) observer: Observer,
    lines: u64,
    now: i64,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { observer: Observer::new(), lines: 0, now: BEGINNING }
    }

    /// A session that has made a team, with these on it.
    pub(crate) fn with_team(members: &[&str]) -> Self {
        let mut stage = Self::new();
        stage.does("TeamCreate", json!({"team_name": "t"}), json!({"team_name": "t"}));
        for member in members {
            stage.spawns(member);
        }
        stage
    }

    pub(crate) fn spawns(&mut self, name: &str) -> Vec<Event> {
        self.does(
            "Task",
            json!({"team_name": "t", "name": name, "prompt": "p", "subagent_type": "worker"}),
            json!({
                "status": "teammate_spawned", "teammate_id": format!("{name}@t"), "name": name,
                "agent_type": "worker", "team_name": "t",
            }),
        )
    }

    pub(crate) fn creates_task(&mut self, id: &str) -> Vec<Event> {
        let subject = format!("task {id}");
        let result = json!({"task": {"id": id, "subject": subject}});
        self.does("TaskCreate", json!({"subject": subject}), result)
    }

    pub(crate) fn updates(&mut self, input: Value) -> Vec<Event> {
        let result = json!({"success": true, "taskId": input["taskId"]});
        self.does("TaskUpdate", input, result)
    }

    pub(crate) fn sends(&mut self, input: Value) -> Vec<Event> {
        self.does("SendMessage", input, json!({"success": true}))
    }

    /// A call, and its answer right behind it.
    pub(crate) fn does(&mut self, tool: &str, input: Value, result: Value) -> Vec<Event> {
        let id = format!("toolu_{}", self.lines);
        let mut seen = self.line(&use_of(&id, tool, input));
        let answer = self.line(&result_of(&id, result));
        seen.events.extend(answer.events);
        seen.events
    }

    /// Somebody's mail is shown.
    pub(crate) fn hears(&mut self, from: &str, body: &str) -> Vec<Event> {
        self.line(&mail(from, body)).events
    }

    /// Takes a line in, with a time and a `uuid` of its own.
    pub(crate) fn line(&mut self, line: &Value) -> Seen {
        let line = self.stamped(line.clone());
        self.bytes(line.to_string().as_bytes())
    }

    pub(crate) fn bytes(&mut self, line: &[u8]) -> Seen {
        let seen = self.observer.line(line);
        let state = self.observer.state();
        let names = state.team.iter().flat_map(|team| &team.members).map(|member| &member.name);
        assert!(state.agents.iter().eq(names), "{state:?}");
        seen
    }

    pub(crate) fn waits(&mut self, ms: i64) {
        self.now += ms;
    }

    /// The line as it would be written now.
    pub(crate) fn stamped(&mut self, mut line: Value) -> Value {
        self.lines += 1;
        self.now += 1;
        let time = time(self.now);
        let stamps =
            json!({"uuid": format!("u{}", self.lines), "timestamp": time, "sessionId": SESSION});
        for (key, value) in stamps.as_object().unwrap() {
            line.as_object_mut().unwrap().entry(key).or_insert(value.clone());
        }
        line
    }

    pub(crate) fn team(&self) -> &TeamState {
        self.observer.team().expect("a team")
    }

    pub(crate) fn standing(&self, name: &str) -> Standing {
        self.team().member(name).expect("a member").status
    }

    /// The task, as JSON.
    pub(crate) fn task(&self, id: &str) -> Value {
        serde_json::to_value(self.team().task(id).expect("a task")).unwrap()
    }
}

/// As streams say when, to the millisecond, on the day of the beginning.
pub(crate) fn time(ms: i64) -> String {
    let ms = ms - (BEGINNING - (20 * 60 + 30) * 60_000);
    let (s, ms) = (ms / 1000, ms % 1000);
    format!("2026-02-05T{:02}:{:02}:{:02}.{ms:03}Z", s / 3600, s / 60 % 60, s % 60)
}

pub(crate) fn use_block(id: &str, tool: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": tool, "input": input})
}

/// A line of an answer of the model of its own.
pub(crate) fn use_of(id: &str, tool: &str, input: Value) -> Value {
    said(&format!("msg_{id}"), vec![use_block(id, tool, input)])
}

/// A line of the answer of the model with this id.
pub(crate) fn said(message: &str, blocks: Vec<Value>) -> Value {
    json!({"type": "assistant", "message": {"id": message, "role": "assistant", "content": blocks}})
}

pub(crate) fn says(message: &str) -> Value {
    said(message, vec![json!({"type": "text", "text": "words"})])
}

pub(crate) fn result_of(id: &str, result: Value) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": "done"});
    json!({"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": result})
}

pub(crate) fn error_of(id: &str) -> Value {
    let block =
        json!({"type": "tool_result", "tool_use_id": id, "content": "no", "is_error": true});
    json!({"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": "Error: no"})
}

pub(crate) fn mail(from: &str, body: &str) -> Value {
    let text = format!(
        "<teammate-message teammate_id=\"{from}\" color=\"blue\">\n{body}\n</teammate-message>"
    );
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

pub(crate) fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.what.name()).collect()
}

/// The only one there is, as JSON.
pub(crate) fn only(events: &[Event]) -> Value {
    assert_eq!(events.len(), 1, "{events:?}");
    serde_json::to_value(&events[0]).unwrap()
}

/// What bytes that come at once come to.
pub(crate) fn scan(bytes: &[u8]) -> (Observer, Counts, Vec<Event>) {
    scan_in(&[bytes])
}

/// What bytes that come in pieces come to.
pub(crate) fn scan_in(pieces: &[&[u8]]) -> (Observer, Counts, Vec<Event>) {
    let (mut scanner, mut observer, mut events) = (Scanner::new(), Observer::new(), Vec::new());
    for piece in pieces {
        scanner.feed(piece, &mut observer, |_, seen| events.extend(seen.events));
    }
    scanner.finish(&mut observer, |_, seen| events.extend(seen.events));
    (observer, scanner.counts(), events)
}
