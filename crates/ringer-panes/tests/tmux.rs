//! Panes of a real tmux, over control mode and over single commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ringer_panes::{Fault, Needle, Occupant, Pane, Payload, Sight, TmuxPane, TmuxServers, Verdict};
use ringer_testkit::{Received, Tmux, put, received, receiver_program, wait_for};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

const PATIENCE: Duration = Duration::from_secs(20);

macro_rules! over_both {
    ($($test:ident)*) => {
        mod control_mode {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() -> anyhow::Result<()> {
                super::$test(super::World::new(ringer_panes::TmuxServers::new())?).await
            }
        )*}
        mod commands {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() -> anyhow::Result<()> {
                let servers = ringer_panes::TmuxServers::without_control_mode();
                super::$test(super::World::new(servers)?).await
            }
        )*}
    };
}

over_both! {
    text_arrives_byte_for_byte
    panes_are_used_at_once
    a_dead_pane_is_refused_and_the_server_survives
    copy_mode_is_refused_until_it_is_left
    a_pane_that_takes_no_input_is_refused
    enter_reaches_no_other_pane_when_panes_are_synchronized
    an_unknown_pane_is_gone
    a_server_is_found_again_after_a_restart
    another_occupant_is_refused
    a_shell_that_the_worker_left_behind_is_refused
    a_screen_that_plays_tmux_confuses_nobody
    a_look_shows_rows_cursor_and_title
    a_full_screen_program_has_no_scrolled_rows
    a_needle_finds_the_text_in_the_pane
    a_server_that_hangs_is_left_alone
    a_connection_that_nobody_needs_is_closed
}

/// A tmux server and receivers in it.
struct World {
    dir: TempDir,
    tmux: Tmux,
    servers: TmuxServers,
}

impl World {
    fn new(servers: TmuxServers) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("ringer-panes-").tempdir()?;
        let tmux = Tmux::start(dir.path())?;
        Ok(Self { dir, tmux, servers })
    }

    fn pane(&self, id: &str) -> TmuxPane {
        self.servers.pane(Some(self.tmux.socket()), id)
    }

    /// A receiver that shows its prompt.
    fn receiver(&self, name: &str) -> Result<(String, PathBuf)> {
        let file = self.dir.path().join(name);
        let program = receiver_program();
        let id = self.tmux.worker(&[text(&program), text(&file)])?;
        self.until_screen(&id, "> ")?;
        Ok((id, file))
    }

    /// A program in the shell's language.
    fn script(&self, script: &str) -> Result<String> {
        let path = self.dir.path().join(format!("script-{}", script.len()));
        put(&path, script);
        self.tmux.worker(&["sh", text(&path)])
    }

    fn until_screen(&self, id: &str, has: &str) -> Result<()> {
        let seen = || self.tmux.screen(id).ok()?.contains(has.trim_end()).then_some(());
        wait_for(has, PATIENCE, seen).with_context(|| self.tmux.screen(id).unwrap_or_default())
    }

    fn no_buffer_is_left(&self) -> Result<()> {
        let left = self.tmux.run(&["list-buffers", "-F", "#{buffer_name}"])?;
        ensure!(left.is_empty(), "left behind: {left}");
        Ok(())
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary directories have plain names")
}

/// Looks until the condition holds.
async fn until(pane: &mut TmuxPane, holds: impl Fn(&Sight) -> bool) -> Result<Sight> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let sight = pane.look().await?;
        if holds(&sight) {
            return Ok(sight);
        }
        ensure!(Instant::now() < deadline, "never came, but: {sight:#?}");
        sleep(Duration::from_millis(5)).await;
    }
}

async fn got(file: &Path, count: usize) -> Result<Vec<Received>> {
    let file = file.to_owned();
    let wait = move || {
        let all = || Some(received(&file)).filter(|all| all.len() >= count);
        wait_for("messages", PATIENCE, all)
            .with_context(|| format!("{count} expected, got {:?}", received(&file).len()))
    };
    tokio::task::spawn_blocking(wait).await?
}

/// Pastes, waits until it shows, presses Enter.
async fn deliver(pane: &mut TmuxPane, text: &str) -> Result<()> {
    let occupant = pane.look().await?.occupant;
    pane.paste(&Payload::new(text), &occupant).await?;
    pane.enter(&occupant).await?;
    Ok(())
}

/// That nothing can be typed, and why.
async fn refused(pane: &mut TmuxPane, occupant: &Occupant) -> &'static str {
    let payload = Payload::new("must not arrive");
    let paste = pane.paste(&payload, occupant).await.expect_err("the paste is refused");
    let enter = pane.enter(occupant).await.expect_err("the Enter is refused");
    assert_eq!(paste.reason(), enter.reason());
    assert!(!paste.uncertain(), "{paste}");
    paste.reason()
}

async fn text_arrives_byte_for_byte(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let mut texts: Vec<String> = [
        "plain",
        "quotes ' \" ` and \\ in \\n the middle",
        "dollars $HOME $(id) `id` #{pane_id} #(id) ~ ~root ; \\; { } %1 %% %H %end 1 2 3 -- -x",
        "two\nlines\n\n and\ta tab\n; kill-server\n%exit",
        "é 你好 🎉👩\u{200d}💻 \u{301} \u{fffd}",
        "trailing blanks  \t ",
    ]
    .map(str::to_owned)
    .into();
    texts.push("x".repeat(100_000));
    texts.push("Zeile mit ü und \"'\\$#{}\n".repeat(4_000) + "end");
    texts.push("a🎉\n".repeat(25_000) + "end");
    texts.push("a line of the longest text\n".repeat(40_000) + "end");
    for (at, text) in texts.iter().enumerate() {
        deliver(&mut pane, text).await.with_context(|| format!("text {at}"))?;
        let all = got(&file, at + 1).await?;
        let last = all.last().expect("there is one");
        ensure!(last.text == *text, "text {at}: {} bytes became {}", text.len(), last.text.len());
        ensure!(last.pasted, "text {at} came as keys");
    }
    world.no_buffer_is_left()
}

async fn panes_are_used_at_once(world: World) -> Result<()> {
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..6 {
        let (id, file) = world.receiver(&format!("received-{worker}"))?;
        let mut pane = world.pane(&id);
        tasks.spawn(async move {
            let texts: Vec<String> =
                (0..20).map(|n| format!("{n} for {worker} {}", "x".repeat(n * 50))).collect();
            for text in &texts {
                deliver(&mut pane, text).await?;
                let sight = pane.look().await?;
                ensure!(sight.occupant.command == "receiver", "{:?}", sight.occupant);
            }
            let all = got(&file, texts.len()).await?;
            let all: Vec<String> = all.into_iter().map(|r| r.text).collect();
            ensure!(all == texts, "worker {worker} got {all:?}");
            Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    ensure!(world.servers.modes().len() == 1);
    world.no_buffer_is_left()
}

async fn a_dead_pane_is_refused_and_the_server_survives(world: World) -> Result<()> {
    world.tmux.run(&["set-option", "-g", "remain-on-exit", "on"])?;
    let id = world.tmux.worker(&["cat"])?;
    let mut pane = world.pane(&id);
    let alive = until(&mut pane, |sight| sight.occupant.command == "cat").await?;
    world.tmux.run(&["send-keys", "-t", &id, "C-d"])?;
    let dead = until(&mut pane, |sight| sight.blocked.is_some()).await?;
    ensure!(dead.blocked == Some(Fault::Dead { pane: id.clone() }), "{:?}", dead.blocked);
    assert_eq!(refused(&mut pane, &alive.occupant).await, "pane dead");
    world.no_buffer_is_left()?;
    world.tmux.run(&["respawn-pane", "-t", &id])?;
    let again = until(&mut pane, |sight| sight.occupant.command == "cat").await?;
    assert_eq!(Occupant::judge(&alive.occupant, &again.occupant), Verdict::Restarted);
    pane.paste(&Payload::new("welcome back"), &again.occupant).await?;
    world.until_screen(&id, "welcome back")
}

async fn copy_mode_is_refused_until_it_is_left(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let occupant = pane.look().await?.occupant;
    world.tmux.run(&["copy-mode", "-t", &id])?;
    let sight = pane.look().await?;
    ensure!(sight.blocked == Some(Fault::CopyMode { pane: id.clone() }), "{:?}", sight.blocked);
    assert_eq!(refused(&mut pane, &occupant).await, "copy mode");
    world.tmux.run(&["send-keys", "-t", &id, "-X", "cancel"])?;
    deliver(&mut pane, "now then").await?;
    let all = got(&file, 1).await?;
    assert_eq!(all[0].text, "now then");
    world.no_buffer_is_left()
}

async fn a_pane_that_takes_no_input_is_refused(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let occupant = pane.look().await?.occupant;
    world.tmux.run(&["select-pane", "-d", "-t", &id])?;
    assert_eq!(refused(&mut pane, &occupant).await, "input off");
    world.tmux.run(&["select-pane", "-e", "-t", &id])?;
    deliver(&mut pane, "now then").await?;
    assert_eq!(got(&file, 1).await?[0].text, "now then");
    Ok(())
}

async fn enter_reaches_no_other_pane_when_panes_are_synchronized(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let (other, others) = world.receiver("others")?;
    world.tmux.run(&["join-pane", "-d", "-s", &other, "-t", &id])?;
    world.tmux.run(&["set-option", "-w", "-t", &id, "synchronize-panes", "on"])?;
    deliver(&mut world.pane(&id), "for one").await?;
    assert_eq!(got(&file, 1).await?[0].text, "for one");
    world.tmux.run(&["set-option", "-w", "-t", &id, "synchronize-panes", "off"])?;
    deliver(&mut world.pane(&other), "for the other").await?;
    let all = got(&others, 1).await?;
    assert_eq!(all.iter().map(|r| r.text.as_str()).collect::<Vec<_>>(), ["for the other"]);
    Ok(())
}

async fn an_unknown_pane_is_gone(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let occupant = world.pane(&id).look().await?.occupant;
    // Of the process that runs in another pane, which is also the current one.
    world.tmux.run(&["select-window", "-t", &id])?;
    let mut pane = world.pane("%4711");
    assert_eq!(pane.look().await.expect_err("no look").reason(), "pane gone");
    assert_eq!(refused(&mut pane, &occupant).await, "pane gone");
    world.no_buffer_is_left()?;
    deliver(&mut world.pane(&id), "to the right one").await?;
    assert_eq!(got(&file, 1).await?[0].text, "to the right one");
    world.tmux.run(&["kill-pane", "-t", &id])?;
    assert_eq!(refused(&mut world.pane(&id), &occupant).await, "pane gone");
    world.no_buffer_is_left()
}

async fn a_server_is_found_again_after_a_restart(world: World) -> Result<()> {
    let (id, _) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let occupant = pane.look().await?.occupant;
    world.tmux.kill()?;
    assert_eq!(pane.look().await.expect_err("no look").reason(), "no server");
    assert_eq!(refused(&mut pane, &occupant).await, "no server");
    ensure!(world.tmux.run(&["list-sessions"]).is_err(), "a server was started");
    world.tmux.restart()?;
    let (again, file) = world.receiver("again")?;
    assert_eq!(again, id, "a new server counts panes from the start");
    assert_eq!(refused(&mut pane, &occupant).await, "pane changed");
    deliver(&mut pane, "hello again").await?;
    assert_eq!(got(&file, 1).await?.len(), 1);
    // The session that the connection is attached to ends, the server goes on.
    world.tmux.run(&["new-session", "-d", "-s", "second", "-x", "80", "-y", "20", "cat"])?;
    let cat = world.tmux.run(&["display-message", "-p", "-t", "second", "#{pane_id}"])?;
    world.tmux.run(&["kill-session", "-t", "main"])?;
    until(&mut world.pane(&cat), |sight| sight.occupant.command == "cat").await?;
    // Somebody detaches all clients.
    world.tmux.run(&["detach-client", "-a"]).ok();
    world.tmux.run(&["detach-client", "-s", "second"]).ok();
    until(&mut world.pane(&cat), |sight| sight.occupant.command == "cat").await?;
    Ok(())
}

async fn another_occupant_is_refused(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let before = pane.look().await?.occupant;
    world.tmux.run(&["respawn-pane", "-k", "-t", &id, "cat"])?;
    let after = until(&mut pane, |sight| sight.occupant.command == "cat").await?.occupant;
    assert_eq!(Occupant::judge(&before, &after), Verdict::Other);
    assert_eq!(refused(&mut pane, &before).await, "pane changed");
    assert_eq!(received(&file), []);
    assert_eq!(world.tmux.screen(&id)?, "");
    world.no_buffer_is_left()
}

async fn a_shell_that_the_worker_left_behind_is_refused(world: World) -> Result<()> {
    let file = world.dir.path().join("ran");
    let id = world.tmux.worker(&["env", "PS1=ready: ", "bash", "--norc", "-i"])?;
    let mut pane = world.pane(&id);
    until(&mut pane, |sight| sight.occupant.command == "bash").await?;
    world.until_screen(&id, "ready:")?;
    world.tmux.run(&["send-keys", "-t", &id, "cat", "Enter"])?;
    let worker = until(&mut pane, |sight| sight.occupant.command == "cat").await?.occupant;
    world.tmux.run(&["send-keys", "-t", &id, "C-d"])?;
    let now = until(&mut pane, |sight| sight.occupant.is_shell()).await?.occupant;
    assert_eq!(Occupant::judge(&worker, &now), Verdict::Shell);
    assert_eq!(refused(&mut pane, &worker).await, "pane changed");
    // A worker that is a shell itself may be typed into.
    pane.paste(&Payload::new(&format!("echo yes > {}", text(&file))), &now).await?;
    pane.enter(&now).await?;
    let ran = || fs::read_to_string(&file).ok().filter(|text| text == "yes\n");
    wait_for("the command", PATIENCE, ran)?;
    Ok(())
}

async fn a_screen_that_plays_tmux_confuses_nobody(world: World) -> Result<()> {
    let (victim, file) = world.receiver("received")?;
    // It guesses the time and the numbers of all commands to come, and never ends.
    let id = world.script(
        "printf '\\033]2;%%end 1 2 1 #{pid} refused %%error\\033\\\\'\n\
         t=$(date +%s)\n\
         n=0\n\
         while [ $n -lt 60 ]; do for k in begin end error exit; do\n\
         printf '%%%s %s %s 1\\nrefused\\n' $k $t $n\n\
         done; n=$((n + 1)); done\n\
         echo READY\n\
         exec cat",
    )?;
    world.until_screen(&id, "READY")?;
    let mut pane = world.pane(&id);
    for n in 0..50 {
        let sight = pane.look().await?;
        let last = sight.screen.rows.iter().rfind(|row| !row.is_empty());
        ensure!(last.is_some_and(|row| row == "READY"), "{sight:?}");
        ensure!(sight.screen.rows.iter().any(|row| row.starts_with("%end ")), "{sight:?}");
        assert_eq!(sight.title, "%end 1 2 1 #{pid} refused %error");
        assert_eq!(sight.occupant.command, "cat");
        deliver(&mut world.pane(&victim), &format!("message {n}")).await?;
    }
    assert_eq!(got(&file, 50).await?.len(), 50);
    Ok(())
}

async fn a_look_shows_rows_cursor_and_title(world: World) -> Result<()> {
    let id = world.script(
        "printf '\\033]2;✦  Working… (dir)\\033\\\\'\n\
         n=1; while [ $n -le 300 ]; do echo row $n; n=$((n + 1)); done\n\
         printf '│ > ü你好'\n\
         exec cat",
    )?;
    let mut pane = world.pane(&id);
    let sight = until(&mut pane, |sight| {
        sight.screen.rows.last().is_some_and(|row| row == "│ > ü你好")
            && sight.occupant.command == "cat"
    })
    .await?;
    let rows = &sight.screen.rows;
    assert_eq!(rows.len(), 200 + 50);
    assert_eq!((rows[0].as_str(), rows[248].as_str()), ("row 52", "row 300"));
    assert_eq!(sight.screen.cursor, Some((249, 9)));
    assert_eq!(sight.title, "✦  Working… (dir)");
    assert_eq!(sight.blocked, None);
    ensure!(sight.occupant.started_with.contains("script-"), "{:?}", sight.occupant);

    let hidden = world.script("printf 'top\\n\\033[?25l'; exec cat")?;
    let sight = until(&mut world.pane(&hidden), |sight| sight.screen.rows[0] == "top").await?;
    assert_eq!((sight.screen.cursor, sight.screen.rows.len()), (None, 50));
    Ok(())
}

async fn a_full_screen_program_has_no_scrolled_rows(world: World) -> Result<()> {
    let id = world.script(
        "n=1; while [ $n -le 300 ]; do echo row $n; n=$((n + 1)); done\n\
         printf '\\033[?1049h\\033[H> full'\n\
         exec cat",
    )?;
    let full = |sight: &Sight| sight.screen.rows[0] == "> full";
    let sight = until(&mut world.pane(&id), full).await?;
    assert_eq!((sight.screen.rows.len(), sight.screen.cursor), (50, Some((0, 6))));
    Ok(())
}

async fn a_needle_finds_the_text_in_the_pane(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let wide = format!("[message from lead] {}that was it", "words that wrap ".repeat(30));
    let mut count = 0;
    for text in [wide.as_str(), &wide, "[message from lead] 🎉", "你好\nüber\nzwei", &wide] {
        let payload = Payload::new(text);
        let needle = Needle::of(&payload);
        let before = pane.look().await?;
        ensure!(!needle.shown(&before.screen, &before.screen) && !needle.at_cursor(&before.screen));
        pane.paste(&payload, &before.occupant).await?;
        let shown = |now: &Sight| needle.shown(&before.screen, &now.screen);
        let after = until(&mut pane, |now| shown(now) && needle.at_cursor(&now.screen)).await?;
        assert_eq!(needle.count(&after.screen), needle.count(&before.screen) + 1);
        pane.enter(&before.occupant).await?;
        until(&mut pane, |now| !needle.at_cursor(&now.screen)).await?;
        count += 1;
    }
    assert_eq!(got(&file, count).await?.len(), count);
    Ok(())
}

async fn a_server_that_hangs_is_left_alone(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let occupant = pane.look().await?.occupant;
    world.tmux.pause()?;
    let begun = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..4 {
        let (mut pane, occupant) = (pane.clone(), occupant.clone());
        let payload = Payload::new(&format!("too late {n}"));
        tasks.spawn(async move { pane.paste(&payload, &occupant).await });
    }
    while let Some(result) = tasks.join_next().await {
        assert_eq!(result?.expect_err("no paste").reason(), "pane does not answer");
    }
    let waited = begun.elapsed();
    ensure!(waited < Duration::from_secs(4), "four at once waited {waited:?}");
    // What was asked is not done when the server goes on, if that is after its time.
    let expired = || (begun.elapsed() > Duration::from_millis(3_100)).then_some(());
    wait_for("the paste to expire", PATIENCE, expired)?;
    world.tmux.resume()?;
    let occupant = until(&mut pane, |_| true).await?.occupant;
    pane.paste(&Payload::new("in time"), &occupant).await?;
    pane.enter(&occupant).await?;
    assert_eq!(got(&file, 1).await?[0].text, "in time");
    world.no_buffer_is_left()
}

async fn a_connection_that_nobody_needs_is_closed(world: World) -> Result<()> {
    let (id, _) = world.receiver("received")?;
    let clients = || world.tmux.run(&["list-clients", "-F", "#{client_flags}"]);
    let mut pane = world.pane(&id);
    pane.look().await?;
    let socket = world.tmux.socket().to_owned();
    let [(name, mode)] = world.servers.modes().try_into().expect("one server");
    assert_eq!(name, socket);
    if mode == "control mode" {
        let flags = clients()?;
        ensure!(flags.contains("ignore-size") && flags.contains("no-output"), "{flags}");
    } else {
        assert_eq!((mode, clients()?.as_str()), ("commands", ""));
    }
    world.servers.retain(|kept| kept == Some(&socket));
    assert_eq!(world.servers.modes().len(), 1);
    world.servers.retain(|_| false);
    assert_eq!(world.servers.modes(), []);
    wait_for("the client to go", PATIENCE, || clients().ok()?.is_empty().then_some(()))?;
    pane.look().await?;
    world.servers.close_all().await;
    wait_for("the client to go", PATIENCE, || clients().ok()?.is_empty().then_some(()))?;
    pane.look().await?;
    Ok(())
}
