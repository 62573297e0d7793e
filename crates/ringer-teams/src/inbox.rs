//! What is in an inbox: entries, and rows that are none.
//!
//! Owns reading them. A row that is not understood is never dropped and never stops the others.

use crate::json::{Array, NotWhole, Object};
use crate::message::Structured;

/// One message in an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Who sent it. Whoever can write the file can write any name here.
    pub from: String,
    /// The text as written; a [`Structured`] message has JSON in it.
    pub text: String,
    /// A few words for people.
    pub summary: Option<String>,
    /// When it was sent, as written.
    pub timestamp: String,
    /// The sender's colour.
    pub color: Option<String>,
    /// Its identity, on versions that give it one.
    pub msg_id: Option<String>,
    /// `message` on versions that say so.
    pub kind: Option<String>,
    /// Whether it was taken.
    pub read: bool,
    /// The entry as it stands in the file, unknown fields and all.
    pub raw: String,
}

impl Entry {
    /// Whether nothing tells it from another one that says the same: then the next one like it can
    /// be known as new only by being one more.
    pub fn is_indistinct(&self) -> bool {
        self.msg_id.is_none() && self.timestamp.is_empty()
    }

    /// The structured message in the text, if it holds one.
    pub fn structured(&self) -> Option<Structured> {
        Structured::parse(&self.text)
    }
}

/// A row of an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A message.
    Entry(Entry),
    /// Something else. It stays in the file as it is.
    Odd(Odd),
}

/// Something in a shared file that is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Odd {
    /// Its text.
    pub raw: String,
    /// What is wrong with it.
    pub why: String,
}

impl Row {
    pub(crate) fn parse(raw: &str) -> Self {
        Self::entry(raw).map_or_else(|why| Self::Odd(Odd { raw: raw.to_owned(), why }), Self::Entry)
    }

    fn entry(raw: &str) -> Result<Entry, String> {
        let object = Object::parse(raw).map_err(|e| e.to_string())?;
        let need = |key| object.string(key).ok_or_else(|| format!("it has no string `{key}`"));
        let read = match object.get("read") {
            None => false,
            Some(value) => object
                .bool("read")
                .ok_or_else(|| format!("its `read` is {value}, not a boolean"))?,
        };
        Ok(Entry {
            from: need("from")?,
            text: need("text")?,
            summary: object.string("summary"),
            timestamp: object.string("timestamp").unwrap_or_default(),
            color: object.string("color"),
            msg_id: object.string("msg_id"),
            kind: object.string("type"),
            read,
            raw: raw.to_owned(),
        })
    }

    /// The entry, if it is one.
    pub fn as_entry(&self) -> Option<&Entry> {
        match self {
            Self::Entry(entry) => Some(entry),
            Self::Odd(_) => None,
        }
    }
}

/// All that is in an inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inbox {
    /// In the order of the file.
    pub rows: Vec<Row>,
}

impl Inbox {
    /// Reads the text of an inbox file.
    pub fn parse(text: &str) -> Result<Self, NotWhole> {
        Ok(Self::of(&Array::parse(text)?))
    }

    pub(crate) fn of(array: &Array<'_>) -> Self {
        Self { rows: array.items.iter().map(|raw| Row::parse(raw)).collect() }
    }

    /// The messages.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.rows.iter().filter_map(Row::as_entry)
    }

    /// What was not understood.
    pub fn odd(&self) -> impl Iterator<Item = &Odd> {
        self.rows.iter().filter_map(|row| match row {
            Row::Odd(odd) => Some(odd),
            Row::Entry(_) => None,
        })
    }

    /// How many messages nobody has taken yet.
    pub fn unread(&self) -> usize {
        self.entries().filter(|entry| !entry.read).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_no_entries_are_reported_and_do_not_stop_the_others() {
        let text = r#"[7, {"from": "a", "text": "x"}, {"from": 1, "text": "x"}, {"from": "b", "text": "\ud83d", "read": true}, {"from": "c", "text": "y", "read": "no"}]"#;
        let inbox = Inbox::parse(text).unwrap();
        let entries: Vec<_> = inbox.entries().map(|e| (e.from.as_str(), e.read)).collect();
        assert_eq!(entries, [("a", false), ("b", true)]);
        let odd: Vec<_> = inbox.odd().map(|odd| odd.why.as_str()).collect();
        assert_eq!(
            odd,
            [
                "it is not an object",
                "it has no string `from`",
                "its `read` is \"no\", not a boolean"
            ]
        );
        assert_eq!(inbox.unread(), 1);
    }
}
