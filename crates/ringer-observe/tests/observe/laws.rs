//! What holds for every stream.

use proptest::prelude::*;
use proptest::sample::Index;
use ringer_observe::{Counts, Event, Observer, Scanner, SessionState};

use crate::lives::life;
use crate::stage::{names, scan, scan_in};

/// Where a stream breaks off, from which earlier line it comes again, and whether the reader broke off, too.
type Cut = (Index, Index, bool);

/// The state in the end, and all that was told, in no order.
type Seen = (SessionState, Vec<String>);

/// Bytes that break off and begin again at a line that was there before.
fn deliver(text: &[u8], cuts: &[Cut]) -> Seen {
    let mut starts = vec![0];
    starts.extend(memchr::memchr_iter(b'\n', text).map(|at| at + 1));
    let (mut scanner, mut observer, mut events) = (Scanner::new(), Observer::new(), Vec::new());
    let mut feed = |scanner: &mut Scanner, observer: &mut Observer, bytes: &[u8]| {
        scanner.feed(bytes, observer, |_, seen| events.extend(seen.events));
    };
    let mut from = 0;
    for (cut, back, is_restarted) in cuts {
        let to = from + cut.index(text.len() - from + 1);
        feed(&mut scanner, &mut observer, &text[from..to]);
        if *is_restarted {
            // What was left of a line is forgotten with the scanner.
            scanner = Scanner::new();
            observer = serde_json::from_str(&serde_json::to_string(&observer).unwrap()).unwrap();
        } else {
            feed(&mut scanner, &mut observer, b"\n");
        }
        let earlier = starts.iter().take_while(|start| **start <= to).count();
        from = starts[back.index(earlier)];
    }
    feed(&mut scanner, &mut observer, &text[from..]);
    scanner.finish(&mut observer, |_, seen| events.extend(seen.events));
    events.extend(observer.finish());
    (observer.state(), sorted(&events))
}

fn sorted(events: &[Event]) -> Vec<String> {
    let mut events: Vec<_> =
        events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    events.sort();
    events
}

/// Bytes that look like lines, more or less.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "\n",
        "\r\n",
        "{",
        "}",
        "{\"type\":\"assistant\"",
        "{\"type\":\"user\",\"message\":{\"content\":[",
        "{\"type\":\"result\"}\n",
        "\"SendMessage\"",
        "\"TeamCreate\"",
        "\"tool_result\"",
        "\0",
        "\u{feff}",
        "[[[[",
        "<teammate-message teammate_id=\\\"a\\\">\\n",
        "\"timestamp\":\"2026-02-05T20:30:00Z\"",
        "\n\n",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"TaskList\",\"input\":{}}]}}\n",
    ];
    let piece = prop_oneof![
        3 => prop::sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => life().prop_map(|lines| lines.concat().into_bytes()),
        1 => (life(), any::<Index>()).prop_map(|(lines, at)| {
            let text = lines.join("\n").into_bytes();
            text[at.index(text.len() + 1)..].to_vec()
        }),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(1024))]

    #[test]
    fn a_stream_that_is_cut_and_repeated_anywhere_is_the_whole_stream_once(
        lines in life(),
        cuts in prop::collection::vec(any::<Cut>(), 0..6),
        end in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        let text = lines.join(end);
        let (whole, told) = deliver(text.as_bytes(), &[]);
        let (state, events) = deliver(text.as_bytes(), &cuts);
        prop_assert_eq!(state, whole, "{}", text);
        prop_assert_eq!(events, told, "{}", text);
    }

    #[test]
    fn any_bytes_at_all_are_so_many_lines(bytes in bytes(), size in 1..64_usize) {
        let (observer, counts, events) = scan(&bytes);
        let ends = memchr::memchr_iter(b'\n', &bytes).count();
        let is_open = bytes.last().is_some_and(|last| *last != b'\n');
        prop_assert_eq!(counts.lines, (ends + usize::from(is_open)) as u64);
        let Counts { lines, broken, odd, repeated } = counts;
        prop_assert!(broken + odd + repeated <= lines, "{:?}", counts);
        let pieces: Vec<_> = bytes.chunks(size).collect();
        let (in_pieces, counts_in_pieces, events_in_pieces) = scan_in(&pieces);
        prop_assert_eq!((in_pieces.state(), counts_in_pieces), (observer.state(), counts));
        prop_assert_eq!(events_in_pieces, events);
    }
}

/// The laws would say nothing of lives in which nothing happens.
#[test]
fn lives_are_full_of_everything() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut told = std::collections::BTreeMap::new();
    for _ in 0..200 {
        let lines = life().new_tree(&mut runner).unwrap().current();
        let (_, _, events) = scan(lines.join("\n").as_bytes());
        for name in names(&events) {
            *told.entry(name).or_insert(0) += 1;
        }
    }
    assert_eq!(told.len(), 14, "{told:?}");
    assert!(told.values().all(|times| *times >= 20), "{told:?}");
}
