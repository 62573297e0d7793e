//! Panes of a real Zellij.

mod refused;
mod world;

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ringer_panes::{Address, Needle, Pane, Payload, Sight};
use ringer_testkit::{Running, Zellij, command, wait_for, zellij_program};
use tokio::time::Instant;

use world::{PATIENCE, World, deliver, got, settled, text, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_arrives_byte_for_byte() -> Result<()> {
    let world = World::new()?;
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let mut texts: Vec<String> = [
        "plain",
        "quotes ' \" ` and \\ in \\n the middle",
        "dollars $HOME $(id) `id` {p} ~ ~root ; \\; { } %1 %% -- -x --pane-id=terminal_0",
        "[201~ two\nlines\n\n and\ta tab\n; kill-session\n%exit",
        "é 你好 🎉👩\u{200d}💻 \u{301} \u{fffd}",
        "trailing blanks  \t ",
    ]
    .map(str::to_owned)
    .into();
    texts.push("x".repeat(100_000));
    texts.push("Zeile mit ü und \"'\\$#{}\n".repeat(4_000) + "end");
    texts.push("a🎉\n".repeat(30_000) + "end");
    texts.push("a line of the long text\n".repeat(9_000) + "end");
    for (at, text) in texts.iter().enumerate() {
        deliver(&mut pane, text).await.with_context(|| format!("text {at}"))?;
        let all = got(&file, at + 1).await?;
        let last = all.last().expect("there is one");
        ensure!(last.text == *text, "text {at}: {} bytes became {}", text.len(), last.text.len());
        ensure!(last.pasted, "text {at} came as keys");
        ensure!(all.len() == at + 1, "text {at} came as several");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_text_is_not_bracketed_for_a_program_that_did_not_ask_for_it() -> Result<()> {
    let world = World::new()?;
    let (id, file) = world.receiver_in(&world.zellij, "received", &["--plain", "--no-echo"])?;
    let mut pane = world.pane(&id);
    for (at, text) in ["short".to_owned(), "a long one ".repeat(20_000)].iter().enumerate() {
        deliver(&mut pane, text).await?;
        let all = got(&file, at + 1).await?;
        let last = all.last().expect("there is one");
        ensure!(last.text == *text && !last.pasted, "{} bytes", last.text.len());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panes_of_two_sessions_are_used_at_once() -> Result<()> {
    let world = World::new()?;
    let other = Zellij::start_session(world.dir.path(), "other")?;
    let mut tasks = tokio::task::JoinSet::new();
    let mut ids = Vec::new();
    for worker in 0..4 {
        let zellij = if worker % 2 == 0 { &world.zellij } else { &other };
        let (id, file) = world.receiver_in(zellij, &format!("received-{worker}"), &[])?;
        let mut pane = world.sessions.pane(zellij.session(), &id);
        ids.push(id);
        tasks.spawn(async move {
            let texts: Vec<String> =
                (0..8).map(|n| format!("{n} for {worker} {}", "x".repeat(n * 50))).collect();
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
    assert_eq!(ids[0], ids[1], "the first workers of two sessions have the same number");
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    let modes = world.sessions.modes();
    assert_eq!(modes, ["main", "other"].map(|session| (session.to_owned(), "subscription")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_just_started_survives_that_others_are_used() -> Result<()> {
    let world = World::new()?;
    let (id, _) = world.receiver("received")?;
    let mut panes = [world.pane(&id), world.pane("terminal_99"), world.sessions.pane("s4", &id)];
    let looking = tokio::spawn(async move {
        loop {
            for pane in &mut panes {
                pane.look().await.ok();
            }
        }
    });
    for n in 0..5 {
        Zellij::start_session(world.dir.path(), &format!("s{n}"))?;
    }
    looking.abort();
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enter_reaches_no_other_pane_when_panes_are_synchronized() -> Result<()> {
    let world = World::new()?;
    let (id, file) = world.receiver("received")?;
    let (other, others) = world.receiver("others")?;
    world.zellij.attach()?;
    world.zellij.action(&["toggle-active-sync-tab", "--tab-id", "0"])?;
    let tabs = world.zellij.action(&["list-tabs", "--json", "--all"])?;
    ensure!(tabs.contains("\"is_sync_panes_active\": true"), "{tabs}");
    deliver(&mut world.pane(&id), "for one").await?;
    assert_eq!(got(&file, 1).await?[0].text, "for one");
    world.zellij.action(&["toggle-active-sync-tab", "--tab-id", "0"])?;
    deliver(&mut world.pane(&other), "for the other").await?;
    let all = got(&others, 1).await?;
    assert_eq!(all.iter().map(|r| r.text.as_str()).collect::<Vec<_>>(), ["for the other"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_shows_rows_cursor_and_title() -> Result<()> {
    let world = World::new()?;
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
    assert_eq!(rows.len(), 200 + 48);
    assert_eq!((rows[0].as_str(), rows[246].as_str()), ("row 54", "row 300"));
    assert_eq!(sight.screen.cursor, Some((247, 9)));
    assert_eq!(sight.title, "✦  Working… (dir)");
    assert_eq!(sight.blocked, None);
    ensure!(sight.occupant.started_with.contains("script-"), "{:?}", sight.occupant);
    ensure!(sight.occupant.is_its_own_command(), "{:?}", sight.occupant);

    let wide = "w".repeat(250);
    let wrapped = world.script(&format!("printf '%s' '{wide}'; exec cat"))?;
    let sight = until(&mut world.pane(&wrapped), |sight| !sight.screen.rows[1].is_empty()).await?;
    assert_eq!((sight.screen.cursor, sight.screen.rows.len()), (Some((1, 250 - 198)), 48));
    assert_eq!(sight.screen.rows[0].len(), 198);

    let hidden = world.script("printf 'top\\n\\033[?25l'; exec cat")?;
    let sight = until(&mut world.pane(&hidden), |sight| {
        sight.screen.rows[0] == "top" && sight.screen.cursor.is_none()
    })
    .await?;
    assert_eq!(sight.screen.rows.len(), 48);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_screen_program_has_no_scrolled_rows() -> Result<()> {
    let world = World::new()?;
    let id = world.script(
        "n=1; while [ $n -le 300 ]; do echo row $n; n=$((n + 1)); done\n\
         printf '\\033[?1049h\\033[H> full'\n\
         exec cat",
    )?;
    let full = |sight: &Sight| sight.screen.rows[0] == "> full";
    let sight = until(&mut world.pane(&id), full).await?;
    assert_eq!((sight.screen.rows.len(), sight.screen.cursor), (48, Some((0, 6))));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_needle_finds_the_text_in_the_pane() -> Result<()> {
    let world = World::new()?;
    let (id, file) = world.receiver("received")?;
    let mut pane = world.pane(&id);
    let wide = format!("[message from lead] {}that was it", "words that wrap ".repeat(30));
    let mut count = 0;
    for text in [wide.as_str(), &wide, "[message from lead] 🎉", "你好\nüber\nzwei", &wide] {
        let payload = Payload::new(text);
        let needle = Needle::of(&payload);
        let before = settled(&mut pane).await?;
        ensure!(!needle.shown(&before.screen, &before.screen) && !needle.at_cursor(&before.screen));
        pane.paste(&payload, &before).await?;
        let shown = |now: &Sight| needle.shown(&before.screen, &now.screen);
        let after = until(&mut pane, |now| shown(now) && needle.at_cursor(&now.screen)).await?;
        assert_eq!(needle.count(&after.screen), needle.count(&before.screen) + 1);
        pane.enter(&after).await?;
        until(&mut pane, |now| !needle.at_cursor(&now.screen)).await?;
        count += 1;
    }
    assert_eq!(got(&file, count).await?.len(), count);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_wakes_who_waits_for_one() -> Result<()> {
    let world = World::new()?;
    let go = world.file("go");
    let id = world.script(&format!(
        "echo waiting; while ! [ -e {} ]; do sleep 0.01; done; echo went; exec cat",
        text(&go)
    ))?;
    world.until_screen(&id, "waiting")?;
    let mut pane = world.pane(&id);
    let sight = settled(&mut pane).await?;
    let begun = Instant::now();
    pane.changed(&sight, Duration::from_millis(300)).await;
    ensure!(begun.elapsed() >= Duration::from_millis(300), "woke after {:?}", begun.elapsed());
    ringer_testkit::put(&go, "");
    pane.changed(&sight, PATIENCE).await;
    ensure!(begun.elapsed() < PATIENCE / 2, "woke after {:?}", begun.elapsed());
    let sight = until(&mut pane, |now| now.screen.rows[1] == "went").await?;
    // That the pane is closed is a change, too.
    world.zellij.action(&["close-pane", "--pane-id", &id])?;
    pane.changed(&sight, PATIENCE).await;
    ensure!(begun.elapsed() < PATIENCE / 2, "woke after {:?}", begun.elapsed());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pane_that_nobody_sees_is_seen_by_a_look() -> Result<()> {
    let world = World::new()?;
    let (id, file) = world.receiver("received")?;
    world.zellij.attach()?;
    // It fails if they are hidden already.
    world.zellij.action(&["hide-floating-panes", "--tab-id", "0"]).ok();
    let mut pane = world.pane(&id);
    for n in 0..3 {
        let text = format!("unseen {n}");
        let before = settled(&mut pane).await?;
        pane.paste(&Payload::new(&text), &before).await?;
        let ends = |now: &Sight| now.screen.rows.iter().any(|row| row.ends_with(&text));
        let after = until(&mut pane, ends).await?;
        pane.enter(&after).await?;
        assert_eq!(got(&file, n + 1).await?[n].text, text);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_that_nobody_needs_is_ended() -> Result<()> {
    let world = World::new()?;
    let (id, _) = world.receiver("received")?;
    let address = Address::Zellij { session: "main".into(), pane: id.clone() };
    let sockets = format!("ZELLIJ_SOCKET_DIR={}/", world.zellij.sockets().display());
    let subscribers = || {
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_one = |dir: &fs::DirEntry| {
            let read = |name| fs::read(dir.path().join(name)).unwrap_or_default();
            let ours = String::from_utf8_lossy(&read("environ")).contains(&sockets);
            ours && String::from_utf8_lossy(&read("cmdline")).contains("\0subscribe\0")
        };
        all.filter(is_one).count()
    };
    let until_count = |count| {
        wait_for("subscribers", PATIENCE, || (subscribers() == count).then_some(()))
            .with_context(|| format!("{} of {count}", subscribers()))
    };
    let mut pane = world.pane(&id);
    for _ in 0..5 {
        settled(&mut pane).await?;
    }
    until_count(1)?;
    world.sessions.retain(|kept| *kept == address);
    assert_eq!(world.sessions.modes(), [("main".to_owned(), "subscription")]);
    world.sessions.retain(|_| false);
    assert_eq!(world.sessions.modes(), []);
    until_count(0)?;
    let sight = settled(&mut pane).await?;
    until_count(1)?;
    // It is over with the first change.
    world.zellij.action(&["write-chars", "--pane-id", &id, "x"])?;
    pane.changed(&sight, PATIENCE).await;
    until_count(0)?;
    settled(&mut pane).await?;
    // Beside the session's own directory is one of ours, for as long as we need it.
    let dirs = || fs::read_dir(world.zellij.sockets()).map_or(0, Iterator::count);
    assert_eq!(dirs(), 2);
    world.sessions.close_all();
    until_count(0)?;
    assert_eq!(dirs(), 1);
    pane.look().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_ringer_left_behind_is_ended() -> Result<()> {
    let world = World::new()?;
    let (id, _) = world.receiver("received")?;
    let mut command = command(zellij_program());
    command.arg("--session=main").args(["subscribe", "--format=json", "--pane-id", &id]);
    command.env("ZELLIJ_SOCKET_DIR", world.zellij.sockets());
    // No process has such a number.
    command.env("RINGER_SUBSCRIBER", "4194305-1");
    let left = Running::start(&mut command)?;
    world.pane(&id).look().await?;
    let stat = format!("/proc/{}/stat", left.id());
    let ended = || fs::read_to_string(&stat).ok()?.contains(") Z ").then_some(());
    wait_for("the end of it", PATIENCE, ended)
}
