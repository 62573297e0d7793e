//! On the right team: leads come and go, workers stay.

use crate::scene::{Scene, TEAM};

#[test]
fn a_worker_waits_for_the_next_lead_of_its_directory_and_joins_it() {
    let scene = Scene::without_team();
    let work = scene.world.work();
    scene.lead_starts("session-one", 1, &work);
    let _daemon = scene.start();
    let (code, words) = scene.spawn(&[], "w");
    assert_eq!(code, Some(0), "{words}");
    let mut scene = scene;
    scene.team = "session-one".to_owned();
    scene.send("w", "from the first");
    scene.wait("the first", || scene.texts("w").len() == 1);
    assert!(scene.told("session-one").is_empty(), "who started it knows of it");

    scene.lead_ends("session-one");
    scene.wait("no team", || scene.state_of("w") == "no team");
    // Somebody else's directory is not its own.
    scene.lead_starts("session-far", 2, &scene.world.path().join("elsewhere"));
    scene.lead_starts("session-two", 3, &work);
    scene.wait("it to join", || scene.members("session-two") == ["w"]);
    scene.team = "session-two".to_owned();
    scene.send("w", "from the second");
    scene.wait("the second", || scene.texts("w").len() == 2);
    scene.wait("a word", || scene.told("session-two").len() == 1);
    assert!(
        scene.told("session-two")[0].starts_with("w is on your team now (shell-worker, works in")
    );
    // Its own commands know where it is now.
    let id = scene.roster()["members"][0]["birth"]["id"].as_str().unwrap().to_owned();
    let mut reply = scene.ringer(&["reply", "to the second"]);
    reply.env("RINGER_WORKER", &id).env("RINGER_TEAM", "session-one").env("RINGER_MEMBER", "w");
    assert!(reply.output().unwrap().status.success());
    assert_eq!(scene.told("session-two").len(), 2);

    // A session that is resumed is the same team again.
    scene.lead_ends("session-two");
    scene.wait("no team", || scene.state_of("w") == "no team");
    scene.lead_starts("session-two", 4, &work);
    scene.wait("it to be back", || scene.members("session-two") == ["w"]);
    assert!(scene.members("session-far").is_empty());
    scene.run(&["stop", "w"]);
    assert!(scene.members("session-two").is_empty());
}

/// A lead that resumes a session makes a team first that it gives up again, unless somebody has joined it.
#[test]
fn a_worker_joins_a_lead_when_that_is_at_its_prompt() {
    let scene = Scene::without_team();
    let work = scene.world.work();
    scene.lead_starts("session-one", 1, &work);
    let _daemon = scene.start();
    assert_eq!(scene.spawn(&[], "w").0, Some(0));
    scene.lead_ends("session-one");
    scene.wait("no team", || scene.state_of("w") == "no team");

    let now = || jiff::Timestamp::now().as_millisecond();
    scene.lead_starts("session-passing", now(), &work);
    scene.run(&["status"]);
    assert_eq!(scene.members("session-passing"), [""; 0]);
    scene.lead_ends("session-passing");
    scene.lead_starts("session-two", now(), &work);
    scene.lead_says("idle");
    scene.wait("it to join", || scene.members("session-two") == ["w"]);
    let former = scene.roster()["members"][0]["former"].to_string();
    assert!(former.contains("session-one") && !former.contains("session-passing"), "{former}");
    // One that never says how it is, is not waited for for ever.
    scene.lead_says("");
    scene.lead_starts("session-three", now(), &work);
    scene.wait("it to join", || scene.members("session-three") == ["w"]);
    scene.run(&["stop", "w"]);
}

#[test]
fn mail_of_the_old_team_is_kept_for_it_unless_the_settings_say_otherwise() {
    for carry in [false, true] {
        let scene = Scene::without_team();
        let work = scene.world.work();
        scene.settings(&format!("{}[place]\ncarry_mail = {carry}\n", crate::scene::QUICK));
        scene.lead_starts("session-one", 1, &work);
        let daemon = scene.start();
        assert_eq!(scene.spawn(&[], "w").0, Some(0));
        let mut scene = scene;
        scene.team = "session-one".to_owned();
        // It is known, and could not be typed before the lead has gone.
        let pid = scene.pid("w", "host");
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        scene.send("w", "from the first");
        scene.wait("it to wait", || scene.state_of("w").starts_with("waiting"));
        scene.lead_ends("session-one");
        scene.wait("no team", || scene.state_of("w") == "waiting: no team");
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
        scene.lead_starts("session-two", 2, &work);
        scene.wait("it to join", || scene.members("session-two") == ["w"]);
        scene.team = "session-two".to_owned();
        scene.send("w", "from the second");
        let expected = if carry { 2 } else { 1 };
        scene.wait("the mail", || scene.texts("w").len() == expected);
        let texts = scene.texts("w").join("\n");
        assert_eq!(texts.contains("from the first"), carry, "{texts}");
        if !carry {
            let log = scene.run(&["log", "--team", "session-one", "--json"]);
            assert!(log.contains("\"state\":\"waiting\""), "{log}");
        }
        scene.run(&["stop", "w"]);
        drop(daemon);
    }
}

#[test]
fn of_two_leads_in_a_directory_the_newest_counts_and_status_says_so() {
    let scene = Scene::without_team();
    let work = scene.world.work();
    scene.lead_starts("session-one", 1, &work);
    let _daemon = scene.start();
    assert_eq!(scene.spawn(&[], "w").0, Some(0));
    let mut scene = scene;
    scene.team = "session-one".to_owned();
    // It is known, and cannot be typed before the other lead comes.
    let host = rustix::process::Pid::from_raw(scene.pid("w", "host")).unwrap();
    rustix::process::kill_process(host, rustix::process::Signal::STOP).unwrap();
    scene.send("w", "an order of the older");
    scene.wait("it to wait", || scene.state_of("w").starts_with("waiting"));
    scene.lead_starts("session-two", 2, &work);
    scene.wait("it to go to the newest", || scene.members("session-two") == ["w"]);
    scene.wait("it to leave the older", || scene.members("session-one").is_empty());
    // The older one still runs, and waits for an answer: it is told.
    scene.wait("its mail", || scene.told("session-one").len() == 1);
    let told = &scene.told("session-one")[0];
    let head = "not delivered: worker moved (it is on session-two now)\nw did not get this message of yours:";
    assert!(told.starts_with(head) && told.contains("an order of the older"), "{told}");
    rustix::process::kill_process(host, rustix::process::Signal::CONT).unwrap();
    let status = scene.run(&["status"]);
    let words = format!("2 live leads in {}: session-two, session-one", work.display());
    assert!(status.contains(&words) && status.contains("ringer move"), "{status}");
    // The user has the last word.
    let said = scene.run(&["move", "w", "--team", "session-one"]);
    assert_eq!(said, "w is on session-one now\n");
    scene.wait("it to be there", || scene.members("session-one") == ["w"]);
    scene.lead_starts("session-three", 3, &work);
    scene.run(&["status"]);
    assert_eq!(scene.members("session-one"), ["w"]);
    let work = work.display().to_string();
    scene.run(&["move", "w", "--dir", &work]);
    scene.wait("it to belong to the directory", || scene.members("session-three") == ["w"]);
    scene.run(&["stop", "w"]);
}

#[test]
fn a_name_that_somebody_has_on_the_new_team_gets_a_number() {
    let scene = Scene::new();
    let _daemon = scene.start();
    assert_eq!(scene.spawn(&["--team", TEAM], "w").0, Some(0));
    scene.run(&["teams", "create", "mine"]);
    scene.run(&["register", "w", "--team", "mine"]);
    let said = scene.run(&["move", "w", "--team", "mine", "--from", TEAM]);
    assert_eq!(said, "w is on mine now, as w-2\n");
    let config = scene.world.config("mine");
    let names: Vec<&str> =
        config["members"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["w", "w-2"]);
    // Mail for whoever is called so where it was is theirs, and where its own name is free it has that again.
    scene.run(&["register", "w-2", "--team", TEAM]);
    scene.send("w-2", "for the other one");
    assert_eq!(
        scene.run(&["move", "w-2", "--team", TEAM, "--from", "mine"]),
        "w-2 is on exo-root now, as w\n"
    );
    scene.run(&["stop", "w", "--team", TEAM]);
    assert_eq!(scene.told(TEAM), [""; 0], "nothing of its own came back");
    let inbox = scene.run(&["inbox", "w-2", "--team", TEAM, "--unread"]);
    assert!(inbox.contains("for the other one"), "{inbox}");
}
