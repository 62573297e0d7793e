//! What a lead's tools do.
//!
//! Owns the right to it: each call finds out anew whether a lead has made it, and of which team.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ringer_bridge::daemon::workers_dir;
use ringer_bridge::{Follows, Journal, Roster, RosterEntry};
use ringer_panes::Profile;
use ringer_serve::{Lead, Refusal, SpawnTeammate};
use ringer_teams::{Member, Team};
use serde_json::{Value, json};

use super::refusal;
use crate::cli::Globals;
use crate::context::Context;
use crate::failure::Failure;
use crate::verbs::finish::finish;
use crate::verbs::ps::rows;
use crate::verbs::remove::remove;
use crate::verbs::spawn::{Wanted, describe, directory, place};
use crate::verbs::up;

/// So long workers may take to agree to the end of their team: agents do not wait for a tool for ever.
const PATIENCE: Duration = Duration::from_secs(50);

/// Whoever started this process, if it leads a team.
pub(super) struct Leading {
    pub(super) context: Arc<Context>,
    pub(super) globals: Globals,
}

impl Lead for Leading {
    fn spawn(&self, wanted: SpawnTeammate) -> Result<Value, Refusal> {
        self.start(wanted).map_err(|failure| refusal(&failure))
    }

    fn remove(&self, name: &str) -> Result<Value, Refusal> {
        self.end(name).map_err(|failure| refusal(&failure))
    }

    fn list(&self) -> Result<Value, Refusal> {
        self.members().map_err(|failure| refusal(&failure))
    }

    fn finish(&self, summary: &str, force: bool) -> Result<Value, Refusal> {
        self.end_all(summary, force).map_err(|failure| refusal(&failure))
    }
}

impl Leading {
    fn start(&self, wanted: SpawnTeammate) -> Result<Value, Failure> {
        let (context, team) = (&*self.context, self.context.led_team()?);
        let SpawnTeammate { profile, name, prompt, cwd, command } = wanted;
        let profile = Profile::load(&profile, &workers_dir(&context.config.0))?;
        let settings = context.settings()?.spawn;
        let cwd = directory(context, cwd.map(PathBuf::from).as_deref())?;
        let wanted = Wanted {
            name: name.unwrap_or_else(|| profile.name.clone()),
            follows: follows(&team, &cwd),
            team,
            place: place(context, None)?,
            prompt: prompt.filter(|prompt| !prompt.trim().is_empty()),
            cwd,
            count: 1,
            limit: settings.ready(),
            max_workers: settings.max_workers,
            args: command,
            profile,
        };
        let mut outcomes = wanted.start(context, &|_, _| {})?;
        let one = outcomes.pop().expect("one was wanted")?;
        let mut answer = describe(&one, &wanted);
        answer["success"] = json!(true);
        Ok(answer)
    }

    fn end(&self, name: &str) -> Result<Value, Failure> {
        let team = self.context.led_team()?;
        // One that is not there is a mistake here: nobody tidies up after a model's typing.
        let member = team.member(name)?;
        if team.config.lead().is_some_and(|lead| lead.name == member.name) {
            return Err(Failure::new("permission_denied", "a lead cannot remove itself"));
        }
        if !member.is_synthetic() {
            let message = format!("{name} is a teammate of Claude Code's own");
            let hint = "send it a shutdown_request with SendMessage";
            return Err(Failure::new("permission_denied", message).hint(hint));
        }
        let removed = remove(&self.context, &team, Some(name))?;
        Ok(json!({"success": true, "team": team.name(), "removed": removed}))
    }

    fn members(&self) -> Result<Value, Failure> {
        let (context, team) = (&*self.context, self.context.led_team()?);
        let roster = Roster::load(&context.state)?;
        let ours: Vec<&RosterEntry> = roster.on(team.dir()).collect();
        let journal = Journal::open_existing(&context.state)?;
        let rows = rows(context, &ours, journal.as_ref())?;
        let lead = team.config.lead().map(|lead| lead.name.clone());
        let describe = |member: &Member| {
            let is_lead = lead.as_ref() == Some(&member.name);
            let mut all = json!({
                "name": member.name, "agent_type": member.agent_type, "model": member.model,
                "is_lead": is_lead,
            });
            if let Some(row) = rows.iter().find(|row| row.name == member.name) {
                let known = [
                    ("profile", json!(row.profile)),
                    ("state", json!(row.state)),
                    ("reason", json!(row.reason)),
                    ("queued", json!(row.queued)),
                ];
                all.as_object_mut()
                    .expect("just made")
                    .extend(known.map(|(key, value)| (key.to_owned(), value)));
            }
            all
        };
        let mut all: Vec<Value> = team.config.members.iter().map(describe).collect();
        // Who has yet to come to its prompt is not on the team, and still somebody whom the lead waits for.
        let missing = rows.iter().filter(|row| team.config.member(&row.name).is_none());
        all.extend(missing.map(|row| json!(row)));
        Ok(json!({"success": true, "team": team.name(), "teammates": all}))
    }

    fn end_all(&self, summary: &str, force: bool) -> Result<Value, Failure> {
        let (context, team) = (&*self.context, self.context.led_team()?);
        up::ensure(context, &self.globals)?;
        let done = finish(context, &team, Some(summary), PATIENCE, force, &|_| {})?;
        Ok(done.describe(Some(summary)))
    }
}

/// Who is asked for by a lead stays with it as long as it lives, and then with its directory. A team of our own is
/// there until it is deleted.
fn follows(team: &Team, cwd: &std::path::Path) -> Follows {
    match &team.config.lead_session_id {
        Some(session) if !team.is_own() => {
            let directory = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
            Follows::Lead { session: session.clone(), directory }
        }
        _ => Follows::Team,
    }
}
