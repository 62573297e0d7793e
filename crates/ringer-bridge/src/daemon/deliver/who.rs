//! Who is in the pane: is it our worker, and does it listen yet?

use std::time::{Duration, Instant, SystemTime};

use ringer_panes::{Occupant, Pane, Sight, Verdict};
use tracing::warn;

use super::super::later::{Again, Later, Note, one_line, pane_changed, shell};
use super::super::shared::here;
use super::Delivery;
use crate::roster::Roster;

/// A worker that was started again is given so long to take the terminal over.
const STARTING: Duration = Duration::from_secs(1);

/// A worker that was started less than this ago may not listen yet, though it shows its prompt; after
/// this long at its prompt it does.
const LONG_AGO: Duration = Duration::from_mins(1);
const LISTENING: Duration = Duration::from_millis(500);

impl<P: Pane> Delivery<'_, P> {
    /// Whether this is our worker.
    pub(super) fn recognise(&mut self, sight: &Sight) -> Result<(), Later> {
        let (known, now) = (&self.place.occupant, &sight.occupant);
        match known.as_ref().map(|known| Occupant::judge(known, now)) {
            _ if now.at_shell_prompt() => return Err(shell()),
            Some(Verdict::Shell) => return Err(shell()),
            Some(Verdict::Other) => return Err(pane_changed()),
            Some(Verdict::Elsewhere) if !self.place.unique => return Err(pane_changed()),
            // Nobody has ever said who should be there: only a pane that was opened for a program.
            None if !now.is_its_own_command() => return Err(pane_changed()),
            Some(Verdict::Same | Verdict::Restarted | Verdict::Elsewhere) | None => {}
        }
        let run = |occupant: &Occupant| occupant.foreground.as_ref().map(|f| (f.pid, f.started));
        if known.as_ref().is_none_or(|known| known.pid != now.pid || run(known) != run(now)) {
            // Just started: what is typed now goes to the terminal, not to the program.
            self.newcomer.take_if(|(who, _)| who != now);
            let (_, since) = self.newcomer.get_or_insert_with(|| (now.clone(), Instant::now()));
            if since.elapsed() < STARTING {
                return Err(Later::new("starting", "the worker was just started"));
            }
            if self.message.entering {
                // What stood in the prompt is gone with the program that had it.
                let (id, now) = (self.message.id, SystemTime::now());
                here(|| self.shared.journal.not_entered(id, "starting", now))?;
                let later =
                    Later::new("starting", "the worker was just started").note(Note::Nothing);
                return Err(later.again(Again::Soon(Duration::ZERO)));
            }
            let (id, pane) = (&self.place.id, &self.place.pane);
            let bind = || Roster::bind(&self.shared.state, &id.team_dir, &id.name, pane, now);
            if let Err(error) = here(bind) {
                warn!(member = %self.place.id, "{}", one_line(&error));
            }
        }
        Ok(())
    }

    /// Whether it takes a paste as one. Some programs draw their prompt a moment before they do; where
    /// that cannot be seen, one that was just started is given some time.
    pub(super) fn listens(&mut self, sight: &Sight) -> Result<(), Later> {
        let Some(run) = sight.occupant.foreground.as_ref().filter(|_| !self.profile.is_plain())
        else {
            return Ok(());
        };
        if sight.takes_paste.is_some() || run.age().is_none_or(|age| age > LONG_AGO) {
            return Ok(());
        }
        self.at_prompt.take_if(|(pid, _)| *pid != run.pid);
        let (_, since) = self.at_prompt.get_or_insert_with(|| (run.pid, Instant::now()));
        if since.elapsed() < LISTENING {
            let later = Later::new("starting", "the worker was just started");
            return Err(later.again(Again::Soon(LISTENING)));
        }
        Ok(())
    }
}
