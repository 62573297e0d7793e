//! One tmux server, and the task that talks to it.
//!
//! Owns the connection: makes it when it is needed, makes it anew when it was lost. One question at a
//! time, each with a time limit that includes waiting for its turn, so a server that hangs costs
//! nobody more than that. It never asks twice what may have been carried out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use super::batch::{Answer, Batch};
use super::control::Control;
use super::program::Program;
use super::spawned;
use crate::fault::Fault;

/// How long to wait for an answer. tmux takes a millisecond.
pub(super) const LIMIT: Duration = Duration::from_secs(2);
/// Where control mode was refused, it is tried again after this time.
const CONTROL_AGAIN: Duration = Duration::from_secs(30);
/// Questions that may wait. There are as many at most as panes in use, and each waits in its caller.
const WAITING: usize = 16;

/// A handle to it. The task ends when the last handle is gone.
#[derive(Debug, Clone)]
pub(super) struct Server {
    questions: mpsc::Sender<Question>,
    mode: Arc<AtomicU8>,
}

/// What is asked of a server.
struct Question {
    pane: String,
    batch: Batch,
    /// It changes nothing, so it can be asked again over a new connection.
    harmless: bool,
    deadline: Instant,
    answer: oneshot::Sender<Result<Vec<Answer>, Fault>>,
}

const MODES: [&str; 3] = ["not connected", "control mode", "commands"];
const NOT_CONNECTED: u8 = 0;
const CONTROL: u8 = 1;
const COMMANDS: u8 = 2;

impl Server {
    pub(super) fn start(program: Program, control_mode: bool, tasks: &mut JoinSet<()>) -> Self {
        let (questions, waiting) = mpsc::channel(WAITING);
        let mode = Arc::new(AtomicU8::new(NOT_CONNECTED));
        let task = Task {
            program,
            control_mode,
            control_again: None,
            control: None,
            waiting,
            mode: mode.clone(),
        };
        tasks.spawn(task.run());
        Self { questions, mode }
    }

    pub(super) fn mode(&self) -> &'static str {
        MODES[usize::from(self.mode.load(Ordering::Relaxed))]
    }

    /// Asks about a pane, within the limit.
    pub(super) async fn ask(
        &self,
        pane: &str,
        batch: Batch,
        harmless: bool,
    ) -> Result<Vec<Answer>, Fault> {
        let silent = |sent| Fault::Silent { pane: pane.to_owned(), sent };
        let deadline = Instant::now() + LIMIT;
        let (answer, answered) = oneshot::channel();
        let question = Question { pane: pane.to_owned(), batch, harmless, deadline, answer };
        match timeout_at(deadline, self.questions.send(question)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Err(silent(false)),
        }
        // The task answers by the deadline; it is gone without an answer only if the runtime is.
        answered.await.unwrap_or_else(|_| Err(silent(true)))
    }
}

struct Task {
    program: Program,
    control_mode: bool,
    control_again: Option<Instant>,
    control: Option<Control>,
    waiting: mpsc::Receiver<Question>,
    mode: Arc<AtomicU8>,
}

impl Task {
    async fn run(mut self) {
        loop {
            let next = match &mut self.control {
                None => self.waiting.recv().await,
                Some(control) => tokio::select! {
                    // First, so that a question does not go into a connection that has ended.
                    biased;
                    () = control.ended() => {
                        debug!("tmux ended the connection");
                        self.drop_control();
                        continue;
                    }
                    next = self.waiting.recv() => next,
                },
            };
            let Some(question) = next else { break };
            // Nobody waits for it: nothing is typed for somebody who gave up.
            if !question.answer.is_closed() {
                let answer = self.answer(&question).await;
                question.answer.send(answer).ok();
            }
        }
        if let Some(control) = self.control.take() {
            control.close().await;
        }
    }

    async fn answer(&mut self, question: &Question) -> Result<Vec<Answer>, Fault> {
        let mut sent = false;
        let answer = timeout_at(question.deadline, self.ask(question, &mut sent)).await;
        answer.unwrap_or_else(|_| {
            // An answer that comes later would be in the way of the next one.
            self.drop_control();
            Err(Fault::Silent { pane: question.pane.clone(), sent })
        })
    }

    async fn ask(&mut self, question: &Question, sent: &mut bool) -> Result<Vec<Answer>, Fault> {
        while self.connect(&question.pane).await? {
            let control = self.control.as_mut().expect("just connected");
            *sent = true;
            match control.ask(&question.batch).await {
                Ok(answers) => return Ok(answers),
                Err(error) => {
                    debug!(%error, "lost the connection to tmux");
                    self.drop_control();
                    if !question.harmless {
                        return Err(Fault::Silent { pane: question.pane.clone(), sent: true });
                    }
                }
            }
        }
        self.mode.store(COMMANDS, Ordering::Relaxed);
        spawned::ask(&self.program, &question.batch, &question.pane, sent).await
    }

    /// Sees that there is a connection, if there can be one; whether there is.
    async fn connect(&mut self, pane: &str) -> Result<bool, Fault> {
        if self.control.is_some() {
            return Ok(true);
        }
        if !self.control_mode || self.control_again.is_some_and(|again| Instant::now() < again) {
            return Ok(false);
        }
        let session = spawned::session_of(&self.program, pane).await?;
        match Control::attach(&self.program, &session).await {
            Ok(control) => {
                self.control = Some(control);
                self.mode.store(CONTROL, Ordering::Relaxed);
                Ok(true)
            }
            Err(error) => {
                warn!(%error, "no control mode; tmux is started for every command");
                self.control_again = Some(Instant::now() + CONTROL_AGAIN);
                Ok(false)
            }
        }
    }

    fn drop_control(&mut self) {
        self.control = None;
        self.mode.store(NOT_CONNECTED, Ordering::Relaxed);
    }
}
