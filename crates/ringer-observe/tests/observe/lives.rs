//! Lives of teams, as they come: any order of calls, answered in any way, with whatever else a session does in between.
//! Owns how a life becomes a transcript. It need not make sense, but its lines are those of Claude Code, each with a
//! `uuid` and a time that does not go back.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::stage::{SESSION, mail, result_of, said, time, use_block};

/// Most tasks are begun and completed.
const STATUSES: [&str; 9] = [
    "in_progress",
    "in_progress",
    "in_progress",
    "completed",
    "completed",
    "completed",
    "pending",
    "deleted",
    "nonsense",
];
const NAMES: [&str; 4] = ["alice", "bob", "carl", "team-lead"];

/// One thing after the other.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// The model calls tools, all in one answer.
    Calls {
        calls: Vec<Call>,
        /// Each call is a line of its own, as in transcripts.
        is_split: bool,
        /// Each is answered before the next line comes.
        is_prompt: bool,
        /// All answers are one line, which does not say what Claude Code keeps for itself.
        is_joined: bool,
        /// Whose spawn it is said within.
        within: Option<usize>,
    },
    Mail(usize, usize),
    Says,
    Junk(usize),
    Waits(i64),
}

#[derive(Debug, Clone)]
pub(crate) enum Call {
    Create,
    Delete { works: bool },
    Spawn(usize),
    NewTask,
    Update { task: usize, status: usize, owner: Option<usize>, other: Option<usize> },
    Send(usize, usize),
    List,
    Bash,
    Helper,
    Fails,
    Lost,
}

fn call() -> impl Strategy<Value = Call> {
    let who = 0..NAMES.len();
    prop_oneof![
        1 => Just(Call::Create),
        1 => any::<bool>().prop_map(|works| Call::Delete { works }),
        3 => who.clone().prop_map(Call::Spawn),
        3 => Just(Call::NewTask),
        12 => (1..4_usize, 0..STATUSES.len(), prop::option::of(0..2_usize), prop::option::weighted(0.1, 1..4_usize))
            .prop_map(|(task, status, owner, other)| Call::Update { task, status, owner, other }),
        3 => (0..6_usize, who).prop_map(|(kind, who)| Call::Send(kind, who)),
        1 => Just(Call::List),
        2 => Just(Call::Bash),
        1 => Just(Call::Helper),
        1 => Just(Call::Fails),
        1 => Just(Call::Lost),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..NAMES.len();
    let calls = (
        prop::collection::vec(call(), 1..4),
        any::<[bool; 3]>(),
        prop::option::weighted(0.2, who.clone()),
    );
    prop_oneof![
        6 => calls.prop_map(|(calls, [is_split, is_prompt, is_joined], within)| {
            Step::Calls { calls, is_split, is_prompt, is_joined, within }
        }),
        2 => (who, 0..6_usize).prop_map(|(who, kind)| Step::Mail(who, kind)),
        3 => Just(Step::Says),
        3 => (0..8_usize).prop_map(Step::Junk),
        1 => (0..40_000_i64).prop_map(Step::Waits),
    ]
}

/// A life that begins with a team and has somebody on it; what follows is anything.
pub(crate) fn life() -> impl Strategy<Value = Vec<String>> {
    let alone = |call| Step::Calls {
        calls: vec![call],
        is_split: false,
        is_prompt: true,
        is_joined: false,
        within: None,
    };
    let start = [Call::Create, Call::Spawn(0), Call::NewTask, Call::NewTask].map(alone);
    (prop::collection::vec(step(), 1..40), 0..=4_usize).prop_map(move |(steps, skip)| {
        let mut writer = Writer::default();
        start[skip..].iter().chain(&steps).for_each(|step| writer.step(step));
        writer.lines
    })
}

#[derive(Default)]
struct Writer {
    lines: Vec<String>,
    now: i64,
    calls: usize,
    tasks: usize,
    /// The last call that made each.
    spawns: [Option<String>; NAMES.len()],
}

impl Writer {
    fn line(&mut self, mut line: Value) {
        let n = self.lines.len();
        // Some lines are written within the same millisecond.
        self.now += [0, 1, 3][n % 3];
        line["uuid"] = json!(format!("{n:08}-0000-4000-8000-000000000000"));
        line["timestamp"] = json!(time(1_770_323_400_000 + self.now));
        line["sessionId"] = json!(SESSION);
        self.lines.push(line.to_string());
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Calls { calls, is_split, is_prompt, is_joined, within } => {
                let message = format!("msg_{}", self.lines.len());
                let parent = within.and_then(|who| self.spawns[who].clone());
                let pairs: Vec<_> = calls.iter().map(|call| self.pair(call)).collect();
                let mut answers: Vec<Value> = Vec::new();
                for some in pairs.chunks(if *is_split { 1 } else { pairs.len() }) {
                    let mut line =
                        said(&message, some.iter().map(|(call, _)| call.clone()).collect());
                    line["parent_tool_use_id"] = json!(parent);
                    self.line(line);
                    answers.extend(some.iter().filter_map(|(_, answer)| answer.clone()));
                    if *is_prompt {
                        answers.drain(..).for_each(|answer| self.line(answer));
                    }
                }
                if *is_joined && answers.len() > 1 {
                    let blocks: Vec<_> =
                        answers.iter().map(|line| line["message"]["content"][0].clone()).collect();
                    self.line(
                        json!({"type": "user", "message": {"role": "user", "content": blocks}}),
                    );
                } else {
                    answers.into_iter().rev().for_each(|answer| self.line(answer));
                }
            }
            Step::Mail(who, kind) => {
                let body = [
                    "words",
                    r#"{"type":"idle_notification"}"#,
                    r#"{"type":"shutdown_approved"}"#,
                    r#"{"type":"shutdown_rejected"}"#,
                    r#"{"type":"plan_approval_request","requestId":"p"}"#,
                    r#"{"type":"new"}"#,
                ][*kind];
                self.line(mail(NAMES[*who], body));
            }
            Step::Says => {
                let message = format!("msg_{}", self.lines.len());
                self.line(said(
                    &message,
                    vec![json!({"type": "text", "text": "words of the \"Team\" é"})],
                ));
            }
            Step::Junk(kind) => self.junk(*kind),
            Step::Waits(ms) => self.now += ms,
        }
    }

    fn junk(&mut self, kind: usize) {
        match kind {
            0 => self.lines.push("no JSON, \"SendMessage\"".to_owned()),
            1 => self.lines.push(String::new()),
            2 => self.lines.push("{\"type\":\"assistant\",\"name\":\"TeamCreate\"".to_owned()),
            3 => self.lines.push("{\"type\":7,\"name\":\"TeamCreate\"}".to_owned()),
            4 => self.line(
                json!({"type": "result", "num_turns": self.lines.len(), "total_cost_usd": 0.5}),
            ),
            5 => {
                self.line(json!({"type": "user", "message": {"role": "user", "content": "go on"}}));
            }
            6 => self.line(json!({"type": "progress", "data": {"Agent": [1, 2]}})),
            _ => self.line(result_of("toolu_never", json!({"status": "teammate_spawned"}))),
        }
    }

    /// A call, and its answer, if it ever comes.
    fn pair(&mut self, call: &Call) -> (Value, Option<Value>) {
        self.calls += 1;
        let id = format!("toolu_{}", self.calls);
        let (tool, input, result) = match call {
            Call::Create => ("TeamCreate", json!({"team_name": "t"}), json!({"team_name": "t"})),
            Call::Delete { works } => (
                "TeamDelete",
                json!({}),
                json!({"success": works, "message": format!("{id}: {works}")}),
            ),
            Call::Spawn(who) => {
                let name = NAMES[*who];
                self.spawns[*who] = Some(id.clone());
                (
                    "Agent",
                    json!({"name": name, "team_name": "t", "prompt": "p"}),
                    json!({"status": "teammate_spawned", "agent_id": format!("{name}@t"), "name": name, "team_name": "t"}),
                )
            }
            Call::NewTask => {
                self.tasks += 1;
                (
                    "TaskCreate",
                    json!({"subject": format!("s{}", self.tasks)}),
                    json!({"task": {"id": self.tasks}}),
                )
            }
            Call::Update { task, status, owner, other } => {
                let status = STATUSES[*status];
                let mut input = json!({"taskId": task.to_string(), "status": status});
                if let Some(owner) = owner {
                    input["owner"] = json!(NAMES[*owner]);
                }
                if let Some(other) = other {
                    input["addBlocks"] = json!([other.to_string()]);
                }
                (
                    "TaskUpdate",
                    input,
                    json!({"success": true, "updatedFields": ["status", "owner"]}),
                )
            }
            Call::Send(kind, who) => {
                let (name, request) = (NAMES[*who], format!("shutdown-1@{}", NAMES[*who]));
                let input = [
                    json!({"to": name, "message": "words", "summary": "w"}),
                    json!({"type": "broadcast", "content": "words"}),
                    json!({"to": name, "message": {"type": "shutdown_request"}}),
                    json!({"type": "shutdown_response", "request_id": request, "approve": true}),
                    json!({"to": name, "message": {"type": "plan_approval_response", "request_id": "p", "approve": false}}),
                    json!({"type": "plan_approval_request", "content": "plan"}),
                ][*kind].clone();
                (
                    "SendMessage",
                    input,
                    json!({"success": true, "routing": {"sender": "team-lead", "target": format!("@{name}")}}),
                )
            }
            Call::List => ("TaskList", json!({}), json!({"tasks": []})),
            Call::Bash => ("Bash", json!({"command": "ls"}), json!({"stdout": "\"TaskCreate\""})),
            Call::Helper => (
                "Agent",
                json!({"name": "helper", "prompt": "p"}),
                json!({"status": "async_launched", "agentId": "a1"}),
            ),
            Call::Fails => ("TeamDelete", json!({}), json!("Error: no")),
            Call::Lost => return (use_block(&id, "TeamDelete", json!({})), None),
        };
        let mut answer = result_of(&id, result);
        if matches!(call, Call::Fails) {
            answer["message"]["content"][0]["is_error"] = json!(true);
        }
        (use_block(&id, tool, input), Some(answer))
    }
}
