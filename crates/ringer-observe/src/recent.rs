//! Lines that were there before.
//!
//! Owns the memory of the last lines that mattered. A stream that is read again from an earlier point, after a crash or
//! a reconnection, repeats lines byte for byte: they have happened once. Bounded; who repeats what is older than the
//! memory meets reducers that do not mind.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

/// So many are remembered.
const MOST: usize = 4096;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "VecDeque<u64>", into = "VecDeque<u64>")]
pub(crate) struct Recent {
    order: VecDeque<u64>,
    known: HashSet<u64>,
}

impl Recent {
    /// Whether this line was not there before; from now on it was.
    pub(crate) fn is_new(&mut self, line: &[u8]) -> bool {
        // The same in every process: its keys are fixed.
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        let hash = hasher.finish();
        if !self.known.insert(hash) {
            return false;
        }
        self.order.push_back(hash);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

impl From<VecDeque<u64>> for Recent {
    fn from(order: VecDeque<u64>) -> Self {
        Self { known: order.iter().copied().collect(), order }
    }
}

impl From<Recent> for VecDeque<u64> {
    fn from(recent: Recent) -> Self {
        recent.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_new_once_and_memory_is_bounded() {
        let mut recent = Recent::default();
        assert!(recent.is_new(b"a"));
        assert!(!recent.is_new(b"a"));
        let text = serde_json::to_string(&recent).unwrap();
        let mut restored: Recent = serde_json::from_str(&text).unwrap();
        assert!(!restored.is_new(b"a"));
        for n in 0..2 * MOST {
            assert!(recent.is_new(n.to_string().as_bytes()));
        }
        assert_eq!((recent.order.len(), recent.known.len()), (MOST, MOST));
        assert!(recent.is_new(b"a"), "it is forgotten by now");
    }
}
