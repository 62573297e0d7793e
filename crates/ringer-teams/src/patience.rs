//! Waiting for a lock that others want too.
//!
//! Owns how often it is tried, and for how long.

use std::thread;
use std::time::{Duration, Instant};

/// The pause between two tries doubles from the first to the second, with jitter. A short wait
/// costs next to nothing; in a crowd we step back, for we can wait and Claude Code cannot.
const PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(128));

/// How long a lock is tried for, and how long until the next try.
#[derive(Debug)]
pub(crate) struct Patience {
    started: Instant,
    wait: Duration,
    pause: Duration,
}

impl Patience {
    pub(crate) fn new(wait: Duration) -> Self {
        Self { started: Instant::now(), wait, pause: PAUSE.0 }
    }

    /// Sleeps until the next try; if it is at its end, says how long it has been.
    pub(crate) fn pause(&mut self) -> std::result::Result<(), Duration> {
        let tried = self.started.elapsed();
        if tried >= self.wait {
            return Err(tried);
        }
        let jitter = 0.5 + fastrand::f32();
        thread::sleep(self.pause.mul_f32(jitter).min(self.wait.saturating_sub(tried)));
        self.pause = (self.pause * 2).min(PAUSE.1);
        Ok(())
    }
}
