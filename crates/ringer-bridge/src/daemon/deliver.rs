//! One message into one pane.
//!
//! Owns the order of things, and with it what a crash at each step means:
//!
//! | the daemon ends … | the journal says | the next one |
//! |---|---|---|
//! | before the text is typed, or while | `delivering` | looks; if the screen does not show it, types it, marked as a second copy |
//! | after the text is typed | `delivering` | looks; if it stands before the cursor, presses Enter; if it is elsewhere on the screen, waits until it moves, for then somebody submitted it |
//! | around Enter | `delivering`, `entering` | the same; but if the cursor is elsewhere, it was submitted |
//! | after Enter | `delivered` | goes on with the next message |
//!
//! Enter is pressed only if the text has just appeared on the screen, or stands before the cursor: what
//! is on the screen may also be a dialog that somebody's Enter has brought up. The exception are
//! workers of which the user says that they show nothing.

use std::time::{Duration, Instant, SystemTime};

use ringer_panes::{Fault, Needle, Occupant, Pane, Payload, Screen, Sight, Verdict};
use ringer_teams::stored;
use tracing::warn;

use super::router::Place;
use super::shared::{About, Shared, here};
use crate::error::Error;
use crate::journal::{Delivered, Message};
use crate::render::{SECOND_COPY, render};
use crate::roster::Roster;
use crate::settings::{Confirm, Settings};

/// After so many copies that the screen never showed, a message is given up until the member is
/// registered again.
const MOST_COPIES: u32 = 10;

/// A worker that was started again is given so long to take the terminal over.
const STARTING: Duration = Duration::from_secs(1);

/// When the daemon ends, a text that was typed may take so long to appear.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// Why a message is not delivered yet.
#[derive(Debug)]
pub(crate) struct Later {
    /// A few words that stay the same.
    pub(crate) reason: &'static str,
    /// The whole story.
    pub(crate) detail: String,
    /// What the journal is to say; nothing if it says it already.
    pub(crate) note: Note,
    /// Whether it is worth trying again before the member is given another pane.
    pub(crate) passing: bool,
}

/// What the journal is to say of a message that was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    Waiting,
    /// It was typed just now, and is not known to have arrived.
    Typed,
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
        let passing = !matches!(fault, Fault::NoPane | Fault::Unsupported { .. });
        let detail = format!("{fault}{hint}");
        Self { reason: fault.reason(), detail, note: Note::Waiting, passing }
    }
}

impl From<Error> for Later {
    fn from(error: Error) -> Self {
        Self::new("journal", &one_line(&error)).note(Note::Nothing)
    }
}

impl Later {
    pub(crate) fn new(reason: &'static str, detail: &str) -> Self {
        Self { reason, detail: detail.to_owned(), note: Note::Waiting, passing: true }
    }

    fn note(mut self, note: Note) -> Self {
        self.note = note;
        self
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

/// A text that was typed and is not known to have arrived.
#[derive(Debug)]
pub(crate) struct Loose {
    message: i64,
    /// When it was typed, or first found.
    since: Instant,
    /// What the screen showed then.
    screen: Screen,
}

/// A delivery in hand.
pub(crate) struct Delivery<'a, P> {
    pub(crate) pane: &'a mut P,
    pub(crate) place: &'a Place,
    pub(crate) message: &'a Message,
    pub(crate) shared: &'a Shared,
    pub(crate) glimpse: Option<Glimpse>,
    pub(crate) loose: &'a mut Option<Loose>,
    /// Who came into the pane, and since when it has been seen there.
    pub(crate) newcomer: &'a mut Option<(Occupant, Instant)>,
}

impl<P: Pane> Delivery<'_, P> {
    /// Takes it to the pane, or says why not now.
    pub(crate) async fn run(mut self) -> Result<(), Later> {
        let settings = self.shared.settings();
        let sight = match self.glimpse.take() {
            Some(glimpse) if glimpse.at.elapsed() < GLIMPSE => glimpse.sight,
            _ => self.pane.look().await?,
        };
        self.admit(&sight)?;
        self.loose.take_if(|loose| loose.message != self.message.id);
        if self.message.copies > 0 && self.arrived(&settings, &sight).await? {
            return Ok(());
        }
        let payload = self.payload(&settings, self.message.copies + 1)?;
        let needle = Needle::of(&payload);
        let queued = since(self.message.received_at);
        let (id, before) = (self.message.id, count(&needle, &sight.screen));
        let permit = self.shared.typing.acquire().await.expect("it is never closed");
        here(|| self.shared.journal.delivering(id, before, queued, SystemTime::now()))?;
        let start = Instant::now();
        if let Err(fault) = self.pane.paste(&payload, &sight.occupant).await {
            // If nothing was typed for sure, there is no copy of it anywhere.
            let note = if fault.uncertain() { Note::Typed } else { Note::NotTyped };
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

    /// The text was typed before, by a daemon that then ended, or by us and never seen. Whether it
    /// has arrived by now; if it stands before the cursor, it does now. If it cannot be told, it
    /// waits; if it is nowhere, it has not.
    async fn arrived(&mut self, settings: &Settings, sight: &Sight) -> Result<bool, Later> {
        let message = self.message;
        let needle = Needle::of(&self.payload(settings, message.copies)?);
        let screen = &sight.screen;
        let new = || Loose { message: message.id, since: Instant::now(), screen: screen.clone() };
        if count(&needle, screen) > message.shown_before.unwrap_or(0) {
            let submitted = if needle.at_cursor(screen) {
                self.enter(settings, &sight.occupant).await?;
                true
            } else if message.entering && screen.cursor.is_some() {
                true
            } else {
                let loose = self.loose.get_or_insert_with(new);
                needle.rows_below(screen) > needle.rows_below(&loose.screen)
            };
            if !submitted {
                return Err(Later::new("not entered", NOT_ENTERED));
            }
            self.done(Duration::ZERO, None).await;
            return Ok(true);
        }
        let Some(loose) = self.loose.as_ref() else {
            return Ok(false);
        };
        if settings.delivery.confirm == Confirm::None && !message.entering {
            // We typed it, and have heard since that this worker shows nothing.
            self.enter(settings, &sight.occupant).await?;
            self.done(Duration::ZERO, None).await;
            return Ok(true);
        }
        if message.copies >= MOST_COPIES {
            return Err(Later::new("not shown", NOT_SHOWN).note(Note::Failed));
        }
        // Whatever swallowed it may still be there: not again before the screen has changed, nor too
        // soon.
        let pause = Duration::from_secs(5 * 6_u64.pow(message.copies.saturating_sub(1).min(2)));
        if loose.screen == *screen || loose.since.elapsed() < pause {
            return Err(Later::new("not shown", NOT_SHOWN));
        }
        Ok(false)
    }

    /// Whether this is our worker and may be typed to.
    fn admit(&mut self, sight: &Sight) -> Result<(), Later> {
        let (known, now) = (&self.place.occupant, &sight.occupant);
        let changed = || Err(Later::new("pane changed", CHANGED));
        match known.as_ref().map(|known| Occupant::judge(known, now)) {
            _ if now.at_shell_prompt() => return Err(Later::new("shell", SHELL)),
            Some(Verdict::Shell) => return Err(Later::new("shell", SHELL)),
            Some(Verdict::Other) => return changed(),
            Some(Verdict::Elsewhere) if !self.place.unique => return changed(),
            // Nobody has ever said who should be there: only a pane that was opened for a program.
            None if !now.is_its_own_command() => return changed(),
            Some(Verdict::Same | Verdict::Restarted | Verdict::Elsewhere) | None => {}
        }
        if let Some(fault) = &sight.blocked {
            return Err(fault.clone().into());
        }
        let run = |occupant: &Occupant| occupant.foreground.as_ref().map(|f| (f.pid, f.started));
        if known.as_ref().is_none_or(|known| known.pid != now.pid || run(known) != run(now)) {
            // Just started: what is typed now goes to the terminal, not to the program.
            self.newcomer.take_if(|(who, _)| who != now);
            let (_, since) = self.newcomer.get_or_insert_with(|| (now.clone(), Instant::now()));
            if since.elapsed() < STARTING {
                return Err(Later::new("starting", "the worker was just started"));
            }
            let (id, pane) = (&self.place.id, &self.place.pane);
            let bind = || Roster::bind(&self.shared.state, &id.team_dir, &id.name, pane, now);
            if let Err(error) = here(bind) {
                warn!(member = %self.place.id, "{}", one_line(&error));
            }
        }
        Ok(())
    }

    async fn wait_until_shown(
        &mut self,
        settings: &Settings,
        needle: &Needle,
        before: &Screen,
    ) -> Result<(), Later> {
        let mut deadline = Instant::now() + settings.confirm_timeout();
        let mut pause = Duration::from_millis(1);
        loop {
            let sight = self.pane.look().await.map_err(|f| Later::from(f).note(Note::Typed))?;
            if needle.shown(before, &sight.screen) {
                return Ok(());
            }
            if self.shared.is_stopping() {
                deadline = deadline.min(Instant::now() + LAST_LOOK);
            }
            if Instant::now() >= deadline {
                let message = self.message.id;
                let screen = sight.screen;
                *self.loose = Some(Loose { message, since: Instant::now(), screen });
                return Err(Later::new("not shown", NOT_SHOWN).note(Note::Typed));
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
            warn!(id, "delivered, but the journal does not know: {why}");
            self.shared.trouble(&self.place.id, About::Delivery, Some(&why));
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
            text = kept.map_err(|error| Later::new("long text", &one_line(&error)))?;
        }
        let words = render(&settings.delivery.template, message, &text);
        let mark = if copy > 1 { SECOND_COPY } else { "" };
        Ok(Payload::new(&format!("{mark}{words}")))
    }
}

const NOT_SHOWN: &str = "the text was typed and does not show on the screen, so Enter was not \
     pressed; for a worker that shows nothing, set delivery.confirm = \"none\"";

const NOT_ENTERED: &str = "the text was typed and is on the screen, and it cannot be told whether it \
     was entered; press Enter in the pane if it stands in the prompt";

const CHANGED: &str = "another program is in the pane than the one that was registered; \
     register the worker again when it runs";

const SHELL: &str =
    "a shell waits for commands in the pane; start the worker there, and register it again";

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
