//! `ringer demo`: the way of a message, shown on a temporary team.

mod stage;

use std::fs::{self, DirBuilder};
use std::io::Write as _;
use std::path::Path;
use std::time::SystemTime;

use clap::Args;
use jiff::Timestamp;
use ringer_bridge::{Letter, Reach, Roster, StateDir, occupant, post};
use ringer_panes::Address;
use ringer_teams::{ClaudeDir, LEAD, NewMember, SyntheticMemberService};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{BOLD, GREEN, Output, RED};

use stage::Stage;

/// Show how it works, step by step, on a temporary team
///
/// A team in a temporary directory, a daemon, and a worker in a tmux of its own (without tmux, all
/// but that). Nothing of yours is touched, and all of it is gone at the end.
#[derive(Debug, Args)]
pub(crate) struct Demo {}

const TEAM: &str = "demo";
const WORKER: &str = "rust-impl";

/// What happened, and the file that shows it.
struct Step {
    title: String,
    file: &'static str,
    before: String,
    after: String,
}

impl Demo {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let (steps, missing) = play(&context.cwd)?;
        if context.out.json {
            let steps: Vec<_> = steps
                .iter()
                .map(|s| json!({"title": s.title, "file": s.file, "content": s.after}))
                .collect();
            let all = json!({"success": true, "steps": steps, "missing": missing});
            return Ok(context.out.data(&all)?);
        }
        for (number, step) in (1..).zip(&steps) {
            context.out.styled(BOLD, &format!("{number}. {}\n", step.title))?;
            context.out.line(&format!("   {}", step.file))?;
            show_changes(context.out, &step.before, &step.after)?;
        }
        if let Some(missing) = missing {
            context.out.line(&format!(
                "Not shown: the message in a worker's pane, because {missing}.\n"
            ))?;
        }
        context.out.line(
            "Now with a real team: `ringer init` once, so that the lead hears its workers; then\n\
             `ringer run gemini` in the directory where Claude works, or `ringer register NAME\n\
             --pane tmux:%N` for a worker that runs in tmux already.",
        )?;
        Ok(())
    }
}

/// The steps, and why the pane is not among them if it is not.
fn play(cwd: &Path) -> Result<(Vec<Step>, Option<String>), Failure> {
    const CONFIG: &str = "teams/demo/config.json";
    const WORKERS: &str = "teams/demo/inboxes/rust-impl.json";
    const LEADS: &str = "teams/demo/inboxes/team-lead.json";
    const PANE: &str = "the worker's pane in tmux";

    let world = tempfile::tempdir().map_err(|e| {
        Failure::new("internal_error", "could not make a temporary directory").cause(&e)
    })?;
    let claude = ClaudeDir::new(world.path());
    let state = StateDir::new(world.path().join("ringer"));
    let mut steps: Vec<Step> = Vec::new();
    let mut show = |title: String, file: &'static str, screen: Option<String>| {
        let text = || fs::read_to_string(world.path().join(file)).unwrap_or_default();
        let after = screen.unwrap_or_else(text);
        let same = steps.iter().rfind(|step| step.file == file);
        let before = same.map_or_else(String::new, |step| step.after.clone());
        steps.push(Step { title, file, before, after });
    };
    let now = Timestamp::now().as_millisecond();

    found(world.path(), cwd, now)?;
    show("Claude Code starts a team. Only the lead is on it.".into(), CONFIG, None);

    let theatre = Stage::set(world.path());
    let pane = theatre.as_ref().map_or(Address::None, Stage::pane);
    let member = NewMember::new(WORKER, cwd, now);
    let team = claude.team(TEAM)?;
    SyntheticMemberService::register(&team, &member)?;
    let who = occupant(&pane).ok().flatten();
    Roster::enter(&state, &team, &member, Some(Reach { pane, occupant: who, ..Reach::default() }))?;
    show(
        format!(
            "`ringer register {WORKER}` puts a worker on it. Claude's SendMessage now knows that name."
        ),
        CONFIG,
        None,
    );

    let send = |from, to, text, summary| -> Result<String, Failure> {
        let letter = Letter { from, to, text, summary: Some(summary), force: false };
        let posted = post(&state, &claude.team(TEAM)?, &letter, SystemTime::now())?.posted;
        let held =
            posted.into_iter().next().map(|one| one.outcome).transpose()?.map(|one| one.held);
        Ok(format!("{:.0?}", held.unwrap_or_default()))
    };
    let missing = match &theatre {
        Ok(set) => {
            set.wait_until_ready(&state)?;
            None
        }
        Err(missing) => Some(missing.clone()),
    };
    let held = send(LEAD, WORKER, "Switch to a BTreeMap, please.", "Change data structure")?;
    if let Ok(set) = &theatre {
        let took = set.wait_until_delivered(&state, &team.mailbox(WORKER)?)?;
        show(
            format!(
                "The lead sends a message. {took} later the daemon has typed it to the worker."
            ),
            PANE,
            Some(set.screen()),
        );
        show(
            "In the inbox, which was locked for moments, it is marked as read.".into(),
            WORKERS,
            None,
        );
    } else {
        show(format!("The lead sends a message. The inbox was locked for {held}."), WORKERS, None);
    }

    let held = send(WORKER, LEAD, "Done: 3 files, all tests pass.", "Switched to BTreeMap")?;
    show(format!("The worker answers. The lead's inbox was locked for {held}."), LEADS, None);

    Roster::strike(&state, team.dir(), Some(WORKER))?;
    SyntheticMemberService::remove(&claude.team(TEAM)?, WORKER)?;
    let title = format!("`ringer remove {WORKER}` takes it off again. The rest is as it was.");
    show(title, CONFIG, None);
    Ok((steps, missing))
}

/// A team as the newest Claude Code makes it.
fn found(world: &Path, cwd: &Path, now: i64) -> Result<(), Failure> {
    let cwd = json!(cwd);
    let config = format!(
        r#"{{
  "name": "{TEAM}",
  "createdAt": {now},
  "leadAgentId": "{LEAD}@{TEAM}",
  "leadSessionId": "00000000-0000-4000-8000-000000000000",
  "members": [
    {{
      "agentId": "{LEAD}@{TEAM}",
      "name": "{LEAD}",
      "agentType": "{LEAD}",
      "joinedAt": {now},
      "tmuxPaneId": "leader",
      "cwd": {cwd},
      "subscriptions": [],
      "backendType": "in-process"
    }}
  ]
}}"#
    );
    let dir = world.join("teams").join(TEAM);
    DirBuilder::new().recursive(true).create(&dir)?;
    let mut file = tempfile::NamedTempFile::new_in(&dir)?;
    file.write_all(config.as_bytes())?;
    file.persist(dir.join("config.json")).map_err(|e| e.error)?;
    Ok(())
}

/// The new text, with `+` before lines that were not there and `-` before those that are gone.
/// What the demo does only ever changes one stretch of lines.
fn show_changes(out: Output, before: &str, after: &str) -> std::io::Result<()> {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tails = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = tails.take_while(|(a, b)| a == b).count();
    let show = |style, mark, lines: &[&str]| {
        lines.iter().try_for_each(|line| out.styled(style, &format!("   {mark} {line}")))
    };
    show("", " ", &new[..head])?;
    show(RED, "-", &old[head..old.len() - tail])?;
    show(GREEN, "+", &new[head..new.len() - tail])?;
    show("", " ", &new[new.len() - tail..])?;
    out.line("")
}
