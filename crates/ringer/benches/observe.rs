//! How fast a transcript is read: beside finding its lines and nothing else, beside parsing every line, and beside jq.
//! Run with `just bench`.
//!
//! Machines differ and are noisy: what counts is the ratio to the others in the same run.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use memchr::memchr_iter;
use ringer_observe::{Observer, Scanner};
use ringer_testkit::command;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

const SIZE: u64 = 1_000_000_000;
/// What is slower gets less of it.
const FOR_SERDE: u64 = 200_000_000;
const FOR_JQ: u64 = 50_000_000;
const CHUNK: usize = 256 * 1024;

fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plain = dir.path().join("plain.jsonl");
    write(&plain, SIZE, None);
    let lines = best(3, || find_lines(&plain));
    let before = memory("VmHWM");
    let observed = best(3, || observe(&plain));
    let grown = memory("VmHWM").saturating_sub(before);
    let (short, shorter) = (dir.path().join("short.jsonl"), dir.path().join("shorter.jsonl"));
    write(&short, FOR_SERDE, None);
    write(&shorter, FOR_JQ, None);
    let values = best(2, || parse::<Value>(&short));
    let ignored = best(2, || parse::<IgnoredAny>(&short));
    let jq = best(2, || jq(&shorter));
    write(&short, FOR_SERDE, Some(100));
    let busy = best(2, || observe(&short));

    println!("a transcript of 1 GB in which nobody uses a tool of the team (best of 3)");
    println!("  finding the lines (memchr)           {lines:>7.2} GB/s");
    println!("  observing                            {observed:>7.2} GB/s");
    println!(
        "  parsing every line (serde_json)      {values:>7.2} GB/s, {ignored:.2} without keeping anything"
    );
    println!("  jq -c .                              {jq:>7.3} GB/s");
    println!(
        "  observing, one line in a hundred calls a tool of the team that never answers {busy:.2} GB/s"
    );
    let ratio = observed / lines;
    println!("goal: at least half as fast as finding the lines: {ratio:.2}, {}", met(ratio >= 0.5));
    let ratio = observed / jq;
    println!("goal: at least ten times as fast as jq: {ratio:.0}, {}", met(ratio >= 10.0));
    println!("goal: no more memory for more lines: {grown} kB grown, {}", met(grown < 8192));
}

/// GB/s of the fastest of some runs, each of which says how many bytes it went through.
fn best(runs: usize, run: impl Fn() -> u64) -> f64 {
    let speed = |_| {
        let started = Instant::now();
        let bytes = run();
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let bytes = bytes as f64;
        bytes / started.elapsed().as_secs_f64() / 1e9
    };
    (0..runs).map(speed).fold(0.0, f64::max)
}

/// Reads a file in pieces.
fn read(path: &Path, mut each: impl FnMut(&[u8])) -> u64 {
    let mut file = File::open(path).expect("the file is ours");
    let mut chunk = vec![0; CHUNK];
    let mut bytes = 0;
    loop {
        let count = file.read(&mut chunk).expect("the file is ours");
        if count == 0 {
            return bytes;
        }
        bytes += count as u64;
        each(&chunk[..count]);
    }
}

/// Where each line ends; how many there are would be quicker to find out.
fn find_lines(path: &Path) -> u64 {
    let (mut lines, mut ends) = (0_u64, 0);
    let bytes = read(path, |chunk| {
        for end in memchr_iter(b'\n', chunk) {
            lines += 1;
            ends ^= end;
        }
    });
    assert!(lines > 1000 && ends != usize::MAX);
    bytes
}

fn observe(path: &Path) -> u64 {
    let (mut observer, mut scanner) = (Observer::new(), Scanner::new());
    let bytes = read(path, |chunk| scanner.feed(chunk, &mut observer, |_, _| {}));
    assert!(scanner.counts().lines > 1000 && scanner.counts().broken == 0);
    bytes
}

fn parse<'de, T: serde::de::DeserializeOwned + 'de>(path: &Path) -> u64 {
    let mut rest = Vec::new();
    read(path, |chunk| {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            rest.extend_from_slice(piece);
            if rest.ends_with(b"\n") {
                serde_json::from_slice::<T>(&rest).expect("a line is JSON");
                rest.clear();
            }
        }
    })
}

fn jq(path: &Path) -> u64 {
    let status = command("jq").args(["-c", "."]).arg(path).stdout(Stdio::null()).status();
    assert!(status.expect("jq is there").success());
    fs::metadata(path).expect("the file is ours").len()
}

/// A line of `/proc/self/status`, in kB.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_default()
}

/// A transcript as sessions have it: words, calls of tools, and what these found. One line in so many is of the team.
fn write(path: &Path, size: u64, team: Option<u64>) {
    let mut file = BufWriter::new(
        File::create_new(path)
            .or_else(|_| {
                fs::remove_file(path)?;
                File::create_new(path)
            })
            .expect("a file in a temporary directory"),
    );
    let (mut written, mut number, mut random) = (0, 0_u64, 7_u64);
    let source =
        "fn read(path: &Path) -> Result<Vec<u8>, Error> {\n    let text = \"a text\";\n}\n";
    while written < size {
        number += 1;
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let many = usize::try_from((random >> 33) % 150).unwrap_or_default();
        let id = format!("toolu_{number:020}");
        let (kind, content, more) = match number % 4 {
            _ if team.is_some_and(|every| number.is_multiple_of(every)) => {
                let call = json!({"type": "tool_use", "id": id, "name": "TaskUpdate", "input": {"taskId": "1"}});
                ("assistant", json!([call]), Value::Null)
            }
            0 => (
                "assistant",
                json!([{"type": "text", "text": "It is the parser. ".repeat(many / 4)}]),
                Value::Null,
            ),
            1 => {
                let (name, input) = if many.is_multiple_of(2) {
                    (
                        "Bash",
                        json!({"command": "cargo test --workspace", "description": "Run the tests"}),
                    )
                } else {
                    ("Read", json!({"file_path": "/home/you/project/src/lib.rs", "limit": 200}))
                };
                (
                    "assistant",
                    json!([{"type": "tool_use", "id": id, "name": name, "input": input}]),
                    Value::Null,
                )
            }
            2 => {
                let found = source.repeat(many);
                let answer = json!({"type": "tool_result", "tool_use_id": id, "content": found});
                (
                    "user",
                    json!([answer]),
                    json!({"stdout": found, "stderr": "", "interrupted": false}),
                )
            }
            _ => ("user", json!("Please go on with the next one."), Value::Null),
        };
        let line = json!({
            "parentUuid": format!("{:032x}", random), "isSidechain": false, "userType": "external",
            "cwd": "/home/you/project", "sessionId": "33d98fe4-6f3d-4460-8833-9ec8058846d3",
            "version": "2.1.325", "gitBranch": "main", "type": kind,
            "message": {"role": kind, "id": format!("msg_{number}"), "content": content,
                        "usage": {"input_tokens": 3, "cache_read_input_tokens": 81_232, "output_tokens": many}},
            "toolUseResult": more, "uuid": format!("{:032x}", !random),
            "timestamp": "2026-11-18T17:11:44.914Z",
        });
        let line = format!("{line}\n");
        file.write_all(line.as_bytes()).expect("there is room");
        written += line.len() as u64;
    }
    file.flush().expect("there is room");
}

fn met(goal: bool) -> &'static str {
    if goal { "met" } else { "MISSED" }
}
