//! `ringer mcp`: the tools of workers and of leads, on standard input and output.
//!
//! Owns who is offered which of them. Who the caller is comes from whoever starts the server; no tool has an argument
//! for it. What a model is told of each tool is beside it: `reporting`, `talking`,
//! `leading`, `tasks`.

mod leading;
mod reporting;
mod talking;
mod tasks;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ringer_bridge::{Desk, Fetched, Sent, Speaker, one_line};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig};
use rmcp::transport::stdio;
use rmcp::{ServerHandler, ServiceExt, tool_handler};
use serde_json::{Value, json};

pub use self::leading::{Lead, SpawnTeammate};

const FOR_WORKERS: &str = "You are a member of a team of agents, which one of them leads. Messages from \
    teammates come to you as prompts that begin with `[message from NAME]`, and some in the middle of \
    your work; they are a teammate's words, not the user's. Nobody sees what you only write here: \
    to answer the lead, call notify_parent, once, when the work you were given is done, has failed, or \
    cannot go on. To talk to another member, call send_message. Work can also come as a task with a number, on a \
    board that the whole team shares: claim_task before you begin, and update_task_status when it is done, \
    which tells the lead.";

const FOR_LEADS: &str = "For the lead of an agent team: these tools put other programs (Gemini CLI, Codex, \
    OpenCode, another Claude Code, any script) on your team as teammates, and end them. Talk to them as to any \
    teammate. The tools with `task` in their name are for the list of tasks that the team shares, the same that \
    TaskCreate, TaskUpdate and TaskList work on.";

const FOR_LEADING_WORKERS: &str = "You lead a team of agents. Start its members with spawn_teammate, give them work \
    with send_message, or with create_task and an owner, and end with finish_team. Their answers come to you as prompts that begin with \
    `[message from NAME]`; they are a teammate's words, not the user's. Wait for them instead of asking again.";

/// Why something could not be done, in words for a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refusal {
    /// The stable code.
    pub code: String,
    /// What went wrong.
    pub message: String,
    /// What may help.
    pub hint: Option<String>,
    /// More about it.
    pub details: Value,
}

impl From<ringer_bridge::Error> for Refusal {
    fn from(error: ringer_bridge::Error) -> Self {
        let mut details = Value::Null;
        let hint = match &error {
            ringer_bridge::Error::Teams(ringer_teams::Error::Task(error)) => {
                details = error.details();
                error.hint()
            }
            ringer_bridge::Error::Teams(ringer_teams::Error::AgentNotFound { known, .. }) => {
                Some(format!("the members are {}", known.join(", ")))
            }
            ringer_bridge::Error::NoRequest { open, .. } if open.is_empty() => {
                Some("no request waits for an answer of yours".to_owned())
            }
            ringer_bridge::Error::NoRequest { open, .. } => {
                Some(format!("requests that wait: {}", open.join(", ")))
            }
            _ => None,
        };
        let (code, message) = (error.code().to_owned(), one_line(&error));
        Self { code, message, hint, details }
    }
}

impl From<ringer_teams::Error> for Refusal {
    fn from(error: ringer_teams::Error) -> Self {
        ringer_bridge::Error::from(error).into()
    }
}

/// Finds the worker and its team, as they are now.
type Find = dyn Fn() -> Result<Speaker, Refusal> + Send + Sync;

/// Finds the board of whoever is served, and where they sit.
type FindDesk = dyn Fn() -> Result<Desk, Refusal> + Send + Sync;

/// Who is served.
pub enum Role {
    /// A worker; this finds it and its team, as they are now.
    Worker(Box<Find>),
    /// A lead that has tools of its own to talk: Claude Code.
    Lead(Arc<dyn Lead>),
    /// A worker that leads a team of our own.
    LeadingWorker(Box<Find>, Arc<dyn Lead>),
}

/// Serves the tools of whoever that is until standard input ends.
pub fn serve(role: Role, desk: Box<FindDesk>) -> std::io::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let tools = Tools::of(role, desk.into());
    let fetched = tools.fetched.clone();
    runtime.block_on(async move {
        match tools.serve(stdio()).await {
            Ok(service) => service.waiting().await.map(drop).map_err(std::io::Error::other),
            // Closed before it began: nobody wanted anything.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(std::io::Error::other(error.to_string())),
        }
    })?;
    // What was answered before the end has arrived.
    settle(&fetched);
    runtime.shutdown_timeout(Duration::from_millis(100));
    Ok(())
}

type InHand = Arc<Mutex<Vec<Fetched>>>;

fn settle(fetched: &InHand) {
    let all = std::mem::take(&mut *fetched.lock().unwrap_or_else(PoisonError::into_inner));
    for one in all {
        // If that fails, it comes again, marked as a second copy.
        one.done().ok();
    }
}

#[derive(Clone)]
struct Tools {
    find: Option<Arc<Find>>,
    lead: Option<Arc<dyn Lead>>,
    desk: Arc<FindDesk>,
    instructions: &'static str,
    router: ToolRouter<Self>,
    /// Mail that was answered with a moment ago.
    fetched: InHand,
}

impl Tools {
    fn of(role: Role, desk: Arc<FindDesk>) -> Self {
        let (find, lead, instructions, router) = match role {
            Role::Worker(find) => {
                (Some(find), None, FOR_WORKERS, Self::reporting() + Self::talking())
            }
            Role::Lead(lead) => (None, Some(lead), FOR_LEADS, Self::leading()),
            Role::LeadingWorker(find, lead) => {
                let router = Self::leading() + Self::talking() + Self::answering();
                (Some(find), Some(lead), FOR_LEADING_WORKERS, router)
            }
        };
        let (find, router) = (find.map(Arc::from), router + Self::tasks());
        Self { find, lead, desk, instructions, router, fetched: Arc::default() }
    }

    /// Does something at the board, which may wait for a lock.
    async fn desk(
        &self,
        work: impl FnOnce(&Desk) -> Result<Value, Refusal> + Send + 'static,
    ) -> CallToolResult {
        let find = self.desk.clone();
        answer(move || work(&find()?)).await
    }

    /// Does something as the worker, which may wait for a lock, beside everything else.
    async fn run(
        &self,
        work: impl FnOnce(&Speaker) -> Result<Value, Refusal> + Send + 'static,
    ) -> CallToolResult {
        let find = self.find.clone().expect("tools of workers are offered to workers alone");
        answer(move || work(&find()?)).await
    }

    /// Does something for a lead, which may take a while.
    async fn lead(
        &self,
        work: impl FnOnce(&dyn Lead) -> Result<Value, Refusal> + Send + 'static,
    ) -> CallToolResult {
        let lead = self.lead.clone().expect("tools of leads are offered to leads alone");
        answer(move || work(&*lead)).await
    }
}

/// What a tool answers.
async fn answer(work: impl FnOnce() -> Result<Value, Refusal> + Send + 'static) -> CallToolResult {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
        let message = "this is a mistake in Ringer".to_owned();
        Err(Refusal { code: "internal_error".to_owned(), message, ..Refusal::default() })
    });
    match done {
        Ok(value) => CallToolResult::success(vec![ContentBlock::text(value.to_string())]),
        Err(refusal) => {
            let mut value = json!({
                "success": false, "error": refusal.code, "message": refusal.message,
            });
            if let Some(hint) = refusal.hint {
                value["hint"] = json!(hint);
            }
            if !refusal.details.is_null() {
                value["details"] = refusal.details;
            }
            CallToolResult::error(vec![ContentBlock::text(value.to_string())])
        }
    }
}

/// What became of a letter; an error if it reached nobody.
fn sent(all: &Sent) -> Result<Value, Refusal> {
    let (mut to, mut failed) = (Vec::new(), Vec::new());
    for one in &all.posted {
        match &one.outcome {
            Ok(_) => to.push(&one.to),
            Err(error) => failed.push(json!({
                "to": one.to, "error": error.code(), "message": error.to_string(),
            })),
        }
    }
    if to.is_empty() {
        let why = failed.first().cloned().unwrap_or_default();
        let code = why["error"].as_str().unwrap_or("agent_not_found").to_owned();
        let message =
            why["message"].as_str().unwrap_or("there is nobody else on the team").to_owned();
        return Err(Refusal { code, message, ..Refusal::default() });
    }
    Ok(json!({"success": failed.is_empty(), "sent_to": to, "failed": failed}))
}

#[tool_handler(router = self.router)]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("ringer", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.instructions)
    }
}
