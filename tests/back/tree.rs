//! A tree of three: a Claude Code leads, a worker of its team is a Claude Code that leads a team of its own, and on
//! that one is a Gemini CLI. Each talks to its neighbours only.

use ringer_testkit::{Agent, Turn, command, wait_for};
use serde_json::{Value, json};

use crate::stage::{NOTIFY, PATIENCE, Stage, notify, say};

/// What Claude Code calls a worker's tool.
const CLAUDES_NOTIFY: &str = "mcp__ringer__notify_parent";

/// The lead in the middle, on a team of the newest version.
struct Tree {
    /// Both end before the stage.
    leaf: Agent,
    backend: Agent,
    stage: Stage,
    /// The team in the middle.
    team: String,
}

impl Tree {
    /// With a lead of this version in the middle, whose model does this first.
    fn grow(version: &str, first: impl IntoIterator<Item = Turn>) -> Self {
        let stage = Stage::new("2.1.325", &["init"]);
        let mut git = command("git");
        git.args(["init", "--quiet", "--initial-branch", "main"]).current_dir(stage.claude.work());
        assert!(git.status().unwrap().success());
        let root = stage.claude.home().parent().unwrap();
        let backend = Agent::settled_claude(version, root).unwrap();
        stage.profile("claude", &backend);
        backend.model.queue(first);
        let said = stage.spawn(&["claude", "--name", "backend"]);
        let top = &stage.scene.team;
        assert_eq!(said, format!("backend is on {top}; `ringer attach backend` shows it\n"));
        let led = || {
            let tree: Value = serde_json::from_str(&stage.scene.run(&["tree", "--json"])).unwrap();
            tree["teams"][0]["members"][0]["leads"]["team"].as_str().map(str::to_owned)
        };
        stage.wait("a team of its own", || led().is_some());
        let team = led().unwrap();
        stage.wait("its first prompt", || !backend.model.prompts().is_empty());
        let leaf = stage.gemini("leaf");
        stage.profile("gemini", &leaf);
        let said = stage.spawn(&["gemini", "--name", "leaf", "--team", &team]);
        assert_eq!(said, format!("leaf is on {team}; `ringer attach leaf` shows it\n"));
        Self { leaf, backend, stage, team }
    }

    /// The lead at the top asks the one in the middle, that one the leaf; and the answer goes the same way back.
    fn down_and_up(&self) {
        let Self { leaf, backend, stage, .. } = self;
        leaf.model.queue([notify("success", "THE LEAF ANSWERS"), Turn::say("reported")]);
        let find = || Turn::call("ToolSearch", &json!({"query": "select:SendMessage"}));
        let down = json!({"to": "leaf", "message": "PASSED DOWN", "summary": "down"});
        let up = json!({"status": "success", "message": "PASSED UP"});
        backend.model.queue([
            find(),
            Turn::call("SendMessage", &down),
            Turn::say("asked"),
            Turn::call(CLAUDES_NOTIFY, &up),
            Turn::say("told"),
        ]);
        let ask = stage.claude.send_message("backend", "FROM THE TOP", "down");
        stage.claude.act([find(), ask]).unwrap();
        let sees = |agent: &Agent, text: &str| {
            let seen = wait_for(text, PATIENCE, || agent.model.saw_at(text));
            seen.unwrap_or_else(|e| panic!("{e}\n{}{}", agent.model.end(), stage.scene.all()))
        };
        sees(backend, "FROM THE TOP");
        sees(leaf, "PASSED DOWN");
        let heard = sees(backend, "[success] THE LEAF ANSWERS");
        assert!(backend.model.saw("teammate_id=\"leaf\""), "{}", backend.model.end());
        let arrived = stage.lead_sees("[success] PASSED UP");
        assert!(stage.claude.model().saw("teammate_id=\"backend\""));
        let answered = leaf.model.called_at(NOTIFY).unwrap();
        say(&format!(
            "from the leaf's tool call to the model in the middle {:.0?}, to the one at the top {:.0?}",
            heard - answered,
            arrived - answered
        ));
        // Nobody hears what is not for them.
        assert!(!stage.claude.model().saw("THE LEAF ANSWERS") && !leaf.model.saw("FROM THE TOP"));
        assert_eq!(leaf.model.prompts(), ["[message from team-lead · down]\nPASSED DOWN"]);
        for (text, state) in [
            ("FROM THE TOP", "delivered"),
            ("PASSED DOWN", "delivered"),
            ("THE LEAF ANSWERS", "taken"),
            ("PASSED UP", "taken"),
        ] {
            stage.message_is(text, state);
        }
    }

    /// What `ringer tree` draws, with other words for what is different each time.
    fn drawn(&self) -> String {
        let work = self.stage.claude.work().display().to_string();
        let drawn = self.stage.scene.run(&["tree"]).replace(&work, "WORK");
        drawn.replace(&self.stage.scene.team, "TOP").replace(&self.team, "MIDDLE")
    }
}

#[test]
fn a_message_goes_down_a_tree_of_three_and_its_answer_up() {
    let tree = Tree::grow("2.1.325", [Turn::say("I lead.")]);
    let words = &tree.backend.model.prompts()[0];
    assert!(
        words.starts_with(
            "[message from team-lead · first prompt]\nYou are a member of a team, and the lead of"
        ),
        "{words}"
    );
    tree.down_and_up();
    assert_eq!(
        tree.drawn(),
        "TOP (lead: alive) WORK\n\
         └── backend  claude-worker  leads MIDDLE (lead: alive) WORK\n    \
             └── leaf  gemini-worker\n"
    );
    let work = tree.stage.claude.work();
    let told: Value = serde_json::from_str(&tree.stage.scene.run(&["tree", "--json"])).unwrap();
    assert_eq!(
        told,
        json!({"success": true, "teams": [{
            "team": tree.stage.scene.team, "own": false, "lead": "alive", "lead_cwd": work, "members": [{
                "name": "backend", "type": "claude-worker", "synthetic": true, "leads": {
                    "team": tree.team, "own": false, "lead": "alive", "lead_cwd": work, "members": [{
                        "name": "leaf", "type": "gemini-worker", "synthetic": true, "leads": null,
                    }],
                },
            }],
        }]})
    );

    // Without its lead the leaf waits, and can be had by another.
    let (scene, top) = (&tree.stage.scene, &tree.stage.scene.team);
    let said = scene.run(&["stop", "backend"]);
    assert_eq!(said, format!("backend has ended and is off {top}\n"));
    assert_eq!(tree.stage.members(), ["team-lead"]);
    tree.stage.wait("the leaf to have no team", || scene.state_of("leaf") == "no team");
    assert_eq!(tree.drawn(), "TOP (lead: alive) WORK\n");
    scene.run(&["move", "leaf", "--team", top]);
    tree.stage.wait("it to be there", || {
        tree.drawn() == "TOP (lead: alive) WORK\n└── leaf  gemini-worker\n"
    });
}

#[test]
fn a_lead_in_the_middle_keeps_its_team_when_the_one_above_it_changes() {
    let mut tree = Tree::grow("2.1.325", [Turn::say("I lead.")]);
    let before = tree.drawn();
    tree.stage.claude.exit().unwrap();
    // Of the leads in its directory, the only one left is itself.
    tree.stage.wait("it to have no team", || tree.stage.scene.state_of("backend") == "no team");
    tree.stage.claude.start_again(&["--dangerously-skip-permissions"]).unwrap();
    tree.stage.lead_sees("backend is on your team now");
    let drawn: Value = serde_json::from_str(&tree.stage.scene.run(&["tree", "--json"])).unwrap();
    drawn["teams"][0]["team"].as_str().unwrap().clone_into(&mut tree.stage.scene.team);
    assert_eq!(tree.drawn(), before);
    tree.down_and_up();
}

/// Before every session had a team, its lead had to make one. This version takes no dot in the name.
#[test]
fn a_lead_in_the_middle_makes_its_team_where_it_has_to() {
    let team = |name: &str| {
        let input = json!({"team_name": name, "description": "a test", "agent_type": "team-lead"});
        Turn::call("TeamCreate", &input)
    };
    let find = Turn::call("ToolSearch", &json!({"query": "select:TeamCreate"}));
    let first = [find, team("exo-main.backend"), team("exo-main-backend"), Turn::say("I lead.")];
    let tree = Tree::grow("2.1.177", first);
    let words = &tree.backend.model.prompts()[0];
    let names = "under the name exo-main.backend (if that is refused, exo-main-backend)";
    assert!(words.replace('\n', " ").contains(names), "{words}");
    assert_eq!(tree.team, "exo-main-backend");
    tree.down_and_up();
    assert_eq!(
        tree.drawn(),
        "TOP (lead: alive) WORK\n\
         └── backend  claude-worker  leads MIDDLE (lead: unknown) WORK\n    \
             └── leaf  gemini-worker\n"
    );
}
