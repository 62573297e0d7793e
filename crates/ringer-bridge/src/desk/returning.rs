//! The tasks of a member that is gone: anybody's again.

use ringer_teams::{Actor, Team};

use super::lead_of;
use super::word::Word;
use crate::error::Result;
use crate::state::StateDir;

/// Gives back what a member has not completed, and tells the lead of it. Of several that do this at once, each tells of
/// what it gave back itself.
pub(crate) fn return_tasks(state: &StateDir, team: &Team, name: &str, why: &str) -> Result<()> {
    let board = team.board();
    let me = Actor::Member(name.to_owned());
    let (mut returned, mut failed) = (Vec::new(), None);
    for task in board.unfinished(name)? {
        match board.release(&task.id, &me) {
            Ok(done) => returned.push(done.task),
            // It was completed, given to another or deleted meanwhile.
            Err(ringer_teams::Error::Task(_)) => {}
            Err(error) => failed = Some(error),
        }
    }
    let lead = lead_of(team);
    if !returned.is_empty() && lead != name {
        Word::given_back(&returned, name, lead, why).send(state, team)?;
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}
