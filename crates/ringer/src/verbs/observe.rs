//! `ringer observe`: Claude Code's stream or transcript, as events or as the state of the team.

mod source;
mod tee;

use std::io::{IsTerminal, stdin, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use ringer_bridge::observe::Part;
use ringer_observe::{Counts, Event, Observer, Scanner, Seen, SessionState};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::happened;
use crate::output::count;

/// Turn Claude Code's stream, or a transcript, into what happened on its team
///
/// Reads what `claude -p … --output-format stream-json` prints, or a transcript (`projects/…/*.jsonl` in Claude Code's
/// directory), of any version. On a terminal each event is a line for people; with --json, and in a pipe, one JSON object
/// a line, with `event` (`team:created`, `team:member:joined`, `team:task:completed`, `team:message:received` …), the id of
/// the tool call that it came from, and what it is about. Lines that are broken, cut off or unknown are passed over and
/// counted.
///
/// With --tee the stream itself is passed through, byte for byte, with lines of the types `team_message`,
/// `team_task_update` and `team_state_change` behind those that they are about.
///
/// It needs no daemon and no team on disk. What live teams do, the daemon tells by itself: see `ringer events`.
///
/// Example: claude -p 'Ask the team.' --verbose --output-format stream-json | ringer observe
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Observe {
    /// The file; - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Print the state of the session and its team instead: at the end or, with --follow, whenever it changes
    #[arg(long)]
    state: bool,
    /// Go on with what is added to the file, also if it is replaced
    #[arg(long, short)]
    follow: bool,
    /// Pass the stream through, with lines of the team's own added
    #[arg(long, conflicts_with = "state")]
    tee: bool,
}

/// The state, and what it was made from.
#[derive(Serialize)]
struct Answer<'a> {
    success: bool,
    #[serde(flatten)]
    state: &'a SessionState,
    counts: Counts,
}

impl Observe {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let is_stdin = self.file == Path::new("-");
        if is_stdin && stdin().is_terminal() {
            return Err(Failure::usage("nothing to read: give a file, or a stream in a pipe")
                .hint("claude -p '…' --verbose --output-format stream-json | ringer observe"));
        }
        let mut watched = Watched {
            context,
            observer: Observer::new(),
            scanner: Scanner::new(),
            wants_state: self.state,
            is_json: context.out.json || !stdout().is_terminal(),
            shown: None,
        };
        if self.tee {
            let mut tee = tee::Tee::default();
            source::read(&self.file, self.follow, |part| match part {
                Some(Part::Bytes(bytes)) => tee.pass(context, bytes),
                Some(Part::Anew) => Ok(()),
                None => tee.end(context),
            })?;
            return Ok(());
        }
        source::read(&self.file, self.follow, |part| watched.take(part.as_ref(), self.follow))
    }
}

/// What is read, and how it is shown.
struct Watched<'a> {
    context: &'a Context,
    observer: Observer,
    scanner: Scanner,
    wants_state: bool,
    is_json: bool,
    shown: Option<SessionState>,
}

impl Watched<'_> {
    /// `None` is the end, for now if it is followed.
    fn take(&mut self, part: Option<&Part<'_>>, follows: bool) -> Result<(), Failure> {
        match part {
            Some(Part::Anew) => self.scanner = Scanner::new(),
            Some(Part::Bytes(bytes)) => {
                let mut all = Vec::new();
                self.scanner.feed(bytes, &mut self.observer, |line, seen| all.push((line, seen)));
                all.into_iter().try_for_each(|(line, seen)| self.show(line, &seen))?;
            }
            None if follows => self.show_state()?,
            None => {
                let mut all = Vec::new();
                self.scanner.finish(&mut self.observer, |line, seen| all.push((line, seen)));
                all.into_iter().try_for_each(|(line, seen)| self.show(line, &seen))?;
                self.observer.finish().iter().try_for_each(|event| self.event(event))?;
                self.show_state()?;
                self.conclude()?;
            }
        }
        Ok(())
    }

    fn show(&self, line: u64, seen: &Seen) -> Result<(), Failure> {
        for warning in &seen.warnings {
            self.context.out.note(&format!("warning: line {line}: {warning}"));
        }
        seen.events.iter().try_for_each(|event| self.event(event))
    }

    fn event(&self, event: &Event) -> Result<(), Failure> {
        if self.wants_state {
            return Ok(());
        }
        if self.is_json {
            return Ok(self.context.out.data(event)?);
        }
        Ok(self.context.out.line(&happened::row(event).join("  "))?)
    }

    fn show_state(&mut self) -> Result<(), Failure> {
        let state = self.observer.state();
        if !self.wants_state || self.shown.as_ref() == Some(&state) {
            return Ok(());
        }
        let answer = Answer { success: true, state: &state, counts: self.scanner.counts() };
        if self.is_json {
            self.context.out.data(&answer)?;
        } else {
            let pretty = serde_json::to_string_pretty(&answer).unwrap_or_default();
            self.context.out.line(&pretty)?;
        }
        self.shown = Some(state);
        Ok(())
    }

    /// What was passed over; an error if that was everything.
    fn conclude(&self) -> Result<(), Failure> {
        let counts = self.scanner.counts();
        let useless = counts.broken + counts.odd;
        if counts.lines > 0 && useless >= counts.lines {
            return Err(Failure::new("unreadable", "no line of it is one of Claude Code's stream")
                .hint("it is made with `claude -p --verbose --output-format stream-json`"));
        }
        if useless > 0 {
            let lines = count(usize::try_from(counts.lines).unwrap_or(usize::MAX), "line");
            self.context.out.note(&format!("warning: {useless} of {lines} could not be read"));
        }
        Ok(())
    }
}
