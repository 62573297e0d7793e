//! What is on disk, in the words of the picture.

use ringer_observe::{Member, Standing, Status, Task};
use ringer_teams::{Tasks, Team};

/// Who is on a team, but for its lead.
pub(super) fn members(team: &Team) -> Vec<Member> {
    let lead = team.config.lead().map(|lead| lead.name.as_str());
    let others = team.config.members.iter().filter(|member| Some(member.name.as_str()) != lead);
    others
        .map(|member| Member {
            name: member.name.clone(),
            agent_id: member.agent_id.clone().unwrap_or_else(|| member.name.clone()),
            agent_type: member.agent_type.clone().unwrap_or_default(),
            status: Standing::Active,
            model: member.model.clone(),
            color: member.color.clone(),
        })
        .collect()
}

/// What there is to do. What is of a status that nobody knows is left out.
pub(super) fn tasks(tasks: &Tasks) -> Vec<Task> {
    let known = tasks.found.iter().filter(|task| !task.is_deleted());
    known
        .filter_map(|task| {
            Some(Task {
                id: task.id.clone(),
                subject: task.subject.clone(),
                description: Some(task.description.clone()).filter(|text| !text.is_empty()),
                active_form: task.active_form.clone(),
                status: Status::parse(&task.status)?,
                owner: task.owner.clone(),
                blocks: task.blocks.clone(),
                blocked_by: task.blocked_by.clone(),
            })
        })
        .collect()
}
