//! Mail that a session was shown: `<teammate-message …>` among what its user said.
//!
//! Owns taking it apart. Who wrote a message can put anything into it; the sender is what the envelope says. A text that
//! closes the envelope and opens another can lie about that, as it can to the model: nothing here is a proof.

use serde_json::{Map, Value};

use crate::call::{plain, text};

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) from: String,
    pub(crate) mail: Mail,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mail {
    /// Something for a reader.
    Words {
        /// All of it.
        content: String,
        /// In a few words.
        summary: Option<String>,
    },
    /// Who sent it has nothing to do.
    Idle,
    /// Who sent it ends.
    ShutdownApproved,
    /// Who sent it does not.
    ShutdownRejected {
        /// Why.
        reason: Option<String>,
    },
    /// Who sent it wants its plan approved.
    PlanRequest {
        /// What the answer will refer to.
        request_id: String,
    },
    /// Claude Code says that somebody has ended.
    Terminated {
        /// Who.
        name: String,
    },
    /// Something else that programs say to each other.
    Other,
}

const OPEN: &str = "<teammate-message ";
const CLOSE: &str = "</teammate-message>";

/// Whom Claude Code speaks for itself as.
const SYSTEM: &str = "system";

/// All messages in a text.
pub(crate) fn notices(words: &str) -> Vec<Notice> {
    let mut found = Vec::new();
    let mut rest = words;
    while let Some(at) = rest.find(OPEN) {
        rest = &rest[at + OPEN.len()..];
        // A tag is a line of its own.
        let Some((tag, after)) = rest.split_once(">\n") else { break };
        let Some((text, after)) = after.split_once(CLOSE) else { break };
        rest = after;
        if let Some(from) = attribute(tag, "teammate_id") {
            let mail = Mail::read(text.trim_end_matches('\n'), attribute(tag, "summary"));
            found.push(Notice { from: plain(&from), mail });
        }
    }
    found
}

/// The value of an attribute. Quotes within one are not escaped: it ends where the next begins, or the tag ends.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = tag.find(&format!("{name}=\""))? + name.len() + 2;
    let value = &tag[start..];
    let next = ["\" color=\"", "\" summary=\"", "\" teammate_id=\""].iter();
    let end = next.filter_map(|next| value.find(next)).min();
    Some(end.map_or_else(|| value.trim_end_matches('"'), |end| &value[..end]).to_owned())
}

impl Mail {
    /// Reads the text of a message: programs talk to each other in JSON.
    pub fn read(body: &str, summary: Option<String>) -> Self {
        let words = || Self::Words { content: body.to_owned(), summary };
        let object = || serde_json::from_str::<Map<String, Value>>(body).ok();
        let Some(object) = body.starts_with('{').then(object).flatten() else { return words() };
        let Some(kind) = text(&object, "type") else { return words() };
        match kind.as_str() {
            "idle_notification" => Self::Idle,
            "shutdown_approved" => Self::ShutdownApproved,
            "shutdown_rejected" => Self::ShutdownRejected { reason: text(&object, "reason") },
            "plan_approval_request" => Self::PlanRequest {
                request_id: text(&object, "requestId")
                    .or_else(|| text(&object, "request_id"))
                    .unwrap_or_default(),
            },
            "teammate_terminated" => {
                let message = text(&object, "message").unwrap_or_default();
                let name = message.strip_suffix(" has shut down.").unwrap_or_default();
                Self::Terminated { name: plain(name) }
            }
            _ => Self::Other,
        }
    }
}

impl Notice {
    /// Whether somebody on the team says it, not Claude Code.
    pub(crate) fn is_of_member(&self) -> bool {
        self.from != SYSTEM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_in_what_the_user_seems_to_say() {
        let words = |content: &str, summary: Option<&str>| Mail::Words {
            content: content.to_owned(),
            summary: summary.map(str::to_owned),
        };
        for (text, expected) in [
            (
                "<teammate-message teammate_id=\"alice\" color=\"blue\" summary=\"a \"b\" c\">\nhi\n</teammate-message>",
                vec![("alice", words("hi", Some("a \"b\" c")))],
            ),
            (
                "Another session sent a message:\n<teammate-message teammate_id=\"alice@t\">\na\n\nb\n</teammate-message>\n\n\
              <teammate-message teammate_id=\"bob\" color=\"red\">\n{\"type\":\"idle_notification\",\"from\":\"carl\"}\n</teammate-message>\n\nMore.",
                vec![("alice", words("a\n\nb", None)), ("bob", Mail::Idle)],
            ),
            (
                "<teammate-message teammate_id=\"a\">\n{\"type\":\"shutdown_approved\",\"requestId\":\"r\"}\n</teammate-message>",
                vec![("a", Mail::ShutdownApproved)],
            ),
            (
                "<teammate-message teammate_id=\"a\">\n{\"type\":\"shutdown_rejected\",\"reason\":\"no\"}\n</teammate-message>",
                vec![("a", Mail::ShutdownRejected { reason: Some("no".to_owned()) })],
            ),
            (
                "<teammate-message teammate_id=\"a\">\n{\"type\":\"plan_approval_request\",\"requestId\":\"p1\"}\n</teammate-message>",
                vec![("a", Mail::PlanRequest { request_id: "p1".to_owned() })],
            ),
            (
                "<teammate-message teammate_id=\"system\">\n{\"type\":\"teammate_terminated\",\"message\":\"a has shut down.\"}\n</teammate-message>",
                vec![("system", Mail::Terminated { name: "a".to_owned() })],
            ),
            (
                "<teammate-message teammate_id=\"a\">\n{\"type\":\"new\"}\n</teammate-message>",
                vec![("a", Mail::Other)],
            ),
            (
                "<teammate-message teammate_id=\"a\">\n{\"half\": \n</teammate-message>",
                vec![("a", words("{\"half\": ", None))],
            ),
            ("<teammate-message teammate_id=\"a\">\nno end", vec![]),
            ("<teammate-message color=\"red\">\nfrom nobody\n</teammate-message>", vec![]),
            ("see <teammate-message", vec![]),
        ] {
            let found: Vec<_> = notices(text).into_iter().map(|n| (n.from, n.mail)).collect();
            let expected: Vec<_> =
                expected.into_iter().map(|(from, body)| (from.to_owned(), body)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
