//! An event in a line, for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ringer_observe::{Event, Task, What};

use crate::output::cell;

/// When, what, and the facts.
pub(crate) fn row(event: &Event) -> [String; 3] {
    let time = event.time.as_deref().and_then(|time| time.parse::<Timestamp>().ok());
    let time = time.map(|time| time.to_zoned(TimeZone::system()).strftime("%m-%d %H:%M:%S"));
    [
        time.map_or_else(|| "-".to_owned(), |time| time.to_string()),
        event.what.name().to_owned(),
        cell(&words(event)),
    ]
}

fn words(event: &Event) -> String {
    let team = || event.team_name.clone().unwrap_or_default();
    match &event.what {
        What::Created | What::Deleted => team(),
        What::Joined { member } => format!("{} ({})", member.name, member.agent_type),
        What::Idle { member } | What::Shutdown { member } => member.name.clone(),
        What::TaskCreated { task } => format!("#{} {}", task.id, task.subject),
        What::TaskClaimed { task } | What::TaskCompleted { task } => owned(task),
        What::Message { from, to, content, summary, .. } => {
            let to = to.as_deref().unwrap_or("everybody");
            let first_line = content.lines().next().unwrap_or_default();
            format!("{from} → {to}: {}", summary.as_deref().unwrap_or(first_line))
        }
        What::ShutdownRequested { member, .. } => member.clone(),
        What::ShutdownResponse { member, approved, reason } => {
            let answer = if *approved { "agrees" } else { "refuses" };
            let reason = reason.as_ref().map(|reason| format!(": {reason}"));
            format!("{member} {answer}{}", reason.unwrap_or_default())
        }
        What::PlanRequested { from, .. } => from.clone(),
        What::PlanResolved { from, approved, .. } => {
            format!("{} by {from}", if *approved { "approved" } else { "rejected" })
        }
        What::Summary { summary } => figures(summary),
    }
}

fn owned(task: &Task) -> String {
    let owner = task.owner.as_ref().map(|owner| format!(" ({owner})")).unwrap_or_default();
    format!("#{} {}{owner}", task.id, task.subject)
}

/// What a session came to, in a few words.
pub(crate) fn figures(summary: &ringer_observe::Summary) -> String {
    let mut words = Vec::new();
    if summary.is_error {
        words.push(summary.subtype.clone().unwrap_or_else(|| "error".to_owned()));
    }
    if let Some(turns) = summary.num_turns {
        words.push(format!("{turns} turn{}", if turns == 1 { "" } else { "s" }));
    }
    if let Some(duration) = summary.duration_ms.as_ref().and_then(serde_json::Number::as_f64) {
        words.push(format!("{:.1} s", duration / 1000.0));
    }
    if let Some(cost) = summary.total_cost_usd {
        words.push(format!("${cost:.2}"));
    }
    for (model, usage) in &summary.models {
        let read =
            usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
        words.push(format!("{model}: {read} tokens in, {} out", usage.output_tokens));
    }
    words.join(", ")
}
