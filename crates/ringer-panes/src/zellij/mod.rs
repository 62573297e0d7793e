//! Panes of Zellij sessions, by the commands of Zellij 0.44 and newer.
//!
//! Owns what is kept of each pane between two looks. It never starts a session, never focuses,
//! resizes or opens anything, and never types where `list-panes` did not just show a living pane: to
//! Zellij, text for a pane that is not there is a success.
//!
//! [`pane`] says what to do, [`commands`] asks it of Zellij, [`program`] starts the `zellij` that does
//! it, [`listing`] and [`subscription`] read what it says. [`session`] finds the server, [`newborn`]
//! leaves it alone while it is just being started, [`alone`] keeps `zellij` away from all others.
//! [`worker`] finds the process behind a pane, [`leftover`] removes what a killed Ringer left behind.
//!
//! What was measured with Zellij 0.45.1, and decides how it is done:
//!
//! - **The screen comes from a subscription's first message, one for each look.** It shows the rows as
//!   they are drawn, with the end of what scrolled away, says which pane it is of, and takes 5 to 9 ms;
//!   `dump-screen` takes as long, joins wrapped rows, so that the cursor is in none of them, and says
//!   nothing of whose they are. What a subscription tells later is no screen to rely on: it comes
//!   11 ms late, and while somebody is attached, not at all for a pane that nobody sees, in another
//!   tab or among hidden floating panes. It serves to wake who waits, and is over with the first
//!   change.
//! - **One answer in a hundred is not meant for who gets it.** Zellij gives the number of a client that
//!   has gone to the next one before it is done with the former. So `list-panes` prints nothing and
//!   reports success, or the session is «not found», which is reported as a success, too, if there are
//!   others. Then it was not asked anything, and is asked again. With that, 900 of 900 texts for six
//!   panes of two sessions at once arrived, each once and in order.
//! - **A pane that is scrolled up stands still**: what its program writes is kept back, and nothing
//!   tells of it. So before something is typed, the pane is scrolled to its end, and if that changed
//!   what was seen, nothing is typed.
//! - **A pane that another one replaced** (`edit-scrollback`, `--in-place`) is listed as suppressed, and
//!   swallows what is typed.
//! - **Every `zellij` calls at all sessions first**, to see whether they live: one that hangs holds up
//!   all the others, and one that was started a moment ago panics. So it is shown only the one that is
//!   meant, and that not before it has opened a pane.
//! - A `zellij` whose server ends before it has answered goes round in circles for ever: all have a time
//!   limit, and are killed.

mod alone;
mod commands;
mod leftover;
mod listing;
mod newborn;
mod pane;
mod program;
mod session;
mod subscription;
mod worker;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

pub use self::pane::ZellijPane;
use self::program::Program;
pub(crate) use self::program::is_no_session;
use self::session::Server;
use self::subscription::Subscription;
use self::worker::Found;
use crate::address::Address;

/// The Zellij sessions that are in use. Cheap to clone; all clones share what is kept.
#[derive(Debug, Clone, Default)]
pub struct ZellijSessions {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    program: Program,
    /// Set once the program was found to be new enough.
    ready: OnceCell<()>,
    panes: Mutex<HashMap<Address, Kept>>,
}

/// What is kept of a pane.
#[derive(Debug, Default)]
struct Kept {
    /// Tells of the first change since the last look.
    subscription: Option<Subscription>,
    /// The server that has the pane, and its process there, for as long as they live.
    server: Option<Server>,
    worker: Option<Found>,
}

impl ZellijSessions {
    /// Those of a `zellij` that is not the one in `PATH`, with sockets that are not where the
    /// environment says.
    pub fn of(program: impl Into<PathBuf>, sockets: impl Into<PathBuf>) -> Self {
        let program = Program::new(program.into(), sockets.into());
        Self { shared: Arc::new(Shared { program, ..Shared::default() }) }
    }

    /// A pane: a session's name, and `terminal_` with a number.
    pub fn pane(&self, session: &str, pane: &str) -> ZellijPane {
        ZellijPane::new(self.clone(), session.to_owned(), pane.to_owned())
    }

    /// Forgets the panes that are not wanted any more, and ends what waits for changes in them.
    pub fn retain(&self, mut wanted: impl FnMut(&Address) -> bool) {
        self.panes().retain(|address, _| wanted(address));
    }

    /// How each session is talked to, by name, for the status: with a `subscription` that tells of
    /// changes, or by `commands` alone.
    pub fn modes(&self) -> Vec<(String, &'static str)> {
        let mut modes = BTreeMap::new();
        for (address, kept) in &*self.panes() {
            let Address::Zellij { session, .. } = address else { continue };
            let subscribed = modes.entry(session.clone()).or_insert(false);
            *subscribed |= kept.subscription.is_some();
        }
        let mode = |subscribed| if subscribed { "subscription" } else { "commands" };
        modes.into_iter().map(|(session, subscribed)| (session, mode(subscribed))).collect()
    }

    /// Forgets all panes, and ends what waits for changes in them.
    pub fn close_all(&self) {
        self.panes().clear();
    }

    fn panes(&self) -> MutexGuard<'_, HashMap<Address, Kept>> {
        // Nothing that is done under the lock leaves it half done.
        self.shared.panes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with what is kept of a pane.
    fn kept<T>(&self, address: &Address, with: impl FnOnce(&mut Kept) -> T) -> T {
        with(self.panes().entry(address.clone()).or_default())
    }
}
