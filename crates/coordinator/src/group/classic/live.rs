//! A classic group as it is: state, members, who waits (6.1, 6.2).
//!
//! The functions here change one group and keep its counts right. What a change means for timers,
//! answers and records stands in the files beside.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use wire::consumer_offsets::group_metadata_value::{GroupMetadataValue, MemberMetadata};
use wire::consumer_offsets::{GroupMetadataKey, Record};
use wire::join_group::response::JoinGroupResponseMember;
use wire::{ConsumerProtocolSubscription, ErrorCode, Message, Reader, Str};

use super::{ClassicGroup, StoredMember};
use crate::group::consumer::partitions::Partitions;
use crate::group::offsets::expire::Retention;
use crate::group::roll::Roll;
use crate::machine::{Millis, Ticket};

/// The protocol type of consumers; the group looks into what its members say only for this one.
pub(in crate::group) const CONSUMER: &str = "consumer";

/// States of 6.2. Dead is missing: a group without a shard is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No members; offsets may be there.
    Empty,
    /// Members are called to join.
    Preparing,
    /// Members joined and wait for the assignment of their leader.
    Completing,
    /// All is assigned.
    Stable,
}

impl State {
    /// The name in responses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Preparing => "PreparingRebalance",
            Self::Completing => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}

/// A classic group as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    pub(in crate::group) state: State,
    pub(in crate::group) previous: State,
    /// When the group came into its state; none in a record of an old broker.
    pub(in crate::group) state_timestamp: Option<Millis>,
    pub(in crate::group) generation: i32,
    /// Of the first member since the group was last without; stays when all are gone.
    pub(in crate::group) protocol_type: Option<Str>,
    /// Of this generation.
    pub(in crate::group) protocol: Option<Str>,
    pub(in crate::group) leader: Option<Str>,
    pub(in crate::group) members: Roll<Member>,
    /// Instance id → member id.
    pub(in crate::group) instances: BTreeMap<Str, Str>,
    /// Member ids given out with MEMBER_ID_REQUIRED and not used yet. Each has a session timer, which
    /// bounds their number.
    pub(in crate::group) pending: BTreeSet<Str>,
    /// Members that did not sync in this generation.
    pub(in crate::group) pending_sync: BTreeSet<Str>,
    /// Extends the initial delay.
    pub(in crate::group) new_member_added: bool,
    /// Set while the timer of the join phase is that of the initial delay.
    pub(in crate::group) initial: Option<InitialDelay>,
    /// Members with a parked join.
    awaiting: usize,
    /// Protocol name → number of members that offer it.
    offered: BTreeMap<Str, usize>,
    /// Topics of all members; none: not known.
    subscribed: Option<BTreeSet<Str>>,
}

/// 6.11.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::group) struct InitialDelay {
    /// The wait that the timer stands for.
    pub waited: Millis,
    /// What may still be waited after it.
    pub remaining: Millis,
}

/// One member as a consumer group takes it over (18.5).
#[derive(Debug, Clone, PartialEq)]
pub(in crate::group) struct Consumer {
    pub instance_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    pub rebalance_timeout_ms: i32,
    pub session_timeout_ms: i32,
    pub protocols: Vec<(Str, Bytes)>,
    /// What it said for the group's protocol.
    pub subscription: Bytes,
    pub assignment: Bytes,
    pub holds: Holds,
}

/// What a member owns, as far as the coordinator can know. A consumer that gives partitions up one by one goes
/// on with what it has until it gets a new assignment.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::group) enum Holds {
    /// It heartbeats in this generation, so it got its assignment.
    Assignment,
    /// What it said when it joined.
    AsSaid,
    /// What it had in the consumer group that this one was.
    This(Partitions),
}

/// One member.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::group) struct Member {
    pub instance_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    pub rebalance_timeout_ms: i32,
    pub session_timeout_ms: i32,
    /// Name and metadata, in the member's order of preference.
    pub protocols: Vec<(Str, Bytes)>,
    pub assignment: Bytes,
    /// A join that waits for the end of the join phase. Set by the group only, which counts.
    pub join: Option<Ticket>,
    /// A sync that waits for the leader's.
    pub sync: Option<Ticket>,
    /// Joined since the last generation; its session is that of a new member (6.8).
    pub is_new: bool,
    pub holds: Holds,
}

impl Member {
    /// What the member said for a protocol.
    pub(in crate::group) fn metadata(&self, protocol: &Str) -> Bytes {
        let found = self.protocols.iter().find(|(name, _)| name == protocol);
        found.map(|(_, metadata)| metadata.clone()).unwrap_or_default()
    }
}

impl Live {
    /// A group that nobody joined yet.
    pub(super) fn new(now: Millis) -> Self {
        Self {
            state: State::Empty,
            previous: State::Empty,
            state_timestamp: Some(now),
            generation: 0,
            protocol_type: None,
            protocol: None,
            leader: None,
            members: Roll::default(),
            instances: BTreeMap::new(),
            pending: BTreeSet::new(),
            pending_sync: BTreeSet::new(),
            new_member_added: false,
            initial: None,
            awaiting: 0,
            offered: BTreeMap::new(),
            subscribed: None,
        }
    }

    /// 21.2: the group that a record tells of.
    pub(super) fn of(record: &ClassicGroup) -> Self {
        let state = if record.members.is_empty() { State::Empty } else { State::Stable };
        let mut live = Self {
            state,
            state_timestamp: (record.state_timestamp != -1).then_some(record.state_timestamp),
            generation: record.generation,
            protocol_type: Some(record.protocol_type.clone()).filter(|it| !it.is_empty()),
            protocol: record.protocol.clone(),
            leader: record.leader.clone(),
            ..Self::new(0)
        };
        for (id, member) in &record.members {
            live.insert(id.clone(), stored(member, record.protocol.as_ref()));
        }
        live.subscribed = live.compute_subscribed();
        live
    }

    /// 18.6: a stable group of members that a consumer group had; the first one leads. `assignment` gives
    /// what a member has, from its id and what it said for the group's protocol.
    pub(super) fn of_consumers(
        generation: i32,
        now: Millis,
        members: Vec<(Str, Member)>,
        assignment: impl Fn(&Str, &Bytes) -> Bytes,
    ) -> Self {
        let mut live = Self { state: State::Stable, generation, ..Self::new(now) };
        for (id, member) in members {
            live.add(id, member, &Str::from_static(CONSUMER));
        }
        live.protocol = live.select_protocol();
        live.subscribed = live.compute_subscribed();
        let protocol = live.protocol.clone();
        live.members.for_each_mut(|id, member| {
            let metadata = protocol.as_ref().map(|it| member.metadata(it));
            member.assignment = assignment(id, &metadata.unwrap_or_default());
        });
        live
    }

    pub fn state(&self) -> State {
        self.state
    }

    /// Name of the state on the wire.
    pub fn state_name(&self) -> &'static str {
        self.state.name()
    }

    pub fn protocol_type(&self) -> Option<&Str> {
        self.protocol_type.as_ref()
    }

    /// True without members; ids may have been given out.
    pub fn is_empty(&self) -> bool {
        self.state == State::Empty
    }

    pub fn generation(&self) -> i32 {
        self.generation
    }

    pub fn has_member(&self, id: &Str) -> bool {
        self.members.contains_key(id)
    }

    pub(in crate::group) fn member_count(&self) -> usize {
        self.members.len()
    }

    /// All members by their ids. A group that has no protocol yet, or a member that no longer offers the
    /// group's, is taken at its first word; consumers say the same for each protocol.
    pub(in crate::group) fn consumers(&self) -> impl Iterator<Item = (Str, Consumer)> {
        self.members.iter().map(|(id, it)| {
            let of_group = it.protocols.iter().find(|(name, _)| Some(name) == self.protocol.as_ref());
            let subscription =
                of_group.or_else(|| it.protocols.first()).map(|(_, metadata)| metadata.clone());
            let consumer = Consumer {
                instance_id: it.instance_id.clone(),
                client_id: it.client_id.clone(),
                client_host: it.client_host.clone(),
                rebalance_timeout_ms: it.rebalance_timeout_ms,
                session_timeout_ms: it.session_timeout_ms,
                protocols: it.protocols.clone(),
                subscription: subscription.unwrap_or_default(),
                assignment: it.assignment.clone(),
                holds: it.holds.clone(),
            };
            (id.clone(), consumer)
        })
    }

    /// True if the members are consumers.
    pub fn is_of_consumers(&self) -> bool {
        self.protocol_type.as_ref().is_some_and(|it| it == CONSUMER)
    }

    /// 9.6 rule 3, 9.7. Unknown topics of consumers count as subscribed.
    pub fn subscribes_to(&self, topic: &Str) -> bool {
        self.subscribed.as_ref().map_or_else(|| self.is_of_consumers(), |it| it.contains(topic))
    }

    /// 6.6 rule 4: the instance id, if given, is mapped to the member id, and the member exists.
    pub fn validate_member(&self, member: &Str, instance: Option<&Str>) -> Result<(), ErrorCode> {
        if let Some(instance) = instance {
            match self.instances.get(instance) {
                None => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
                Some(mapped) if mapped != member => return Err(ErrorCode::FENCED_INSTANCE_ID),
                Some(_) => {}
            }
        }
        if self.has_member(member) { Ok(()) } else { Err(ErrorCode::UNKNOWN_MEMBER_ID) }
    }

    /// 9.7. The members of a group that is not of consumers, or whose topics are not known, may need any offset.
    pub fn retention(&self) -> Retention {
        match self.state {
            _ if self.protocol_type.is_none() => Retention::SinceCommit,
            State::Empty => self.state_timestamp.map_or(Retention::SinceCommit, Retention::Since),
            State::Stable if self.is_of_consumers() && self.subscribed.is_some() => Retention::SinceCommit,
            State::Preparing | State::Completing | State::Stable => Retention::Unlimited,
        }
    }

    pub(super) fn is_leader(&self, member: &Str) -> bool {
        self.leader.as_ref() == Some(member)
    }

    /// 6.2.
    pub(super) fn can_rebalance(&self) -> bool {
        match self.state {
            State::Stable | State::Completing | State::Empty => true,
            State::Preparing => false,
        }
    }

    /// Into another state; the table of 6.2 holds.
    pub(super) fn transition(&mut self, to: State, now: Millis) {
        let legal = match to {
            State::Empty | State::Completing => self.state == State::Preparing,
            State::Preparing => self.can_rebalance(),
            State::Stable => self.state == State::Completing,
        };
        assert!(legal, "a classic group goes from {:?} to {to:?}", self.state);
        self.previous = std::mem::replace(&mut self.state, to);
        self.state_timestamp = Some(now);
    }

    pub(super) fn awaiting(&self) -> usize {
        self.awaiting
    }

    /// True if nobody is missing in the join phase.
    pub(super) fn all_joined(&self) -> bool {
        self.awaiting == self.members.len() && self.pending.is_empty()
    }

    /// The longest rebalance timeout of the members.
    pub(super) fn rebalance_timeout(&self) -> Millis {
        self.members.values().map(|it| Millis::from(it.rebalance_timeout_ms)).max().unwrap_or(0)
    }

    /// 6.5 rule 2: the type fits, and one of the protocols is offered by every member.
    pub(super) fn supports(&self, protocol_type: &Str, protocols: &[(Str, Bytes)]) -> bool {
        if self.state == State::Empty {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        self.protocol_type.as_ref() == Some(protocol_type)
            && protocols.iter().any(|(name, _)| self.is_candidate(name))
    }

    /// Protocols by the number of members that offer them.
    pub(in crate::group) fn offered(&self) -> &BTreeMap<Str, usize> {
        &self.offered
    }

    /// True for a protocol that every member offers; for any if all left before the first generation began.
    fn is_candidate(&self, protocol: &Str) -> bool {
        self.offered.get(protocol).copied().unwrap_or(0) == self.members.len()
    }

    /// 6.13: each member votes for its first candidate, most votes win. Among equals the one that the
    /// leader likes best; Kafka leaves that open.
    pub(super) fn select_protocol(&self) -> Option<Str> {
        let mut votes: BTreeMap<&Str, usize> = BTreeMap::new();
        for member in self.members.values() {
            let (vote, _) = member.protocols.iter().find(|(name, _)| self.is_candidate(name))?;
            *votes.entry(vote).or_default() += 1;
        }
        let most = votes.values().copied().max()?;
        let leader = self.leader.as_ref().and_then(|it| self.members.get(it))?;
        let won = leader.protocols.iter().map(|(name, _)| name).find(|it| votes.get(it) == Some(&most));
        won.or_else(|| votes.iter().find(|(_, count)| **count == most).map(|(name, _)| *name)).cloned()
    }

    /// 6.8 rule 3. The first member gives the group its type, and leads it.
    pub(super) fn add(&mut self, id: Str, member: Member, protocol_type: &Str) {
        if self.members.is_empty() {
            self.protocol_type = Some(protocol_type.detach());
        }
        self.leader.get_or_insert_with(|| id.clone());
        self.pending.remove(&id);
        self.insert(id, member);
    }

    fn insert(&mut self, id: Str, member: Member) {
        if let Some(instance) = &member.instance_id {
            self.instances.insert(instance.clone(), id.clone());
        }
        for (name, _) in &member.protocols {
            *self.offered.entry(name.clone()).or_default() += 1;
        }
        self.awaiting += usize::from(member.join.is_some());
        self.members.insert(id, member);
    }

    /// Takes a member out; another one leads then. The tickets in what is given back are the caller's.
    pub(super) fn remove(&mut self, id: &Str) -> Option<Member> {
        self.pending.remove(id);
        self.pending_sync.remove(id);
        let member = self.take(id)?;
        if let Some(instance) = &member.instance_id {
            self.instances.remove(instance);
        }
        if self.is_leader(id) {
            self.leader = self.members.keys().next().cloned();
        }
        Some(member)
    }

    fn take(&mut self, id: &Str) -> Option<Member> {
        let member = self.members.remove(id)?;
        self.awaiting -= usize::from(member.join.is_some());
        self.uncount(&member.protocols);
        Some(member)
    }

    fn uncount(&mut self, protocols: &[(Str, Bytes)]) {
        for (name, _) in protocols {
            if let Some(count) = self.offered.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.offered.remove(name);
                }
            }
        }
    }

    /// 7.2 rule 2: the member goes on under another id. Gives what waited under the old one.
    pub(super) fn rename(&mut self, old: &Str, new: &Str) -> (Option<Ticket>, Option<Ticket>) {
        let Some(mut member) = self.take(old) else { return (None, None) };
        let waited = (member.join.take(), member.sync.take());
        member.is_new = false;
        if self.is_leader(old) {
            self.leader = Some(new.clone());
        }
        if self.pending_sync.remove(old) {
            self.pending_sync.insert(new.clone());
        }
        self.insert(new.clone(), member);
        waited
    }

    /// 6.7: what a member says anew. Gives its protocols until now.
    pub(super) fn update(
        &mut self,
        id: &Str,
        protocols: Vec<(Str, Bytes)>,
        rebalance_timeout_ms: i32,
        session_timeout_ms: i32,
    ) {
        let Some(member) = self.members.get_mut(id) else { return };
        member.rebalance_timeout_ms = rebalance_timeout_ms;
        member.session_timeout_ms = session_timeout_ms;
        member.holds = Holds::AsSaid;
        for (name, _) in &protocols {
            *self.offered.entry(name.clone()).or_default() += 1;
        }
        let before = std::mem::replace(&mut member.protocols, protocols);
        self.uncount(&before);
    }

    /// Parks a join; gives the one that was parked before.
    pub(super) fn park_join(&mut self, id: &Str, ticket: Ticket) -> Option<Ticket> {
        let member = self.members.get_mut(id)?;
        let before = member.join.replace(ticket);
        self.awaiting += usize::from(before.is_none());
        before
    }

    /// The parked join of a member, which is then no longer parked.
    pub(super) fn unpark_join(&mut self, id: &Str) -> Option<Ticket> {
        let ticket = self.members.get_mut(id)?.join.take()?;
        self.awaiting -= 1;
        Some(ticket)
    }

    /// 6.12 rule 4: false if there are members and none of them joined.
    pub(super) fn elect_joined_leader(&mut self) -> bool {
        let joined = |id: &Str| self.members.get(id).is_some_and(|it| it.join.is_some());
        if self.leader.as_ref().is_some_and(joined) {
            return true;
        }
        match self.members.iter().find(|(_, member)| member.join.is_some()) {
            Some((id, _)) => {
                self.leader = Some(id.clone());
                true
            }
            None => false,
        }
    }

    /// 6.12 rule 5.
    pub(super) fn next_generation(&mut self, now: Millis) {
        self.generation = self.generation.wrapping_add(1);
        self.pending_sync.clear();
        let members = !self.members.is_empty();
        self.protocol = if members { self.select_protocol() } else { None };
        self.subscribed = self.compute_subscribed();
        self.transition(if members { State::Completing } else { State::Empty }, now);
    }

    /// The topics of all members, if these are consumers and speak as consumers do.
    fn compute_subscribed(&self) -> Option<BTreeSet<Str>> {
        if !self.is_of_consumers() {
            return None;
        }
        if self.members.is_empty() {
            return Some(BTreeSet::new());
        }
        let protocol = self.protocol.as_ref()?;
        let mut all = BTreeSet::new();
        for member in self.members.values() {
            all.extend(subscription_topics(member.metadata(protocol))?);
        }
        Some(all)
    }

    /// All members with what they said for the protocol of this generation: what the leader gets.
    pub(super) fn joined_members(&self) -> Vec<JoinGroupResponseMember> {
        let Some(protocol) = &self.protocol else { return Vec::new() };
        let member = |(id, it): (&Str, &Member)| JoinGroupResponseMember {
            member_id: id.clone(),
            group_instance_id: it.instance_id.clone(),
            metadata: it.metadata(protocol),
            ..Default::default()
        };
        self.members.iter().map(member).collect()
    }

    /// The record of a new group, whose members are not told of yet (6.4 rule 5).
    pub(super) fn record_without_members(&self, group: &Str) -> Record {
        let empty = Self { state_timestamp: self.state_timestamp, ..Self::new(0) };
        empty.record(group, |_, _| Bytes::new())
    }

    /// The record of the group as it is (20.1), with these assignments.
    pub(super) fn record(&self, group: &Str, assignment: impl Fn(&Str, &Member) -> Bytes) -> Record {
        let member = |(id, it): (&Str, &Member)| MemberMetadata {
            member_id: id.clone(),
            group_instance_id: it.instance_id.clone(),
            client_id: it.client_id.clone(),
            client_host: it.client_host.clone(),
            rebalance_timeout: it.rebalance_timeout_ms,
            session_timeout: it.session_timeout_ms,
            subscription: self.protocol.as_ref().map(|name| it.metadata(name)).unwrap_or_default(),
            assignment: assignment(id, it),
            ..Default::default()
        };
        let value = GroupMetadataValue {
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            current_state_timestamp: self.state_timestamp.unwrap_or(-1),
            members: self.members.iter().map(member).collect(),
            ..Default::default()
        };
        Record::GroupMetadata(GroupMetadataKey { group: group.clone() }, Some(value))
    }
}

/// 21.2.
fn stored(member: &StoredMember, protocol: Option<&Str>) -> Member {
    let rebalance = member.rebalance_timeout_ms;
    Member {
        instance_id: member.instance_id.clone(),
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        rebalance_timeout_ms: if rebalance == -1 { member.session_timeout_ms } else { rebalance },
        session_timeout_ms: member.session_timeout_ms,
        protocols: protocol.map(|it| (it.clone(), member.subscription.clone())).into_iter().collect(),
        assignment: member.assignment.clone(),
        join: None,
        sync: None,
        is_new: false,
        holds: Holds::Assignment,
    }
}

/// The topics of a consumer's metadata. All versions begin as version 0 does, so newer ones are read
/// as that (4.15).
fn subscription_topics(metadata: Bytes) -> Option<Vec<Str>> {
    let body = metadata.slice_ref(metadata.get(2..)?);
    let subscription = ConsumerProtocolSubscription::decode(&mut Reader::new(body), 0).ok()?;
    Some(subscription.topics.iter().map(Str::detach).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored_member(rebalance_timeout_ms: i32) -> StoredMember {
        StoredMember { rebalance_timeout_ms, session_timeout_ms: 4000, ..Default::default() }
    }

    fn group(members: impl IntoIterator<Item = (Str, StoredMember)>) -> ClassicGroup {
        ClassicGroup {
            protocol_type: CONSUMER.into(),
            generation: 3,
            protocol: Some("range".into()),
            leader: Some("a".into()),
            state_timestamp: -1,
            members: members.into_iter().collect(),
        }
    }

    /// Scenarios 4 and 5.
    #[test]
    fn records_of_old_brokers_have_no_rebalance_timeout() {
        let live = Live::of(&group([("a".into(), stored_member(9000)), ("b".into(), stored_member(-1))]));
        let timeouts: Vec<_> = live.members.values().map(|it| it.rebalance_timeout_ms).collect();
        assert_eq!(timeouts, [9000, 4000]);
        assert_eq!((live.state, live.generation, live.state_timestamp), (State::Stable, 3, None));
        assert_eq!(live.select_protocol(), Some("range".into()));
    }

    /// Scenarios 109 and 110.
    #[test]
    fn topics_are_known_if_all_members_speak_as_consumers() {
        let topic = Str::from("in");
        let says = |metadata: &'static [u8]| {
            let member = StoredMember { subscription: Bytes::from_static(metadata), ..stored_member(1) };
            Live::of(&group([("a".into(), member)]))
        };
        // Version 9 with one topic and something that version 0 does not know.
        let known = says(&[0, 9, 0, 0, 0, 1, 0, 2, b'i', b'n', 0xff, 0xff, 0xff, 0xff, 7, 7]);
        assert!(known.subscribes_to(&topic) && !known.subscribes_to(&"out".into()));
        let broken = says(&[0]);
        assert!(broken.subscribes_to(&topic) && broken.subscribes_to(&"out".into()));
        let empty = Live::of(&ClassicGroup { protocol: None, leader: None, ..group([]) });
        assert!(!empty.subscribes_to(&topic));
        let other = Live::of(&ClassicGroup { protocol_type: "connect".into(), ..group([]) });
        assert!(!other.subscribes_to(&topic));
        assert!(!Live::new(0).subscribes_to(&topic));
    }

    /// Scenario 120: from when the retention of the group's offsets counts.
    #[test]
    fn offsets_of_members_that_may_need_them_do_not_expire() {
        let metadata = &[0, 0, 0, 0, 0, 1, 0, 2, b'i', b'n', 0xff, 0xff, 0xff, 0xff];
        let member = StoredMember { subscription: Bytes::from_static(metadata), ..stored_member(1) };
        let stable = Live::of(&group([("a".into(), member.clone())]));
        assert_eq!(stable.retention(), Retention::SinceCommit);
        let mut preparing = stable.clone();
        preparing.transition(State::Preparing, 5);
        assert_eq!(preparing.retention(), Retention::Unlimited);
        let of_unknown_topics = Live { subscribed: None, ..stable };
        assert_eq!(of_unknown_topics.retention(), Retention::Unlimited);
        let connect = ClassicGroup { protocol_type: "connect".into(), ..group([("a".into(), member)]) };
        assert_eq!(Live::of(&connect).retention(), Retention::Unlimited);
        let empty = |state_timestamp| {
            let group = group([]);
            Live::of(&ClassicGroup { protocol: None, leader: None, state_timestamp, ..group }).retention()
        };
        assert_eq!(empty(7), Retention::Since(7));
        assert_eq!(empty(-1), Retention::SinceCommit);
        assert_eq!(Live::new(3).retention(), Retention::SinceCommit, "nobody ever joined");
    }

    /// Scenario 105.
    #[test]
    #[should_panic(expected = "goes from Empty to Stable")]
    fn an_empty_group_does_not_become_stable_at_once() {
        Live::new(0).transition(State::Stable, 0);
    }
}
