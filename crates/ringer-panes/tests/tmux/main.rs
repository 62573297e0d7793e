//! Panes of a real tmux, over control mode and over single commands.

mod refused;
mod world;

use anyhow::{Context, Result, ensure};
use ringer_panes::{Needle, Pane, Payload, Sight};
use ringer_testkit::wait_for;

use refused::{
    a_dead_pane_is_refused_and_the_server_survives, a_pane_that_takes_no_input_is_refused,
    a_server_is_found_again_after_a_restart, a_server_that_hangs_is_left_alone,
    a_shell_that_the_worker_left_behind_is_refused, an_unknown_pane_is_gone,
    another_occupant_is_refused, copy_mode_is_refused_until_it_is_left,
};
use world::{PATIENCE, World, deliver, enter, got, until};

macro_rules! over_both {
    ($($test:ident)*) => {
        mod control_mode {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() -> anyhow::Result<()> {
                super::$test(super::world::World::new(ringer_panes::TmuxServers::new())?).await
            }
        )*}
        mod commands {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() -> anyhow::Result<()> {
                let servers = ringer_panes::TmuxServers::without_control_mode();
                super::$test(super::world::World::new(servers)?).await
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
    assert_eq!((sight.screen.cursor, sight.screen.hidden), (Some((1, 0)), true));
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
        pane.paste(&payload, &before).await?;
        let shown = |now: &Sight| needle.shown(&before.screen, &now.screen);
        let after = until(&mut pane, |now| shown(now) && needle.at_cursor(&now.screen)).await?;
        assert_eq!(needle.count(&after.screen), needle.count(&before.screen) + 1);
        enter(&mut pane).await?;
        until(&mut pane, |now| !needle.at_cursor(&now.screen)).await?;
        count += 1;
    }
    assert_eq!(got(&file, count).await?.len(), count);
    Ok(())
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
