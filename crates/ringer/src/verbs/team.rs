//! `ringer team`: one team on one screen.

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ringer_bridge::{EventFilter, Journal, Roster, RosterEntry, Told, daemon, observe};
use ringer_observe::{Standing, Summary, TeamState, What};
use ringer_teams::{Activity, Team as OnDisk};
use serde::Serialize;
use serde_json::{Value, json};

use super::events::catch_up;
use super::ps;
use super::tasks::list;
use crate::cli::TeamArg;
use crate::context::Context;
use crate::failure::{Failure, one_line};
use crate::happened;
use crate::output::{BOLD, DIM, cell, clean};

/// Show a team on one screen: who is on it and how each is, the tasks, the last messages, what it cost
///
/// Who is a member and what there is to do is what is on disk now; who said what, and what it cost, comes from the
/// transcript of its lead. It works without a daemon, too. The state of Claude's own teammates is `active`, `idle` or
/// `shutdown`, that of workers as in `ringer ps`.
///
/// With --json: the team's state, with `members`, `agents` (their names), `tasks`, `lead`, `messages` and `sessions`.
#[derive(Debug, Args)]
pub(crate) struct Team {
    /// The team, by name [default: $RINGER_TEAM, else the live team whose lead works here]
    #[arg(value_name = "TEAM")]
    name: Option<String>,
    /// The same
    #[arg(long = "team", short = 't', value_name = "TEAM", conflicts_with = "name", hide = true)]
    named: Option<String>,
    /// So many of the last messages
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 5)]
    last: u32,
}

/// All that is shown.
#[derive(Serialize)]
struct Screen {
    success: bool,
    #[serde(flatten)]
    state: TeamState,
    lead: Value,
    /// How each worker of ours is right now.
    workers: Vec<ps::Row>,
    messages: Vec<Told>,
    sessions: Vec<Session>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Session {
    session_id: Option<String>,
    summary: Option<Summary>,
}

impl Team {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let team = context.team(&TeamArg { team: self.name.clone().or(self.named.clone()) })?;
        let screen = self.screen(context, &team)?;
        if context.out.json {
            return Ok(context.out.data(&screen)?);
        }
        let lead = |key: &str| screen.lead[key].as_str().map(cell).unwrap_or_default();
        context.out.styled(BOLD, &clean(&screen.state.name))?;
        let (alive, at) = (lead("alive"), lead("state"));
        let at = if at.is_empty() { at } else { format!(", {at}") };
        context.out.line(&format!("lead: {alive}{at}  {}", lead("cwd")))?;
        for session in &screen.sessions {
            if let Some(summary) = &session.summary {
                context.out.styled(DIM, &happened::figures(summary))?;
            }
        }
        if let Some(error) = &screen.state.error {
            context.out.note(&format!("it was not deleted: {}", cell(error)));
        }
        self.members(context, &screen)?;
        tasks(context, &team)?;
        messages(context, &screen.messages)
    }

    fn screen(&self, context: &Context, team: &OnDisk) -> Result<Screen, Failure> {
        let journal = if daemon::running(&context.state)?.is_some() {
            Journal::open_existing(&context.state)?
        } else {
            let journal = Journal::open(&context.state)?;
            catch_up(context, &journal)?;
            Some(journal)
        };
        let mut state = observe::picture(journal.as_ref(), team)?;
        let roster = Roster::load(&context.state)?;
        let ours: Vec<&RosterEntry> = roster.on(team.dir()).collect();
        let workers = ps::rows(context, &ours, journal.as_ref())?;
        for worker in &workers {
            if let Some(member) = state.members.iter_mut().find(|m| m.name == worker.name) {
                member.status = match worker.state {
                    "ready" => Standing::Idle,
                    "gone" => Standing::Shutdown,
                    _ => Standing::Active,
                };
            }
        }
        let (mut messages, mut sessions) = (Vec::new(), Vec::new());
        if let Some(journal) = &journal {
            messages = journal.events(&EventFilter {
                team_dir: Some(team.dir().to_owned()),
                name: Some("team:message:received".to_owned()),
                after: None,
                last: Some(self.last),
            })?;
            for session in journal.sessions(team.dir())? {
                let session_id = session.session().map(str::to_owned);
                sessions.push(Session { session_id, summary: session.summary().cloned() });
            }
        }
        let lead = describe_lead(context, team);
        Ok(Screen { success: true, state, lead, workers, messages, sessions })
    }

    fn members(&self, context: &Context, screen: &Screen) -> Result<(), Failure> {
        context.out.line("")?;
        if screen.state.members.is_empty() {
            context
                .out
                .styled(DIM, "nobody else is on it; `ringer run gemini` puts a worker there")?;
            return Ok(());
        }
        let standing = |member: &ringer_observe::Member| match member.status {
            _ if screen.state.shutting_down.contains(&member.name) => "shutting down",
            Standing::Active => "active",
            Standing::Idle => "idle",
            Standing::Shutdown => "shutdown",
        };
        let rows: Vec<[String; 5]> = screen
            .state
            .members
            .iter()
            .map(|member| {
                let worker = screen.workers.iter().find(|worker| worker.name == member.name);
                let state = worker.map_or_else(|| standing(member).to_owned(), ps::state_words);
                let at = screen.state.tasks.iter().find(|task| {
                    task.owner.as_ref() == Some(&member.name)
                        && task.status == ringer_observe::Status::InProgress
                });
                let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
                [
                    cell(&member.name),
                    cell(&member.agent_type),
                    or_dash(member.model.as_deref().map(cell)),
                    state,
                    or_dash(at.map(|task| cell(&format!("#{} {}", task.id, task.subject)))),
                ]
            })
            .collect();
        Ok(context.out.table(["MEMBER", "TYPE", "MODEL", "STATE", "AT"], &rows)?)
    }
}

fn tasks(context: &Context, team: &OnDisk) -> Result<(), Failure> {
    let tasks = team.tasks()?;
    for (_, error) in &tasks.broken {
        context.out.note(&format!("warning: {}", one_line(error)));
    }
    let shown: Vec<_> = tasks.found.iter().filter(|task| !task.is_deleted()).collect();
    if shown.is_empty() {
        return Ok(());
    }
    let waits = tasks.waits();
    context.out.line("")?;
    let rows: Vec<_> = shown.iter().map(|task| list::row(task, &waits)).collect();
    let styles: Vec<_> = shown.iter().map(|task| list::style(task)).collect();
    Ok(context.out.table_in(list::HEADINGS, &rows, &styles)?)
}

fn messages(context: &Context, messages: &[Told]) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for told in messages {
        let What::Message { from, to, content, summary, .. } = &told.event.what else { continue };
        let time = told.event.time.as_deref().and_then(|time| time.parse::<Timestamp>().ok());
        let time = time.map(|time| time.to_zoned(TimeZone::system()).strftime("%m-%d %H:%M:%S"));
        let first_line = content.lines().next().unwrap_or_default();
        rows.push([
            time.map_or_else(|| "-".to_owned(), |time| time.to_string()),
            cell(from),
            cell(to.as_deref().unwrap_or("everybody")),
            cell(summary.as_deref().unwrap_or(first_line)),
        ]);
    }
    if rows.is_empty() {
        return Ok(());
    }
    context.out.line("")?;
    Ok(context.out.table(["TIME", "FROM", "TO", "MESSAGE"], &rows)?)
}

fn describe_lead(context: &Context, team: &OnDisk) -> Value {
    let session = team.config.lead_process.as_ref().and_then(|p| context.claude.session_of(p));
    let id = session.as_ref().map(|session| session.id.clone());
    let id = id.or_else(|| team.config.lead_session_id.clone());
    let activity = session.map(|session| session.activity).or_else(|| {
        let transcript = context.claude.transcript(id.as_deref()?)?;
        Some(transcript.activity)
    });
    let state = match activity {
        Some(Activity::AtRest) => Some("idle"),
        Some(Activity::Working) => Some("working"),
        Some(Activity::Unknown) | None => None,
    };
    json!({
        "name": team.config.lead().map(|lead| &lead.name),
        "alive": if team.is_own() { "ours" } else { team.lead_alive().as_str() },
        "state": state, "sessionId": id, "cwd": team.lead_cwd(),
    })
}
