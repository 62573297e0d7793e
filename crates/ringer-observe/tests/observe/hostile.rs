//! Lines that are not as they should be: passed over and counted, and the lines around them are seen as if they were not
//! there.

use ringer_observe::{Counts, LONGEST_LINE, Observer, Scanner};
use serde_json::{Value, json};

use crate::stage::{Stage, names, result_of, scan, scan_in, use_of};

/// Makes a team; the hostile line comes between the call and its answer.
fn around(hostile: &[u8]) -> (Observer, Counts) {
    let mut stage = Stage::new();
    let before = stage.stamped(use_of("a", "TeamCreate", json!({"team_name": "t"})));
    let after = stage.stamped(result_of("a", json!({})));
    let bytes =
        [before.to_string().as_bytes(), b"\n", hostile, b"\n", after.to_string().as_bytes(), b"\n"]
            .concat();
    let (observer, counts, events) = scan(&bytes);
    let told: Vec<_> =
        names(&events).into_iter().filter(|name| name.starts_with("team:")).collect();
    let start = String::from_utf8_lossy(&hostile[..hostile.len().min(99)]);
    assert_eq!(told, ["team:created"], "{start}");
    assert_eq!(observer.team().unwrap().name, "t");
    let pieces: Vec<_> = bytes.chunks(if bytes.len() < 100_000 { 1 } else { 65_537 }).collect();
    let (in_pieces, counts_in_pieces, _) = scan_in(&pieces);
    assert_eq!((in_pieces.state(), counts_in_pieces), (observer.state(), counts));
    (observer, counts)
}

fn counted(lines: u64, broken: u64, odd: u64) -> Counts {
    Counts { lines, broken, odd, ..Counts::default() }
}

#[test]
fn broken_lines_are_passed_over_and_counted() {
    let use_line = use_of("b", "TeamDelete", json!({})).to_string();
    let deep = format!("{{\"name\":\"TeamCreate\",\"a\":{}", "[".repeat(100_000));
    for hostile in [
        &b"SendMessage"[..],
        b"\"SendMessage\"",
        b"[\"SendMessage\"]",
        b"{\"name\":\"SendMessage\"",
        b"{\"name\":\"SendMessage\"}}",
        b"{\"name\":\"SendMessage\",}",
        b"{\"name\":\"SendMessage\"} {}",
        b"{\"type\":\"result\",\"x\":nul}",
        b"{'type':'result'} \"result\" }",
        b"\0",
        b"\0\0\0{\"type\":\"result\"}",
        b"{\"type\":\"result\",\"x\":\"\0\"}",
        b"{\"type\":\"result\",\0\"x\":1}",
        b"\xef\xbb\xbf{\"type\":\"result\"}",
        b"{\"type\":\"result\",\"x\":\"\xff\xfe\"}",
        b"{\"type\":\"result\",\"\xff\":1}",
        b"{\"type\":\"user\",\"message\":{\"content\":\"\xc3\x28\"},\"x\":\"tool_result\"}",
        b"}",
        b"{",
        b"\xff",
        &use_line.as_bytes()[..use_line.len() / 2],
        &use_line.as_bytes()[use_line.len() / 2..],
        use_line.replace('[', "").as_bytes(),
        deep.as_bytes(),
    ] {
        let (observer, counts) = around(hostile);
        let line = String::from_utf8_lossy(&hostile[..hostile.len().min(99)]);
        assert_eq!(counts, counted(3, 1, 0), "{line}");
        assert_eq!(observer.pending(), 0, "{line}");
    }
}

#[test]
fn lines_of_no_interest_are_not_counted_against_a_stream() {
    for fine in [
        &b""[..],
        b"\r",
        b"  ",
        b"\t\t\r",
        b"{}",
        b"{\"type\":\"never heard of\"}",
        b"{\"type\":\"system\",\"subtype\":\"init\",\"new\":[[{}]]}",
        b"  {\"type\":\"result\"}  ",
        b"{\"type\":\"file-history-snapshot\",\"snapshot\":{\"Agent\":\"\\u0000\"}}",
        b"{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_start\",\"name\":\"SendMessage\"}}",
    ] {
        let (_, counts) = around(fine);
        assert_eq!(counts, counted(3, 0, 0), "{}", String::from_utf8_lossy(fine));
    }
}

#[test]
fn lines_of_another_form_are_odd_and_counted() {
    for hostile in [
        json!({"no": "type", "name": "SendMessage"}),
        json!({"type": 5, "name": "SendMessage"}),
        json!({"type": null, "name": "SendMessage"}),
        json!({"type": ["assistant"], "name": "SendMessage"}),
        json!({"type": "result", "subtype": 5}),
        json!({"type": "result", "session_id": 5}),
        json!({"type": "result", "sessionId": {}}),
        json!({"type": "result", "timestamp": 1_770_323_400}),
        json!({"type": "result", "parent_tool_use_id": []}),
        json!({"type": "result", "teamName": true}),
        json!({"type": "result", "agentName": 1.5}),
        json!({"type": "result", "tool_use_id": 3}),
        json!({"type": "assistant", "message": 5, "name": "SendMessage"}),
        json!({"type": "assistant", "message": {"id": 5}, "name": "SendMessage"}),
        json!({"type": "user", "message": "words", "name": "SendMessage"}),
    ] {
        let (_, counts) = around(hostile.to_string().as_bytes());
        assert_eq!(counts, counted(3, 0, 1), "{hostile}");
    }
    // A key that is there twice may mean either.
    let (_, counts) = around(br#"{"type":"result","type":"assistant"}"#);
    assert_eq!(counts, counted(3, 0, 1));
    let (_, counts) = around(br#"{"type":"assistant","message":{"content":[],"content":"SendMessage"},"x":"SendMessage"}"#);
    assert_eq!(counts, counted(3, 0, 1));
}

#[test]
fn whatever_type_a_field_has_nothing_panics_and_the_next_line_is_seen() {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5e300),
        json!(u64::MAX),
        json!(""),
        json!("x"),
        json!([]),
        json!([[]]),
        json!([null]),
        json!({}),
        json!({"type": "tool_use"}),
        json!({"a": {"b": []}}),
        json!(["owner"]),
        json!("\u{0}\u{ffff}"),
    ];
    let base = [
        use_of(
            "b",
            "TaskUpdate",
            json!({
                "taskId": "1", "status": "in_progress", "owner": "x", "subject": "s", "description": "d",
                "activeForm": "f", "addBlocks": ["1"], "addBlockedBy": ["1"],
            }),
        ),
        use_of(
            "b",
            "SendMessage",
            json!({"type": "message", "to": "x", "message": "m", "summary": "s", "request_id": "r", "approve": true}),
        ),
        use_of(
            "b",
            "Task",
            json!({"team_name": "t", "name": "x", "subagent_type": "s", "model": "m"}),
        ),
        result_of(
            "b",
            json!({
                "success": true, "status": "teammate_spawned", "teammate_id": "x", "agent_id": "x", "name": "n", "color": "c",
                "model": "m", "routing": {"sender": "s", "target": "t"}, "recipients": ["x"], "updatedFields": ["owner"],
                "task": {"id": "1"}, "request_id": "r", "target": "x", "message": "m",
            }),
        ),
        json!({"type": "result", "subtype": "s", "is_error": false, "duration_ms": 1, "num_turns": 1, "modelUsage": {"m": {"inputTokens": 1, "costUSD": 1}}}),
        json!({"type": "cost-state", "totalDuration": 1, "totalCostUSD": 1, "modelUsage": {"m": {"inputTokens": 1}}}),
        json!({"type": "system", "subtype": "task_notification", "tool_use_id": "b", "status": "completed"}),
    ];
    let mut tried = 0;
    for line in &base {
        for pointer in pointers(line, "") {
            for value in &values {
                let mut line = line.clone();
                *line.pointer_mut(&pointer).unwrap() = value.clone();
                let mut stage = Stage::with_team(&["x"]);
                stage.creates_task("1");
                for hostile in [&base[0], &line, &base[3], &line, &base[1], &line, &base[3]] {
                    stage.bytes(hostile.to_string().as_bytes());
                }
                stage.observer.finish();
                assert_eq!(names(&stage.spawns("late")), ["team:member:joined"], "{line}");
                tried += 1;
            }
        }
    }
    assert!(tried > 1000, "{tried}");
}

/// The places of all values within a value.
fn pointers(value: &Value, at: &str) -> Vec<String> {
    let inner: Vec<_> = match value {
        Value::Object(map) => {
            map.iter().flat_map(|(key, value)| pointers(value, &format!("{at}/{key}"))).collect()
        }
        Value::Array(list) => list
            .iter()
            .enumerate()
            .flat_map(|(n, value)| pointers(value, &format!("{at}/{n}")))
            .collect(),
        _ => vec![],
    };
    std::iter::once(at.to_owned()).filter(|at| !at.is_empty()).chain(inner).collect()
}

#[test]
fn a_line_of_forty_megabytes_is_passed_over_and_counted() {
    for name in ["SendMessage", "Bash"] {
        let line =
            format!(r#"{{"type":"assistant","name":"{name}","x":"{}"}}"#, "x".repeat(40 << 20));
        assert!(line.len() > LONGEST_LINE);
        let (_, counts) = around(line.as_bytes());
        assert_eq!(counts, counted(3, 1, 0), "{name}");
        // Where nothing is waited for, too, and as pieces or not.
        let line = line + "\n{}\n";
        let (_, counts, _) = scan(line.as_bytes());
        let (_, in_pieces, _) = scan_in(&line.as_bytes().chunks(1 << 18).collect::<Vec<_>>());
        assert_eq!((counts, in_pieces), (counted(2, 1, 0), counted(2, 1, 0)), "{name}");
    }
}

#[test]
fn the_longest_line_that_is_looked_at_is_looked_at() {
    for (extra, broken) in [(0, 0), (1, 1)] {
        let empty = r#"{"type":"result","num_turns":3,"x":""}"#.len();
        let line = format!(
            r#"{{"type":"result","num_turns":3,"x":"{}"}}"#,
            "x".repeat(LONGEST_LINE - empty + extra)
        );
        let (observer, counts) = around(line.as_bytes());
        assert_eq!(counts, counted(3, broken, 0), "{extra}");
        assert_eq!(observer.summary().is_some(), extra == 0);
    }
}

#[test]
fn nesting_without_end_is_survived() {
    for depth in [127, 128, 129, 10_000, 1_000_000] {
        let nest = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for line in [
            format!(
                r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"b","name":"TeamCreate","input":{{"team_name":{nest}}}}}]}}}}"#
            ),
            format!(r#"{{"type":"assistant","message":{nest},"x":"SendMessage"}}"#),
            format!(r#"{{"type":"result","x":{nest}}}"#),
            format!(
                r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"b","content":{nest}}}]}},"toolUseResult":{nest}}}"#
            ),
        ] {
            let (_, counts) = around(line.as_bytes());
            assert_eq!((counts.lines, counts.broken), (3, 0), "{depth}");
        }
    }
}

#[test]
fn lines_may_end_as_on_windows() {
    let mut stage = Stage::new();
    let lines = [use_of("a", "TeamCreate", json!({"team_name": "t"})), result_of("a", json!({}))];
    let bytes = lines.map(|line| format!("{}\r\n", stage.stamped(line))).concat();
    let (observer, counts, events) = scan(bytes.as_bytes());
    assert_eq!((names(&events), counts), (vec!["team:created"], counted(2, 0, 0)));
    assert_eq!(observer.team().unwrap().name, "t");
}

#[test]
fn the_last_line_needs_no_end_but_waits_for_it() {
    let line = json!({"type": "result", "num_turns": 3}).to_string();
    let (mut scanner, mut observer) = (Scanner::new(), Observer::new());
    let mut seen = 0;
    scanner.feed(line.as_bytes(), &mut observer, |_, _| seen += 1);
    assert_eq!((scanner.counts().lines, scanner.unfinished()), (0, line.len()));
    scanner.finish(&mut observer, |number, _| seen += number);
    assert_eq!((scanner.counts().lines, scanner.unfinished(), seen), (1, 0, 1));
    scanner.finish(&mut observer, |_, _| seen += 1);
    assert_eq!((scanner.counts().lines, seen), (1, 1));
}

#[test]
fn every_line_that_matters_has_its_number() {
    let mut stage = Stage::new();
    let text = format!(
        "\n{{}}\n{}\nbroken\n\n{}\n{{\"type\":\"result\"}}\n",
        stage.stamped(use_of("a", "TeamCreate", json!({"team_name": "t"}))),
        stage.stamped(result_of("a", json!({})))
    );
    for size in [1, 2, 7, 64, text.len()] {
        let (mut scanner, mut observer, mut numbers) =
            (Scanner::new(), Observer::new(), Vec::new());
        for piece in text.as_bytes().chunks(size) {
            scanner.feed(piece, &mut observer, |number, _| numbers.push(number));
        }
        assert_eq!(numbers, [3, 6, 7], "in pieces of {size}");
    }
}
