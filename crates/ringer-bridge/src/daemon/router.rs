//! The Router: for every member one queue, one courier that delivers from it, in order, and one
//! marker.
//!
//! Owns those tasks. The queues themselves are in the journal, so nothing grows in memory, however
//! long a pane is away.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ringer_panes::{Address, Occupant};
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use tracing::{error, warn};

use super::courier::Courier;
use super::marker;
use super::shared::{Shared, here};
use crate::journal::MemberId;

/// Where a member's worker is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Place {
    pub(crate) id: MemberId,
    pub(crate) pane: Address,
    pub(crate) occupant: Option<Occupant>,
    /// The profile of its worker.
    pub(crate) profile: String,
    /// Whether the worker has hooks of ours.
    pub(crate) hooks: bool,
    /// Whether no other member's worker was started with the same command.
    pub(crate) unique: bool,
    /// Whether its mail waits while its team is gone: it may be on another one soon.
    pub(crate) needs_team: bool,
    /// Whether that is so now.
    pub(crate) team_is_gone: bool,
}

/// Where a member is, if it is anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Where {
    /// Its worker is there.
    There(Box<Place>),
    /// It is on another team; this one may come back.
    Moved,
    /// It is not on the roster.
    Removed,
}

/// All deliveries.
#[derive(Debug)]
pub(crate) struct Router {
    shared: Arc<Shared>,
    places: HashMap<MemberId, Place>,
    /// Who is on another team now.
    moved: HashSet<MemberId>,
    /// Teams that are known to be gone.
    gone: HashSet<PathBuf>,
    couriers: HashMap<MemberId, watch::Sender<Where>>,
    tasks: JoinSet<()>,
    /// Whose each task is.
    owners: HashMap<Id, MemberId>,
}

impl Router {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            places: HashMap::new(),
            moved: HashSet::new(),
            gone: HashSet::new(),
            couriers: HashMap::new(),
            tasks: JoinSet::new(),
            owners: HashMap::new(),
        }
    }

    /// Says where all members are now, and who has moved to another team.
    pub(crate) fn assign(&mut self, places: Vec<Place>, moved: HashSet<MemberId>) {
        let old = std::mem::take(&mut self.places);
        self.moved = moved;
        let place = |place: Place| {
            let team_is_gone = place.needs_team && self.gone.contains(&place.id.team_dir);
            (place.id.clone(), Place { team_is_gone, ..place })
        };
        self.places = places.into_iter().map(place).collect();
        for (id, place) in &self.places {
            // With another pane, what was given up is worth another try.
            let moved = old.get(id).is_none_or(|old| {
                (&old.pane, &old.occupant, &old.profile)
                    != (&place.pane, &place.occupant, &place.profile)
            });
            if moved
                && !old.is_empty()
                && let Err(error) = here(|| self.shared.journal.revive(id))
            {
                warn!(member = %id, "{error}");
            }
        }
        self.tell_couriers();
        self.shared.terminals.retain(self.places.values().map(|place| &place.pane));
    }

    fn tell_couriers(&self) {
        for (id, courier) in &self.couriers {
            let place = self.place_of(id);
            courier.send_if_modified(|old| {
                let changed = *old != place;
                *old = place;
                changed
            });
        }
    }

    fn place_of(&self, id: &MemberId) -> Where {
        match self.places.get(id) {
            Some(place) => Where::There(Box::new(place.clone())),
            None if self.moved.contains(id) => Where::Moved,
            None => Where::Removed,
        }
    }

    /// Whether a member is on another team now.
    pub(crate) fn has_moved(&self, id: &MemberId) -> bool {
        self.moved.contains(id)
    }

    /// Whether a team is there: if not, its members' mail waits for it.
    pub(crate) fn team_is(&mut self, dir: &Path, there: bool) {
        let news = if there { self.gone.remove(dir) } else { self.gone.insert(dir.to_owned()) };
        if news {
            let members = self.places.values_mut().filter(|place| place.id.team_dir == dir);
            members.for_each(|place| place.team_is_gone = place.needs_team && !there);
            self.tell_couriers();
        }
    }

    /// There is something for a member, or to be marked for it.
    pub(crate) fn wake(&mut self, id: &MemberId) {
        self.bury();
        if self.shared.ring(id) {
            return;
        }
        let Some(place) = self.places.get(id) else {
            return;
        };
        let bell = self.shared.hang_bell(id);
        let (send, receive) = watch::channel(Where::There(Box::new(place.clone())));
        let marks = marker::run(self.shared.clone(), id.clone(), bell.clone());
        let courier = Courier::new(id.clone(), self.shared.clone(), bell, receive);
        let tasks = [self.tasks.spawn(courier.run()), self.tasks.spawn(marks)];
        self.owners.extend(tasks.map(|task| (task.id(), id.clone())));
        self.couriers.insert(id.clone(), send);
        self.shared.ring(id);
    }

    /// Forgets couriers that have ended: their members were removed, or there is a mistake in the
    /// program. Then the next message starts a new one.
    pub(crate) fn bury(&mut self) {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            let task = match &ended {
                Ok((task, ())) => *task,
                Err(error) => error.id(),
            };
            let Some(id) = self.owners.remove(&task) else {
                continue;
            };
            if let Err(error) = &ended {
                error!(member = %id, "a delivery broke down: {error}");
            }
            self.couriers.remove(&id);
            self.shared.take_bell(&id);
        }
    }

    /// Waits for the deliveries in hand, but not for long.
    pub(crate) async fn finish(mut self, limit: Duration) {
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(limit, all).await.is_err() {
            warn!(
                "some deliveries did not end in time; they are looked at when the daemon is back"
            );
        }
        self.tasks.abort_all();
    }
}
