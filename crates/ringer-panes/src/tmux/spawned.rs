//! A tmux started for one question.
//!
//! Owns nothing beyond it. It is what is used where control mode is not to be had, and for the one
//! thing that must be known before: in which session a pane is.

use std::io;

use tokio::io::AsyncWriteExt;

use super::batch::{Answer, Batch};
use super::program::Program;
use crate::fault::Fault;

/// Asks, and waits for the answer; what tmux said instead if there is none. `sent` becomes true when
/// tmux may have begun.
pub(super) async fn ask(
    program: &Program,
    batch: &Batch,
    pane: &str,
    sent: &mut bool,
) -> Result<Vec<Answer>, Fault> {
    // As arguments, the commands could not be longer than 16 KB: tmux passes them on in one message.
    let mut child = program.command().args(["source-file", "-"]).spawn().map_err(unusable)?;
    let mut input = child.stdin.take().expect("stdin is piped");
    *sent = true;
    let text = batch.text();
    let write = async {
        // Without a server, tmux ends before it has read: then it says so itself.
        input.write_all(text.as_bytes()).await.ok();
        drop(input);
    };
    let ((), output) = tokio::join!(write, child.wait_with_output());
    let output = output.map_err(unusable)?;
    let mut answers = batch.answers();
    for line in output.stdout.split(|byte| *byte == b'\n') {
        if answers.take(line) {
            break;
        }
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if !said.trim().is_empty() {
        return Err(program.fault(&said, pane));
    }
    if !answers.is_complete() {
        return Err(Fault::Silent { pane: pane.to_owned(), sent: true });
    }
    Ok(answers.printed())
}

/// The session that a pane is in.
pub(super) async fn session_of(program: &Program, pane: &str) -> Result<String, Fault> {
    let question = ["display-message", "-p", "-t", pane, "#{session_id}"];
    let output = program.command().args(question).output().await.map_err(unusable)?;
    let session = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() {
        return Err(program.fault(&String::from_utf8_lossy(&output.stderr), pane));
    }
    // tmux does not fail if there is no such pane: it has nothing to say about it.
    if session.is_empty() { Err(Fault::Gone { pane: pane.to_owned() }) } else { Ok(session) }
}

#[expect(clippy::needless_pass_by_value, reason = "fits `map_err`")]
fn unusable(error: io::Error) -> Fault {
    Program::unusable(&error)
}
