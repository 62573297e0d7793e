//! Why nothing can be done with a pane now.
//!
//! Owns the list of reasons and the words for them. A fault never means that a message is lost.

/// Why nothing was done.
///
/// Every fault may pass: a pane leaves copy mode, a server is started again, a worker comes back.
/// So the caller keeps the message and tries again later. With the exception of
/// [`Fault::uncertain`], nothing was typed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The worker has no pane yet.
    #[error("no pane is known for this worker")]
    NoPane,
    /// There is no such pane (any more).
    #[error("pane `{pane}` is not there")]
    Gone {
        /// The pane.
        pane: String,
    },
    /// The program in the pane has ended; the pane was kept.
    #[error("the program in pane `{pane}` has ended")]
    Dead {
        /// The pane.
        pane: String,
    },
    /// Somebody scrolls or searches in it: keys would go there, not to the program.
    #[error("pane `{pane}` is in copy mode")]
    CopyMode {
        /// The pane.
        pane: String,
    },
    /// The user turned input off; tmux would drop the text and say nothing.
    #[error("input to pane `{pane}` is turned off")]
    InputOff {
        /// The pane.
        pane: String,
    },
    /// Somebody else runs there now.
    #[error("another program runs in pane `{pane}` now")]
    Changed {
        /// The pane.
        pane: String,
    },
    /// There is no server on that socket.
    #[error("no tmux server answers on socket `{socket}`")]
    NoServer {
        /// The socket, `default` if none was named.
        socket: String,
    },
    /// A program that is needed is not installed.
    #[error("`{program}` is not installed")]
    NoProgram {
        /// The program.
        program: &'static str,
    },
    /// This kind of pane cannot be used yet.
    #[error("panes of {kind} cannot be typed into yet")]
    Unsupported {
        /// Whose panes.
        kind: &'static str,
    },
    /// No answer in time.
    #[error("pane `{pane}` does not answer")]
    Silent {
        /// The pane.
        pane: String,
        /// Whether the commands were handed over, so that they may have been carried out.
        sent: bool,
    },
    /// tmux said no for a reason that is not known here.
    #[error("tmux refused: {said}")]
    Refused {
        /// What it said, on one line.
        said: String,
    },
}

impl Fault {
    /// A short name that stays the same, for status and logs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoPane => "no pane",
            Self::Gone { .. } => "pane gone",
            Self::Dead { .. } => "pane dead",
            Self::CopyMode { .. } => "copy mode",
            Self::InputOff { .. } => "input off",
            Self::Changed { .. } => "pane changed",
            Self::NoServer { .. } => "no server",
            Self::NoProgram { .. } => "not installed",
            Self::Unsupported { .. } => "not supported",
            Self::Silent { .. } => "pane does not answer",
            Self::Refused { .. } => "tmux refused",
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoPane | Self::Gone { .. } | Self::Changed { .. } => {
                Some("when the worker runs, `ringer register NAME --pane tmux:%N` again")
            }
            Self::Dead { .. } => Some("start the worker again with `tmux respawn-pane`"),
            Self::CopyMode { .. } => Some("press q in the pane"),
            Self::InputOff { .. } => Some("turn it on with `tmux select-pane -e`"),
            Self::NoServer { .. } => Some("start tmux and the worker in it"),
            Self::NoProgram { .. } => Some("install tmux 3.2 or newer"),
            Self::Unsupported { .. } => Some("run the worker in tmux"),
            Self::Silent { .. } | Self::Refused { .. } => None,
        }
    }

    /// Whether what was asked for may have been done all the same. Look before trying again.
    pub fn uncertain(&self) -> bool {
        matches!(self, Self::Silent { sent: true, .. })
    }
}
