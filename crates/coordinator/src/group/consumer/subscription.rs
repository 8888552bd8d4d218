//! What the members of a group subscribe to, counted: derived from members and resolved expressions.
//!
//! [`Subscriptions::with`] shows them as they will be after a heartbeat, before anything is recorded.

use std::collections::{BTreeMap, BTreeSet};

use super::{MemberMetadata, Resolved};
use crate::assign::PartitionAssignor;
use wire::Str;

/// Of a group.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Subscriptions {
    topics: BTreeMap<Str, Counts>,
    /// Members by regular expression.
    regexes: BTreeMap<Str, usize>,
    /// Members by the server assignor that they name.
    assignors: BTreeMap<Str, usize>,
    /// Members of the classic protocol.
    classic: usize,
    /// Those by each protocol name that they offer.
    protocols: BTreeMap<Str, usize>,
}

/// Who wants a topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Counts {
    /// Members that name it.
    names: usize,
    /// Regular expressions that resolved to it.
    regexes: usize,
}

impl Subscriptions {
    pub(super) fn add(&mut self, member: &MemberMetadata) {
        for topic in &*member.topic_names {
            count(&mut self.topics, topic).names += 1;
        }
        if !member.topic_regex.is_empty() {
            *count(&mut self.regexes, &member.topic_regex) += 1;
        }
        if let Some(assignor) = &member.server_assignor {
            *count(&mut self.assignors, assignor) += 1;
        }
        for (name, _) in member.classic.iter().flat_map(|it| &it.protocols) {
            *count(&mut self.protocols, name) += 1;
        }
        self.classic += usize::from(member.classic.is_some());
    }

    pub(super) fn remove(&mut self, member: &MemberMetadata) {
        for topic in &*member.topic_names {
            self.change_topic(topic, |it| it.names -= 1);
        }
        uncount(&mut self.regexes, &member.topic_regex);
        if let Some(assignor) = &member.server_assignor {
            uncount(&mut self.assignors, assignor);
        }
        for (name, _) in member.classic.iter().flat_map(|it| &it.protocols) {
            uncount(&mut self.protocols, name);
        }
        self.classic -= usize::from(member.classic.is_some());
    }

    pub(super) fn add_resolved(&mut self, resolved: &Resolved) {
        for topic in &resolved.topics {
            count(&mut self.topics, topic).regexes += 1;
        }
    }

    pub(super) fn remove_resolved(&mut self, resolved: &Resolved) {
        for topic in &resolved.topics {
            self.change_topic(topic, |it| it.regexes -= 1);
        }
    }

    /// Every topic that some member wants, in the order of their names; some may not exist.
    pub fn topics(&self) -> impl Iterator<Item = &Str> {
        self.topics.keys()
    }

    pub fn contains(&self, topic: &[u8]) -> bool {
        self.topics.contains_key(topic)
    }

    /// Members that use this expression.
    pub fn regex_members(&self, regex: &Str) -> usize {
        self.regexes.get(regex).copied().unwrap_or(0)
    }

    pub fn regexes(&self) -> impl Iterator<Item = &Str> {
        self.regexes.keys()
    }

    /// Server assignors that members name, with how many do.
    pub fn assignor_votes(&self) -> impl Iterator<Item = (&Str, usize)> {
        self.assignors.iter().map(|(name, count)| (name, *count))
    }

    /// Members of the classic protocol.
    pub fn classic_members(&self) -> usize {
        self.classic
    }

    /// 18.2 rule 3: whether all members of the classic protocol offer this one.
    pub(super) fn offered_by_all(&self, protocol: &Str) -> bool {
        self.protocols.get(protocol).copied().unwrap_or(0) == self.classic
    }

    /// 14.1: the assignor that most members name; among equals the first of `offered`, which also
    /// holds where nobody names one.
    pub fn assignor(&self, offered: &[PartitionAssignor]) -> PartitionAssignor {
        let votes = |it: &PartitionAssignor| self.assignors.get(it.name().as_bytes()).copied().unwrap_or(0);
        // The last of equal ones wins `max_by_key`.
        offered.iter().rev().copied().max_by_key(votes).unwrap_or(PartitionAssignor::Uniform)
    }

    /// 11.5: whether every member wants the same topics.
    pub fn is_homogeneous(&self, members: usize) -> bool {
        match self.regexes.values().next() {
            None => self.topics.values().all(|it| it.names == members),
            Some(users) => {
                *users == members && self.topics.values().all(|it| it.regexes == 1 && it.names == 0)
            }
        }
    }

    /// The subscriptions after a member's update; `resolved` are the group's resolved expressions.
    pub(super) fn with(
        &self,
        old: Option<&MemberMetadata>,
        new: &MemberMetadata,
        resolved: &BTreeMap<Str, Resolved>,
    ) -> Self {
        let mut after = self.clone();
        if let Some(old) = old {
            after.remove(old);
        }
        after.add(new);
        // An expression without members loses its resolution, and with it its topics.
        let gone = old.map(|it| &it.topic_regex).filter(|it| after.regex_members(it) == 0);
        if let Some(gone) = gone.and_then(|it| resolved.get(it)) {
            after.remove_resolved(gone);
        }
        after
    }

    fn change_topic(&mut self, topic: &Str, change: impl FnOnce(&mut Counts)) {
        let Some(counts) = self.topics.get_mut(topic) else { return };
        change(counts);
        if *counts == Counts::default() {
            self.topics.remove(topic);
        }
    }
}

fn count<'a, T: Default>(counts: &'a mut BTreeMap<Str, T>, key: &Str) -> &'a mut T {
    counts.entry(key.clone()).or_default()
}

fn uncount(counts: &mut BTreeMap<Str, usize>, key: &Str) {
    let Some(count) = counts.get_mut(key) else { return };
    *count -= 1;
    if *count == 0 {
        counts.remove(key);
    }
}

/// What one member wants: the topics that it names and those of its resolved expression.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub names: &'a BTreeSet<Str>,
    pub resolved: Option<&'a Resolved>,
}

impl<'a> Wanted<'a> {
    pub(super) fn new(member: &'a MemberMetadata, resolved: &'a BTreeMap<Str, Resolved>) -> Self {
        Self { names: &member.topic_names, resolved: resolved.get(&member.topic_regex) }
    }

    pub(super) fn contains(&self, topic: &str) -> bool {
        let topic = topic.as_bytes();
        self.names.contains(topic) || self.resolved.is_some_and(|it| it.topics.contains(topic))
    }

    /// All names, some perhaps twice.
    pub(super) fn topics(&self) -> impl Iterator<Item = &'a Str> + use<'a> {
        self.names.iter().chain(self.resolved.into_iter().flat_map(|it| &it.topics))
    }
}
