//! Claude Code's team files, safely shared.
//!
//! Claude Code keeps its agent teams in plain files: `teams/<team>/config.json` says who is on a
//! team, `teams/<team>/inboxes/<member>.json` holds each member's mail, `tasks/<team>/<n>.json` the
//! shared tasks. Several processes write them at the same time, some in place and some without a
//! lock. A program that joins in without the same care destroys other people's messages. This
//! crate has that care:
//!
//! - the same lock as Claude Code, held for as long as a comparison and a rename take ([`DirLock`]);
//! - edits that change only the bytes they were asked to, so that unknown fields, numbers and even
//!   broken characters come through ([`edit()`]);
//! - reads that tell a file in mid-write from an empty one.
//!
//! It is synchronous, starts nothing that outlives a call (but for a wait that was given up), and has no
//! clock of its own for what it writes: timestamps are the caller's.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # std::fs::create_dir_all(dir.path().join("teams/demo"))?;
//! # std::fs::write(dir.path().join("teams/demo/config.json"),
//! #     r#"{"name": "demo", "members": [{"name": "team-lead"}]}"#)?;
//! use ringer_teams::{ClaudeDir, Draft, LEAD};
//!
//! let claude = ClaudeDir::new(dir.path());
//! let team = claude.team("demo")?;
//! let message = Draft::new("rust-impl", "all tests pass", "2026-02-22T20:30:00.000Z")?;
//! team.mailbox(LEAD)?.append(&message.summary("done"))?;
//! assert_eq!(team.mailbox(LEAD)?.read()?.unread(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod board;
mod branch;
pub mod claude_settings;
mod config;
mod draft;
mod edit;
mod error;
mod founding;
mod inbox;
mod json;
mod lead;
mod lock;
mod mailbox;
mod members;
mod message;
mod names;
mod patience;
mod pointer;
mod read;
mod refresh;
mod session;
mod settle;
mod slug;
mod task;
mod tasks;
mod team;
mod transcript;

pub use board::{
    Actor, Board, Changed, DESCRIPTION_LIMIT, NewTask, SUBJECT_LIMIT, TASKS_LIMIT, TaskChange,
    TaskError,
};
pub use branch::birth_branch;
pub use config::{BACKEND, FOUNDER, LeadProcess, Member, TeamConfig};
pub use draft::{BYTES_LIMIT, Draft, SUMMARY_LIMIT, TEXT_LIMIT, stored};
pub use edit::{Change, Done, edit};
pub use error::{Error, Result};
pub use founding::{NewTeam, TEAMS_LIMIT};
pub use inbox::{Entry, Inbox, Odd, Row};
pub use json::{NotWhole, without_lone_surrogates};
pub use lead::Liveness;
pub use lock::{DirLock, STALE};
pub use mailbox::{Appended, Mailbox, Tidied};
pub use members::{NewMember, Outcome, SyntheticMemberService};
pub use message::{Known, Structured};
pub use names::{LEAD, check_member_name, inbox_file_name};
pub use session::{Activity, Session};
pub use slug::{slug, subtree_branch, team_name};
pub use task::{DELIVERABLE_PATH, PRIORITY, RESULT_SUMMARY, Task, TaskStatus, deliverable_path};
pub use tasks::{Tasks, Waits};
pub use team::{ClaudeDir, Team, Teams};
pub use transcript::Transcript;
