//! What is asked of a session about one of its panes.
//!
//! Owns asking again. Zellij now and then answers somebody else, or denies a session that is there;
//! whether it is there is decided by its socket. What may have been carried out is never asked again.

use std::time::Duration;

use tokio::process::Command;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use super::listing::Listed;
use super::program::{Outcome, Program, refused};
use super::session::{Server, Session};
use super::subscription::{self, Open, View};
use crate::fault::Fault;

/// How long to wait for what is asked. Zellij takes ten milliseconds; a second, if it is to type and
/// the program does not read.
pub(super) const LIMIT: Duration = Duration::from_secs(2);
/// So often is asked at most, and with these pauses. One answer in a hundred goes astray.
const TRIES: u32 = 6;
const AGAIN: Duration = Duration::from_millis(10);

/// Commands to a server, about a pane.
#[derive(Debug, Clone)]
pub(super) struct Commands {
    session: Session,
    pub(super) server: Server,
    /// `terminal_` and a number.
    pane: String,
}

impl Commands {
    pub(super) fn new(session: Session, server: Server, pane: String) -> Self {
        Self { session, server, pane }
    }

    /// What `list-panes` says of the pane; a fault if it is not there.
    pub(super) async fn listed(&self, id: u32, deadline: Instant) -> Result<Listed, Fault> {
        let mut tries = 0;
        loop {
            let mut command = self.action("list-panes");
            let outcome = Program::run(command.args(["--json", "--all"]), deadline).await?;
            if let Outcome::Done(printed) = &outcome
                && let Some(all) = Listed::all(printed)
            {
                let found = all.into_iter().find(|pane| pane.is_terminal(id));
                return found.ok_or_else(|| self.gone());
            }
            self.again(outcome, &mut tries).await?;
        }
    }

    /// What the pane shows, and somebody who waits for a change of it.
    pub(super) async fn view(&self, deadline: Instant) -> Result<(View, Open), Fault> {
        let mut tries = 0;
        loop {
            let mut command = self.command();
            match subscription::open(&mut command, &self.pane, deadline).await? {
                Ok(view) => return Ok(view),
                Err(outcome) => self.again(outcome, &mut tries).await?,
            }
        }
    }

    /// Scrolls the pane to its end, where it is anyway if nobody scrolled it up.
    pub(super) async fn scroll_to_the_end(&self, deadline: Instant) -> Result<(), Fault> {
        let mut tries = 0;
        loop {
            let mut command = self.action("scroll-to-bottom");
            match Program::run(command.arg(self.target()), deadline).await? {
                Outcome::Done(_) => return Ok(()),
                outcome => self.again(outcome, &mut tries).await?,
            }
        }
    }

    /// Has something typed: an action, and what it takes. If it says that it could not, it is tried
    /// again only where it surely did not begin.
    pub(super) async fn write(&self, action: &str, what: &[&str]) -> Result<(), Fault> {
        let mut tries = 0;
        loop {
            let mut command = self.action(action);
            // Nothing behind the dashes is an option.
            command.arg(self.target()).arg("--").args(what);
            match Program::run(&mut command, Instant::now() + LIMIT).await? {
                Outcome::Done(_) => return Ok(()),
                outcome @ Outcome::NoSession => self.again(outcome, &mut tries).await?,
                Outcome::Failed(said) => {
                    warn!(
                        session = self.session.name,
                        pane = self.pane,
                        "zellij {action} failed: {said}"
                    );
                    return Err(self.silent(true));
                }
                Outcome::TooLate => return Err(self.silent(true)),
            }
        }
    }

    /// Whether to ask again after this; if not, why.
    async fn again(&self, outcome: Outcome, tries: &mut u32) -> Result<(), Fault> {
        *tries += 1;
        let fault = match outcome {
            Outcome::TooLate => return Err(self.silent(false)),
            Outcome::Failed(said) if said.starts_with("Pane ") => return Err(self.gone()),
            Outcome::Failed(said) => return Err(refused(&said)),
            Outcome::NoSession if !self.session.is_running().await => {
                return Err(self.session.no_server());
            }
            Outcome::NoSession => self.session.no_server(),
            Outcome::Done(_) => refused("it says nothing"),
        };
        debug!(session = self.session.name, pane = self.pane, tries, "asking again: {fault}");
        if *tries >= TRIES {
            return Err(fault);
        }
        sleep(AGAIN).await;
        Ok(())
    }

    fn action(&self, action: &str) -> Command {
        let mut command = self.command();
        command.args(["action", action]);
        command
    }

    /// A `zellij` that finds only this session, if that could be arranged.
    fn command(&self) -> Command {
        self.session.program.in_session(&self.session.name, self.server.sockets())
    }

    fn target(&self) -> String {
        format!("--pane-id={}", self.pane)
    }

    pub(super) fn gone(&self) -> Fault {
        Fault::Gone { pane: self.pane.clone() }
    }

    pub(super) fn silent(&self, sent: bool) -> Fault {
        Fault::Silent { pane: self.pane.clone(), sent }
    }
}
