//! What a worker sees of a message.
//!
//! Owns the wording. The text may say anything; that no byte of it acts as a key is the payload's
//! business, in `ringer-panes`.

use ringer_teams::{Known, Structured, deliverable_path};

use crate::desk::how_to_do;
use crate::journal::Message;

/// In front of a message that may have arrived before.
pub(crate) const SECOND_COPY: &str = "[second copy: the first one may have arrived] ";

/// The words for a message, in the form that the template gives them. `text` is what it says, or
/// what stands for it if it was too long.
pub(crate) fn render(template: &str, message: &Message, text: &str) -> String {
    let structured = Structured::parse(text).map(|one| sentences(&one, message));
    let (title, text) = match &structured {
        Some((title, text)) => (Some(title.as_str()), text.as_str()),
        None => (None, text),
    };
    let summary = message.summary.as_deref().or(title).map(one_line).unwrap_or_default();
    fill(template, &one_line(&message.from), &summary, text)
}

/// A structured message as a title and sentences that a model can act on.
fn sentences(structured: &Structured, message: &Message) -> (String, String) {
    let known = match structured {
        Structured::Known(known) => known,
        Structured::Unknown { kind, json } => {
            let text =
                format!("{} sent a structured message of the type {kind}:\n{json}", message.from);
            return (kind.replace('_', " "), text);
        }
    };
    // Whoever wrote it, whatever it says inside.
    let from = &message.from;
    match known {
        Known::ShutdownRequest { request_id, reason, .. } => {
            let why = because(reason.as_deref());
            let text = format!("{from} asks you to end your work and shut down.{why}");
            ("shutdown request".into(), text + &how_to_answer(request_id, "shutdown_response"))
        }
        Known::TaskAssignment { task_id, subject, description, assigned_by, .. } => {
            let mut text = format!("{assigned_by} gave you task {task_id}: {subject}");
            if !description.is_empty() {
                text.push('\n');
                text.push_str(description);
            }
            text.push_str(&how_to_do(task_id, &deliverable_path(task_id, subject)));
            (format!("task {task_id}"), text)
        }
        Known::IdleNotification { idle_reason, summary, result, .. } => {
            let mut text = format!("{from} has nothing to do now.");
            for (word, said) in [("Reason", idle_reason), ("Summary", summary), ("Result", result)]
            {
                if let Some(said) = said {
                    text = format!("{text}\n{word}: {said}");
                }
            }
            ("idle".into(), text)
        }
        Known::ShutdownApproved { .. } => {
            ("shutdown approved".into(), format!("{from} agrees to shut down."))
        }
        Known::ShutdownRejected { reason, .. } => {
            let why = because(reason.as_deref());
            ("shutdown rejected".into(), format!("{from} does not want to shut down yet.{why}"))
        }
        Known::PlanApprovalRequest { request_id, plan_content, plan_file_path, .. } => {
            let file = plan_file_path.as_deref();
            let file = file.map_or(String::new(), |file| format!("\nThe plan is in {file}."));
            let text =
                format!("{from} asks whether to go on with this plan:\n{plan_content}{file}");
            ("plan for approval".into(), text + &how_to_answer(request_id, ""))
        }
        Known::PlanApprovalResponse { approved, feedback, .. } => {
            let (title, says) = if *approved {
                ("plan approved", "approves your plan: go on with it.")
            } else {
                ("plan rejected", "does not approve your plan. Change it, and ask again.")
            };
            let text = format!("{} {says}{}", message.from, because(feedback.as_deref()));
            (title.into(), text)
        }
        Known::PermissionRequest { request_id, tool_name, description, input, .. } => {
            let mut text = format!("{from} asks for permission to use {tool_name}.");
            let input = if input.is_null() { String::new() } else { input.to_string() };
            for line in [description.as_str(), &input] {
                if !line.is_empty() {
                    text.push('\n');
                    text.push_str(line);
                }
            }
            ("permission request".into(), text + &how_to_answer(request_id, ""))
        }
        Known::PermissionResponse { subtype, error, .. } => {
            let (title, says) = if subtype == "success" {
                ("permission granted", "allows it.")
            } else {
                ("permission denied", "does not allow it.")
            };
            let text = format!("{} {says}{}", message.from, because(error.as_deref()));
            (title.into(), text)
        }
    }
}

fn because(reason: Option<&str>) -> String {
    reason.map_or(String::new(), |why| format!(" Reason: {why}"))
}

/// How a request is answered, with a tool or a command. What a command line is made of came from a file
/// that others write: with a word that a shell does not take as it is, there is none.
fn how_to_answer(request_id: &str, tool: &str) -> String {
    if !is_plain(request_id) {
        return "\nThe id of this request cannot be used in a command: `ringer answer` lists it."
            .to_owned();
    }
    let with_tool = if tool.is_empty() {
        String::new()
    } else {
        format!("\nAnswer with the tool {tool} of the server ringer: request_id \"{request_id}\".")
    };
    format!(
        "{with_tool}\nTo agree, finish what you are doing and run: ringer answer {request_id} --approve\n\
         To refuse, say why: ringer answer {request_id} --reject --reason WHY"
    )
}

/// Whether a word can stand in a command line as it is.
fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | ':');
    !word.is_empty() && !word.starts_with('-') && word.chars().all(plain)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Fills the template in one pass, so that a text with `{from}` in it stays as it is.
fn fill(template: &str, from: &str, summary: &str, text: &str) -> String {
    let places = [("{from}", from), ("{summary}", summary), ("{text}", text)];
    let mut out = String::with_capacity(template.len() + text.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, from_brace) = rest.split_at(at);
        out.push_str(before);
        let place = places.into_iter().find(|(name, _)| from_brace.starts_with(name));
        let (name, value) = place.unwrap_or(("{", "{"));
        if name == "{summary}" && value.is_empty() {
            let separator = |c: char| c.is_whitespace() || "·:-–—|,;/".contains(c);
            out.truncate(out.trim_end_matches(separator).len());
        }
        out.push_str(value);
        rest = &from_brace[name.len()..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Direction, State};
    use crate::settings::Settings;

    fn message(summary: Option<&str>, text: &str) -> Message {
        Message {
            id: 1,
            revision: 1,
            direction: Direction::In,
            team_dir: "/t/exo".into(),
            team: "exo".into(),
            from: "team-lead".into(),
            to: "rust-impl".into(),
            msg_id: None,
            summary: summary.map(Into::into),
            text: text.into(),
            sent_at: "2026-02-22T20:30:00.000Z".into(),
            state: State::Received,
            reason: None,
            attempts: 0,
            copies: 0,
            shown_before: None,
            entering: false,
            received_at: 0,
            changed_at: 0,
            delivered_at: None,
            read_us: None,
            queued_us: None,
            typed_us: None,
            shown_us: None,
            via: None,
            claim: None,
            confirmed_at: None,
        }
    }

    fn shown(summary: Option<&str>, text: &str) -> String {
        render(&Settings::default().delivery.template, &message(summary, text), text)
    }

    #[test]
    fn a_message_has_its_sender_and_summary_in_front() {
        assert_eq!(
            shown(Some("Change data structure"), "Use a BTreeMap.\nPlease."),
            "[message from team-lead · Change data structure]\nUse a BTreeMap.\nPlease."
        );
        assert_eq!(shown(None, "hello"), "[message from team-lead]\nhello");
        assert_eq!(
            shown(Some("a\nb"), "{from} {summary}"),
            "[message from team-lead · a b]\n{from} {summary}"
        );
    }

    #[test]
    fn structured_messages_become_sentences() {
        let request = r#"{"type":"shutdown_request","requestId":"shutdown-1@rust-impl","from":"team-lead","reason":"all done","timestamp":"t"}"#;
        let text = shown(None, request);
        assert!(text.starts_with("[message from team-lead · shutdown request]\nteam-lead asks you to end your work and shut down. Reason: all done\n"), "{text}");
        assert!(text.contains("run: ringer answer shutdown-1@rust-impl --approve\n"), "{text}");
        assert!(text.contains("the tool shutdown_response of the server ringer"), "{text}");

        let plan = r#"{"type":"plan_approval_response","request_id":"p","approve":false,"feedback":"too slow"}"#;
        let text = shown(None, plan);
        assert!(text.contains("· plan rejected]\nteam-lead does not approve your plan."), "{text}");
        assert!(text.ends_with("Reason: too slow"), "{text}");
        let may_i = r#"{"type":"permission_request","request_id":"p-1","agent_id":"w","tool_name":"Bash","description":"make","input":{"command":"make"}}"#;
        let text = shown(None, may_i);
        assert!(
            text.contains(
                "team-lead asks for permission to use Bash.\nmake\n{\"command\":\"make\"}\n"
            ),
            "{text}"
        );
        assert!(text.contains("ringer answer p-1 --approve"), "{text}");

        let task = r#"{"type":"task_assignment","taskId":"2","subject":"second","description":"do it","assignedBy":"team-lead","timestamp":"t"}"#;
        let text = shown(None, task);
        assert!(
            text.starts_with(
                "[message from team-lead · task 2]\nteam-lead gave you task 2: second\ndo it\n\n"
            ),
            "{text}"
        );
        assert!(text.contains("run: ringer tasks claim 2\n"), "{text}");
        let trick = shown(None, &task.replace("\"taskId\":\"2\"", "\"taskId\":\"2; touch y\""));
        assert!(!trick.contains("ringer tasks"), "{trick}");
        let odd = shown(None, r#"{"type":"coffee_break","minutes":5}"#);
        assert!(odd.contains("of the type coffee_break:\n{\"type\":\"coffee_break\""), "{odd}");
    }

    #[test]
    fn no_command_line_is_made_of_hostile_words() {
        let request = r#"{"type":"shutdown_request","requestId":"x'; touch y; '","from":"team-lead","timestamp":"t"}"#;
        let text = shown(None, request);
        assert!(!text.contains("touch"), "{text}");
    }
}
