//! Tools for the board that a team shares, for workers and for leads.
//!
//! Owns what a model is told of them. Whose board it is, and as whom the caller sits there, is found out anew with every
//! call, from what the caller is.

use ringer_bridge::one_line;
use ringer_teams::{DELIVERABLE_PATH, NewTask, RESULT_SUMMARY, Task, TaskChange, TaskStatus};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::{Refusal, Tools};

#[derive(Debug, Deserialize, JsonSchema)]
struct ListTasks {
    /// Only those that are `pending`, `in_progress` or `completed`.
    #[serde(default)]
    #[schemars(extend("enum" = ["pending", "in_progress", "completed", null]))]
    status: Option<String>,
    /// Only those of this member.
    #[serde(default)]
    owner: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct OneTask {
    /// Its number, as list_tasks gives it.
    #[serde(deserialize_with = "number")]
    task_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct CreateTask {
    /// A line that says what is to be done, at most 200 characters.
    subject: String,
    /// The whole of it, at most 5,000 characters. Whoever does it knows nothing else: say all that it needs.
    #[serde(default)]
    description: String,
    /// What is being done, while it is: "Fixing the parser".
    #[serde(default)]
    active_form: Option<String>,
    /// Who is to do it; gets a message.
    #[serde(default)]
    owner: Option<String>,
    /// 0 normal, 1 high, 2 urgent.
    #[serde(default)]
    #[schemars(range(max = 2))]
    priority: Option<u64>,
    /// Numbers of tasks that have to be completed first.
    #[serde(default, deserialize_with = "numbers")]
    blocked_by: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ClaimTask {
    /// Its number, as list_tasks gives it.
    #[serde(deserialize_with = "number")]
    task_id: String,
    /// Who is to have it, if not you. Only the lead may name somebody else, who gets a message.
    #[serde(default)]
    assignee: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct UpdateTaskStatus {
    /// Its number, as list_tasks gives it.
    #[serde(deserialize_with = "number")]
    task_id: String,
    /// `in_progress` when you begin, `completed` when it is done; `deleted` only by the lead.
    #[schemars(extend("enum" = ["in_progress", "completed", "deleted"]))]
    status: String,
    /// What came of it, for the lead and for those who waited for it, at most 5,000 characters.
    #[serde(default)]
    result_summary: Option<String>,
    /// The file with the whole of it, if it is not where claim_task said.
    #[serde(default)]
    deliverable_path: Option<String>,
}

#[tool_router(router = tasks, vis = "pub(super)")]
impl Tools {
    /// List the tasks of your team, which everybody on it shares: number, subject, how far each is, who has it, and which
    /// ones it still waits for (`waits_for`). One that waits for none and has no owner is free to be claimed. get_task has
    /// the description.
    #[tool(annotations(read_only_hint = true))]
    async fn list_tasks(&self, Parameters(args): Parameters<ListTasks>) -> CallToolResult {
        self.desk(move |desk| {
            let wanted = args.status.as_deref().map(status).transpose()?;
            let tasks = desk.tasks()?;
            let waits = tasks.waits();
            let is_wanted = |task: &&Task| {
                !task.is_deleted()
                    && wanted.is_none_or(|wanted| task.status == wanted.as_str())
                    && args.owner.as_ref().is_none_or(|owner| task.is_owned_by(owner))
            };
            let describe = |task: &Task| {
                let mut all = task.describe(&waits.blockers(&task.id));
                if let Some(all) = all.as_object_mut() {
                    // A thousand of them have to fit into a model's view.
                    let brief = ["id", "subject", "status", "owner", "priority", "waits_for"];
                    all.retain(|key, _| brief.contains(&key.as_str()));
                }
                all
            };
            let chosen: Vec<Value> = tasks.found.iter().filter(is_wanted).map(describe).collect();
            let broken = tasks.broken.iter().map(|(_, error)| one_line(error));
            Ok(json!({
                "success": true, "team": desk.team().name(), "you": desk.name(), "tasks": chosen,
                "broken": broken.collect::<Vec<_>>(),
            }))
        })
        .await
    }

    /// Show all that is known of a task: its description, what it waits for and what waits for it, and what came of it.
    #[tool(annotations(read_only_hint = true))]
    async fn get_task(&self, Parameters(args): Parameters<OneTask>) -> CallToolResult {
        self.desk(move |desk| {
            let task = desk.team().board().get(&args.task_id)?;
            Ok(json!({"success": true, "task": desk.describe(&task)?}))
        })
        .await
    }

    /// Put a task on the board of your team. Only the lead may do this, unless the user has allowed it to all.
    #[tool]
    async fn create_task(&self, Parameters(args): Parameters<CreateTask>) -> CallToolResult {
        self.desk(move |desk| {
            let done = desk.create(&NewTask {
                subject: args.subject,
                description: args.description,
                active_form: args.active_form,
                owner: args.owner,
                priority: args.priority,
                blocked_by: args.blocked_by,
                ..NewTask::default()
            })?;
            Ok(desk.outcome(&done)?)
        })
        .await
    }

    /// Take a task, which is `in_progress` and yours from then on. You can be at one task at a time. Of several that want
    /// one at once, one gets it: on `conflict` take another. One that is `blocked` waits for others.
    #[tool]
    async fn claim_task(&self, Parameters(args): Parameters<ClaimTask>) -> CallToolResult {
        self.desk(move |desk| {
            let done = desk.claim(&args.task_id, args.assignee.as_deref())?;
            Ok(desk.outcome(&done)?)
        })
        .await
    }

    /// Say how far a task of yours is. `completed` also tells the lead what came of it, and whoever waited for it: you
    /// need not send them a message. What does not fit into the summary belongs into the file `deliverable_path` of the
    /// task. If you cannot do a task, give it back with release_task, and say why with a message.
    #[tool]
    async fn update_task_status(
        &self,
        Parameters(args): Parameters<UpdateTaskStatus>,
    ) -> CallToolResult {
        self.desk(move |desk| {
            let given =
                [(RESULT_SUMMARY, args.result_summary), (DELIVERABLE_PATH, args.deliverable_path)];
            let given =
                given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
            let metadata: Map<String, Value> = given.collect();
            let status = Some(status(&args.status)?);
            let done = desk
                .change(&args.task_id, TaskChange { status, metadata, ..TaskChange::default() })?;
            Ok(desk.outcome(&done)?)
        })
        .await
    }

    /// Give a task back: it is `pending` again, without an owner, for anybody to take. You can give back what is yours;
    /// the lead can take any task from its owner.
    #[tool]
    async fn release_task(&self, Parameters(args): Parameters<OneTask>) -> CallToolResult {
        self.desk(move |desk| {
            let done = desk.release(&args.task_id, None)?;
            Ok(desk.outcome(&done)?)
        })
        .await
    }
}

/// The number of a task, which models write as text or as a number.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(text_of(Value::deserialize(from)?))
}

fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(Vec::<Value>::deserialize(from)?.into_iter().map(text_of).collect())
}

fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn status(text: &str) -> Result<TaskStatus, Refusal> {
    text.parse::<TaskStatus>().map_err(|why| Refusal {
        code: "invalid_status".to_owned(),
        message: format!("status `{text}`: {why}"),
        details: json!({"allowed": TaskStatus::ALL.map(TaskStatus::as_str)}),
        ..Refusal::default()
    })
}
