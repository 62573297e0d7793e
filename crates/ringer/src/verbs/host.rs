//! `ringer host`: the process that a worker runs under when somebody asked for it elsewhere. Not for people.

use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use clap::{Args, ValueEnum};
use ringer_bridge::daemon::workers_dir;
use ringer_bridge::{Error, Wish};
use ringer_panes::Profile;

use crate::cli::Globals;
use crate::context::{Context, PANE_VARIABLES, variable};
use crate::failure::Failure;
use crate::launch::Launch;
use crate::launch::order::{Asker, Order, Talk, Teller};
use crate::program::program;

/// Who is at the other end.
const ASKER: &str = "whoever asked for the worker";

/// Host a worker that somebody asked for
#[derive(Debug, Args)]
pub(crate) struct Host {
    /// Where who asked for it listens
    #[arg(long)]
    socket: PathBuf,
    /// How far it has come
    #[arg(long)]
    stage: Stage,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Stage {
    /// In a pane: it takes the environment of who asked for it.
    Environment,
    /// In the background: it leaves its parent, so that a worker does not look like a part of who asked for it.
    Fork,
    /// It is the host.
    Run,
}

impl Host {
    pub(crate) fn run(self, context: &Context, globals: &Globals) -> Result<ExitCode, Failure> {
        match self.stage {
            Stage::Environment => Err(self.take_environment()?),
            Stage::Fork => {
                self.again().stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
                Ok(ExitCode::SUCCESS)
            }
            Stage::Run => self.host(context, globals),
        }
    }

    fn again(&self) -> std::process::Command {
        let ringer = std::env::current_exe().unwrap_or_else(|_| "ringer".into());
        let mut command = program(ringer);
        command.args(["host", "--stage", "run", "--socket"]).arg(&self.socket);
        command
    }

    /// Only returns if that is not possible.
    fn take_environment(&self) -> Result<Failure, Failure> {
        let mut talk = Talk::new(UnixStream::connect(&self.socket)?, ASKER);
        talk.say(&Teller::Environment)?;
        let Asker::Environment { variables } = talk.hear()? else {
            return Err(Failure::new("internal_error", "no environment was handed over"));
        };
        let mut command = self.again();
        command.env_clear().envs(variables);
        command.envs(PANE_VARIABLES.iter().filter_map(|name| Some((*name, variable(name)?))));
        Ok(command.exec().into())
    }

    fn host(&self, context: &Context, globals: &Globals) -> Result<ExitCode, Failure> {
        let stream = UnixStream::connect(&self.socket);
        // It was for this one meeting, and whoever asked may be killed before it can clear it away.
        std::fs::remove_file(&self.socket).ok();
        let mut talk = Talk::new(stream?, ASKER);
        talk.say(&Teller::Order)?;
        let Asker::Start { order } = talk.hear()? else {
            return Err(Failure::new("internal_error", "nothing was asked for"));
        };
        if order.detached {
            // Of a session of our own, so that the end of somebody's terminal is not ours.
            rustix::process::setsid().ok();
        }
        let done = serve(context, globals, &order, &mut talk);
        if let Err(failure) = done {
            // Whoever asked is told; if they are gone, nobody is.
            talk.say(&Teller::Failed { failure }).ok();
            return Ok(ExitCode::FAILURE);
        }
        done
    }
}

fn serve(
    context: &Context,
    globals: &Globals,
    order: &Order,
    talk: &mut Talk,
) -> Result<ExitCode, Failure> {
    let profile = Profile::load(&order.profile, &workers_dir(&context.config.0))?;
    let team = context.claude.team_in(&order.team)?;
    let team = team.ok_or_else(|| {
        let (team, known) = (order.team.clone(), Vec::new());
        Error::from(ringer_teams::Error::TeamNotFound { team, known })
    })?;
    let wish = Wish {
        name: &order.name,
        exact: order.exact,
        limit: (!order.leads).then_some(order.limit),
    };
    let launch = Launch {
        context,
        globals,
        profile: &profile,
        team: &team,
        wish,
        words: &order.words,
        cwd: order.cwd.clone(),
        follows: order.follows.clone(),
        native: false,
        leads: order.leads,
        detached: order.detached,
    };
    let mut running = launch.start()?;
    let ringer_panes::Address::Host { socket } = running.entry.pane.clone() else {
        return Err(Failure::new("internal_error", "the worker has no host"));
    };
    let (name, pid) = (running.entry.name.clone(), std::process::id());
    talk.say(&Teller::Started { name, pid, socket })?;
    // Whoever waits for it looks at it through its host meanwhile, and may take its time, or be gone.
    running.show()?;
    match talk.hear() {
        Ok(Asker::Join) => {}
        _ => return Err(Failure::new("not_started", "nobody waits for it any more")),
    }
    running.join()?;
    talk.say(&Teller::Joined)?;
    if order.detached {
        running.be_silent()?;
    }
    running.run()
}
