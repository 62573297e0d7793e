//! What a worker is handed when `ringer run` starts it: our tools and hooks, in its own terms.
//!
//! Owns the words in braces that a profile may use for it. Nothing of the user's is touched: it is
//! arguments, environment, and a settings file of our own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::base_name;

/// The part of a profile that says what its workers are handed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Gear {
    /// Arguments, put behind the name of the program.
    pub args: Vec<String>,
    /// Environment.
    pub env: BTreeMap<String, String>,
    /// A settings file in JSON; `{file}` is where it is put.
    pub file: Option<String>,
    /// What an administrator has where our file takes its place: a variable that may name it, and
    /// where it is otherwise. It is kept, with ours on top.
    pub base: Option<(String, PathBuf)>,
    /// Whether all that includes hooks of ours.
    pub hooks: bool,
}

/// What the words in braces stand for.
#[derive(Debug, Clone)]
pub struct Tailor<'a> {
    /// The names of the profile's programs.
    pub programs: &'a [String],
    /// This program: `{ringer}`, and as a word of a shell `{ringer_sh}`.
    pub ringer: &'a Path,
    /// Where the settings file goes: `{file}`.
    pub file: &'a Path,
    /// More words: `{name}` is replaced by the value.
    pub words: &'a [(String, String)],
    /// The environment of this process.
    pub variable: fn(&str) -> Option<String>,
}

/// What one worker is handed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outfit {
    /// Its command.
    pub words: Vec<String>,
    /// What is added to its environment.
    pub env: Vec<(String, String)>,
    /// Its settings file.
    pub file: Option<String>,
    /// Why it cannot be handed anything.
    pub trouble: Option<String>,
}

impl Gear {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.args.is_empty() && self.env.is_empty() && self.file.is_none()
    }

    /// What a worker that is started with `command` is handed.
    pub fn outfit(&self, command: &[String], tailor: &Tailor<'_>) -> Outfit {
        let mut words = command.to_vec();
        let bare = |trouble: String| Outfit {
            words: command.to_vec(),
            trouble: Some(trouble),
            ..Outfit::default()
        };
        if !self.args.is_empty() {
            let is_program = |word: &String| tailor.programs.iter().any(|p| p == base_name(word));
            let Some(at) = words.iter().position(is_program) else {
                return bare("the command does not name its program".to_owned());
            };
            let args = self.args.iter().map(|arg| tailor.fill(arg));
            words.splice(at + 1..=at, args);
        }
        let file = match self.file.as_ref().map(|file| self.with_base(&tailor.fill(file), tailor)) {
            Some(Err(trouble)) => return bare(trouble),
            file => file.and_then(Result::ok),
        };
        let env = self.env.iter().map(|(name, value)| (name.clone(), tailor.fill(value))).collect();
        Outfit { words, env, file, trouble: None }
    }

    /// Our settings on top of the administrator's.
    fn with_base(&self, ours: &str, tailor: &Tailor<'_>) -> Result<String, String> {
        let ours: Value = serde_json::from_str(ours).map_err(|e| format!("`gear.file`: {e}"))?;
        let base = self.base.as_ref().and_then(|(variable, path)| {
            let path = (tailor.variable)(variable).map_or_else(|| path.clone(), PathBuf::from);
            let text = std::fs::read_to_string(&path).ok()?;
            Some(serde_json::from_str(&text).map_err(|e| format!("`{}`: {e}", path.display())))
        });
        let mut all = base.transpose()?.unwrap_or(Value::Null);
        merge(&mut all, ours);
        Ok(format!("{all:#}\n"))
    }
}

impl Tailor<'_> {
    /// Puts values in the place of words in braces. Inside quotes they stand as JSON writes them; a
    /// word that stands alone is the value itself.
    fn fill(&self, text: &str) -> String {
        let ringer = self.ringer.display().to_string();
        let own = [
            ("ringer_sh", shell_word(&ringer)),
            ("ringer", ringer),
            ("file", self.file.display().to_string()),
        ];
        let words = self.words.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let mut out = text.to_owned();
        for (name, value) in own.into_iter().chain(words) {
            let place = format!("{{{name}}}");
            if text == place {
                return value;
            }
            out = out.replace(&place, &inside_quotes(&value));
        }
        out
    }
}

fn inside_quotes(value: &str) -> String {
    let quoted = Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// A word that a shell takes as it is.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.+,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Objects are merged, arrays joined; anything else is replaced.
fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(base), Value::Array(over)) => base.extend(over),
        (base, over) => *base = over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn tailor<'a>(programs: &'a [String], ringer: &'a str) -> Tailor<'a> {
        let (ringer, file) = (Path::new(ringer), Path::new("/run/x.json"));
        Tailor { programs, ringer, file, words: &[], variable: |_| None }
    }

    #[test]
    fn arguments_stand_behind_the_program_wherever_that_is() {
        let programs = words("codex");
        let gear = Gear { args: words("-c command=\"{ringer}\""), ..Gear::default() };
        let tailor = tailor(&programs, "/opt/ri\"nger");
        for (command, all) in [
            ("codex --x", "codex -c command=\"/opt/ri\\\"nger\" --x"),
            ("node /usr/bin/codex", "node /usr/bin/codex -c command=\"/opt/ri\\\"nger\""),
        ] {
            assert_eq!(gear.outfit(&words(command), &tailor).words, words(all));
        }
        let outfit = gear.outfit(&words("sh -c my-codex"), &tailor);
        assert_eq!(outfit.words, words("sh -c my-codex"));
        assert!(outfit.trouble.is_some());
    }

    #[test]
    fn a_settings_file_keeps_what_an_administrator_has_there() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("system.json");
        let theirs = json!({"ui": {"theme": "x"}, "hooks": {"AfterTool": [1]}, "n": 1});
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&base).unwrap();
        serde_json::to_writer(file, &theirs).unwrap();
        let gear = Gear {
            file: Some(r#"{"hooks": {"AfterTool": ["{ringer_sh} hook"]}, "n": 2}"#.to_owned()),
            env: [("PATH_TO_IT".to_owned(), "{file}".to_owned())].into(),
            base: Some(("NOT_SET".to_owned(), base)),
            ..Gear::default()
        };
        let outfit = gear.outfit(&words("gemini"), &tailor(&[], "/a b/ringer"));
        let file: Value = serde_json::from_str(&outfit.file.unwrap()).unwrap();
        let all = json!({"ui": {"theme": "x"}, "hooks": {"AfterTool": [1, "'/a b/ringer' hook"]}, "n": 2});
        assert_eq!(file, all);
        assert_eq!(outfit.env, [("PATH_TO_IT".to_owned(), "/run/x.json".to_owned())]);
    }
}
