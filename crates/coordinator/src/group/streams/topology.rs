//! The topology of a streams group (KIP-1071) after it was checked.
//!
//! A [`Topology`] can't be wrong in itself: the epoch is not negative, subtopology ids are unique, the
//! indexes of copartition groups exist. Whether it fits the topics of the cluster is `configure`'s matter.
//! Equality ignores the order of subtopologies and minds every other order, as Kafka's does (H-26).

use std::collections::{BTreeMap, BTreeSet};

use crate::group::fail::Fail;
use wire::consumer_offsets::StreamsGroupTopologyValue;
use wire::consumer_offsets::streams_group_topology_value as record;
use wire::streams_group_heartbeat::request;
use wire::{ErrorCode, Str};

/// Why a topology is refused. Both fail the whole request and write nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// `INVALID_REQUEST`
    Request(String),
    /// `STREAMS_INVALID_TOPOLOGY`
    Topology(String),
}

impl From<Refusal> for Fail {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Request(message) => Self::new(ErrorCode::INVALID_REQUEST, message),
            Refusal::Topology(message) => Self::new(ErrorCode::STREAMS_INVALID_TOPOLOGY, message),
        }
    }
}

/// H-9e: the first of all checks of the service.
pub fn refuse_regexes(topology: &request::Topology) -> Result<(), Refusal> {
    if topology.subtopologies.iter().all(|one| one.source_topic_regex.is_empty()) {
        return Ok(());
    }
    Err(Refusal::Request("Regular expressions for source topics are not supported yet.".to_owned()))
}

/// H-12: at a join, after the checks of H-11.
pub fn refuse_changelog_counts(topology: &request::Topology) -> Result<(), Refusal> {
    let mut changelogs = topology.subtopologies.iter().flat_map(|one| &one.state_changelog_topics);
    match changelogs.find(|topic| topic.partitions != 0) {
        None => Ok(()),
        Some(topic) => Err(Refusal::Topology(format!(
            "Changelog topic {} must have an undefined partition count, but it is set to {}.",
            topic.name, topic.partitions
        ))),
    }
}

/// The topics on which the request handler checks names (H-3, H-4) and `DESCRIBE` (H-5), each once.
pub fn topic_names(topology: &request::Topology) -> Vec<&Str> {
    let mut seen = BTreeSet::new();
    let names = topology.subtopologies.iter().flat_map(|one| {
        let internal = one.repartition_source_topics.iter().chain(&one.state_changelog_topics);
        let external = one.source_topics.iter().chain(&one.repartition_sink_topics);
        external.chain(internal.map(|topic| &topic.name))
    });
    names.filter(|name| seen.insert(*name)).collect()
}

/// H-3 and H-4, in the request handler, on the result of [`topic_names`].
pub fn refuse_topic_names(names: &[&Str]) -> Result<(), Refusal> {
    const INTERNAL: [&str; 3] = ["__consumer_offsets", "__transaction_state", "__share_group_state"];
    let list = |names: Vec<&&Str>| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let internal: Vec<_> = names.iter().filter(|name| INTERNAL.iter().any(|it| **name == it)).collect();
    if !internal.is_empty() {
        return Err(Refusal::Topology(format!(
            "Use of Kafka internal topics {} in a Kafka Streams topology is prohibited.",
            list(internal)
        )));
    }
    let illegal: Vec<_> = names.iter().filter(|name| !is_legal_topic_name(name.as_bytes())).collect();
    if !illegal.is_empty() {
        return Err(Refusal::Topology(format!("Topic names {} are not valid topic names.", list(illegal))));
    }
    Ok(())
}

fn is_legal_topic_name(name: &[u8]) -> bool {
    const LEN_MAX: usize = 249;
    let legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    (1..=LEN_MAX).contains(&name.len()) && name != b"." && name != b".." && name.iter().all(legal)
}

/// A checked topology; all of its strings own their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    epoch: i32,
    subtopologies: BTreeMap<Str, Subtopology>,
}

/// A connected part of the processor graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subtopology {
    pub source_topics: Vec<Str>,
    /// Only ever non-empty in a record that somebody else wrote (T-22).
    pub source_topic_regex: Vec<Str>,
    pub repartition_sink_topics: Vec<Str>,
    pub repartition_source_topics: Vec<InternalTopic>,
    pub state_changelog_topics: Vec<InternalTopic>,
    pub copartition_groups: Vec<CopartitionGroup>,
}

/// A repartition or changelog topic as the client describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InternalTopic {
    pub name: Str,
    /// 0: the broker decides.
    pub partitions: i32,
    /// 0 or -1: the broker's default.
    pub replication_factor: i16,
    pub configs: Vec<(Str, Str)>,
}

/// Topics of one subtopology that must have equal partition counts, as indexes into its lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopartitionGroup {
    pub source_topics: Vec<i16>,
    pub source_topic_regex: Vec<i16>,
    pub repartition_source_topics: Vec<i16>,
}

impl Topology {
    /// Checks what makes a topology wrong in itself. Kafka answers an internal error, which kills the
    /// client's thread, where this answers `STREAMS_INVALID_TOPOLOGY` (scenarios 113 and 114).
    pub fn from_request(topology: &request::Topology) -> Result<Self, Refusal> {
        if topology.epoch < 0 {
            return Err(Refusal::Topology(format!(
                "Topology epoch must not be negative, but it is {}.",
                topology.epoch
            )));
        }
        unique("The topology", "subtopology", topology.subtopologies.iter().map(|one| &one.subtopology_id))?;
        let topology = Self {
            epoch: topology.epoch,
            subtopologies: topology.subtopologies.iter().map(Subtopology::from_request).collect(),
        };
        for (id, subtopology) in &topology.subtopologies {
            subtopology.check(id)?;
        }
        Ok(topology)
    }

    /// Without checks: what is in the log was accepted once. The rest of the code bears what the checks
    /// refuse; of subtopologies with the same id the last one counts.
    pub fn from_record(value: &StreamsGroupTopologyValue) -> Self {
        let subtopologies = value.subtopologies.iter().map(Subtopology::from_record).collect();
        Self { epoch: value.epoch, subtopologies }
    }

    pub fn to_record(&self) -> StreamsGroupTopologyValue {
        StreamsGroupTopologyValue {
            epoch: self.epoch,
            subtopologies: self.subtopologies.iter().map(|(id, one)| one.to_record(id)).collect(),
            ..Default::default()
        }
    }

    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    /// By id, in its order.
    pub fn subtopologies(&self) -> &BTreeMap<Str, Subtopology> {
        &self.subtopologies
    }

    pub fn subtopology(&self, id: &Str) -> Option<&Subtopology> {
        self.subtopologies.get(id)
    }

    /// T-1: the topics on which the configuration and the metadata hash depend. Sinks don't count by themselves.
    pub fn required_topics(&self) -> BTreeSet<&Str> {
        let mut topics = BTreeSet::new();
        for subtopology in self.subtopologies.values() {
            topics.extend(subtopology.inputs());
            topics.extend(subtopology.state_changelog_topics.iter().map(|topic| &topic.name));
        }
        topics
    }

    /// T-2: every external and repartition source topic with the subtopology that reads it. If several do,
    /// the one with the greatest id wins.
    pub fn source_topics(&self) -> BTreeMap<&Str, &Str> {
        let mut map = BTreeMap::new();
        for (id, subtopology) in &self.subtopologies {
            map.extend(subtopology.inputs().map(|topic| (topic, id)));
        }
        map
    }
}

impl Subtopology {
    fn from_request(value: &request::Subtopology) -> (Str, Self) {
        let subtopology = Self {
            source_topics: detached(&value.source_topics),
            source_topic_regex: detached(&value.source_topic_regex),
            repartition_sink_topics: detached(&value.repartition_sink_topics),
            repartition_source_topics: mapped(&value.repartition_source_topics, InternalTopic::from_request),
            state_changelog_topics: mapped(&value.state_changelog_topics, InternalTopic::from_request),
            copartition_groups: mapped(&value.copartition_groups, |group| CopartitionGroup {
                source_topics: group.source_topics.clone(),
                source_topic_regex: group.source_topic_regex.clone(),
                repartition_source_topics: group.repartition_source_topics.clone(),
            }),
        };
        (value.subtopology_id.detach(), subtopology)
    }

    fn from_record(value: &record::Subtopology) -> (Str, Self) {
        let subtopology = Self {
            source_topics: detached(&value.source_topics),
            source_topic_regex: detached(&value.source_topic_regex),
            repartition_sink_topics: detached(&value.repartition_sink_topics),
            repartition_source_topics: mapped(&value.repartition_source_topics, InternalTopic::from_record),
            state_changelog_topics: mapped(&value.state_changelog_topics, InternalTopic::from_record),
            copartition_groups: mapped(&value.copartition_groups, |group| CopartitionGroup {
                source_topics: group.source_topics.clone(),
                source_topic_regex: group.source_topic_regex.clone(),
                repartition_source_topics: group.repartition_source_topics.clone(),
            }),
        };
        (value.subtopology_id.detach(), subtopology)
    }

    fn to_record(&self, id: &Str) -> record::Subtopology {
        record::Subtopology {
            subtopology_id: id.clone(),
            source_topics: self.source_topics.clone(),
            source_topic_regex: self.source_topic_regex.clone(),
            state_changelog_topics: mapped(&self.state_changelog_topics, InternalTopic::to_record),
            repartition_sink_topics: self.repartition_sink_topics.clone(),
            repartition_source_topics: mapped(&self.repartition_source_topics, InternalTopic::to_record),
            copartition_groups: mapped(&self.copartition_groups, |group| record::CopartitionGroup {
                source_topics: group.source_topics.clone(),
                source_topic_regex: group.source_topic_regex.clone(),
                repartition_source_topics: group.repartition_source_topics.clone(),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    /// Stateful subtopologies alone get standbys.
    pub fn is_stateful(&self) -> bool {
        !self.state_changelog_topics.is_empty()
    }

    /// The topics that it reads: external ones, then repartition topics.
    pub fn inputs(&self) -> impl Iterator<Item = &Str> {
        self.source_topics.iter().chain(self.repartition_source_topics.iter().map(|topic| &topic.name))
    }

    /// Names of the topics of one copartition group; the indexes were checked by [`Topology::new`].
    pub fn copartitioned<'a>(&'a self, group: &'a CopartitionGroup) -> BTreeSet<&'a Str> {
        let sources = group.source_topics.iter().filter_map(|index| at(&self.source_topics, *index));
        let repartitions = group
            .repartition_source_topics
            .iter()
            .filter_map(|index| at(&self.repartition_source_topics, *index));
        sources.chain(repartitions.map(|topic| &topic.name)).collect()
    }

    fn check(&self, id: &Str) -> Result<(), Refusal> {
        let of = format!("Subtopology {id}");
        unique(
            &of,
            "repartition source topic",
            self.repartition_source_topics.iter().map(|topic| &topic.name),
        )?;
        unique(&of, "changelog topic", self.state_changelog_topics.iter().map(|topic| &topic.name))?;
        for topic in self.repartition_source_topics.iter().chain(&self.state_changelog_topics) {
            topic.check()?;
        }
        for group in &self.copartition_groups {
            self.check_indexes(id, group)?;
        }
        Ok(())
    }

    fn check_indexes(&self, id: &Str, group: &CopartitionGroup) -> Result<(), Refusal> {
        let lists = [
            ("source topic", &group.source_topics, self.source_topics.len()),
            ("source topic regex", &group.source_topic_regex, self.source_topic_regex.len()),
            (
                "repartition source topic",
                &group.repartition_source_topics,
                self.repartition_source_topics.len(),
            ),
        ];
        for (what, indexes, len) in lists {
            if let Some(wrong) =
                indexes.iter().find(|index| usize::try_from(**index).map_or(true, |i| i >= len))
            {
                return Err(Refusal::Topology(format!(
                    "A copartition group of subtopology {id} names {what} {wrong}, but there are {len}."
                )));
            }
        }
        Ok(())
    }
}

impl InternalTopic {
    fn from_request(value: &request::TopicInfo) -> Self {
        Self {
            name: value.name.detach(),
            partitions: value.partitions,
            replication_factor: value.replication_factor,
            configs: mapped(&value.topic_configs, |it| (it.key.detach(), it.value.detach())),
        }
    }

    fn from_record(value: &record::TopicInfo) -> Self {
        Self {
            name: value.name.detach(),
            partitions: value.partitions,
            replication_factor: value.replication_factor,
            configs: mapped(&value.topic_configs, |it| (it.key.detach(), it.value.detach())),
        }
    }

    fn to_record(&self) -> record::TopicInfo {
        record::TopicInfo {
            name: self.name.clone(),
            partitions: self.partitions,
            replication_factor: self.replication_factor,
            topic_configs: mapped(&self.configs, |(key, value)| record::TopicConfig {
                key: key.clone(),
                value: value.clone(),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.partitions < 0 {
            return Err(Refusal::Topology(format!(
                "Topic {} must not have a negative partition count, but it is set to {}.",
                self.name, self.partitions
            )));
        }
        unique(&format!("Topic {}", self.name), "config", self.configs.iter().map(|(key, _)| key))
    }
}

/// Kafka builds maps of these lists and fails with an internal error when a key comes twice.
fn unique<'a>(of: &str, what: &str, keys: impl Iterator<Item = &'a Str>) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for key in keys {
        if !seen.insert(key) {
            return Err(Refusal::Topology(format!("{of} has {what} {key} more than once.")));
        }
    }
    Ok(())
}

fn at<T>(list: &[T], index: i16) -> Option<&T> {
    list.get(usize::try_from(index).ok()?)
}

fn detached(names: &[Str]) -> Vec<Str> {
    mapped(names, Str::detach)
}

fn mapped<T, U>(list: &[T], one: impl FnMut(&T) -> U) -> Vec<U> {
    list.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(name: &str, partitions: i32) -> request::TopicInfo {
        request::TopicInfo { name: Str::from(name), partitions, ..Default::default() }
    }

    fn names(list: &[&str]) -> Vec<Str> {
        list.iter().map(|name| Str::from(*name)).collect()
    }

    /// Subtopology 0 reads `in` and writes `r`; 1 reads `r` and `side`, with a changelog.
    fn sent() -> request::Topology {
        let zero = request::Subtopology {
            subtopology_id: Str::from("0"),
            source_topics: names(&["in"]),
            repartition_sink_topics: names(&["r"]),
            ..Default::default()
        };
        let mut repartition = info("r", 4);
        repartition.replication_factor = 2;
        repartition.topic_configs = vec![request::KeyValue {
            key: Str::from("retention.ms"),
            value: Str::from("-1"),
            ..Default::default()
        }];
        let one = request::Subtopology {
            subtopology_id: Str::from("1"),
            source_topics: names(&["side", "more"]),
            repartition_source_topics: vec![repartition],
            state_changelog_topics: vec![info("c", 0)],
            copartition_groups: vec![request::CopartitionGroup {
                source_topics: vec![0],
                repartition_source_topics: vec![0],
                ..Default::default()
            }],
            ..Default::default()
        };
        request::Topology { epoch: 5, subtopologies: vec![zero, one], ..Default::default() }
    }

    fn changed(change: impl FnOnce(&mut request::Topology)) -> request::Topology {
        let mut topology = sent();
        change(&mut topology);
        topology
    }

    #[track_caller]
    fn check_invalid(change: impl FnOnce(&mut request::Topology), expected: &str) {
        let refusal = Topology::from_request(&changed(change)).unwrap_err();
        assert_eq!(refusal, Refusal::Topology(expected.to_owned()));
    }

    /// 33.
    #[test]
    fn regexes_are_refused() {
        let topology = changed(|it| it.subtopologies[1].source_topic_regex = names(&["foo.*"]));
        let message = "Regular expressions for source topics are not supported yet.".to_owned();
        assert_eq!(refuse_regexes(&topology), Err(Refusal::Request(message)));
        assert_eq!(refuse_regexes(&sent()), Ok(()));
    }

    /// 42.
    #[test]
    fn changelogs_have_no_count() {
        let topology = changed(|it| it.subtopologies[1].state_changelog_topics[0].partitions = 3);
        let message =
            "Changelog topic c must have an undefined partition count, but it is set to 3.".to_owned();
        assert_eq!(refuse_changelog_counts(&topology), Err(Refusal::Topology(message)));
        assert_eq!(refuse_changelog_counts(&sent()), Ok(()));
    }

    /// 113.
    #[test]
    fn negative_epoch_and_duplicate_ids() {
        check_invalid(|it| it.epoch = -1, "Topology epoch must not be negative, but it is -1.");
        check_invalid(
            |it| it.subtopologies[1].subtopology_id = Str::from("0"),
            "The topology has subtopology 0 more than once.",
        );
    }

    /// 114.
    #[test]
    fn copartition_indexes_exist() {
        check_invalid(
            |it| it.subtopologies[1].copartition_groups[0].source_topics = vec![1, 2],
            "A copartition group of subtopology 1 names source topic 2, but there are 2.",
        );
        check_invalid(
            |it| it.subtopologies[1].copartition_groups[0].repartition_source_topics = vec![-1],
            "A copartition group of subtopology 1 names repartition source topic -1, but there are 1.",
        );
    }

    #[test]
    fn what_kafka_makes_maps_of_is_unique() {
        check_invalid(
            |it| it.subtopologies[1].repartition_source_topics.push(info("r", 1)),
            "Subtopology 1 has repartition source topic r more than once.",
        );
        check_invalid(
            |it| it.subtopologies[1].state_changelog_topics.push(info("c", 0)),
            "Subtopology 1 has changelog topic c more than once.",
        );
        check_invalid(
            |it| {
                let configs = &mut it.subtopologies[1].repartition_source_topics[0].topic_configs;
                configs.push(configs[0].clone());
            },
            "Topic r has config retention.ms more than once.",
        );
        check_invalid(
            |it| it.subtopologies[1].repartition_source_topics[0].partitions = -2,
            "Topic r must not have a negative partition count, but it is set to -2.",
        );
    }

    /// 98 to 100, H-26: equality minds the order of topics but not that of subtopologies.
    #[test]
    fn equality() {
        let topology = Topology::from_request(&sent()).unwrap();
        let of = |change: fn(&mut request::Topology)| Topology::from_request(&changed(change)).unwrap();
        assert_eq!(topology, of(|it| it.subtopologies.reverse()));
        assert_ne!(topology, of(|it| it.subtopologies[1].source_topics.reverse()));
        assert_ne!(topology, of(|it| it.epoch = 6));
        assert_ne!(
            topology,
            of(|it| it.subtopologies[1].repartition_source_topics[0].replication_factor = 3)
        );
        assert_ne!(topology, of(|it| it.subtopologies[1].copartition_groups.clear()));
        assert_ne!(topology, of(|it| drop(it.subtopologies.pop())));
    }

    #[test]
    fn through_the_log_and_back() {
        let topology = Topology::from_request(&sent()).unwrap();
        let record = topology.to_record();
        assert_eq!(record.epoch, 5);
        assert_eq!(record.subtopologies[1].repartition_source_topics[0].topic_configs[0].value, "-1");
        assert_eq!(Topology::from_record(&record), topology);
    }

    /// T-1, T-2.
    #[test]
    fn topics_of_a_topology() {
        let topology = Topology::from_request(&sent()).unwrap();
        let required: Vec<String> = topology.required_topics().iter().map(ToString::to_string).collect();
        assert_eq!(required, ["c", "in", "more", "r", "side"]);
        let sources: Vec<String> =
            topology.source_topics().iter().map(|(t, id)| format!("{t}>{id}")).collect();
        assert_eq!(sources, ["in>0", "more>1", "r>1", "side>1"]);
        let sinks = changed(|it| it.subtopologies[0].repartition_sink_topics = names(&["x"]));
        assert!(!Topology::from_request(&sinks).unwrap().required_topics().contains(&Str::from("x")));
    }

    /// H-3, H-4.
    #[test]
    fn names_of_topics() {
        let refusal = |name: &str| {
            let topology = changed(|it| it.subtopologies[0].repartition_sink_topics = names(&[name, "r"]));
            refuse_topic_names(&topic_names(&topology))
        };
        assert_eq!(topic_names(&sent()), names(&["in", "r", "side", "more", "c"]).iter().collect::<Vec<_>>());
        assert_eq!(refusal(&"x".repeat(249)), Ok(()));
        let internal =
            "Use of Kafka internal topics __consumer_offsets in a Kafka Streams topology is prohibited.";
        assert_eq!(refusal("__consumer_offsets"), Err(Refusal::Topology(internal.to_owned())));
        for name in ["", ".", "..", "a b", "ä", &"x".repeat(250)] {
            let illegal = format!("Topic names {name} are not valid topic names.");
            assert_eq!(refusal(name), Err(Refusal::Topology(illegal)));
        }
    }
}
