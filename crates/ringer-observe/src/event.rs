//! What happened on a team.
//!
//! Owns the names and the form of events: `namespace:action`, one JSON object each.

use serde::{Deserialize, Serialize};

use crate::state::{Member, Task};
use crate::summary::Summary;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What.
    #[serde(flatten)]
    pub what: What,
    /// The session that told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The team that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_name: Option<String>,
    /// The tool call that it came from; none if it came from a message that the session was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// When, as the stream says it; some streams do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
}

/// All that can happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all_fields = "camelCase")]
pub enum What {
    /// There is a team.
    #[serde(rename = "team:created")]
    Created,
    /// There is none any more.
    #[serde(rename = "team:deleted")]
    Deleted,
    /// Somebody is on it.
    #[serde(rename = "team:member:joined")]
    Joined {
        /// Who.
        member: Member,
    },
    /// Somebody has nothing to do.
    #[serde(rename = "team:member:idle")]
    Idle {
        /// Who.
        member: Member,
    },
    /// Somebody ends.
    #[serde(rename = "team:member:shutdown")]
    Shutdown {
        /// Who.
        member: Member,
    },
    /// There is something to do.
    #[serde(rename = "team:task:created")]
    TaskCreated {
        /// What.
        task: Task,
    },
    /// Somebody is at it.
    #[serde(rename = "team:task:claimed")]
    TaskClaimed {
        /// At what.
        task: Task,
    },
    /// It is done.
    #[serde(rename = "team:task:completed")]
    TaskCompleted {
        /// What.
        task: Task,
    },
    /// Somebody said something to somebody.
    #[serde(rename = "team:message:received")]
    Message {
        /// Who said it.
        from: String,
        /// To whom; to everybody, if to nobody.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        /// What.
        content: String,
        /// In a few words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// Who got it, if it was to everybody.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        recipients: Vec<String>,
    },
    /// Somebody was asked to end.
    #[serde(rename = "team:shutdown:requested")]
    ShutdownRequested {
        /// Who.
        member: String,
        /// What the answer will refer to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
    },
    /// Somebody answered whether it will end.
    #[serde(rename = "team:shutdown:response")]
    ShutdownResponse {
        /// Who.
        member: String,
        /// Whether it will.
        approved: bool,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Somebody wants its plan approved.
    #[serde(rename = "team:plan:requested")]
    PlanRequested {
        /// Who.
        from: String,
        /// What the answer will refer to.
        request_id: String,
    },
    /// A plan was approved, or was not.
    #[serde(rename = "team:plan:resolved")]
    PlanResolved {
        /// Who decided.
        from: String,
        /// Whether it was approved.
        approved: bool,
        /// What the answer refers to.
        request_id: String,
    },
    /// What a session came to.
    #[serde(rename = "session:summary")]
    Summary {
        /// In figures.
        summary: Summary,
    },
}

impl Event {
    /// What tells it from every other event of its team: where it came from, and whom or what it is about. A stream that
    /// is read again brings the same ones.
    pub fn identity(&self) -> String {
        let about = match &self.what {
            What::Joined { member } | What::Idle { member } | What::Shutdown { member } => {
                member.name.clone()
            }
            What::TaskCreated { task }
            | What::TaskClaimed { task }
            | What::TaskCompleted { task } => task.id.clone(),
            // One line can hold several messages of one sender.
            What::Message { from, content, .. } if self.tool_use_id.is_none() => {
                format!("{from}\0{content}")
            }
            What::ShutdownResponse { member, .. } => member.clone(),
            What::PlanRequested { from, request_id } => format!("{from}\0{request_id}"),
            _ => String::new(),
        };
        // A session that goes on in another file takes the calls of the first with it.
        let source = match (&self.tool_use_id, &self.session_id, &self.time) {
            (Some(call), ..) => call.clone(),
            (None, session, time) => format!("{session:?} {time:?}"),
        };
        format!("{}\0{source}\0{about}", self.what.name())
    }
}

impl What {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Created => "team:created",
            Self::Deleted => "team:deleted",
            Self::Joined { .. } => "team:member:joined",
            Self::Idle { .. } => "team:member:idle",
            Self::Shutdown { .. } => "team:member:shutdown",
            Self::TaskCreated { .. } => "team:task:created",
            Self::TaskClaimed { .. } => "team:task:claimed",
            Self::TaskCompleted { .. } => "team:task:completed",
            Self::Message { .. } => "team:message:received",
            Self::ShutdownRequested { .. } => "team:shutdown:requested",
            Self::ShutdownResponse { .. } => "team:shutdown:response",
            Self::PlanRequested { .. } => "team:plan:requested",
            Self::PlanResolved { .. } => "team:plan:resolved",
            Self::Summary { .. } => "session:summary",
        }
    }
}
