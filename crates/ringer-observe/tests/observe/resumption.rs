//! An observer that is written down at any line and taken up again goes on as if nothing had been; lines that it is given
//! again have happened once.

use ringer_observe::Observer;
use serde_json::{Value, json};

use crate::stage::{Stage, mail, names, result_of, said, says, scan, scan_in, use_block, use_of};

/// A life with everything that an observer has to remember: calls that wait, members that speak within calls, who may be
/// idle soon, and what it cost.
fn life() -> Vec<String> {
    let mut stage = Stage::new();
    let update = |id: &str, input: Value| use_block(id, "TaskUpdate", input);
    let mut within = said("m4", vec![update("h", json!({"taskId": "2", "status": "in_progress"}))]);
    within["parent_tool_use_id"] = json!("d");
    [
        json!({"type": "system", "subtype": "init", "tools": ["Bash"]}),
        use_of("z", "Bash", json!({"command": "ls"})),
        result_of("z", json!({"stdout": "x"})),
        use_of("a", "TeamCreate", json!({"team_name": "t"})),
        result_of("a", json!({"team_name": "t"})),
        said("m1", vec![use_block("b", "TaskCreate", json!({"subject": "one"})), use_block("c", "TaskCreate", json!({"subject": "two"}))]),
        result_of("c", json!({"taskId": "2"})),
        result_of("b", json!({"taskId": "1"})),
        use_of("d", "Task", json!({"team_name": "t", "name": "alice", "prompt": "p"})),
        result_of("d", json!({"status": "teammate_spawned", "agent_id": "alice@t", "name": "alice", "color": "blue"})),
        says("m2"),
        said("m3", vec![update("e", json!({"taskId": "1", "owner": "alice", "status": "in_progress"}))]),
        result_of("e", json!({"success": true})),
        within,
        result_of("h", json!({"success": true, "updatedFields": ["owner"]})),
        said("m5", vec![update("f", json!({"taskId": "2", "status": "completed"})), update("g", json!({"taskId": "1", "status": "completed"}))]),
        result_of("f", json!({"success": true})),
        result_of("g", json!({"success": true})),
        mail("alice", "done"),
        use_of("i", "SendMessage", json!({"to": "alice", "message": {"type": "shutdown_request"}})),
        result_of("i", json!({"success": true, "request_id": "shutdown-1@alice", "target": "alice"})),
        mail("alice", r#"{"type":"shutdown_approved"}"#),
        use_of("j", "TeamDelete", json!({})),
        result_of("j", json!({"success": true})),
        json!({"type": "result", "num_turns": 3, "modelUsage": {"m": {"inputTokens": 1}}}),
    ]
    .map(|line| stage.stamped(line).to_string())
    .to_vec()
}

fn again(observer: &Observer) -> Observer {
    serde_json::from_str(&serde_json::to_string(observer).unwrap()).unwrap()
}

#[test]
fn at_any_line_it_can_be_written_down_and_taken_up_again() {
    let lines = life();
    let mut whole = Observer::new();
    let expected: Vec<_> =
        lines.iter().map(|line| (whole.line(line.as_bytes()).events, whole.state())).collect();
    assert!(expected.iter().map(|(events, _)| events.len()).sum::<usize>() > 12);
    for at in 0..lines.len() {
        let mut observer = Observer::new();
        lines[..at].iter().for_each(|line| drop(observer.line(line.as_bytes())));
        let mut observer = again(&observer);
        for (line, expected) in lines[at..].iter().zip(&expected[at..]) {
            let seen = observer.line(line.as_bytes());
            assert_eq!(
                (&seen.events, &observer.state()),
                (&expected.0, &expected.1),
                "from line {at}: {line}"
            );
        }
    }
}

#[test]
fn what_is_added_is_the_same_after_being_taken_up_again() {
    let mut whole = Observer::new();
    let mut restored = Observer::new();
    for line in life() {
        let seen = whole.line(line.as_bytes());
        restored = again(&restored);
        let other = restored.line(line.as_bytes());
        let (one, other) =
            (serde_json::to_value(seen.supplements), serde_json::to_value(other.supplements));
        assert_eq!(one.unwrap(), other.unwrap(), "{line}");
    }
}

#[test]
fn lines_that_come_again_have_happened_once() {
    let lines = life();
    let (whole, _, told) = scan(lines.join("\n").as_bytes());
    for from in 0..lines.len() {
        for to in from..=lines.len() {
            let twice = [&lines[..to], &lines[from..]].concat();
            let (observer, counts, events) = scan(twice.join("\n").as_bytes());
            assert_eq!(
                (observer.state(), names(&events)),
                (whole.state(), names(&told)),
                "{from} {to}"
            );
            assert_eq!((counts.broken, counts.odd), (0, 0));
        }
    }
}

#[test]
fn a_line_whose_end_was_cut_off_is_the_same_line() {
    let lines = life();
    let (whole, _, told) = scan(lines.join("\r\n").as_bytes());
    // After each the stream breaks off within the line's end, and the line comes again.
    let twice: Vec<String> = lines.iter().map(|line| format!("{line}\n{line}\r\n")).collect();
    let twice = twice.concat();
    let (observer, counts, events) = scan(twice.as_bytes());
    assert_eq!((observer.state(), events), (whole.state(), told));
    // Those of answers that are not waited for any more are not even looked at.
    assert!(counts.repeated >= 15, "{counts:?}");
}

#[test]
fn what_was_of_no_interest_is_none_when_it_comes_again() {
    let mut stage = Stage::with_team(&["alice"]);
    let mut stream = Vec::new();
    stage.creates_task("1");
    stage.updates(json!({"taskId": "1", "owner": "alice", "status": "in_progress"}));
    let observer = again(&stage.observer);
    for line in [
        says("m1"),
        said(
            "m2",
            vec![use_block("a", "TaskUpdate", json!({"taskId": "1", "status": "completed"}))],
        ),
        result_of("a", json!({"success": true})),
    ] {
        stream.push(stage.stamped(line).to_string());
    }
    // While nothing is waited for, the first was not looked at. The model is still saying `m2`.
    let mut observer = observer;
    let mut scanner = ringer_observe::Scanner::new();
    let mut told = Vec::new();
    for _ in 0..2 {
        let bytes = stream.join("\n") + "\n";
        scanner.feed(bytes.as_bytes(), &mut observer, |_, seen| told.extend(seen.events));
    }
    assert_eq!(names(&told), ["team:task:completed"], "that it is idle is not known yet");
}

#[test]
fn wherever_bytes_are_cut_the_same_is_seen() {
    let text = life().join("\n");
    let (whole, counts, told) = scan(text.as_bytes());
    for size in [1, 2, 3, 5, 16, 100, 1000] {
        let pieces: Vec<_> = text.as_bytes().chunks(size).collect();
        let (observer, in_pieces, events) = scan_in(&pieces);
        assert_eq!(
            (observer.state(), in_pieces, &events),
            (whole.state(), counts, &told),
            "{size}"
        );
    }
    for at in 0..text.len() {
        let (one, other) = text.as_bytes().split_at(at);
        let (observer, in_pieces, events) = scan_in(&[one, other]);
        assert_eq!((observer.state(), in_pieces, &events), (whole.state(), counts, &told), "{at}");
    }
}
