//! The same life in a session without a terminal, as far as that allows.
//!
//! Owns the process and what it prints. Nothing is expected of the team here: some versions have none.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use ringer_testkit::{Agent, Claude, Running, Turn, command};
use serde_json::json;

use crate::disk::Team;
use crate::life::Life;

const PATIENCE: Duration = Duration::from_mins(1);

/// Nothing printed for so long means that nothing goes on any more.
const QUIET: Duration = Duration::from_secs(5);

/// Lives it, in the home that a lead in a terminal has left; what was printed.
pub(crate) fn live(life: &Life, root: &Path) -> Result<String> {
    let agent = Agent::settled_claude(&life.version, root)?;
    let mut command = command(&agent.program);
    command
        .args(["-p", "--verbose", "--dangerously-skip-permissions", "--model", "claude-opus-4-6"])
        .args(["--output-format", "stream-json", "--input-format", "stream-json"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(agent.env.iter().cloned())
        .env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1")
        .current_dir(&agent.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut running = Running::start_as_it_is(&mut command)?;
    let stdin = Some(running.stdin().context("its input")?);
    let stdout = running.stdout().context("its output")?;
    let (sender, lines) = channel();
    thread::spawn(move || {
        // Whoever listened is gone when the recording has failed.
        BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    let mut session = Session { agent: &agent, stdin, lines, printed: String::new(), turns: 0 };
    let home = Claude::home_below(root).join(".claude");
    life.queue_others(&agent.model);
    session.act(life.founding())?;
    let team = Team::find(&home);
    if let Some(team) = &team {
        team.add_gemini(&agent.cwd)?;
    }
    session.act(life.talk())?;
    if let Some(team) = &team {
        team.reply_of_gemini("GEMINI-REPLY done")?;
        session.listen(QUIET);
    }
    session.act(life.work())?;
    session.act(life.shutdown(&agent.model))?;
    if let Some(team) = &team {
        team.remove_gemini()?;
    }
    session.act(life.end())?;
    Ok(session.finish())
}

struct Session<'a> {
    agent: &'a Agent,
    /// Until it has to end.
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    printed: String,
    turns: u32,
}

impl Session<'_> {
    /// Lets it do these things and waits until it is quiet.
    fn act(&mut self, turns: Vec<Turn>) -> Result<()> {
        self.turns += 1;
        let end = format!("TURN-{}-ENDS", self.turns);
        self.agent.model.queue(turns.into_iter().chain([Turn::say(&end)]));
        let text = json!([{"type": "text", "text": format!("turn {}", self.turns)}]);
        let line = json!({"type": "user", "message": {"role": "user", "content": text}});
        writeln!(self.stdin.as_ref().context("its input")?, "{line}")?;
        while !self.printed.contains(&end) {
            let line = self.lines.recv_timeout(PATIENCE);
            self.print(&line.with_context(|| {
                format!(
                    "no `{end}` in:
{}",
                    self.printed
                )
            })?);
        }
        self.listen(QUIET);
        Ok(())
    }

    /// Takes what it prints until it prints nothing for so long.
    fn listen(&mut self, quiet: Duration) {
        while let Ok(line) = self.lines.recv_timeout(quiet) {
            self.print(&line);
        }
    }

    /// Closes its input, at which it ends; all that it printed.
    fn finish(mut self) -> String {
        drop(self.stdin.take());
        self.listen(PATIENCE);
        self.printed
    }

    fn print(&mut self, line: &str) {
        self.printed.push_str(line);
        self.printed.push('\n');
    }
}
