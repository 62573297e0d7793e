//! Why something was not done on the board.

use serde_json::{Value, json};

use crate::task::TaskStatus;

/// Why something was not done on the board. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// No such task.
    #[error("there is no task {id} on team `{team}`")]
    NotFound {
        /// What was asked for.
        id: String,
        /// The team.
        team: String,
    },
    /// From where it is, a task does not go there.
    #[error("task {id} is {from} and cannot become {wanted}")]
    InvalidStatus {
        /// The task.
        id: String,
        /// What it is.
        from: String,
        /// What it was to become.
        wanted: &'static str,
        /// What it can become.
        allowed: Vec<&'static str>,
    },
    /// Tasks would wait for each other.
    #[error("tasks would wait for each other: {}", path.join(" waits for "))]
    Circular {
        /// From a task over those that each waits for, back to it.
        path: Vec<String>,
    },
    /// Somebody else has it.
    #[error("task {id} {}", match owner {
        Some(owner) => format!("belongs to {owner}"),
        None => "is in progress already".to_owned(),
    })]
    Conflict {
        /// The task.
        id: String,
        /// Who has it.
        owner: Option<String>,
    },
    /// Others have to be done first.
    #[error("task {id} is blocked by {}", list(by))]
    Blocked {
        /// The task.
        id: String,
        /// Those that it waits for.
        by: Vec<String>,
    },
    /// One at a time.
    #[error("{who} is at task {task} ({subject}) already")]
    Busy {
        /// The member.
        who: String,
        /// What it is at.
        task: String,
        /// That one's line.
        subject: String,
    },
    /// Not for this member to do.
    #[error("{why}")]
    Denied {
        /// Why not.
        why: String,
    },
    /// More than there is room for.
    #[error("the {what} has {chars} characters; at most {limit} are taken")]
    TooLong {
        /// Of what.
        what: &'static str,
        /// How much it is.
        chars: usize,
        /// How much it may be.
        limit: usize,
    },
    /// Something that a task cannot have.
    #[error("{why}")]
    Invalid {
        /// What is wrong.
        why: String,
    },
    /// As many tasks as there may be.
    #[error("team `{team}` has {limit} tasks already, and no more are taken")]
    Full {
        /// The team.
        team: String,
        /// How many there may be.
        limit: usize,
    },
}

impl TaskError {
    /// The stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "task_not_found",
            Self::InvalidStatus { .. } => "invalid_status",
            Self::Circular { .. } => "circular_dependency",
            Self::Conflict { .. } => "conflict",
            Self::Blocked { .. } => "blocked",
            Self::Busy { .. } => "busy",
            Self::Denied { .. } => "permission_denied",
            Self::TooLong { .. } => "too_large",
            Self::Invalid { .. } => "invalid_task",
            Self::Full { .. } => "limit_reached",
        }
    }

    /// What may help.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { id, .. }
                if !id.bytes().all(|b| b.is_ascii_digit()) || id.is_empty() =>
            {
                "a task is called by its number, such as 3 or #3".to_owned()
            }
            Self::NotFound { .. } => {
                "list the tasks there are; a lead clears away its list when all are completed"
                    .to_owned()
            }
            Self::InvalidStatus { from, wanted, allowed, .. } => {
                let mut hint = format!("from there it can become {}", allowed.join(" or "));
                if *wanted == "pending" && from == "in_progress" {
                    hint.push_str("; release gives it back");
                }
                hint
            }
            Self::Conflict { owner: Some(_), .. } => {
                "take another one; its owner or the lead can release it".to_owned()
            }
            Self::Conflict { owner: None, .. } => {
                "take another one; the lead can release it".to_owned()
            }
            Self::Blocked { .. } => {
                "those come first; the owner of a task is told when it can begin".to_owned()
            }
            Self::Busy { task, .. } => format!("complete or release task {task} first"),
            Self::Full { .. } => "delete some that are completed".to_owned(),
            _ => return None,
        })
    }

    /// More about it, for programs.
    pub fn details(&self) -> Value {
        match self {
            Self::NotFound { id, team } => json!({"task_id": id, "team": team}),
            Self::InvalidStatus { id, from, wanted, allowed } => {
                json!({"task_id": id, "status": from, "wanted": wanted, "allowed": allowed})
            }
            Self::Circular { path } => json!({"path": path}),
            Self::Conflict { id, owner } => json!({"task_id": id, "owner": owner}),
            Self::Blocked { id, by } => json!({"task_id": id, "blocked_by": by}),
            Self::Busy { who, task, subject } => {
                json!({"owner": who, "task_id": task, "subject": subject})
            }
            Self::TooLong { chars, limit, .. } => json!({"characters": chars, "limit": limit}),
            Self::Full { limit, .. } => json!({"limit": limit}),
            Self::Denied { .. } | Self::Invalid { .. } => Value::Null,
        }
    }

    pub(crate) fn status(id: &str, from: &str, wanted: TaskStatus) -> Self {
        let known = from.parse::<TaskStatus>();
        let allowed = known.map_or(&[TaskStatus::Deleted][..], TaskStatus::next);
        Self::InvalidStatus {
            id: id.to_owned(),
            from: from.to_owned(),
            wanted: wanted.as_str(),
            allowed: allowed.iter().map(|status| status.as_str()).collect(),
        }
    }
}

fn list(ids: &[String]) -> String {
    let one = if ids.len() == 1 { "task" } else { "tasks" };
    format!("{one} {}", ids.join(", "))
}
