//! Consumers that follow their protocol: what they send next, and what they make of an answer.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use coordinator::Ticket;
use wire::consumer_group_heartbeat::request::TopicPartitions;
use wire::join_group::request::JoinGroupRequestProtocol;
use wire::sync_group::request::SyncGroupRequestAssignment;
use wire::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ConsumerProtocolAssignment,
    ConsumerProtocolSubscription, ErrorCode, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, Message,
    Reader, Str, SyncGroupRequest, SyncGroupResponse, Uuid, Writer, consumer_protocol_assignment,
    consumer_protocol_subscription,
};

pub(crate) const GROUP: &str = "g";
/// Version of what classic consumers say.
const SAID_VERSION: i16 = 3;

/// Partitions by topic id, as a client believes to own them.
pub(crate) type Owned = BTreeMap<Uuid, Vec<i32>>;
/// Topics that exist: id and number of partitions by name.
pub(crate) type Topics = BTreeMap<Str, (Uuid, usize)>;

#[derive(Default, Clone, Debug)]
pub(crate) struct Client {
    pub instance: Option<Str>,
    pub names: BTreeSet<Str>,
    pub owned: Owned,
    pub protocol: Protocol,
    /// The answer that it waits for. Others are of requests that it gave up.
    pub awaits: Option<Ticket>,
}

#[derive(Clone, Debug)]
pub(crate) enum Protocol {
    Consumer(Consumer),
    Classic(Classic),
}

impl Default for Protocol {
    fn default() -> Self {
        Self::Consumer(Consumer::default())
    }
}

#[derive(Default, Clone, Debug)]
pub(crate) struct Consumer {
    pub regex: Option<Str>,
    pub assignor: Option<Str>,
    pub epoch: i32,
    /// What it owns or wants changed since it was last told.
    pub changed: bool,
}

#[derive(Default, Clone, Debug)]
pub(crate) struct Classic {
    /// Gives up everything before it joins.
    pub is_eager: bool,
    pub id: Str,
    pub generation: i32,
    pub step: Step,
}

#[derive(Default, Clone, Debug)]
pub(crate) enum Step {
    #[default]
    Join,
    /// With what it assigns, if it leads.
    Sync(Vec<SyncGroupRequestAssignment>),
    Heartbeat,
}

/// Whether a client goes on after an answer.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Next {
    GoesOn,
    /// It was fenced, or can't be in this group.
    Stops,
}

impl Client {
    /// Its id in the group; empty if it has none.
    pub(crate) fn id<'a>(&'a self, key: &'a Str) -> &'a Str {
        match &self.protocol {
            Protocol::Consumer(_) => key,
            Protocol::Classic(it) => &it.id,
        }
    }

    /// Epoch or generation with which it may commit.
    pub(crate) fn epoch(&self) -> Option<i32> {
        match &self.protocol {
            Protocol::Consumer(it) => Some(it.epoch).filter(|it| *it > 0),
            Protocol::Classic(it) => matches!(it.step, Step::Heartbeat).then_some(it.generation),
        }
    }

    pub(crate) fn heartbeat(
        &mut self,
        key: &Str,
        epoch: i32,
        tells_all: bool,
    ) -> ConsumerGroupHeartbeatRequest {
        let Protocol::Consumer(it) = &mut self.protocol else { unreachable!("a classic client") };
        let mut request = ConsumerGroupHeartbeatRequest {
            group_id: GROUP.into(),
            member_id: key.clone(),
            member_epoch: epoch,
            instance_id: self.instance.clone(),
            rebalance_timeout_ms: -1,
            ..Default::default()
        };
        if epoch == 0 || (epoch > 0 && (it.changed || tells_all)) {
            let owned = self.owned.iter().filter(|_| epoch > 0);
            let owned = owned.map(|(topic_id, partitions)| TopicPartitions {
                topic_id: *topic_id,
                partitions: partitions.clone(),
                ..Default::default()
            });
            request.rebalance_timeout_ms = 20_000;
            request.topic_partitions = Some(owned.collect());
            request.subscribed_topic_names = Some(self.names.iter().cloned().collect());
            request.subscribed_topic_regex = Some(it.regex.clone().unwrap_or_default());
            request.server_assignor = it.assignor.clone();
            it.changed = false;
        }
        request
    }

    pub(crate) fn hear(&mut self, response: &ConsumerGroupHeartbeatResponse) {
        let Protocol::Consumer(it) = &mut self.protocol else { return };
        let code = response.error_code;
        if code != ErrorCode::NONE {
            let expected = [
                ErrorCode::UNKNOWN_MEMBER_ID,
                ErrorCode::FENCED_MEMBER_EPOCH,
                // The group is gone, or it is a classic one now.
                ErrorCode::GROUP_ID_NOT_FOUND,
                // A static member whose old self is still there, or was replaced.
                ErrorCode::UNRELEASED_INSTANCE_ID,
                ErrorCode::FENCED_INSTANCE_ID,
            ];
            assert!(expected.contains(&code), "{} {:?}", code.name(), response.error_message);
            (it.epoch, self.owned) = (0, Owned::new());
            return;
        }
        assert!(response.member_epoch > 0, "a joined member never sees epoch 0");
        it.epoch = response.member_epoch;
        if let Some(assignment) = &response.assignment {
            let owned = assignment.topic_partitions.iter().map(|it| (it.topic_id, it.partitions.clone()));
            let owned: Owned = owned.collect();
            it.changed |= owned != self.owned;
            self.owned = owned;
        }
    }

    /// An eager client gives up all it has with this.
    pub(crate) fn join(&mut self, topics: &Topics, session_ms: i32) -> JoinGroupRequest {
        let Protocol::Classic(it) = &self.protocol else { unreachable!("a client of the consumer protocol") };
        if it.is_eager {
            self.owned.clear();
        }
        let name =
            |id: &Uuid| topics.iter().find(|(_, (known, _))| known == id).map(|(name, _)| name.clone());
        let owned = self.owned.iter().filter_map(|(id, partitions)| Some((name(id)?, partitions.clone())));
        let said = ConsumerProtocolSubscription {
            topics: self.names.iter().cloned().collect(),
            owned_partitions: owned
                .map(|(topic, partitions)| consumer_protocol_subscription::TopicPartition {
                    topic,
                    partitions,
                })
                .collect(),
            ..Default::default()
        };
        let protocol = JoinGroupRequestProtocol {
            name: "range".into(),
            metadata: versioned(&said),
            ..Default::default()
        };
        JoinGroupRequest {
            group_id: GROUP.into(),
            member_id: it.id.clone(),
            group_instance_id: self.instance.clone(),
            protocol_type: "consumer".into(),
            protocols: vec![protocol],
            session_timeout_ms: session_ms,
            rebalance_timeout_ms: 2 * session_ms,
            ..Default::default()
        }
    }

    pub(crate) fn hear_join(&mut self, response: &JoinGroupResponse, topics: &Topics) -> Next {
        let Protocol::Classic(it) = &mut self.protocol else { return Next::GoesOn };
        let code = response.error_code;
        match code {
            ErrorCode::NONE => {
                it.id = response.member_id.clone();
                it.generation = response.generation_id;
                let leads = response.leader == it.id && !response.skip_assignment;
                it.step = Step::Sync(if leads { assign(response, topics) } else { Vec::new() });
            }
            ErrorCode::MEMBER_ID_REQUIRED => it.id = response.member_id.clone(),
            ErrorCode::UNKNOWN_MEMBER_ID => {
                it.id = Str::default();
                self.owned.clear();
            }
            ErrorCode::REBALANCE_IN_PROGRESS => {}
            // Another one took its instance; or the policy keeps the protocols apart.
            ErrorCode::FENCED_INSTANCE_ID | ErrorCode::INCONSISTENT_GROUP_PROTOCOL => return Next::Stops,
            _ => panic!("a join: {}", code.name()),
        }
        Next::GoesOn
    }

    pub(crate) fn sync(&self) -> SyncGroupRequest {
        let Protocol::Classic(it) = &self.protocol else { unreachable!("a client of the consumer protocol") };
        let Step::Sync(assignments) = &it.step else { unreachable!("it does not sync now") };
        SyncGroupRequest {
            group_id: GROUP.into(),
            generation_id: it.generation,
            member_id: it.id.clone(),
            group_instance_id: self.instance.clone(),
            protocol_type: Some("consumer".into()),
            protocol_name: Some("range".into()),
            assignments: assignments.clone(),
            ..Default::default()
        }
    }

    pub(crate) fn hear_sync(&mut self, response: &SyncGroupResponse, topics: &Topics) -> Next {
        if response.error_code != ErrorCode::NONE {
            return self.hear_refusal(response.error_code);
        }
        let Protocol::Classic(it) = &mut self.protocol else { return Next::GoesOn };
        let assigned = assigned(&response.assignment, topics);
        let gave_up = self.owned.iter().any(|(topic, partitions)| {
            let kept = assigned.get(topic);
            partitions.iter().any(|it| !kept.is_some_and(|kept| kept.contains(it)))
        });
        self.owned = assigned;
        // One that gave something up says so, that others can have it.
        it.step = if gave_up { Step::Join } else { Step::Heartbeat };
        Next::GoesOn
    }

    pub(crate) fn classic_heartbeat(&self) -> HeartbeatRequest {
        let Protocol::Classic(it) = &self.protocol else { unreachable!("a client of the consumer protocol") };
        HeartbeatRequest {
            group_id: GROUP.into(),
            generation_id: it.generation,
            member_id: it.id.clone(),
            group_instance_id: self.instance.clone(),
            ..Default::default()
        }
    }

    pub(crate) fn hear_refusal(&mut self, code: ErrorCode) -> Next {
        let Protocol::Classic(it) = &mut self.protocol else { return Next::GoesOn };
        match code {
            ErrorCode::NONE => return Next::GoesOn,
            ErrorCode::REBALANCE_IN_PROGRESS => {}
            ErrorCode::UNKNOWN_MEMBER_ID => {
                it.id = Str::default();
                self.owned.clear();
            }
            ErrorCode::ILLEGAL_GENERATION => self.owned.clear(),
            ErrorCode::FENCED_INSTANCE_ID => return Next::Stops,
            _ => panic!("a sync or heartbeat: {}", code.name()),
        }
        it.step = Step::Join;
        Next::GoesOn
    }
}

/// What a leader assigns: partitions in turn to those that want the topic. What somebody else still has is
/// left out; its owner gives it up, and joins again.
fn assign(response: &JoinGroupResponse, topics: &Topics) -> Vec<SyncGroupRequestAssignment> {
    let said: BTreeMap<&Str, ConsumerProtocolSubscription> = response
        .members
        .iter()
        .map(|it| {
            let body = it.metadata.slice(2..);
            (
                &it.member_id,
                ConsumerProtocolSubscription::decode(&mut Reader::new(body), SAID_VERSION).unwrap(),
            )
        })
        .collect();
    let mut given: BTreeMap<&Str, BTreeMap<Str, Vec<i32>>> =
        said.keys().map(|it| (*it, BTreeMap::new())).collect();
    for (topic, (_, partitions)) in topics {
        let wanting: Vec<&Str> =
            said.iter().filter(|(_, it)| it.topics.contains(topic)).map(|(id, _)| *id).collect();
        for partition in (0..*partitions).filter(|_| !wanting.is_empty()) {
            let to = wanting[partition % wanting.len()];
            let partition = i32::try_from(partition).unwrap();
            let has = |it: &ConsumerProtocolSubscription| {
                it.owned_partitions.iter().any(|it| it.topic == *topic && it.partitions.contains(&partition))
            };
            if said.iter().all(|(id, it)| *id == to || !has(it)) {
                given.get_mut(to).unwrap().entry(topic.clone()).or_default().push(partition);
            }
        }
    }
    let assignment = |topics: BTreeMap<Str, Vec<i32>>| {
        let assigned = topics.into_iter();
        let assigned_partitions = assigned
            .map(|(topic, partitions)| consumer_protocol_assignment::TopicPartition { topic, partitions })
            .collect();
        versioned(&ConsumerProtocolAssignment { assigned_partitions, user_data: None })
    };
    let given = given.into_iter();
    given
        .map(|(member, topics)| SyncGroupRequestAssignment {
            member_id: member.clone(),
            assignment: assignment(topics),
            ..Default::default()
        })
        .collect()
}

fn assigned(bytes: &Bytes, topics: &Topics) -> Owned {
    if bytes.is_empty() {
        return Owned::new();
    }
    let it = ConsumerProtocolAssignment::decode(&mut Reader::new(bytes.slice(2..)), SAID_VERSION).unwrap();
    let assigned = it.assigned_partitions.into_iter();
    assigned.filter_map(|it| Some((topics.get(&it.topic)?.0, it.partitions))).collect()
}

fn versioned(it: &impl Message) -> Bytes {
    let mut writer = Writer::new();
    writer.i16(SAID_VERSION);
    it.encode(&mut writer, SAID_VERSION).unwrap();
    writer.into_bytes()
}
