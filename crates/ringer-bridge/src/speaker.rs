//! A worker's own voice: what it may do on its team, be it from the command line, a tool or a hook.
//!
//! Owns the meaning of each. Who the worker is comes from its surroundings, never from what it says.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use jiff::Timestamp;
use ringer_teams::{Known, LEAD, Member, Structured, TEXT_LIMIT, Team, stored};
use serde::{Deserialize, Serialize};

use crate::desk::lead_of;
use crate::error::Result;
use crate::journal::MemberId;
use crate::post::{EVERYBODY, Letter, Sent, iso, post};
use crate::state::StateDir;

/// A longer plan goes to a file: the rest of a message's text is for what stands around it.
const LONGEST_PLAN: usize = TEXT_LIMIT / 2;

/// In front of a text that is JSON for programs, and is not meant for them.
const QUOTED: &str = "(quoted)";

/// How a piece of work went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is done.
    Success,
    /// It cannot be done.
    Failure,
    /// It needs something first.
    Blocked,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Success, Self::Failure, Self::Blocked];

    /// In lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Blocked => "blocked",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Status {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let known = || Self::ALL.map(Self::as_str).join(", ");
        let found = Self::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| format!("it is none of {}", known()))
    }
}

/// Somebody on a team, as others see them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Teammate {
    /// What they are called.
    pub name: String,
    /// What kind of agent they are.
    pub agent_type: Option<String>,
    /// The model that they run on.
    pub model: Option<String>,
    /// Whether they lead the team.
    pub is_lead: bool,
    /// Whether that is you.
    pub is_you: bool,
}

/// A worker, and the team that it is on.
#[derive(Debug, Clone)]
pub struct Speaker {
    pub(crate) state: StateDir,
    pub(crate) team: Team,
    pub(crate) name: String,
}

impl Speaker {
    /// The member of that name, as its team is now.
    pub fn new(state: &StateDir, team: Team, name: &str) -> Result<Self> {
        team.member(name)?;
        Ok(Self { state: state.clone(), team, name: name.to_owned() })
    }

    /// Its team.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who it is to the journal.
    pub fn id(&self) -> MemberId {
        MemberId::new(self.team.dir(), &self.name)
    }

    /// The lead's name.
    pub fn lead(&self) -> &str {
        lead_of(&self.team)
    }

    /// Tells the lead something, and how the work went.
    pub fn reply(&self, status: Option<Status>, text: &str, summary: Option<&str>) -> Result<Sent> {
        let Some(status) = status else {
            return self.send(self.lead(), text, summary);
        };
        let first_line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let summary = format!("{status}: {}", summary.unwrap_or(first_line).trim());
        // An empty text is an empty message, whatever the status.
        let marked =
            if text.trim().is_empty() { String::new() } else { format!("[{status}] {text}") };
        self.send(self.lead(), &marked, Some(&summary))
    }

    /// Sends a message to a member. Whatever it says is words: a text that programs would act on, such as
    /// somebody else's agreement to shut down, is made a quotation.
    pub fn send(&self, to: &str, text: &str, summary: Option<&str>) -> Result<Sent> {
        if Structured::parse(text).is_some() {
            return self.write(to, &format!("{QUOTED}\n{text}"), summary);
        }
        self.write(to, text, summary)
    }

    /// Writes a message to a member, be it words or a message between programs.
    pub(crate) fn write(&self, to: &str, text: &str, summary: Option<&str>) -> Result<Sent> {
        // The lead of a team of our own may not be there yet: its mail waits.
        let force = self.team.is_own() && to == LEAD;
        let letter = Letter { from: &self.name, to, text, summary, force };
        post(&self.state, &self.team, &letter, SystemTime::now())
    }

    /// Sends a message to everybody else.
    pub fn broadcast(&self, text: &str, summary: Option<&str>) -> Result<Sent> {
        self.send(EVERYBODY, text, summary)
    }

    /// Everybody on the team.
    pub fn teammates(&self) -> Vec<Teammate> {
        let lead = self.lead();
        let teammate = |member: &Member| Teammate {
            name: member.name.clone(),
            agent_type: member.agent_type.clone(),
            model: member.model.clone(),
            is_lead: member.name == lead,
            is_you: member.name == self.name,
        };
        self.team.config.members.iter().map(teammate).collect()
    }

    /// Asks the lead whether it may go on as planned; the request's id, in the one form that newer versions
    /// of Claude Code show to their model.
    pub fn request_plan_approval(&self, plan: &str) -> Result<(String, Sent)> {
        let request_id =
            format!("plan_approval-{}@{}", Timestamp::now().as_millisecond(), self.name);
        if plan.trim().is_empty() {
            return Err(ringer_teams::Error::EmptyMessage.into());
        }
        // A structured message that was cut would be none.
        let (plan_content, plan_file_path) = if plan.chars().count() > LONGEST_PLAN {
            let (dir, name) = (self.state.messages(), request_id.as_str());
            let file = dir.join(format!("{name}.txt")).display().to_string();
            (stored(plan, &dir, name)?, Some(file))
        } else {
            (plan.to_owned(), None)
        };
        let request = Known::PlanApprovalRequest {
            request_id: request_id.clone(),
            from: self.name.clone(),
            plan_content,
            plan_file_path,
            timestamp: iso(SystemTime::now()),
        };
        let sent = self.write(self.lead(), &request.to_text(), Some("plan for approval"))?;
        Ok((request_id, sent))
    }

    /// Tells the lead that a turn has ended. `said` is what the worker said last.
    pub fn idle(&self, said: &str, reported: bool) -> Result<Sent> {
        let summary = (!said.is_empty()).then(|| said.to_owned());
        let idle = Known::IdleNotification {
            from: self.name.clone(),
            timestamp: iso(SystemTime::now()),
            idle_reason: Some("available".to_owned()),
            summary,
            result: None,
            reported: reported.then_some(true),
        };
        self.write(self.lead(), &idle.to_text(), None)
    }
}
