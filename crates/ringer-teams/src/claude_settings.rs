//! Claude Code's settings, in `settings.json` and `.claude.json`: putting things in, and taking exactly those out again.
//!
//! Owns the places where hooks, variables and permissions stand in them. Like every shared file it is
//! edited as text: what was not put in by us stays byte for byte.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::json::{Array, NotWhole, Object, pretty, string};
use crate::pointer::{at, change, ensure, keys};

pub use crate::pointer::pointer;

/// What is to be in the settings.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Events, each with the entry for it: `{"matcher"?, "hooks": […]}`.
    pub hooks: Vec<(String, Value)>,
    /// Environment variables. One that is set otherwise is the user's choice, and stays.
    pub env: Vec<(String, String)>,
    /// Rules for what is allowed without asking.
    pub allow: Vec<String>,
    /// Anything else, each at its [`pointer()`]; what is there is replaced, and comes back.
    pub fields: Vec<(String, Value)>,
}

/// What was put in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Added {
    /// The commands of hooks.
    pub hooks: Vec<String>,
    /// Variables, with what they were set to.
    pub env: Vec<(String, String)>,
    /// Rules.
    pub allow: Vec<String>,
    /// Fields at their pointers: what they were set to, and what was there before, both as JSON.
    pub fields: Vec<(String, String, Option<String>)>,
    /// Objects and arrays that were not there, such as `hooks/Stop`: they go again when they are empty.
    pub created: Vec<String>,
}

/// The settings with everything in them, what had to be put in for that, and variables that are set to
/// something else than wanted.
#[derive(Debug)]
pub struct Merged {
    /// The new text.
    pub text: String,
    /// What was put in.
    pub added: Added,
    /// Variables that stay as the user has set them: name, value there, value wanted.
    pub kept: Vec<(String, String, String)>,
}

/// Puts what is wanted into the text of a settings file.
pub fn put_in(text: &str, wanted: &Wanted) -> Result<Merged, NotWhole> {
    let mut text = text.to_owned();
    let mut added = Added::default();
    let mut kept = Vec::new();
    for (event, entry) in &wanted.hooks {
        let path = ["hooks", event];
        let hooks = entry["hooks"].as_array().into_iter().flatten();
        let commands = hooks.filter_map(|hook| hook["command"].as_str()).map(str::to_owned);
        added.hooks.extend(commands);
        text = ensure(&text, &path, "[]", &mut added.created)?;
        text =
            change(&text, &path, &|raw| Ok(Array::parse(raw)?.with_pushed(&pretty(entry, 3), 3)))?;
    }
    for (name, value) in &wanted.env {
        text = ensure(&text, &["env"], "{}", &mut added.created)?;
        let there = at(&text, &["env", name])?;
        match there.as_deref().map(string) {
            Some(Some(there)) if there == *value => {}
            Some(there) => kept.push((name.clone(), there.unwrap_or_default(), value.clone())),
            None => {
                let value_text = json!(value).to_string();
                text = change(&text, &["env"], &|raw| {
                    Ok(Object::parse(raw)?.with_at(name, &value_text, 2))
                })?;
                added.env.push((name.clone(), value.clone()));
            }
        }
    }
    for rule in &wanted.allow {
        let path = ["permissions", "allow"];
        text = ensure(&text, &path, "[]", &mut added.created)?;
        let raw = at(&text, &path)?.unwrap_or_default();
        let has = Array::parse(&raw)?.items.iter().any(|item| string(item).as_ref() == Some(rule));
        if !has {
            let item = json!(rule).to_string();
            text = change(&text, &path, &|raw| Ok(Array::parse(raw)?.with_pushed(&item, 3)))?;
            added.allow.push(rule.clone());
        }
    }
    for (pointer, value) in &wanted.fields {
        let keys = keys(pointer);
        let path: Vec<&str> = keys.iter().map(String::as_str).collect();
        let Some((key, above)) = path.split_last() else { continue };
        let before = at(&text, &path)?;
        if before.as_deref().is_some_and(|before| is_same(before, value)) {
            continue;
        }
        text = ensure(&text, above, "{}", &mut added.created)?;
        let new = pretty(value, path.len());
        text = change(&text, above, &|raw| Ok(Object::parse(raw)?.with_at(key, &new, path.len())))?;
        added.fields.push((pointer.clone(), value.to_string(), before));
    }
    Ok(Merged { text, added, kept })
}

/// Takes out what was put in: hooks whose command is ours, and what `added` says, unless somebody has
/// changed it since.
pub fn take_out(
    text: &str,
    added: &Added,
    is_ours: impl Fn(&str) -> bool,
) -> Result<String, NotWhole> {
    let is_ours = |command: &str| is_ours(command) || added.hooks.iter().any(|c| c == command);
    let mut text = text.to_owned();
    let events: Vec<String> = match at(&text, &["hooks"])? {
        Some(hooks) => Object::parse(&hooks)?.fields().map(|(event, _)| event.to_owned()).collect(),
        None => Vec::new(),
    };
    for event in &events {
        let path = ["hooks", event];
        text = change(&text, &path, &|raw| without_hooks(raw, &is_ours))?;
    }
    for (name, value) in &added.env {
        let there = at(&text, &["env", name])?;
        if there.as_deref().and_then(string).as_ref() == Some(value) {
            text = change(&text, &["env"], &|raw| Ok(Object::parse(raw)?.without(name)))?;
        }
    }
    if at(&text, &["permissions", "allow"])?.is_some() {
        text = change(&text, &["permissions", "allow"], &|raw| {
            let array = Array::parse(raw)?;
            let stays = |item: &&str| string(item).is_none_or(|rule| !added.allow.contains(&rule));
            let left: Vec<&str> = array.items.iter().copied().filter(stays).collect();
            Ok(if left.len() == array.items.len() {
                raw.to_owned()
            } else {
                array.with_items(left, 3)
            })
        })?;
    }
    for (pointer, new, before) in &added.fields {
        let keys = keys(pointer);
        let path: Vec<&str> = keys.iter().map(String::as_str).collect();
        let new: Value = serde_json::from_str(new).unwrap_or_default();
        let there = at(&text, &path)?;
        // Claude Code may have laid it out otherwise since.
        if let (true, Some((key, above))) =
            (there.is_some_and(|there| is_same(&there, &new)), path.split_last())
        {
            text = change(&text, above, &|raw| {
                let object = Object::parse(raw)?;
                Ok(before.as_ref().map_or_else(|| object.without(key), |old| object.with(key, old)))
            })?;
        }
    }
    // The deeper ones first.
    for path in added.created.iter().rev() {
        let keys = keys(path);
        let parts: Vec<&str> = keys.iter().map(String::as_str).collect();
        let raw = at(&text, &parts)?.unwrap_or_default();
        let is_empty = matches!(raw.split_whitespace().collect::<String>().as_str(), "[]" | "{}");
        if let (true, Some((last, above))) = (is_empty, parts.split_last()) {
            text = change(&text, above, &|raw| Ok(Object::parse(raw)?.without(last)))?;
        }
    }
    Ok(text)
}

/// An event's entries without the hooks that are ours, and without entries that have no hooks then.
fn without_hooks(raw: &str, is_ours: &impl Fn(&str) -> bool) -> Result<String, NotWhole> {
    let Ok(entries) = Array::parse(raw) else {
        return Ok(raw.to_owned());
    };
    let mut left: Vec<String> = Vec::new();
    let mut changed = false;
    for entry in &entries.items {
        let object = Object::parse(entry);
        let hooks = object.as_ref().ok().and_then(|o| o.get("hooks"));
        let Some(Ok(hooks)) = hooks.map(Array::parse) else {
            left.push((*entry).to_owned());
            continue;
        };
        let is_theirs = |hook: &&str| {
            let command = Object::parse(hook).ok().and_then(|hook| hook.string("command"));
            command.is_none_or(|command| !is_ours(&command))
        };
        let theirs: Vec<&str> = hooks.items.iter().copied().filter(is_theirs).collect();
        if theirs.len() == hooks.items.len() {
            left.push((*entry).to_owned());
            continue;
        }
        changed = true;
        if !theirs.is_empty() {
            left.push(Object::parse(entry)?.with("hooks", &hooks.with_items(theirs, 5)));
        }
    }
    if !changed {
        return Ok(raw.to_owned());
    }
    Ok(entries.with_items(left.iter().map(String::as_str), 3))
}

fn is_same(text: &str, value: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|there| there == *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wanted() -> Wanted {
        let hook = |command: &str| json!({"hooks": [{"type": "command", "command": command}]});
        Wanted {
            hooks: vec![
                ("Stop".into(), hook("ringer hook wait")),
                ("PostToolUse".into(), hook("ringer hook post-tool")),
            ],
            env: vec![("TEAMS".into(), "1".into()), ("COMMAND".into(), "/bin/ringer".into())],
            allow: vec!["mcp__ringer".into()],
            fields: vec![("teammateMode".into(), json!("tmux"))],
        }
    }

    fn is_ours(command: &str) -> bool {
        command.starts_with("ringer hook")
    }

    #[test]
    fn an_empty_file_is_laid_out_and_emptied_again() {
        let merged = put_in("{}", &wanted()).unwrap();
        assert!(
            merged.text.contains("\n  \"hooks\": {\n    \"Stop\": [\n      {\n"),
            "{}",
            merged.text
        );
        let value: Value = serde_json::from_str(&merged.text).unwrap();
        assert_eq!(value["env"], json!({"TEAMS": "1", "COMMAND": "/bin/ringer"}));
        assert_eq!(value["permissions"]["allow"], json!(["mcp__ringer"]));
        assert_eq!(value["teammateMode"], "tmux");
        assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], "ringer hook wait");
        assert_eq!(take_out(&merged.text, &merged.added, is_ours).unwrap(), "{}");
        let again = put_in(&take_out(&merged.text, &merged.added, is_ours).unwrap(), &wanted());
        assert_eq!(again.unwrap().text, merged.text);
    }

    #[test]
    fn what_the_user_has_stays_and_comes_back() {
        let theirs = r#"{
  "env": {"TEAMS": "0", "X": "1e3"}, "teammateMode":  "auto",
  "permissions": {"allow": ["Bash(ls:*)"], "deny": []},
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}], "Odd": 7},
  "model": "opus"
}
"#;
        let merged = put_in(theirs, &wanted()).unwrap();
        assert_eq!(merged.kept, [("TEAMS".to_owned(), "0".to_owned(), "1".to_owned())]);
        let value: Value = serde_json::from_str(&merged.text).unwrap();
        assert_eq!(value["hooks"]["Stop"].as_array().unwrap().len(), 2);
        assert_eq!(value["env"]["TEAMS"], "0");
        assert_eq!(value["teammateMode"], "tmux");
        let back = take_out(&merged.text, &merged.added, is_ours).unwrap();
        let (back, theirs): (Value, Value) =
            (serde_json::from_str(&back).unwrap(), serde_json::from_str(theirs).unwrap());
        assert_eq!(back, theirs);
    }

    #[test]
    fn what_somebody_changed_since_is_not_taken_out() {
        let merged = put_in("{}", &wanted()).unwrap();
        let changed = merged.text.replace("\"TEAMS\": \"1\"", "\"TEAMS\": \"2\"");
        let changed = changed.replace("\"tmux\"", "\"in-process\"");
        let left: Value =
            serde_json::from_str(&take_out(&changed, &merged.added, is_ours).unwrap()).unwrap();
        assert_eq!(left, json!({"env": {"TEAMS": "2"}, "teammateMode": "in-process"}));
    }

    #[test]
    fn a_field_can_be_anywhere_and_is_known_however_it_is_laid_out() {
        let server = json!({"command": "ringer", "args": ["mcp", "--lead"]});
        let at = pointer(&["projects", "/home/a~b", "mcpServers", "ringer-lead"]);
        let wanted = Wanted { fields: vec![(at, server.clone())], ..Wanted::default() };
        let other = r#"{"n": 1, "projects": {"/home/a~b": {"x": []}}}"#;
        for theirs in ["{}", r#"{"projects": {}}"#, other] {
            let merged = put_in(theirs, &wanted).unwrap();
            let value: Value = serde_json::from_str(&merged.text).unwrap();
            assert_eq!(value["projects"]["/home/a~b"]["mcpServers"]["ringer-lead"], server);
            assert_eq!(put_in(&merged.text, &wanted).unwrap().added, Added::default());
            for text in [merged.text.clone(), value.to_string(), format!("{value:#}")] {
                let back = take_out(&text, &merged.added, is_ours).unwrap();
                let (back, theirs): (Value, Value) =
                    (serde_json::from_str(&back).unwrap(), serde_json::from_str(theirs).unwrap());
                assert_eq!(back, theirs);
            }
        }
    }

    fn settings() -> impl Strategy<Value = Value> {
        let hook = prop_oneof![Just("say done"), Just("./lint")]
            .prop_map(|c| json!({"hooks": [{"type": "command", "command": c}]}));
        let hooks = proptest::collection::btree_map(
            prop_oneof![Just("Stop".to_owned()), Just("PreToolUse".to_owned())],
            proptest::collection::vec(hook, 0..3),
            0..2,
        );
        let env = proptest::collection::btree_map("[A-Z]{1,3}", "[ -~]{0,5}", 0..3);
        let allow = proptest::collection::vec("[a-z]{1,5}", 0..3);
        (
            proptest::option::of(hooks),
            proptest::option::of(env),
            proptest::option::of(allow),
            any::<bool>(),
        )
            .prop_map(|(hooks, env, allow, model)| {
                let mut all = json!({});
                if let Some(hooks) = hooks {
                    all["hooks"] = json!(hooks);
                }
                if let Some(env) = env {
                    all["env"] = json!(env);
                }
                if let Some(allow) = allow {
                    all["permissions"] = json!({"allow": allow});
                }
                if model {
                    all["model"] = json!("opus");
                }
                all
            })
    }

    proptest! {
        /// Whatever is in a file, what we put in goes without a trace.
        #[test]
        fn nothing_of_ours_stays(theirs in settings(), wide in any::<bool>()) {
            let text = if wide { format!("{theirs:#}") } else { theirs.to_string() };
            let merged = put_in(&text, &wanted()).unwrap();
            let whole: Value = serde_json::from_str(&merged.text).unwrap();
            prop_assert_eq!(&whole["permissions"]["allow"].as_array().unwrap().last().unwrap(), &"mcp__ringer");
            let back = take_out(&merged.text, &merged.added, is_ours).unwrap();
            let back: Value = serde_json::from_str(&back).unwrap();
            prop_assert_eq!(back, theirs);
        }
    }
}
