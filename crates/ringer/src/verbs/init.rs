//! `ringer init`: Ringer's part in Claude Code's settings.

mod diff;
mod policy;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, ErrorKind, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;
use ringer_panes::shell_word;
use ringer_teams::claude_settings::{Added, Wanted, put_in, take_out};
use ringer_teams::{Change, edit};
use serde_json::{Value, json};

use crate::context::{Context, find_program};
use crate::failure::Failure;

/// Set Claude Code up: its lead hears its workers, and can spawn them itself
///
/// Claude Code 2.1.178 and newer does not read its inbox while all its teammates are workers of Ringer's. This
/// puts hooks into its settings that hand it the mail, turns agent teams on, names Ringer as the program that
/// spawned teammates run through (names like gemini-one become Gemini CLI, others are Claude Code as always),
/// and allows Ringer's own tools. What changes is shown first, the old file is kept beside the new one, and
/// --uninstall takes out exactly what was put in. Start Claude Code again afterwards.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "options of a command line are what they are")]
pub(crate) struct Init {
    /// Into your own settings, for all projects (the default)
    #[arg(long, group = "where")]
    user: bool,
    /// Into .claude/settings.json of this directory, which others share
    #[arg(long, group = "where")]
    project: bool,
    /// Into .claude/settings.local.json of this directory, which is yours alone
    #[arg(long, group = "where")]
    local: bool,
    /// Let Claude spawn workers also outside tmux, where it would make a Claude of its own instead
    /// (teammateMode = tmux: teammates get panes of a tmux of their own)
    #[arg(long, conflicts_with = "uninstall")]
    spawn: bool,
    /// Take out what was put in
    #[arg(long)]
    uninstall: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Where an administrator's settings are
    #[arg(long, hide = true, default_value = "/etc/claude-code")]
    policy: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  ringer init                 show what would change, ask, and do it
  ringer init --spawn --yes   also let Claude spawn workers anywhere; do not ask
  ringer init --uninstall     take it all out again";

/// What was put into which file.
type Records = BTreeMap<String, Record>;

#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Record {
    added: Added,
    /// Whether there was no file.
    made: bool,
}

const RECORDS: &str = "init.json";

impl Init {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let path = self.path(context);
        // A link to where somebody keeps it is followed, not replaced.
        let path = path.canonicalize().unwrap_or(path);
        let records: Records = context.state.load(RECORDS)?;
        let key = path.display().to_string();
        let record = records.get(&key).cloned().unwrap_or_default();
        let old = read(&path)?;
        let plan = self.plan(old.as_deref(), &record)?;
        let mut warnings = plan.warnings.clone();
        if !self.uninstall {
            warnings.extend(policy::warnings(&self.policy, &plan.text, &wanted(self.spawn)?));
        }
        let before = old.clone().unwrap_or_default();
        let changes = plan.text != before && !(old.is_none() && self.uninstall);
        if !changes {
            self.say(context, &path, "nothing to change", None, &warnings)?;
            return Ok(());
        }
        if !context.out.json {
            diff::show(context.out, &path, &before, &plan.text)?;
            warn(context, &warnings);
            warnings.clear();
        }
        if !self.yes {
            self.ask(context)?;
        }
        let backup = match &old {
            Some(text) => Some(back_up(&path, text)?),
            None => None,
        };
        self.write(&path, old.as_deref(), &plan, record.made)?;
        context.state.change(RECORDS, |all: &mut Records| {
            if self.uninstall {
                all.remove(&key);
            } else {
                let made = old.is_none() || record.made;
                all.insert(key.clone(), Record { added: plan.added.clone(), made });
            }
        })?;
        let done = if self.uninstall { "taken out" } else { "done; start Claude Code again" };
        self.say(context, &path, done, backup.as_deref(), &warnings)
    }

    fn path(&self, context: &Context) -> PathBuf {
        if self.project {
            context.cwd.join(".claude/settings.json")
        } else if self.local {
            context.cwd.join(".claude/settings.local.json")
        } else {
            context.claude_dir.join("settings.json")
        }
    }

    fn plan(&self, old: Option<&str>, record: &Record) -> Result<Plan, Failure> {
        let broken = |why: ringer_teams::NotWhole| {
            Failure::new("unreadable", format!("the settings are not understood: {why}"))
                .hint("nothing was changed; mend the file first")
        };
        let text = old.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
        // First what was put in before: this may be another version of it, or in another place. Without a
        // record, what can only be ours.
        let added =
            if record.added == Added::default() { unrecorded()? } else { record.added.clone() };
        let bare = take_out(text, &added, is_ours).map_err(broken)?;
        if self.uninstall {
            return Ok(Plan { text: bare, added: Added::default(), warnings: Vec::new() });
        }
        let merged = put_in(&bare, &wanted(self.spawn)?).map_err(broken)?;
        let warnings = merged.kept.iter().map(|(name, there, wanted)| {
            format!(
                "`env.{name}` is {there:?} in your settings and stays so; Ringer wants {wanted:?}"
            )
        });
        Ok(Plan { warnings: warnings.collect(), text: merged.text, added: merged.added })
    }

    fn ask(&self, context: &Context) -> Result<(), Failure> {
        let stdin = std::io::stdin();
        if context.out.json || !stdin.is_terminal() {
            return Err(Failure::new("not_confirmed", "nothing was changed: nobody can be asked")
                .hint("say --yes to go ahead"));
        }
        context.out.ask("Write this? [y/N] ");
        let mut answer = String::new();
        stdin.lock().read_line(&mut answer)?;
        if matches!(answer.trim(), "y" | "Y" | "yes") {
            return Ok(());
        }
        Err(Failure::new("not_confirmed", "nothing was changed"))
    }

    fn write(
        &self,
        path: &Path,
        old: Option<&str>,
        plan: &Plan,
        made: bool,
    ) -> Result<(), Failure> {
        // What we made and emptied goes as a whole.
        if self.uninstall && made && is_empty(&plan.text) {
            fs::remove_file(path)?;
            return Ok(());
        }
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        let unchanged = edit(path, Some(""), |now| {
            if now != old.unwrap_or_default() {
                return Ok(Change::Keep(false));
            }
            Ok(Change::Write { text: plan.text.clone(), sync: true, value: true })
        })?;
        if !unchanged.value {
            return Err(Failure::new("conflict", "somebody changed the settings meanwhile")
                .hint("nothing was changed; run it again"));
        }
        Ok(())
    }

    fn say(
        &self,
        context: &Context,
        path: &Path,
        what: &str,
        backup: Option<&Path>,
        warnings: &[String],
    ) -> Result<(), Failure> {
        if !context.out.json {
            warn(context, warnings);
        }
        let kept = backup.map_or(String::new(), |b| format!("; as it was: {}", b.display()));
        let people = format!("{}: {what}{kept}", path.display());
        let scripts = json!({
            "success": true, "path": path, "changed": !what.starts_with("nothing"),
            "backup": backup, "warnings": warnings,
        });
        Ok(context.out.answer(&people, &scripts)?)
    }
}

fn warn(context: &Context, warnings: &[String]) {
    for warning in warnings {
        context.out.note(&format!("warning: {warning}"));
    }
}

/// Whether the lead's hooks are in any of the settings that hold here.
pub(crate) fn is_done(context: &Context) -> bool {
    let own = context.cwd.join(".claude");
    let files = [
        context.claude_dir.join("settings.json"),
        own.join("settings.json"),
        own.join("settings.local.json"),
    ];
    let has = |file: &PathBuf| fs::read_to_string(file).is_ok_and(|t| t.contains(" hook wait\""));
    files.iter().any(has)
}

/// What is to be written.
struct Plan {
    text: String,
    added: Added,
    warnings: Vec<String>,
}

/// The program that teammates run through.
const COMMAND: &str = "CLAUDE_CODE_TEAMMATE_COMMAND";

/// The rule that allows our tools.
const TOOLS: &str = "mcp__ringer";

/// Where this program is: as it is found by its name, if that leads here, since that stays true when it is
/// installed anew. Always the whole path: hooks may have another search path.
fn this_program() -> Result<String, Failure> {
    let exe = std::env::current_exe()?;
    let is_this = |path: &PathBuf| path.canonicalize().ok() == exe.canonicalize().ok();
    let found = find_program("ringer").filter(is_this);
    Ok(found.unwrap_or(exe).display().to_string())
}

/// What nobody but a Ringer puts there.
fn unrecorded() -> Result<Added, Failure> {
    let env = vec![(COMMAND.to_owned(), this_program()?)];
    Ok(Added { env, allow: vec![TOOLS.to_owned()], ..Added::default() })
}

/// What Ringer needs.
fn wanted(spawn: bool) -> Result<Wanted, Failure> {
    let program = this_program()?;
    let command = shell_word(&program);
    let wait = json!({"hooks": [{
        "type": "command", "command": format!("{command} hook wait"),
        "async": true, "asyncRewake": true, "timeout": 86400,
    }]});
    let post_tool = json!({"matcher": "*", "hooks": [{
        "type": "command", "command": format!("{command} hook post-tool"), "timeout": 10,
    }]});
    let mut hooks: Vec<(String, Value)> = ["SessionStart", "UserPromptSubmit", "Stop"]
        .map(|event| (event.to_owned(), wait.clone()))
        .to_vec();
    hooks.push(("PostToolUse".to_owned(), post_tool));
    let mode = spawn.then(|| ("teammateMode".to_owned(), json!("tmux")));
    Ok(Wanted {
        hooks,
        env: vec![
            ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS".to_owned(), "1".to_owned()),
            (COMMAND.to_owned(), program),
        ],
        allow: vec![TOOLS.to_owned()],
        fields: mode.into_iter().collect(),
    })
}

/// Whether a hook's command is one that some Ringer put in.
fn is_ours(command: &str) -> bool {
    let program = command.strip_suffix(" hook wait").or(command.strip_suffix(" hook post-tool"));
    program.is_some_and(|program| program.trim_matches('\'').rsplit('/').next() == Some("ringer"))
}

fn is_empty(text: &str) -> bool {
    text.split_whitespace().collect::<String>() == "{}"
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => {
            let message = format!("could not read `{}`", path.display());
            Err(Failure::new("unreadable", message).cause(&e))
        }
    }
}

/// Keeps the file as it is beside itself.
fn back_up(path: &Path, text: &str) -> Result<PathBuf, Failure> {
    let stamp = Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for number in 0..100 {
        let more = if number == 0 { String::new() } else { format!("-{number}") };
        let copy = path.with_file_name(format!("{name}.before-ringer-{stamp}{more}"));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&copy) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                file.sync_all()?;
                return Ok(copy);
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => {
                let message = format!("could not keep a copy in `{}`", copy.display());
                return Err(Failure::new("internal_error", message).cause(&e));
            }
        }
    }
    Err(Failure::new("internal_error", "could not keep a copy of the settings"))
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn hooks_of_ours_are_known_by_their_command() {
        for (command, ours) in [
            ("ringer hook wait", true),
            ("/opt/my tools/ringer hook wait", true),
            ("'/opt/my tools/ringer' hook post-tool", true),
            ("stringer hook wait", false),
            ("echo ringer hook waits", false),
        ] {
            assert_eq!(is_ours(command), ours, "{command}");
        }
    }
}
