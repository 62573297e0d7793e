//! The picture of a team: who is on it, and what there is to do.
//!
//! Owns the form in which everybody gets it. The names of fields are those that Claude Code uses itself.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

/// What the session is on its team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It made the team, or the team is the session's own.
    Lead,
    /// It is on a team of somebody else's.
    Teammate,
}

/// How a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It has something to do, as far as is known.
    Active,
    /// It has nothing to do.
    Idle,
    /// It has agreed to end, or has ended.
    Shutdown,
}

/// Somebody on the team, but for its lead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its name, unique on the team.
    pub name: String,
    /// What Claude Code calls it.
    pub agent_id: String,
    /// What kind of agent it is.
    pub agent_type: String,
    /// How it is.
    pub status: Standing,
    /// Its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its colour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
}

/// How a task is. A deleted one is in no state any more; only events have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nobody is at it.
    Pending,
    /// Somebody is at it.
    InProgress,
    /// It is done.
    Completed,
    /// It is gone.
    Deleted,
}

impl Status {
    /// The status of this name.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "pending" => Self::Pending,
            "in_progress" => Self::InProgress,
            "completed" => Self::Completed,
            "deleted" => Self::Deleted,
            _ => return None,
        })
    }

    /// As Claude Code writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Deleted => "deleted",
        }
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its number, as text.
    pub id: String,
    /// What it is about.
    pub subject: String,
    /// What is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The same, as it is being done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// How it is.
    pub status: Status,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What waits for it.
    #[serde(default)]
    pub blocks: Vec<String>,
    /// What it waits for.
    #[serde(default)]
    pub blocked_by: Vec<String>,
}

/// A team, as far as one session has told of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamState {
    /// Its name.
    pub name: String,
    /// What the session is on it.
    pub role: Role,
    /// Who is on it, but for the lead; who has ended stays.
    pub members: Vec<Member>,
    /// What there is to do.
    pub tasks: Vec<Task>,
    /// Members that were asked to end and have not answered.
    #[serde(default)]
    pub shutting_down: Vec<String>,
    /// Why the team was not deleted, when somebody tried last.
    #[serde(default)]
    pub error: Option<String>,
}

impl TeamState {
    /// A team with nobody and nothing on it.
    pub fn new(name: &str, role: Role) -> Self {
        let (members, tasks) = (Vec::new(), Vec::new());
        let name = name.to_owned();
        Self { name, role, members, tasks, shutting_down: Vec::new(), error: None }
    }

    /// The names of the members: always in step with them, since it is nowhere else.
    pub fn agents(&self) -> Vec<&str> {
        self.members.iter().map(|member| member.name.as_str()).collect()
    }

    /// The member of this name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The task with this number.
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == id)
    }
}

impl Serialize for TeamState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut state = serializer.serialize_struct("TeamState", 7)?;
        state.serialize_field("name", &self.name)?;
        state.serialize_field("role", &self.role)?;
        state.serialize_field("agents", &self.agents())?;
        state.serialize_field("members", &self.members)?;
        state.serialize_field("tasks", &self.tasks)?;
        state.serialize_field("shuttingDown", &self.shutting_down)?;
        state.serialize_field("error", &self.error)?;
        state.end()
    }
}
