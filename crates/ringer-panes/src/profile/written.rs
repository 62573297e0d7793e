//! A profile as it is written: TOML, with all keys optional.
//!
//! Owns the keys, and what is said of a mistake: which key, and in which line.

use std::collections::BTreeMap;
use std::path::Path;

use regex::Regex;
use serde::Deserialize;
use toml::Spanned;

use super::{Body, Channel, Gear, HoldPattern, Profile, ProfileError, Shutdown, Submit, Subtree};

/// A file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    about: Option<String>,
    command: Option<Vec<String>>,
    programs: Option<Vec<String>>,
    channel: Option<Channel>,
    env: Option<BTreeMap<String, String>>,
    submit: Option<Submit>,
    settle_ms: Option<u64>,
    longest_text: Option<usize>,
    escape: Option<Vec<WrittenEscape>>,
    wake: Option<String>,
    body: Option<Body>,
    gear: Option<Gear>,
    shutdown: Option<Shutdown>,
    subtree: Option<Subtree>,
    rows: Option<usize>,
    ready: Option<WrittenReady>,
    prompt: Option<WrittenPrompt>,
    hold: Option<Vec<WrittenHold>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEscape {
    pattern: Spanned<String>,
    with: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenReady {
    cursor: Option<Spanned<String>>,
    screen: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPrompt {
    screen: Option<Spanned<String>>,
    decoration: Option<Spanned<String>>,
    pasted: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenHold {
    reason: Spanned<String>,
    why: String,
    title: Option<Spanned<String>>,
    screen: Option<Spanned<String>>,
}

impl Profile {
    /// Takes over what a file says.
    pub(super) fn take(&mut self, text: &str, path: &Path) -> Result<(), ProfileError> {
        // Those that are built in have no file.
        let is_own = path.is_absolute();
        let broken = |at: usize, why: String| {
            let line = text[..at.min(text.len())].matches('\n').count() + 1;
            ProfileError::Broken { path: path.to_owned(), line, why }
        };
        let written: Written = toml::from_str(text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            broken(at, e.message().replace('\n', " "))
        })?;
        let pattern = |key: &str, written: Option<Spanned<String>>| match written {
            None => Ok(None),
            Some(written) => match Regex::new(written.get_ref()) {
                Ok(regex) => Ok(Some(regex)),
                Err(e) => Err(broken(written.span().start, format!("`{key}`: {}", last_line(&e)))),
            },
        };
        set(&mut self.about, written.about);
        set(&mut self.command, written.command);
        set(&mut self.programs, written.programs);
        set(&mut self.channel, written.channel);
        set(&mut self.submit, written.submit);
        set(&mut self.rows, written.rows);
        self.env.extend(written.env.unwrap_or_default());
        self.settle_ms = written.settle_ms.or(self.settle_ms);
        self.longest_text = written.longest_text.or(self.longest_text);
        self.wake = written.wake.or(self.wake.take());
        set(&mut self.body, written.body);
        set(&mut self.gear, written.gear);
        set(&mut self.shutdown, written.shutdown);
        self.subtree = written.subtree.or(self.subtree.take());
        if let Some(escapes) = written.escape {
            for escape in escapes {
                let found = pattern("escape.pattern", Some(escape.pattern))?;
                self.escape.extend(found.map(|found| (found, escape.with)));
            }
        }
        if let Some(ready) = written.ready {
            self.ready = pattern("ready.screen", ready.screen)?.or(self.ready.take());
            self.ready_cursor = pattern("ready.cursor", ready.cursor)?.or(self.ready_cursor.take());
        }
        if let Some(prompt) = written.prompt {
            let at = prompt.screen.as_ref().map_or(0, |screen| screen.span().start);
            let screen = pattern("prompt.screen", prompt.screen)?;
            if screen.as_ref().is_some_and(|s| !s.capture_names().flatten().any(|n| n == "text")) {
                return Err(broken(at, "`prompt.screen`: it has no group (?<text>…)".to_owned()));
            }
            self.prompt = screen.or(self.prompt.take());
            self.decoration =
                pattern("prompt.decoration", prompt.decoration)?.or(self.decoration.take());
            self.pasted = pattern("prompt.pasted", prompt.pasted)?.or(self.pasted.take());
        }
        if let Some(holds) = written.hold {
            for hold in holds {
                let at = hold.reason.span().start;
                if hold.title.is_none() && hold.screen.is_none() {
                    let why = "`hold`: it needs a title or a screen to be known by".to_owned();
                    return Err(broken(at, why));
                }
                // What the user says of a reason takes the place of what is built in.
                self.holds.retain(|known| known.reason != *hold.reason.get_ref() || known.own);
                self.holds.push(HoldPattern {
                    own: is_own,
                    reason: hold.reason.into_inner(),
                    why: hold.why,
                    title: pattern("hold.title", hold.title)?,
                    screen: pattern("hold.screen", hold.screen)?,
                });
            }
        }
        if self.ready.is_some() && self.prompt.is_none() {
            let why = "`ready.screen` needs `prompt.screen`, to see what is in the prompt";
            return Err(broken(0, why.to_owned()));
        }
        Ok(())
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// Errors of patterns draw a picture; what is wrong is said at the end.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}
