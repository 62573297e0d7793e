//! Tools of a worker towards its lead.

use ringer_bridge::Status;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Refusal, Tools, sent};

#[derive(Debug, Deserialize, JsonSchema)]
struct NotifyParent {
    /// How the work went: `success` (done), `failure` (cannot be done) or `blocked` (needs something first).
    #[schemars(extend("enum" = ["success", "failure", "blocked"]))]
    status: String,
    /// What the lead should know: the result, or what is missing. Whole sentences; Markdown is fine.
    message: String,
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

#[tool_router(router = reporting, vis = "pub(super)")]
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
                ..Refusal::default()
            })?;
            sent(&speaker.reply(Some(status), &args.message, None)?)
        })
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
}
