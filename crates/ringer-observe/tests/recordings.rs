//! Streams and transcripts that real Claude Code builds wrote, through the whole life of a team, and what was on disk
//! meanwhile. `just recordings` makes them anew.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use ringer_observe::{Event, Observer, Role, Scanner, Standing, TeamState, What};
use serde_json::{Value, json};

const VERSIONS: [&str; 3] = ["2.1.39", "2.1.177", "2.1.325"];

fn recording(version: &str, file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings").join(version).join(file)
}

fn lines(version: &str, file: &str) -> Vec<String> {
    let text = fs::read_to_string(recording(version, file)).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn observe<'a>(lines: impl IntoIterator<Item = &'a String>) -> (Observer, Vec<Event>) {
    let (mut observer, mut scanner) = (Observer::new(), Scanner::new());
    let mut events = Vec::new();
    for line in lines {
        scanner.feed(format!("{line}\n").as_bytes(), &mut observer, |_, seen| {
            assert!(seen.warnings.is_empty(), "{:?} in {line}", seen.warnings);
            events.extend(seen.events);
        });
    }
    let counts = scanner.counts();
    assert_eq!((counts.broken, counts.odd, counts.repeated), (0, 0, 0));
    (observer, events)
}

fn names(events: &[Event], of: &str) -> Vec<String> {
    let wanted = events.iter().filter(|event| event.what.name() == of);
    let about = |event: &Event| {
        let all = serde_json::to_value(event).unwrap();
        let of = |pointer: &str| all.pointer(pointer)?.as_str().map(str::to_owned);
        of("/member/name")
            .or(of("/task/id"))
            .or(of("/content"))
            .or(of("/member"))
            .unwrap_or_default()
    };
    wanted.map(about).collect()
}

/// Who is there, and what there is to do, without what only one side knows. Claude Code clears the board when all is
/// done: what was completed and is not on disk any more counts as nothing.
fn picture(team: Option<&TeamState>, disk: &Value) -> Value {
    let Some(team) = team else { return json!({"members": [], "tasks": []}) };
    let there = team.members.iter().filter(|member| member.status != Standing::Shutdown);
    let members: Vec<Value> = there
        .map(|member| json!([member.name, member.agent_id, member.agent_type, member.color]))
        .collect();
    let is_on_disk =
        |id: &str| disk["tasks"].as_array().unwrap().iter().any(|task| task["id"] == id);
    let tasks = team
        .tasks
        .iter()
        .filter(|task| is_on_disk(&task.id) || task.status != ringer_observe::Status::Completed);
    let tasks: Vec<Value> = tasks
        .map(|task| {
            json!([
                task.id,
                task.subject,
                task.description,
                task.active_form,
                task.status.as_str(),
                task.owner,
                task.blocks,
                task.blocked_by,
            ])
        })
        .collect();
    json!({"members": members, "tasks": tasks})
}

fn on_disk(disk: &Value) -> Value {
    // One that was put there by hand is in no stream.
    let members = disk["members"].as_array().unwrap().iter();
    let members: Vec<Value> = members
        .filter(|member| member["backendType"] != "ringer")
        .map(|member| {
            json!([member["name"], member["agentId"], member["agentType"], member["color"]])
        })
        .collect();
    let tasks = disk["tasks"].as_array().unwrap().iter();
    let tasks: Vec<Value> = tasks
        .map(|task| {
            json!([
                task["id"],
                task["subject"],
                task["description"],
                task["activeForm"],
                task["status"],
                task["owner"],
                task["blocks"],
                task["blockedBy"],
            ])
        })
        .collect();
    json!({"members": members, "tasks": tasks})
}

#[test]
fn the_picture_from_the_transcript_is_the_picture_from_disk() {
    for version in VERSIONS {
        let lines = lines(version, "transcript.jsonl");
        let text = fs::read_to_string(recording(version, "disk.json")).unwrap();
        let checkpoints: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert!(checkpoints.len() >= 3, "{version}");
        for disk in &checkpoints {
            let count = usize::try_from(disk["lines"].as_u64().unwrap()).unwrap();
            let (observer, _) = observe(&lines[..count]);
            let team = observer.team();
            assert_eq!(
                team.map(|team| json!(team.name)),
                disk["team"].as_str().map(|t| json!(t)),
                "{version}"
            );
            assert!(team.is_none_or(|team| team.role == Role::Lead), "{version}");
            assert_eq!(picture(team, disk), on_disk(disk), "{version} after {count} lines");
        }
    }
}

#[test]
fn every_generation_tells_the_same_life() {
    for version in VERSIONS {
        let (_, events) = observe(&lines(version, "transcript.jsonl"));
        let of = |name: &str| names(&events, name);
        assert_eq!(of("team:created").len(), 1, "{version}");
        assert_eq!(
            of("team:member:joined"),
            ["alice"],
            "{version}: the helper without a name is none"
        );
        assert_eq!(of("team:member:shutdown"), ["alice"], "{version}");
        assert_eq!(of("team:shutdown:requested"), ["alice"], "{version}");
        assert_eq!(of("team:shutdown:response"), ["alice"], "{version}");
        assert_eq!(of("team:task:created"), ["1", "2", "3"], "{version}");
        assert_eq!(of("team:task:claimed"), ["1"], "{version}");
        assert_eq!(of("team:task:completed"), ["1"], "{version}");
        let said = of("team:message:received");
        for text in ["hello alice", "hello gemini", "hi lead, started", "GEMINI-REPLY done"] {
            assert_eq!(said.iter().filter(|one| *one == text).count(), 1, "{version}: {said:?}");
        }
        // Old versions take any name for somebody; newer ones refuse, and nothing was said.
        let to_nobody = said.contains(&"hello nobody".to_owned());
        assert_eq!(to_nobody, version != "2.1.325", "{version}: {said:?}");
        assert_eq!(said.contains(&"all hands".to_owned()), version == "2.1.39", "{version}");
        let ends = usize::from(version != "2.1.325");
        assert_eq!(of("team:deleted").len(), ends, "{version}: the first try failed");
        for event in &events {
            let is_call = matches!(
                event.what,
                What::TaskCreated { .. }
                    | What::TaskClaimed { .. }
                    | What::Joined { .. }
                    | What::TaskCompleted { .. }
                    | What::Deleted
                    | What::Created
            );
            assert!(!is_call || event.tool_use_id.is_some(), "{version}: {event:?}");
            assert!(event.time.is_some() && event.session_id.is_some(), "{version}: {event:?}");
        }
    }
}

#[test]
fn a_stream_without_a_terminal_tells_of_its_team_if_that_version_has_one() {
    for version in VERSIONS {
        let (observer, events) = observe(&lines(version, "stream.jsonl"));
        let of = |name: &str| names(&events, name);
        let has_team = usize::from(version != "2.1.325");
        assert_eq!(of("team:created").len(), has_team, "{version}");
        assert_eq!(of("team:member:joined").len(), has_team, "{version}");
        assert_eq!(of("team:deleted").len(), has_team, "{version}");
        assert!(observer.team().is_none(), "{version}");
        let summary = observer.summary().unwrap();
        assert!(summary.total_cost_usd.unwrap() > 0.0 && summary.num_turns.is_some(), "{version}");
        assert!(!summary.models.is_empty() && !summary.is_error, "{version}");
    }
}

#[test]
fn the_newest_transcript_says_what_it_cost() {
    let (observer, _) = observe(&lines("2.1.325", "transcript.jsonl"));
    let summary = observer.summary().unwrap();
    assert!(summary.total_cost_usd.unwrap() > 0.0 && !summary.models.is_empty());
}

#[test]
fn a_recording_that_is_read_again_from_anywhere_says_the_same() {
    for version in VERSIONS {
        for file in ["transcript.jsonl", "stream.jsonl"] {
            let lines = lines(version, file);
            let (whole, events) = observe(&lines);
            for from in (0..lines.len()).step_by(7) {
                let to = lines.len() - from / 2;
                let mut observer = Observer::new();
                let mut again = Vec::new();
                for line in lines[..to].iter().chain(&lines[from.min(to)..]) {
                    again.extend(observer.line(line.as_bytes()).events);
                }
                assert_eq!(observer.state(), whole.state(), "{version} {file} {from}");
                assert_eq!(again, events, "{version} {file} {from}");
            }
        }
    }
}
