//! `ringer status`: how the daemon is, and what waits why.

use std::time::{Duration, SystemTime};

use clap::Args;
use ringer_bridge::daemon::{self, Client, MemberStatus, TeamStatus};
use ringer_bridge::unheard::{catch_up, unheard};
use ringer_bridge::{Error, Journal, Queue, Roster};
use ringer_panes::PLAIN;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{ago, cell, count};
use crate::verbs::init;

/// Show the daemon, the members, and what waits why
///
/// With no daemon running, it shows what is known of members without one. The state of a member is
/// `ready`, `delivering`, `waiting` with the reason, or `no team` while its team is gone. `unheard` names who
/// does not read what was written to it, most often a lead without Ringer's hooks (`ringer init`).
#[derive(Debug, Args)]
pub(crate) struct Status {}

impl Status {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let status = Client::connect(&context.state).and_then(|mut client| client.status());
        match status {
            Ok(status) => show(context, &status),
            Err(Error::NotRunning) => without_daemon(context),
            Err(error) => Err(error.into()),
        }
    }
}

fn show(context: &Context, status: &daemon::Status) -> Result<(), Failure> {
    if context.out.json {
        let mut all = json!(status);
        all["success"] = Value::Bool(true);
        all["running"] = Value::Bool(true);
        return Ok(context.out.data(&all)?);
    }
    let out = context.out;
    let starting = if status.ready { "" } else { ", starting" };
    out.line(&format!(
        "daemon    running{starting}, process {}, for {}",
        status.pid,
        ago(time(status.started_at))
    ))?;
    let watching = &status.watching;
    out.line(&format!(
        "watching  {} ({}, {})",
        cell(&status.teams_dir.to_string_lossy()),
        watching.mode,
        match watching.poll_ms {
            Some(ms) => format!("every {ms} ms"),
            None => count(watching.watches, "watch").replace("watchs", "watches"),
        }
    ))?;
    if let Some(why) = &watching.why {
        out.line(&format!("          {why}"))?;
    }
    let (there, gone): (Vec<_>, Vec<_>) = status.teams.iter().partition(|team| team.exists);
    let names = |teams: &[&TeamStatus]| {
        teams.iter().map(|team| cell(&team.team)).collect::<Vec<_>>().join(", ")
    };
    if !there.is_empty() {
        out.line(&format!("teams     {}", names(&there)))?;
    }
    if !gone.is_empty() {
        out.line(&format!("gone      {} (their members wait)", names(&gone)))?;
    }
    for server in &status.servers {
        let (kind, name) = (cell(&server.kind), cell(&server.socket));
        out.line(&format!("{kind:<8}  {name} ({})", server.mode))?;
    }
    for problem in &status.problems {
        out.line(&format!("problem   {problem}"))?;
    }
    for one in &status.crowded {
        let (count, dir) = (one.teams.len(), one.directory.display());
        let teams = one.teams.join(", ");
        out.line(&format!(
            "leads     {count} live leads in {dir}: {teams}; `ringer move NAME --team TEAM` chooses"
        ))?;
    }
    for one in &status.unheard {
        out.line(&format!("unheard   {}", one.words(init::is_done(context))))?;
    }
    out.line("")?;
    table(context, &status.members)
}

fn table(context: &Context, members: &[MemberStatus]) -> Result<(), Failure> {
    if members.is_empty() {
        return Ok(context.out.line("no members yet; `ringer run gemini` starts one")?);
    }
    let rows: Vec<_> = members
        .iter()
        .map(|m| {
            let state = match &m.reason {
                Some(reason) => format!("{}: {reason}", m.state),
                None => m.state.clone(),
            };
            let queue = match m.failed {
                0 => m.queued.to_string(),
                failed => format!("{} ({failed} failed)", m.queued),
            };
            let last =
                m.last_delivery.map_or("-".to_owned(), |at| format!("{} ago", ago(time(at))));
            // Where its socket is concerns nobody.
            let pane = if m.pane.starts_with("host:") { "host" } else { &m.pane };
            [cell(&m.name), cell(&m.team), cell(pane), cell(&m.profile), state, queue, last]
        })
        .collect();
    context
        .out
        .table(["MEMBER", "TEAM", "PANE", "PROFILE", "STATE", "QUEUE", "LAST DELIVERY"], &rows)?;
    for member in members {
        if let Some(detail) = &member.detail {
            context.out.line(&format!("{}: {detail}", cell(&member.name)))?;
        }
    }
    Ok(())
}

fn without_daemon(context: &Context) -> Result<(), Failure> {
    let journal = Journal::open_existing(&context.state)?;
    let roster = Roster::load(&context.state)?;
    let mut nobody_hears = Vec::new();
    if let Some(journal) = &journal {
        catch_up(journal)?;
        nobody_hears = unheard(&context.claude, journal)?;
    }
    let mut members = Vec::new();
    for entry in roster.members.iter().filter(|entry| !entry.is_starting()) {
        let queue: Option<Queue> = journal.as_ref().map(|j| j.queue(&entry.id())).transpose()?;
        members.push(MemberStatus {
            team: entry.team.clone(),
            team_dir: entry.team_dir.clone().into(),
            name: entry.name.clone(),
            agent_type: entry.agent_type.clone(),
            pane: entry.pane.to_string(),
            profile: entry.profile.clone().unwrap_or_else(|| PLAIN.to_owned()),
            state: "no daemon".to_owned(),
            queued: queue.as_ref().map_or(0, |q| q.queued),
            failed: queue.as_ref().map_or(0, |q| q.failed),
            reason: queue.as_ref().and_then(|q| q.reason.clone()),
            detail: None,
            waiting_since: queue.as_ref().and_then(|q| q.waiting_since),
            last_delivery: queue.and_then(|q| q.last_delivery),
        });
    }
    if context.out.json {
        let all = json!({
            "success": true, "running": false, "members": members, "unheard": nobody_hears,
        });
        return Ok(context.out.data(&all)?);
    }
    context.out.line("daemon    not running; start it with `ringer up`")?;
    for one in &nobody_hears {
        context.out.line(&format!("unheard   {}", one.words(init::is_done(context))))?;
    }
    context.out.line("")?;
    table(context, &members)
}

fn time(millis: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
