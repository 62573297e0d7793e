//! Structured messages: the JSON that Claude Code puts inside an entry's `text`.
//!
//! Owns their shapes. A kind that is not known here is kept whole, never refused.

use serde::{Deserialize, Serialize};

use crate::json::{Object, without_lone_surrogates};

/// A message between programs rather than between people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Structured {
    /// One whose shape is known.
    Known(Known),
    /// Any other JSON object with a `type`, or a known one with something missing.
    Unknown {
        /// Its `type`.
        kind: String,
        /// The JSON as written.
        json: String,
    },
}

/// The structured messages that were seen in real Claude Code builds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the names are Claude Code's; there is no more to say about them")]
pub enum Known {
    /// The lead asks a member to end.
    ShutdownRequest {
        request_id: String,
        from: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        timestamp: String,
    },
    /// A member agrees to end.
    ShutdownApproved {
        request_id: String,
        from: String,
        timestamp: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pane_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        backend_type: Option<String>,
    },
    /// A member does not want to end yet.
    ShutdownRejected {
        request_id: String,
        from: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        timestamp: String,
    },
    /// A task was given to this member.
    TaskAssignment {
        task_id: String,
        subject: String,
        #[serde(default)]
        description: String,
        assigned_by: String,
        timestamp: String,
    },
    /// A member has nothing to do.
    IdleNotification {
        from: String,
        timestamp: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle_reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        /// Ours: whether the member has written to the lead in the turn that ended, so that this is
        /// no news by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reported: Option<bool>,
    },
    /// A member wants to know whether it may go on as planned.
    PlanApprovalRequest {
        #[serde(alias = "request_id")]
        request_id: String,
        from: String,
        #[serde(alias = "plan")]
        plan_content: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan_file_path: Option<String>,
        #[serde(default)]
        timestamp: String,
    },
    /// The lead says whether it may.
    PlanApprovalResponse {
        #[serde(alias = "request_id")]
        request_id: String,
        #[serde(alias = "approve")]
        approved: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
        #[serde(default)]
        timestamp: String,
    },
    /// A member wants to know whether it may use a tool.
    #[serde(rename_all = "snake_case")]
    PermissionRequest {
        request_id: String,
        #[serde(rename = "agent_id")]
        from: String,
        tool_name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<String>,
        #[serde(default)]
        description: String,
        #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
        input: serde_json::Value,
    },
    /// Somebody says whether it may: the `subtype` is `success` if so.
    #[serde(rename_all = "snake_case")]
    PermissionResponse {
        request_id: String,
        subtype: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
        response: serde_json::Value,
    },
}

impl Known {
    /// The request that it makes and that waits for an answer, if it does.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::ShutdownRequest { request_id, .. }
            | Self::PlanApprovalRequest { request_id, .. }
            | Self::PermissionRequest { request_id, .. } => Some(request_id),
            _ => None,
        }
    }

    /// The request that it answers, if it does.
    pub fn answers(&self) -> Option<&str> {
        match self {
            Self::ShutdownApproved { request_id, .. }
            | Self::ShutdownRejected { request_id, .. }
            | Self::PlanApprovalResponse { request_id, .. }
            | Self::PermissionResponse { request_id, .. } => Some(request_id),
            _ => None,
        }
    }

    /// As the text of an entry.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("plain data always serialises")
    }
}

impl Structured {
    /// One whose shape is known, or none.
    pub fn known(text: &str) -> Option<Known> {
        match Self::parse(text)? {
            Self::Known(known) => Some(known),
            Self::Unknown { .. } => None,
        }
    }

    /// Reads the text of an entry; `None` if it is ordinary words.
    ///
    /// ```
    /// use ringer_teams::Structured;
    /// assert!(Structured::parse("please use a BTreeMap").is_none());
    /// let odd = Structured::parse(r#"{"type": "coffee_break", "minutes": 5}"#);
    /// assert!(matches!(odd, Some(Structured::Unknown { kind, .. }) if kind == "coffee_break"));
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        if !text.trim_start().starts_with('{') {
            return None;
        }
        let kind = Object::parse(text).ok()?.string("type")?;
        let known = serde_json::from_str(&without_lone_surrogates(text)).map(Self::Known);
        Some(known.unwrap_or_else(|_| Self::Unknown { kind, json: text.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shapes_seen_in_real_builds_are_known_and_written_back_alike() {
        for text in [
            r#"{"type":"shutdown_request","requestId":"shutdown-1@w","from":"team-lead","reason":"done","timestamp":"t"}"#,
            r#"{"type":"shutdown_approved","requestId":"r","from":"w","timestamp":"t","paneId":"%1","backendType":"ringer"}"#,
            r#"{"type":"shutdown_rejected","requestId":"r","from":"w","reason":"busy","timestamp":"t"}"#,
            r#"{"type":"task_assignment","taskId":"2","subject":"second","description":"d2","assignedBy":"team-lead","timestamp":"t"}"#,
            r#"{"type":"idle_notification","from":"w","timestamp":"t","idleReason":"available"}"#,
        ] {
            let Some(Structured::Known(known)) = Structured::parse(text) else {
                panic!("not known: {text}")
            };
            assert_eq!(serde_json::to_string(&known).unwrap(), text);
        }
    }

    #[test]
    fn everything_else_is_kept_or_plain_text() {
        let short = r#"{"type":"shutdown_request","from":"x"}"#;
        let Some(Structured::Unknown { kind, json }) = Structured::parse(short) else { panic!() };
        assert_eq!((kind.as_str(), json.as_str()), ("shutdown_request", short));
        for plain in ["", "hello", "{", r#"{"a": 1}"#, r#"{"type": 7}"#, "[1]"] {
            assert_eq!(Structured::parse(plain), None, "{plain}");
        }
        let cut =
            r#"{"type":"idle_notification","from":"w","timestamp":"t","summary":"cut \ud83d"}"#;
        assert!(matches!(Structured::parse(cut), Some(Structured::Known(_))));
    }
}
