//! The `ringer` command. Owns nothing but the way in and the exit code.

mod cli;
mod context;
mod failure;
mod happened;
mod hosted;
mod launch;
mod output;
mod place;
mod program;
mod verbs;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use failure::Failure;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse_from(words()) {
        Ok(cli) => cli,
        // Scripts that ask for JSON get it for their own mistakes too.
        Err(error) if error.use_stderr() && std::env::args_os().any(|arg| arg == "--json") => {
            let text = error.to_string();
            let message =
                text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
            return Failure::usage(message).report(true);
        }
        // To Claude Code, a hook that ends with 2 has something to say to the model.
        Err(error) if error.use_stderr() && std::env::args_os().any(|arg| arg == "hook") => {
            error.print().ok();
            return ExitCode::FAILURE;
        }
        Err(error) => error.exit(),
    };
    let json = cli.globals.json;
    match cli.run() {
        Ok(code) => code,
        Err(failure) => failure.report(json),
    }
}

/// The command line. Claude Code runs one program with its own options for a teammate, and that is us.
fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let is_option = words.get(1).is_some_and(|word| word.to_string_lossy().starts_with("--"));
    if is_option && words.iter().any(|word| word == "--agent-id") {
        words.insert(1, "teammate".into());
    }
    words
}
