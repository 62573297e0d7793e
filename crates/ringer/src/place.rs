//! Where a worker belongs, as options say it: a team, a session, or else a directory.

use std::path::{Path, PathBuf};

use clap::Args;
use ringer_bridge::Follows;
use ringer_teams::{Error, Team};

use crate::context::{Context, variable};
use crate::failure::Failure;

/// A worker's place.
#[derive(Debug, Args)]
pub(crate) struct PlaceArg {
    /// The team, by name: it stays on that one [default: $RINGER_TEAM, else the live team whose lead works here]
    #[arg(long, short, value_name = "TEAM", conflicts_with = "session")]
    pub(crate) team: Option<String>,
    /// The team of this session of Claude Code, by its id or the beginning of it
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

impl PlaceArg {
    /// The team that is meant now, and the rule that says so later.
    pub(crate) fn find(&self, context: &Context, cwd: &Path) -> Result<(Team, Follows), Failure> {
        if let Some(session) = &self.session {
            return of_session(context, session);
        }
        // What a worker asks for is for the team that it leads, if it leads one, else for its own: it may have moved
        // since it was started.
        if self.team.is_none()
            && let Some(entry) = context.own_entry()?
        {
            return Ok(match context.led_team() {
                Ok(team) => (team, Follows::Team),
                Err(_) => (context.claude.team(&entry.team)?, entry.follows),
            });
        }
        let named = self.team.clone().or_else(|| variable("RINGER_TEAM"));
        if let Some(name) = named {
            return Ok((context.claude.team(&name)?, Follows::Team));
        }
        of_directory(context, cwd)
    }
}

/// The team of a session.
pub(crate) fn of_session(context: &Context, id: &str) -> Result<(Team, Follows), Failure> {
    let teams = context.claude.teams()?.found;
    let session = |team: &Team| team.config.lead_session_id.clone();
    let fits = |team: &&Team| session(team).is_some_and(|whole| whole.starts_with(id));
    let found: Vec<&Team> = teams.iter().filter(fits).collect();
    match found[..] {
        [team] if !id.is_empty() => {
            Ok((team.clone(), Follows::Session(session(team).unwrap_or_default())))
        }
        [] => {
            let known = teams.iter().map(|team| team.name().to_owned()).collect();
            Err(Error::TeamNotFound { team: id.to_owned(), known }.into())
        }
        _ => Err(Failure::usage(&format!("several sessions begin with `{id}`"))),
    }
}

/// The team of a directory.
pub(crate) fn of_directory(context: &Context, dir: &Path) -> Result<(Team, Follows), Failure> {
    let teams = context.claude.teams()?.found;
    let team = context.team_of_directory(&teams, dir)?;
    let dir: PathBuf = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    Ok((team, Follows::Directory(dir)))
}
