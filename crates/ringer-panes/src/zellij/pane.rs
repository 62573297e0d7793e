//! A pane of a Zellij session.
//!
//! Owns the order of things: what may be typed is checked by `list-panes`, by the screen and by the
//! process itself right before it is typed. Zellij has no command that checks and types at once, so a
//! program that ends in the ten milliseconds between can have its pane's command started again by an
//! Enter, if the pane was not opened with `--close-on-exit`.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::ZellijSessions;
use super::commands::{Commands, LIMIT};
use super::leftover;
use super::listing::Listed;
use super::program::refused;
use super::session::{Server, Session};
use super::subscription::{Subscription, View};
use super::worker::{self, Found};
use crate::address::Address;
use crate::fault::Fault;
use crate::occupant::Occupant;
use crate::pane::{Pane, Screen, Sight};
use crate::payload::Payload;

/// The longest text that is given to one command. An argument can have 128 KB.
const PIECE: usize = 100_000;
/// Between two pieces of a text. Each was handed over when its command ended, but for the one answer in
/// a hundred that goes astray: the next piece must not overtake it.
const BETWEEN_PIECES: Duration = Duration::from_millis(20);
/// What stands around a paste. Zellij itself drops them if the program did not ask for them, but only
/// if they come alone.
const PASTE_BEGINS: [&str; 6] = ["27", "91", "50", "48", "48", "126"];
const PASTE_ENDS: [&str; 6] = ["27", "91", "50", "48", "49", "126"];
const ENTER: [&str; 1] = ["13"];
/// A process that is not found may just have ended: then the next list says so.
const LOOKS: u32 = 3;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A pane of a Zellij session.
#[derive(Debug, Clone)]
pub struct ZellijPane {
    sessions: ZellijSessions,
    address: Address,
    session: Session,
    /// The pane's number; none has this name if absent.
    id: Option<u32>,
    pane: String,
}

impl ZellijPane {
    pub(super) fn new(sessions: ZellijSessions, session: String, pane: String) -> Self {
        let id: Option<u32> = pane.strip_prefix("terminal_").and_then(|id| id.parse().ok());
        let address = Address::Zellij { session: session.clone(), pane: pane.clone() };
        let session = Session::new(sessions.shared.program.clone(), session);
        Self { sessions, address, session, id, pane }
    }

    /// Sees that there is a `zellij` that can do what is needed, and clears up after one that was
    /// killed. Once; a `zellij` that is too old may be replaced.
    async fn ready(&self) -> Result<(), Fault> {
        let check = || async {
            self.sessions.shared.program.check(Instant::now() + LIMIT).await?;
            let sockets = self.session.socket_dir();
            tokio::task::spawn_blocking(move || leftover::end(&sockets)).await.ok();
            Ok(())
        };
        self.sessions.shared.ready.get_or_try_init(check).await.map(drop)
    }

    /// The pane's number, and a way to its server.
    async fn reach(&self) -> Result<(u32, Commands), Fault> {
        self.ready().await?;
        let id = self.id.ok_or_else(|| Fault::Gone { pane: self.pane.clone() })?;
        let known = self.sessions.kept(&self.address, |kept| kept.server.clone());
        let server = self.session.server(known).await?;
        self.sessions.kept(&self.address, |kept| kept.server = Some(server.clone()));
        Ok((id, Commands::new(self.session.clone(), server, format!("terminal_{id}"))))
    }

    /// Who runs in the pane, if that can be found out.
    fn occupant(&self, id: u32, server: &Server, listed: &Listed) -> Option<Occupant> {
        let known = self.sessions.kept(&self.address, |kept| kept.worker);
        let known = known.filter(|known| known.is_alive(server.pid));
        let found = known.or_else(|| Found::of(server.pid, id));
        self.sessions.kept(&self.address, |kept| kept.worker = found);
        found.map(|found| found.occupant(server, listed))
    }

    fn unknown(&self) -> Fault {
        refused(&format!("it cannot be told which process runs in pane `{}`", self.pane))
    }

    /// Looks once; `None` if the process of a pane that lives cannot be found.
    async fn look_once(&self) -> Result<Option<Sight>, Fault> {
        let (id, commands) = self.reach().await?;
        let deadline = Instant::now() + LIMIT;
        let (listed, view) = tokio::join!(commands.listed(id, deadline), commands.view(deadline));
        let listed = listed?;
        let blocked = listed.blocked(&self.pane);
        let occupant = match self.occupant(id, &commands.server, &listed) {
            _ if listed.is_dead() => worker::nobody(&commands.server, &listed),
            Some(occupant) => occupant,
            None => return Ok(None),
        };
        let (screen, subscription) = match view {
            Ok((view, open)) => (screen(view, &listed), Some(open.keep())),
            // A pane that another one replaced shows nothing.
            Err(_) if blocked.is_some() => (Screen::default(), None),
            Err(fault) => return Err(fault),
        };
        self.sessions.kept(&self.address, |kept| kept.subscription = subscription);
        let title = listed.title.clone();
        Ok(Some(Sight {
            occupant,
            screen,
            title,
            blocked,
            takes_paste: None,
            unsent: None,
            quiet: None,
            counts: None,
        }))
    }

    /// That text may be typed now for who was seen, and a way to do it. Enter only if the cursor is where
    /// it was seen: then nothing was drawn meanwhile that changes what it submits.
    async fn check(&self, seen: &Sight, enter: bool) -> Result<Commands, Fault> {
        let (id, commands) = self.reach().await?;
        let deadline = Instant::now() + LIMIT;
        // A pane that is scrolled up does not show what its program does, and nothing tells that it is.
        // But then there is more behind its end than was seen.
        let scrolled = commands.scroll_to_the_end(deadline).await;
        let (listed, view) = tokio::join!(commands.listed(id, deadline), commands.view(deadline));
        let listed = listed?;
        if let Some(fault) = listed.blocked(&self.pane) {
            return Err(fault);
        }
        scrolled?;
        let (view, _) = view?;
        let now = self.occupant(id, &commands.server, &listed).ok_or_else(|| self.unknown())?;
        if !worker::is_same(&seen.occupant, &now) {
            return Err(Fault::Changed { pane: self.pane.clone() });
        }
        if !view.is_at_the_end_of(&seen.screen) {
            return Err(Fault::CopyMode { pane: self.pane.clone() });
        }
        if enter && screen(view, &listed).cursor != seen.screen.cursor {
            return Err(Fault::Typed { pane: self.pane.clone() });
        }
        Ok(commands)
    }
}

impl Pane for ZellijPane {
    async fn look(&mut self) -> Result<Sight, Fault> {
        for _ in 0..LOOKS {
            if let Some(sight) = self.look_once().await? {
                return Ok(sight);
            }
            sleep(BETWEEN_LOOKS).await;
        }
        Err(self.unknown())
    }

    async fn changed(&mut self, _seen: &Sight, limit: Duration) {
        let over = self
            .sessions
            .kept(&self.address, |kept| kept.subscription.as_ref().map(Subscription::over));
        let told = async {
            if let Some(mut over) = over
                && over.wait_for(|over| *over).await.is_ok()
            {
                return;
            }
            // Nobody will tell.
            std::future::pending::<()>().await;
        };
        timeout(limit, told).await.ok();
    }

    async fn paste(&mut self, payload: &Payload, seen: &Sight) -> Result<(), Fault> {
        let commands = self.check(seen, false).await?;
        let text = payload.as_str();
        if text.len() <= PIECE {
            return commands.write("paste", &[text]).await;
        }
        // To its end, whatever becomes of who asked for it: a paste that is begun and never ended
        // would swallow all that comes after it.
        let text = text.to_owned();
        let pieces = tokio::spawn(async move { paste_in_pieces(&commands, &text).await });
        let silent = |_| Fault::Silent { pane: self.pane.clone(), sent: true };
        pieces.await.map_err(silent)?
    }

    async fn enter(&mut self, seen: &Sight) -> Result<(), Fault> {
        let commands = self.check(seen, true).await?;
        // Not `send-keys`, which has more to it: this is the one byte, to this pane alone.
        commands.write("write", &ENTER).await
    }
}

/// What can be read. Zellij tells no more of a cursor that is hidden than that.
fn screen(view: View, listed: &Listed) -> Screen {
    let (rows, above) = view.rows(listed.rows);
    let cursor = listed.cursor().map(|(row, column)| (above + row, column));
    let cursor = cursor.filter(|(row, _)| *row < rows.len());
    Screen { hidden: cursor.is_none(), rows, cursor, above }
}

/// One paste, of several commands: what `paste` would write, if it could take it all. Others who type
/// meanwhile type into it.
async fn paste_in_pieces(commands: &Commands, text: &str) -> Result<(), Fault> {
    commands.write("write", &PASTE_BEGINS).await?;
    let mut typed = Ok(());
    for piece in pieces(text, PIECE) {
        sleep(BETWEEN_PIECES).await;
        typed = commands.write("write-chars", &[piece]).await;
        if typed.is_err() {
            break;
        }
    }
    sleep(BETWEEN_PIECES).await;
    let ended = commands.write("write", &PASTE_ENDS).await;
    // It is half there: nothing is certain any more.
    let uncertain = |_| commands.silent(true);
    typed.and(ended).map_err(uncertain)
}

/// The text in pieces of so many bytes at most.
fn pieces(mut text: &str, most: usize) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at(text.floor_char_boundary(most));
        text = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        for text in ["", "abc", "abcd", "abcde", "aé你🎉b", "🎉🎉🎉", "ab🎉cd"] {
            let all: Vec<&str> = pieces(text, 4).collect();
            assert_eq!(all.concat(), text);
            assert!(all.iter().all(|piece| (1..=4).contains(&piece.len())), "{all:?}");
        }
    }
}
