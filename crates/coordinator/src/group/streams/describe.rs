//! One group of StreamsGroupDescribe (D-3).

use super::configure::ConfiguredTopology;
use super::image::{assignor, settings};
use super::records::by_subtopology;
use super::soft::{MemberOffsets, StreamsSoft};
use super::tasks::{TaskId, Tasks};
use super::topology::{InternalTopic, Topology};
use super::{StreamsGroup, StreamsMember, description};
use crate::group::step::Step;
use wire::Str;
use wire::streams_group_describe::response as described;

pub fn describe(step: &Step<'_>, group_id: &Str, group: &StreamsGroup) -> described::DescribedGroup {
    let soft = step.soft.streams.get(group_id);
    let configured = soft.and_then(|it| it.configured.as_deref());
    let assignor = assignor(step.image, settings(step.image, group_id));
    let (topology_description_status, topology_description) = description::describe(step.image, group);
    described::DescribedGroup {
        group_id: group_id.clone(),
        group_state: Str::from_static(group.state().name()),
        group_epoch: group.epoch,
        assignment_epoch: group.assignment_epoch,
        topology: group.topology.as_ref().map(|it| topology(it, configured)),
        members: group.members().iter().map(|(id, it)| member(id, it, group.target(id), soft)).collect(),
        topology_description,
        topology_description_status,
        assignor_name: Some(Str::from_static(assignor.name())),
        ..Default::default()
    }
}

/// With the decided partition counts if the topology is ready, else as the first member sent it
/// (KAFKA-19730). Ids and names ascend.
fn topology(raw: &Topology, configured: Option<&ConfiguredTopology>) -> described::Topology {
    let configured = configured.filter(|it| it.is_ready() && it.topology_epoch == raw.epoch());
    let subtopologies = raw.subtopologies().iter().map(|(id, raw)| {
        let decided = configured.and_then(|it| it.subtopology(id));
        let repartition = decided.map_or(&raw.repartition_source_topics, |it| &it.repartition_source_topics);
        let changelogs = decided.map_or(&raw.state_changelog_topics, |it| &it.state_changelog_topics);
        described::Subtopology {
            subtopology_id: id.clone(),
            source_topics: sorted(&raw.source_topics),
            repartition_sink_topics: sorted(&raw.repartition_sink_topics),
            state_changelog_topics: infos(changelogs),
            repartition_source_topics: infos(repartition),
            ..Default::default()
        }
    });
    described::Topology {
        epoch: raw.epoch(),
        subtopologies: Some(subtopologies.collect()),
        ..Default::default()
    }
}

fn sorted(names: &[Str]) -> Vec<Str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

fn infos(topics: &[InternalTopic]) -> Vec<described::TopicInfo> {
    let info = |it: &InternalTopic| described::TopicInfo {
        name: it.name.clone(),
        partitions: it.partitions,
        replication_factor: it.replication_factor,
        topic_configs: it.configs.iter().map(|(key, value)| key_value(key, value)).collect(),
        ..Default::default()
    };
    let mut topics: Vec<_> = topics.iter().map(info).collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    topics
}

fn member(
    id: &Str,
    it: &StreamsMember,
    target: Option<&Tasks>,
    soft: Option<&StreamsSoft>,
) -> described::Member {
    let metadata = &it.metadata;
    let offsets = soft.and_then(|it| it.offsets.get(id));
    let assigned = &it.current.assigned;
    let endpoint = metadata.user_endpoint.as_ref();
    described::Member {
        member_id: id.clone(),
        member_epoch: it.current.epoch,
        instance_id: metadata.instance_id.clone(),
        rack_id: metadata.rack_id.clone(),
        client_id: metadata.client_id.clone(),
        client_host: metadata.client_host.clone(),
        topology_epoch: metadata.topology_epoch,
        process_id: metadata.process_id.clone(),
        user_endpoint: endpoint.map(|it| described::Endpoint {
            host: it.host.clone(),
            port: it.port,
            ..Default::default()
        }),
        client_tags: metadata.client_tags.iter().map(|(key, value)| key_value(key, value)).collect(),
        task_offsets: task_offsets(offsets, |it| &it.offsets),
        task_end_offsets: task_offsets(offsets, |it| &it.end_offsets),
        assignment: described::Assignment {
            active_tasks: task_ids(assigned.active.keys()),
            standby_tasks: task_ids(&assigned.standby),
            warmup_tasks: task_ids(&assigned.warmup),
            ..Default::default()
        },
        target_assignment: target.map_or_else(Default::default, |it| described::Assignment {
            active_tasks: task_ids(&it.active),
            standby_tasks: task_ids(&it.standby),
            warmup_tasks: task_ids(&it.warmup),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn key_value(key: &Str, value: &Str) -> described::KeyValue {
    described::KeyValue { key: key.clone(), value: value.clone(), ..Default::default() }
}

fn task_ids<'a>(tasks: impl IntoIterator<Item = &'a TaskId>) -> Vec<described::TaskIds> {
    by_subtopology(tasks, |subtopology_id, partitions| described::TaskIds {
        subtopology_id,
        partitions,
        ..Default::default()
    })
}

fn task_offsets(
    offsets: Option<&MemberOffsets>,
    which: impl Fn(&MemberOffsets) -> &std::collections::BTreeMap<TaskId, i64>,
) -> Vec<described::TaskOffset> {
    let offsets = offsets.into_iter().flat_map(which);
    let offset = |(task, offset): (&TaskId, &i64)| described::TaskOffset {
        subtopology_id: task.subtopology.clone(),
        partition: task.partition,
        offset: *offset,
        ..Default::default()
    };
    offsets.map(offset).collect()
}
