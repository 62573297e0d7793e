//! When nothing may be typed: it is not, the reason has a name, and it passes.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};
use ringer_panes::{Fault, Occupant, Pane, Payload, Verdict};
use ringer_testkit::{received, wait_for};
use tokio::time::Instant;

use crate::world::{PATIENCE, World, deliver, enter, got, refused, text, until};

pub(crate) async fn a_dead_pane_is_refused_and_the_server_survives(world: World) -> Result<()> {
    world.tmux.run(&["set-option", "-g", "remain-on-exit", "on"])?;
    let id = world.tmux.worker(&["cat"])?;
    let mut pane = world.pane(&id);
    let alive = until(&mut pane, |sight| sight.occupant.command == "cat").await?;
    world.tmux.run(&["send-keys", "-t", &id, "C-d"])?;
    let dead = until(&mut pane, |sight| sight.blocked.is_some()).await?;
    ensure!(dead.blocked == Some(Fault::Dead { pane: id.clone() }), "{:?}", dead.blocked);
    assert_eq!(refused(&mut pane, &alive).await, "pane dead");
    world.no_buffer_is_left()?;
    world.tmux.run(&["respawn-pane", "-t", &id])?;
    let again = until(&mut pane, |sight| sight.occupant.command == "cat").await?;
    assert_eq!(Occupant::judge(&alive.occupant, &again.occupant), Verdict::Restarted);
    pane.paste(&Payload::new("welcome back"), &again).await?;
    world.until_screen(&id, "welcome back")
}

pub(crate) async fn copy_mode_is_refused_until_it_is_left(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let seen = pane.look().await?;
    world.tmux.run(&["copy-mode", "-t", &id])?;
    let sight = pane.look().await?;
    ensure!(sight.blocked == Some(Fault::CopyMode { pane: id.clone() }), "{:?}", sight.blocked);
    assert_eq!(refused(&mut pane, &seen).await, "copy mode");
    world.tmux.run(&["send-keys", "-t", &id, "-X", "cancel"])?;
    deliver(&mut pane, "now then").await?;
    let all = got(&file, 1).await?;
    assert_eq!(all[0].text, "now then");
    world.no_buffer_is_left()
}

pub(crate) async fn a_pane_that_takes_no_input_is_refused(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let seen = pane.look().await?;
    world.tmux.run(&["select-pane", "-d", "-t", &id])?;
    assert_eq!(refused(&mut pane, &seen).await, "input off");
    world.tmux.run(&["select-pane", "-e", "-t", &id])?;
    deliver(&mut pane, "now then").await?;
    assert_eq!(got(&file, 1).await?[0].text, "now then");
    Ok(())
}

pub(crate) async fn an_unknown_pane_is_gone(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let seen = world.pane(&id).look().await?;
    // Of the process that runs in another pane, which is also the current one.
    world.tmux.run(&["select-window", "-t", &id])?;
    let mut pane = world.pane("%4711");
    assert_eq!(pane.look().await.expect_err("no look").reason(), "pane gone");
    assert_eq!(refused(&mut pane, &seen).await, "pane gone");
    world.no_buffer_is_left()?;
    deliver(&mut world.pane(&id), "to the right one").await?;
    assert_eq!(got(&file, 1).await?[0].text, "to the right one");
    world.tmux.run(&["kill-pane", "-t", &id])?;
    assert_eq!(refused(&mut world.pane(&id), &seen).await, "pane gone");
    world.no_buffer_is_left()
}

pub(crate) async fn a_server_is_found_again_after_a_restart(world: World) -> Result<()> {
    let (id, _) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let seen = pane.look().await?;
    world.tmux.kill()?;
    assert_eq!(pane.look().await.expect_err("no look").reason(), "no server");
    assert_eq!(refused(&mut pane, &seen).await, "no server");
    ensure!(world.tmux.run(&["list-sessions"]).is_err(), "a server was started");
    world.tmux.restart()?;
    let (again, file) = world.receiver("again")?;
    assert_eq!(again, id, "a new server counts panes from the start");
    assert_eq!(refused(&mut pane, &seen).await, "pane changed");
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

pub(crate) async fn another_occupant_is_refused(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let before = pane.look().await?;
    world.tmux.run(&["respawn-pane", "-k", "-t", &id, "cat"])?;
    let after = until(&mut pane, |sight| sight.occupant.command == "cat").await?;
    assert_eq!(Occupant::judge(&before.occupant, &after.occupant), Verdict::Other);
    assert_eq!(refused(&mut pane, &before).await, "pane changed");
    assert_eq!(received(&file), []);
    assert_eq!(world.tmux.screen(&id)?, "");
    world.no_buffer_is_left()
}

pub(crate) async fn a_shell_that_the_worker_left_behind_is_refused(world: World) -> Result<()> {
    let file = world.dir.path().join("ran");
    let id = world.tmux.worker(&["env", "PS1=ready: ", "bash", "--norc", "-i"])?;
    let mut pane = world.pane(&id);
    until(&mut pane, |sight| sight.occupant.command == "bash").await?;
    world.until_screen(&id, "ready:")?;
    world.tmux.run(&["send-keys", "-t", &id, "cat", "Enter"])?;
    let worker = until(&mut pane, |sight| sight.occupant.command == "cat").await?;
    world.tmux.run(&["send-keys", "-t", &id, "C-d"])?;
    let now = until(&mut pane, |sight| sight.occupant.is_shell()).await?;
    assert_eq!(Occupant::judge(&worker.occupant, &now.occupant), Verdict::Shell);
    assert_eq!(refused(&mut pane, &worker).await, "pane changed");
    // A worker that is a shell itself may be typed into.
    pane.paste(&Payload::new(&format!("echo yes > {}", text(&file))), &now).await?;
    enter(&mut pane).await?;
    let ran = || fs::read_to_string(&file).ok().filter(|text| text == "yes\n");
    wait_for("the command", PATIENCE, ran)?;
    Ok(())
}

pub(crate) async fn a_server_that_hangs_is_left_alone(world: World) -> Result<()> {
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let seen = pane.look().await?;
    world.tmux.pause()?;
    let begun = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..4 {
        let (mut pane, seen) = (pane.clone(), seen.clone());
        let payload = Payload::new(&format!("too late {n}"));
        tasks.spawn(async move { pane.paste(&payload, &seen).await });
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
    let seen = until(&mut pane, |_| true).await?;
    pane.paste(&Payload::new("in time"), &seen).await?;
    enter(&mut pane).await?;
    assert_eq!(got(&file, 1).await?[0].text, "in time");
    world.no_buffer_is_left()
}
