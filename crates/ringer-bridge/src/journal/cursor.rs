//! Which entries of an inbox are new: the read cursor.
//!
//! Owns what makes two entries the same. Nothing here depends on their places in the file or on how
//! many there are: inboxes are pruned, emptied, replaced and made anew.
//!
//! An entry is known by its `msg_id` and content. Without a `msg_id`, equal entries can be genuine,
//! so they are counted: if a file has three of a kind where it never had more than two, one is new.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use ringer_teams::{Entry, Inbox, Row};
use sha2::{Digest, Sha256};

/// What makes an entry the one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity([u8; 16]);

impl Identity {
    /// The identity of an entry. Marks and unknown fields do not matter. The content matters even
    /// with a `msg_id`, so that a repeated id cannot hide another message.
    pub fn of(entry: &Entry) -> Self {
        let mut hash = Sha256::new();
        let id = entry.msg_id.as_deref().unwrap_or_default();
        for part in [id, &entry.from, &entry.timestamp, &entry.text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut identity = [0; 16];
        identity.copy_from_slice(&hash.finalize()[..16]);
        Self(identity)
    }

    pub(super) fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// What one look at an inbox found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The places of new entries that nobody has read, in the order of the file.
    pub(super) fresh: Vec<usize>,
    /// Identities whose count has grown, with the new count.
    pub(super) grown: Vec<(Identity, u32)>,
}

/// Entries of one kind.
struct Kind {
    /// How many were known before.
    known: usize,
    /// How many there are, and the places of those that nobody has read.
    count: usize,
    unread: Vec<usize>,
}

/// Compares an inbox with what is known of it.
pub(super) fn compare<E>(
    entries: &[&Entry],
    mut known: impl FnMut(&Identity) -> Result<u32, E>,
) -> Result<Found, E> {
    let mut kinds: HashMap<Identity, Kind> = HashMap::new();
    for (place, entry) in entries.iter().enumerate() {
        // Nobody is to get it any more, and there is no other like it.
        if entry.read && entry.msg_id.is_some() {
            continue;
        }
        let identity = Identity::of(entry);
        let kind = match kinds.entry(identity) {
            Slot::Occupied(slot) => slot.into_mut(),
            Slot::Vacant(slot) => {
                let known = known(&identity)? as usize;
                slot.insert(Kind { known, count: 0, unread: Vec::new() })
            }
        };
        // A `msg_id` is given once: the same entry twice is a copy.
        if entry.msg_id.is_some() && kind.count == 1 {
            continue;
        }
        kind.count += 1;
        if !entry.read {
            kind.unread.push(place);
        }
    }
    let mut found = Found::default();
    for (identity, kind) in kinds.into_iter().filter(|(_, kind)| kind.count > kind.known) {
        // Those that were read are surely old, and new ones come last.
        let old = kind.unread.len().saturating_sub(kind.count - kind.known);
        found.fresh.extend(&kind.unread[old..]);
        found.grown.push((identity, u32::try_from(kind.count).unwrap_or(u32::MAX)));
    }
    found.fresh.sort_unstable();
    Ok(found)
}

/// Which rows of an inbox may be marked as read: of each kind as many as are known, so that one that
/// came in the meantime is not taken for one of them.
pub(crate) fn to_mark(inbox: &Inbox, delivered: &HashMap<Identity, u32>) -> Vec<bool> {
    let mut left = delivered.clone();
    let identities: Vec<Option<Identity>> =
        inbox.rows.iter().map(|row| row.as_entry().map(Identity::of)).collect();
    let mut take = |identity: &Option<Identity>| {
        let count = identity.as_ref().and_then(|identity| left.get_mut(identity));
        count.filter(|count| **count > 0).map(|count| *count -= 1).is_some()
    };
    let is_read = |row: &Row| row.as_entry().is_some_and(|entry| entry.read);
    for (row, identity) in inbox.rows.iter().zip(&identities) {
        if is_read(row) {
            take(identity);
        }
    }
    let rows = inbox.rows.iter().zip(&identities);
    rows.map(|(row, identity)| !is_read(row) && take(identity)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn entry(msg_id: Option<&str>, timestamp: &str, text: &str) -> Entry {
        Entry {
            from: "team-lead".into(),
            text: text.into(),
            summary: None,
            timestamp: timestamp.into(),
            color: None,
            msg_id: msg_id.map(Into::into),
            kind: None,
            read: false,
            raw: String::new(),
        }
    }

    /// What the journal does with what was found.
    #[derive(Default)]
    struct Cursor(HashMap<Identity, u32>);

    impl Cursor {
        fn look(&mut self, file: &[Entry]) -> Vec<Entry> {
            let entries: Vec<&Entry> = file.iter().collect();
            let known = |identity: &Identity| Ok(self.0.get(identity).copied().unwrap_or(0));
            let Ok::<_, Infallible>(found) = compare(&entries, known);
            self.0.extend(found.grown);
            found.fresh.into_iter().map(|place| file[place].clone()).collect()
        }
    }

    #[test]
    fn a_repeated_id_with_other_content_is_another_message() {
        let mut cursor = Cursor::default();
        let file =
            [entry(Some("a"), "1", "x"), entry(Some("a"), "1", "x"), entry(Some("a"), "1", "y")];
        let texts: Vec<_> = cursor.look(&file).into_iter().map(|e| e.text).collect();
        assert_eq!(texts, ["x", "y"]);
    }

    #[test]
    fn what_somebody_has_read_is_known_and_not_delivered() {
        let mut cursor = Cursor::default();
        let mut taken = entry(None, "1", "x");
        taken.read = true;
        assert!(cursor.look(std::slice::from_ref(&taken)).is_empty());
        taken.read = false;
        assert!(cursor.look(&[taken]).is_empty());
    }

    /// What can happen to an inbox between two looks.
    #[derive(Debug, Clone)]
    enum Op {
        Append { id: bool, twin_of: Option<usize> },
        MarkAll,
        Remove(Vec<bool>),
        Shuffle(Vec<usize>),
        Empty,
        Restore(usize),
        Look,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            4 => (any::<bool>(), proptest::option::weighted(0.3, 0..6_usize))
                .prop_map(|(id, twin_of)| Op::Append { id, twin_of }),
            1 => Just(Op::MarkAll),
            1 => proptest::collection::vec(any::<bool>(), 8).prop_map(Op::Remove),
            1 => proptest::collection::vec(0..8_usize, 8).prop_map(Op::Shuffle),
            1 => Just(Op::Empty),
            1 => (0..10_usize).prop_map(Op::Restore),
            5 => Just(Op::Look),
        ]
    }

    proptest! {
        /// The law: whatever is done to the file, an entry is delivered as often as there were
        /// genuine ones of its kind side by side in a file that we looked at, and not once more.
        #[test]
        fn every_entry_is_found_exactly_once(ops in proptest::collection::vec(op(), 1..60)) {
            let mut cursor = Cursor::default();
            let mut file: Vec<Entry> = Vec::new();
            let mut backups: Vec<Vec<Entry>> = vec![Vec::new()];
            let mut most: HashMap<Identity, usize> = HashMap::new();
            let mut delivered: HashMap<Identity, usize> = HashMap::new();
            let mut made = 0;
            for op in ops.into_iter().chain([Op::Look]) {
                match op {
                    Op::Append { id, twin_of } => {
                        let twin = twin_of.and_then(|at| file.get(at)).filter(|e| e.msg_id.is_none());
                        let new = twin.cloned().unwrap_or_else(|| {
                            made += 1;
                            let msg_id = format!("id-{made}");
                            entry(id.then_some(msg_id.as_str()), &made.to_string(), "same words")
                        });
                        file.push(Entry { read: false, ..new });
                        backups.push(file.clone());
                    }
                    // What the daemon does after it delivered all that it has found.
                    Op::MarkAll => {
                        let rows = file.iter().cloned().map(Row::Entry).collect();
                        let marked = to_mark(&Inbox { rows }, &cursor.0);
                        for (entry, marked) in file.iter_mut().zip(marked) {
                            entry.read |= marked;
                        }
                    }
                    Op::Remove(which) => {
                        let mut which = which.into_iter();
                        file.retain(|_| which.next().unwrap_or(true));
                    }
                    Op::Shuffle(order) => {
                        for (a, b) in order.into_iter().enumerate() {
                            if a < file.len() && b < file.len() {
                                file.swap(a, b);
                            }
                        }
                    }
                    Op::Empty => file.clear(),
                    Op::Restore(at) => file = backups[at % backups.len()].clone(),
                    Op::Look => {
                        for entry in cursor.look(&file) {
                            *delivered.entry(Identity::of(&entry)).or_default() += 1;
                        }
                        for entry in &file {
                            let same = file.iter().filter(|e| Identity::of(e) == Identity::of(entry));
                            let most = most.entry(Identity::of(entry)).or_default();
                            *most = (*most).max(same.count());
                        }
                    }
                }
            }
            prop_assert_eq!(delivered, most);
        }
    }
}
