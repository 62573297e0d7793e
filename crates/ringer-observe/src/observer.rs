//! One session, line by line.
//!
//! Owns the order of things: what a line is, which calls it makes and answers, and what follows from that. It can be
//! written down and taken up again at any line.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::call::{Call, Unusable};
use crate::event::{Event, What};
use crate::line::{Block, Line, Message, Unread};
use crate::notice::notices;
use crate::outcome::Outcome;
use crate::pending::{Asked, Pending};
use crate::picture::{Picture, Place};
use crate::recent::Recent;
use crate::state::{Role, TeamState};
use crate::summary::Summary;
use crate::supplement::Supplement;

/// So many unknown names are remembered, each of which is told once.
const MOST_NAMES: usize = 64;

/// What follows from a line.
#[derive(Debug, Default)]
pub struct Seen {
    /// What happened.
    pub events: Vec<Event>,
    /// What `--tee` adds behind it.
    pub supplements: Vec<Supplement>,
    /// What was passed over, and why.
    pub warnings: Vec<Warning>,
    /// Whether it is no line of a stream at all.
    pub(crate) unread: Option<Unread>,
    /// Whether it was there before.
    pub(crate) is_repeated: bool,
}

/// Something in the stream that was passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A tool that is called like those of teams, and is not known. Told once for each name.
    UnknownTool(String),
    /// A tool was called without what it needs.
    Lacks {
        /// The tool.
        tool: String,
        /// What it needs.
        field: &'static str,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTool(tool) => {
                write!(f, "`{tool}` is not known; this Claude Code may be newer than this Ringer")
            }
            Self::Lacks { tool, field } => write!(f, "`{tool}` without `{field}`"),
        }
    }
}

/// A session, as it is now.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionState {
    /// Its id.
    pub session_id: Option<String>,
    /// Its team, if it has one.
    pub team: Option<TeamState>,
    /// The names of the members, in step with them.
    pub agents: Vec<String>,
    /// What it came to, as far as it has said so.
    pub summary: Option<Summary>,
    /// Calls that have not been answered.
    pub pending: usize,
}

/// Follows one session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Observer {
    session: Option<String>,
    /// The time of the last line that had one.
    now: Option<i64>,
    picture: Picture,
    pending: Pending,
    recent: Recent,
    summary: Option<Summary>,
    /// Unknown tools that were told of.
    #[serde(skip)]
    told: BTreeSet<String>,
}

impl Observer {
    /// Follows a session of which nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Follows a session that is known to be on this team.
    pub fn on_team(name: &str, role: Role) -> Self {
        Self { picture: Picture::of(name, role), ..Self::default() }
    }

    /// Its team, if it has one.
    pub fn team(&self) -> Option<&TeamState> {
        self.picture.team()
    }

    /// Its id.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// What it came to, as far as it has said so.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// Calls that have not been answered.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// All that is known.
    pub fn state(&self) -> SessionState {
        let agents = self.team().map(TeamState::agents).unwrap_or_default();
        SessionState {
            session_id: self.session.clone(),
            team: self.team().cloned(),
            agents: agents.into_iter().map(str::to_owned).collect(),
            summary: self.summary.clone(),
            pending: self.pending.len(),
        }
    }

    /// Whether lines matter that would not otherwise: those with answers.
    pub(crate) fn is_attentive(&self) -> bool {
        !self.pending.is_empty() || self.picture.expects()
    }

    /// Takes a line in, without its end.
    pub fn line(&mut self, text: &[u8]) -> Seen {
        let mut seen = Seen::default();
        // Whatever of its end was cut off, it is the same line.
        let text = text.trim_ascii();
        let (line, message) = match Line::parse(text).and_then(|line| Ok((line.message()?, line))) {
            Ok((message, line)) => (line, message),
            Err(unread) => {
                seen.unread = Some(unread);
                return seen;
            }
        };
        if !self.recent.is_new(text) {
            seen.is_repeated = true;
            return seen;
        }
        if let Some(session) = line.session().filter(|id| self.session.as_deref() != Some(id)) {
            self.session = Some(session.to_owned());
        }
        self.now = line.time().or(self.now);
        match line.kind.as_ref() {
            "assistant" => self.said(&line, &message, &mut seen),
            "user" => self.heard(&line, &message, &mut seen),
            "system" if line.subtype.as_deref() == Some("task_notification") => {
                self.notified(&line, &mut seen);
            }
            "result" => {
                self.rest(&line, &mut seen);
                self.summary = Summary::of_stream(text).or(self.summary.take());
                if let Some(summary) = self.summary.clone() {
                    self.tell(&line, None, vec![What::Summary { summary }], &mut seen);
                }
            }
            "cost-state" => {
                self.rest(&line, &mut seen);
                self.summary = Summary::of_transcript(text).or(self.summary.take());
            }
            _ => {}
        }
        self.pending.flush(self.now);
        seen
    }

    /// There is nothing more to come for now: who has completed a task and not begun another is idle.
    pub fn finish(&mut self) -> Vec<Event> {
        let mut happened = Vec::new();
        self.picture.settle(None, None, &mut happened);
        happened.into_iter().map(|what| self.event(what, None, None)).collect()
    }

    /// The model says something.
    fn said(&mut self, line: &Line<'_>, message: &Message<'_>, seen: &mut Seen) {
        // Without an id, a line is all that was said.
        let batch = message.id.as_deref().map(str::to_owned);
        let mut idle = Vec::new();
        self.picture.settle(batch.as_deref(), line.time(), &mut idle);
        self.tell(line, None, idle, seen);
        for block in message.blocks() {
            if block.kind == "tool_use" {
                self.called(line, &block, batch.as_deref(), seen);
            }
        }
    }

    fn called(&mut self, line: &Line<'_>, block: &Block<'_>, batch: Option<&str>, seen: &mut Seen) {
        let (Some(tool), Some(id)) = (block.name.as_deref(), block.id.as_deref()) else { return };
        let call = match Call::recognise(tool, block.input.map(RawValue::get)) {
            Ok(call) => call,
            Err(Unusable::Other) => return,
            Err(Unusable::Lacks(field)) => {
                seen.warnings.push(Warning::Lacks { tool: tool.to_owned(), field });
                return;
            }
            Err(Unusable::Unknown) => {
                if self.told.len() < MOST_NAMES && self.told.insert(tool.to_owned()) {
                    seen.warnings.push(Warning::UnknownTool(tool.to_owned()));
                }
                return;
            }
        };
        if let Some(input) = block.input.filter(|_| call.is_certain()) {
            seen.supplements.push(Supplement::of_use(call.category(), tool, id, input));
        }
        self.pending.ask(Asked {
            id: id.to_owned(),
            tool: tool.to_owned(),
            call,
            at: line.time().or(self.now),
            batch: batch.map(str::to_owned),
            parent: line.parent_tool_use_id.as_deref().map(str::to_owned),
        });
    }

    /// A tool answers, or somebody says something to the model.
    fn heard(&mut self, line: &Line<'_>, message: &Message<'_>, seen: &mut Seen) {
        let blocks = message.blocks();
        let answers: Vec<&Block<'_>> =
            blocks.iter().filter(|block| block.kind == "tool_result").collect();
        let kept = line.result().filter(|_| answers.len() == 1);
        for block in &answers {
            self.answered(line, block, kept, seen);
        }
        if answers.is_empty() {
            self.mail(line, message, seen);
        }
    }

    fn answered(
        &mut self,
        line: &Line<'_>,
        block: &Block<'_>,
        kept: Option<&RawValue>,
        seen: &mut Seen,
    ) {
        let Some(id) = block.tool_use_id.as_deref() else { return };
        let Some(asked) = self.pending.answer(id, self.now) else { return };
        let outcome = Outcome::read(block, kept);
        if asked.call.is_certain() || outcome.is_teammate() {
            let (category, result) = (asked.call.category(), kept.or(block.content));
            let is_error = outcome.is_error();
            seen.supplements.push(Supplement::of_result(
                category,
                &asked.tool,
                id,
                result,
                is_error,
            ));
        }
        // The same call happens once, in whatever lines it comes again.
        if !self.recent.is_new(format!("{id} {:?}", asked.call).as_bytes()) {
            return;
        }
        let mut happened = Vec::new();
        let session = self.session.clone();
        let place = place(session.as_deref(), line);
        self.picture.answered(&asked, &outcome, place, &mut happened);
        self.tell(line, Some(id), happened, seen);
    }

    fn mail(&mut self, line: &Line<'_>, message: &Message<'_>, seen: &mut Seen) {
        self.rest(line, seen);
        let mut happened = Vec::new();
        let session = self.session.clone();
        for notice in notices(&message.words()) {
            self.picture.noticed(&notice, place(session.as_deref(), line), &mut happened);
        }
        self.tell(line, None, happened, seen);
    }

    /// Something that ran within a call has come to its end.
    fn notified(&mut self, line: &Line<'_>, seen: &mut Seen) {
        let is_over =
            matches!(line.status().as_deref(), Some("completed" | "failed" | "killed" | "stopped"));
        if let Some(call) = line.tool_use_id.as_deref().filter(|_| is_over) {
            let mut happened = Vec::new();
            self.picture.ended(call, &mut happened);
            self.tell(line, Some(call), happened, seen);
        }
    }

    /// What the model said is over.
    fn rest(&mut self, line: &Line<'_>, seen: &mut Seen) {
        let mut idle = Vec::new();
        self.picture.settle(None, line.time(), &mut idle);
        self.tell(line, None, idle, seen);
    }

    fn tell(&self, line: &Line<'_>, call: Option<&str>, happened: Vec<What>, seen: &mut Seen) {
        let time = line.timestamp.as_deref();
        seen.events.extend(happened.into_iter().map(|what| self.event(what, call, time)));
    }

    fn event(&self, what: What, call: Option<&str>, time: Option<&str>) -> Event {
        Event {
            what,
            session_id: self.session.clone(),
            team_name: self.picture.name().map(str::to_owned),
            tool_use_id: call.map(str::to_owned),
            time: time.map(str::to_owned),
        }
    }
}

fn place<'a>(session: Option<&'a str>, line: &'a Line<'_>) -> Place<'a> {
    let (team, agent) = (line.team.as_deref(), line.agent.as_deref());
    Place { session, team, agent, time: line.time() }
}
