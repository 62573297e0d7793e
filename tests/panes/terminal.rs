//! A program in a terminal of the test's own, byte for byte.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use ringer_testkit::wait_for;
use rustix::process::{Pid, Signal, kill_process};

use crate::scene::{PATIENCE, Scene, TEAM};

/// A program in a terminal of the test's own, byte for byte.
pub(crate) struct Terminal {
    pub(crate) child: Box<dyn portable_pty::Child + Send + Sync>,
    input: Box<dyn Write + Send>,
    pub(crate) output: Arc<Mutex<Vec<u8>>>,
    pub(crate) master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    pub(crate) fn open(scene: &Scene, words: &[&str]) -> Self {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let ringer = scene.ringer(&[]);
        let mut builder = CommandBuilder::new(words[0]);
        builder.args(&words[1..]);
        builder.env_clear();
        for (name, value) in ringer.get_envs() {
            builder.env(name, value.unwrap_or_default());
        }
        builder.env("TERM", "xterm-256color");
        builder.cwd(scene.world.work());
        let child = pair.slave.spawn_command(builder).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let output = Arc::new(Mutex::new(Vec::new()));
        let kept = output.clone();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                kept.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        let input = pair.master.take_writer().unwrap();
        Self { child, input, output, master: pair.master }
    }

    /// `ringer run` with these words after the team.
    pub(crate) fn run(scene: &Scene, words: &[&str]) -> Self {
        let ringer = scene.ringer(&[]).get_program().to_string_lossy().into_owned();
        Self::open(scene, &[&[&ringer, "run", "--team", TEAM], words].concat())
    }

    pub(crate) fn output(&self) -> Vec<u8> {
        self.output.lock().unwrap().clone()
    }

    pub(crate) fn wait_for(&self, text: &str) {
        let has = |bytes: &[u8]| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        let seen = || has(&self.output()).then_some(());
        let all = || String::from_utf8_lossy(&self.output()).into_owned();
        wait_for(text, PATIENCE, seen).unwrap_or_else(|e| panic!("{e}: {}", all()));
    }

    pub(crate) fn types(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).unwrap();
        self.input.flush().unwrap();
    }

    /// How it ended.
    pub(crate) fn end(mut self) -> u32 {
        self.child.wait().unwrap().exit_code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // As when a terminal is closed; then it has some time to clear up.
        if let Some(pid) = self.child.process_id().and_then(|pid| Pid::from_raw(pid.cast_signed()))
        {
            kill_process(pid, Signal::HUP).ok();
        }
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
    }
}
