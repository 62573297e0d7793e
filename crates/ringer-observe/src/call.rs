//! What a call of a tool is meant to do to the team.
//!
//! Owns the names and inputs of the tools, of every generation of Claude Code. What another tool does is nobody's
//! business here; what is called like one of the team's and is not known is reported, so that a new version is noticed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::supplement::Category;
use crate::update::Update;

type Input = Map<String, Value>;

/// What a tool is asked to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Call {
    CreateTeam {
        name: String,
    },
    DeleteTeam,
    /// A teammate, if `team` is there. If not, only the answer tells: newer versions call helpers by names, too.
    Spawn {
        name: String,
        team: Option<String>,
        agent_type: Option<String>,
        model: Option<String>,
    },
    CreateTask {
        subject: String,
        description: Option<String>,
        active_form: Option<String>,
    },
    UpdateTask(Update),
    /// Tasks are looked at.
    LookAtTasks,
    Send(Said),
}

/// What is said with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Said {
    /// To nobody is to everybody.
    Words {
        to: Option<String>,
        content: String,
        summary: Option<String>,
    },
    ShutdownRequest {
        to: String,
    },
    ShutdownResponse {
        request_id: String,
        approved: bool,
        reason: Option<String>,
    },
    PlanRequest {
        request_id: Option<String>,
    },
    PlanResponse {
        request_id: String,
        approved: bool,
    },
}

/// Why a call is passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// It is none of the team's.
    Other,
    /// It is called like one of the team's, but is not known.
    Unknown,
    /// What it needs is not there.
    Lacks(&'static str),
}

/// Names that begin like this are the team's, or will be.
const OURS: [&str; 3] = ["Team", "Task", "Agent"];

/// Tools that are called like that and have nothing to do with teams: the shells and helpers of the session.
const OTHERS: [&str; 3] = ["TaskOutput", "TaskStop", "AgentOutputTool"];

impl Call {
    pub(crate) fn recognise(tool: &str, input: Option<&str>) -> Result<Self, Unusable> {
        let input = || -> Result<Input, Unusable> {
            let text = input.ok_or(Unusable::Lacks("input"))?;
            serde_json::from_str(text).map_err(|_| Unusable::Lacks("input"))
        };
        Ok(match tool {
            "TeamCreate" => Self::CreateTeam { name: needs(&input()?, "team_name")? },
            "TeamDelete" => Self::DeleteTeam,
            "Teammate" => return Self::teammate(&input()?),
            "Task" | "Agent" => Self::spawn(&input()?)?,
            "TaskCreate" => {
                let input = input()?;
                Self::CreateTask {
                    subject: needs(&input, "subject")?,
                    description: text(&input, "description"),
                    active_form: text(&input, "activeForm"),
                }
            }
            "TaskUpdate" => {
                let input = input()?;
                Self::UpdateTask(Update::read(needs(&input, "taskId")?, &input))
            }
            "TaskGet" => needs(&input()?, "taskId").map(|_| Self::LookAtTasks)?,
            "TaskList" => Self::LookAtTasks,
            "SendMessage" => Self::Send(Said::read(&input()?)?),
            other if OTHERS.contains(&other) => return Err(Unusable::Other),
            other if OURS.iter().any(|start| other.starts_with(start)) => {
                return Err(Unusable::Unknown);
            }
            _ => return Err(Unusable::Other),
        })
    }

    /// What it is about.
    pub(crate) fn category(&self) -> Category {
        match self {
            Self::CreateTeam { .. } | Self::DeleteTeam | Self::Spawn { .. } => {
                Category::TeamStateChange
            }
            Self::CreateTask { .. } | Self::UpdateTask(_) | Self::LookAtTasks => {
                Category::TeamTaskUpdate
            }
            Self::Send(_) => Category::TeamMessage,
        }
    }

    /// Whether it is known to be the team's before it is answered.
    pub(crate) fn is_certain(&self) -> bool {
        !matches!(self, Self::Spawn { team: None, .. })
    }

    /// A plain helper has no name.
    fn spawn(input: &Input) -> Result<Self, Unusable> {
        let name = text(input, "name").ok_or(Unusable::Other)?;
        Ok(Self::Spawn {
            name,
            team: text(input, "team_name"),
            agent_type: text(input, "subagent_type"),
            model: text(input, "model"),
        })
    }

    /// The oldest generation has one tool for teams, with operations.
    fn teammate(input: &Input) -> Result<Self, Unusable> {
        let operation = needs(input, "operation")?;
        let request_id = || needs(input, "request_id");
        let target = || {
            needs(input, "target_agent_id").or_else(|_| needs(input, "name")).map(|id| plain(&id))
        };
        let response = |approved| -> Result<Self, Unusable> {
            let reason = text(input, "reason");
            Ok(Self::Send(Said::ShutdownResponse { request_id: request_id()?, approved, reason }))
        };
        let plan = |approved| -> Result<Self, Unusable> {
            Ok(Self::Send(Said::PlanResponse { request_id: request_id()?, approved }))
        };
        let words = |to| -> Result<Self, Unusable> {
            let content = needs(input, "value")?;
            Ok(Self::Send(Said::Words { to, content, summary: text(input, "summary") }))
        };
        match operation.as_str() {
            "spawnTeam" => Ok(Self::CreateTeam { name: needs(input, "team_name")? }),
            "cleanup" => Ok(Self::DeleteTeam),
            "requestShutdown" => Ok(Self::Send(Said::ShutdownRequest { to: target()? })),
            "approveShutdown" => response(true),
            "rejectShutdown" => response(false),
            "approvePlan" => plan(true),
            "rejectPlan" => plan(false),
            "write" => words(Some(target()?)),
            "broadcast" => words(None),
            // Looking for teams, and joining one: nothing that a team's state would show.
            _ => Err(Unusable::Other),
        }
    }
}

impl Said {
    /// Both forms: `type`, `recipient`, `content`; and `to`, `message`, where the message may be an object with a `type`.
    /// Newer versions write down both.
    fn read(input: &Input) -> Result<Self, Unusable> {
        let object = input.get("message").and_then(Value::as_object);
        let kind = object.and_then(|object| text(object, "type")).or_else(|| text(input, "type"));
        let kind = match (kind, input.contains_key("message")) {
            (Some(kind), _) => kind,
            (None, true) => "message".to_owned(),
            (None, false) => return Err(Unusable::Lacks("type")),
        };
        let to = || text(input, "to").or_else(|| text(input, "recipient")).map(|id| plain(&id));
        let either = |name: &str| object.and_then(|o| text(o, name)).or_else(|| text(input, name));
        let approved = || {
            let given = |object: &Input| object.get("approve").and_then(Value::as_bool);
            object.and_then(given).or_else(|| given(input)).ok_or(Unusable::Lacks("approve"))
        };
        let words = || text(input, "message").or_else(|| text(input, "content"));
        Ok(match kind.as_str() {
            "message" => Self::Words {
                to: Some(to().ok_or(Unusable::Lacks("to"))?).filter(|to| to != "*"),
                content: words().ok_or(Unusable::Lacks("message"))?,
                summary: text(input, "summary"),
            },
            "broadcast" => Self::Words {
                to: None,
                content: words().ok_or(Unusable::Lacks("content"))?,
                summary: text(input, "summary"),
            },
            "shutdown_request" => Self::ShutdownRequest { to: to().ok_or(Unusable::Lacks("to"))? },
            "shutdown_response" => Self::ShutdownResponse {
                request_id: either("request_id").ok_or(Unusable::Lacks("request_id"))?,
                approved: approved()?,
                reason: either("reason").or_else(|| text(input, "content")),
            },
            "plan_approval_request" => Self::PlanRequest { request_id: either("request_id") },
            "plan_approval_response" => Self::PlanResponse {
                request_id: either("request_id").ok_or(Unusable::Lacks("request_id"))?,
                approved: approved()?,
            },
            _ => return Err(Unusable::Unknown),
        })
    }
}

/// A text; models also write numbers where a text is meant.
pub(crate) fn text(input: &Input, key: &str) -> Option<String> {
    match input.get(key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn needs(input: &Input, key: &'static str) -> Result<String, Unusable> {
    text(input, key).ok_or(Unusable::Lacks(key))
}

/// `@alice`, `alice@team` and `alice` are the same one.
pub(crate) fn plain(id: &str) -> String {
    let name = id.strip_prefix('@').unwrap_or(id);
    name.split_once('@').map_or(name, |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn recognise(tool: &str, input: &Value) -> Result<Call, Unusable> {
        Call::recognise(tool, Some(&input.to_string()))
    }

    #[test]
    fn every_tool_of_a_team_is_recognised_with_what_it_is_about() {
        use Category::{TeamMessage, TeamStateChange, TeamTaskUpdate};
        for (tool, input, category) in [
            ("TeamCreate", json!({"team_name": "t"}), TeamStateChange),
            ("TeamDelete", json!({}), TeamStateChange),
            ("Teammate", json!({"operation": "spawnTeam", "team_name": "t"}), TeamStateChange),
            ("Teammate", json!({"operation": "cleanup"}), TeamStateChange),
            (
                "Teammate",
                json!({"operation": "requestShutdown", "target_agent_id": "a@t"}),
                TeamMessage,
            ),
            ("Teammate", json!({"operation": "approveShutdown", "request_id": "r"}), TeamMessage),
            ("Teammate", json!({"operation": "rejectShutdown", "request_id": "r"}), TeamMessage),
            ("Teammate", json!({"operation": "approvePlan", "request_id": "r"}), TeamMessage),
            ("Teammate", json!({"operation": "rejectPlan", "request_id": "r"}), TeamMessage),
            (
                "Teammate",
                json!({"operation": "write", "target_agent_id": "a", "value": "x"}),
                TeamMessage,
            ),
            ("Teammate", json!({"operation": "broadcast", "value": "x"}), TeamMessage),
            ("Task", json!({"team_name": "t", "name": "a", "prompt": "p"}), TeamStateChange),
            ("Agent", json!({"name": "a", "prompt": "p"}), TeamStateChange),
            ("TaskCreate", json!({"subject": "s"}), TeamTaskUpdate),
            ("TaskUpdate", json!({"taskId": "1"}), TeamTaskUpdate),
            ("TaskUpdate", json!({"taskId": 1}), TeamTaskUpdate),
            ("TaskGet", json!({"taskId": "1"}), TeamTaskUpdate),
            ("TaskList", json!({}), TeamTaskUpdate),
            (
                "SendMessage",
                json!({"type": "message", "recipient": "a", "content": "x"}),
                TeamMessage,
            ),
            ("SendMessage", json!({"to": "a", "message": "x"}), TeamMessage),
            ("SendMessage", json!({"type": "broadcast", "content": "x"}), TeamMessage),
            ("SendMessage", json!({"type": "shutdown_request", "recipient": "a"}), TeamMessage),
            (
                "SendMessage",
                json!({"to": "a", "message": {"type": "shutdown_request"}}),
                TeamMessage,
            ),
            (
                "SendMessage",
                json!({"type": "shutdown_response", "request_id": "r", "approve": true}),
                TeamMessage,
            ),
            (
                "SendMessage",
                json!({"to": "l", "message": {"type": "shutdown_response", "request_id": "r", "approve": false}}),
                TeamMessage,
            ),
            (
                "SendMessage",
                json!({"type": "plan_approval_request", "content": "the plan"}),
                TeamMessage,
            ),
            (
                "SendMessage",
                json!({"type": "plan_approval_response", "request_id": "r", "approve": false}),
                TeamMessage,
            ),
            (
                "SendMessage",
                json!({"to": "a", "message": {"type": "plan_approval_response", "request_id": "r", "approve": true}}),
                TeamMessage,
            ),
        ] {
            let call = recognise(tool, &input).unwrap_or_else(|e| panic!("{tool} {input}: {e:?}"));
            assert_eq!(call.category(), category, "{tool} {input}");
        }
    }

    #[test]
    fn what_lacks_something_and_what_is_no_tool_of_a_team_is_passed_over() {
        use Unusable::{Lacks, Other, Unknown};
        for (tool, input, why) in [
            ("TeamCreate", json!({}), Lacks("team_name")),
            ("TeamCreate", json!({"team_name": ""}), Lacks("team_name")),
            ("TeamCreate", json!([]), Lacks("input")),
            ("TaskCreate", json!({"description": "d"}), Lacks("subject")),
            ("TaskUpdate", json!({"status": "completed"}), Lacks("taskId")),
            ("TaskGet", json!({}), Lacks("taskId")),
            ("SendMessage", json!({}), Lacks("type")),
            ("SendMessage", json!({"type": "message", "content": "x"}), Lacks("to")),
            ("SendMessage", json!({"type": "message", "recipient": "a"}), Lacks("message")),
            (
                "SendMessage",
                json!({"type": "shutdown_response", "approve": true}),
                Lacks("request_id"),
            ),
            (
                "SendMessage",
                json!({"type": "shutdown_response", "request_id": "r"}),
                Lacks("approve"),
            ),
            ("SendMessage", json!({"type": "song", "content": "x"}), Unknown),
            ("Teammate", json!({}), Lacks("operation")),
            ("Teammate", json!({"operation": "discoverTeams"}), Other),
            // Plain helpers.
            ("Task", json!({"description": "d", "prompt": "p"}), Other),
            ("Task", json!({"team_name": "t", "prompt": "p"}), Other),
            ("Agent", json!({"description": "d", "prompt": "p"}), Other),
            ("Bash", json!({"command": "ls"}), Other),
            ("Read", json!({}), Other),
            ("TaskOutput", json!({"task_id": "1"}), Other),
            ("TaskStop", json!({"task_id": "1"}), Other),
            ("TeamInvite", json!({}), Unknown),
            ("TaskArchive", json!({}), Unknown),
            ("AgentPause", json!({}), Unknown),
        ] {
            assert_eq!(recognise(tool, &input), Err(why), "{tool} {input}");
        }
        assert_eq!(Call::recognise("TeamCreate", None), Err(Lacks("input")));
    }

    #[test]
    fn both_forms_of_a_message_are_the_same_message() {
        let old = recognise(
            "SendMessage",
            &json!({"type": "message", "recipient": "a", "content": "x", "summary": "s"}),
        );
        let new = recognise("SendMessage", &json!({"to": "a", "message": "x", "summary": "s"}));
        let both = recognise(
            "SendMessage",
            &json!({
                "to": "a", "message": "x", "summary": "s", "type": "message", "recipient": "a", "content": "x",
            }),
        );
        assert_eq!(old, new);
        assert_eq!(new, both);
        for id in ["a", "@a", "a@team"] {
            assert_eq!(plain(id), "a");
        }
    }
}
