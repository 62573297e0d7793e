//! The stream itself, with lines added to it.
//!
//! Owns that it comes through byte for byte: nothing is held back, and nothing is put into the middle of a line.

use ringer_observe::{Observer, Scanner, Seen, Supplement};

use crate::context::Context;
use crate::failure::Failure;

/// What passes through.
#[derive(Debug, Default)]
pub(super) struct Tee {
    observer: Observer,
    scanner: Scanner,
    is_within_line: bool,
}

impl Tee {
    pub(super) fn pass(&mut self, context: &Context, bytes: &[u8]) -> Result<(), Failure> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let mut added = Vec::new();
            self.scanner.feed(piece, &mut self.observer, |line, seen| {
                added.extend(supplements(context, line, seen));
            });
            context.out.raw(piece)?;
            self.is_within_line = !piece.ends_with(b"\n");
            added.iter().try_for_each(|line| context.out.data(line))?;
        }
        Ok(context.out.flush()?)
    }

    /// The last line may have no end: what is added then begins one.
    pub(super) fn end(&mut self, context: &Context) -> Result<(), Failure> {
        let mut added = Vec::new();
        self.scanner.finish(&mut self.observer, |line, seen| {
            added.extend(supplements(context, line, seen));
        });
        if self.is_within_line && !added.is_empty() {
            context.out.raw(b"\n")?;
            self.is_within_line = false;
        }
        added.iter().try_for_each(|line| context.out.data(line))?;
        Ok(context.out.flush()?)
    }
}

fn supplements(context: &Context, line: u64, seen: Seen) -> Vec<Supplement> {
    for warning in &seen.warnings {
        context.out.note(&format!("warning: line {line}: {warning}"));
    }
    seen.supplements
}
