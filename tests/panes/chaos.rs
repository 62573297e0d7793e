//! 200 messages to a worker while somebody types, deletes, resizes, scrolls and opens dialogs there, at
//! random: every message arrives once and in order, no dialog that is on the screen is answered, and every key arrives.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::scene::{Scene, TEAM};
use crate::seat::{Kind, Seat, player_file};
use ringer_testkit::{Lead, Played, Writing, played};
use serde_json::{Value, json};

const MESSAGES: usize = 200;
const PATIENCE: Duration = Duration::from_mins(6);

/// A dialog that was drawn less than so many milliseconds ago need not have come to tmux yet.
const UNSEEN_MS: u64 = 30;

/// Somebody in front of a worker, who does what the seed says.
struct Human<'s> {
    seat: &'s Seat<'s>,
    random: u64,
    /// All keys but Enter, which is also pressed for messages.
    keys: Vec<u8>,
}

impl Human<'_> {
    /// A number below `end`.
    fn random(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) % end
    }

    fn pause(&mut self, least: u64, most: u64) {
        let pause = least + self.random(most - least);
        thread::sleep(Duration::from_millis(pause));
    }

    fn presses(&mut self, key: &str, byte: u8) {
        self.seat.presses(key);
        self.keys.push(byte);
    }

    fn does_something(&mut self) {
        match self.random(14) {
            0..4 => {
                for _ in 0..2 + self.random(8) {
                    let letter = char::from(b'a' + u8::try_from(self.random(26)).unwrap());
                    self.seat.types(&letter.to_string());
                    self.keys.push(u8::try_from(letter).unwrap());
                    self.pause(10, 60);
                }
                if self.random(2) == 0 {
                    self.seat.presses("Enter");
                } else {
                    self.presses("C-u", 0x15);
                }
            }
            4..6 => {
                let (cols, rows) = (40 + self.random(120), 14 + self.random(36));
                self.seat.resize(u16::try_from(cols).unwrap(), u16::try_from(rows).unwrap());
            }
            6 => {
                self.seat.scrolls();
                self.pause(50, 300);
                self.seat.stops_scrolling();
            }
            7 => {
                self.presses("C-o", 0x0f);
                self.pause(50, 300);
                self.presses("Escape", 0x1b);
                // An Esc with something right behind it would be another key.
                self.pause(50, 100);
            }
            _ => self.pause(800, 2000),
        }
    }
}

fn chaos(kind: Kind, seed: u64) {
    let scene = Scene::new();
    let _daemon = scene.start();
    let seat = Seat::player(&scene, kind, "w", &["--calm", "--seed", &seed.to_string()]);
    let texts: Vec<String> = (0..MESSAGES).map(|n| format!("chaos message {n:03} end")).collect();
    let mail: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
    let lead = Lead::new(Writing::Rename).insisting().pausing(1, Duration::from_millis(50));
    let lead = lead.to(&scene.world.inbox(TEAM, "w"), &mail).start(&scene.world).unwrap();
    let mut human = Human { seat: &seat, random: seed, keys: Vec::new() };
    let file = player_file(&scene, "w");
    let started = Instant::now();
    let arrived = || played(&file).iter().filter(|one| one.text.contains("chaos message")).count();
    while arrived() < MESSAGES {
        assert!(
            started.elapsed() < PATIENCE,
            "{} arrived{}\n{}",
            arrived(),
            scene.all(),
            seat.screen()
        );
        human.does_something();
    }
    Lead::finish(lead).unwrap();
    scene.wait("nothing more to do", || scene.state_of("w") == "ready");

    let all = played(&file);
    // In tmux nobody can know of a key before the program has drawn what comes of it. Under our own host, keys count.
    let unseen = if kind == Kind::Tmux { UNSEEN_MS } else { 0 };
    let answered = |one: &Played| one.approved && (unseen == 0 || one.shown_ms > unseen);
    assert!(!all.iter().any(answered), "a dialog was answered: {all:?}");
    let place = |text: &String| {
        let places: Vec<usize> = (0..all.len()).filter(|at| all[*at].text.contains(text)).collect();
        assert_eq!(places.len(), 1, "{text} arrived {places:?}{}", scene.all());
        places[0]
    };
    let places: Vec<usize> = texts.iter().map(place).collect();
    assert!(places.is_sorted(), "{places:?}");
    let keys = fs::read(format!("{}.keys", file.display())).unwrap();
    let keys: Vec<u8> = keys.into_iter().filter(|key| *key != b'\r').collect();
    assert_eq!(String::from_utf8_lossy(&keys), String::from_utf8_lossy(&human.keys));
}

#[test]
fn under_ringer_run() {
    chaos(Kind::Host, 4711);
}

#[test]
fn in_tmux() {
    chaos(Kind::Tmux, 42);
}
