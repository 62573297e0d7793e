//! The lines that Claude Code's stream is documented with, as they stand there.
//!
//! Those with a tool's use are given with a brace too many. So they are tested twice: as given, which is no JSON, and as
//! meant.

use ringer_observe::{Observer, Standing};
use serde_json::{Value, json};

use crate::stage::{names, only, scan};

const SPAWN_TEAM: &str = r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_01VUtvvpgg4cERjbEoL9zEhE","name":"Teammate","input":{"operation":"spawnTeam","team_name":"codebase-gap-analysis","description":"Analyze Swift/Rust codebase for implementation gaps and missing features","agent_type":"architect"}}]}}}"#;
const TEAM_CREATED: &str = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_01VUtvvpgg4cERjbEoL9zEhE","type":"tool_result","content":[{"type":"text","text":"Team created."}]}]},"tool_use_result":{"team_name":"codebase-gap-analysis","team_file_path":"/Users/bhargavponnapalli/.claude/teams/codebase-gap-analysis/config.json","lead_agent_id":"team-lead@codebase-gap-analysis"}}"#;
const SPAWN: &str = r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_01KGwLUDGUZJeLUnywt5XyVa","name":"Task","input":{"description":"SwiftUI expert gap analysis","prompt":"You are a **Senior SwiftUI Expert** ...","subagent_type":"general-purpose","team_name":"codebase-gap-analysis","name":"swift-expert","run_in_background":true,"max_turns":60}}]}}}"#;
const SPAWNED: &str = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_01KGwLUDGUZJeLUnywt5XyVa","type":"tool_result","content":[{"type":"text","text":"Spawned successfully."}]}]},"tool_use_result":{"status":"teammate_spawned","teammate_id":"swift-expert@codebase-gap-analysis","agent_id":"swift-expert@codebase-gap-analysis","agent_type":"general-purpose","model":"claude-opus-4-6","name":"swift-expert","color":"blue","tmux_session_name":"in-process","tmux_window_name":"in-process","tmux_pane_id":"in-process","team_name":"codebase-gap-analysis","is_splitpane":false,"plan_mode_required":false}}"#;
const MESSAGE: &str = r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_015WnhkZuKSdU3qU1LTgLXDL","name":"SendMessage","input":{"type":"message","recipient":"swift-expert","content":"Please wrap up your analysis...","summary":"Requesting Swift analysis report"}}]}}}"#;
const MESSAGE_SENT: &str = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_015WnhkZuKSdU3qU1LTgLXDL","type":"tool_result","content":"Message sent."}]},"tool_use_result":{"success":true,"message":"Message sent to swift-expert's inbox","routing":{"sender":"team-lead","target":"@swift-expert","targetColor":"blue","summary":"Requesting Swift analysis report","content":"Please wrap up your analysis..."}}}"#;
const BROADCAST: &str = r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_015Vi9RtZcv6zx1VRevjAopD","name":"SendMessage","input":{"type":"broadcast","content":"URGENT: Please immediately send me whatever findings you have so far...","summary":"URGENT: Write findings to file now"}}]}}}"#;
const BROADCAST_SENT: &str = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_015Vi9RtZcv6zx1VRevjAopD","type":"tool_result","content":"Broadcast sent."}]},"tool_use_result":{"success":true,"message":"Message broadcast to 2 teammate(s): swift-expert, rust-expert","recipients":["swift-expert","rust-expert"],"routing":{"sender":"team-lead","target":"@team","summary":"URGENT: Write findings to file now","content":"URGENT: Please immediately send me whatever findings you have so far..."}}}"#;
const SHUTDOWN: &str = r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_015SXmpNrHRLVRBJFKhCiiYM","name":"SendMessage","input":{"type":"shutdown_request","recipient":"swift-expert","content":"Analysis complete, thank you for the thorough report. Shutting down."}}]}}}"#;
const SHUTDOWN_SENT: &str = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_015SXmpNrHRLVRBJFKhCiiYM","type":"tool_result","content":"Shutdown request sent."}]},"tool_use_result":{"success":true,"message":"Shutdown request sent to swift-expert. Request ID: shutdown-1770325847779@swift-expert","request_id":"shutdown-1770325847779@swift-expert","target":"swift-expert"}}"#;
const CLEANUP_FAILED: &str = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_01TNzA2Stp38wHgy3LGbeWzU","type":"tool_result","content":"Cleanup failed."}]},"tool_use_result":{"success":false,"message":"Cannot cleanup team with 2 active member(s): swift-expert, rust-expert. Use requestShutdown to gracefully terminate teammates first.","team_name":"codebase-gap-analysis"}}"#;
const CLEANED_UP: &str = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_01GpXR7TktP2J5vxdP7Ym5ck","type":"tool_result","content":"Cleanup complete."}]},"tool_use_result":{"success":true,"message":"Cleaned up directories and worktrees for team \"codebase-gap-analysis\"","team_name":"codebase-gap-analysis"}}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":10786,"duration_api_ms":1204342,"num_turns":2,"total_cost_usd":8.559937750000001,"result":"Team cleaned up. The complete analysis is in the report above...","usage":{"input_tokens":4,"cache_creation_input_tokens":14102,"cache_read_input_tokens":145459,"output_tokens":216,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":14102,"ephemeral_5m_input_tokens":0}},"modelUsage":{"claude-opus-4-6":{"inputTokens":793,"outputTokens":55704,"cacheReadInputTokens":6938095,"cacheCreationInputTokens":565418,"webSearchRequests":0,"costUSD":8.399475,"contextWindow":200000,"maxOutputTokens":32000},"claude-haiku-4-5-20251001":{"inputTokens":25147,"outputTokens":5651,"cacheReadInputTokens":412770,"cacheCreationInputTokens":52627,"webSearchRequests":0,"costUSD":0.16046275,"contextWindow":200000,"maxOutputTokens":64000}}}"#;

/// The use that an answer of cleaning up has; the examples leave it out.
fn cleanup(id: &str) -> String {
    json!({"type": "assistant", "message": {"role": "assistant", "content": [
        {"type": "tool_use", "id": id, "name": "Teammate", "input": {"operation": "cleanup"}},
    ]}})
    .to_string()
}

/// Without the brace too many.
fn meant(given: &str) -> &str {
    given.strip_suffix('}').unwrap()
}

/// What the examples have been up to and with the spawn.
fn with_swift_expert() -> Observer {
    let mut observer = Observer::new();
    for line in [meant(SPAWN_TEAM), TEAM_CREATED, meant(SPAWN), SPAWNED] {
        observer.line(line.as_bytes());
    }
    observer
}

fn json_of(observer: &Observer) -> Value {
    serde_json::to_value(observer.state()).unwrap()
}

#[test]
fn the_lines_that_are_given_with_a_brace_too_many_are_broken_and_counted() {
    for given in [SPAWN_TEAM, SPAWN, MESSAGE, BROADCAST, SHUTDOWN] {
        let (observer, counts, events) = scan(given.as_bytes());
        assert_eq!((counts.lines, counts.broken, counts.odd), (1, 1, 0), "{given}");
        assert_eq!((observer.pending(), events.len()), (0, 0), "{given}");
        let (observer, counts, _) = scan(meant(given).as_bytes());
        assert_eq!((counts.lines, counts.broken, counts.odd), (1, 0, 0), "{given}");
        assert_eq!(observer.pending(), 1, "{given}");
    }
    // With their uses broken, the answers answer nothing.
    let answers = [SPAWN_TEAM, TEAM_CREATED, SPAWN, SPAWNED, MESSAGE, MESSAGE_SENT, CLEANED_UP];
    let (observer, counts, events) = scan(answers.join("\n").as_bytes());
    assert_eq!((counts.lines, counts.broken, counts.odd), (7, 3, 0));
    assert!(observer.team().is_none() && events.is_empty());
}

#[test]
fn spawning_a_team_makes_the_session_its_lead() {
    let mut observer = Observer::new();
    assert!(observer.line(meant(SPAWN_TEAM).as_bytes()).events.is_empty());
    assert_eq!(json_of(&observer)["team"], Value::Null, "until it is answered");
    let events = observer.line(TEAM_CREATED.as_bytes()).events;
    assert_eq!(
        only(&events),
        json!({
            "event": "team:created", "teamName": "codebase-gap-analysis",
            "toolUseId": "toolu_01VUtvvpgg4cERjbEoL9zEhE",
        })
    );
    assert_eq!(
        json_of(&observer),
        json!({
            "sessionId": null, "agents": [], "summary": null, "pending": 0,
            "team": {
                "name": "codebase-gap-analysis", "role": "lead", "agents": [], "members": [],
                "tasks": [], "shuttingDown": [], "error": null,
            },
        })
    );
}

#[test]
fn a_spawned_teammate_has_its_id_colour_and_model() {
    let mut observer = Observer::new();
    let lines = [meant(SPAWN_TEAM), TEAM_CREATED, meant(SPAWN)];
    for line in &lines {
        observer.line(line.as_bytes());
    }
    let member = json!({
        "name": "swift-expert", "agentId": "swift-expert@codebase-gap-analysis",
        "agentType": "general-purpose", "status": "active", "model": "claude-opus-4-6",
        "color": "blue",
    });
    assert_eq!(
        only(&observer.line(SPAWNED.as_bytes()).events),
        json!({
            "event": "team:member:joined", "teamName": "codebase-gap-analysis",
            "toolUseId": "toolu_01KGwLUDGUZJeLUnywt5XyVa", "member": member,
        })
    );
    let state = json_of(&observer);
    assert_eq!(state["team"]["members"], json!([member]));
    assert_eq!(
        (&state["agents"], &state["team"]["agents"]),
        (&json!(["swift-expert"]), &json!(["swift-expert"]))
    );
}

#[test]
fn a_message_is_told_with_where_it_was_routed() {
    let mut observer = with_swift_expert();
    let before = json_of(&observer);
    observer.line(meant(MESSAGE).as_bytes());
    assert_eq!(
        only(&observer.line(MESSAGE_SENT.as_bytes()).events),
        json!({
            "event": "team:message:received", "teamName": "codebase-gap-analysis",
            "toolUseId": "toolu_015WnhkZuKSdU3qU1LTgLXDL", "from": "team-lead",
            "to": "swift-expert", "content": "Please wrap up your analysis...",
            "summary": "Requesting Swift analysis report",
        })
    );
    assert_eq!(json_of(&observer), before);
}

#[test]
fn a_broadcast_is_told_with_who_got_it() {
    let mut observer = with_swift_expert();
    let before = json_of(&observer);
    observer.line(meant(BROADCAST).as_bytes());
    assert_eq!(
        only(&observer.line(BROADCAST_SENT.as_bytes()).events),
        json!({
            "event": "team:message:received", "teamName": "codebase-gap-analysis",
            "toolUseId": "toolu_015Vi9RtZcv6zx1VRevjAopD", "from": "team-lead",
            "content": "URGENT: Please immediately send me whatever findings you have so far...",
            "summary": "URGENT: Write findings to file now",
            "recipients": ["swift-expert", "rust-expert"],
        })
    );
    assert_eq!(json_of(&observer), before);
}

#[test]
fn who_is_asked_to_end_is_shutting_down() {
    let mut observer = with_swift_expert();
    observer.line(meant(SHUTDOWN).as_bytes());
    assert_eq!(json_of(&observer)["team"]["shuttingDown"], json!([]), "until it is answered");
    assert_eq!(
        only(&observer.line(SHUTDOWN_SENT.as_bytes()).events),
        json!({
            "event": "team:shutdown:requested", "teamName": "codebase-gap-analysis",
            "toolUseId": "toolu_015SXmpNrHRLVRBJFKhCiiYM", "member": "swift-expert",
            "requestId": "shutdown-1770325847779@swift-expert",
        })
    );
    assert_eq!(json_of(&observer)["team"]["shuttingDown"], json!(["swift-expert"]));
    let member = observer.team().unwrap().member("swift-expert").unwrap();
    assert_eq!(member.status, Standing::Active, "it has not agreed");
}

#[test]
fn a_cleanup_that_fails_leaves_the_team_and_says_why() {
    let mut observer = with_swift_expert();
    observer.line(cleanup("toolu_01TNzA2Stp38wHgy3LGbeWzU").as_bytes());
    assert!(observer.line(CLEANUP_FAILED.as_bytes()).events.is_empty());
    let state = json_of(&observer);
    assert_eq!(state["agents"], json!(["swift-expert"]));
    assert_eq!(
        state["team"]["error"],
        "Cannot cleanup team with 2 active member(s): swift-expert, rust-expert. Use requestShutdown to gracefully terminate teammates first."
    );
}

#[test]
fn a_cleanup_ends_the_team() {
    let mut observer = with_swift_expert();
    observer.line(cleanup("toolu_01GpXR7TktP2J5vxdP7Ym5ck").as_bytes());
    assert_eq!(
        only(&observer.line(CLEANED_UP.as_bytes()).events),
        json!({
            "event": "team:deleted", "teamName": "codebase-gap-analysis",
            "toolUseId": "toolu_01GpXR7TktP2J5vxdP7Ym5ck",
        })
    );
    let state = json_of(&observer);
    assert_eq!((&state["team"], &state["agents"]), (&Value::Null, &json!([])));
}

#[test]
fn the_result_sums_up_the_session_with_tokens_for_each_model() {
    let mut observer = Observer::new();
    let summary = json!({
        "subtype": "success", "isError": false, "durationMs": 10786, "durationApiMs": 1_204_342,
        "numTurns": 2, "totalCostUsd": 8.559_937_750_000_001,
        "models": {
            "claude-opus-4-6": {
                "inputTokens": 793, "outputTokens": 55704, "cacheReadInputTokens": 6_938_095,
                "cacheCreationInputTokens": 565_418, "costUSD": 8.399_475,
            },
            "claude-haiku-4-5-20251001": {
                "inputTokens": 25147, "outputTokens": 5651, "cacheReadInputTokens": 412_770,
                "cacheCreationInputTokens": 52627, "costUSD": 0.160_462_75,
            },
        },
    });
    let events = observer.line(RESULT.as_bytes()).events;
    assert_eq!(only(&events), json!({"event": "session:summary", "summary": summary}));
    assert_eq!(json_of(&observer)["summary"], summary);
}

#[test]
fn all_examples_together_are_a_life() {
    let (failed, done) =
        (cleanup("toolu_01TNzA2Stp38wHgy3LGbeWzU"), cleanup("toolu_01GpXR7TktP2J5vxdP7Ym5ck"));
    let lines = [
        meant(SPAWN_TEAM),
        TEAM_CREATED,
        meant(SPAWN),
        SPAWNED,
        meant(MESSAGE),
        MESSAGE_SENT,
        meant(BROADCAST),
        BROADCAST_SENT,
        meant(SHUTDOWN),
        SHUTDOWN_SENT,
        &failed,
        CLEANUP_FAILED,
        &done,
        CLEANED_UP,
        RESULT,
    ];
    let (observer, counts, events) = scan(lines.join("\n").as_bytes());
    assert_eq!((counts.lines, counts.broken, counts.odd, counts.repeated), (15, 0, 0, 0));
    assert_eq!(
        names(&events),
        [
            "team:created",
            "team:member:joined",
            "team:message:received",
            "team:message:received",
            "team:shutdown:requested",
            "team:deleted",
            "session:summary",
        ]
    );
    assert!(observer.team().is_none() && observer.summary().is_some());
    assert_eq!(observer.pending(), 0);
}

#[test]
fn ids_are_taken_in_their_order() {
    let all = json!({"teammate_id": "1", "agent_id": "2", "agentId": "3", "name": "4"});
    for (without, expected) in [
        (&[][..], "1"),
        (&["teammate_id"], "2"),
        (&["teammate_id", "agent_id"], "3"),
        (&["teammate_id", "agent_id", "agentId"], "4"),
        (&["teammate_id", "agent_id", "agentId", "name"], "swift-expert"),
    ] {
        let mut result = all.clone();
        for key in without {
            result.as_object_mut().unwrap().remove(*key);
        }
        result["status"] = json!("teammate_spawned");
        let mut answer: Value = serde_json::from_str(SPAWNED).unwrap();
        answer["tool_use_result"] = result;
        let mut observer = Observer::new();
        let lines = [meant(SPAWN_TEAM), TEAM_CREATED, meant(SPAWN), &answer.to_string()];
        for line in &lines {
            observer.line(line.as_bytes());
        }
        assert_eq!(observer.team().unwrap().members[0].agent_id, expected, "without {without:?}");
    }
}
