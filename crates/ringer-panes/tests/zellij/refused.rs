//! When nothing may be typed: it is not, the reason has a name, and it passes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use anyhow::{Result, ensure};
use ringer_panes::{Fault, Occupant, Pane, Payload, Process, Verdict, ZellijSessions};
use ringer_testkit::{Zellij, put, received, receiver_program, wait_for};
use tokio::time::Instant;

use crate::world::{PATIENCE, World, deliver, got, refused, settled, text, unseen, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_ended_is_refused_and_not_started_again() -> Result<()> {
    let world = World::new()?;
    let (runs, end) = (world.file("runs"), world.file("end"));
    let script = world.file("script");
    let wait = format!("while ! [ -e {} ]; do sleep 0.02; done", text(&end));
    put(&script, &format!("echo run >> {}; echo up; {wait}", text(&runs)));
    // Without `--close-on-exit` the pane is held, and Enter in it starts the command again.
    let id = world.zellij.worker_with(&[], &["sh", text(&script)])?;
    let mut pane = world.pane(&id);
    let alive = until(&mut pane, |sight| sight.screen.rows[0] == "up").await?;
    put(&end, "");
    let dead = until(&mut pane, |sight| sight.blocked.is_some()).await?;
    ensure!(dead.blocked == Some(Fault::Dead { pane: id.clone() }), "{:?}", dead.blocked);
    assert_eq!(refused(&mut pane, &alive).await, "pane dead");
    assert_eq!(refused(&mut pane, &dead).await, "pane dead");
    assert_eq!(fs::read_to_string(&runs)?, "run\n");
    // The user starts it again.
    fs::remove_file(&end)?;
    world.zellij.action(&["send-keys", "--pane-id", &id, "Enter"])?;
    let again = until(&mut pane, |sight| sight.blocked.is_none()).await?;
    assert_eq!(Occupant::judge(&alive.occupant, &again.occupant), Verdict::Restarted);
    assert_eq!(refused(&mut pane, &alive).await, "pane changed");
    let again = settled(&mut pane).await?;
    pane.paste(&Payload::new("welcome back"), &again).await?;
    world.until_screen(&id, "welcome back")?;
    // A command that was never started is held, too.
    let id = world.zellij.worker_with(&["--start-suspended"], &["sh", text(&script)])?;
    let sight = world.pane(&id).look().await?;
    ensure!(sight.blocked == Some(Fault::Dead { pane: id.clone() }), "{:?}", sight.blocked);
    assert_eq!(refused(&mut world.pane(&id), &again).await, "pane dead");
    assert_eq!(fs::read_to_string(&runs)?, "run\nrun\n");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pane_that_was_scrolled_up_is_refused_once() -> Result<()> {
    let world = World::new()?;
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let rows = (0..60).map(|n| format!("row {n}")).collect::<Vec<_>>().join("\n");
    deliver(&mut pane, &rows).await?;
    got(&file, 1).await?;
    let end = settled(&mut pane).await?;
    world.zellij.action(&["scroll-up", "--pane-id", &id])?;
    let scrolled = until(&mut pane, |sight| sight.screen.rows != end.screen.rows).await?;
    assert_eq!(scrolled.blocked, None, "nothing tells of it");
    let payload = Payload::new("must not arrive");
    let fault = pane.paste(&payload, &scrolled).await.expect_err("refused");
    assert_eq!(fault, Fault::CopyMode { pane: id.clone() });
    // Now it shows its end again.
    assert_eq!(settled(&mut pane).await?.screen, end.screen);
    world.zellij.action(&["scroll-up", "--pane-id", &id])?;
    let scrolled = until(&mut pane, |sight| sight.screen.rows != end.screen.rows).await?;
    let fault = pane.enter(&scrolled).await.expect_err("refused");
    assert_eq!(fault.reason(), "copy mode");
    deliver(&mut pane, "now then").await?;
    let all = got(&file, 2).await?;
    assert_eq!((all.len(), all[1].text.as_str()), (2, "now then"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enter_is_refused_if_something_was_typed_meanwhile() -> Result<()> {
    let world = World::new()?;
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let seen = settled(&mut pane).await?;
    pane.paste(&Payload::new("ours"), &seen).await?;
    let ours = until(&mut pane, |sight| sight.screen.rows[0] == "> ours").await?;
    world.zellij.action(&["write-chars", "--pane-id", &id, " and more"])?;
    let mixed = until(&mut pane, |sight| sight.screen.rows[0] == "> ours and more").await?;
    for seen in [&seen, &ours] {
        let fault = pane.enter(seen).await.expect_err("refused");
        assert_eq!(fault, Fault::Typed { pane: id.clone() });
    }
    assert_eq!(received(&file), []);
    pane.enter(&mixed).await?;
    assert_eq!(got(&file, 1).await?[0].text, "ours and more");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pane_that_another_one_replaced_is_refused() -> Result<()> {
    let world = World::new()?;
    // Not a floating one: Zellij 0.45.1 does not bring that back.
    let (program, file) = (receiver_program(), world.file("received"));
    let words = [text(&program), text(&file)];
    let id = world.zellij.worker_with(&["--close-on-exit"], &words)?;
    world.until_screen(&id, ">")?;
    let mut pane = world.pane(&id);
    let seen = settled(&mut pane).await?;
    let before = world.zellij.panes()?;
    let over = ["new-pane", "--in-place", "--close-on-exit", "--pane-id", &id, "--", "cat"];
    world.zellij.action(&over)?;
    let away = until(&mut pane, |sight| sight.blocked.is_some()).await?;
    ensure!(away.blocked == Some(Fault::CopyMode { pane: id.clone() }), "{:?}", away.blocked);
    assert_eq!(away.occupant, seen.occupant);
    assert_eq!(refused(&mut pane, &seen).await, "copy mode");
    let is_new = |pane: &serde_json::Value| before.iter().all(|old| old["id"] != pane["id"]);
    let other = world.zellij.panes()?.into_iter().find(is_new).expect("the other one");
    let other = format!("terminal_{}", other["id"]);
    world.zellij.action(&["write", "--pane-id", &other, "4"])?;
    until(&mut pane, |sight| sight.blocked.is_none()).await?;
    deliver(&mut pane, "now then").await?;
    let all = got(&file, 1).await?;
    assert_eq!((all.len(), all[0].text.as_str()), (1, "now then"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_pane_is_gone() -> Result<()> {
    let world = World::new()?;
    let (id, file) = world.receiver("received")?;
    let seen = settled(&mut world.pane(&id)).await?;
    for name in ["terminal_4711", "terminal_99999999999", "plugin_0", "0", "", "--help"] {
        let mut pane = world.pane(name);
        assert_eq!(unseen(&mut pane).await.reason(), "pane gone", "{name}");
        assert_eq!(refused(&mut pane, &seen).await, "pane gone", "{name}");
    }
    deliver(&mut world.pane(&id), "to the right one").await?;
    assert_eq!(got(&file, 1).await?[0].text, "to the right one");
    world.zellij.action(&["close-pane", "--pane-id", &id])?;
    let gone = || world.zellij.pane(&id).ok()?.is_none().then_some(());
    wait_for("the pane to go", PATIENCE, gone)?;
    assert_eq!(unseen(&mut world.pane(&id)).await.reason(), "pane gone");
    assert_eq!(refused(&mut world.pane(&id), &seen).await, "pane gone");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pane_that_is_closed_on_the_way_fails_with_a_name() -> Result<()> {
    let world = World::new()?;
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let seen = settled(&mut pane).await?;
    let payload = Payload::new(&("a line\n".repeat(60_000) + "end"));
    let paste = tokio::spawn(async move { pane.paste(&payload, &seen).await });
    tokio::time::sleep(Duration::from_millis(60)).await;
    world.zellij.action(&["close-pane", "--pane-id", &id])?;
    if let Err(fault) = paste.await? {
        let known = ["pane gone", "pane does not answer", "refused", "copy mode", "pane changed"];
        ensure!(known.contains(&fault.reason()), "{fault}");
    }
    let gone = || world.zellij.pane(&id).ok()?.is_none().then_some(());
    wait_for("the pane to go", PATIENCE, gone)?;
    assert_eq!(unseen(&mut world.pane(&id)).await.reason(), "pane gone");
    assert_eq!(received(&file), []);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_found_again_after_a_restart() -> Result<()> {
    let world = World::new()?;
    let other = Zellij::start_session(world.dir.path(), "other")?;
    let (id, _) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let seen = settled(&mut pane).await?;
    let missing = Fault::NoServer { server: "the Zellij session `main`".into() };
    world.zellij.kill()?;
    assert_eq!(unseen(&mut pane).await, missing);
    assert_eq!(refused(&mut pane, &seen).await, "no server");
    other.kill()?;
    assert_eq!(unseen(&mut pane).await, missing);
    assert_eq!(refused(&mut pane, &seen).await, "no server");
    world.zellij.restart()?;
    let (again, file) = world.receiver("again")?;
    assert_eq!(again, id, "a new server counts panes from the start");
    assert_eq!(refused(&mut pane, &seen).await, "pane changed");
    let now = settled(&mut pane).await?;
    ensure!(now.occupant.server != seen.occupant.server, "{now:?}");
    deliver(&mut pane, "hello again").await?;
    assert_eq!(got(&file, 1).await?.len(), 1);
    for name in ["other", "mai", "-x", "--help", "a/b", "..", ""] {
        let mut pane = world.sessions.pane(name, &id);
        assert_eq!(unseen(&mut pane).await.reason(), "no server", "{name}");
        assert_eq!(refused(&mut pane, &now).await, "no server", "{name}");
    }
    // A session that was renamed has the same panes.
    world.zellij.action(&["rename-session", "renamed"])?;
    let mut renamed = world.sessions.pane("renamed", &id);
    let moved = || world.zellij.sockets().join("contract_version_1/renamed").exists().then_some(());
    wait_for("the new name", PATIENCE, moved)?;
    assert_eq!(settled(&mut renamed).await?.occupant, now.occupant);
    deliver(&mut renamed, "under another name").await?;
    assert_eq!(got(&file, 2).await?.len(), 2);
    assert_eq!(unseen(&mut pane).await.reason(), "no server");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_occupant_is_refused() -> Result<()> {
    let world = World::new()?;
    let (go, file) = (world.file("go"), world.file("received"));
    let wait = format!("while ! [ -e {} ]; do sleep 0.02; done", text(&go));
    let receiver = receiver_program();
    let id =
        world.script(&format!("echo first; {wait}; exec {} {}", text(&receiver), text(&file)))?;
    let mut pane = world.pane(&id);
    world.until_screen(&id, "first")?;
    let before = settled(&mut pane).await?;
    put(&go, "");
    // What Zellij calls it and what the system says of it are two looks, and it may change in between.
    let is_receiver = |process: &Process| process.program.ends_with("receiver");
    let after = until(&mut pane, |sight| {
        let process = sight.occupant.foreground.as_ref();
        sight.occupant.command == "receiver" && process.is_some_and(is_receiver)
    })
    .await?;
    assert_eq!(after.occupant.pid, before.occupant.pid);
    assert_eq!(Occupant::judge(&before.occupant, &after.occupant), Verdict::Other);
    assert_eq!(refused(&mut pane, &before).await, "pane changed");
    world.until_screen(&id, ">")?;
    deliver(&mut pane, "for the second").await?;
    let all = got(&file, 1).await?;
    assert_eq!((all.len(), all[0].text.as_str()), (1, "for the second"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_that_the_worker_left_behind_is_refused() -> Result<()> {
    let world = World::new()?;
    let file = world.file("ran");
    let id = world.zellij.worker(&["env", "PS1=ready: ", "bash", "--norc", "-i"])?;
    let mut pane = world.pane(&id);
    until(&mut pane, |sight| sight.occupant.command == "bash").await?;
    world.until_screen(&id, "ready:")?;
    world.zellij.action(&["write-chars", "--pane-id", &id, "cat\r"])?;
    until(&mut pane, |sight| sight.occupant.command == "cat").await?;
    let worker = settled(&mut pane).await?;
    world.zellij.action(&["write", "--pane-id", &id, "4"])?;
    let now = until(&mut pane, |sight| sight.occupant.is_shell()).await?;
    assert_eq!(Occupant::judge(&worker.occupant, &now.occupant), Verdict::Shell);
    assert_eq!(refused(&mut pane, &worker).await, "pane changed");
    // A worker that is a shell itself may be typed into.
    deliver(&mut pane, &format!("echo yes > {}", text(&file))).await?;
    let ran = || fs::read_to_string(&file).ok().filter(|text| text == "yes\n");
    wait_for("the command", PATIENCE, ran)?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_is_left_alone() -> Result<()> {
    let world = World::new()?;
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let other = Zellij::start_session(world.dir.path(), "other")?;
    let (fellow, fellows) = world.receiver_in(&other, "fellows", &[])?;
    let mut fellow = world.sessions.pane("other", &fellow);
    let seen = settled(&mut pane).await?;
    world.zellij.pause()?;
    let begun = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..4 {
        let (mut pane, seen) = (pane.clone(), seen.clone());
        let payload = Payload::new(&format!("too late {n}"));
        tasks.spawn(async move { pane.paste(&payload, &seen).await });
    }
    while let Some(result) = tasks.join_next().await {
        let fault = result?.expect_err("no paste");
        assert_eq!(fault, Fault::Silent { pane: id.clone(), sent: false });
    }
    let waited = begun.elapsed();
    ensure!(waited < Duration::from_secs(4), "four at once waited {waited:?}");
    // The others go on.
    deliver(&mut fellow, "not held up").await?;
    assert_eq!(got(&fellows, 1).await?[0].text, "not held up");
    world.zellij.resume()?;
    until(&mut pane, |_| true).await?;
    deliver(&mut pane, "in time").await?;
    let all = got(&file, 1).await?;
    assert_eq!((all.len(), all[0].text.as_str()), (1, "in time"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_missing_or_too_old_is_named() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let missing = ZellijSessions::of(dir.path().join("none"), dir.path());
    let fault = unseen(&mut missing.pane("main", "terminal_0")).await;
    assert_eq!(fault, Fault::NoProgram { program: "zellij" });
    let old = dir.path().join("zellij");
    put(&old, "#!/bin/sh\necho zellij 0.43.1\n");
    fs::set_permissions(&old, Permissions::from_mode(0o755))?;
    let sessions = ZellijSessions::of(&old, dir.path());
    let fault = unseen(&mut sessions.pane("main", "terminal_0")).await;
    assert_eq!(fault, Fault::TooOld { program: "zellij", version: "0.43.1".into() });
    Ok(())
}
