//! Asking workers to shut down, as their lead does.
//!
//! Owns the request, and finding out who refused. Who agrees is ended by the daemon.

use std::collections::BTreeMap;
use std::time::SystemTime;

use ringer_teams::{Known, LEAD, Structured, Team};

use crate::error::Result;
use crate::journal::{Filter, Journal};
use crate::post::{Letter, iso, post};
use crate::state::StateDir;

/// So many of a worker's last messages are searched for an answer.
const LAST: u32 = 100;

/// Asks a worker to shut down, in its lead's name; the id of the request.
pub fn ask_to_shut_down(state: &StateDir, team: &Team, name: &str, reason: &str) -> Result<String> {
    let now = SystemTime::now();
    let millis = jiff::Timestamp::now().as_millisecond();
    let lead = team.config.lead().map_or(LEAD, |lead| &lead.name);
    let request_id = format!("shutdown-{millis}@{name}");
    let request = Known::ShutdownRequest {
        request_id: request_id.clone(),
        from: lead.to_owned(),
        reason: Some(reason.to_owned()),
        timestamp: iso(now),
    };
    let text = request.to_text();
    let summary = Some("shutdown request");
    let letter = Letter { from: lead, to: name, text: &text, summary, force: true };
    for one in post(state, team, &letter, now)?.posted {
        one.outcome?;
    }
    Ok(request_id)
}

/// Of those who were asked, by name and the id of the request, who refused, and why.
pub fn refused(
    state: &StateDir,
    team: &Team,
    asked: &BTreeMap<String, String>,
) -> Result<Vec<(String, String)>> {
    let Some(journal) = Journal::open_existing(state)? else {
        return Ok(Vec::new());
    };
    let mut refused = Vec::new();
    for (name, id) in asked {
        let last = journal.messages(&Filter {
            team_dir: Some(team.dir().to_owned()),
            member: Some(name.clone()),
            last: Some(LAST),
            ..Filter::default()
        })?;
        let answer = last.iter().filter(|message| message.from == *name).find_map(|message| {
            match Structured::known(&message.text)? {
                Known::ShutdownRejected { request_id, reason, .. } if request_id == *id => {
                    Some(reason.unwrap_or_default())
                }
                _ => None,
            }
        });
        refused.extend(answer.map(|why| (name.clone(), why)));
    }
    Ok(refused)
}
