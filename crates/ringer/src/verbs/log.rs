//! `ringer log`: the journal, for people and scripts.

use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ringer_bridge::daemon;
use ringer_bridge::unheard::{catch_up, not_taken, unheard};
use ringer_bridge::{Direction, Filter, Journal, Message, State};
use ringer_teams::Structured;
use serde_json::json;

use super::watching::Watching;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::cell;
use crate::verbs::init;

/// Show every message and what became of it
///
/// Messages to members of ours are `received` when the daemon has seen them, then `delivering` and
/// `delivered`, or `waiting` with the reason; `failed` if they were given up. Those to others are
/// `written`, then `taken` when they were read; `written: not read` after five seconds. `×2` means that it was typed twice. Works with no
/// daemon running, but what was sent meanwhile is still only in the inbox (`ringer inbox NAME`).
///
/// With --json: one object with `messages`; with --follow one message a line, again whenever
/// something about it changes.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// Only messages to or from this member
    #[arg(long, short, value_name = "NAME")]
    member: Option<String>,
    /// Only of this team [default: all]
    #[arg(long, short, value_name = "TEAM")]
    team: Option<String>,
    /// Only in this state
    #[arg(long, short, value_parser = state)]
    state: Option<State>,
    /// The last so many
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 50)]
    last: u32,
    /// Go on with what happens from now on
    #[arg(long, short)]
    follow: bool,
    /// The whole text of each
    #[arg(long)]
    text: bool,
}

impl Log {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        // A team that is gone is still in the journal, under the directory that it had.
        let team_dir = self.team.as_ref().map(|name| {
            let gone = |_| context.claude.teams_dir().join(name);
            context.claude.team(name).map_or_else(gone, |team| team.dir().to_owned())
        });
        let mut filter = Filter {
            team_dir,
            member: self.member.clone(),
            state: self.state,
            after_revision: None,
            last: Some(self.last),
        };
        let journal = if self.follow {
            Some(Journal::open(&context.state)?)
        } else {
            Journal::open_existing(&context.state)?
        };
        if let Some(journal) = &journal
            && daemon::running(&context.state)?.is_none()
        {
            catch_up(journal)?;
        }
        let revision = journal.as_ref().map(Journal::revision).transpose()?;
        let messages = match &journal {
            Some(journal) => journal.messages(&filter)?,
            None => Vec::new(),
        };
        match (context.out.json, self.follow) {
            (true, false) => {
                return Ok(context.out.data(&json!({"success": true, "messages": messages}))?);
            }
            (true, true) => messages.iter().try_for_each(|message| context.out.data(message))?,
            (false, _) if messages.is_empty() && !self.follow => {
                context.out.note("nothing yet");
            }
            (false, _) => {
                context.out.table(HEADINGS, &messages.iter().map(row).collect::<Vec<_>>())?;
                if self.text {
                    messages.iter().try_for_each(|message| whole(context, message))?;
                }
                if let Some(journal) = &journal {
                    for one in unheard(&context.claude, journal)? {
                        context.out.note(&one.words(init::is_done(context)));
                    }
                }
            }
        }
        if let (true, Some(journal)) = (self.follow, journal) {
            filter.after_revision = revision;
            filter.last = None;
            self.follow(context, &journal, filter)?;
        }
        Ok(())
    }

    fn follow(
        &self,
        context: &Context,
        journal: &Journal,
        mut filter: Filter,
    ) -> Result<(), Failure> {
        let watching = Watching::new(context.state.path());
        loop {
            for message in journal.messages(&filter)? {
                filter.after_revision = filter.after_revision.max(Some(message.revision));
                if context.out.json {
                    context.out.data(&message)?;
                } else {
                    context.out.line(&row(&message).join("  "))?;
                    if self.text {
                        whole(context, &message)?;
                    }
                }
            }
            watching.wait(Duration::from_mins(1));
        }
    }
}

const HEADINGS: [&str; 8] = ["ID", "TIME", "TEAM", "FROM", "TO", "STATE", "TOOK", "MESSAGE"];

fn row(message: &Message) -> [String; 8] {
    let at = Timestamp::from_millisecond(message.received_at).unwrap_or_default();
    let at = at.to_zoned(TimeZone::system()).strftime("%m-%d %H:%M:%S");
    let state = match message.reason.as_deref().or(not_taken(message)) {
        Some(reason) => format!("{}: {reason}", message.state.as_str()),
        None => message.state.as_str().to_owned(),
    };
    let copies = if message.copies > 1 { format!(" ×{}", message.copies) } else { String::new() };
    [
        message.id.to_string(),
        at.to_string(),
        cell(&message.team),
        cell(&message.from),
        cell(&message.to),
        cell(&(state + &copies)),
        took(message).unwrap_or_else(|| "-".to_owned()),
        cell(&headline(message)),
    ]
}

/// What a message is about, in a line.
fn headline(message: &Message) -> String {
    use ringer_teams::Known as K;
    let first_line = || message.text.lines().next().unwrap_or_default().to_owned();
    let plain = || message.summary.clone().unwrap_or_else(first_line);
    let (title, more) = match Structured::parse(&message.text) {
        None => return plain(),
        Some(Structured::Unknown { kind, .. }) => (kind.replace('_', " "), None),
        Some(Structured::Known(known)) => match known {
            K::IdleNotification { summary, .. } => ("idle".to_owned(), summary),
            K::ShutdownRequest { reason, .. } => ("shutdown request".to_owned(), reason),
            K::ShutdownApproved { .. } => ("shutdown approved".to_owned(), None),
            K::ShutdownRejected { reason, .. } => ("shutdown rejected".to_owned(), reason),
            K::TaskAssignment { task_id, subject, .. } => {
                (format!("task {task_id}"), Some(subject))
            }
            K::PlanApprovalRequest { plan_content, .. } => ("plan".to_owned(), Some(plan_content)),
            K::PlanApprovalResponse { approved, feedback, .. } => {
                (if approved { "plan approved" } else { "plan rejected" }.to_owned(), feedback)
            }
            K::PermissionRequest { tool_name, .. } => {
                ("permission request".to_owned(), Some(tool_name))
            }
            K::PermissionResponse { subtype, .. } => {
                ("permission response".to_owned(), Some(subtype))
            }
        },
    };
    more.filter(|more| !more.is_empty()).map_or(title.clone(), |more| format!("{title}: {more}"))
}

/// From the change of the inbox to the text in the pane.
fn took(message: &Message) -> Option<String> {
    if message.state != State::Delivered || message.direction == Direction::Out {
        return None;
    }
    let micros = message.read_us? + message.queued_us? + message.typed_us?;
    Some(match micros {
        0..10_000 => format!("{}.{} ms", micros / 1000, micros % 1000 / 100),
        10_000..10_000_000 => format!("{} ms", micros / 1000),
        _ => format!("{} s", micros / 1_000_000),
    })
}

fn whole(context: &Context, message: &Message) -> std::io::Result<()> {
    context.out.line(&format!("--- {}", message.id))?;
    context.out.line(&message.text)
}

fn state(text: &str) -> Result<State, String> {
    let known = State::ALL.map(State::as_str).join(", ");
    State::ALL
        .into_iter()
        .find(|state| state.as_str() == text)
        .ok_or_else(|| format!("it is none of {known}"))
}
