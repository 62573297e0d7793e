//! `ringer init`: Ringer's part in Claude Code's settings.

mod diff;
mod plan;
mod policy;

use std::fs::{self, OpenOptions};
use std::io::{BufRead, ErrorKind, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;
use ringer_teams::claude_settings::{Wanted, pointer};
use ringer_teams::{Change, edit};
use serde_json::{Value, json};

use self::plan::{File, Record, Records, SERVER, plan, this_program, wanted};
use crate::context::Context;
use crate::failure::Failure;

/// Set Claude Code up: its lead hears its workers, and can spawn them itself
///
/// Claude Code 2.1.178 and newer does not read its inbox while all its teammates are workers of Ringer's. This
/// puts hooks into its settings that hand it the mail, turns agent teams on, names Ringer as the program that
/// spawned teammates run through (names like gemini-one become Gemini CLI, others are Claude Code as always),
/// adds the MCP server `ringer-lead` with the tools of a lead (spawn_teammate and others), and allows Ringer's tools.
/// What changes is shown first, the old files are kept beside the new ones, and --uninstall takes out exactly what was
/// put in. Start Claude Code again afterwards.
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

const RECORDS: &str = "init.json";

impl Init {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let records: Records = context.state.load(RECORDS)?;
        let mut files = self.files(context, &records)?;
        let mut warnings: Vec<String> =
            files.iter().flat_map(|file| file.plan.warnings.clone()).collect();
        if !self.uninstall {
            let settings = &files[0];
            warnings.extend(policy::warnings(&self.policy, &settings.plan.text, &settings.wanted));
        }
        files.retain(File::changes);
        if files.is_empty() {
            return self.say(context, "nothing to change", &[], &warnings);
        }
        if !context.out.json {
            for file in &files {
                let before = file.old.as_deref().unwrap_or_default();
                diff::show(context.out, &file.path, before, &file.plan.text)?;
            }
            warn(context, &warnings);
            warnings.clear();
        }
        if !self.yes {
            self.ask(context)?;
        }
        let mut done = Vec::new();
        for file in &files {
            let backup = file.old.as_ref().map(|text| back_up(&file.path, text)).transpose()?;
            self.write(file)?;
            context.state.change(RECORDS, |all: &mut Records| {
                if self.uninstall {
                    all.remove(&file.key);
                } else {
                    let made = file.old.is_none() || file.record.made;
                    all.insert(file.key.clone(), Record { added: file.plan.added.clone(), made });
                }
            })?;
            done.push((file.path.clone(), backup));
        }
        let what = if self.uninstall { "taken out" } else { "done; start Claude Code again" };
        self.say(context, what, &done, &warnings)
    }

    /// The files that have a part of it, the settings first.
    fn files(&self, context: &Context, records: &Records) -> Result<Vec<File>, Failure> {
        let (place, servers) = self.places(context);
        let lead = json!({"type": "stdio", "command": this_program()?, "args": ["mcp", "--lead"]});
        // Two places in one file are two records.
        let within = format!("#{}", servers.1);
        let tools = Wanted { fields: vec![(servers.1, lead)], ..Wanted::default() };
        let parts = [(place, "", wanted(self.spawn)?), (servers.0, &within, tools)];
        let mut files = Vec::new();
        for (path, within, wanted) in parts {
            // A link to where somebody keeps it is followed, not replaced.
            let path = path.canonicalize().unwrap_or(path);
            let key = format!("{}{within}", path.display());
            let record = records.get(&key).cloned().unwrap_or_default();
            let old = read(&path)?;
            let plan = plan(old.as_deref(), &record, &wanted, self.uninstall).map_err(|why| {
                let message = format!("`{}` is not understood: {why}", path.display());
                Failure::new("unreadable", message).hint("nothing was changed; mend the file first")
            })?;
            files.push(File { path, key, old, record, wanted, plan, uninstall: self.uninstall });
        }
        Ok(files)
    }

    /// Where the settings are, and where the MCP servers, with the pointer to ours.
    fn places(&self, context: &Context) -> (PathBuf, (PathBuf, String)) {
        let own = context.cwd.join(".claude");
        let all = context.claude_json();
        let cwd = context.cwd.display().to_string();
        let server = ["mcpServers", SERVER];
        if self.project {
            let servers = context.cwd.join(".mcp.json");
            (own.join("settings.json"), (servers, pointer(&server)))
        } else if self.local {
            let at = pointer(&["projects", &cwd, server[0], server[1]]);
            (own.join("settings.local.json"), (all, at))
        } else {
            (context.claude_dir.join("settings.json"), (all, pointer(&server)))
        }
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

    fn write(&self, file: &File) -> Result<(), Failure> {
        let File { path, old, record, wanted, plan: planned, .. } = file;
        // What we made and emptied goes as a whole.
        if self.uninstall && record.made && is_empty(&planned.text) {
            fs::remove_file(path)?;
            return Ok(());
        }
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        let written = edit(path, Some(""), |now| {
            let text = if now == old.as_deref().unwrap_or_default() {
                planned.text.clone()
            } else {
                // A Claude Code that runs writes its own file again and again. The same change is as good there.
                let again = plan(Some(now), record, wanted, self.uninstall)?;
                if again.added != planned.added {
                    return Ok(Change::Keep(false));
                }
                again.text
            };
            Ok(Change::Write { text, sync: true, value: true })
        })?;
        if !written.value {
            let message = format!("somebody changed `{}` meanwhile", path.display());
            return Err(Failure::new("conflict", message).hint("run it again"));
        }
        Ok(())
    }

    fn say(
        &self,
        context: &Context,
        what: &str,
        done: &[(PathBuf, Option<PathBuf>)],
        warnings: &[String],
    ) -> Result<(), Failure> {
        if !context.out.json {
            warn(context, warnings);
        }
        let kept = |copy: &PathBuf| format!("; as it was: {}", copy.display());
        let line = |(path, copy): &(PathBuf, Option<PathBuf>)| {
            format!("{}: {what}{}", path.display(), copy.as_ref().map(kept).unwrap_or_default())
        };
        let lines: Vec<String> = done.iter().map(line).collect();
        let people = if done.is_empty() { what.to_owned() } else { lines.join("\n") };
        let files: Vec<Value> =
            done.iter().map(|(path, backup)| json!({"path": path, "backup": backup})).collect();
        let scripts = json!({
            "success": true, "changed": !done.is_empty(), "files": files, "warnings": warnings,
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
