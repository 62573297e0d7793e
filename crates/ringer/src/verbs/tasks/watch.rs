//! The tasks of a team, shown anew whenever something changes.

use std::io::stdout;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use ringer_teams::{Task, Tasks, Team};

use super::list::{HEADINGS, row, show, style};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{DIM, clean, count, cut};

/// After a change, for the others that come with it.
const SETTLE: Duration = Duration::from_millis(20);

/// Where nothing can be watched, it is looked this often.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Lines of a screen that are no tasks: the title, the headings, what is left out, and where the cursor is.
const FRAME: usize = 4;

/// Shows those that are wanted, until somebody ends it or the team is gone.
pub(super) fn watch(
    context: &Context,
    team: &Team,
    is_wanted: &dyn Fn(&Task) -> bool,
) -> Result<(), Failure> {
    let (tell, told) = mpsc::sync_channel(1);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if !event.is_ok_and(|event| event.kind.is_access()) {
            tell.try_send(()).ok();
        }
    });
    let mut last = None;
    loop {
        // It need not be there yet, and may come back.
        let dir = team.tasks_dir();
        let is_watched = watcher
            .as_mut()
            .is_ok_and(|watcher| watcher.watch(&dir, RecursiveMode::NonRecursive).is_ok());
        let team = context.claude.team(team.name())?;
        let tasks = team.tasks()?;
        if last.as_ref() != Some(&tasks.found) {
            if let Some(size) = screen().filter(|_| !context.out.json) {
                draw(context, &team, &tasks, is_wanted, size)?;
            } else {
                if last.is_some() && !context.out.json {
                    context.out.line("")?;
                }
                show(context, &team, &tasks, is_wanted)?;
            }
            last = Some(tasks.found);
        }
        told.recv_timeout(if is_watched { Duration::from_mins(1) } else { LOOK_AGAIN }).ok();
        thread::sleep(SETTLE);
        told.try_recv().ok();
    }
}

/// Columns and lines of the terminal that this writes to, if it is one.
fn screen() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(stdout()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then(|| (size.ws_col.into(), size.ws_row.into()))
}

/// Draws the screen anew, with as much as fits on it.
fn draw(
    context: &Context,
    team: &Team,
    tasks: &Tasks,
    is_wanted: &dyn Fn(&Task) -> bool,
    (columns, lines): (usize, usize),
) -> Result<(), Failure> {
    let mut shown: Vec<&Task> = tasks.found.iter().filter(|task| is_wanted(task)).collect();
    let all = shown.len();
    let room = lines.saturating_sub(FRAME).max(1);
    // What is done is the first to go.
    let mut surplus = all.saturating_sub(room);
    shown.retain(|task| {
        let goes = surplus > 0 && task.is_completed();
        surplus -= usize::from(goes);
        !goes
    });
    shown.truncate(room);
    let waits = tasks.waits();
    let rows: Vec<_> = shown.iter().map(|task| row(task, &waits)).collect();
    let styles: Vec<_> = shown.iter().map(|task| style(task)).collect();
    context.out.clear()?;
    let title = format!("{} of {} (Ctrl-C ends)", count(all, "task"), clean(team.name()));
    context.out.styled(DIM, &cut(&title, columns))?;
    context.out.table_cut(HEADINGS, &rows, &styles, columns)?;
    if all > shown.len() {
        context.out.styled(DIM, &format!("… {} more", all - shown.len()))?;
    }
    Ok(())
}
