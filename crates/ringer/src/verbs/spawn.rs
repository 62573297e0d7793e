//! `ringer spawn`: workers in the background or in new panes, ready and on the team when it returns.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use ringer_bridge::daemon::workers_dir;
use ringer_bridge::{Error, Follows, Letter, Roster, post};
use ringer_panes::Profile;
use ringer_teams::{LEAD, Team, birth_branch, slug, subtree_branch, team_name};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::launch::asking::{self, Started, Where};
use crate::launch::order::Order;
use crate::place::PlaceArg;
use crate::verbs::send::message_text;
use crate::verbs::stop::stop;

/// Start workers, and have them ready on a team
///
/// Each runs in the background (`ringer attach NAME` shows it), or, within tmux or Zellij, in a new pane beside this
/// one. When this returns 0, each is at its prompt and on the team, and has its first prompt in its inbox. One that
/// does not come to its prompt is shown as it was last, and nothing is left of it.
///
/// Without --team or --session they belong to their directory: when the lead ends, they wait, and join the next lead
/// that starts there. `ringer spawn claude` starts a Claude Code that leads a team of its own: a subtree.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Spawn {
    /// What kind of worker; `ringer profiles` lists them
    profile: String,
    /// What Claude will call it; with a number behind it if somebody has that name [default: the profile's name]
    #[arg(long, short)]
    name: Option<String>,
    #[command(flatten)]
    place: PlaceArg,
    /// Where it runs [default: a pane within tmux or Zellij, else the background]
    #[arg(long = "in", value_name = "WHERE")]
    inside: Option<Inside>,
    /// What it is to do first: a text, `@FILE`, or `-` for standard input
    #[arg(long, short, allow_hyphen_values = true)]
    prompt: Option<String>,
    /// Where it works [default: this directory]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// So many of them, called NAME, NAME-2, NAME-3 …
    #[arg(long, short, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=50))]
    count: u16,
    /// So many seconds each may take to come to its prompt [default: spawn.ready_s in the settings]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Arguments behind the profile's command; for a profile without one, the command
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  ringer spawn gemini --name rust-impl --prompt 'Read src/, then wait.'
  ringer spawn gemini --count 3                      gemini, gemini-2 and gemini-3
  ringer spawn codex --in host --prompt @task.md     in the background, though this is tmux
  ringer spawn shell --name build -- ./worker.sh     any program that reads lines
  ringer spawn claude --name backend                 a Claude Code with a team of its own";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Inside {
    /// The background
    Host,
    /// A new pane of tmux
    Tmux,
    /// A new pane of Zellij
    Zellij,
}

/// Workers that somebody wants.
pub(crate) struct Wanted {
    pub(crate) profile: Profile,
    pub(crate) name: String,
    pub(crate) team: Team,
    pub(crate) follows: Follows,
    pub(crate) place: Where,
    pub(crate) prompt: Option<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) count: usize,
    pub(crate) limit: Duration,
    pub(crate) max_workers: usize,
    pub(crate) args: Vec<String>,
}

/// So many start at a time: each of them uses a processor for some seconds.
const AT_A_TIME: usize = 5;

impl Spawn {
    pub(crate) fn run(self, context: &Context) -> Result<ExitCode, Failure> {
        let profile = Profile::load(&self.profile, &workers_dir(&context.config.0))?;
        let cwd = directory(context, self.cwd.as_deref())?;
        let (team, follows) = self.place.find(context, &cwd)?;
        let settings = context.settings()?.spawn;
        let wanted = Wanted {
            name: self.name.unwrap_or_else(|| profile.name.clone()),
            team,
            follows,
            place: place(context, self.inside)?,
            prompt: self.prompt.map(|prompt| read_prompt(context, prompt)).transpose()?,
            cwd,
            count: self.count.into(),
            limit: self.timeout.map_or(settings.ready(), Duration::from_secs),
            max_workers: settings.max_workers,
            args: self.args,
            profile,
        };
        let outcomes = wanted.start(context, &|name, what| {
            if !context.out.json {
                context.out.note(&format!("{name}: {what}"));
            }
        })?;
        report(context, &wanted, outcomes)
    }
}

impl Wanted {
    /// Starts them all, a few at a time; what became of each.
    pub(crate) fn start(
        &self,
        context: &Context,
        progress: &(dyn Fn(&str, &str) + Sync),
    ) -> Result<Vec<Result<Started, Failure>>, Failure> {
        let words = [&self.profile.command[..], &self.args[..]].concat();
        if words.is_empty() {
            let message = format!("the profile `{}` has no command", self.profile.name);
            let hint = format!("ringer spawn {} -- CMD", self.profile.name);
            return Err(Failure::usage(&message).hint(&hint));
        }
        let roster = Roster::load(&context.state)?;
        let there = roster.on(self.team.dir()).filter(|m| m.birth.is_some() && !m.leads).count();
        if there + self.count > self.max_workers {
            let (team, limit) = (self.team.name().to_owned(), self.max_workers);
            return Err(Error::TooManyWorkers { team, there, wanted: self.count, limit }.into());
        }
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..AT_A_TIME.min(self.count) {
                scope.spawn(|| {
                    while next.fetch_add(1, Ordering::Relaxed) < self.count {
                        let one = self.start_one(context, words.clone(), progress);
                        done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(one);
                    }
                });
            }
        });
        Ok(done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn give_prompt(&self, context: &Context, name: &str, prompt: &str) -> Result<(), Failure> {
        let lead = self.team.config.lead().map_or(LEAD, |lead| &lead.name);
        let summary = Some("first prompt");
        let letter = Letter { from: lead, to: name, text: prompt, summary, force: true };
        for one in post(&context.state, &self.team, &letter, SystemTime::now())?.posted {
            one.outcome?;
        }
        Ok(())
    }

    fn start_one(
        &self,
        context: &Context,
        words: Vec<String>,
        progress: &dyn Fn(&str, &str),
    ) -> Result<Started, Failure> {
        let order = Order {
            profile: self.profile.name.clone(),
            words,
            cwd: self.cwd.clone(),
            team: self.team.dir_name().to_owned(),
            follows: self.follows.clone(),
            name: self.name.clone(),
            exact: false,
            limit: self.max_workers,
            leads: false,
            detached: self.place == Where::Background,
        };
        let started = asking::start(context, &order, &self.place, Some(self.limit), progress)?;
        let words = [as_a_lead(&self.profile, &self.cwd, &started.name), self.prompt.clone()];
        let prompt = words.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        if !prompt.is_empty()
            && let Err(failure) = self.give_prompt(context, &started.name, &prompt)
        {
            // One that has nothing to do is not what was asked for.
            let roster = Roster::load(&context.state)?;
            if let Some(entry) = roster.find(self.team.dir(), &started.name) {
                stop(context, entry)?;
            }
            return Err(failure);
        }
        progress(&started.name, &format!("ready after {:.1} s", started.took.as_secs_f64()));
        Ok(started)
    }
}

/// What a worker is told that leads a team of its own.
fn as_a_lead(profile: &Profile, cwd: &Path, name: &str) -> Option<String> {
    let subtree = profile.subtree.as_ref()?;
    let branch = subtree_branch(birth_branch(cwd).as_deref(), &slug(name));
    let team = team_name(Some(&branch));
    let prompt = subtree.prompt.replace("{team}", &team).replace("{plain}", &slug(&team));
    Some(prompt.trim().to_owned())
}

fn report(
    context: &Context,
    wanted: &Wanted,
    outcomes: Vec<Result<Started, Failure>>,
) -> Result<ExitCode, Failure> {
    let team = wanted.team.name();
    let (mut started, mut failed) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Ok(one) => started.push(one),
            Err(failure) => failed.push(failure),
        }
    }
    started.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
    let workers: Vec<Value> = started.iter().map(|one| describe(one, wanted)).collect();
    if !context.out.json {
        for one in &started {
            let name = &one.name;
            let how = match &wanted.place {
                Where::Background => format!("`ringer attach {name}` shows it"),
                Where::Pane(multiplexer) => format!("in a pane of {}", multiplexer.as_str()),
            };
            context.out.line(&format!("{name} is on {team}; {how}"))?;
        }
    }
    if let Some(last) = failed.pop() {
        if !context.out.json {
            for failure in &failed {
                failure.report(false);
            }
        }
        return Err(last.detail("started", json!(workers)));
    }
    if context.out.json {
        context.out.data(&json!({"success": true, "team": team, "workers": workers}))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn describe(one: &Started, wanted: &Wanted) -> Value {
    json!({
        "name": one.name, "team": wanted.team.name(), "profile": wanted.profile.name, "pid": one.pid,
        "pane": format!("host:{}", one.socket.display()), "ready_ms": one.took.as_millis(),
    })
}

/// Where workers run if nobody says otherwise: where somebody can see them.
pub(crate) fn place(context: &Context, inside: Option<Inside>) -> Result<Where, Failure> {
    let around = context.multiplexer();
    let wanted = match inside {
        None => return Ok(around.map_or(Where::Background, Where::Pane)),
        Some(Inside::Host) => return Ok(Where::Background),
        Some(Inside::Tmux) => "tmux",
        Some(Inside::Zellij) => "zellij",
    };
    let around = around.filter(|multiplexer| multiplexer.as_str() == wanted);
    around.map(Where::Pane).ok_or_else(|| {
        let message = format!("this is not within {wanted}");
        Failure::new("no_terminal", message).hint("run it in a pane there, or use `--in host`")
    })
}

pub(crate) fn directory(context: &Context, given: Option<&Path>) -> Result<PathBuf, Failure> {
    let dir = given.map_or(context.cwd.clone(), |dir| context.cwd.join(dir));
    if !dir.is_dir() {
        let message = format!("there is no directory `{}`", dir.display());
        return Err(Failure::usage(&message));
    }
    Ok(dir)
}

/// A prompt, which may be in a file.
fn read_prompt(context: &Context, given: String) -> Result<String, Failure> {
    let text = match given.strip_prefix('@') {
        Some(file) => {
            let path = context.cwd.join(file);
            std::fs::read_to_string(&path).map_err(|e| {
                let message = format!("could not read `{}`", path.display());
                Failure::new("unreadable", message).cause(&e)
            })?
        }
        None => message_text(given)?,
    };
    if text.trim().is_empty() {
        return Err(ringer_teams::Error::EmptyMessage.into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringer_testkit::put;
    use std::fs;

    #[test]
    fn who_leads_a_team_of_its_own_is_told_what_to_call_it() {
        let dir = tempfile::tempdir().unwrap();
        let load = |name: &str| Profile::load(name, dir.path()).unwrap();
        for (head, name, team, plain) in [
            (None, "backend", "exo-root.backend", "exo-root-backend"),
            (Some("refs/heads/main"), "backend", "exo-main.backend", "exo-main-backend"),
            (Some("refs/heads/main.a"), "b", "exo-main.a.b", "exo-main-a-b"),
            (Some("refs/heads/feat/x_1"), "Dev_2", "exo-feat-x_1.dev-2", "exo-feat-x-1-dev-2"),
        ] {
            if let Some(head) = head {
                fs::create_dir_all(dir.path().join(".git")).unwrap();
                put(&dir.path().join(".git/HEAD"), &format!("ref: {head}\n"));
            }
            let words = as_a_lead(&load("claude"), dir.path(), name).unwrap();
            let names = format!("under the name {team} (if that is refused, {plain})");
            assert!(words.contains(&names), "{words}");
            assert!(
                words.starts_with("You are a member of a team, and the lead of a team of your")
            );
            for tool in ["TeamCreate", "spawn_teammate", "SendMessage", "notify_parent"] {
                assert!(words.contains(tool), "{tool} in {words}");
            }
            assert!(!words.contains(['{', '}']), "{words}");
        }
        assert_eq!(as_a_lead(&load("gemini"), dir.path(), "w"), None);
    }
}
