//! DescribeGroups of a classic group (8.1). The group is shown as it is now, not as its record has it; ids
//! that were given out and not used are no members.

use bytes::Bytes;
use wire::Str;
use wire::describe_groups::response::{DescribedGroup, DescribedGroupMember};

use super::live::{Live, Member, State};
use crate::group::step::Step;

/// A group that is classic, or exists by its offsets alone.
pub fn describe(step: &Step<'_>, id: &Str) -> DescribedGroup {
    let Some(live) = step.soft.classic.get(id) else {
        let group_state = Str::from_static(State::Empty.name());
        return DescribedGroup { group_id: id.clone(), group_state, ..Default::default() };
    };
    // Only in a stable group do members and protocol belong together.
    let protocol = live.protocol.as_ref().filter(|_| live.state == State::Stable);
    DescribedGroup {
        group_id: id.clone(),
        group_state: Str::from_static(live.state_name()),
        protocol_type: live.protocol_type.clone().unwrap_or_default(),
        protocol_data: protocol.cloned().unwrap_or_default(),
        members: members(live, protocol),
        ..Default::default()
    }
}

fn members(live: &Live, protocol: Option<&Str>) -> Vec<DescribedGroupMember> {
    let member = |(id, it): (&Str, &Member)| DescribedGroupMember {
        member_id: id.clone(),
        group_instance_id: it.instance_id.clone(),
        client_id: it.client_id.clone(),
        client_host: it.client_host.clone(),
        member_metadata: protocol.map_or_else(Bytes::new, |it_is| it.metadata(it_is)),
        member_assignment: it.assignment.clone(),
        ..Default::default()
    };
    live.members.iter().map(member).collect()
}
