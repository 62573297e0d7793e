//! `ringer slug`: what things are called.

use clap::Args;
use ringer_teams::{birth_branch, slug, subtree_branch, team_name};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;

/// Print the name for an agent, or for a team
///
/// An agent's name is in lower case, with letters, digits and dashes alone; so is its inbox called. A team is called after
/// the git branch of its directory: exo-main, exo-root where there is none. The team of a subtree has the
/// agent's name behind that: exo-main.feature-a.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Slug {
    /// What it is made of
    #[arg(required_unless_present = "team")]
    text: Option<String>,
    /// The name of the team of this directory, or of the subtree that an agent of that name leads
    #[arg(long)]
    team: bool,
}

const EXAMPLES: &str = "\
Examples:
  ringer slug 'Rust impl (parser)'     rust-impl-parser
  ringer slug --team                   exo-main
  ringer slug --team feature-a         exo-main.feature-a";

impl Slug {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let branch = birth_branch(&context.cwd);
        let name = match (self.team, &self.text) {
            (false, text) => slug(text.as_deref().unwrap_or_default()),
            (true, None) => team_name(branch.as_deref()),
            (true, Some(text)) => team_name(Some(&subtree_branch(branch.as_deref(), &slug(text)))),
        };
        let scripts = json!({"success": true, "name": name, "branch": branch});
        Ok(context.out.answer(&name, &scripts)?)
    }
}
