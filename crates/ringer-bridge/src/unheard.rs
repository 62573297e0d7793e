//! Messages of ours that nobody takes from an inbox.
//!
//! Owns when that is worth a word, and the word. Nothing is stored: the journal says what was written and
//! not taken, and the files say to whom.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ringer_teams::ClaudeDir;
use serde::{Deserialize, Serialize};

use crate::daemon::read_receipts;
use crate::error::Result;
use crate::journal::{Journal, Message, State};

/// Who reads its inbox at all has read a message by then.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a message has in it that the lead is not woken for: that a worker is idle which has reported.
pub(crate) const NO_NEWS: &str = "\"reported\":true";

/// Somebody who does not read its inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unheard {
    /// The team.
    pub team: String,
    /// Its directory.
    pub team_dir: PathBuf,
    /// Who does not read.
    pub to: String,
    /// Whether that is the lead.
    pub is_lead: bool,
    /// How many messages of ours wait there.
    pub count: u32,
    /// Since when; milliseconds since 1970.
    pub since: i64,
}

impl Unheard {
    /// What is wrong, and what to do about it. `has_hooks` if its settings have the lead's hooks.
    pub fn words(&self, has_hooks: bool) -> String {
        let Self { team, to, count, .. } = self;
        let messages =
            if *count == 1 { "a message".to_owned() } else { format!("{count} messages") };
        if self.is_lead {
            let what_helps = if has_hooks {
                "it has Ringer's hooks in its settings, but may have been started before; start it again"
            } else {
                "run `ringer init`, then start Claude Code again"
            };
            format!(
                "the lead of {team} does not read its inbox: {messages} not taken; {what_helps}"
            )
        } else {
            format!("{to} on {team} does not read its inbox: {messages} not taken")
        }
    }
}

/// Everybody who does not read its inbox, on teams that are there.
pub fn unheard(claude: &ClaudeDir, journal: &Journal) -> Result<Vec<Unheard>> {
    let then = SystemTime::now().checked_sub(PATIENCE).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut all = journal.not_taken_since(then)?;
    all.retain_mut(|one| {
        let name = one.team_dir.file_name().unwrap_or_default().to_string_lossy();
        let team = claude.team_in(&name).ok().flatten().filter(|team| team.dir() == one.team_dir);
        one.is_lead = team.as_ref().and_then(|t| t.config.lead()).is_some_and(|l| l.name == one.to);
        team.is_some()
    });
    Ok(all)
}

/// Why a message of ours is not taken yet, if it should be.
pub fn not_taken(message: &Message) -> Option<&'static str> {
    let at = u64::try_from(message.received_at).unwrap_or(0);
    let age = (SystemTime::UNIX_EPOCH + Duration::from_millis(at)).elapsed().unwrap_or_default();
    match message.state {
        State::Written if !Path::new(&message.team_dir).exists() => Some("team gone"),
        State::Written if age > PATIENCE && !message.text.contains(NO_NEWS) => Some("not read"),
        _ => None,
    }
}

/// Finds out what was taken, where no daemon does.
pub fn catch_up(journal: &Journal) -> Result<()> {
    for path in journal.inboxes_with_receipts_due()? {
        // One that is broken keeps nobody from the others.
        read_receipts(journal, &path).ok();
    }
    Ok(())
}
