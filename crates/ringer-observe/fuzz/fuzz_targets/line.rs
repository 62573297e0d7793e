//! Any bytes at all, as a stream. However they are cut, the same is seen; and nothing makes it panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ringer_observe::{Counts, Observer, Scanner, SessionState};

/// What is seen if bytes come in pieces of this size: the first is shorter, so that cuts are everywhere.
fn seen(bytes: &[u8], first: usize, size: usize) -> (SessionState, Counts, Vec<String>) {
    let (mut scanner, mut observer) = (Scanner::new(), Observer::new());
    let mut told = Vec::new();
    let (head, rest) = bytes.split_at(first.min(bytes.len()));
    for piece in std::iter::once(head).chain(rest.chunks(size)) {
        scanner.feed(piece, &mut observer, |number, seen| told.push(format!("{number} {seen:?}")));
        let state = observer.state();
        let members = state.team.iter().flat_map(|team| &team.members);
        assert!(state.agents.iter().eq(members.map(|member| &member.name)));
    }
    scanner.finish(&mut observer, |number, seen| told.push(format!("{number} {seen:?}")));
    let left = observer.finish();
    told.push(format!("{left:?}"));
    (observer.state(), scanner.counts(), told)
}

fuzz_target!(|input: &[u8]| {
    // The first byte says where to cut.
    let Some((cut, bytes)) = input.split_first() else { return };
    let whole = seen(bytes, bytes.len(), 1);
    let pieces = seen(bytes, usize::from(cut >> 4), usize::from(cut & 15) + 1);
    assert_eq!(whole, pieces);
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    let is_open = bytes.last().is_some_and(|last| *last != b'\n');
    assert_eq!(whole.1.lines, (lines + usize::from(is_open)) as u64);
});
