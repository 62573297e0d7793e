//! `ringer reply`: a worker's answer to its lead.

use clap::Args;
use ringer_bridge::Status;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Failure, one_line};
use crate::verbs::send::message_text;

/// Answer the lead, as the worker that this is
///
/// For workers: who it is from and which team it goes to come from RINGER_MEMBER and RINGER_TEAM, which
/// `ringer run` sets. When this returns 0, the message is on the disk; `ringer log` shows when the lead has
/// taken it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Reply {
    /// How the work went: success, failure or blocked
    #[arg(long, value_parser = clap::value_parser!(Status))]
    status: Option<Status>,
    /// A few words for people, at most 100 characters [default: the first line, if there is a status]
    #[arg(long)]
    summary: Option<String>,
    /// What it says; `-` reads standard input
    #[arg(allow_hyphen_values = true)]
    text: String,
}

const EXAMPLES: &str = "\
Examples:
  ringer reply --status success 'All 42 tests pass.'
  ringer reply --status blocked 'Which database should I use?'
  make test 2>&1 | ringer reply --status failure --summary 'make test fails' -";

impl Reply {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let speaker = context.speaker()?;
        let text = message_text(self.text)?;
        let sent = speaker.reply(self.status, &text, self.summary.as_deref())?;
        if let Some(error) = &sent.unrecorded {
            let warning = format!("warning: sent, but not in the journal: {}", one_line(error));
            context.out.note(&warning);
        }
        for one in sent.posted {
            let appended = one.outcome?;
            let team = speaker.team().name();
            let people = format!("sent to {} on {team}", one.to);
            let scripts = json!({
                "success": true, "team": team, "from": speaker.name(), "to": one.to,
                "msg_id": appended.msg_id, "status": self.status,
            });
            context.out.answer(&people, &scripts)?;
        }
        Ok(())
    }
}
