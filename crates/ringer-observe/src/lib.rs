//! What Claude Code says of its team, in its stream (`--output-format stream-json`) and in its transcripts.
//!
//! Bytes in, events and a picture of the team out. Owns what the tools of a team mean, for every generation of Claude
//! Code. Pure: it opens no file, has no clock (time is what the lines say), and no line can make it panic.
//!
//! ```text
//! bytes ─► Scanner ─► line ─► Observer: recognise ─► Pending (until the result is there) ─► Picture ─► Event
//!          (what cannot matter is passed over unparsed)     └──► Supplement
//! ```

mod call;
mod event;
mod filter;
mod finished;
mod line;
mod notice;
mod observer;
mod outcome;
mod pending;
mod picture;
mod recent;
mod scanner;
mod state;
mod summary;
mod supplement;
mod told;
mod update;

pub use event::{Event, What};
pub use notice::Mail;
pub use observer::{Observer, Seen, SessionState, Warning};
pub use pending::TIME_TO_LIVE_MS;
pub use picture::LEAD;
pub use scanner::{Counts, LONGEST_LINE, Scanner};
pub use state::{Member, Role, Standing, Status, Task, TeamState};
pub use summary::{Summary, Usage};
pub use supplement::{Category, Supplement};
