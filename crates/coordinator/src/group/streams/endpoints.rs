//! Which partitions each endpoint of an application serves, for interactive queries (section 7).
//!
//! Every answer that tells them tells all of them, so they are kept as the bytes of the answer: those of a member are
//! made once per change of the member (E-1), the list once per endpoint epoch.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use catalog::Image;

use super::configure::ConfiguredTopology;
use super::tasks::TaskId;
use super::{StreamsGroup, StreamsMember};
use wire::streams_group_heartbeat::response::{Endpoint, EndpointToPartitions, TopicPartition};
use wire::{Message, Reader, Str, StreamsGroupHeartbeatResponse, Writer};

type Entry = EndpointToPartitions;

/// Any version: they write endpoints alike.
const VERSION: i16 = 1;
/// The field is the last one of the response, and only the number of its tagged fields follows: none.
const BEHIND: usize = 1;
/// What the field takes when it is null.
const NULL: usize = 1;

/// The endpoints of a group, as an answer carries them. Bounded by its members.
#[derive(Debug, Default)]
pub(super) struct Endpoints {
    /// Of members with an endpoint.
    by_member: BTreeMap<Str, Bytes>,
    /// Members whose bytes are to be made anew.
    stale: BTreeSet<Str>,
    /// Whether `by_member` and `stale` know of all members together.
    complete: bool,
    /// The list of all, if nothing changed since.
    list: Option<Bytes>,
}

impl Endpoints {
    /// The topics are others: all is to be made anew.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The tasks or the endpoint of a member changed.
    pub(super) fn changed(&mut self, member_id: &Str) {
        if self.complete {
            self.stale.insert(member_id.clone());
            self.list = None;
        }
    }

    /// The member is gone.
    pub(super) fn forget(&mut self, member_id: &Str) {
        self.stale.remove(member_id);
        if self.by_member.remove(member_id).is_some() {
            self.list = None;
        }
    }

    /// A member beats: one that came back under this id was never seen to change.
    pub(super) fn heard(&mut self, member_id: &Str, member: &StreamsMember) {
        if self.complete && member.metadata.user_endpoint.is_some() && !self.by_member.contains_key(member_id)
        {
            self.changed(member_id);
        }
    }

    /// E-5: one entry for each member that has an endpoint; threads of one process share theirs, and the
    /// client merges them.
    pub(super) fn list(
        &mut self,
        image: &Image,
        configured: Option<&ConfiguredTopology>,
        group: &StreamsGroup,
    ) -> Bytes {
        if !std::mem::replace(&mut self.complete, true) {
            self.stale.extend(group.members().keys().cloned());
            self.list = None;
        }
        for id in std::mem::take(&mut self.stale) {
            let entry = group.member(&id).and_then(|member| entry(image, configured, member));
            match entry.and_then(encoded) {
                Some(entry) => self.by_member.insert(id, entry),
                None => self.by_member.remove(&id),
            };
        }
        self.list.get_or_insert_with(|| joined(&self.by_member)).clone()
    }
}

/// The field with these entries, if it can be written.
fn field(entries: Vec<Entry>) -> Option<Bytes> {
    let response = |entries| StreamsGroupHeartbeatResponse {
        partitions_by_user_endpoint: entries,
        ..Default::default()
    };
    let encoded = |entries| response(entries).to_bytes(VERSION).ok();
    let before = encoded(None)?.len().checked_sub(NULL + BEHIND)?;
    let with = encoded(Some(entries))?;
    Some(with.slice(before..with.len().checked_sub(BEHIND)?))
}

/// An entry. The number of entries, which stands before it in the field, is one byte.
fn encoded(entry: Entry) -> Option<Bytes> {
    Some(field(vec![entry])?.slice(1..))
}

fn joined(by_member: &BTreeMap<Str, Bytes>) -> Bytes {
    let mut list = Writer::with_capacity(5 + by_member.values().map(Bytes::len).sum::<usize>());
    list.count(by_member.len(), true);
    by_member.values().for_each(|entry| list.raw(entry));
    list.into_bytes()
}

/// The response with the list that stands beside it, for those who look at it.
pub(in crate::group) fn whole(
    response: &StreamsGroupHeartbeatResponse,
    list: &Bytes,
) -> Option<StreamsGroupHeartbeatResponse> {
    let without = StreamsGroupHeartbeatResponse::default().to_bytes(VERSION).ok()?;
    let mut bytes = Writer::new();
    bytes.raw(without.get(..without.len().checked_sub(NULL + BEHIND)?)?);
    bytes.raw(list);
    bytes.raw(&[0; BEHIND]);
    let decoded =
        StreamsGroupHeartbeatResponse::decode(&mut Reader::new(bytes.into_bytes()), VERSION).ok()?;
    let partitions_by_user_endpoint = decoded.partitions_by_user_endpoint;
    Some(StreamsGroupHeartbeatResponse { partitions_by_user_endpoint, ..response.clone() })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::streams;

    fn group(members: &[(&str, Option<u16>)]) -> StreamsGroup {
        let member = |port: Option<u16>| {
            let user_endpoint = port.map(|port| streams::Endpoint { host: Str::from("h"), port });
            let metadata = streams::MemberMetadata { user_endpoint, ..Default::default() };
            StreamsMember { metadata, ..Default::default() }
        };
        let members = members.iter().map(|(id, port)| (Str::from(*id), member(*port))).collect();
        StreamsGroup { members, ..Default::default() }
    }

    fn ports(list: &Bytes) -> Vec<u16> {
        let whole = whole(&StreamsGroupHeartbeatResponse::default(), list).unwrap();
        whole.partitions_by_user_endpoint.unwrap().iter().map(|it| it.user_endpoint.port).collect()
    }

    /// 178: made once, and anew for whom it changed.
    #[test]
    fn endpoints_are_kept_until_somebody_changes() {
        let (mut kept, image) = (Endpoints::default(), Image::default());
        let list = |kept: &mut Endpoints, group: &StreamsGroup| kept.list(&image, None, group);
        let two = group(&[("a", Some(1)), ("b", None), ("c", Some(3))]);
        let first = list(&mut kept, &two);
        assert_eq!(ports(&first), [1, 3]);
        assert_eq!(list(&mut kept, &two).as_ptr(), first.as_ptr());
        // Members that changed, with what they are now; others stay as they were known.
        let other = group(&[("a", Some(7)), ("b", Some(8)), ("c", Some(9)), ("d", Some(10))]);
        kept.changed(&Str::from("a"));
        kept.changed(&Str::from("b"));
        assert_eq!(ports(&list(&mut kept, &other)), [7, 8, 3]);
        kept.heard(&Str::from("d"), other.member(&Str::from("d")).unwrap());
        assert_eq!(ports(&list(&mut kept, &other)), [7, 8, 3, 10]);
        kept.forget(&Str::from("b"));
        assert_eq!(ports(&list(&mut kept, &other)), [7, 3, 10]);
        // Another topology.
        kept.clear();
        assert_eq!(ports(&list(&mut kept, &other)), [7, 8, 9, 10]);
    }

    #[test]
    fn a_list_may_be_empty_or_long() {
        let list = |group: &StreamsGroup| Endpoints::default().list(&Image::default(), None, group);
        assert_eq!(list(&group(&[("a", None)])), Bytes::from_static(&[1]));
        let names: Vec<_> = (0..200).map(|it| format!("{it:03}")).collect();
        let many: Vec<_> = names.iter().map(|it| (it.as_str(), Some(5))).collect();
        assert_eq!(ports(&list(&group(&many))).len(), 200);
    }
}
