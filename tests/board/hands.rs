//! The two ways to the board: a process for every deed, or one server of tools for all of them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout, Output, Stdio};

use ringer_testkit::{Running, World};
use serde_json::{Value, json};

use crate::TEAM;

/// What a worker does on the board.
#[derive(Debug, Clone)]
pub(crate) enum Deed {
    Claim(u64),
    /// Writes what came of it so far.
    Note(u64, String),
    Release(u64),
    Complete(u64, String),
}

/// What may be in the way of a deed. That a lock or a file could not be had is not among it.
const REFUSALS: [&str; 6] =
    ["blocked", "busy", "circular_dependency", "conflict", "invalid_status", "task_not_found"];

/// The answer to a deed, or the code of the refusal.
pub(crate) type Answer = Result<Value, String>;

/// A worker's way to the board.
pub(crate) trait Hands: Send {
    /// Does all of these at once.
    fn all(&mut self, deeds: &[Deed]) -> Vec<Answer>;

    /// Whether a note is also left under a name of its own.
    fn marks(&self) -> bool;
}

/// `ringer tasks`, a process for every deed.
pub(crate) struct Cli<'w> {
    pub(crate) world: &'w World,
    pub(crate) name: String,
}

impl Cli<'_> {
    fn start(&self, deed: &Deed) -> Running {
        let (verb, id, note) = match deed {
            Deed::Claim(id) => ("claim", id, None),
            Deed::Note(id, note) | Deed::Complete(id, note) => ("update", id, Some(note)),
            Deed::Release(id) => ("release", id, None),
        };
        let mut ringer = self.world.ringer();
        ringer.env("RINGER_TEAM", TEAM).env("RINGER_MEMBER", &self.name);
        ringer.args(["tasks", verb, &id.to_string(), "--json"]);
        if let Some(note) = note {
            ringer.args(["--result", note, "--meta", &format!("{note}=true")]);
        }
        if let Deed::Complete(..) = deed {
            ringer.args(["--status", "completed"]);
        }
        Running::start(&mut ringer).unwrap()
    }
}

impl Hands for Cli<'_> {
    fn all(&mut self, deeds: &[Deed]) -> Vec<Answer> {
        let started: Vec<Running> = deeds.iter().map(|deed| self.start(deed)).collect();
        started.into_iter().map(|running| answer_of(&running.finish().unwrap())).collect()
    }

    fn marks(&self) -> bool {
        true
    }
}

/// What a `ringer … --json` answered.
pub(crate) fn answer_of(output: &Output) -> Answer {
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(output.status.success(), answer["success"] == true, "{answer}");
    checked(answer)
}

fn checked(answer: Value) -> Answer {
    if answer["success"] == true {
        assert_eq!(answer["not_told"], json!([]), "somebody was not told: {answer}");
        return Ok(answer);
    }
    let code = answer["error"].as_str().unwrap_or_default();
    assert!(REFUSALS.contains(&code), "{answer}");
    Err(code.to_owned())
}

/// `ringer mcp`, one process, spoken to line by line.
pub(crate) struct Mcp {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
    _server: Running,
}

impl Mcp {
    pub(crate) fn start(world: &World, name: &str) -> Self {
        let mut ringer = world.ringer();
        ringer.env("RINGER_TEAM", TEAM).env("RINGER_MEMBER", name).arg("mcp");
        ringer.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = Running::start_as_it_is(&mut ringer).unwrap();
        let (input, output) = (server.stdin().unwrap(), server.stdout().unwrap());
        let mut mcp = Self { input, output: BufReader::new(output), last: 0, _server: server };
        let id = mcp.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        assert_eq!(mcp.hear().0, id);
        mcp.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        mcp
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The next answer, and to which question.
    fn hear(&mut self) -> (u64, Value) {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if let Some(id) = message["id"].as_u64() {
                return (id, message["result"].clone());
            }
        }
    }
}

impl Hands for Mcp {
    fn all(&mut self, deeds: &[Deed]) -> Vec<Answer> {
        let asked: Vec<u64> = deeds
            .iter()
            .map(|deed| {
                let (name, id, more) = match deed {
                    Deed::Claim(id) => ("claim_task", id, None),
                    Deed::Note(id, note) => ("update_task_status", id, Some(("in_progress", note))),
                    Deed::Release(id) => ("release_task", id, None),
                    Deed::Complete(id, note) => {
                        ("update_task_status", id, Some(("completed", note)))
                    }
                };
                let mut arguments = json!({"task_id": id.to_string()});
                if let Some((status, note)) = more {
                    arguments["status"] = status.into();
                    arguments["result_summary"] = note.as_str().into();
                }
                self.ask("tools/call", &json!({"name": name, "arguments": arguments}))
            })
            .collect();
        let mut heard: Vec<Option<Answer>> = asked.iter().map(|_| None).collect();
        while heard.iter().any(Option::is_none) {
            let (id, result) = self.hear();
            let at = asked.iter().position(|other| *other == id).unwrap();
            let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
            heard[at] = Some(checked(serde_json::from_str(text).unwrap()));
        }
        heard.into_iter().flatten().collect()
    }

    fn marks(&self) -> bool {
        false
    }
}
