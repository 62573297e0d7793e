//! What has been told of a team, from whichever source, so that nothing is told twice.
//!
//! Owns bringing together what streams say and what is on disk. Events make the state: whoever has all events has it. Disk
//! wins on who is a member and what there is to do; streams add who said what when.

use crate::event::What;
use crate::state::{Member, Standing, Status, Task, TeamState};

impl TeamState {
    /// Takes an event in. Whether it is news: what the state says already has been told.
    pub fn tell(&mut self, what: &What) -> bool {
        match what {
            What::Joined { member } => {
                match self.members.iter_mut().find(|m| m.name == member.name) {
                    Some(known) if known.status != Standing::Shutdown => {
                        refine(known, member);
                        false
                    }
                    Some(known) => {
                        known.clone_from(member);
                        true
                    }
                    None => {
                        self.members.push(member.clone());
                        true
                    }
                }
            }
            What::Idle { member } => self.stand(&member.name, Standing::Idle),
            What::Shutdown { member } => self.stand(&member.name, Standing::Shutdown),
            What::TaskCreated { task } => {
                let is_news = self.task(&task.id).is_none();
                if is_news {
                    self.tasks.push(task.clone());
                }
                is_news
            }
            What::TaskClaimed { task } | What::TaskCompleted { task } => {
                let Some(known) = self.tasks.iter_mut().find(|known| known.id == task.id) else {
                    self.tasks.push(task.clone());
                    return true;
                };
                let is_news = known.status != task.status || known.owner != task.owner;
                known.clone_from(task);
                if let (true, Some(owner)) = (task.status == Status::InProgress, &task.owner) {
                    self.stand(owner, Standing::Active);
                }
                is_news
            }
            What::ShutdownRequested { member, .. } => {
                if self.member(member).is_some_and(|m| m.status != Standing::Shutdown)
                    && !self.shutting_down.contains(member)
                {
                    self.shutting_down.push(member.clone());
                }
                true
            }
            What::ShutdownResponse { member, .. } => {
                self.shutting_down.retain(|other| other != member);
                true
            }
            What::Created
            | What::Deleted
            | What::Message { .. }
            | What::PlanRequested { .. }
            | What::PlanResolved { .. }
            | What::Summary { .. } => true,
        }
    }

    /// How a member is from now on; whether that is news.
    fn stand(&mut self, name: &str, standing: Standing) -> bool {
        let Some(member) = self.members.iter_mut().find(|member| member.name == name) else {
            return false;
        };
        if standing == Standing::Shutdown {
            self.shutting_down.retain(|other| other != name);
        }
        std::mem::replace(&mut member.status, standing) != standing
    }

    /// Makes it say what the disk says. What is to be told of that: who came and went, what there is to do, and how far
    /// it is. A task that was completed stays when its file is gone: Claude Code clears the board when all is done.
    pub fn agree_with(&mut self, members: &[Member], tasks: &[Task]) -> Vec<What> {
        let mut news = Vec::new();
        for member in members {
            news.push(What::Joined { member: member.clone() });
        }
        for member in &self.members {
            let is_there = members.iter().any(|there| there.name == member.name);
            if !is_there && member.status != Standing::Shutdown {
                let member = Member { status: Standing::Shutdown, ..member.clone() };
                news.push(What::Shutdown { member });
            }
        }
        self.tasks.retain(|known| {
            known.status == Status::Completed || tasks.iter().any(|task| task.id == known.id)
        });
        for task in tasks {
            if self.task(&task.id).is_none() {
                // What it became since is told in its own right.
                let new = Task { status: Status::Pending, owner: None, ..task.clone() };
                news.push(What::TaskCreated { task: new });
            }
            match task.status {
                Status::InProgress => news.push(What::TaskClaimed { task: task.clone() }),
                Status::Completed => news.push(What::TaskCompleted { task: task.clone() }),
                Status::Pending | Status::Deleted => {}
            }
        }
        news.retain(|what| self.tell(what));
        // Whatever else has changed about a task is no event.
        for task in tasks {
            if let Some(known) = self.tasks.iter_mut().find(|known| known.id == task.id) {
                known.clone_from(task);
            }
        }
        news
    }

    /// Forgets who is not there any more.
    #[must_use]
    pub fn without_ended(mut self) -> Self {
        self.members.retain(|member| member.status != Standing::Shutdown);
        self
    }
}

/// What one source does not know of a member, another may.
fn refine(known: &mut Member, told: &Member) {
    if known.model.is_none() {
        known.model.clone_from(&told.model);
    }
    if known.color.is_none() {
        known.color.clone_from(&told.color);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Role;

    fn member(name: &str, status: Standing) -> Member {
        let (agent_id, agent_type) = (format!("{name}@t"), "worker".to_owned());
        Member { name: name.to_owned(), agent_id, agent_type, status, model: None, color: None }
    }

    fn task(id: &str, status: Status, owner: Option<&str>) -> Task {
        Task {
            id: id.to_owned(),
            subject: format!("task {id}"),
            description: None,
            active_form: None,
            status,
            owner: owner.map(str::to_owned),
            blocks: vec![],
            blocked_by: vec![],
        }
    }

    fn names(news: &[What]) -> Vec<&'static str> {
        news.iter().map(What::name).collect()
    }

    #[test]
    fn the_disk_is_told_once_and_wins() {
        let mut state = TeamState::new("t", Role::Lead);
        let alice = [member("alice", Standing::Active)];
        let done = task("1", Status::Completed, Some("alice"));
        let open = task("2", Status::Pending, None);
        let news = state.agree_with(&alice, &[done.clone(), open.clone()]);
        assert_eq!(
            names(&news),
            ["team:member:joined", "team:task:created", "team:task:completed", "team:task:created"]
        );
        assert!(state.agree_with(&alice, &[done.clone(), open.clone()]).is_empty());
        // The stream says it, too, later.
        assert!(!state.tell(&What::TaskCompleted { task: done.clone() }));
        assert!(!state.tell(&What::Joined { member: alice[0].clone() }));
        // Owners change without an event while nobody is at it.
        let mut given = open.clone();
        given.owner = Some("alice".to_owned());
        assert!(state.agree_with(&alice, &[done.clone(), given.clone()]).is_empty());
        assert_eq!(state.task("2").unwrap().owner.as_deref(), Some("alice"));
        // The board is cleared, and she goes.
        let news = state.agree_with(&[], &[]);
        assert_eq!(names(&news), ["team:member:shutdown"]);
        assert_eq!(state.tasks, [done], "what was done stays, what is gone was deleted");
        assert!(state.agree_with(&[], &[]).is_empty());
        // Another of that name comes.
        assert_eq!(names(&state.agree_with(&alice, &[])), ["team:member:joined"]);
        assert_eq!(state.without_ended().agents(), ["alice"]);
    }

    #[test]
    fn a_stream_that_is_first_leaves_nothing_to_tell() {
        let mut state = TeamState::new("t", Role::Lead);
        let begun = task("1", Status::InProgress, Some("alice"));
        assert!(state.tell(&What::Joined { member: member("alice", Standing::Active) }));
        assert!(state.tell(&What::TaskCreated { task: task("1", Status::Pending, None) }));
        assert!(state.tell(&What::Idle { member: member("alice", Standing::Idle) }));
        assert!(!state.tell(&What::Idle { member: member("alice", Standing::Idle) }));
        assert!(state.tell(&What::TaskClaimed { task: begun.clone() }));
        assert_eq!(state.member("alice").unwrap().status, Standing::Active);
        assert!(state.agree_with(&[member("alice", Standing::Active)], &[begun]).is_empty());
    }
}
