//! Which partitions each endpoint of an application serves, for interactive queries (section 7).

use std::collections::BTreeMap;

use catalog::Image;

use super::configure::ConfiguredTopology;
use super::soft::StreamsSoft;
use super::tasks::TaskId;
use super::{StreamsGroup, StreamsMember};
use wire::Str;
use wire::streams_group_heartbeat::response::{Endpoint, EndpointToPartitions, TopicPartition};

pub(super) type Entry = EndpointToPartitions;

/// E-5: one entry for each member that has an endpoint; threads of one process share theirs, and the
/// client merges them. Made once per change of the member (E-1).
pub(super) fn entries(image: &Image, group: &StreamsGroup, soft: &mut StreamsSoft) -> Vec<Entry> {
    let StreamsSoft { configured, endpoints, .. } = soft;
    let mut entries = Vec::new();
    for (id, member) in group.members() {
        if let Some(known) = endpoints.get(id) {
            entries.push(known.clone());
        } else if let Some(entry) = entry(image, configured.as_deref(), member) {
            endpoints.insert(id.clone(), entry.clone());
            entries.push(entry);
        }
    }
    entries
}

/// Warm-ups count as standbys. Without a configured topology the lists are empty, where Kafka fails
/// with an internal error that ends the client's thread (E-7, K-3).
fn entry(image: &Image, configured: Option<&ConfiguredTopology>, member: &StreamsMember) -> Option<Entry> {
    let endpoint = member.metadata.user_endpoint.as_ref()?;
    let assigned = &member.current.assigned;
    let partitions = |tasks: &mut dyn Iterator<Item = &TaskId>| match configured {
        Some(configured) => partitions(image, configured, tasks),
        None => Vec::new(),
    };
    Some(Entry {
        user_endpoint: Endpoint { host: endpoint.host.clone(), port: endpoint.port, ..Default::default() },
        active_partitions: partitions(&mut assigned.active.keys()),
        standby_partitions: partitions(&mut assigned.standby.iter().chain(&assigned.warmup)),
        ..Default::default()
    })
}

/// E-6: of each topic that a task's subtopology reads, the partitions that the topic really has;
/// topics that are gone or have none of them are left out.
fn partitions(
    image: &Image,
    configured: &ConfiguredTopology,
    tasks: &mut dyn Iterator<Item = &TaskId>,
) -> Vec<TopicPartition> {
    let mut by_subtopology: BTreeMap<&Str, Vec<i32>> = BTreeMap::new();
    for task in tasks {
        by_subtopology.entry(&task.subtopology).or_default().push(task.partition);
    }
    let mut lists = Vec::new();
    for (subtopology, mut numbers) in by_subtopology {
        numbers.sort_unstable();
        let Some(subtopology) = configured.subtopology(subtopology) else { continue };
        let repartition_topics = subtopology.repartition_source_topics.iter().map(|it| &it.name);
        for topic in subtopology.source_topics.iter().chain(repartition_topics) {
            let Some(known) = image.topic(&topic.to_str()) else { continue };
            let exists =
                |number: &&i32| usize::try_from(**number).is_ok_and(|it| it < known.partitions.len());
            let partitions: Vec<_> = numbers.iter().filter(exists).copied().collect();
            if !partitions.is_empty() {
                lists.push(TopicPartition { topic: topic.clone(), partitions, ..Default::default() });
            }
        }
    }
    lists
}
