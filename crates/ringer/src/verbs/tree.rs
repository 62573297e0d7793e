//! `ringer tree`: teams, who is on them, and the teams that those lead.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;
use ringer_bridge::Roster;
use ringer_teams::{Member, Team};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::{Failure, one_line};
use crate::output::cell;

/// Draw the teams as trees
///
/// A worker that leads a team of its own (`ringer spawn claude`) has that team below it.
#[derive(Debug, Args)]
pub(crate) struct Tree {
    /// Only this team, and what is below it
    team: Option<String>,
}

/// All that is drawn.
struct Forest {
    teams: Vec<Team>,
    roster: Roster,
}

impl Tree {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let teams = context.claude.teams()?;
        for (_, error) in &teams.broken {
            context.out.note(&format!("warning: {}", one_line(error)));
        }
        let forest = Forest { teams: teams.found, roster: Roster::load(&context.state)? };
        let roots: Vec<&Team> = match &self.team {
            Some(name) => {
                let root = context.claude.team(name)?;
                forest.teams.iter().filter(|team| team.dir() == root.dir()).collect()
            }
            None => forest.roots(),
        };
        if context.out.json {
            let all: Vec<Value> =
                roots.iter().map(|team| forest.describe(team, &mut HashSet::new())).collect();
            return Ok(context.out.data(&json!({"success": true, "teams": all}))?);
        }
        if roots.is_empty() {
            context.out.note(&format!("no teams in {}", context.claude.teams_dir().display()));
        }
        for team in roots {
            let mut lines = vec![forest.title(team)];
            forest.draw(team, "", &mut lines, &mut HashSet::new());
            context.out.line(&lines.join("\n"))?;
        }
        Ok(())
    }
}

impl Forest {
    /// Teams that nobody on another one leads.
    fn roots(&self) -> Vec<&Team> {
        let is_below = |team: &&Team| {
            let leader = self.roster.leader_of(team).map(|entry| PathBuf::from(&entry.team_dir));
            leader.is_some_and(|above| self.teams.iter().any(|other| other.dir() == above))
        };
        self.teams.iter().filter(|team| !is_below(team)).collect()
    }

    /// The team that a member leads, below its own.
    fn led_by(&self, team: &Team, member: &Member) -> Option<&Team> {
        let entry = self.roster.find(team.dir(), &member.name)?;
        self.teams.iter().find(|other| {
            let leader = self.roster.leader_of(other);
            other.dir() != team.dir() && leader.is_some_and(|leader| leader.id() == entry.id())
        })
    }

    fn others<'t>(&self, team: &'t Team) -> Vec<&'t Member> {
        let lead = team.config.lead().map(|lead| lead.name.clone());
        team.config.members.iter().filter(|member| Some(&member.name) != lead.as_ref()).collect()
    }

    fn title(&self, team: &Team) -> String {
        let lead = if team.is_own() { "ours" } else { team.lead_alive().as_str() };
        let cwd = team.lead_cwd().map(|dir| cell(&dir.display().to_string())).unwrap_or_default();
        format!("{} (lead: {lead}) {cwd}", cell(team.name())).trim_end().to_owned()
    }

    fn draw(
        &self,
        team: &Team,
        indent: &str,
        lines: &mut Vec<String>,
        seen: &mut HashSet<PathBuf>,
    ) {
        // Whoever wrote these files may have made a circle.
        if !seen.insert(team.dir().to_owned()) {
            return;
        }
        let members = self.others(team);
        for (at, member) in members.iter().enumerate() {
            let is_last = at + 1 == members.len();
            let (branch, below) =
                if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
            let kind = cell(member.agent_type.as_deref().unwrap_or("-"));
            let led = self.led_by(team, member);
            let leads = led.map(|led| format!("  leads {}", self.title(led))).unwrap_or_default();
            lines.push(format!("{indent}{branch}{}  {kind}{leads}", cell(&member.name)));
            if let Some(led) = led {
                self.draw(led, &format!("{indent}{below}"), lines, seen);
            }
        }
    }

    fn describe(&self, team: &Team, seen: &mut HashSet<PathBuf>) -> Value {
        seen.insert(team.dir().to_owned());
        let mut members = Vec::new();
        for member in self.others(team) {
            let led = self.led_by(team, member).filter(|led| !seen.contains(led.dir()));
            let led = led.map(|led| self.describe(led, seen));
            members.push(json!({
                "name": member.name, "type": member.agent_type,
                "synthetic": member.is_synthetic(), "leads": led,
            }));
        }
        json!({
            "team": team.name(), "own": team.is_own(), "lead": team.lead_alive().as_str(),
            "lead_cwd": team.lead_cwd(), "members": members,
        })
    }
}
