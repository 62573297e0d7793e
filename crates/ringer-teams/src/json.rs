//! JSON as text: where each piece begins and ends, and edits that leave every other byte alone.
//!
//! Owns the way shared files are changed. Files that Claude Code also writes are never parsed into
//! a tree and printed again: numbers would be rewritten, duplicate keys merged, and a lone
//! surrogate (`\ud83d`, which Claude Code does write when a model cuts an emoji in two) would make
//! the whole file unreadable. An edit here replaces, inserts or removes whole pieces of text.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{Deserialize, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Why a text is not (yet) the JSON that was expected: it may have been read in mid-write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotWhole(pub(crate) String);

impl fmt::Display for NotWhole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl NotWhole {
    /// With the reason, in a few words.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    fn parsing(text: &str, wanted: &str, source: &serde_json::Error) -> Self {
        if text.trim().is_empty() {
            return Self("the file is empty".to_owned());
        }
        if source.is_data() {
            return Self(format!("it is not {wanted}"));
        }
        Self(format!("not whole JSON: {source}"))
    }
}

/// Two spaces a level, as Claude Code writes.
const INDENT: &str = "  ";

/// A JSON array located in a text.
pub(crate) struct Array<'a> {
    text: &'a str,
    /// The text of each item, in order.
    pub(crate) items: Vec<&'a str>,
}

impl<'a> Array<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, NotWhole> {
        let items: Vec<&RawValue> =
            serde_json::from_str(text).map_err(|e| NotWhole::parsing(text, "an array", &e))?;
        Ok(Self { text, items: items.into_iter().map(RawValue::get).collect() })
    }

    /// The text with `item` added at the end and not one byte of the others changed.
    ///
    /// `depth` is how deep the items lie; it matters only for the first item of an empty array.
    pub(crate) fn with_pushed(&self, item: &str, depth: usize) -> String {
        let Some(last) = self.items.last() else {
            return self.with_items([item], depth);
        };
        let end = offset(self.text, last) + last.len();
        let mut out = String::with_capacity(self.text.len() + item.len() + 16);
        out.push_str(&self.text[..end]);
        out.push(',');
        out.push_str(&self.gap(depth));
        out.push_str(item);
        out.push_str(&self.text[end..]);
        out
    }

    /// The text with another item in the place of this one and not one byte of the others changed.
    pub(crate) fn with_replaced(&self, old: &str, new: &str) -> String {
        let Some(found) = self.items.iter().find(|item| **item == old) else {
            return self.text.to_owned();
        };
        let start = offset(self.text, found);
        [&self.text[..start], new, &self.text[start + found.len()..]].concat()
    }

    /// The text with these items in place of all.
    pub(crate) fn with_items<'i>(
        &self,
        items: impl IntoIterator<Item = &'i str>,
        depth: usize,
    ) -> String {
        let open = self.text.find('[').unwrap_or(0);
        let close = self.text.rfind(']').unwrap_or(self.text.len() - 1);
        let gap = self.gap(depth);
        let mut out = String::with_capacity(self.text.len() + 64);
        out.push_str(&self.text[..=open]);
        let mut empty = true;
        for item in items {
            if !empty {
                out.push(',');
            }
            empty = false;
            out.push_str(&gap);
            out.push_str(item);
        }
        if !empty {
            match self.items.last() {
                Some(last) => out.push_str(&self.text[offset(self.text, last) + last.len()..close]),
                None => out.push_str(&line_break(depth.saturating_sub(1))),
            }
        }
        out.push_str(&self.text[close..]);
        out
    }

    /// What stands between the bracket and the first item: the way this file is laid out.
    fn gap(&self, depth: usize) -> Cow<'a, str> {
        match self.items.first() {
            Some(first) => {
                let open = self.text.find('[').map_or(0, |i| i + 1);
                Cow::Borrowed(&self.text[open..offset(self.text, first)])
            }
            None => Cow::Owned(line_break(depth)),
        }
    }
}

/// A JSON object located in a text.
pub(crate) struct Object<'a> {
    text: &'a str,
    fields: Vec<(String, &'a str)>,
}

impl<'a> Object<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, NotWhole> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Vec<(String, &'de str)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    fields.push((string(key.get()).unwrap_or_default(), value.get()));
                }
                Ok(fields)
            }
        }
        let mut de = serde_json::Deserializer::from_str(text);
        let fields = de
            .deserialize_map(Fields)
            .and_then(|fields| de.end().map(|()| fields))
            .map_err(|e| NotWhole::parsing(text, "an object", &e))?;
        Ok(Self { text, fields })
    }

    /// The text of a field's value. Of two with one key the last counts, as in JavaScript.
    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        self.fields.iter().rev().find(|(k, _)| k == key).map(|(_, v)| *v)
    }

    /// Keys and the text of their values, in order.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.fields.iter().map(|(key, value)| (key.as_str(), *value))
    }

    pub(crate) fn string(&self, key: &str) -> Option<String> {
        self.get(key).and_then(string)
    }

    pub(crate) fn bool(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(parse)
    }

    pub(crate) fn int(&self, key: &str) -> Option<i64> {
        self.get(key).and_then(parse)
    }

    /// The strings of an array field; what is not a string is left out.
    pub(crate) fn strings(&self, key: &str) -> Vec<String> {
        let array = self.get(key).and_then(|text| Array::parse(text).ok());
        array.map(|a| a.items.iter().copied().filter_map(string).collect()).unwrap_or_default()
    }

    /// [`Object::with`], for an object that may have no field yet: then that one is on a line of its own,
    /// at this depth.
    pub(crate) fn with_at(&self, key: &str, value: &str, depth: usize) -> String {
        if !self.fields.is_empty() {
            return self.with(key, value);
        }
        let (inner, outer) = (line_break(depth), line_break(depth.saturating_sub(1)));
        let close = self.text.rfind('}').map_or("", |at| &self.text[at + 1..]);
        format!("{{{inner}{}: {value}{outer}}}{close}", quoted(key))
    }

    /// The text without one field, every other byte as it was.
    pub(crate) fn without(&self, key: &str) -> String {
        let Some(place) = self.fields.iter().position(|(name, _)| name == key) else {
            return self.text.to_owned();
        };
        let end = |field: &(String, &str)| offset(self.text, field.1) + field.1.len();
        let open = self.text.find('{').map_or(0, |i| i + 1);
        let (from, to) = (end(&self.fields[place]), self.text);
        match (place.checked_sub(1), self.fields.get(place + 1)) {
            (Some(before), _) => [&to[..end(&self.fields[before])], &to[from..]].concat(),
            (None, Some(_)) => {
                let comma = to[from..].find(',').map_or(from, |i| from + i + 1);
                [&to[..open], &to[comma..]].concat()
            }
            (None, None) => {
                let close = to.rfind('}').unwrap_or(to.len());
                [&to[..open], &to[close..]].concat()
            }
        }
    }

    /// The text with one field set, every other byte as it was.
    pub(crate) fn with(&self, key: &str, value: &str) -> String {
        if let Some(old) = self.get(key) {
            let start = offset(self.text, old);
            return [&self.text[..start], value, &self.text[start + old.len()..]].concat();
        }
        let key = quoted(key);
        match self.fields.last() {
            Some((_, last)) => {
                let end = offset(self.text, last) + last.len();
                let open = self.text.find('{').map_or(0, |i| i + 1);
                let body = &self.text[open..];
                let gap = &body[..body.len() - body.trim_start().len()];
                let (head, tail) = self.text.split_at(end);
                format!("{head},{gap}{key}: {value}{tail}")
            }
            None => format!("{{{key}: {value}}}"),
        }
    }
}

/// Any value as Claude Code would lay it out at this depth, without the first line's indent.
pub(crate) fn pretty(value: &impl serde::Serialize, depth: usize) -> String {
    let text = serde_json::to_string_pretty(value).expect("plain data always serialises");
    // A line break inside a string is escaped, so every one here is layout.
    if depth == 0 { text } else { text.replace('\n', &line_break(depth)) }
}

/// A JSON string, decoded; a lone surrogate becomes U+FFFD instead of failing the whole entry.
pub(crate) fn string(raw: &str) -> Option<String> {
    if !raw.starts_with('"') {
        return None;
    }
    parse(raw).or_else(|| parse(&without_lone_surrogates(raw)))
}

/// JSON text in which `\ud800`-style halves that stand alone are replaced by `\ufffd`.
pub fn without_lone_surrogates(json: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        let here = at + found;
        let Some(unit) = escaped_unit(&json[here..]) else {
            // Another escape: step over the backslash and the character that it escapes.
            at = here + 1 + json[here + 1..].chars().next().map_or(0, char::len_utf8);
            continue;
        };
        let next = escaped_unit(&json[here + 6..]);
        let pair = (0xd800..0xdc00).contains(&unit)
            && next.is_some_and(|next| (0xdc00..0xe000).contains(&next));
        at = here + if pair { 12 } else { 6 };
        if !pair && (0xd800..0xe000).contains(&unit) {
            out.push_str(&json[kept..here]);
            out.push_str("\\ufffd");
            kept = at;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[kept..]);
    Cow::Owned(out)
}

/// The code unit of a `\uXXXX` that this text begins with.
fn escaped_unit(text: &str) -> Option<u32> {
    let hex = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(hex, 16).ok()
}

fn parse<T: for<'de> Deserialize<'de>>(raw: &str) -> Option<T> {
    serde_json::from_str(raw).ok()
}

pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string always serialises")
}

fn line_break(depth: usize) -> String {
    format!("\n{}", INDENT.repeat(depth))
}

/// Where `part`, a slice of `text`, begins in it.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pushed_item_leaves_every_other_byte_alone() {
        let text = "[\n  {\"a\": 1.0e3,  \"a\": \"\\ud83d\"},\n  7\n]\n";
        let array = Array::parse(text).unwrap();
        assert_eq!(array.with_pushed("8", 1), text.replace("7\n", "7,\n  8\n"));
        assert_eq!(Array::parse("[]").unwrap().with_pushed("8", 1), "[\n  8\n]");
        assert_eq!(Array::parse("[1]").unwrap().with_pushed("8", 1), "[1,8]");
        assert_eq!(Array::parse("[ ]").unwrap().with_pushed("8", 2), "[\n    8\n  ]");
    }

    #[test]
    fn an_item_is_replaced_in_its_place() {
        let array = Array::parse("[1,\n  22 ,3]").unwrap();
        assert_eq!(array.with_replaced("22", "9"), "[1,\n  9 ,3]");
        assert_eq!(array.with_replaced("2", "9"), "[1,\n  22 ,3]");
    }

    #[test]
    fn items_are_taken_out_with_their_separators() {
        let array = Array::parse("[\n  1,\n  2,\n  3\n]").unwrap();
        assert_eq!(array.with_items(["1", "3"], 1), "[\n  1,\n  3\n]");
        assert_eq!(array.with_items([], 1), "[]");
        let nested = Array::parse("[[1], [2]]").unwrap();
        assert_eq!(nested.with_items(["[2]"], 1), "[[2]]");
    }

    #[test]
    fn a_field_is_replaced_or_added_in_the_files_own_layout() {
        let object = Object::parse("{\n    \"a\": 1,\n    \"read\": false\n  }").unwrap();
        assert_eq!(object.with("read", "true"), "{\n    \"a\": 1,\n    \"read\": true\n  }");
        assert_eq!(
            object.with("b", "2"),
            "{\n    \"a\": 1,\n    \"read\": false,\n    \"b\": 2\n  }"
        );
        assert_eq!(Object::parse("{}").unwrap().with("b", "2"), "{\"b\": 2}");
        assert_eq!(Object::parse("{\"b\":1}").unwrap().with("c", "2"), "{\"b\":1,\"c\": 2}");
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        let object = Object::parse(r#"{"a": 1, "a": 2}"#).unwrap();
        assert_eq!(object.int("a"), Some(2));
        assert_eq!(object.with("a", "3"), r#"{"a": 1, "a": 3}"#);
    }

    #[test]
    fn lone_surrogates_are_read_and_pairs_are_kept() {
        assert_eq!(string(r#""cut \ud83d here""#).unwrap(), "cut \u{fffd} here");
        assert_eq!(string(r#""\ude00\ud83d""#).unwrap(), "\u{fffd}\u{fffd}");
        assert_eq!(string(r#""\ud83d\ude00 \ud83d""#).unwrap(), "😀 \u{fffd}");
        assert_eq!(string(r#""\\ud83d \ud83d""#).unwrap(), "\\ud83d \u{fffd}");
        assert_eq!(string("7"), None);
        let key = Object::parse(r#"{"\ud83d": 1, "b": 2}"#).unwrap();
        assert_eq!(key.int("b"), Some(2));
    }

    #[test]
    fn what_is_not_whole_says_so() {
        let why = |text| Array::parse(text).err().unwrap().0;
        assert_eq!(why(""), "the file is empty");
        assert_eq!(why("{}"), "it is not an array");
        assert!(why("[{\"a\": 1").starts_with("not whole JSON: EOF"), "{}", why("[{\"a\": 1"));
        assert!(why("[] []").starts_with("not whole JSON: trailing"));
    }
}
