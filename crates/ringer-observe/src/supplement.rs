//! Lines that `ringer observe --tee` adds to a stream, behind those that they are about.
//!
//! Owns their form. They say nothing that the stream does not; they say it in one way for all versions.

use serde::Serialize;
use serde_json::value::RawValue;

/// What a tool of the team is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Who is on the team, and whether there is one.
    TeamStateChange,
    /// Tasks.
    TeamTaskUpdate,
    /// Messages.
    TeamMessage,
}

/// A line to be added.
#[derive(Debug, Clone, Serialize)]
pub struct Supplement {
    /// What it is about.
    #[serde(rename = "type")]
    pub category: Category,
    role: &'static str,
    metadata: Metadata,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    tool_name: String,
    team_tool_use_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
}

impl Supplement {
    /// A tool is called.
    pub(crate) fn of_use(category: Category, tool: &str, id: &str, input: &RawValue) -> Self {
        Self::new(category, tool, id, Some(input), None)
    }

    /// A tool has answered.
    pub(crate) fn of_result(
        category: Category,
        tool: &str,
        id: &str,
        result: Option<&RawValue>,
        is_error: bool,
    ) -> Self {
        Self::new(category, tool, id, None, Some((result, is_error)))
    }

    fn new(
        category: Category,
        tool: &str,
        id: &str,
        input: Option<&RawValue>,
        result: Option<(Option<&RawValue>, bool)>,
    ) -> Self {
        let metadata = Metadata {
            tool_name: tool.to_owned(),
            team_tool_use_id: id.to_owned(),
            input: input.map(ToOwned::to_owned),
            result: result.and_then(|(result, _)| result.map(ToOwned::to_owned)),
            is_error: result.map(|(_, is_error)| is_error),
        };
        Self { category, role: "system", metadata }
    }

    /// The call that it is about.
    pub fn tool_use_id(&self) -> &str {
        &self.metadata.team_tool_use_id
    }
}
