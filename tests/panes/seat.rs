//! A worker in a terminal of any kind, with somebody in front of it.
//!
//! Owns how each kind is opened, watched and typed into, so that one test can be played in all of them.

use std::path::PathBuf;

use ringer_testkit::{PLAYER_PROFILE, Zellij, put};

use crate::scene::Scene;

/// Where a worker can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Under `ringer run`.
    Host,
    /// In a pane of tmux.
    Tmux,
    /// In a pane of Zellij.
    Zellij,
}

/// A worker that is on the team, and the terminal that it is in.
pub(crate) struct Seat<'s> {
    scene: &'s Scene,
    pub(crate) name: String,
    /// The pane that somebody sits in front of: of Zellij if there is a session, else of tmux.
    pane: String,
    zellij: Option<Zellij>,
}

/// What to run.
pub(crate) struct Program<'a> {
    pub(crate) name: &'a str,
    pub(crate) profile: &'a str,
    pub(crate) words: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: PathBuf,
}

impl<'s> Seat<'s> {
    /// Starts a worker and puts it on the team. A daemon has to run.
    pub(crate) fn take(scene: &'s Scene, kind: Kind, program: &Program<'_>) -> Self {
        let Program { name, profile, words, env, cwd } = program;
        // Nothing of Ringer's environment: a worker may be one who looks at the same variables.
        let mut command: Vec<String> = vec!["env".into(), "TERM=xterm-256color".into()];
        // In Zellij a worker is known by its environment.
        if kind != Kind::Zellij {
            command.insert(1, "-i".into());
        }
        let path = std::env::var("PATH").unwrap();
        command.extend([format!("PATH={path}"), "LANG=C.UTF-8".into()]);
        command.extend([format!("HOME={}", scene.world.path().display())]);
        command.extend(env.iter().map(|(name, value)| format!("{name}={value}")));
        if kind == Kind::Host {
            let ringer = scene.ringer(&[]).get_program().display().to_string();
            command.push(ringer);
            for (option, path) in [
                ("--claude-dir", scene.world.claude()),
                ("--state-dir", scene.state()),
                ("--config", scene.settings_file()),
            ] {
                command.extend([option.to_owned(), path.display().to_string()]);
            }
            command.extend(["run".into(), (*profile).into(), "--name".into(), (*name).into()]);
            command.extend(["--team".into(), scene.team.clone(), "--".into()]);
        }
        command.extend(words.iter().cloned());
        if kind == Kind::Zellij {
            return Self::in_zellij(scene, program, &command);
        }
        let cwd = cwd.display().to_string();
        let mut arguments = vec!["new-window", "-d", "-P", "-F", "#{pane_id}", "-c", &cwd, "--"];
        arguments.extend(command.iter().map(String::as_str));
        let pane = scene.tmux.run(&arguments).unwrap();
        let seat = Self { scene, name: (*name).to_owned(), pane, zellij: None };
        if kind == Kind::Tmux {
            // Not before the program runs: what runs there is what is registered.
            let program = words[0].rsplit('/').next().unwrap();
            let runs = || seat.tmux("#{pane_current_command}") != "env";
            scene.wait(&format!("{program} to run"), runs);
            seat.register(profile);
        }
        scene.wait(&format!("{name} to be on the team"), || {
            scene.status()["members"].as_array().unwrap().iter().any(|m| m["name"] == *name)
        });
        seat
    }

    fn in_zellij(scene: &'s Scene, program: &Program<'_>, command: &[String]) -> Self {
        let zellij = Zellij::start_session(scene.world.path(), program.name).unwrap();
        // Through a shell, for the directory: the session's own is another one.
        let cd = format!("cd {} && exec \"$@\"", program.cwd.display());
        let mut words = vec!["sh", "-c", &cd, "sh"];
        words.extend(command.iter().map(String::as_str));
        let pane = zellij.worker(&words).unwrap();
        let seat = Self { scene, name: program.name.to_owned(), pane, zellij: Some(zellij) };
        scene.wait("the program to run", || !seat.screen().trim().is_empty());
        seat.register(program.profile);
        seat
    }

    /// A player, in a terminal of its own.
    pub(crate) fn player(scene: &'s Scene, kind: Kind, name: &str, options: &[&str]) -> Self {
        put_player_profile(scene);
        let file = player_file(scene, name).display().to_string();
        let mut words = vec![ringer_testkit::player_program().display().to_string(), file];
        words.extend(options.iter().map(|&option| option.to_owned()));
        let cwd = scene.world.work();
        let program = Program { name, profile: "player", words, env: Vec::new(), cwd };
        let seat = Self::take(scene, kind, &program);
        scene.wait("the player's prompt", || seat.screen().contains("Say something"));
        seat
    }

    pub(crate) fn register(&self, profile: &str) {
        let pane = match &self.zellij {
            Some(zellij) => format!("zellij:{}:{}", zellij.session(), self.pane),
            None => format!("tmux:{}:{}", self.scene.tmux.socket(), self.pane),
        };
        let team = &self.scene.team;
        self.scene.run(&[
            "register",
            &self.name,
            "--team",
            team,
            "--pane",
            &pane,
            "--profile",
            profile,
        ]);
    }

    /// What somebody sees.
    pub(crate) fn screen(&self) -> String {
        match &self.zellij {
            Some(zellij) => zellij.screen(&self.pane),
            None => self.scene.tmux.screen(&self.pane),
        }
        .unwrap_or_default()
    }

    /// Somebody types this.
    pub(crate) fn types(&self, text: &str) {
        match &self.zellij {
            Some(zellij) => zellij.action(&["write-chars", "-p", &self.pane, "--", text]),
            None => self.scene.tmux.run(&["send-keys", "-t", &self.pane, "-l", "--", text]),
        }
        .unwrap();
    }

    /// Somebody presses this key, as tmux calls it.
    pub(crate) fn presses(&self, key: &str) {
        let byte = match key {
            "Enter" => "13",
            "Escape" => "27",
            "BSpace" => "127",
            "C-o" => "15",
            "C-u" => "21",
            "C-b" => "2",
            other => panic!("what is {other}?"),
        };
        match &self.zellij {
            Some(zellij) => zellij.action(&["write", "-p", &self.pane, byte]),
            None => self.scene.tmux.run(&["send-keys", "-t", &self.pane, "--", key]),
        }
        .unwrap();
    }

    /// Somebody changes the size of the terminal.
    pub(crate) fn resize(&self, cols: u16, rows: u16) {
        let (cols, rows) = (cols.to_string(), rows.to_string());
        if let Some(zellij) = &self.zellij {
            let arguments =
                ["change-floating-pane-coordinates", "-p", &self.pane, "--width", &cols];
            zellij.action(&[&arguments[..], &["--height", &rows]].concat()).unwrap();
            return;
        }
        let arguments = ["resize-window", "-t", &self.pane, "-x", &cols, "-y", &rows];
        self.scene.tmux.run(&arguments).unwrap();
    }

    /// Somebody looks at what scrolled away.
    pub(crate) fn scrolls(&self) {
        self.scene.tmux.run(&["copy-mode", "-t", &self.pane]).unwrap();
    }

    pub(crate) fn stops_scrolling(&self) {
        self.scene.tmux.run(&["send-keys", "-t", &self.pane, "-X", "cancel"]).unwrap();
    }

    /// What tmux says of the pane.
    pub(crate) fn tmux(&self, format: &str) -> String {
        self.scene.tmux.run(&["display-message", "-p", "-t", &self.pane, format]).unwrap()
    }

    pub(crate) fn pane(&self) -> &str {
        &self.pane
    }
}

/// Where a player keeps what happens to it.
pub(crate) fn player_file(scene: &Scene, name: &str) -> PathBuf {
    scene.world.path().join(format!("{name}.played"))
}

fn put_player_profile(scene: &Scene) {
    let dir = scene.settings_file().with_file_name("workers");
    std::fs::create_dir_all(&dir).unwrap();
    put(&dir.join("player.toml"), PLAYER_PROFILE);
}
