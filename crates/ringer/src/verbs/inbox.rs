//! `ringer inbox`: what is in a member's inbox.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::SystemTime;

use clap::Args;
use jiff::Timestamp;
use ringer_teams::{Entry, Mailbox, Odd};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::cli::TeamArg;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{ago, cell, count};

/// Show what is in a member's inbox
///
/// A script can be a worker with nothing but this: `ringer inbox me --unread --mark-read --json`
/// prints what is new, and marks it read once it is printed.
#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// The member
    name: String,
    #[command(flatten)]
    team: TeamArg,
    /// Only what has not been read
    #[arg(long)]
    unread: bool,
    /// Mark what is shown as read, after it is shown
    #[arg(long)]
    mark_read: bool,
    /// Then remove read messages, but for the last KEEP
    #[arg(long, value_name = "KEEP")]
    prune: Option<usize>,
}

/// The answer for scripts: entries exactly as they stand in the file.
#[derive(Serialize)]
struct Answer<'a> {
    success: bool,
    team: &'a str,
    member: &'a str,
    entries: Vec<Box<RawValue>>,
    odd: Vec<Strange<'a>>,
}

#[derive(Serialize)]
struct Strange<'a> {
    why: &'a str,
    raw: Box<RawValue>,
}

impl Inbox {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let team = context.team(&self.team)?;
        let boxes = team.mailboxes(&self.name)?;
        if !boxes.iter().any(|mailbox| mailbox.path().exists()) {
            team.member(&self.name)?;
        }
        let (mut entries, mut odd) = (Vec::new(), Vec::new());
        for mailbox in &boxes {
            let inbox = mailbox.read()?;
            entries.extend(inbox.entries().cloned());
            odd.extend(inbox.odd().cloned());
        }
        let (total, unread) = (entries.len(), entries.iter().filter(|e| !e.read).count());
        entries.retain(|entry| !(self.unread && entry.read));
        if context.out.json {
            let raw =
                |text: &str| RawValue::from_string(text.to_owned()).expect("it was read as JSON");
            context.out.data(&Answer {
                success: true,
                team: team.name(),
                member: &self.name,
                entries: entries.iter().map(|entry| raw(&entry.raw)).collect(),
                odd: odd.iter().map(|odd| Strange { why: &odd.why, raw: raw(&odd.raw) }).collect(),
            })?;
        } else {
            context.out.note(&format!(
                "{} on {}: {}, {unread} unread",
                &self.name,
                team.name(),
                count(total, "message")
            ));
            for entry in &entries {
                context.out.line(&show(entry))?;
            }
            warn(context, &odd);
        }
        self.tidy(context, &boxes, &entries)
    }

    /// What was shown is marked, and nothing else: a message that came in meanwhile stays unread.
    fn tidy(&self, context: &Context, boxes: &[Mailbox], shown: &[Entry]) -> Result<(), Failure> {
        for mailbox in boxes {
            if self.mark_read {
                let shown: HashSet<&str> = shown.iter().map(|entry| entry.raw.as_str()).collect();
                let marked = mailbox.mark_read(|entry| shown.contains(entry.raw.as_str()))?.value;
                context.out.detail(&format!("marked {} read", count(marked, "message")));
            }
            if let Some(keep) = self.prune {
                let pruned = mailbox.prune(keep)?.value;
                context.out.detail(&format!("pruned {}", count(pruned, "message")));
            }
        }
        Ok(())
    }
}

fn warn(context: &Context, odd: &[Odd]) {
    for odd in odd {
        context.out.note(&format!("warning: a row is not understood: {}", &odd.why));
    }
}

fn show(entry: &Entry) -> String {
    let mark = if entry.read { "○" } else { "●" };
    let mut text = format!("{mark} {}", cell(&entry.from));
    if let Some(summary) = entry.summary.as_deref().filter(|summary| !summary.is_empty()) {
        write!(text, " · {}", cell(summary)).expect("a string takes all");
    }
    if let Ok(time) = entry.timestamp.parse::<Timestamp>() {
        write!(text, " · {} ago", ago(SystemTime::from(time))).expect("a string takes all");
    }
    for line in entry.text.lines() {
        text.push_str("\n  ");
        text.push_str(line);
    }
    text
}
