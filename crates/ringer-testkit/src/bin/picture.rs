//! Makes the README's picture: a real Claude Code sends a message to a real Gemini CLI under
//! `ringer run`. Only the models behind them are scripted.
//! Usage: `cargo run -p ringer-testkit --bin picture -- OUT.svg`, with `ringer` built beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ringer_testkit::{Agent, Claude, Tmux, Turn, Window, put, svg, wait_for};
use serde_json::{Value, json};

/// A fixed place: its path is on the screens, and what is drawn instead is no longer.
const ROOT: &str = "/tmp/ringer-picture";
const SHOWN: &str = "~/project";
const SIZE: (u16, u16) = (66, 27);
const PATIENCE: Duration = Duration::from_mins(1);

const SOURCE: &str = "\
use std::collections::HashMap;

/// Prices by name.
pub type Prices = HashMap<String, u64>;
";

const PROMPT: &str = "Ask gemini to review src/prices.rs";
const MESSAGE: &str = "Please review src/prices.rs: the report has to list the prices in the \
    order of their names. What would you change?";
/// Claude Code does not show that it uses `SendMessage`; what the model says then, it does.
const SENT: &str = "I sent this to gemini with `SendMessage`:";
/// Rows that differ from day to day.
const WITHOUT: [&str; 3] = [" · done ", "/effort", "tmux detected"];
const ANSWER: &str = "A `HashMap` iterates in any order. Make it `BTreeMap<String, u64>`: the \
    report is then sorted by name, and no caller has to change.";

fn main() -> Result<()> {
    let out = std::env::args().nth(1).context("usage: picture OUT.svg")?;
    let root = Path::new(ROOT);
    fs::remove_dir_all(root).ok();
    let pictures = play(root);
    fs::remove_dir_all(root).ok();
    let drawn = svg(&pictures?);
    for path in [ROOT.to_owned(), std::env::var("HOME")?] {
        ensure!(!drawn.contains(&path), "`{path}` is in the picture");
    }
    put(Path::new(&out), &drawn);
    Ok(())
}

/// Lets it happen; what both screens show then.
fn play(root: &Path) -> Result<[Window; 2]> {
    // Both live in the same home and work in the same directory, as a user's would. It ends everyone
    // who lives there, the daemon among them, and goes last.
    let gemini = Agent::gemini(root)?;
    fs::create_dir_all(gemini.cwd.join("src"))?;
    put(&gemini.cwd.join("src/prices.rs"), SOURCE);
    set_look(&root.join("home/.gemini/settings.json"))?;
    let options = ["--permission-mode", "default"];
    let claude = Claude::start_with("2.1.325", root, SIZE, &options, &[])?;
    let tmux = Tmux::start(&made(root.join("worker"))?)?;
    let pane = run_gemini(&tmux, &gemini)?;
    let shows = |text: &str| {
        let seen = || tmux.screen(&pane).ok()?.contains(text).then_some(());
        wait_for(text, PATIENCE, seen).with_context(|| tmux.screen(&pane).unwrap_or_default())
    };
    shows("Type your message")?;
    let read = json!({"file_path": "src/prices.rs"});
    gemini.model.queue([Turn::call("read_file", &read), Turn::say(ANSWER)]);
    let send = claude.send_message("gemini", MESSAGE, "Review prices.rs");
    let find = json!({"query": "select:SendMessage", "max_results": 1});
    let said = Turn::say(&format!("{SENT}\n\n> {MESSAGE}"));
    claude.ask(PROMPT, [Turn::call("ToolSearch", &find), send, said], "would you change?")?;
    shows("no caller has")?;
    shows("Type your message")?;
    // Both still show for a moment that they work.
    let screens = || {
        let gemini = tmux.run(&["capture-pane", "-epN", "-t", &pane]).ok()?;
        Some((claude.coloured_screen().ok()?, gemini))
    };
    let still = || {
        let before = screens()?;
        std::thread::sleep(Duration::from_secs(2));
        (before == screens()?).then_some(before)
    };
    let (lead, worker) = wait_for("screens on which nothing moves", PATIENCE, still)?;
    let window = |title: &str, screen: &str| Window {
        title: title.to_owned(),
        size: SIZE,
        screen: presentable(screen),
        without: WITHOUT.map(str::to_owned).to_vec(),
    };
    Ok([window("Claude Code", &lead), window("ringer run gemini", &worker)])
}

/// Starts `ringer run gemini` in a pane, with its own daemon; the pane.
fn run_gemini(tmux: &Tmux, gemini: &Agent) -> Result<String> {
    let ringer = std::env::current_exe()?.with_file_name("ringer");
    ensure!(ringer.exists(), "build it first: `cargo build --package ringer`");
    let path = std::env::var("PATH")?;
    let mut words = vec!["env".into(), "-i".into(), "TERM=xterm-256color".into()];
    words.extend([format!("PATH={path}"), "LANG=C.UTF-8".into(), "COLORTERM=truecolor".into()]);
    words.extend(gemini.env.iter().map(|(name, value)| format!("{name}={value}")));
    words.extend([ringer.display().to_string(), "run".into(), "gemini".into(), "--".into()]);
    words.push(gemini.program.display().to_string());
    words.extend(gemini.args.iter().cloned());
    let (columns, rows) = (SIZE.0.to_string(), SIZE.1.to_string());
    let cwd = gemini.cwd.display().to_string();
    let mut arguments = vec!["new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "worker"];
    arguments.extend(["-x", &columns, "-y", &rows, "-c", &cwd, "--"]);
    arguments.extend(words.iter().map(String::as_str));
    tmux.run(&arguments)
}

/// Leaves more room for what matters.
fn set_look(settings: &Path) -> Result<()> {
    let mut all: Value = serde_json::from_str(&fs::read_to_string(settings)?)?;
    all["ui"] = json!({"hideTips": true, "theme": "GitHub"});
    put(settings, &all.to_string());
    Ok(())
}

fn made(dir: PathBuf) -> Result<PathBuf> {
    fs::create_dir_all(&dir)?;
    Ok(dir)
}

/// Without this machine's path, and with everything else in its column.
fn presentable(screen: &str) -> String {
    let work = format!("{ROOT}/project");
    screen.replace(&work, &format!("{SHOWN:<0$}", work.len()))
}
