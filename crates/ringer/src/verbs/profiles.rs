//! `ringer profiles`: the kinds of workers there are.

use clap::Args;
use ringer_bridge::daemon::workers_dir;
use ringer_panes::{Profile, ProfileError};
use serde_json::{Value, json};

use crate::context::{Context, find_program};
use crate::failure::Failure;
use crate::output::cell;

/// List the kinds of workers, and check their profiles
///
/// A profile says how a kind of worker is started, how to see on its screen whether it takes a message,
/// and how to submit one. To change something about one, or to add one, write what is different into
/// `workers/NAME.toml` beside your config.toml. With a name, the profile that is built in is printed, to
/// copy from. Exit status 1 if one has a mistake.
#[derive(Debug, Args)]
pub(crate) struct Profiles {
    /// Print this one
    name: Option<String>,
}

impl Profiles {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let dir = workers_dir(&context.config.0);
        if let Some(name) = self.name {
            let profile = Profile::load(&name, &dir)?;
            let text = Profile::source(&name, &dir)?;
            return Ok(context.out.answer(text.trim_end(), &describe(&profile))?);
        }
        let all: Vec<(String, Result<Profile, ProfileError>)> = Profile::names(&dir)
            .into_iter()
            .map(|name| (name.clone(), Profile::load(&name, &dir)))
            .collect();
        if context.out.json {
            let all = all.iter().map(|(name, loaded)| match loaded {
                Ok(profile) => describe(profile),
                Err(error) => json!({"name": name, "problem": error.to_string()}),
            });
            let all: Vec<Value> = all.collect();
            context.out.data(&json!({"success": true, "dir": dir, "profiles": all}))?;
        } else {
            let rows: Vec<[String; 5]> = all
                .iter()
                .map(|(name, loaded)| {
                    let Ok(profile) = loaded else {
                        return [name, "-", "-", "-", "has a mistake"].map(cell);
                    };
                    let command = profile.command.join(" ");
                    let installed = match profile.command.first() {
                        None => "-",
                        Some(program) if find_program(program).is_some() => "yes",
                        Some(_) => "no",
                    };
                    let from = match &profile.file {
                        Some(path) => path.display().to_string(),
                        None => "built in".to_owned(),
                    };
                    let command = if command.is_empty() { "(yours)".to_owned() } else { command };
                    [&profile.name, &command, installed, profile.channel.as_str(), &from].map(cell)
                })
                .collect();
            context.out.table(["PROFILE", "COMMAND", "INSTALLED", "CHANNEL", "FROM"], &rows)?;
        }
        match all.into_iter().find_map(|(_, loaded)| loaded.err()) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

fn describe(profile: &Profile) -> Value {
    json!({
        "name": profile.name, "about": profile.about, "command": profile.command,
        "installed": profile.command.first().and_then(|program| find_program(program)),
        "programs": profile.programs, "channel": profile.channel.as_str(), "env": profile.env,
        "settle_ms": profile.settle_ms, "longest_text": profile.longest_text,
        "gated": !profile.is_plain(), "wake": profile.wake, "body": profile.body,
        "hooks": profile.gear.hooks, "tools": !profile.gear.is_empty(),
        "shutdown": profile.shutdown, "file": profile.file,
    })
}
