//! A verb that did not do its job: what went wrong, why, and what to do about it.
//!
//! Owns how errors look, to people and to scripts.

use std::borrow::Cow;
use std::error::Error as _;
use std::io::ErrorKind;
use std::process::ExitCode;

pub(crate) use ringer_bridge::one_line;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::output::{Output, nearest};

/// Why a verb failed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    code: Cow<'static, str>,
    message: String,
    causes: Vec<String>,
    hint: Option<Box<str>>,
    details: Map<String, Value>,
    exit: u8,
}

impl Failure {
    /// The command line was not understood.
    pub(crate) fn usage(message: &str) -> Self {
        Self { exit: 2, ..Self::new("invalid_usage", message) }
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// With its causes, on one line.
    pub(crate) fn whole_message(&self) -> String {
        let parts = std::iter::once(&self.message).chain(&self.causes);
        parts.map(String::as_str).collect::<Vec<_>>().join(": ")
    }

    /// What more there is to know; null if there is nothing.
    pub(crate) fn details(&self) -> Value {
        if self.details.is_empty() { Value::Null } else { json!(self.details) }
    }

    pub(crate) fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            causes: Vec::new(),
            hint: None,
            details: Map::new(),
            exit: 1,
        }
    }

    pub(crate) fn hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn detail(mut self, key: &str, value: Value) -> Self {
        self.details.insert(key.to_owned(), value);
        self
    }

    /// With what caused it, and what caused that.
    pub(crate) fn cause(mut self, error: &dyn std::error::Error) -> Self {
        let mut cause = Some(error);
        while let Some(error) = cause {
            self.causes.push(error.to_string());
            cause = error.source();
        }
        self
    }

    /// Tells the user, and gives the exit code.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        if self.code == BROKEN_PIPE {
            return ExitCode::SUCCESS;
        }
        let out = Output::new(json, false);
        if json {
            let message = self.whole_message();
            let mut details = self.details.clone();
            if let Some(hint) = &self.hint {
                details.insert("hint".to_owned(), json!(hint));
            }
            let failure = json!({
                "success": false, "error": self.code, "message": message, "details": details,
            });
            out.data(&failure).ok();
        } else {
            out.note(&format!("error: {}", self.message));
            for cause in &self.causes {
                out.note(&format!("caused by: {cause}"));
            }
            if let Some(hint) = &self.hint {
                out.note(&format!("hint: {hint}"));
            }
        }
        ExitCode::from(self.exit)
    }
}

/// Whoever read our output has seen enough. That is not an error.
const BROKEN_PIPE: &str = "broken_pipe";

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe {
            return Self::new(BROKEN_PIPE, "the output was closed");
        }
        Self::new("internal_error", "could not write the output").cause(&error)
    }
}

impl From<ringer_teams::Error> for Failure {
    fn from(error: ringer_teams::Error) -> Self {
        use ringer_teams::Error as E;
        let mut failure = Self::new(error.code(), error.to_string());
        if let Some(source) = error.source() {
            failure = failure.cause(source);
        }
        match &error {
            E::TeamNotFound { team, known } => {
                let hint = suggest(team, known, "`ringer teams` lists the teams there are");
                failure.hint(&hint).detail("teams", json!(known))
            }
            E::AgentNotFound { team, name, known } => {
                let hint =
                    suggest(name, known, &format!("`ringer members --team {team}` lists them"));
                let near = nearest(name, known);
                failure.hint(&hint).detail("nearest", json!(near)).detail("members", json!(known))
            }
            E::Task(error) => {
                if let Some(hint) = error.hint() {
                    failure = failure.hint(&hint);
                }
                if let Value::Object(details) = error.details() {
                    failure.details.extend(details);
                }
                failure
            }
            E::InvalidName { reason, .. } => failure.detail("reason", json!(reason)),
            E::NotOurs { .. } => {
                failure.hint("only members of the kind `ringer` are ours to remove")
            }
            E::TooLarge { bytes, limit } => {
                failure.detail("bytes", json!(bytes)).detail("limit", json!(limit))
            }
            E::Locked { path, age, waited } => failure
                .hint("try again; a lock that a crashed program left is free after 10 s")
                .detail("path", json!(path))
                .detail("age_ms", millis(*age))
                .detail("waited_ms", millis(*waited)),
            E::Unreadable { path, why } => failure
                .hint("nothing was changed; mend the file, or move it away")
                .detail("path", json!(path))
                .detail("why", json!(why)),
            _ => failure,
        }
    }
}

impl From<ringer_panes::HostError> for Failure {
    fn from(error: ringer_panes::HostError) -> Self {
        use ringer_panes::HostError as E;
        let code = match &error {
            E::Start { .. } => "not_started",
            E::Gone { .. } => "no_answer",
            E::NoTerminal => "no_terminal",
            _ => "internal_error",
        };
        let mut failure = Self::new(code, error.to_string());
        if let Some(source) = error.source() {
            failure = failure.cause(source);
        }
        match error {
            E::Start { .. } => {
                failure.hint("install it, or say how it is started: `ringer run PROFILE -- CMD`")
            }
            E::Gone { .. } => failure.hint("`ringer stop NAME` clears away what is left of it"),
            _ => failure,
        }
    }
}

impl From<ringer_panes::ProfileError> for Failure {
    fn from(error: ringer_panes::ProfileError) -> Self {
        use ringer_panes::ProfileError as E;
        let failure = |code| Self::new(code, error.to_string());
        match &error {
            E::Unknown { name, known } => {
                let hint = suggest(name, known, "`ringer profiles` lists them");
                failure("profile_not_found").hint(&hint).detail("profiles", json!(known))
            }
            E::Broken { path, line, .. } => {
                failure("invalid_config").detail("path", json!(path)).detail("line", json!(line))
            }
            _ => failure("unreadable"),
        }
    }
}

impl From<ringer_bridge::Error> for Failure {
    fn from(error: ringer_bridge::Error) -> Self {
        use ringer_bridge::Error as E;
        let mut failure = Self::new(error.code(), error.to_string());
        if let Some(source) = error.source() {
            failure = failure.cause(source);
        }
        match error {
            E::Teams(error) => error.into(),
            E::RateLimit { wait, .. } => failure.detail("retry_after_ms", millis(wait)),
            E::Broken { .. } => failure.hint("move the file away; Ringer makes a new one"),
            E::AlreadyRunning { pid, .. } => failure
                .hint("`ringer status` shows it, `ringer down` ends it")
                .detail("pid", json!(pid)),
            E::NotRunning => failure.hint("start it with `ringer up`"),
            E::NoAnswer { .. } => failure.hint("end it with `ringer down`, then start it again"),
            E::LongPath { .. } => failure.hint("set XDG_RUNTIME_DIR, or use a shorter --state-dir"),
            E::NoRequest { open, .. } => {
                let hint = match open.as_slice() {
                    [] => "no request waits for an answer of this worker's".to_owned(),
                    some => format!("these wait: {}", some.join(", ")),
                };
                failure.hint(&hint).detail("open", json!(open))
            }
            E::TooManyWorkers { limit, there, wanted, .. } => failure
                .hint("end one with `ringer stop NAME`, or raise spawn.max_workers in config.toml")
                .detail("limit", json!(limit))
                .detail("workers", json!(there))
                .detail("wanted", json!(wanted)),
            E::NewerJournal { .. } => failure.hint("use the Ringer that wrote it, or a newer one"),
            _ => failure,
        }
    }
}

fn millis(time: std::time::Duration) -> Value {
    json!(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

fn suggest(wanted: &str, known: &[String], otherwise: &str) -> String {
    match nearest(wanted, known).first() {
        Some(name) => format!("did you mean `{name}`?"),
        None => otherwise.to_owned(),
    }
}
