//! What a running session of Claude Code says of itself, from 2.1.177 on: `sessions/<pid>.json`.
//!
//! Owns reading it. The file is written in place, and left there if the session is killed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::LeadProcess;
use crate::json::{NotWhole, Object};
use crate::read::read_whole;
use crate::team::ClaudeDir;

/// How a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It waits for its user, or for mail.
    AtRest,
    /// A turn goes on, or it asks its user something.
    Working,
    /// That cannot be told.
    Unknown,
}

/// A session as it says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id. It is another one after `/clear`.
    pub id: String,
    /// How it is; unknown until it has come to its prompt.
    pub activity: Activity,
    /// Since when; milliseconds since 1970.
    pub since: i64,
    /// When its process was started, as the system says it.
    proc_start: Option<String>,
}

impl ClaudeDir {
    /// The session of a lead's process, if it says something of itself.
    pub fn session_of(&self, process: &LeadProcess) -> Option<Session> {
        Session::of(process, &self.sessions_dir())
    }

    /// The session with this id, of those that run.
    pub fn session(&self, id: &str) -> Option<Session> {
        let files = fs::read_dir(self.sessions_dir()).ok()?.flatten().map(|entry| entry.path());
        let is_alive = |path: &PathBuf| {
            let pid = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u32>().ok());
            path.extension().is_some_and(|end| end == "json")
                && pid.is_some_and(|pid| Path::new("/proc").join(pid.to_string()).exists())
        };
        let mut found = files.filter(is_alive).filter_map(|path| Session::read(&path));
        found.find(|session| session.id == id)
    }

    fn sessions_dir(&self) -> PathBuf {
        self.path().join("sessions")
    }
}

impl Session {
    /// The session of a process. What another process of the same number left there is not its own.
    pub(crate) fn of(process: &LeadProcess, sessions: &Path) -> Option<Self> {
        let found = Self::read(&sessions.join(format!("{}.json", process.pid)));
        found.filter(|session| session.proc_start == process.proc_start)
    }

    fn read(path: &Path) -> Option<Self> {
        read_whole(path, Self::parse).ok().flatten()
    }

    fn parse(text: &str) -> Result<Self, NotWhole> {
        let object = Object::parse(text)?;
        let activity = match object.string("status").as_deref() {
            Some("idle") => Activity::AtRest,
            Some(_) => Activity::Working,
            None => Activity::Unknown,
        };
        let since = object.get("statusUpdatedAt").and_then(|ms| ms.trim().parse().ok());
        let id = object.string("sessionId").unwrap_or_default();
        let proc_start = object.string("procStart");
        Ok(Self { id, activity, since: since.unwrap_or_default(), proc_start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringer_testkit::put;

    #[test]
    fn a_session_is_known_by_its_process_and_by_its_id_while_it_runs() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("sessions");
        fs::create_dir(&dir).unwrap();
        let me = std::process::id();
        let text = |id: &str, status: &str| {
            format!(
                "{{\"procStart\":\"1\",\"sessionId\":\"{id}\",\"status\":\"{status}\",\"statusUpdatedAt\":7}}"
            )
        };
        put(&dir.join(format!("{me}.json")), &text("a", "idle"));
        put(&dir.join("4000000.json"), &text("dead", "idle"));
        put(&dir.join(format!("{me}.0a1b.key")), "{}");
        let claude = ClaudeDir::new(root.path());
        let (id, proc_start) = ("a".to_owned(), Some("1".to_owned()));
        let at_rest = Session { id, activity: Activity::AtRest, since: 7, proc_start };
        let process = |pid: u32, start: &str| LeadProcess {
            pid: pid.into(),
            proc_start: Some(start.to_owned()),
            pid_space: None,
        };
        assert_eq!(claude.session("a"), Some(at_rest.clone()));
        assert_eq!(claude.session_of(&process(me, "1")), Some(at_rest));
        assert_eq!(
            (claude.session("dead"), claude.session("b"), claude.session_of(&process(me, "2"))),
            (None, None, None)
        );
        for status in ["busy", "waiting", "whatever"] {
            put(&dir.join(format!("{me}.json")), &text("a", status));
            assert_eq!(claude.session("a").unwrap().activity, Activity::Working, "{status}");
        }
        put(&dir.join(format!("{me}.json")), "{\"sessionId\": \"a\"}");
        assert_eq!(claude.session("a").unwrap().activity, Activity::Unknown);
    }
}
