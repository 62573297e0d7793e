//! A subscription to a pane: first what it shows, then that it changed.
//!
//! Owns the `zellij subscribe` behind it, which is killed as soon as it has told of a change or nobody
//! wants to know any more. What it tells of later changes is not used: it comes late, or not at all
//! for a pane that nobody sees.

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::leftover;
use super::program::{Outcome, is_no_session, one_line, unusable};
use crate::fault::Fault;
use crate::pane::Screen;

/// So many rows that scrolled away are looked at.
const SCROLLED: usize = 200;

/// What a pane shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    /// The end of what scrolled away.
    pub(super) scrolled: Vec<String>,
    /// From the first row to the last one that was ever written to.
    pub(super) visible: Vec<String>,
}

/// Tells of the first change.
#[derive(Debug)]
pub(super) struct Subscription {
    task: JoinHandle<()>,
    over: watch::Receiver<bool>,
}

/// One that has told what the pane shows, and waits.
#[derive(Debug)]
pub(super) struct Open {
    child: Child,
    output: BufReader<ChildStdout>,
}

#[derive(Deserialize)]
struct Update {
    pane_id: String,
    #[serde(default)]
    is_initial: bool,
    #[serde(default)]
    viewport: Vec<String>,
    #[serde(default)]
    scrollback: Option<Vec<String>>,
}

/// Subscribes with this command; what the pane shows now. Otherwise, what became of the command:
/// [`Outcome::Done`] if it ended and said nothing.
pub(super) async fn open(
    command: &mut Command,
    pane: &str,
    deadline: Instant,
) -> Result<Result<(View, Open), Outcome>, Fault> {
    command.arg("subscribe").arg(format!("--pane-id={pane}"));
    command.args(["--format=json", &format!("--scrollback={SCROLLED}")]);
    leftover::mark(command);
    let mut child = command.spawn().map_err(unusable)?;
    let output = child.stdout.take().expect("stdout is piped");
    let mut errors = child.stderr.take().expect("stderr is piped");
    let mut open = Open { child, output: BufReader::new(output) };
    let first = async {
        while let Some(line) = open.line().await {
            // A message for somebody else may come before.
            if let Some(view) = View::read(&line, pane) {
                return Ok(view);
            }
        }
        let mut said = Vec::new();
        errors.read_to_end(&mut said).await.ok();
        let said = one_line(&said);
        Err(match said.as_str() {
            "" => Outcome::Done(Vec::new()),
            said if is_no_session(said) => Outcome::NoSession,
            _ => Outcome::Failed(said),
        })
    };
    match timeout_at(deadline, first).await {
        Ok(Ok(view)) => Ok(Ok((view, open))),
        Ok(Err(outcome)) => Ok(Err(outcome)),
        Err(_) => Ok(Err(Outcome::TooLate)),
    }
}

impl Open {
    /// The next line; `None` at the end.
    async fn line(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        match self.output.read_until(b'\n', &mut line).await {
            Ok(count) if count > 0 => Some(line),
            _ => None,
        }
    }

    /// Lets it wait for a change. To be called within a runtime.
    pub(super) fn keep(mut self) -> Subscription {
        let (tell, over) = watch::channel(false);
        let task = tokio::spawn(async move {
            self.line().await;
            // Whatever it was, who waits has to look again.
            tell.send_replace(true);
            self.child.kill().await.ok();
        });
        Subscription { task, over }
    }
}

impl Subscription {
    /// Becomes true when the pane has changed. It is gone if nobody will tell.
    pub(super) fn over(&self) -> watch::Receiver<bool> {
        self.over.clone()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // The child is killed with the task that has it.
        self.task.abort();
    }
}

impl View {
    /// What the first message about a pane says; `None` if it is another message.
    fn read(line: &[u8], pane: &str) -> Option<Self> {
        let update: Update = serde_json::from_slice(line).ok()?;
        if !update.is_initial || update.pane_id != pane {
            return None;
        }
        let rows = |rows: Vec<String>| rows.iter().map(|row| row.trim_end().to_owned()).collect();
        Some(Self {
            scrolled: rows(update.scrollback.unwrap_or_default()),
            visible: rows(update.viewport),
        })
    }

    /// All rows, with the blank ones below if the program has so many, and where its own begin.
    pub(super) fn rows(self, height: usize) -> (Vec<String>, usize) {
        let Self { scrolled: mut rows, mut visible } = self;
        visible.resize(visible.len().max(height), String::new());
        let top = rows.len();
        rows.append(&mut visible);
        (rows, top)
    }

    /// Whether the same had scrolled away in what was seen before: the program has written no rows
    /// since, and the pane shows the same ones of it.
    pub(super) fn is_at_the_end_of(&self, seen: &Screen) -> bool {
        seen.rows.get(..seen.above) == Some(&self.scrolled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(rows: &[&str]) -> Vec<String> {
        rows.iter().map(|row| (*row).to_owned()).collect()
    }

    #[test]
    fn only_the_first_message_about_the_pane_is_read() {
        let first = r#"{"event":"pane_update","is_initial":true,"pane_id":"terminal_1",
            "scrollback":["a "],"viewport":["b  ","", "│ > c"]}"#;
        let view = View::read(first.as_bytes(), "terminal_1").unwrap();
        assert_eq!(view.clone().rows(4), (strings(&["a", "b", "", "│ > c", ""]), 1));
        assert_eq!(view.rows(2), (strings(&["a", "b", "", "│ > c"]), 1));
        let update = r#"{"event":"pane_update","is_initial":false,"pane_id":"terminal_1",
            "scrollback":null,"viewport":[]}"#;
        let closed = r#"{"event":"pane_closed","pane_id":"terminal_1"}"#;
        for (line, pane) in
            [(first, "terminal_11"), (update, "terminal_1"), (closed, "terminal_1"), ("", "x")]
        {
            assert_eq!(View::read(line.as_bytes(), pane), None, "{line}");
        }
    }

    #[test]
    fn a_view_that_was_scrolled_up_is_found_out() {
        let view = View { scrolled: strings(&["1", "2"]), visible: strings(&["3", ">"]) };
        for (above, seen, same) in [
            (2, &["1", "2", "3", ">", ""] as &[&str], true),
            // What is visible may have changed, but nothing left it.
            (2, &["1", "2", "other", ">", ""], true),
            // It stood a row higher.
            (1, &["1", "2", "3", ">"], false),
            (2, &["0", "1", "2", "3", ">"], false),
            (2, &["1"], false),
        ] {
            let screen = Screen { rows: strings(seen), above, ..Screen::default() };
            assert_eq!(view.is_at_the_end_of(&screen), same, "{seen:?}");
        }
    }
}
