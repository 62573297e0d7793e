//! The hooks of Gemini CLI.
//!
//! | event | what it is for |
//! |---|---|
//! | `BeforeAgent` | the prompt that was typed has arrived; if it is the wake line, here is the mail |
//! | `AfterTool` | mail that waits, in the middle of a turn |
//! | `BeforeModel` | a request is made, with what was handed over in it |
//! | `AfterAgent` | mail that waits, as the next prompt; else the lead is told that the turn has ended |
//!
//! What is handed over can still be lost: Gemini CLI forgets it if the user presses Escape before the model
//! has answered, and drops it if the tool failed. So it counts as delivered only when the model was shown
//! it and has answered, that is, when it has called a tool or come to the end of its turn.

use std::process::ExitCode;

use ringer_bridge::daemon::workers_dir;
use ringer_bridge::{Claim, Fetch, Roster, Settings, Speaker, Via};
use ringer_panes::{Process, Profile};
use serde_json::{Value, json};

use crate::context::{Context, variable};
use crate::failure::Failure;

/// What Gemini CLI says of a turn that was cancelled, or in which the model failed.
const NOTHING_SAID: &str = "[no response text]";

pub(super) fn run(context: &Context, said: &Value) -> Result<ExitCode, Failure> {
    // Not a worker of ours: somebody copied the hooks.
    if variable("RINGER_MEMBER").is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    let speaker = match context.speaker() {
        Ok(speaker) => speaker,
        // Its team is gone, and so is its mail, and whoever could be told.
        Err(failure) if matches!(failure.code(), "team_not_found" | "agent_not_found") => {
            return Ok(ExitCode::SUCCESS);
        }
        Err(failure) => return Err(failure),
    };
    let hook = GeminiHook { context, speaker, settings: context.settings()? };
    match said["hook_event_name"].as_str() {
        Some("BeforeAgent") => hook.before_agent(said)?,
        Some("BeforeModel") => hook.before_model(said)?,
        Some("AfterTool") => hook.after_tool(said)?,
        Some("AfterAgent") => hook.after_agent(said)?,
        _ => {}
    }
    Ok(ExitCode::SUCCESS)
}

struct GeminiHook<'a> {
    context: &'a Context,
    speaker: Speaker,
    settings: Settings,
}

impl GeminiHook<'_> {
    fn before_agent(&self, said: &Value) -> Result<(), Failure> {
        let prompt = said["prompt"].as_str().unwrap_or_default();
        let profile = self.profile()?;
        let template = &self.settings.delivery.template;
        self.speaker.turn_begins(prompt, template)?;
        self.speaker.confirm(prompt, template, &profile)?;
        let woken = profile.wake.as_ref().is_some_and(|line| prompt.contains(line.as_str()));
        if woken && let Some(words) = self.fetch(true, false)? {
            self.add_context("BeforeAgent", &words)?;
        }
        Ok(())
    }

    fn before_model(&self, said: &Value) -> Result<(), Failure> {
        let messages = said["llm_request"]["messages"].as_array();
        let model = messages.into_iter().flatten().filter(|message| message["role"] == "model");
        let texts = model.filter_map(|message| message["content"].as_str());
        self.speaker.model_asked(|| texts.collect())?;
        Ok(())
    }

    fn after_tool(&self, said: &Value) -> Result<(), Failure> {
        self.speaker.model_answered()?;
        // What is added to the result of a tool that failed is dropped.
        if !said["tool_response"]["error"].is_null() {
            return Ok(());
        }
        if let Some(words) = self.fetch(false, false)? {
            self.add_context("AfterTool", &words)?;
        }
        Ok(())
    }

    fn after_agent(&self, said: &Value) -> Result<(), Failure> {
        let last_words = said["prompt_response"].as_str().unwrap_or_default();
        let cancelled = last_words == NOTHING_SAID || !self.speaker.has_said_more(last_words)?;
        if cancelled {
            self.speaker.turn_cancelled()?;
        } else {
            self.speaker.model_answered()?;
        }
        // After Escape it takes the text and does nothing with it. Then mail is typed.
        if !cancelled && let Some(words) = self.fetch(false, true)? {
            self.context.out.data(&json!({"decision": "block", "reason": words}))?;
            return Ok(());
        }
        // Who leads has nobody to tell.
        if self.settings.lead.idle_notifications && self.speaker.name() != self.speaker.lead() {
            let said = if last_words == NOTHING_SAID { "" } else { last_words };
            let reported = self.speaker.has_reported()?;
            // A lead that is typed to would have to answer, and there is nothing new.
            if reported && self.speaker.team().is_own() {
                return Ok(());
            }
            self.speaker.idle(&cut(said, self.settings.lead.idle_summary), reported)?;
        }
        Ok(())
    }

    /// Mail that waits, in words.
    fn fetch(&self, woken: bool, turn_ends: bool) -> Result<Option<String>, Failure> {
        let claim = Process::caller().map_or_else(Claim::ours, Claim::of);
        let how = Fetch { via: Via::Hook, claim, woken, turn_ends };
        let Some(fetched) = self.speaker.fetch(&how)? else {
            return Ok(None);
        };
        let delivery = &self.settings.delivery;
        Ok(Some(fetched.words(&delivery.template, delivery.longest_text)?))
    }

    fn add_context(&self, event: &str, words: &str) -> Result<(), Failure> {
        let output = json!({"hookEventName": event, "additionalContext": words});
        Ok(self.context.out.data(&json!({"hookSpecificOutput": output}))?)
    }

    /// The profile of this worker.
    fn profile(&self) -> Result<Profile, Failure> {
        let roster = Roster::load(&self.context.state)?;
        let entry = roster.find(self.speaker.team().dir(), self.speaker.name());
        let name = entry.and_then(|entry| entry.profile.as_deref()).unwrap_or("gemini");
        Ok(Profile::load(name, &workers_dir(&self.context.config.0))?)
    }
}

/// The first so many characters.
fn cut(text: &str, limit: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
}
