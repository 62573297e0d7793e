//! A pane of a tmux server.
//!
//! Owns the commands. What may be typed is checked by tmux in the same command that types: between a
//! look and a paste the program may end, and pasting into a dead pane brings a tmux 3.3a server down
//! with everything in it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::TmuxServers;
use super::batch::{Answer, Batch};
use super::program::Program;
use super::quote::quote;
use super::server::LIMIT;
use crate::fault::Fault;
use crate::occupant::Occupant;
use crate::pane::{Pane, Screen, Sight};
use crate::payload::Payload;
use crate::process::{Process, SHELLS};

/// So many rows that scrolled away are looked at.
const SCROLLED: usize = 200;
/// tmux takes long lines, but slows down with the square of their length.
const CHUNK: usize = 16 << 10;
/// How an answer begins that says why nothing was typed.
const REFUSED: &str = "refused";

/// A pane of a tmux server.
#[derive(Debug, Clone)]
pub struct TmuxPane {
    servers: TmuxServers,
    socket: Option<String>,
    pane: String,
}

impl TmuxPane {
    pub(super) fn new(servers: TmuxServers, socket: Option<String>, pane: String) -> Self {
        Self { servers, socket, pane }
    }

    async fn ask(&self, commands: Vec<String>, harmless: bool) -> Result<Vec<Vec<String>>, Fault> {
        let server = self.servers.server(self.socket.as_deref());
        let answers = server.ask(&self.pane, Batch::new(commands), harmless).await?;
        let program = Program::new(self.socket.clone());
        let fault = |answer: Answer| answer.map_err(|said| program.fault(&said, &self.pane));
        answers.into_iter().map(fault).collect()
    }

    fn gone(&self) -> Fault {
        Fault::Gone { pane: self.pane.clone() }
    }

    /// Puts the text into the program as it is, or in brackets if it asked for that. Enter only if the
    /// cursor is where it was seen: then nothing was drawn meanwhile that changes what it submits.
    async fn put(&self, text: &str, bracketed: bool, seen: &Sight) -> Result<(), Fault> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let occupant = &seen.occupant;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let buffer = format!("ringer-{}-{number}", std::process::id());
        let target = quote(&self.pane);
        let mut commands: Vec<String> = text
            .as_bytes()
            .chunks(CHUNK)
            .enumerate()
            .map(|(at, chunk)| {
                let append = if at == 0 { "" } else { " -a" };
                format!("set-buffer{append} -b {buffer} -- {}", quote(chunk))
            })
            .collect();
        // `-r` keeps newlines as they are. Not `send-keys`: with `synchronize-panes` on, that types
        // into the other panes of the window too.
        let brackets = if bracketed { " -p" } else { "" };
        let paste = format!("paste-buffer{brackets} -r -d -b {buffer} -t {target}");
        let why = quote(format!("{REFUSED} {}", STATE.replace("SHELL", &shell())));
        let leave = format!("delete-buffer -b {buffer} ; display-message -p -t {target} {why}");
        let mut condition = condition(&self.pane, occupant);
        if !bracketed && let Some(cursor) = cursor_is_at(seen) {
            condition = format!("#{{&&:{condition},{cursor}}}");
        }
        let condition = quote(condition);
        commands.push(format!(
            "if-shell -F -t {target} {condition} {} {}",
            quote(paste),
            quote(leave)
        ));
        let answers = self.ask(commands, false).await?;
        match answers.last().and_then(|lines| lines.iter().find_map(|l| l.strip_prefix(REFUSED))) {
            None => Ok(()),
            Some(state) => Err(self.why_refused(state, occupant, !bracketed)),
        }
    }

    fn why_refused(&self, state: &str, occupant: &Occupant, enter: bool) -> Fault {
        let words: Vec<&str> = state.split_whitespace().collect();
        let [id, dead, mode, off, pid, shell] = words[..] else { return self.gone() };
        if id != self.pane {
            return self.gone();
        }
        if let Some(fault) = self.blocked(dead, mode, off) {
            return fault;
        }
        if pid != occupant.pid.to_string() || shell == "1" && !occupant.is_shell() {
            return Fault::Changed { pane: self.pane.clone() };
        }
        let pane = self.pane.clone();
        // All is well but the cursor, or the hour: tmux came to it when nobody waited any more.
        if enter { Fault::Typed { pane } } else { Fault::Silent { pane, sent: false } }
    }

    fn blocked(&self, dead: &str, mode: &str, off: &str) -> Option<Fault> {
        let pane = self.pane.clone();
        match (dead, mode, off) {
            ("0", "0", "0") => None,
            ("0", "0", _) => Some(Fault::InputOff { pane }),
            ("0", _, _) => Some(Fault::CopyMode { pane }),
            _ => Some(Fault::Dead { pane }),
        }
    }
}

impl Pane for TmuxPane {
    async fn look(&mut self) -> Result<Sight, Fault> {
        let target = quote(&self.pane);
        let show = |what: &str| format!("display-message -p -t {target} {}", quote(what));
        let numbers = "#{pane_id} #{pane_dead} #{pane_in_mode} #{pane_input_off} #{pane_pid} \
                       #{pane_height} #{alternate_on} #{cursor_flag} #{cursor_x} #{cursor_y} #{pid}";
        // What the program chose itself comes alone: nothing in it can be taken for something else.
        let commands = vec![
            show(numbers),
            format!("capture-pane -p -S -{SCROLLED} -t {target}"),
            show("#{pane_title}"),
            show("#{pane_current_command}"),
            show("#{pane_start_command}"),
            "list-clients -F \"#{client_control_mode} #{pane_id} #{client_activity}\"".to_owned(),
        ];
        let answers = self.ask(commands, true).await?;
        let [numbers, rows, title, command, started_with, clients] =
            <[Vec<String>; 6]>::try_from(answers).map_err(|_| self.gone())?;
        let numbers = numbers.join(" ");
        let words: Vec<&str> = numbers.split_whitespace().collect();
        let [id, dead, mode, off, pid, height, alternate, cursor, x, y, server] = words[..] else {
            return Err(self.gone());
        };
        if id != self.pane {
            return Err(self.gone());
        }
        let number = |word: &str| word.parse().unwrap_or(0);
        let screen = screen(rows, number(height), alternate == "1");
        let top = screen.rows.len().saturating_sub(number(height));
        let (at, hidden) = ((top + number(y), number(x)), cursor != "1");
        let pid = pid.parse().unwrap_or(0);
        Ok(Sight {
            occupant: Occupant {
                pid,
                started_with: started_with.join("\n"),
                command: command.join("\n"),
                foreground: Process::in_foreground_of(pid),
                server: server.parse().unwrap_or(0),
            },
            screen: Screen { cursor: Some(at), hidden, above: top, ..screen },
            title: title.join("\n"),
            blocked: self.blocked(dead, mode, off),
            takes_paste: None,
            unsent: None,
            quiet: quiet(&clients, &self.pane),
            counts: None,
        })
    }

    async fn paste(&mut self, payload: &Payload, seen: &Sight) -> Result<(), Fault> {
        self.put(payload.as_str(), true, seen).await
    }

    async fn enter(&mut self, seen: &Sight) -> Result<(), Fault> {
        self.put("\r", false, seen).await
    }
}

/// How long nobody who looks at the pane has pressed a key, at least: tmux knows it by the second. A
/// key may have been for another pane that they looked at a moment ago.
fn quiet(clients: &[String], pane: &str) -> Option<Duration> {
    let last = clients.iter().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["0", looks_at, activity] = words[..] else { return None };
        (looks_at == pane).then(|| activity.parse::<u64>().ok())?
    });
    let end_of_second = UNIX_EPOCH + Duration::from_secs(last.max()? + 1);
    Some(SystemTime::now().duration_since(end_of_second).unwrap_or_default())
}

/// The rows without those that scrolled away before a program took the whole screen: they are not
/// its own.
fn screen(mut rows: Vec<String>, height: usize, alternate: bool) -> Screen {
    if alternate {
        rows.drain(..rows.len().saturating_sub(height));
    }
    Screen { rows, ..Screen::default() }
}

/// Why nothing was typed, in the order in which [`TmuxPane::why_refused`] reads it.
const STATE: &str = "#{pane_id} #{pane_dead} #{pane_in_mode} #{pane_input_off} #{pane_pid} SHELL";

/// Whether a shell is in the foreground, as a format.
fn shell() -> String {
    format!("#{{m/r:^-?({})$,#{{pane_current_command}}}}", SHELLS.join("|"))
}

/// What must hold when tmux types, as a format. If there is no such pane, `if-shell` takes the
/// current one instead, hence the id. `&&` takes two operands and ignores a third.
fn condition(pane: &str, occupant: &Occupant) -> String {
    let mut conditions = vec![
        // `?` is the `%`, which would mean a time where formats are expanded twice.
        format!("#{{m:?{},#{{pane_id}}}}", pane.trim_start_matches('%')),
        "#{==:#{pane_dead}#{pane_in_mode}#{pane_input_off},000}".to_owned(),
        format!("#{{==:#{{pane_pid}},{}}}", occupant.pid),
        in_time(),
    ];
    if !occupant.is_shell() {
        conditions.push(format!("#{{?{},0,1}}", shell()));
    }
    let all = conditions.into_iter().reduce(|all, one| format!("#{{&&:{all},{one}}}"));
    all.expect("there are several")
}

/// That the cursor is where it was seen, as a format.
fn cursor_is_at(seen: &Sight) -> Option<String> {
    let (row, column) = seen.screen.cursor?;
    let row = row.checked_sub(seen.screen.above)?;
    let shown = u8::from(!seen.screen.hidden);
    let now = "#{cursor_flag} #{cursor_x} #{cursor_y}";
    Some(format!("#{{==:{now},{shown} {column} {row}}}"))
}

/// Nothing is typed when the caller has given up waiting: a server that was stopped for a while
/// would do it when it goes on. `#{T;l:%s}` is the time in seconds; a tmux that does not know it
/// types at any time.
fn in_time() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let end = (now + LIMIT).as_secs();
    format!("#{{?#{{m/r:^[0-9]+$,#{{T;l:%s}}}},#{{e|<=:#{{T;l:%s}},{end}}},1}}")
}
