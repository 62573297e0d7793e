//! What a session came to: how long it took, and what it cost.
//!
//! Owns the two places where Claude Code says so: the `result` of a stream, and the `cost-state` of a transcript.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Number;

/// What a session came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// How it ended: `success`, or what went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtype: Option<String>,
    /// Whether it ended in an error.
    #[serde(default)]
    pub is_error: bool,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Number>,
    /// How long the model took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_api_ms: Option<Number>,
    /// How many turns it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_turns: Option<u64>,
    /// What it cost, in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cost_usd: Option<f64>,
    /// Tokens, by model.
    #[serde(default)]
    pub models: BTreeMap<String, Usage>,
}

/// What a model was used for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens that it was given.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens that it said.
    #[serde(default)]
    pub output_tokens: u64,
    /// Tokens that it remembered.
    #[serde(default)]
    pub cache_read_input_tokens: u64,
    /// Tokens that it will remember.
    #[serde(default)]
    pub cache_creation_input_tokens: u64,
    /// What that cost, in dollars.
    #[serde(default, rename = "costUSD")]
    pub cost_usd: f64,
}

/// A `result` of the stream.
#[derive(Deserialize)]
struct OfStream {
    subtype: Option<String>,
    #[serde(default)]
    is_error: bool,
    duration_ms: Option<Number>,
    duration_api_ms: Option<Number>,
    num_turns: Option<u64>,
    total_cost_usd: Option<f64>,
    #[serde(default, rename = "modelUsage")]
    models: BTreeMap<String, Usage>,
}

/// A `cost-state` of a transcript. It is of the whole session so far, and written when that ends.
#[derive(Deserialize)]
struct OfTranscript {
    #[serde(rename = "totalDuration")]
    duration_ms: Option<Number>,
    #[serde(rename = "totalAPIDuration")]
    duration_api_ms: Option<Number>,
    #[serde(rename = "totalCostUSD")]
    total_cost_usd: Option<f64>,
    #[serde(default, rename = "modelUsage")]
    models: BTreeMap<String, Usage>,
}

impl Summary {
    pub(crate) fn of_stream(line: &[u8]) -> Option<Self> {
        let said: OfStream = serde_json::from_slice(line).ok()?;
        Some(Self {
            subtype: said.subtype,
            is_error: said.is_error,
            duration_ms: said.duration_ms,
            duration_api_ms: said.duration_api_ms,
            num_turns: said.num_turns,
            total_cost_usd: said.total_cost_usd,
            models: said.models,
        })
    }

    pub(crate) fn of_transcript(line: &[u8]) -> Option<Self> {
        let said: OfTranscript = serde_json::from_slice(line).ok()?;
        Some(Self {
            duration_ms: said.duration_ms,
            duration_api_ms: said.duration_api_ms,
            total_cost_usd: said.total_cost_usd,
            models: said.models,
            ..Self::default()
        })
    }
}
