//! Tools of a lead: what Claude Code has none for, and what a worker that leads needs besides.
//!
//! Owns what a model is told of them. Whether the caller leads is found out anew with every call, from what it is;
//! no argument says it.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Refusal, Tools, sent};

/// What a lead can have done. Each call sees for itself whether its caller leads a team, and which.
pub trait Lead: Send + Sync {
    /// Starts a worker, and waits until it is on the team.
    fn spawn(&self, wanted: SpawnTeammate) -> Result<Value, Refusal>;
    /// Ends a worker, and takes it off the team.
    fn remove(&self, name: &str) -> Result<Value, Refusal>;
    /// Everybody on the team, with what each is at.
    fn list(&self) -> Result<Value, Refusal>;
    /// Ends all workers, by their agreement or, with `force`, without.
    fn finish(&self, summary: &str, force: bool) -> Result<Value, Refusal>;
}

/// A worker that a lead wants.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SpawnTeammate {
    /// What kind of worker: `gemini`, `codex`, `opencode`, `claude` (which leads a team of its own), or a profile of
    /// the user's. `shell` is any program, named by `command`.
    pub profile: String,
    /// What it is called from then on: letters, digits and dashes. If somebody has that name, it gets a number
    /// behind it; the answer says what it is called.
    #[serde(default)]
    pub name: Option<String>,
    /// What it is to do first. It knows nothing of your conversation: say all that it needs.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Where it works, if not where you do.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Words behind its command; for the profile `shell`, the command itself.
    #[serde(default)]
    pub command: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RemoveTeammate {
    /// Its name, as list_teammates gives it.
    name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct FinishTeam {
    /// What came of the team's work, in a few sentences.
    summary: String,
    /// End also those who do not agree. First call it without, and hear what they say.
    #[serde(default)]
    force: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct AnswerRequest {
    /// The id in the request.
    request_id: String,
    /// Whether you agree.
    approve: bool,
    /// Why not, or what to mind.
    #[serde(default)]
    reason: Option<String>,
}

#[tool_router(router = leading, vis = "pub(super)")]
impl Tools {
    /// Start a worker on the team that you lead: another program, such as Gemini CLI, in a pane beside you or in the
    /// background. It is at its prompt and has its first prompt when this returns, after some seconds; its answers
    /// come to you as messages of a teammate. Only the lead of a team may do this.
    #[tool]
    async fn spawn_teammate(&self, Parameters(args): Parameters<SpawnTeammate>) -> CallToolResult {
        self.lead(move |lead| lead.spawn(args)).await
    }

    /// End a worker at once and take it off the team that you lead. Mail that it did not get comes back to who
    /// sent it. To let it finish first, ask it to shut down with a message instead. Only the lead of a team may do this.
    #[tool]
    async fn remove_teammate(
        &self,
        Parameters(args): Parameters<RemoveTeammate>,
    ) -> CallToolResult {
        self.lead(move |lead| lead.remove(&args.name)).await
    }

    /// List everybody on the team that you lead, and what each worker is at: starting, ready (idle at its prompt), busy,
    /// waiting for approval (a person has to answer in its pane), away or gone, with the reason, and how many
    /// messages wait for it.
    #[tool(name = "list_teammates", annotations(read_only_hint = true))]
    async fn list_workers(&self) -> CallToolResult {
        self.lead(|lead| lead.list()).await
    }

    /// End the work of the team that you lead: every worker is asked to shut down and is ended when it agrees. Says who
    /// ended, who goes on and why, and how many of the team's tasks were completed. Takes up to a minute. Only the lead
    /// of a team may do this.
    #[tool]
    async fn finish_team(&self, Parameters(args): Parameters<FinishTeam>) -> CallToolResult {
        self.lead(move |lead| lead.finish(&args.summary, args.force)).await
    }
}

#[tool_router(router = answering, vis = "pub(super)")]
impl Tools {
    /// Answer a request of a member of your team, such as a plan that waits for your approval. The request came to
    /// you as a message, with its id.
    #[tool]
    async fn answer_request(&self, Parameters(args): Parameters<AnswerRequest>) -> CallToolResult {
        self.run(move |speaker| {
            let answered =
                speaker.answer(&args.request_id, args.approve, args.reason.as_deref())?;
            sent(&answered.sent)?;
            Ok(json!({
                "success": true, "request_id": answered.request.id, "approved": args.approve,
            }))
        })
        .await
    }
}
