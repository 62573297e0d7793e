//! Laws: whatever JSON Claude Code could write, an edit changes nothing but what was asked.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use ringer_teams::{ClaudeDir, Draft, Inbox, Mailbox, NewMember, Row, SyntheticMemberService};
use ringer_testkit::put;

/// Any JSON value as text, laid out at random, with what JavaScript can write and a careful parser
/// may stumble over: lone surrogates, odd numbers, equal keys, deep nesting.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("1e400".to_owned()),
        Just("-0".to_owned()),
        Just("0.10".to_owned()),
        Just("12345678901234567890123".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        text(),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let gap = prop_oneof![Just(""), Just(" "), Just("\n  ")];
        prop_oneof![
            (vec(inner.clone(), 0..6), gap.clone())
                .prop_map(|(items, gap)| format!("[{gap}{}{gap}]", items.join(&format!(",{gap}")))),
            (vec((text(), inner), 0..6), gap).prop_map(|(fields, gap)| {
                let fields: Vec<_> = fields.iter().map(|(k, v)| format!("{k}:{gap}{v}")).collect();
                format!("{{{gap}{}{gap}}}", fields.join(&format!(",{gap}")))
            }),
        ]
    })
}

/// A JSON string as text.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap()),
        prop_oneof![Just(r#""\ud83d""#), Just(r#""\ude00 \ud83d\ude00""#), Just(r#""[{\"]}""#)]
            .prop_map(str::to_owned),
    ]
}

/// A row of an inbox: an entry with unknown fields around and inside, or anything at all.
fn row() -> impl Strategy<Value = String> {
    let entry = (text(), text(), any::<bool>(), json(), json()).prop_map(|(from, text, read, a, b)| {
        format!("{{\n    \"x\": {a},\n    \"from\": {from},\n    \"text\": {text},\n    \"read\": {read},\n    \"lead_sig\": {b}\n  }}")
    });
    prop_oneof![3 => entry, 1 => json()]
}

fn inbox() -> impl Strategy<Value = Vec<String>> {
    vec(row(), 0..8)
}

fn file(dir: &Path, rows: &[String]) -> Mailbox {
    let path = dir.join("x.json");
    let text =
        if rows.is_empty() { "[]".into() } else { format!("[\n  {}\n]", rows.join(",\n  ")) };
    put(&path, &text);
    Mailbox::new(path)
}

/// The text of each row, as it stands in the file.
fn rows(mailbox: &Mailbox) -> Vec<String> {
    let raw = |row: &Row| match row {
        Row::Entry(entry) => entry.raw.clone(),
        Row::Odd(odd) => odd.raw.clone(),
    };
    mailbox.read().unwrap().rows.iter().map(raw).collect()
}

fn is_read(raw: &str) -> Option<bool> {
    Inbox::parse(&format!("[{raw}]")).unwrap().entries().next().map(|entry| entry.read)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn appending_keeps_every_byte_of_every_row(before in inbox(), words in "\\PC*[a-z]\\PC*") {
        let dir = tempfile::tempdir().unwrap();
        let mailbox = file(dir.path(), &before);
        mailbox.append(&Draft::new("a", &words, "t").unwrap()).unwrap();
        let after = rows(&mailbox);
        prop_assert_eq!(&after[..before.len()], &before[..]);
        prop_assert_eq!(after.len(), before.len() + 1);
        let inbox = mailbox.read().unwrap();
        prop_assert_eq!(&inbox.rows.last().unwrap().as_entry().unwrap().text, &words);
    }

    #[test]
    fn marking_changes_nothing_but_the_mark(before in inbox()) {
        let dir = tempfile::tempdir().unwrap();
        let mailbox = file(dir.path(), &before);
        mailbox.mark_read(|_| true).unwrap();
        let after = rows(&mailbox);
        prop_assert_eq!(after.len(), before.len());
        for (old, new) in before.iter().zip(&after) {
            if is_read(old) != Some(false) {
                prop_assert_eq!(old, new);
                continue;
            }
            prop_assert_eq!(is_read(new), Some(true));
            let (read, unread) = ("\n    \"read\": true,", "\n    \"read\": false,");
            prop_assert_eq!(old, &new.replacen(read, unread, 1));
        }
    }

    #[test]
    fn pruning_removes_only_what_was_read_and_keeps_the_tail(before in inbox(), tail in 0usize..4) {
        let dir = tempfile::tempdir().unwrap();
        let mailbox = file(dir.path(), &before);
        let pruned = mailbox.prune(tail).unwrap().value;
        let read = before.iter().filter(|raw| is_read(raw) == Some(true)).count();
        prop_assert_eq!(pruned, read.saturating_sub(tail));
        let mut surplus = pruned;
        let kept: Vec<_> = before.into_iter().filter(|raw| {
            let goes = surplus > 0 && is_read(raw) == Some(true);
            surplus -= usize::from(goes);
            !goes
        }).collect();
        prop_assert_eq!(rows(&mailbox), kept);
    }

    #[test]
    fn taking_gives_what_it_removes(before in inbox()) {
        let dir = tempfile::tempdir().unwrap();
        let mailbox = file(dir.path(), &before);
        let taken = mailbox.take(|entry| !entry.read).unwrap().value;
        let (unread, rest): (Vec<_>, Vec<_>) =
            before.into_iter().partition(|raw| is_read(raw) == Some(false));
        prop_assert_eq!(taken.into_iter().map(|e| e.raw).collect::<Vec<_>>(), unread);
        prop_assert_eq!(rows(&mailbox), rest);
    }
}

proptest! {
    // Each case waits until the change has settled, twice.
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_member_that_came_and_went_leaves_the_configuration_byte_for_byte(
        fields in vec((text(), json()), 0..4),
        others in vec(json(), 0..4),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let members = if others.is_empty() { "[]".into() } else { format!("[\n    {}\n  ]", others.join(",\n    ")) };
        // A key of ours among the unknown ones would be no unknown one.
        let ours = |key: &str| ["\"members\"", "\"name\""].contains(&key);
        prop_assume!(!fields.iter().any(|(key, _)| ours(key)));
        let fields: Vec<_> = fields.iter().map(|(k, v)| format!("\n  {k}: {v},")).collect();
        let text = format!("{{{}\n  \"members\": {members}\n}}", fields.concat());
        fs::create_dir_all(dir.path().join("teams/t")).unwrap();
        let path = dir.path().join("teams/t/config.json");
        put(&path, &text);

        let team = ClaudeDir::new(dir.path()).team("t").unwrap();
        SyntheticMemberService::register(&team, &NewMember::new("rust-impl", "/w", 1)).unwrap();
        let with = fs::read_to_string(&path).unwrap();
        prop_assert!(with.contains("\"agentId\": \"rust-impl@t\""));
        for other in &others {
            prop_assert!(with.contains(other.as_str()));
        }
        SyntheticMemberService::remove(&team, "rust-impl").unwrap();
        prop_assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}
