//! What does not work, until it does.
//!
//! Owns that each problem is said once, however often it is met.

use std::collections::BTreeMap;

use tracing::{info, warn};

/// Problems by what each is about.
#[derive(Debug, Default)]
pub(crate) struct Problems(BTreeMap<String, String>);

impl Problems {
    pub(crate) fn report(&mut self, about: &str, why: &str) {
        let old = self.0.insert(about.to_owned(), why.to_owned());
        if old.as_deref() != Some(why) {
            warn!("{why}");
        }
    }

    pub(crate) fn solve(&mut self, about: &str) {
        if self.0.remove(about).is_some() {
            info!("{about}: good again");
        }
    }

    /// These are all the problems whose subjects begin like this.
    pub(crate) fn replace(&mut self, prefix: &str, all: impl Iterator<Item = (String, String)>) {
        let all: BTreeMap<String, String> = all.collect();
        let solved: Vec<String> = self
            .0
            .keys()
            .filter(|about| about.starts_with(prefix) && !all.contains_key(*about))
            .cloned()
            .collect();
        for about in solved {
            self.solve(&about);
        }
        for (about, why) in all {
            self.report(&about, &why);
        }
    }

    pub(crate) fn list(&self) -> Vec<String> {
        self.0.values().cloned().collect()
    }
}
