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
    /// Whoever has the pane is not running.
    #[error("{server} does not run")]
    NoServer {
        /// Which, in words.
        server: String,
    },
    /// Somebody pressed a key since the pane was looked at.
    #[error("somebody typed in pane `{pane}` at the same time")]
    Typed {
        /// The pane.
        pane: String,
    },
    /// A program that is needed is not installed.
    #[error("`{program}` is not installed")]
    NoProgram {
        /// The program.
        program: &'static str,
    },
    /// A program is installed that cannot do what is needed.
    #[error("`{program}` {version} is too old")]
    TooOld {
        /// The program.
        program: &'static str,
        /// What it says that it is.
        version: String,
    },
    /// No answer in time.
    #[error("pane `{pane}` does not answer")]
    Silent {
        /// The pane.
        pane: String,
        /// Whether the commands were handed over, so that they may have been carried out.
        sent: bool,
    },
    /// A program said no for a reason that is not known here.
    #[error("`{program}` refused: {said}")]
    Refused {
        /// Which.
        program: &'static str,
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
            Self::TooOld { .. } => "too old",
            Self::Typed { .. } => "typing",
            Self::Silent { .. } => "pane does not answer",
            Self::Refused { .. } => "refused",
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoPane | Self::Gone { .. } | Self::Changed { .. } => Some(
                "start it with `ringer run`, or say where it runs: `ringer register NAME --pane …`",
            ),
            Self::Dead { .. } => Some("start the worker there again"),
            Self::CopyMode { .. } => Some("press q in the pane"),
            Self::InputOff { .. } => Some("turn it on with `tmux select-pane -e`"),
            Self::NoServer { .. } => Some("start the worker again"),
            Self::NoProgram { program: "tmux" } => Some("install tmux 3.2 or newer"),
            Self::NoProgram { .. } | Self::TooOld { .. } => Some("install Zellij 0.44 or newer"),
            Self::Silent { .. } | Self::Refused { .. } | Self::Typed { .. } => None,
        }
    }

    /// Whether what was asked for may have been done all the same. Look before trying again.
    pub fn uncertain(&self) -> bool {
        matches!(self, Self::Silent { sent: true, .. })
    }
}
