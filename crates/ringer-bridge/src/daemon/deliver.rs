//! One message into one pane.
//!
//! Owns the order of things, and with it what a crash at each step means:
//!
//! | the daemon ends … | the journal says | the next one |
//! |---|---|---|
//! | before the text is typed, or while | `delivering` | looks; if the screen does not show it, types it, marked as a second copy |
//! | after the text is typed | `delivering` | looks; if the prompt holds it and nothing else, presses Enter; if it is elsewhere on the screen, somebody submitted it |
//! | around Enter | `delivering`, `entering` | the same; but if it is not in the prompt any more, it was submitted |
//! | after Enter | `delivered` | goes on with the next message |
//!
//! Nothing is typed unless the gate is open, and Enter is pressed only while the prompt holds our text
//! and nothing else. Of a program without a profile of its own, no prompt is known: there, Enter is
//! pressed if the text has just appeared on the screen, or stands before the cursor.

mod arrived;
mod what;
mod who;

use std::time::{Duration, Instant, SystemTime};

use ringer_panes::{
    Gate, Holding, Needle, Occupant, Pane, Payload, Profile, Screen, Sight, Submit,
};
use tracing::warn;

use super::later::{
    Later, Note, another_writer, handed_over, mixed, not_entered, one_line, pane_changed, unseen,
};
use super::router::Place;
use super::shared::{About, Shared, here};
use crate::claim::Claim;
use crate::journal::{Delivered, Message, Typing, Via};
use crate::settings::{Confirm, Settings};

/// When the daemon ends, a text that was typed may take so long to appear.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// So often Enter is pressed at most, each time only if the prompt still holds our text.
const MOST_ENTERS: u32 = 3;

/// So long a program may take to show that it took a text.
const TAKING: Duration = Duration::from_millis(700);

/// So long an agent may take to show that it works on what it took.
const AFTERWARDS: Duration = Duration::from_millis(200);

/// The same for one that runs hooks of ours first: that takes a while, and so it is sure to be seen at work, however
/// busy the machine is.
const AFTER_HOOKS: Duration = Duration::from_secs(5);

/// So long whatever hands a message over to the worker has it for itself.
const HANDING: Duration = Duration::from_secs(5);

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
    pub(crate) profile: &'a Profile,
    pub(crate) settings: &'a Settings,
    pub(crate) message: &'a Message,
    pub(crate) shared: &'a Shared,
    pub(crate) glimpse: Option<Glimpse>,
    pub(crate) loose: &'a mut Option<Loose>,
    /// Who came into the pane, and since when it has been seen there.
    pub(crate) newcomer: &'a mut Option<(Occupant, Instant)>,
    /// Which process was at its prompt, and since when.
    pub(crate) at_prompt: &'a mut Option<(u32, Instant)>,
    /// What was seen last.
    pub(crate) seen: &'a mut Option<Sight>,
    /// Whether the worker was woken and its hook did not fetch anything.
    pub(crate) hookless: &'a mut bool,
    /// Who it is for, once that is known.
    pub(crate) worker: Option<Occupant>,
}

impl<P: Pane> Delivery<'_, P> {
    /// Takes it to the pane, or says why not now.
    pub(crate) async fn run(mut self) -> Result<(), Later> {
        let sight = match self.glimpse.take() {
            Some(glimpse) if glimpse.at.elapsed() < GLIMPSE => glimpse.sight,
            _ => self.look().await?,
        };
        if let Some(fault) = &sight.blocked {
            return Err(fault.clone().into());
        }
        // If nobody has said after that time that the worker's model was shown it, it is for keys, when the
        // worker is at its prompt.
        let claimed = self.message.claim.as_ref().is_some_and(Claim::is_alive);
        if claimed && since(self.message.changed_at) < HANDING {
            return Err(handed_over());
        }
        self.recognise(&sight)?;
        self.worker = Some(sight.occupant.clone());
        let turn = self.shared.turns.take(sight.occupant.pid);
        let _turn = turn.ok_or_else(another_writer)?;
        self.loose.take_if(|loose| loose.message != self.message.id);
        // What a hook handed over was never typed: the screen tells nothing of it.
        let was_typed = !matches!(self.message.via, Some(Via::Hook | Via::Tool));
        if self.message.copies > 0 && was_typed && self.arrived(&sight).await? {
            return Ok(());
        }
        self.gate().admit(&sight)?;
        self.listens(&sight)?;
        let via = self.via();
        let payload = self.payload(via, self.message.copies + 1, &sight)?;
        let typing = Typing {
            claim: self.message.claim.clone(),
            via,
            shown_before: count(&Needle::of(&payload), &sight.screen),
            queued: since(self.message.received_at),
            now: SystemTime::now(),
        };
        let permit = self.shared.typing.acquire().await.expect("it is never closed");
        let id = self.message.id;
        if !here(|| self.shared.journal.delivering(id, &typing))? {
            // Handed over by a hook or a tool meanwhile.
            return Ok(());
        }
        let start = Instant::now();
        if let Err(fault) = self.pane.paste(&payload, &sight).await {
            // If nothing was typed for sure, there is no copy of it anywhere.
            if !fault.uncertain() {
                return Err(Later::from(fault).note(Note::NotTyped));
            }
            self.keep_loose(&sight.screen);
            return Err(Later::from(fault).note(Note::Typed));
        }
        let typed = start.elapsed();
        drop(permit);
        if self.is_blind() {
            self.enter_blindly(&sight).await?;
        } else {
            let shown = self.wait_until_shown(&payload, &sight.screen).await?;
            self.submit(&payload, Some(&sight.screen), shown).await?;
        }
        if via == Via::Wake {
            self.wait_until_fetched().await?;
        }
        self.done(typed, Some(start.elapsed().saturating_sub(typed))).await;
        Ok(())
    }

    fn gate(&self) -> Gate<'_> {
        Gate::new(self.profile)
    }

    /// Whether the user says that it shows nothing of what is typed.
    fn is_blind(&self) -> bool {
        let told = self.settings.delivery.confirm == Confirm::None && self.profile.is_plain();
        told || self.profile.submit == Submit::Blind
    }

    fn settle(&self) -> Duration {
        self.profile.settle_ms.map_or(self.settings.settle(), Duration::from_millis)
    }

    async fn look(&mut self) -> Result<Sight, Later> {
        let sight = self.pane.look().await?;
        *self.seen = Some(sight.clone());
        // Once it is known who the worker is, nobody else is looked at: what was typed is not theirs.
        match &self.worker {
            Some(worker) if !worker.is_same_run(&sight.occupant) => Err(pane_changed()),
            _ => Ok(sight),
        }
    }

    /// Remembers what the screen showed when a text was first found that is not known to have arrived.
    fn keep_loose(&mut self, screen: &Screen) {
        let (message, since) = (self.message.id, Instant::now());
        self.loose.get_or_insert_with(|| Loose { message, since, screen: screen.clone() });
    }

    /// Waits until the prompt holds the text; what was seen then.
    async fn wait_until_shown(
        &mut self,
        payload: &Payload,
        before: &Screen,
    ) -> Result<Sight, Later> {
        let mut deadline = Instant::now() + self.settings.confirm_timeout();
        let mut pause = Duration::from_millis(1);
        loop {
            let sight = self.look().await.map_err(|later| later.note(Note::Typed))?;
            let holding = self.gate().holding(&sight, payload, Some(before));
            if holding == Holding::Ours {
                return Ok(sight);
            }
            if self.shared.is_stopping() {
                deadline = deadline.min(Instant::now() + LAST_LOOK);
            }
            if Instant::now() >= deadline {
                *self.loose = None;
                self.keep_loose(&sight.screen);
                let later = if holding == Holding::Mixed { mixed() } else { unseen() };
                return Err(later.note(Note::Typed));
            }
            self.pane.changed(&sight, pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Presses Enter on the text in the prompt, and again if the program did not take it.
    async fn submit(
        &mut self,
        payload: &Payload,
        before: Option<&Screen>,
        mut sight: Sight,
    ) -> Result<(), Later> {
        for press in 0..MOST_ENTERS {
            if !self.settle().is_zero() || press > 0 {
                tokio::time::sleep(self.settle()).await;
                sight = self.look().await.map_err(|later| later.note(Note::NotEntered))?;
            }
            if press > 0 && self.gate().submitted(&sight, payload) == Some(true) {
                return Ok(());
            }
            // Once Enter was pressed, what the journal says stays true.
            let note = if press == 0 { Note::NotEntered } else { Note::Nothing };
            if let Some(hold) = self.gate().held_by(&sight) {
                return Err(Later::from(hold).note(note));
            }
            match self.gate().holding(&sight, payload, before) {
                Holding::Ours => {}
                Holding::Mixed => {
                    self.keep_loose(&sight.screen);
                    return Err(mixed().note(note));
                }
                Holding::Nothing | Holding::NoPrompt => {
                    self.keep_loose(&sight.screen);
                    return Err(unseen().note(note));
                }
            }
            if let Some(hold) = self.gate().disturbs(&sight) {
                return Err(Later::from(hold).note(note));
            }
            if press == 0 {
                here(|| self.shared.journal.entering(self.message.id))?;
            }
            self.pane.enter(&sight).await.map_err(|fault| {
                let note = if fault.uncertain() { Note::Nothing } else { note };
                Later::from(fault).note(note)
            })?;
            if self.was_taken(payload, &sight).await? {
                return Ok(());
            }
        }
        *self.loose = None;
        self.keep_loose(&sight.screen);
        Err(not_entered().note(Note::Typed))
    }

    /// Whether the program takes the text within a while.
    async fn was_taken(&mut self, payload: &Payload, entered: &Sight) -> Result<bool, Later> {
        if self.profile.is_plain() {
            return Ok(true);
        }
        let start = Instant::now();
        let mut pause = Duration::from_millis(2);
        let mut sight = entered.clone();
        let afterwards = if self.place.hooks { AFTER_HOOKS } else { AFTERWARDS };
        loop {
            self.pane.changed(&sight, pause).await;
            sight = self.look().await.map_err(|later| later.note(Note::Nothing))?;
            // The worker's own hook says so.
            let told =
                self.place.hooks && here(|| self.shared.journal.is_delivered(self.message.id))?;
            let taken = told || self.gate().submitted(&sight, payload) == Some(true);
            // An empty prompt comes first, and only then the sign that it works: the next message is not
            // to slip in between.
            if taken && (self.gate().works(&sight) || start.elapsed() > afterwards) {
                return Ok(true);
            }
            if !taken && start.elapsed() >= TAKING {
                return Ok(false);
            }
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    async fn enter_blindly(&mut self, sight: &Sight) -> Result<(), Later> {
        tokio::time::sleep(self.settle()).await;
        // The cursor may have moved with what was typed.
        let now = self.look().await.map_err(|later| later.note(Note::Typed))?;
        here(|| self.shared.journal.entering(self.message.id))?;
        self.keep_loose(&sight.screen);
        self.pane.enter(&now).await.map_err(|fault| {
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
}

fn count(needle: &Needle, screen: &Screen) -> u32 {
    u32::try_from(needle.count(screen)).unwrap_or(u32::MAX)
}

fn since(millis: i64) -> Duration {
    let then = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    then.elapsed().unwrap_or_default()
}
