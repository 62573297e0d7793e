//! What is said on a team, and what that changes: who agrees to end is about to.

use super::{LEAD, Picture, Place};
use crate::call::{Said, plain};
use crate::event::What;
use crate::notice::{Mail, Notice};
use crate::outcome::Outcome;
use crate::state::Standing;

impl Picture {
    pub(super) fn said(
        &mut self,
        said: &Said,
        outcome: &Outcome,
        who: Option<String>,
        out: &mut Vec<What>,
    ) {
        let routing = outcome.routing();
        let sender = routing.as_ref().and_then(|routing| routing.sender.clone());
        let from = sender.or(who);
        match said {
            Said::Words { to, content, summary } => {
                let to = match to {
                    // What it was sent to may have been resolved to somebody.
                    Some(to) => routing.and_then(|routing| routing.target).or(Some(to.clone())),
                    None => None,
                };
                let what = What::Message {
                    from: from.unwrap_or_default(),
                    to,
                    content: content.clone(),
                    summary: summary.clone(),
                    recipients: outcome.list("recipients"),
                };
                self.tell(what, out);
            }
            Said::ShutdownRequest { to } => {
                let member = outcome.text("target").map_or_else(|| to.clone(), |id| plain(&id));
                self.ask_to_end(&member, outcome.text("request_id"), out);
            }
            Said::ShutdownResponse { request_id, approved, reason } => {
                // `shutdown-<ms>@<name>`: whoever it was that was asked.
                let asked = request_id.rsplit_once('@').map(|(_, name)| name.to_owned());
                if let Some(member) = asked.or(from) {
                    self.respond(&member, *approved, reason.clone(), out);
                }
            }
            Said::PlanRequest { request_id } => {
                let request_id = outcome.text("request_id").or_else(|| request_id.clone());
                let request_id = request_id.unwrap_or_default();
                self.tell(What::PlanRequested { from: from.unwrap_or_default(), request_id }, out);
            }
            Said::PlanResponse { request_id, approved } => {
                let (approved, request_id) = (*approved, request_id.clone());
                let from = from.unwrap_or_default();
                self.tell(What::PlanResolved { from, approved, request_id }, out);
            }
        }
    }

    fn ask_to_end(&mut self, member: &str, request_id: Option<String>, out: &mut Vec<What>) {
        let known = self.state.member(member).is_some_and(|m| m.status != Standing::Shutdown);
        if known && !self.state.shutting_down.iter().any(|other| other == member) {
            self.state.shutting_down.push(member.to_owned());
        }
        self.tell(What::ShutdownRequested { member: member.to_owned(), request_id }, out);
    }

    fn respond(
        &mut self,
        member: &str,
        approved: bool,
        reason: Option<String>,
        out: &mut Vec<What>,
    ) {
        self.state.shutting_down.retain(|other| other != member);
        let response = What::ShutdownResponse { member: member.to_owned(), approved, reason };
        self.tell(response, out);
        if approved {
            self.stand(member, Standing::Shutdown, out);
        }
    }

    /// The session was shown a message.
    pub(crate) fn noticed(&mut self, notice: &Notice, place: Place<'_>, out: &mut Vec<What>) {
        self.appear(None, place, out);
        let from = notice.from.clone();
        match &notice.mail {
            Mail::Words { content, summary } if notice.is_of_member() => {
                let what = What::Message {
                    from,
                    to: Some(place.agent.unwrap_or(LEAD).to_owned()),
                    content: content.clone(),
                    summary: summary.clone(),
                    recipients: Vec::new(),
                };
                self.tell(what, out);
            }
            Mail::Idle => self.stand(&from, Standing::Idle, out),
            Mail::ShutdownApproved => self.respond(&from, true, None, out),
            Mail::ShutdownRejected { reason } => self.respond(&from, false, reason.clone(), out),
            Mail::PlanRequest { request_id } => {
                self.tell(What::PlanRequested { from, request_id: request_id.clone() }, out);
            }
            Mail::Terminated { name } if !notice.is_of_member() => {
                self.stand(name, Standing::Shutdown, out);
            }
            Mail::Words { .. } | Mail::Terminated { .. } | Mail::Other => {}
        }
    }
}
