//! What others have done to the board, or do meanwhile.

use std::fs;

use ringer_teams::{NewTask, TaskStatus};

use crate::Place;
use crate::rules::{LEAD, member, said, status};

#[test]
fn half_a_dependency_counts_and_is_mended_by_the_next_change() {
    let place = Place::new(&["w"]);
    let board = place.team.board();
    place.make("one", &[]);
    place.make("two", &[]);
    place.make("three", &[]);
    // Somebody was killed after one side, and somebody else in the middle of a deletion.
    place.put("1.json", &place.text("1.json").replace("\"blocks\": []", "\"blocks\": [\"2\"]"));
    place.put(".highwatermark", "9");
    place.put(
        "3.json",
        &place.text("3.json").replace("\"blockedBy\": []", "\"blockedBy\": [\"9\"]"),
    );
    assert_eq!(place.team.tasks().unwrap().waits().blockers("3"), ["9"]);
    assert_eq!(said(board.claim("2", &member("w"), "w")).0, "blocked");
    assert_eq!(place.task("2").blocked_by, ["1"]);
    assert!(place.task("3").blocked_by.is_empty());
    // A number that was never given stays.
    place.put(
        "3.json",
        &place.text("3.json").replace("\"blockedBy\": []", "\"blockedBy\": [\"99\"]"),
    );
    assert_eq!(said(board.claim("3", &member("w"), "w")).0, "blocked");
    assert_eq!(place.task("3").blocked_by, ["99"]);
}

#[test]
fn a_broken_task_stops_nobody_and_stays_as_it_is() {
    let place = Place::new(&["w"]);
    let board = place.team.board();
    place.make("one", &[]);
    place.put("2.json", "{\"id\": \"2\"");
    board.claim("1", &member("w"), "w").unwrap();
    assert_eq!(said(board.claim("2", &member("w"), "w")).0, "unreadable");
    assert_eq!(place.text("2.json"), "{\"id\": \"2\"");
}

#[test]
fn a_team_that_is_gone_gets_no_board() {
    let place = Place::new(&[]);
    fs::remove_dir_all(place.team.dir()).unwrap();
    let new = NewTask { subject: "s".into(), ..NewTask::default() };
    assert_eq!(said(place.team.board().create(&new)).0, "team_not_found");
    assert!(!place.team.tasks_dir().exists());
}

#[test]
fn a_writer_that_takes_no_lock_does_not_undo_a_change() {
    use std::sync::mpsc;
    for (theirs, claimed) in
        [("\"subject\": \"theirs\"", true), ("\"subject\": \"s\", \"owner\": \"b\"", false)]
    {
        let place = Place::new(&["a", "b"]);
        place.make("s", &[]);
        let path = place.file("1.json");
        let (ready, go) = mpsc::channel();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                // It has read the task, and writes when somebody else has changed it meanwhile.
                let stale = place.text("1.json");
                ready.send(()).unwrap();
                while fs::read_to_string(&path).unwrap() == stale {
                    std::hint::spin_loop();
                }
                place.put("1.json", &stale.replace("\"subject\": \"s\"", theirs));
            });
            go.recv().unwrap();
            place.team.board().claim("1", &member("a"), "a")
        });
        let task = place.task("1");
        if claimed {
            outcome.unwrap();
            assert_eq!((task.owner.as_deref(), task.subject.as_str()), (Some("a"), "theirs"));
        } else {
            assert_eq!(said(outcome).0, "conflict");
            assert_eq!(task.owner.as_deref(), Some("b"));
        }
    }
}

#[test]
fn one_of_many_that_claim_at_once_gets_it() {
    let names: Vec<String> = (0..8).map(|n| format!("w{n}")).collect();
    let place = Place::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for _ in 0..10 {
        let id = place.make("wanted", &[]).id;
        let won: usize = std::thread::scope(|scope| {
            let claims: Vec<_> = names
                .iter()
                .map(|name| {
                    let (team, id) = (place.team.clone(), id.clone());
                    scope.spawn(move || match team.board().claim(&id, &member(name), name) {
                        Ok(_) => 1,
                        Err(error) => {
                            assert_eq!(error.code(), "conflict", "{error}");
                            0
                        }
                    })
                })
                .collect();
            claims.into_iter().map(|claim| claim.join().unwrap()).sum()
        });
        assert_eq!(won, 1);
        place.team.board().change(&id, &LEAD, &status(TaskStatus::Completed)).unwrap();
    }
}
