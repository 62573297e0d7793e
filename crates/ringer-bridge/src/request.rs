//! Requests that wait for a worker's answer, and the answers.
//!
//! Owns which answer belongs to which request. An agreement to shut down is carried out by the daemon:
//! it is noted on the roster, so that a restart does not forget it.

use std::collections::HashSet;
use std::time::SystemTime;

use ringer_teams::{BACKEND, Entry, Known, Structured};

use crate::error::{Error, Result};
use crate::journal::{Direction, Filter, Journal, Message};
use crate::post::{Sent, iso};
use crate::roster::Roster;
use crate::speaker::Speaker;

/// So many of a worker's last messages are searched for a request.
const LAST: u32 = 500;

/// A request to a worker.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its id.
    pub id: String,
    /// Who made it.
    pub from: String,
    /// What it asks.
    pub asks: Known,
    /// When it came; milliseconds since 1970, if that is known.
    pub received_at: Option<i64>,
    /// When the worker was shown it.
    pub delivered_at: Option<i64>,
}

/// What became of an answer.
#[derive(Debug)]
pub struct Answered {
    /// The request.
    pub request: Request,
    /// Whether the worker is ended now.
    pub retires: bool,
    /// Its place in the asker's inbox.
    pub sent: Sent,
}

impl Speaker {
    /// The requests that wait for an answer of this worker's, oldest first.
    pub fn requests(&self) -> Result<Vec<Request>> {
        let journal = Journal::open_existing(&self.state)?;
        let messages = match &journal {
            Some(journal) => journal.messages(&Filter {
                team_dir: Some(self.team.dir().to_owned()),
                member: Some(self.name.clone()),
                last: Some(LAST),
                ..Filter::default()
            })?,
            None => Vec::new(),
        };
        let answered: HashSet<String> = messages
            .iter()
            .filter(|message| message.from == self.name)
            .filter_map(|message| Some(Structured::known(&message.text)?.answers()?.to_owned()))
            .collect();
        let mut found: Vec<Request> = Vec::new();
        // An older one was meant for somebody else of that name.
        let joined = self.team.config.member(&self.name).and_then(|member| member.joined_at);
        let is_ours = |request: &Request| {
            // Nobody but the lead ends a worker.
            let is_lead = request.from == self.lead();
            let may = is_lead || !matches!(request.asks, Known::ShutdownRequest { .. });
            may && joined.is_none_or(|joined| request.received_at.is_none_or(|at| at >= joined))
        };
        let is_new = |found: &[Request], request: &Request| {
            let id = &request.id;
            is_ours(request) && !answered.contains(id) && found.iter().all(|known| known.id != *id)
        };
        for message in messages.iter().filter(|m| m.direction == Direction::In && m.to == self.name)
        {
            if let Some(request) = Request::in_message(message).filter(|r| is_new(&found, r)) {
                found.push(request);
            }
        }
        // What no daemon has read yet is only there.
        for mailbox in self.team.mailboxes(&self.name)? {
            for entry in mailbox.read()?.entries() {
                if let Some(request) = Request::in_entry(entry).filter(|r| is_new(&found, r)) {
                    found.push(request);
                }
            }
        }
        Ok(found)
    }

    /// Answers a request.
    pub fn answer(&self, id: &str, approve: bool, reason: Option<&str>) -> Result<Answered> {
        let open = self.requests()?;
        let ids = || open.iter().map(|request| request.id.clone()).collect();
        // Where a worker is typed to, an `@` may have a backslash before it, and its model copies that.
        let plain = id.replace('\\', "");
        let is_meant = |request: &&Request| request.id == id || request.id == plain;
        let request = open.iter().find(is_meant).cloned();
        let request = request.ok_or_else(|| Error::NoRequest { id: id.to_owned(), open: ids() })?;
        let answer = self.words(&request, approve, reason);
        let summary = if approve { "approved" } else { "rejected" };
        let sent = self.write(&request.from, &answer.to_text(), Some(summary))?;
        let arrived = sent.posted.iter().all(|one| one.outcome.is_ok());
        let retires = approve
            && arrived
            && matches!(request.asks, Known::ShutdownRequest { .. })
            && Roster::retire(&self.state, self.team.dir(), &self.name)?;
        Ok(Answered { request, retires, sent })
    }

    fn words(&self, request: &Request, approved: bool, reason: Option<&str>) -> Known {
        let request_id = request.id.clone();
        let (from, timestamp) = (self.name.clone(), iso(SystemTime::now()));
        let reason = reason.map(str::to_owned);
        match &request.asks {
            Known::ShutdownRequest { .. } if approved => Known::ShutdownApproved {
                request_id,
                from,
                timestamp,
                pane_id: self.member_field("tmuxPaneId").or(Some("synthetic".to_owned())),
                backend_type: self.member_field("backendType").or(Some(BACKEND.to_owned())),
            },
            Known::ShutdownRequest { .. } => {
                Known::ShutdownRejected { request_id, from, reason, timestamp }
            }
            Known::PermissionRequest { tool_use_id, input, .. } => Known::PermissionResponse {
                request_id,
                subtype: if approved { "success" } else { "error" }.to_owned(),
                tool_use_id: tool_use_id.clone(),
                error: reason.filter(|_| !approved),
                response: if approved {
                    serde_json::json!({"updated_input": input})
                } else {
                    serde_json::Value::Null
                },
            },
            _ => Known::PlanApprovalResponse { request_id, approved, feedback: reason, timestamp },
        }
    }

    /// What `config.json` says of this member.
    fn member_field(&self, key: &str) -> Option<String> {
        let member = self.team.config.member(&self.name)?;
        let member: serde_json::Value = serde_json::from_str(&member.raw).ok()?;
        Some(member[key].as_str()?.to_owned()).filter(|value| !value.is_empty())
    }
}

impl Request {
    fn of(from: &str, text: &str) -> Option<Self> {
        let asks = Structured::known(text)?;
        let id = asks.request_id()?.to_owned();
        Some(Self { id, from: from.to_owned(), asks, received_at: None, delivered_at: None })
    }

    fn in_message(message: &Message) -> Option<Self> {
        let (received_at, delivered_at) = (Some(message.received_at), message.delivered_at);
        Some(Self { received_at, delivered_at, ..Self::of(&message.from, &message.text)? })
    }

    fn in_entry(entry: &Entry) -> Option<Self> {
        let sent = entry.timestamp.parse::<jiff::Timestamp>().ok();
        let received_at = sent.map(jiff::Timestamp::as_millisecond);
        Some(Self { received_at, ..Self::of(&entry.from, &entry.text)? })
    }

    /// What it asks, in a few words.
    pub fn kind(&self) -> &'static str {
        match self.asks {
            Known::ShutdownRequest { .. } => "shutdown",
            Known::PermissionRequest { .. } => "permission",
            _ => "plan",
        }
    }
}
