//! The real agents start at their prompts, and their models hear what was typed and nothing else.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use anyhow::Context as _;
use ringer_testkit::{Agent, Tmux, Turn, wait_for};

const PATIENCE: Duration = Duration::from_mins(1);

/// Gemini CLI takes an Enter that comes sooner for a line break, and what is pasted sooner after its
/// start for typed.
const SETTLE: Duration = Duration::from_millis(500);

/// Lets an agent hear something, be busy, answer, and hear something else.
fn converse(agent: &Agent, dir: &tempfile::TempDir, prompt: &str, busy: &str) {
    let tmux = Tmux::start(dir.path()).unwrap();
    let mut command = vec!["env".to_owned(), "-C".to_owned(), agent.cwd.display().to_string()];
    command.extend(agent.env.iter().map(|(name, value)| format!("{name}={value}")));
    command.push(agent.program.display().to_string());
    command.extend(agent.args.iter().cloned());
    let pane = tmux.worker(&command.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    let shows = |text: &str| {
        wait_for(text, PATIENCE, || tmux.screen(&pane).ok()?.contains(text).then_some(()))
            .with_context(|| tmux.screen(&pane).unwrap_or_default())
            .unwrap();
    };
    shows(prompt);
    agent.model.queue([Turn::hold("the first answer"), Turn::say("the second answer")]);
    for (said, heard, answer) in
        [("one\ttwo", 1, "the first answer"), ("C:\\udir \"three\"", 2, "the second answer")]
    {
        std::thread::sleep(SETTLE);
        tmux.run(&["set-buffer", "--", said]).unwrap();
        tmux.run(&["paste-buffer", "-p", "-r", "-t", &pane]).unwrap();
        shows(&said[said.len() - 3..]);
        std::thread::sleep(SETTLE);
        tmux.run(&["send-keys", "-t", &pane, "Enter"]).unwrap();
        wait_for(said, PATIENCE, || (agent.model.prompts().len() == heard).then_some(()))
            .with_context(|| tmux.screen(&pane).unwrap_or_default())
            .unwrap();
        if heard == 1 {
            shows(busy);
            assert!(!tmux.screen(&pane).unwrap().contains(answer));
            agent.model.release();
        }
        shows(answer);
    }
}

#[test]
fn gemini() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::gemini(dir.path()).unwrap();
    converse(&agent, &dir, "Type your message", "esc to cancel");
    assert_eq!(agent.model.prompts(), ["one\ttwo", "C:\\udir \"three\""]);
    assert!(agent.model.tools().iter().any(|tool| tool == "run_shell_command"));
}

#[test]
fn claude() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::claude(dir.path()).unwrap();
    converse(&agent, &dir, "❯", "esc to interrupt");
    // Claude Code makes blanks of a tab.
    assert_eq!(agent.model.prompts(), ["one    two", "C:\\udir \"three\""]);
    assert!(agent.model.tools().iter().any(|tool| tool == "Bash"));
}

#[test]
fn codex() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::codex(dir.path()).unwrap();
    // The prompt is there earlier, but not what it is for.
    converse(&agent, &dir, "scripted default · ", "the firs");
    assert_eq!(agent.model.prompts(), ["one\ttwo", "C:\\udir \"three\""]);
    assert!(agent.model.tools().iter().any(|tool| tool == "exec_command"));
}

#[test]
fn opencode() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::opencode(dir.path()).unwrap();
    converse(&agent, &dir, "Ask anything", "esc interrupt");
    assert_eq!(agent.model.prompts(), ["one\ttwo", "C:\\udir \"three\""]);
    assert!(agent.model.tools().iter().any(|tool| tool == "bash"));
}
