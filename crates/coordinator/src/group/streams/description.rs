//! Descriptions of topologies (KIP-1331, section 16): the graph of processors, for people to look at.
//!
//! Kafka gives them to a plugin. Here they are kept in the group's own topology record, in a tagged
//! field that Kafka does not know and skips, so they are written, replayed, compacted and deleted with
//! the group, and no second step can fail.
//!
//! StreamsGroupTopologyDescriptionUpdate, checks in order (TD-2), after those of the handler:
//! 1. member id, then group id are not blank   else INVALID_REQUEST
//! 2. the group is a streams group             else GROUP_ID_NOT_FOUND
//! 3. the member is one of its                 else UNKNOWN_MEMBER_ID
//! 4. the epoch is the group's topology epoch  else INVALID_REQUEST
//! 5. the description is not too large         else STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED, and
//!    nobody is asked for it again

use bytes::Bytes;
use catalog::Image;

use super::heartbeat::existing_group;
use super::image::may_deviate;
use super::request::{check_not_blank, invalid};
use super::{StreamsGroup, StreamsMember, records};
use crate::group::fail::Fail;
use crate::group::step::Step;
use crate::machine::{Entropy, Millis};
use wire::consumer_offsets::StreamsGroupTopologyValue;
use wire::streams_group_describe::response as described;
use wire::streams_group_topology_description_update::request as sent;
use wire::{
    EncodeError, ErrorCode, Message, RawTag, Reader, Str, StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse, Writer,
};

/// The tagged field of record 23 that holds a description: an update request of version 0 with empty
/// ids. Kafka counts its tags up from 0.
const TAG: u32 = 10_000;
/// Descriptions that are kept; one line per processor makes some ten kilobytes.
const BYTES_MAX: usize = 1 << 20;
/// The first version of heartbeats that can ask for a description.
const ASKING_VERSION: i16 = 1;
/// How long nobody is asked after somebody was, at first and at most (TD-1).
const FIRST_PAUSE: Millis = 30_000;
const LAST_PAUSE: Millis = 3_600_000;
/// The part of a pause by which it may be shorter or longer.
const JITTER: Millis = 5;

/// Values of `TopologyDescriptionStatus` (TD-4); 0 is the handler's, for who does not ask.
const NOT_STORED: i8 = 1;
const FAILED: i8 = 2;
const AVAILABLE: i8 = 3;

/// When a member was last asked for the description of a topology.
#[derive(Debug, Default)]
pub(super) struct Asked(Option<Ask>);

#[derive(Debug)]
struct Ask {
    topology_epoch: i32,
    until: Millis,
    pause: Millis,
}

impl Asked {
    /// True if nobody was asked lately; from now on somebody was. Each pause is twice the one before
    /// (TD-1), and a new topology starts anew.
    fn again(&mut self, topology_epoch: i32, now: Millis, entropy: &mut Entropy) -> bool {
        let pause = match self.0.as_ref().filter(|it| it.topology_epoch == topology_epoch) {
            Some(last) if now < last.until => return false,
            Some(last) => (last.pause * 2).min(LAST_PAUSE),
            None => FIRST_PAUSE,
        };
        let spread = pause / JITTER;
        let chance = entropy.next_u64() % spread.unsigned_abs().saturating_mul(2).max(1);
        let until = now + pause - spread + Millis::try_from(chance).unwrap_or(0);
        self.0 = Some(Ask { topology_epoch, until, pause });
        true
    }
}

/// Whether descriptions are kept; Kafka without a plugin keeps none.
pub fn keeps_descriptions(image: &Image) -> bool {
    may_deviate(image) && image.broker().thalweg_streams_topology_descriptions
}

/// TD-1: whether this member shall send its description. It is not asked for a topology that is not
/// the group's.
pub(super) fn is_wanted(
    image: &Image,
    api_version: i16,
    group: &StreamsGroup,
    member: &StreamsMember,
    asked: &mut Asked,
    (now, entropy): (Millis, &mut Entropy),
) -> bool {
    let Some(epoch) = group.topology.as_ref().map(|it| it.epoch()) else { return false };
    api_version >= ASKING_VERSION
        && !group.has_description()
        && group.failed_description_epoch != epoch
        && member.metadata.topology_epoch >= epoch
        && keeps_descriptions(image)
        && asked.again(epoch, now, entropy)
}

impl StreamsGroup {
    /// The description of the present topology is there. Of a log that Kafka wrote only the epoch is.
    fn has_description(&self) -> bool {
        self.description.is_some()
            && self.topology.as_ref().is_some_and(|it| it.epoch() == self.stored_description_epoch)
    }
}

/// TD-2 and TD-3.
pub fn update_description(
    step: &mut Step<'_>,
    request: &StreamsGroupTopologyDescriptionUpdateRequest,
) -> StreamsGroupTopologyDescriptionUpdateResponse {
    let (error_code, error_message) = match update(step, request) {
        Ok(()) => (ErrorCode::NONE, None),
        Err(fail) => (fail.code, fail.message.map(Str::from)),
    };
    StreamsGroupTopologyDescriptionUpdateResponse { error_code, error_message, ..Default::default() }
}

fn update(step: &mut Step<'_>, request: &StreamsGroupTopologyDescriptionUpdateRequest) -> Result<(), Fail> {
    check_not_blank("MemberId", Some(&request.member_id))?;
    check_not_blank("GroupId", Some(&request.group_id))?;
    let group_id = &request.group_id;
    let group = existing_group(&step.hard, group_id)?;
    if group.member(&request.member_id).is_none() {
        let message = format!("Member {} is not a member of group {group_id}.", request.member_id);
        return Err(Fail::new(ErrorCode::UNKNOWN_MEMBER_ID, message));
    }
    let epoch = request.topology_epoch;
    let Some(topology) = group.topology.as_ref().filter(|it| it.epoch() == epoch) else {
        let known = group.topology.as_ref().map_or(-1, |it| it.epoch());
        return Err(invalid(format!("The topology epoch is {epoch}, but the group's is {known}.")));
    };
    let (new, failure) = match encoded(request) {
        Ok(bytes) if bytes.len() > BYTES_MAX => {
            let size = bytes.len();
            (None, Some(format!("The description has {size} bytes, at most {BYTES_MAX} are kept.")))
        }
        Ok(bytes) => (Some(bytes), None),
        Err(error) => (None, Some(format!("The description can't be kept: {error}."))),
    };
    let is_known = group.has_description() && group.description == new;
    let metadata = match &new {
        Some(_) => records::description_epochs(group_id, group, epoch, -1),
        None => records::description_epochs(group_id, group, group.stored_description_epoch, epoch),
    };
    let topology = new.map(|data| records::described_topology(group_id, topology, RawTag { tag: TAG, data }));
    if !is_known {
        topology.into_iter().chain([metadata]).for_each(|record| step.record(record));
    }
    if let Some(soft) = step.soft.streams.get_mut(group_id) {
        soft.asked_for_description = Asked::default();
    }
    match failure {
        Some(message) => Err(Fail::new(ErrorCode::STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED, message)),
        None => Ok(()),
    }
}

fn encoded(request: &StreamsGroupTopologyDescriptionUpdateRequest) -> Result<Bytes, EncodeError> {
    let kept = StreamsGroupTopologyDescriptionUpdateRequest {
        topology_epoch: request.topology_epoch,
        topology_description: request.topology_description.clone(),
        ..Default::default()
    };
    let mut writer = Writer::new();
    kept.encode(&mut writer, 0)?;
    Ok(writer.into_bytes())
}

/// The bytes of the description in record 23, if it has one; a copy, for the record is part of a batch.
pub(super) fn of_record(value: &StreamsGroupTopologyValue) -> Option<Bytes> {
    let tag = value.unknown_tagged_fields.iter().find(|it| it.tag == TAG)?;
    Some(Bytes::copy_from_slice(&tag.data))
}

/// TD-4: status and description.
pub(super) fn describe(image: &Image, group: &StreamsGroup) -> (i8, Option<described::TopologyDescription>) {
    let Some(bytes) = group.description.as_ref().filter(|_| group.has_description()) else {
        return (NOT_STORED, None);
    };
    if !keeps_descriptions(image) {
        return (NOT_STORED, None);
    }
    match StreamsGroupTopologyDescriptionUpdateRequest::decode(&mut Reader::new(bytes.clone()), 0) {
        Ok(kept) => (AVAILABLE, Some(description(kept.topology_description))),
        Err(_) => (FAILED, None),
    }
}

fn description(it: sent::TopologyDescription) -> described::TopologyDescription {
    let subtopology = |it: sent::TopologyDescriptionSubtopology| described::TopologyDescriptionSubtopology {
        subtopology_id: it.subtopology_id,
        nodes: it.nodes.into_iter().map(node).collect(),
        ..Default::default()
    };
    let store = |it: sent::TopologyDescriptionGlobalStore| described::TopologyDescriptionGlobalStore {
        source: node(it.source),
        processor: node(it.processor),
        ..Default::default()
    };
    described::TopologyDescription {
        subtopologies: it.subtopologies.into_iter().map(subtopology).collect(),
        global_stores: it.global_stores.into_iter().map(store).collect(),
        ..Default::default()
    }
}

fn node(it: sent::TopologyDescriptionNode) -> described::TopologyDescriptionNode {
    described::TopologyDescriptionNode {
        name: it.name,
        node_type: it.node_type,
        source_topics: it.source_topics,
        sink_topic: it.sink_topic,
        stores: it.stores,
        successors: it.successors,
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 361: half a minute at first, twice as long each time, an hour at most, anew for a new topology.
    #[test]
    fn pauses_between_asking_double_up_to_an_hour() {
        let (mut asked, mut entropy, mut now) = (Asked::default(), Entropy::seeded(1), 0);
        for pause in [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600].map(|it| it * 1_000) {
            assert!(asked.again(0, now, &mut entropy));
            assert!(!asked.again(0, now + pause * 8 / 10 - 1, &mut entropy), "{pause}");
            now += pause * 12 / 10;
        }
        assert!(!asked.again(0, now - 3_600_000, &mut entropy));
        assert!(asked.again(1, now - 3_600_000, &mut entropy));
        assert!(!asked.again(1, now - 3_600_000 + 23_999, &mut entropy));
        assert!(asked.again(1, now - 3_600_000 + 36_000, &mut entropy));
    }

    #[test]
    fn every_field_of_a_description_comes_back() {
        let node = |name: &str, node_type| sent::TopologyDescriptionNode {
            name: name.into(),
            node_type,
            source_topics: vec!["in".into()],
            sink_topic: (node_type == 3).then(|| "out".into()),
            stores: vec!["store".into()],
            successors: vec!["next".into()],
            ..Default::default()
        };
        let topology_description = sent::TopologyDescription {
            subtopologies: vec![sent::TopologyDescriptionSubtopology {
                subtopology_id: "0".into(),
                nodes: vec![node("a", 1), node("b", 2), node("c", 3)],
                ..Default::default()
            }],
            global_stores: vec![sent::TopologyDescriptionGlobalStore {
                source: node("s", 1),
                processor: node("p", 2),
                ..Default::default()
            }],
            ..Default::default()
        };
        let request =
            StreamsGroupTopologyDescriptionUpdateRequest { topology_description, ..Default::default() };
        let bytes = encoded(&request).expect("fits");
        let kept = StreamsGroupTopologyDescriptionUpdateRequest::decode(&mut Reader::new(bytes), 0);
        let shown = description(kept.expect("was encoded").topology_description);
        let (original, shown) = (format!("{:?}", request.topology_description), format!("{shown:?}"));
        assert_eq!(shown, original);
    }
}
