//! Leads of Claude Code that come and go, as the newest version shows them in its files.

use std::fs;
use std::path::Path;

use ringer_testkit::put;
use serde_json::json;

use crate::scene::Scene;

impl Scene {
    /// A lead starts in a directory, as the newest Claude Code does it: the process of this test leads the team.
    pub(crate) fn lead_starts(&self, team: &str, created: i64, cwd: &Path) {
        let dir = self.world.team_dir(team);
        fs::create_dir_all(&dir).unwrap();
        let config = json!({
            "name": team, "createdAt": created, "leadAgentId": format!("team-lead@{team}"),
            "leadSessionId": format!("{team}-id"),
            "leadProcess": {"pid": std::process::id(), "procStart": start_time()},
            "members": [{"agentId": format!("team-lead@{team}"), "name": "team-lead", "cwd": cwd}],
        });
        put(&dir.join("config.json"), &config.to_string());
    }

    /// It ends, and its team with it.
    pub(crate) fn lead_ends(&self, team: &str) {
        fs::remove_dir_all(self.world.team_dir(team)).unwrap();
    }

    /// It notes how it is; nothing, while it starts.
    pub(crate) fn lead_says(&self, status: &str) {
        let (pid, dir) = (std::process::id(), self.world.claude().join("sessions"));
        let status = Some(status).filter(|status| !status.is_empty());
        fs::create_dir_all(&dir).unwrap();
        let noted = json!({"pid": pid, "procStart": start_time(), "status": status});
        put(&dir.join(format!("{pid}.json")), &noted.to_string());
    }
}

fn start_time() -> String {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned()
}
