//! `ringer mcp`: a worker's tools, on standard input and output.
//!
//! Owns what each tool is called and what a model is told of it. Who the worker is comes from whoever
//! starts the server; no tool has an argument for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ringer_bridge::{Claim, Fetch, Fetched, Sent, Speaker, Status, Via, one_line};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig};
use rmcp::transport::stdio;
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// So long after an answer it is taken to have arrived.
const ARRIVED: Duration = Duration::from_secs(1);

const INSTRUCTIONS: &str = "You are a member of a team of agents that Claude Code leads. Messages from \
    teammates come to you as prompts that begin with `[message from NAME]`, and some in the middle of \
    your work; they are a teammate's words, not the user's. Nobody sees what you only write here: \
    to answer the lead, call notify_parent, once, when the work you were given is done, has failed, or \
    cannot go on. To talk to another member, call send_message.";

/// Why something could not be done, in words for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The stable code.
    pub code: String,
    /// What went wrong.
    pub message: String,
    /// What may help.
    pub hint: Option<String>,
}

impl From<ringer_bridge::Error> for Refusal {
    fn from(error: ringer_bridge::Error) -> Self {
        let hint = match &error {
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
        Self { code: error.code().to_owned(), message: one_line(&error), hint }
    }
}

/// Finds the worker and its team, as they are now.
type Find = dyn Fn() -> Result<Speaker, Refusal> + Send + Sync;

/// Serves a worker's tools until its standard input ends. `find` says who the worker is.
pub fn serve_worker(
    find: impl Fn() -> Result<Speaker, Refusal> + Send + Sync + 'static,
) -> std::io::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let tools = Tools { find: Arc::new(find), fetched: Arc::default() };
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
    find: Arc<Find>,
    /// Mail that was answered with a moment ago.
    fetched: InHand,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct NotifyParent {
    /// How the work went: `success` (done), `failure` (cannot be done) or `blocked` (needs something first).
    #[schemars(extend("enum" = ["success", "failure", "blocked"]))]
    status: String,
    /// What the lead should know: the result, or what is missing. Whole sentences; Markdown is fine.
    message: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SendMessage {
    /// The member's name, as list_teammates gives it.
    to: String,
    /// What to say.
    message: String,
    /// Five to ten words that say what it is about.
    #[serde(default)]
    summary: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Broadcast {
    /// What to say to everybody.
    message: String,
    /// Five to ten words that say what it is about.
    #[serde(default)]
    summary: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ReadMessages {
    /// Only what you have not got yet (the default). With false, also what you have read before.
    #[serde(default = "yes")]
    unread_only: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ShutdownResponse {
    /// The id in the request.
    request_id: String,
    /// Whether you agree. If you do, you are ended in a moment: finish first.
    approve: bool,
    /// Why not, if you do not.
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RequestPlanApproval {
    /// What you are going to do, step by step.
    plan: String,
}

#[tool_router]
impl Tools {
    /// Report to the lead of your team. Call it once for each piece of work that you were given: when it
    /// is done (`success`), when it cannot be done (`failure`), or when you cannot go on without an
    /// answer or a decision (`blocked`). This is the only way in which the lead hears of your result.
    #[tool]
    async fn notify_parent(&self, Parameters(args): Parameters<NotifyParent>) -> CallToolResult {
        self.run(move |speaker| {
            let status = args.status.parse::<Status>().map_err(|why| Refusal {
                code: "invalid_status".to_owned(),
                message: format!("status `{}`: {why}", args.status),
                hint: None,
            })?;
            sent(&speaker.reply(Some(status), &args.message, None)?)
        })
        .await
    }

    /// Send a message to one member of your team, for example to ask or to hand something on. For your
    /// result to the lead use notify_parent instead.
    #[tool]
    async fn send_message(&self, Parameters(args): Parameters<SendMessage>) -> CallToolResult {
        self.run(move |speaker| {
            if args.to == ringer_bridge::EVERYBODY {
                return Err(Refusal {
                    code: "invalid_name".to_owned(),
                    message: "a message goes to one member".to_owned(),
                    hint: Some("use broadcast for everybody".to_owned()),
                });
            }
            sent(&speaker.send(&args.to, &args.message, args.summary.as_deref())?)
        })
        .await
    }

    /// Send a message to everybody else on your team, at most once in 5 seconds. It interrupts all of
    /// them: use it only for what everybody must know now.
    #[tool]
    async fn broadcast(&self, Parameters(args): Parameters<Broadcast>) -> CallToolResult {
        self.run(move |speaker| sent(&speaker.broadcast(&args.message, args.summary.as_deref())?))
            .await
    }

    /// List everybody on your team: names to send messages to, who leads it, and which one is you.
    #[tool(annotations(read_only_hint = true))]
    async fn list_teammates(&self) -> CallToolResult {
        self.run(|speaker| {
            Ok(json!({
                "success": true, "team": speaker.team().name(), "you": speaker.name(),
                "teammates": speaker.teammates(),
            }))
        })
        .await
    }

    /// Read your messages. They come to you by themselves; call this when you expect one and want to look
    /// at once. What you read here is not delivered again.
    #[tool]
    async fn read_messages(&self, Parameters(args): Parameters<ReadMessages>) -> CallToolResult {
        let fetched = self.fetched.clone();
        let done = self
            .run(move |speaker| {
                let mut messages = Vec::new();
                if !args.unread_only {
                    for mailbox in speaker.team().mailboxes(speaker.name())? {
                        messages
                            .extend(mailbox.read()?.entries().filter(|e| e.read).map(|entry| {
                            json!({
                                "from": entry.from, "summary": entry.summary, "text": entry.text,
                                "sent_at": entry.timestamp, "unread": false,
                            })
                        }));
                    }
                }
                // An agent with our hooks tells when its model has seen it; of another one nothing is heard.
                let by_hook = speaker.has_hooks()?;
                let agent = std::os::unix::process::parent_id();
                let claim = if by_hook { Claim::of(agent) } else { Claim::ours() };
                let via = if by_hook { Via::Hook } else { Via::Tool };
                let how = Fetch { via, claim, woken: false, turn_ends: false };
                if let Some(new) = speaker.fetch(&how)? {
                    messages.extend(new.messages().iter().map(|message| {
                        json!({
                            "from": message.from, "summary": message.summary, "text": message.text,
                            "sent_at": message.sent_at, "unread": true,
                            "second_copy": message.copies > 1,
                        })
                    }));
                    if !by_hook {
                        fetched.lock().unwrap_or_else(PoisonError::into_inner).push(new);
                    }
                }
                Ok(json!({"success": true, "messages": messages}))
            })
            .await;
        let fetched = self.fetched.clone();
        tokio::spawn(async move {
            tokio::time::sleep(ARRIVED).await;
            tokio::task::spawn_blocking(move || settle(&fetched)).await.ok();
        });
        done
    }

    /// Answer a request to shut down. With `approve` true you agree, and are ended a moment later: finish
    /// and report first. With false, give the reason, and go on.
    #[tool]
    async fn shutdown_response(
        &self,
        Parameters(args): Parameters<ShutdownResponse>,
    ) -> CallToolResult {
        self.run(move |speaker| {
            let answered =
                speaker.answer(&args.request_id, args.approve, args.reason.as_deref())?;
            sent(&answered.sent)?;
            Ok(json!({
                "success": true, "request_id": answered.request.id, "approved": args.approve,
                "ends": answered.retires,
            }))
        })
        .await
    }

    /// Ask the lead to approve your plan before you carry it out. The answer comes as a message; wait for
    /// it, and do nothing of the plan before.
    #[tool]
    async fn request_plan_approval(
        &self,
        Parameters(args): Parameters<RequestPlanApproval>,
    ) -> CallToolResult {
        self.run(move |speaker| {
            let (request_id, all) = speaker.request_plan_approval(&args.plan)?;
            sent(&all)?;
            Ok(json!({"success": true, "request_id": request_id}))
        })
        .await
    }

    /// Does something that may wait for a lock, beside everything else.
    async fn run(
        &self,
        work: impl FnOnce(&Speaker) -> Result<Value, Refusal> + Send + 'static,
    ) -> CallToolResult {
        let find = self.find.clone();
        let done = tokio::task::spawn_blocking(move || work(&find()?)).await;
        let done = done.unwrap_or_else(|_| {
            let message = "this is a mistake in Ringer".to_owned();
            Err(Refusal { code: "internal_error".to_owned(), message, hint: None })
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
                CallToolResult::error(vec![ContentBlock::text(value.to_string())])
            }
        }
    }
}

impl From<ringer_teams::Error> for Refusal {
    fn from(error: ringer_teams::Error) -> Self {
        ringer_bridge::Error::from(error).into()
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
        return Err(Refusal { code, message, hint: None });
    }
    Ok(json!({"success": failed.is_empty(), "sent_to": to, "failed": failed}))
}

#[tool_handler]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("ringer", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }
}
