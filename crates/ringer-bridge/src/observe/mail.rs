//! What workers say, from the journal: no lead's transcript has all of it, and some versions' have nothing.
//!
//! Owns which messages are told from there. A lead that is heard tells itself what it says, with the call that it came
//! from. What members of ours say is told from here alone, also if the lead shows it.

use jiff::Timestamp;
use ringer_observe::{Event, Mail, TeamState, What};
use ringer_teams::{LEAD, Team};

use crate::error::Result;
use crate::journal::{Journal, Message};

/// A message that is to be told.
#[derive(Debug)]
pub(super) struct Letter {
    message: Message,
    mail: Mail,
}

/// Messages that were not told yet, and the number of the last one.
pub(super) fn news(
    journal: &Journal,
    team: &Team,
    told: i64,
    is_heard: bool,
) -> Result<(Vec<Letter>, Option<i64>)> {
    let messages = journal.messages_after(team.dir(), told)?;
    let last = messages.last().map(|message| message.id);
    let lead = team.config.lead().map_or(LEAD, |lead| lead.name.as_str());
    let wanted = messages.into_iter().filter(|message| !is_heard || message.from != lead);
    let letters = wanted.map(|message| {
        let mail = Mail::read(&message.text, message.summary.clone());
        Letter { message, mail }
    });
    Ok((letters.collect(), last))
}

impl Letter {
    /// What happened with it, if it is news to the picture.
    pub(super) fn event(&self, state: &mut TeamState) -> Option<Event> {
        let Message { from, to, received_at, .. } = &self.message;
        let what = match &self.mail {
            Mail::Words { content, summary } => What::Message {
                from: from.clone(),
                to: Some(to.clone()),
                content: content.clone(),
                summary: summary.clone(),
                recipients: Vec::new(),
            },
            Mail::Idle => What::Idle { member: state.member(from)?.clone() },
            Mail::ShutdownApproved => {
                What::ShutdownResponse { member: from.clone(), approved: true, reason: None }
            }
            Mail::ShutdownRejected { reason } => What::ShutdownResponse {
                member: from.clone(),
                approved: false,
                reason: reason.clone(),
            },
            Mail::PlanRequest { request_id } => {
                What::PlanRequested { from: from.clone(), request_id: request_id.clone() }
            }
            Mail::Terminated { .. } | Mail::Other => return None,
        };
        state.tell(&what).then(|| Event {
            what,
            session_id: None,
            team_name: Some(state.name.clone()),
            tool_use_id: None,
            time: Timestamp::from_millisecond(*received_at).ok().map(|time| time.to_string()),
        })
    }
}

/// Who is said to have said it, if it was found in what a session was shown.
pub(super) fn shown(event: &Event) -> Option<&str> {
    match &event.what {
        _ if event.tool_use_id.is_some() => None,
        What::Message { from, .. } | What::PlanRequested { from, .. } => Some(from),
        What::ShutdownResponse { member, .. } => Some(member),
        What::Idle { member } => Some(&member.name),
        _ => None,
    }
}
