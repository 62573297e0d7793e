//! Profiles: how a kind of worker is started, recognised and typed to. Data, not code.
//!
//! Owns the meaning of `config/workers/*.toml`. A file of the user's says only what is to be different
//! from the profile of the same name that is built in. A mistake in it names the key and the line.

mod gear;
mod written;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use serde::{Deserialize, Serialize};

pub use self::gear::{Gear, Outfit, Tailor, shell_word};

/// The profiles that are built in, by name.
const BUILT_IN: [(&str, &str); 5] = [
    ("gemini", include_str!("../../../config/workers/gemini.toml")),
    ("codex", include_str!("../../../config/workers/codex.toml")),
    ("opencode", include_str!("../../../config/workers/opencode.toml")),
    ("claude", include_str!("../../../config/workers/claude.toml")),
    (PLAIN, include_str!("../../../config/workers/shell.toml")),
];

/// The profile of programs that nothing is known of.
pub const PLAIN: &str = "shell";

/// Patterns look at so many rows from the bottom unless a profile says otherwise.
const ROWS: usize = 24;

/// A kind of worker.
#[derive(Debug, Clone)]
pub struct Profile {
    /// What it is called.
    pub name: String,
    /// What it is, for people.
    pub about: String,
    /// How it is started; empty if only the user knows.
    pub command: Vec<String>,
    /// Names of programs by which it is recognised.
    pub programs: Vec<String>,
    /// How messages get to it.
    pub channel: Channel,
    /// What is added to its environment.
    pub env: BTreeMap<String, String>,
    /// What submits a text.
    pub submit: Submit,
    /// Between the text on the screen and that; the user's setting if absent.
    pub settle_ms: Option<u64>,
    /// A text of more bytes goes into a file; the user's setting if absent.
    pub longest_text: Option<usize>,
    /// What means something to the program wherever it stands in a text, and what is typed instead.
    pub(crate) escape: Vec<(Regex, String)>,
    /// What carries the text of a message to a worker that is idle and has our hooks.
    pub body: Body,
    /// What to type to make an idle worker look for its mail, where hooks carry it.
    pub wake: Option<String>,
    /// What `ringer run` hands it: our tools and hooks.
    pub gear: Gear,
    /// What happens if it does not answer when it is asked to shut down.
    pub shutdown: Shutdown,
    /// How it becomes the lead of a team of its own, if it can.
    pub subtree: Option<Subtree>,
    /// What the screen shows when it does. Without it, nothing is known of its screen.
    pub(crate) ready: Option<Regex>,
    /// What is left of the cursor then, in its row.
    pub(crate) ready_cursor: Option<Regex>,
    /// The prompt with whatever is in it; the group `text` is what.
    pub(crate) prompt: Option<Regex>,
    /// What the program draws around the text in its prompt.
    pub(crate) decoration: Option<Regex>,
    /// What stands for a long text in the prompt.
    pub(crate) pasted: Option<Regex>,
    /// What keeps it from taking a message, in the order in which it is looked for.
    pub(crate) holds: Vec<HoldPattern>,
    pub(crate) rows: usize,
    /// The user's file, if there is one.
    pub file: Option<PathBuf>,
}

/// How messages get to a worker. Whatever it is, to the router it looks the same: look whether it
/// takes one, hand it over, see that it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// Typed into its terminal.
    Keys,
}

impl Channel {
    /// In lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keys => "keys",
        }
    }
}

/// What submits a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Submit {
    /// The Enter key, pressed only when the text is seen.
    Enter,
    /// The Enter key, without a look: for programs that show nothing of what they read.
    Blind,
}

/// What carries the text of a message to an idle worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// It is typed.
    Keys,
    /// Only a short line is typed, and a hook of ours hands the text over, byte for byte.
    Hook,
}

/// What happens to a worker that does not answer a request to shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shutdown {
    /// So many seconds it may take to answer, from when it was shown the request.
    pub after_s: u64,
    /// What is then answered for it.
    pub then: Rule,
}

/// How a worker becomes the lead of a team of its own, below the team that it is a member of.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Subtree {
    /// Arguments that say which session it is: `{session}` is its id.
    pub args: Vec<String>,
    /// With one of these among its arguments, it is another session already.
    pub unless: Vec<String>,
    /// What it is told first: `{team}` is what its team is to be called, `{plain}` the same with nothing but letters,
    /// digits and dashes.
    pub prompt: String,
}

/// What is answered for a worker that does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// That it agrees.
    Approve,
    /// That it does not.
    Reject,
    /// Nothing.
    Wait,
}

impl Shutdown {
    /// How long it may take to answer.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.after_s)
    }
}

/// Something that keeps a worker from taking a message.
#[derive(Debug, Clone)]
pub(crate) struct HoldPattern {
    /// Whether the user wrote it.
    pub(crate) own: bool,
    pub(crate) reason: String,
    pub(crate) why: String,
    pub(crate) title: Option<Regex>,
    pub(crate) screen: Option<Regex>,
}

/// Why a profile cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// There is none of that name.
    #[error("there is no profile `{name}`; there are {}", known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The file has a mistake.
    #[error("`{}` line {line}: {why}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where in it.
        line: usize,
        /// What is wrong, with the key.
        why: String,
    },
    /// The file cannot be read.
    #[error("could not read `{}`: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
}

impl Profile {
    /// The names of those that are built in.
    pub fn built_in() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Names of all profiles: those that are built in, then those of the user, whose files are in
    /// `dir`.
    pub fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = Self::built_in().map(str::to_owned).collect();
        let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut own: Vec<String> = files
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "toml"))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .filter(|name| is_name(name) && !names.contains(name))
            .collect();
        own.sort_unstable();
        names.extend(own);
        names
    }

    /// The profile of that name, with what the user's file in `dir` changes about it.
    pub fn load(name: &str, dir: &Path) -> Result<Self, ProfileError> {
        let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
        let base = built_in.map(|(_, text)| text);
        let path = dir.join(format!("{name}.toml"));
        let own = if is_name(name) { std::fs::read_to_string(&path) } else { Ok(String::new()) };
        let unknown = || ProfileError::Unknown { name: name.to_owned(), known: Self::names(dir) };
        match (own, base) {
            (Ok(_), None) if !is_name(name) => Err(unknown()),
            (Ok(text), base) => {
                let mut profile = Self::plain(name);
                if let Some(base) = base {
                    profile.take(base, Path::new(name))?;
                }
                profile.take(&text, &path)?;
                profile.file = Some(path);
                Ok(profile)
            }
            (Err(e), Some(base)) if e.kind() == std::io::ErrorKind::NotFound => {
                let mut profile = Self::plain(name);
                profile.take(base, Path::new(name))?;
                Ok(profile)
            }
            (Err(e), None) if e.kind() == std::io::ErrorKind::NotFound => Err(unknown()),
            (Err(e), _) => Err(ProfileError::Unreadable { path, why: e.to_string() }),
        }
    }

    /// The text of a profile, as it is built in; of the user's own if it is not.
    pub fn source(name: &str, dir: &Path) -> Result<String, ProfileError> {
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Ok((*text).to_owned());
        }
        let path = dir.join(format!("{name}.toml"));
        let text = std::fs::read_to_string(&path);
        text.map_err(|e| ProfileError::Unreadable { path, why: e.to_string() })
    }

    /// The profile of a program that runs with these words, if one knows it.
    pub fn recognise(words: &[String], dir: &Path) -> Option<String> {
        // `node /usr/bin/gemini` is gemini.
        let words = words.iter().filter(|word| !word.starts_with('-'));
        let names: Vec<&str> = words.take(2).map(|word| base_name(word)).collect();
        let knows = |name: &String| {
            let profile = Self::load(name, dir).ok();
            profile.is_some_and(|p| p.programs.iter().any(|known| names.contains(&known.as_str())))
        };
        Self::names(dir).into_iter().find(knows)
    }

    /// Whether nothing is known of its screen.
    pub fn is_plain(&self) -> bool {
        self.ready.is_none()
    }

    fn plain(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            about: String::new(),
            command: Vec::new(),
            programs: Vec::new(),
            channel: Channel::Keys,
            env: BTreeMap::new(),
            submit: Submit::Enter,
            settle_ms: None,
            longest_text: None,
            escape: Vec::new(),
            body: Body::Keys,
            wake: None,
            gear: Gear::default(),
            shutdown: Shutdown { after_s: 600, then: Rule::Approve },
            subtree: None,
            ready: None,
            ready_cursor: None,
            prompt: None,
            decoration: None,
            pasted: None,
            holds: Vec::new(),
            rows: ROWS,
            file: None,
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// The name of a program, without its directory and without the ending of a script.
pub(crate) fn base_name(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    [".js", ".mjs", ".cjs", ".py"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}
