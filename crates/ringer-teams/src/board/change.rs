//! What is changed in a task, and how that is written.
//!
//! Owns the text of it: every byte that was not to be changed stays.

use serde_json::{Map, Value};

use super::TaskError;
use super::rules;
use crate::json::{Array, NotWhole, Object, pretty, quoted};
use crate::task::TaskStatus;

/// A change to a task. What is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskChange {
    /// A line.
    pub subject: Option<String>,
    /// The whole of it.
    pub description: Option<String>,
    /// What its owner is doing, while it is being done.
    pub active_form: Option<String>,
    /// How far it is.
    pub status: Option<TaskStatus>,
    /// Who has it.
    pub owner: Option<String>,
    /// Further facts, in addition to those there; null takes one away.
    pub metadata: Map<String, Value>,
    /// Tasks that wait for it from now on.
    pub add_blocks: Vec<String>,
    /// Tasks that it waits for from now on.
    pub add_blocked_by: Vec<String>,
    /// Tasks that it does not wait for any more.
    pub remove_blocked_by: Vec<String>,
}

impl TaskChange {
    /// Whether a task can be changed so at all.
    pub(super) fn check(&self) -> Result<(), TaskError> {
        self.subject.as_deref().map_or(Ok(()), rules::check_subject)?;
        self.description.as_deref().map_or(Ok(()), rules::check_description)?;
        rules::check_active_form(self.active_form.as_deref())?;
        rules::check_metadata(&self.metadata)
    }
}

/// What is to be written into one file.
#[derive(Debug, Clone, Default)]
pub(super) struct Edits {
    /// Fields with their new text; without, they go.
    pub(super) fields: Vec<(&'static str, Option<String>)>,
    pub(super) metadata: Map<String, Value>,
    pub(super) blocks: Vec<String>,
    pub(super) blocked_by: Vec<String>,
    /// Numbers that go from both lists.
    pub(super) unlinks: Vec<String>,
}

impl Edits {
    /// Another task waits for this one.
    pub(super) fn blocks(id: &str) -> Self {
        Self { blocks: vec![id.to_owned()], ..Self::default() }
    }

    /// This one waits for another task.
    pub(super) fn blocked_by(id: &str) -> Self {
        Self { blocked_by: vec![id.to_owned()], ..Self::default() }
    }

    /// This one has nothing to do with another task any more.
    pub(super) fn unlinks(id: &str) -> Self {
        Self { unlinks: vec![id.to_owned()], ..Self::default() }
    }

    pub(super) fn set(&mut self, key: &'static str, value: &str) {
        self.fields.push((key, Some(quoted(value))));
    }

    pub(super) fn apply(&self, text: &str) -> Result<String, NotWhole> {
        let mut text = text.to_owned();
        for (key, value) in &self.fields {
            let object = Object::parse(&text)?;
            text = match value {
                Some(value) => object.with_at(key, value, 1),
                None => object.without(key),
            };
        }
        for id in &self.unlinks {
            text = unlink(&text, id)?;
        }
        for id in &self.blocks {
            text = link(&text, "blocks", id)?;
        }
        for id in &self.blocked_by {
            text = link(&text, "blockedBy", id)?;
        }
        if self.metadata.is_empty() {
            return Ok(text);
        }
        let object = Object::parse(&text)?;
        // What is no object holds nothing that could be added to.
        let mut facts =
            object.get("metadata").filter(|raw| raw.starts_with('{')).unwrap_or("{}").to_owned();
        for (key, value) in &self.metadata {
            let there = Object::parse(&facts)?;
            facts = match value {
                Value::Null => there.without(key),
                value => there.with_at(key, &pretty(value, 2), 2),
            };
        }
        Ok(object.with_at("metadata", &facts, 1))
    }

    /// Whether something of this is in the task again as it was before. What was changed further is not undone.
    pub(super) fn is_undone(&self, before: &str, now: &str) -> bool {
        let (Ok(before), Ok(now)) = (Object::parse(before), Object::parse(now)) else {
            return false;
        };
        let field = |(key, wanted): &(&str, Option<String>)| {
            let now = now.get(key);
            now == before.get(key) && now != wanted.as_deref()
        };
        let facts = |task: &Object<'_>| -> Map<String, Value> {
            let text = task.get("metadata");
            text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
        };
        let (facts_before, facts_now) = (facts(&before), facts(&now));
        let fact = |(key, wanted): (&String, &Value)| {
            let now = facts_now.get(key);
            now == facts_before.get(key) && now.unwrap_or(&Value::Null) != wanted
        };
        let (blocks, blocked_by) = (now.strings("blocks"), now.strings("blockedBy"));
        let is_linked = |id: &String| blocks.contains(id) || blocked_by.contains(id);
        self.fields.iter().any(field)
            || self.metadata.iter().any(fact)
            || self.blocks.iter().any(|id| !blocks.contains(id))
            || self.blocked_by.iter().any(|id| !blocked_by.contains(id))
            || self.unlinks.iter().any(is_linked)
    }
}

/// The text with a number in one of its lists.
fn link(text: &str, list: &str, id: &str) -> Result<String, NotWhole> {
    let object = Object::parse(text)?;
    if object.strings(list).iter().any(|other| other == id) {
        return Ok(text.to_owned());
    }
    // What is no list holds nothing that could be added to.
    let there = object.get(list).filter(|raw| raw.starts_with('[')).unwrap_or("[]");
    let array = Array::parse(there)?;
    Ok(object.with_at(list, &array.with_pushed(&quoted(id), 2), 1))
}

/// The text with a number in none of its lists.
fn unlink(text: &str, id: &str) -> Result<String, NotWhole> {
    let mut text = text.to_owned();
    for list in ["blocks", "blockedBy"] {
        let object = Object::parse(&text)?;
        let Some(raw) = object.get(list).filter(|raw| raw.starts_with('[')) else { continue };
        let array = Array::parse(raw)?;
        let others = array.items.iter().copied();
        let is_it = |item: &&str| crate::json::string(item).as_deref() == Some(id);
        let kept: Vec<&str> = others.filter(|item| !is_it(item)).collect();
        if kept.len() < array.items.len() {
            text = object.with_at(list, &array.with_items(kept, 2), 1);
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TASK: &str = "{\n  \"id\": \"1\",\n  \"subject\": \"s\",\n  \"future\": 1.0e3,\n  \"status\": \"pending\",\n  \"blocks\": [],\n  \"blockedBy\": [\n    \"7\"\n  ],\n  \"metadata\": {\n    \"a\": 1\n  }\n}";

    #[test]
    fn only_what_was_asked_for_changes_and_it_looks_like_claude_codes() {
        let mut edits = Edits::default();
        edits.set("status", "in_progress");
        edits.set("owner", "w");
        edits.blocks.push("2".into());
        edits.blocked_by.extend(["7".into(), "8".into()]);
        edits.metadata = json!({"a": null, "b": {"c": 2}}).as_object().unwrap().clone();
        let wanted = "{\n  \"id\": \"1\",\n  \"subject\": \"s\",\n  \"future\": 1.0e3,\n  \"status\": \"in_progress\",\n  \"blocks\": [\n    \"2\"\n  ],\n  \"blockedBy\": [\n    \"7\",\n    \"8\"\n  ],\n  \"metadata\": {\n    \"b\": {\n      \"c\": 2\n    }\n  },\n  \"owner\": \"w\"\n}";
        assert_eq!(edits.apply(TASK).unwrap(), wanted);
        let back = Edits { fields: vec![("owner", None)], ..Edits::default() };
        assert!(!back.apply(wanted).unwrap().contains("owner"));
        assert_eq!(Edits::default().apply(TASK).unwrap(), TASK);
    }

    #[test]
    fn what_is_as_it_was_before_is_undone_and_what_was_changed_further_is_not() {
        let mut edits = Edits { fields: vec![("owner", None)], ..Edits::blocks("2") };
        edits.set("status", "pending");
        edits.metadata = json!({"a": 2, "b": null}).as_object().unwrap().clone();
        let before = r#"{"status": "in_progress", "owner": "w", "blocks": [], "metadata": {"a": 1, "b": 1}}"#;
        let after = edits.apply(before).unwrap();
        assert!(!edits.is_undone(before, &after));
        assert!(edits.is_undone(before, before));
        for (from, to, undone) in [
            ("\"pending\"", "\"in_progress\"", true),
            ("\"pending\"", "\"completed\"", false),
            ("\"blocks\"", "\"owner\": \"w\", \"blocks\"", true),
            ("\"blocks\"", "\"owner\": \"v\", \"blocks\"", false),
            ("\"a\": 2", "\"a\": 1", true),
            ("\"a\": 2", "\"a\": 3, \"c\": 1", false),
            ("\"a\": 2", "\"a\": 2, \"b\": 1", true),
            ("\"2\"", "\"3\"", true),
        ] {
            assert!(after.contains(from), "{after}");
            assert_eq!(edits.is_undone(before, &after.replace(from, to)), undone, "{from} {to}");
        }
    }

    #[test]
    fn a_number_leaves_both_lists() {
        let text = link(&link(TASK, "blocks", "7").unwrap(), "blocks", "9").unwrap();
        let text = unlink(&text, "7").unwrap();
        let object = Object::parse(&text).unwrap();
        assert_eq!(object.strings("blocks"), ["9"]);
        assert!(object.strings("blockedBy").is_empty());
        assert_eq!(unlink(TASK, "1").unwrap(), TASK);
    }

    #[test]
    fn a_list_that_is_none_is_made_one() {
        let text = r#"{"id": "1", "blocks": null, "blockedBy": "7"}"#;
        assert_eq!(unlink(text, "7").unwrap(), text);
        let text = link(&link(text, "blocks", "2").unwrap(), "blockedBy", "3").unwrap();
        let object = Object::parse(&text).unwrap();
        assert_eq!(
            (object.strings("blocks"), object.strings("blockedBy")),
            (vec!["2".into()], vec!["3".into()])
        );
    }

    #[test]
    fn metadata_that_is_no_object_is_made_one() {
        for odd in ["null", "7", "\"x\""] {
            let text = format!("{{\"id\": \"1\", \"metadata\": {odd}}}");
            let metadata = json!({"b": 2}).as_object().unwrap().clone();
            let new = Edits { metadata, ..Edits::default() }.apply(&text).unwrap();
            let new: Value = serde_json::from_str(&new).unwrap();
            assert_eq!(new["metadata"], json!({"b": 2}));
        }
    }
}
