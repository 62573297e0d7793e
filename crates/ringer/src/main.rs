//! The `ringer` command. Owns nothing but the way in and the exit code.

mod cli;
mod context;
mod failure;
mod output;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let json = cli.globals.json;
    match cli.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}
