//! Target assignments of a whole group (section 6.1): the assignor's input from the group's state, its
//! output as tasks by member, and the records that change.

use std::borrow::Cow;
use std::collections::BTreeMap;

use catalog::Image;
use catalog::config::StreamsGroupSettings;

use super::configure::ConfiguredTopology;
use super::image::may_deviate;
use super::records;
use super::soft::MemberOffsets;
use super::tasks::{TaskId, TaskSet, Tasks};
use super::{MemberMetadata, StreamsGroup, StreamsMember};
use crate::assign::{Assignor, GroupSpec, Task, TaskSpace};
use crate::machine::Millis;
use wire::Str;
use wire::consumer_offsets::Record;

/// Where a member goes, and why it does not get there at once.
pub(super) struct Goal<'a> {
    pub epoch: i32,
    pub tasks: Cow<'a, Tasks>,
    pub delayed_by: Option<Delay>,
}

/// A wait that ends by itself.
#[derive(Clone, Copy)]
pub(super) struct Delay {
    pub reason: &'static str,
    pub until: Millis,
}

/// A computation for all members of a group.
pub(super) struct Assignment<'a> {
    pub group: &'a StreamsGroup,
    /// The member of this heartbeat, new or as it has become.
    pub updated: Option<(&'a Str, &'a MemberMetadata)>,
    pub configured: &'a ConfiguredTopology,
    pub offsets: &'a BTreeMap<Str, MemberOffsets>,
    pub updated_offsets: Option<&'a MemberOffsets>,
    pub standby_replicas: i32,
    pub assignor: Assignor,
    /// Client tags over which copies are spread, most important first.
    pub spread_tags: &'a [String],
}

impl Assignment<'_> {
    /// Tasks for each member; none for anybody while the topology is not ready (H-37).
    pub(super) fn compute(&self) -> BTreeMap<Str, Tasks> {
        let members = self.members();
        let Some(space) = self.configured.task_space() else {
            return members.into_keys().map(|id| (id.clone(), Tasks::default())).collect();
        };
        let mut spec = GroupSpec::new(&space, u32::try_from(self.standby_replicas).unwrap_or(0));
        let members: Vec<_> = members.into_iter().collect();
        let places: Vec<_> = members.iter().map(|(id, member)| self.add(&mut spec, id, member)).collect();
        let by_member = self.assignor.assign(&spec).by_member();
        let targets = members.iter().zip(places).map(|((id, _), place)| {
            let active = self.task_set(&space, by_member.active(place));
            let standby = self.task_set(&space, by_member.standby(place));
            ((*id).clone(), Tasks { active, standby, warmup: TaskSet::new() })
        });
        targets.collect()
    }

    /// All members after this heartbeat, in the order of their ids.
    fn members(&self) -> BTreeMap<&Str, Member<'_>> {
        let known = self
            .group
            .members
            .iter()
            .map(|(id, it)| (id, Member { metadata: &it.metadata, known: Some(it) }));
        let mut members: BTreeMap<_, _> = known.collect();
        if let Some((id, metadata)) = self.updated {
            members.insert(id, Member { metadata, known: self.group.members.get(id) });
        }
        members
    }

    /// what a member has now, without what it must give up, and the offsets that it reported.
    fn add<'s>(&'s self, spec: &mut GroupSpec<'s>, id: &Str, member: &Member<'s>) -> crate::assign::Member {
        let place = spec.add_member(&member.metadata.process_id);
        if self.assignor == Assignor::Spread {
            let tags = &member.metadata.client_tags;
            let values = self.spread_tags.iter().map(|tag| tags.get(tag.as_bytes()));
            spec.spread_values(place, values.chain([member.metadata.rack_id.as_ref()]));
        }
        if let Some(known) = member.known {
            let assigned = &known.current.assigned;
            spec.previous_active(
                place,
                assigned.active.keys().map(|task| (&task.subtopology, task.partition)),
            );
            spec.previous_standby(
                place,
                assigned
                    .standby
                    .iter()
                    .chain(&assigned.warmup)
                    .map(|task| (&task.subtopology, task.partition)),
            );
        }
        let is_updated = self.updated.is_some_and(|(updated, _)| updated == id);
        let offsets = self.updated_offsets.filter(|_| is_updated).or_else(|| self.offsets.get(id));
        let offsets = offsets.into_iter().flat_map(|it| &it.offsets);
        spec.task_offsets(place, offsets.map(|(task, offset)| (&task.subtopology, task.partition, *offset)));
        place
    }

    fn task_set(&self, space: &TaskSpace, tasks: &[Task]) -> TaskSet {
        let name = |task: &Task| {
            let (subtopology, partition) = space.name(*task)?;
            Some(TaskId::new(subtopology, partition))
        };
        tasks.iter().filter_map(name).collect()
    }
}

struct Member<'a> {
    metadata: &'a MemberMetadata,
    known: Option<&'a StreamsMember>,
}

/// When a target was computed, as record 20 keeps it. A target without tasks, because topics are missing,
/// took no assignor: it holds up the one that follows when they are there no more than a leave does (0).
pub(super) fn timestamp(image: &Image, configured: &ConfiguredTopology, now: Millis) -> Millis {
    if configured.is_ready() || !may_deviate(image) { now } else { 0 }
}

/// record 21 for each member whose target is new or another one, then record 20.
pub(super) fn records<'a>(
    group_id: &'a Str,
    group: &'a StreamsGroup,
    targets: &'a BTreeMap<Str, Tasks>,
    epoch: i32,
    computed_at: Millis,
) -> impl Iterator<Item = Record> {
    let changed = targets.iter().filter(|(id, tasks)| group.target(id) != Some(tasks));
    let changed = changed.map(|(id, tasks)| records::target(group_id, id, tasks));
    changed.chain([records::target_metadata(group_id, epoch, computed_at)])
}

const STANDBY_REPLICAS: &str = "num.standby.replicas";
const RACK_AWARE_TAGS: &str = "rack.aware.assignment.tags";

/// H-30 and A-4: the settings that an assignment depends on, as the group's record keeps them.
pub(super) fn assignment_configs(settings: &StreamsGroupSettings) -> BTreeMap<Str, Str> {
    let replicas = Str::from(settings.num_standby_replicas.to_string());
    let mut configs = BTreeMap::from([(Str::from_static(STANDBY_REPLICAS), replicas)]);
    if !settings.rack_aware_assignment_tags.is_empty() {
        let tags = settings.rack_aware_assignment_tags.join(",");
        configs.insert(Str::from_static(RACK_AWARE_TAGS), Str::from(tags));
    }
    configs
}

/// Whether [`assignment_configs`] are what the group's record has; each heartbeat asks.
pub(super) fn has_configs(group: &StreamsGroup, settings: &StreamsGroupSettings) -> bool {
    let tags = group.assignment_configs.get(RACK_AWARE_TAGS.as_bytes()).map_or(&b""[..], Str::as_bytes);
    stored_standby_replicas(group) == Some(settings.num_standby_replicas)
        && tags == settings.rack_aware_assignment_tags.join(",").as_bytes()
}

/// The standby replicas with which the group's last epoch was made.
pub(super) fn stored_standby_replicas(group: &StreamsGroup) -> Option<i32> {
    group.assignment_configs.get(STANDBY_REPLICAS.as_bytes())?.to_str().parse().ok()
}
