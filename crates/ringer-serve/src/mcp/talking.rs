//! Tools to talk to others on a team, for workers and for workers that lead.

use std::sync::PoisonError;
use std::time::Duration;

use ringer_bridge::{Claim, Fetch, Via};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Refusal, Tools, sent, settle};

/// So long after an answer it is taken to have arrived.
const ARRIVED: Duration = Duration::from_secs(1);

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

#[tool_router(router = talking, vis = "pub(super)")]
impl Tools {
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
                    ..Refusal::default()
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
}
