//! `ringer teammate`: what Claude Code runs when it spawns a teammate.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Args;
use ringer_bridge::daemon::workers_dir;
use ringer_bridge::{Follows, Letter, Settings, Wish, post};
use ringer_panes::Profile;
use ringer_teams::{LEAD, Team};

use crate::cli::Globals;
use crate::context::{Context, find_program};
use crate::failure::Failure;
use crate::launch::Launch;
use crate::program::program;

/// The program that Claude Code runs for a teammate (CLAUDE_CODE_TEAMMATE_COMMAND)
///
/// `ringer init` sets it up. A name that fits a pattern in the settings (`spawn.names`: gemini-*, codex-*,
/// opencode-*) becomes a worker of that profile, in the pane that Claude Code opened; its first prompt comes
/// from its inbox. Any other name is Claude Code itself, with exactly the arguments that were given.
#[derive(Debug, Args)]
pub(crate) struct Teammate {
    /// What Claude Code says of it: --agent-name NAME --team-name TEAM …
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<String>,
}

impl Teammate {
    pub(crate) fn run(self, context: &Context, globals: &Globals) -> Result<ExitCode, Failure> {
        let Some(name) = self.value("--agent-name").map(str::to_owned) else {
            return Err(Failure::usage(
                "Claude Code runs this for its teammates, and says --agent-name",
            ));
        };
        // A mistake there must not keep Claude's own teammates from starting.
        let settings = context.settings().unwrap_or_else(|failure| {
            context.out.note(&format!("warning: {}; the defaults hold", failure.message()));
            Settings::default()
        });
        let Some(profile) = settings.spawn.profile(&name) else {
            return Err(self.become_claude(context, &settings.spawn.claude));
        };
        let Some(team) = self.value("--team-name") else {
            return Err(Failure::usage("Claude Code did not say --team-name"));
        };
        let team = context.claude.team(team)?;
        let started = Profile::load(profile, &workers_dir(&context.config.0))
            .map_err(Failure::from)
            .and_then(|profile| start(context, globals, &team, &name, &profile));
        if let Err(failure) = &started {
            tell_lead(context, &team, &name, failure);
        }
        started
    }

    fn value(&self, option: &str) -> Option<&str> {
        let at = self.args.iter().position(|arg| arg == option)?;
        self.args.get(at + 1).map(String::as_str)
    }

    /// Only returns if that is not possible.
    fn become_claude(&self, context: &Context, chosen: &str) -> Failure {
        let mut words = self.claude(context, chosen);
        if words.is_empty() {
            return Failure::new("not_started", "there is no Claude Code to be found")
                .hint("say where it is: spawn.claude in config.toml");
        }
        let mut command = program(words.remove(0));
        command.args(words).args(&self.args);
        let error = command.exec();
        Failure::new("not_started", "could not start Claude Code").cause(&error)
    }

    /// What the lead was started with, unless the user chose another one.
    fn claude(&self, context: &Context, chosen: &str) -> Vec<PathBuf> {
        if !chosen.is_empty() {
            return vec![chosen.into()];
        }
        let team = self.value("--team-name").and_then(|name| context.claude.team(name).ok());
        let lead = team.and_then(|team| team.config.lead_process).map(|process| process.pid);
        let lead = lead.and_then(program_of);
        lead.or_else(|| find_program("claude").map(|path| vec![path])).unwrap_or_default()
    }
}

/// The program that a process runs, with its script if it is one.
fn program_of(pid: i64) -> Option<Vec<PathBuf>> {
    let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok().filter(|exe| exe.exists())?;
    let name = exe.file_name()?.to_str()?;
    if !matches!(name, "node" | "nodejs" | "bun") {
        return Some(vec![exe]);
    }
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = words.split(|byte| *byte == 0).skip(1);
    let script = words.find(|word| !word.starts_with(b"-"))?;
    let script = PathBuf::from(String::from_utf8(script.to_vec()).ok()?);
    (script.is_absolute() && script.exists()).then(|| vec![exe, script])
}

fn start(
    context: &Context,
    globals: &Globals,
    team: &Team,
    name: &str,
    profile: &Profile,
) -> Result<ExitCode, Failure> {
    if profile.command.is_empty() {
        let message = format!("the profile `{}` has no command", profile.name);
        return Err(Failure::new("invalid_config", message));
    }
    let launch = Launch {
        context,
        globals,
        profile,
        team,
        wish: Wish { name, exact: true, limit: None },
        words: &profile.command,
        cwd: context.cwd.clone(),
        follows: Follows::Team,
        native: true,
        leads: false,
        detached: false,
    };
    launch.run()
}

/// Claude Code says that all is well whatever becomes of the program: the lead is told by us.
fn tell_lead(context: &Context, team: &Team, name: &str, failure: &Failure) {
    let text = format!("{name} was not started: {}", failure.message());
    let lead = team.config.lead().map_or(LEAD, |lead| &lead.name);
    let letter =
        Letter { from: name, to: lead, text: &text, summary: Some("not started"), force: true };
    // It is also said in the pane.
    post(&context.state, team, &letter, SystemTime::now()).ok();
}
