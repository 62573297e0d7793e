//! One message into one pane.
//!
//! Owns the order of things, and with it what a crash at each step means:
//!
//! | the daemon ends … | the journal says | the next one |
//! |---|---|---|
//! | before the text is typed, or while | `delivering` | looks; if the screen does not show it, types it, marked as a second copy |
//! | after the text is typed | `delivering` | looks; if the screen shows it, presses Enter |
//! | around Enter | `delivering`, `entering` | looks; if it stands before the cursor, presses Enter; if it is elsewhere on the screen, it was submitted |
//! | after Enter | `delivered` | goes on with the next message |
//!
//! Enter is never pressed unless the screen shows the text, but for workers of which the user says
//! that they show nothing.

use std::time::{Duration, Instant, SystemTime};

use ringer_panes::{Fault, Needle, Occupant, Pane, Payload, Screen, Sight, Verdict};
use ringer_teams::stored;
use tracing::warn;

use super::router::{Place, Shared, here};
use crate::error::Error;
use crate::journal::{Delivered, Message};
use crate::render::{SECOND_COPY, render};
use crate::roster::Roster;
use crate::settings::{Confirm, Settings};

/// After so many copies that the screen never showed, a message is given up.
const MOST_COPIES: u32 = 3;

/// Why a message is not delivered yet.
#[derive(Debug)]
pub(crate) struct Later {
    /// A few words that stay the same.
    pub(crate) reason: &'static str,
    /// The whole story.
    pub(crate) detail: String,
    /// What the journal is to say; nothing if it says it already.
    pub(crate) note: Note,
}

/// What the journal is to say of a message that was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    Waiting,
    /// Nothing was typed, though it says that something was about to be.
    NotTyped,
    /// It was typed, and Enter was not pressed.
    NotEntered,
    /// It is given up.
    Failed,
    /// Nothing: what it says is still true.
    Nothing,
}

impl From<Fault> for Later {
    fn from(fault: Fault) -> Self {
        let hint = fault.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        Self { reason: fault.reason(), detail: format!("{fault}{hint}"), note: Note::Waiting }
    }
}

impl From<Error> for Later {
    fn from(error: Error) -> Self {
        Self { reason: "journal", detail: one_line(&error), note: Note::Nothing }
    }
}

impl Later {
    fn note(mut self, note: Note) -> Self {
        self.note = note;
        self
    }

    fn new(reason: &'static str, detail: &str) -> Self {
        Self { reason, detail: detail.to_owned(), note: Note::Waiting }
    }
}

/// What was seen of a pane a moment ago.
#[derive(Debug)]
pub(crate) struct Glimpse {
    pub(crate) at: Instant,
    pub(crate) sight: Sight,
}

/// So long a glimpse is as good as a look. Whether the same program still runs there and takes keys
/// is checked again in the very command that types.
const GLIMPSE: Duration = Duration::from_millis(20);

/// A delivery in hand.
pub(crate) struct Delivery<'a, P> {
    pub(crate) pane: &'a mut P,
    pub(crate) place: &'a Place,
    pub(crate) message: &'a Message,
    pub(crate) shared: &'a Shared,
    pub(crate) glimpse: Option<Glimpse>,
    /// What the screen showed when the text did not appear on it.
    pub(crate) blank: &'a mut Option<Screen>,
}

impl<P: Pane> Delivery<'_, P> {
    /// Takes it to the pane, or says why not now.
    pub(crate) async fn run(mut self) -> Result<(), Later> {
        let settings = self.shared.settings();
        let permit = self.shared.typing.acquire().await.expect("it is never closed");
        let sight = match self.glimpse.take() {
            Some(glimpse) if glimpse.at.elapsed() < GLIMPSE => glimpse.sight,
            _ => self.pane.look().await?,
        };
        self.admit(&sight)?;
        if self.message.copies > 0 {
            let needle = Needle::of(&self.payload(&settings, self.message.copies)?);
            let shown = count(&needle, &sight.screen) > self.message.shown_before.unwrap_or(0);
            if shown {
                drop(permit);
                return self.finish(&settings, &needle, &sight).await;
            }
            let not_shown = || Later::new("not shown", NOT_SHOWN);
            if self.blank.as_ref() == Some(&sight.screen) {
                return Err(not_shown());
            }
            let gave_up_before = self.message.reason.as_deref() == Some("not shown");
            if self.message.copies >= MOST_COPIES && gave_up_before {
                return Err(not_shown().note(Note::Failed));
            }
        }
        let payload = self.payload(&settings, self.message.copies + 1)?;
        let needle = Needle::of(&payload);
        let queued = since(self.message.received_at);
        let (id, before) = (self.message.id, count(&needle, &sight.screen));
        here(|| self.shared.journal.delivering(id, before, queued, SystemTime::now()))?;
        let start = Instant::now();
        if let Err(fault) = self.pane.paste(&payload, &sight.occupant).await {
            // If nothing was typed for sure, there is no copy of it anywhere.
            let note = if fault.uncertain() { Note::Waiting } else { Note::NotTyped };
            return Err(Later::from(fault).note(note));
        }
        let typed = start.elapsed();
        drop(permit);
        if settings.delivery.confirm == Confirm::Screen {
            self.wait_until_shown(&settings, &needle, &sight.screen).await?;
        }
        self.enter(&settings, &sight.occupant).await?;
        self.done(typed, Some(start.elapsed().saturating_sub(typed))).await;
        Ok(())
    }

    /// Whether this is our worker and may be typed to.
    fn admit(&self, sight: &Sight) -> Result<(), Later> {
        let (known, now) = (&self.place.occupant, &sight.occupant);
        match known.as_ref().map(|known| Occupant::judge(known, now)) {
            Some(Verdict::Shell) => return Err(Later::new("shell", SHELL)),
            Some(Verdict::Other) => return Err(Later::new("pane changed", CHANGED)),
            Some(Verdict::Same | Verdict::Restarted) | None => {}
        }
        if now.at_shell_prompt() {
            return Err(Later::new("shell", SHELL));
        }
        if let Some(fault) = &sight.blocked {
            return Err(fault.clone().into());
        }
        // Seen for the first time, started again, or started from the shell that was seen before.
        if known.as_ref().is_none_or(|known| known.pid != now.pid || known.is_shell()) {
            let (id, pane) = (&self.place.id, &self.place.pane);
            let bind = || Roster::bind(&self.shared.state, &id.team_dir, &id.name, pane, now);
            if let Err(error) = here(bind) {
                warn!(member = %self.place.id, "{}", one_line(&error));
            }
        }
        Ok(())
    }

    /// The text was typed by somebody who then ended, or too late for us to see: submits it, unless
    /// that was done as well.
    async fn finish(
        &mut self,
        settings: &Settings,
        needle: &Needle,
        sight: &Sight,
    ) -> Result<(), Later> {
        if !self.message.entering || needle.at_cursor(&sight.screen) {
            self.enter(settings, &sight.occupant).await?;
        }
        self.done(Duration::ZERO, None).await;
        Ok(())
    }

    async fn wait_until_shown(
        &mut self,
        settings: &Settings,
        needle: &Needle,
        before: &Screen,
    ) -> Result<(), Later> {
        let deadline = Instant::now() + settings.confirm_timeout();
        let mut pause = Duration::from_millis(1);
        loop {
            let sight = self.pane.look().await?;
            if needle.shown(before, &sight.screen) {
                return Ok(());
            }
            if self.shared.is_stopping() {
                return Err(Later::new("stopping", "the daemon ends").note(Note::Nothing));
            }
            if Instant::now() >= deadline {
                *self.blank = Some(sight.screen);
                return Err(Later::new("not shown", NOT_SHOWN));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    async fn enter(&mut self, settings: &Settings, occupant: &Occupant) -> Result<(), Later> {
        tokio::time::sleep(settings.settle()).await;
        here(|| self.shared.journal.entering(self.message.id))?;
        self.pane.enter(occupant).await.map_err(|fault| {
            let note = if fault.uncertain() { Note::Nothing } else { Note::NotEntered };
            Later::from(fault).note(note)
        })
    }

    /// Writes down that it arrived. It did, so this is tried until it is done or the daemon ends;
    /// then the next one finds out by looking.
    async fn done(&mut self, typed: Duration, shown: Option<Duration>) {
        let id = self.message.id;
        let how = Delivered { typed, shown, now: SystemTime::now() };
        let mut pause = Duration::from_millis(50);
        while let Err(error) = here(|| self.shared.journal.delivered(id, &how)) {
            let why = one_line(&error);
            warn!(message = id, "delivered, but the journal does not know: {why}");
            self.shared.trouble(&self.place.id, Some(&why));
            if self.shared.pause_or_stop(pause).await {
                return;
            }
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }

    /// What the `copy`th time of typing it types.
    fn payload(&self, settings: &Settings, copy: u32) -> Result<Payload, Later> {
        let message = self.message;
        let mut text = message.text.clone();
        if text.len() > settings.delivery.longest_text {
            let (dir, name) = (self.shared.state.messages(), format!("message-{}", message.id));
            let kept = here(|| stored(&text, &dir, &name));
            text = kept.map_err(|error| Later {
                reason: "long text",
                detail: one_line(&error),
                note: Note::Waiting,
            })?;
        }
        let words = render(&settings.delivery.template, message, &text);
        let mark = if copy > 1 { SECOND_COPY } else { "" };
        Ok(Payload::new(&format!("{mark}{words}")))
    }
}

const NOT_SHOWN: &str = "the text was typed and does not show on the screen, so Enter was not \
     pressed; for a worker that shows nothing, set delivery.confirm = \"none\"";

const CHANGED: &str = "the worker has ended and another program is in its pane; \
     register it again from the pane where it runs";

const SHELL: &str =
    "a shell is in the pane, not the worker; start the worker there, and register it again";

fn count(needle: &Needle, screen: &Screen) -> u32 {
    u32::try_from(needle.count(screen)).unwrap_or(u32::MAX)
}

fn since(millis: i64) -> Duration {
    let then = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    then.elapsed().unwrap_or_default()
}

pub(crate) fn one_line(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
