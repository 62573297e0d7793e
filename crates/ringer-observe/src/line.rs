//! One line of a stream or of a transcript, as far as it matters here.
//!
//! Owns the differences between the two: a stream says `session_id` and `tool_use_result`, a transcript `sessionId` and
//! `toolUseResult`. Borrows from the line wherever it can.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// What a line says.
#[derive(Debug, Deserialize)]
pub(crate) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) subtype: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow, rename = "session_id")]
    stream_session: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "sessionId")]
    transcript_session: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) timestamp: Option<Cow<'a, str>>,
    /// The call of the tool within which this was said.
    #[serde(borrow)]
    pub(crate) parent_tool_use_id: Option<Cow<'a, str>>,
    /// The team that a session is on, in older transcripts.
    #[serde(borrow, rename = "teamName")]
    pub(crate) team: Option<Cow<'a, str>>,
    /// Who it is on its team, in the transcript of a teammate.
    #[serde(borrow, rename = "agentName")]
    pub(crate) agent: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "tool_use_result")]
    stream_result: Option<&'a RawValue>,
    #[serde(borrow, rename = "toolUseResult")]
    transcript_result: Option<&'a RawValue>,
    /// The call that a notice is about.
    #[serde(borrow)]
    pub(crate) tool_use_id: Option<Cow<'a, str>>,
    /// What a notice says of it.
    #[serde(borrow)]
    status: Option<&'a RawValue>,
}

/// What somebody said.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Message<'a> {
    /// The lines of one answer of the model have the same.
    #[serde(borrow)]
    pub(crate) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// A piece of it.
#[derive(Debug, Deserialize)]
pub(crate) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) tool_use_id: Option<Cow<'a, str>>,
    pub(crate) is_error: Option<bool>,
    #[serde(borrow)]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) text: Option<Cow<'a, str>>,
}

/// Why a line is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is no JSON.
    Broken,
    /// It is, but not of the form that lines have.
    Odd,
}

impl<'a> Line<'a> {
    pub(crate) fn parse(text: &'a [u8]) -> Result<Self, Unread> {
        let text = str::from_utf8(text).map_err(|_| Unread::Broken)?;
        serde_json::from_str(text).map_err(|_| {
            let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
            if is_json { Unread::Odd } else { Unread::Broken }
        })
    }

    pub(crate) fn session(&self) -> Option<&str> {
        self.transcript_session.as_deref().or(self.stream_session.as_deref())
    }

    /// Milliseconds since 1970.
    pub(crate) fn time(&self) -> Option<i64> {
        let time: Timestamp = self.timestamp.as_ref()?.parse().ok()?;
        Some(time.as_millisecond())
    }

    /// What came of the call of a tool, as Claude Code keeps it for itself.
    pub(crate) fn result(&self) -> Option<&'a RawValue> {
        self.stream_result.or(self.transcript_result)
    }

    pub(crate) fn status(&self) -> Option<String> {
        serde_json::from_str(self.status?.get()).ok()
    }

    /// What is said with it; other lines have under this name what they like.
    pub(crate) fn message(&self) -> Result<Message<'a>, Unread> {
        match self.message.filter(|_| matches!(self.kind.as_ref(), "assistant" | "user")) {
            Some(raw) => serde_json::from_str(raw.get()).map_err(|_| Unread::Odd),
            None => Ok(Message::default()),
        }
    }
}

impl<'a> Message<'a> {
    /// Its pieces; one that is not understood takes only itself away.
    pub(crate) fn blocks(&self) -> Vec<Block<'a>> {
        blocks(self.content)
    }

    /// All that is said in plain words.
    pub(crate) fn words(&self) -> String {
        words(self.content)
    }
}

fn blocks(content: Option<&RawValue>) -> Vec<Block<'_>> {
    let raw: Option<Vec<&RawValue>> =
        content.and_then(|content| serde_json::from_str(content.get()).ok());
    let blocks = raw.unwrap_or_default().into_iter();
    blocks.filter_map(|block| serde_json::from_str(block.get()).ok()).collect()
}

/// A text, or the texts among some pieces.
pub(crate) fn words(content: Option<&RawValue>) -> String {
    let Some(content) = content else { return String::new() };
    if let Ok(text) = serde_json::from_str::<Cow<'_, str>>(content.get()) {
        return text.into_owned();
    }
    let texts: Vec<_> = blocks(Some(content)).into_iter().filter_map(|block| block.text).collect();
    texts.join("\n")
}
