//! `ringer send`: a message into a member's inbox.

use std::io::Read;
use std::time::SystemTime;

use clap::Args;
use ringer_bridge::{EVERYBODY, Letter, post};
use ringer_teams::{BYTES_LIMIT, Error, LEAD};
use serde_json::{Value, json};

use crate::cli::TeamArg;
use crate::context::{Context, variable};
use crate::failure::{Failure, one_line};
use crate::output::count;

/// Send a message to a member, or to all
///
/// It goes into the member's inbox, as Claude Code's own messages do. When this returns 0, the
/// message is on the disk. A text of more than 10,000 characters is stored in a file, and the
/// message carries its beginning and the path.
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// Who gets it; `*` is everybody but the sender, at most once in 5 seconds
    #[arg(long, value_name = "NAME")]
    to: String,
    #[command(flatten)]
    team: TeamArg,
    /// Who it is from [default: $RINGER_MEMBER, else team-lead]
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// A few words for people, at most 100 characters
    #[arg(long)]
    summary: Option<String>,
    /// Also to or from a name that is not on the team
    #[arg(long)]
    force: bool,
    /// What it says; `-` reads standard input
    #[arg(allow_hyphen_values = true)]
    text: String,
}

impl Send {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let team = context.team(&self.team)?;
        let text = message_text(self.text)?;
        let from =
            self.from.or_else(|| variable("RINGER_MEMBER")).unwrap_or_else(|| LEAD.to_owned());
        let letter = Letter {
            from: &from,
            to: &self.to,
            text: &text,
            summary: self.summary.as_deref(),
            force: self.force,
        };
        let all = post(&context.state, &team, &letter, SystemTime::now())?;
        if let Some(error) = &all.unrecorded {
            context
                .out
                .note(&format!("warning: sent, but not in the journal: {}", one_line(error)));
        }
        let (mut sent, mut failed, mut last) = (Vec::new(), Vec::new(), None);
        for one in all.posted {
            match one.outcome {
                Ok(appended) => {
                    let (held, tries) = (appended.held, appended.tries);
                    context
                        .out
                        .detail(&format!("{}: locked for {held:.0?}, tries: {tries}", one.to));
                    sent.push((one.to, appended.msg_id));
                }
                Err(error) => {
                    failed.push(
                        json!({"to": one.to, "error": error.code(), "message": one_line(&error)}),
                    );
                    last = Some((one.to, error));
                }
            }
        }
        let messages = sent.iter().map(|(to, msg_id)| json!({"to": to, "msg_id": msg_id}));
        let messages: Vec<Value> = messages.collect();
        match last {
            Some((_, error)) if self.to != EVERYBODY => return Err(error.into()),
            Some((to, error)) => {
                let (some, all) = (sent.len(), sent.len() + failed.len());
                let message = format!("sent to {some} of {all} members on {}", team.name());
                let failure = Failure::new(error.code(), message).cause(&error);
                let failure = failure.hint(&format!("the last that did not get it is {to}"));
                return Err(failure
                    .detail("failed", json!(failed))
                    .detail("sent", json!(messages)));
            }
            None => {}
        }
        let people = match sent.as_slice() {
            [] => return Err(nobody(&self.to, team.name())),
            [(to, _)] if self.to != EVERYBODY => {
                format!("sent to {to} on {}", team.name())
            }
            many => format!("sent to {} on {}", count(many.len(), "member"), team.name()),
        };
        let scripts = json!({
            "success": true, "team": team.name(), "from": from, "messages": messages,
        });
        Ok(context.out.answer(&people, &scripts)?)
    }
}

fn nobody(to: &str, team: &str) -> Failure {
    let message = format!("there is nobody else on team `{team}`");
    Failure::new("agent_not_found", message).detail("to", json!(to))
}

/// What a message says: the argument, or standard input if that is `-`.
pub(crate) fn message_text(argument: String) -> Result<String, Failure> {
    if argument == "-" { read_stdin() } else { Ok(argument) }
}

/// All of standard input, up to the limit.
fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(BYTES_LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|e| Failure::new("unreadable", "could not read standard input").cause(&e))?;
    if bytes.len() as u64 > BYTES_LIMIT {
        return Err(Error::TooLarge { bytes: bytes.len() as u64, limit: BYTES_LIMIT }.into());
    }
    let text = String::from_utf8(bytes)
        .map_err(|e| Failure::new("unreadable", "standard input is not UTF-8 text").cause(&e))?;
    // The line break that `echo` and editors end a text with is not part of the message.
    let trimmed = text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
    Ok(trimmed.map_or_else(|| text.clone(), str::to_owned))
}
