//! Who is still there: the system tells when a worker's process ends.
//!
//! Owns one watch per worker. Nothing is asked again and again; what cannot be watched is looked at with everything
//! else now and then.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::core::Event;
use crate::claim::Claim;
use crate::journal::MemberId;
use crate::roster::{Roster, RosterEntry};

/// All watches.
#[derive(Debug)]
pub(crate) struct Presence {
    events: mpsc::Sender<Event>,
    watched: HashMap<MemberId, (Claim, AbortHandle)>,
}

impl Presence {
    pub(crate) fn new(events: mpsc::Sender<Event>) -> Self {
        Self { events, watched: HashMap::new() }
    }

    /// Watches those who are on the roster, and nobody else.
    pub(crate) fn assign(&mut self, roster: &Roster) {
        let mut wanted: HashMap<MemberId, Claim> =
            roster.members.iter().filter_map(|m| Some((m.id(), process(m)?))).collect();
        self.watched.retain(|id, (who, task)| {
            let stays = wanted.get(id) == Some(who);
            if stays {
                wanted.remove(id);
            } else {
                task.abort();
            }
            stays
        });
        for (id, who) in wanted {
            let (events, member, process) = (self.events.clone(), id.clone(), who.clone());
            let task = tokio::spawn(async move {
                ended(&process).await;
                events.send(Event::Ended(member)).await.ok();
            });
            self.watched.insert(id, (who, task.abort_handle()));
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        for (_, task) in self.watched.values() {
            task.abort();
        }
    }
}

/// The process that a worker is there with: its host's, or its own in a pane that somebody else opened. One that is
/// known to be away is waited for otherwise.
fn process(entry: &RosterEntry) -> Option<Claim> {
    if let Some(birth) = &entry.birth {
        return Some(birth.host.clone());
    }
    let worker = entry.occupant.as_ref()?.foreground.as_ref()?;
    entry.away_since.is_none().then(|| Claim::new(worker.pid, worker.started))
}

/// Waits until a process has ended.
async fn ended(process: &Claim) {
    let pid = i32::try_from(process.pid()).ok().and_then(Pid::from_raw);
    let opened = pid.map(|pid| pidfd_open(pid, PidfdFlags::NONBLOCK));
    // Opened first and looked at then: a number that was used again is found out.
    if !process.is_alive() {
        return;
    }
    let watch = opened.and_then(|fd| watch(fd.ok()?));
    match &watch {
        Some(watch) => drop(watch.readable().await),
        None => std::future::pending().await,
    }
}

#[expect(deprecated, reason = "unsound only for what does not own its descriptor, and this does")]
fn watch(process: OwnedFd) -> Option<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(process, Interest::READABLE).ok()
}
