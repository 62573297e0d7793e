//! From calls and their answers to the state of the team.
//!
//! Owns every transition but those by messages, which are in `talk`. Each is idempotent: what is done a second time changes nothing, and says nothing.

mod talk;

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::event::What;
use crate::finished::Finished;
use crate::outcome::Outcome;
use crate::pending::Asked;
use crate::state::{Member, Role, Standing, Status, Task, TeamState};
use crate::update::Update;

/// What Claude Code calls the lead of a team.
pub const LEAD: &str = "team-lead";

/// So many members' spawns are remembered.
const MOST_SPAWNS: usize = 1024;

/// The team, as far as is known.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Picture {
    /// Tasks can be there before anything shows that there is a team.
    state: TeamState,
    is_known: bool,
    /// Who may be idle as soon as the model says something else.
    finished: Finished,
    /// Which call made which member: what is said within it, that member says.
    spawns: Vec<(String, String)>,
}

/// Where a line comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) session: Option<&'a str>,
    /// The team that the line names.
    pub(crate) team: Option<&'a str>,
    /// Who the session is on its team, if it is not the lead.
    pub(crate) agent: Option<&'a str>,
    /// When it was written, in milliseconds since 1970.
    pub(crate) time: Option<i64>,
}

impl Place<'_> {
    /// The team that every session has, in newer versions.
    fn own_team(&self) -> Option<String> {
        let start = self.session?.get(..8)?;
        let is_hex = start.bytes().all(|b| b.is_ascii_hexdigit());
        is_hex.then(|| format!("session-{start}"))
    }
}

impl Default for Picture {
    fn default() -> Self {
        let state = TeamState::new("", Role::Teammate);
        Self { state, is_known: false, finished: Finished::default(), spawns: Vec::new() }
    }
}

impl Picture {
    /// A team that is known before anything is said of it.
    pub(crate) fn of(name: &str, role: Role) -> Self {
        Self { state: TeamState::new(name, role), is_known: true, ..Self::default() }
    }

    pub(crate) fn team(&self) -> Option<&TeamState> {
        self.is_known.then_some(&self.state)
    }

    /// Whether somebody may be idle as soon as the model says something else.
    pub(crate) fn expects(&self) -> bool {
        !self.finished.is_empty()
    }

    /// A call was answered.
    pub(crate) fn answered(
        &mut self,
        asked: &Asked,
        outcome: &Outcome,
        place: Place<'_>,
        out: &mut Vec<What>,
    ) {
        if outcome.failed() {
            // It says why; an error changes nothing, whatever it was about.
            if matches!(asked.call, Call::DeleteTeam) && self.is_known && !outcome.is_error() {
                self.state.error = outcome.message();
            }
            return;
        }
        let who = self.speaker(asked.parent.as_deref(), place);
        match &asked.call {
            Call::CreateTeam { name } => {
                let name = outcome.text("team_name").unwrap_or_else(|| name.clone());
                self.create(&name, out);
            }
            Call::DeleteTeam => self.delete(out),
            Call::Spawn { name, team, agent_type, model } => {
                if !outcome.is_teammate() {
                    return;
                }
                let team = outcome.text("team_name").or_else(|| team.clone());
                self.appear(team.as_deref(), place, out);
                let name = outcome.text("name").unwrap_or_else(|| name.clone());
                let id = outcome.agent_id().unwrap_or_else(|| name.clone());
                let agent_type = outcome.text("agent_type").or_else(|| agent_type.clone());
                self.join(
                    &asked.id,
                    Member {
                        name,
                        agent_id: id,
                        agent_type: agent_type.unwrap_or_else(|| "general-purpose".to_owned()),
                        status: Standing::Active,
                        model: outcome.text("model").or_else(|| model.clone()),
                        color: outcome.text("color"),
                    },
                    out,
                );
            }
            Call::CreateTask { subject, description, active_form } => {
                self.appear(None, place, out);
                if let Some(id) = outcome.task_id() {
                    self.add_task(
                        Task {
                            id,
                            subject: subject.clone(),
                            description: description.clone(),
                            active_form: active_form.clone(),
                            status: Status::Pending,
                            owner: None,
                            blocks: Vec::new(),
                            blocked_by: Vec::new(),
                        },
                        out,
                    );
                }
            }
            Call::UpdateTask(update) => {
                self.appear(None, place, out);
                self.update(update, outcome, asked.batch.as_deref(), who.as_deref(), place, out);
            }
            Call::LookAtTasks => self.appear(None, place, out),
            Call::Send(said) => {
                if outcome.routing().is_some() {
                    self.appear(place.own_team().as_deref(), place, out);
                } else {
                    self.appear(None, place, out);
                }
                self.said(said, outcome, who, out);
            }
        }
    }

    /// Who says it: the member within whose call it is said, or the session itself.
    fn speaker(&self, parent: Option<&str>, place: Place<'_>) -> Option<String> {
        match parent {
            Some(parent) => {
                let spawn = self.spawns.iter().find(|(id, _)| id == parent);
                spawn.map(|(_, name)| name.clone())
            }
            None => Some(place.agent.unwrap_or(LEAD).to_owned()),
        }
    }

    fn create(&mut self, name: &str, out: &mut Vec<What>) {
        if self.is_known {
            return;
        }
        // Tasks that were there before are of another list.
        *self = Self::of(name, Role::Lead);
        out.push(What::Created);
    }

    /// Something shows that there is a team, which was made before this stream began, or without a word: `named` is what
    /// it is called if this shows it by itself.
    fn appear(&mut self, named: Option<&str>, place: Place<'_>, out: &mut Vec<What>) {
        let Some(name) = named.or(place.team).filter(|_| !self.is_known) else { return };
        let is_own = place.own_team().as_deref() == Some(name)
            || (place.team == Some(name) && place.agent.is_none());
        self.state.name = name.to_owned();
        self.state.role = if is_own { Role::Lead } else { Role::Teammate };
        self.is_known = true;
        out.push(What::Created);
        out.extend(self.state.tasks.iter().map(|task| What::TaskCreated { task: task.clone() }));
    }

    fn delete(&mut self, out: &mut Vec<What>) {
        if std::mem::take(&mut self.is_known) {
            out.push(What::Deleted);
        }
        // Its name is still to be told with that.
        let name = std::mem::take(&mut self.state.name);
        *self = Self::default();
        self.state.name = name;
    }

    /// The name of the team that is, or that was last.
    pub(crate) fn name(&self) -> Option<&str> {
        Some(self.state.name.as_str()).filter(|name| !name.is_empty())
    }

    fn join(&mut self, call: &str, member: Member, out: &mut Vec<What>) {
        let is_new = !self.spawns.iter().any(|(id, _)| id == call);
        if is_new {
            if self.spawns.len() == MOST_SPAWNS {
                self.spawns.remove(0);
            }
            self.spawns.push((call.to_owned(), member.name.clone()));
        }
        let known = self.state.members.iter_mut().find(|known| known.name == member.name);
        match known {
            // A name can be given again when who had it has ended.
            Some(known) if known.status == Standing::Shutdown && is_new => *known = member.clone(),
            Some(_) => return,
            None => self.state.members.push(member.clone()),
        }
        out.push(What::Joined { member });
    }

    fn add_task(&mut self, task: Task, out: &mut Vec<What>) {
        if self.state.task(&task.id).is_none() {
            self.state.tasks.push(task.clone());
            self.tell(What::TaskCreated { task }, out);
        }
    }

    fn update(
        &mut self,
        update: &Update,
        outcome: &Outcome,
        batch: Option<&str>,
        who: Option<&str>,
        place: Place<'_>,
        out: &mut Vec<What>,
    ) {
        let mut update = update.clone();
        // Whoever begins a task has it, if nobody else does; that is only in the answer.
        if update.owner.is_none() && outcome.list("updatedFields").iter().any(|f| f == "owner") {
            update.owner = who.map(str::to_owned);
        }
        let Some((before, task)) = update.apply(&mut self.state.tasks) else { return };
        let owner = task.owner.clone().or(who.map(str::to_owned));
        let has_changed = before.status != task.status;
        match task.status {
            Status::InProgress if has_changed || before.owner != task.owner => {
                if let Some(owner) = &owner {
                    self.finished.begins(owner, batch);
                    self.stand(owner, Standing::Active, &mut Vec::new());
                }
                self.tell(What::TaskClaimed { task }, out);
            }
            Status::Completed if has_changed => {
                if let Some(owner) = owner.filter(|_| before.status == Status::InProgress) {
                    self.finished.add(owner, batch, place.time);
                }
                self.tell(What::TaskCompleted { task }, out);
            }
            _ => {}
        }
    }

    /// The model has begun to say something else: who has completed a task and not begun another is idle.
    pub(crate) fn settle(&mut self, batch: Option<&str>, now: Option<i64>, out: &mut Vec<What>) {
        for who in self.finished.take(batch, now) {
            let is_at = |task: &Task| {
                task.status == Status::InProgress && task.owner.as_ref() == Some(&who)
            };
            if !self.state.tasks.iter().any(is_at) {
                self.stand(&who, Standing::Idle, out);
            }
        }
    }

    /// How a member is from now on. Who has ended does not come back by what others say of it.
    fn stand(&mut self, name: &str, standing: Standing, out: &mut Vec<What>) {
        let Some(member) = self.state.members.iter_mut().find(|m| m.name == name) else { return };
        if member.status == standing || member.status == Standing::Shutdown {
            return;
        }
        member.status = standing;
        let member = member.clone();
        match standing {
            Standing::Active => {}
            Standing::Idle => self.tell(What::Idle { member }, out),
            Standing::Shutdown => {
                self.state.shutting_down.retain(|other| other != name);
                self.tell(What::Shutdown { member }, out);
            }
        }
    }

    /// What ran within a call has ended.
    pub(crate) fn ended(&mut self, call: &str, out: &mut Vec<What>) {
        let name = self.spawns.iter().find(|(id, _)| id == call).map(|(_, name)| name.clone());
        if let Some(name) = name {
            self.stand(&name, Standing::Shutdown, out);
        }
    }

    /// Nothing is told of a session that has no team.
    fn tell(&self, what: What, out: &mut Vec<What>) {
        if self.is_known {
            out.push(what);
        }
    }
}
