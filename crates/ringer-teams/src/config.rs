//! A team's `config.json`: who leads it, and who is on it.
//!
//! Owns reading it. What changes it is in `members`.

use crate::inbox::Odd;
use crate::json::{Array, NotWhole, Object};
use crate::names::LEAD;

/// `backendType` of the members that Ringer added. Only these are ever touched.
pub const BACKEND: &str = "ringer";

/// `founder` of the teams that Ringer made without Claude Code. Only these are ever deleted.
pub const FOUNDER: &str = "ringer";

/// A team's configuration, as far as Ringer needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamConfig {
    /// The name as chosen, or as Claude Code made it.
    pub name: Option<String>,
    /// What the team is for.
    pub description: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: Option<i64>,
    /// The lead's `agentId`.
    pub lead_agent_id: Option<String>,
    /// The lead's session.
    pub lead_session_id: Option<String>,
    /// The lead's process, on versions that say so.
    pub lead_process: Option<LeadProcess>,
    /// Who made it, if it was not Claude Code; `ringer` for ours.
    pub founder: Option<String>,
    /// The members, in the order of the file.
    pub members: Vec<Member>,
    /// Members that are not understood; they stay in the file.
    pub odd: Vec<Odd>,
}

/// The process that leads a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadProcess {
    /// Its id.
    pub pid: i64,
    /// Names the PID namespace that the id belongs to.
    pub pid_space: Option<String>,
    /// Its start time in clock ticks since boot, as `/proc/<pid>/stat` has it.
    pub proc_start: Option<String>,
}

/// A member of a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// `name@team`.
    pub agent_id: Option<String>,
    /// What `SendMessage` calls it.
    pub name: String,
    /// What kind of agent it is.
    pub agent_type: Option<String>,
    /// The model that it runs on.
    pub model: Option<String>,
    /// Milliseconds since 1970.
    pub joined_at: Option<i64>,
    /// Where it works.
    pub cwd: Option<String>,
    /// The colour it is shown in.
    pub color: Option<String>,
    /// `ringer` for ours.
    pub backend_type: Option<String>,
    /// Whether it is working.
    pub is_active: Option<bool>,
    /// The member as it stands in the file.
    pub raw: String,
}

impl Member {
    /// Whether Ringer put it there.
    pub fn is_synthetic(&self) -> bool {
        self.backend_type.as_deref() == Some(BACKEND)
    }

    fn parse(raw: &str) -> Result<Self, String> {
        let object = Object::parse(raw).map_err(|e| e.to_string())?;
        Ok(Self {
            name: object.string("name").ok_or("it has no string `name`")?,
            agent_id: object.string("agentId"),
            agent_type: object.string("agentType"),
            model: object.string("model"),
            joined_at: object.int("joinedAt"),
            cwd: object.string("cwd"),
            color: object.string("color"),
            backend_type: object.string("backendType"),
            is_active: object.bool("isActive"),
            raw: raw.to_owned(),
        })
    }
}

impl TeamConfig {
    /// Reads the text of a `config.json`.
    pub fn parse(text: &str) -> Result<Self, NotWhole> {
        let object = Object::parse(text)?;
        let members = Array::parse(object.get("members").unwrap_or("[]"))
            .map_err(|_| NotWhole("its `members` is not an array".into()))?;
        let (mut known, mut odd) = (Vec::new(), Vec::new());
        for raw in members.items {
            match Member::parse(raw) {
                Ok(member) => known.push(member),
                Err(why) => odd.push(Odd { raw: raw.to_owned(), why }),
            }
        }
        Ok(Self {
            name: object.string("name").filter(|name| !name.is_empty()),
            description: object.string("description"),
            created_at: object.int("createdAt"),
            lead_agent_id: object.string("leadAgentId"),
            lead_session_id: object.string("leadSessionId"),
            lead_process: object.get("leadProcess").and_then(LeadProcess::parse),
            founder: object.string("founder"),
            members: known,
            odd,
        })
    }

    /// Whether the team is one that Ringer founded.
    pub fn is_own(&self) -> bool {
        self.founder.as_deref() == Some(FOUNDER)
    }

    /// The member that leads.
    pub fn lead(&self) -> Option<&Member> {
        let by_id = |m: &&Member| m.agent_id.is_some() && m.agent_id == self.lead_agent_id;
        self.members.iter().find(by_id).or_else(|| self.member(LEAD))
    }

    /// The member of that name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|m| m.name == name)
    }
}

impl LeadProcess {
    fn parse(raw: &str) -> Option<Self> {
        let object = Object::parse(raw).ok()?;
        Some(Self {
            pid: object.int("pid")?,
            pid_space: object.string("pidSpace"),
            proc_start: object.string("procStart"),
        })
    }
}
