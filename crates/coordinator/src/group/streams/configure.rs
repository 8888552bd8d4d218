//! Fits a topology to the topics that exist (streams specification, 4.2): partition counts of internal
//! topics, number of tasks, topics to create, or what is wrong.
//!
//! Pure: looks at the cluster only through [`Topics`]. The words of the details are Kafka's, because
//! users read them in exceptions of their clients.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::topology::{InternalTopic, Refusal, Subtopology, Topology};
use crate::assign::TaskSpace;
use wire::Str;
use wire::create_topics::request::{CreatableTopic, CreatableTopicConfig};

/// Tasks of a group. Kafka has no bound, and ends when it has no memory left.
const TASKS_MAX: i64 = 2_000_000;

/// What the streams functions need to know of the cluster's topics.
pub trait Topics {
    fn topic(&self, name: &str) -> Option<TopicView>;
    /// The racks of the brokers that hold a replica of the partition, in any order, one entry per replica
    /// that has a rack. Only the metadata hash looks at them.
    fn racks(&self, name: &str, partition: i32) -> Vec<String>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicView {
    pub id: [u8; 16],
    pub partitions: i32,
}

/// Outcome of [`configure`]; kept in memory, not persisted.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredTopology {
    pub topology_epoch: i32,
    /// By id; `None` when the configuration failed. Present together with
    /// [`TopicStatus::MissingInternalTopics`], so that Describe can show the counts.
    pub subtopologies: Option<BTreeMap<Str, ConfiguredSubtopology>>,
    /// Sorted by name; non-empty only with [`TopicStatus::MissingInternalTopics`].
    pub topics_to_create: Vec<CreatableTopic>,
    pub problem: Option<Problem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredSubtopology {
    pub tasks: i32,
    /// Sorted, as are the others.
    pub source_topics: Vec<Str>,
    pub repartition_sink_topics: Vec<Str>,
    /// With the decided partition counts.
    pub repartition_source_topics: Vec<InternalTopic>,
    pub state_changelog_topics: Vec<InternalTopic>,
}

/// A status of the heartbeat response that the topology's topics cause (H-50); at most one at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub status: TopicStatus,
    pub detail: String,
    /// An internal topic that exists with another number of partitions than this.
    pub wanted: Option<(Str, i32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicStatus {
    MissingSourceTopics,
    IncorrectlyPartitionedTopics,
    MissingInternalTopics,
}

impl TopicStatus {
    /// The status code on the wire.
    pub fn code(self) -> i8 {
        match self {
            Self::MissingSourceTopics => 1,
            Self::IncorrectlyPartitionedTopics => 2,
            Self::MissingInternalTopics => 3,
        }
    }
}

impl ConfiguredTopology {
    pub fn is_ready(&self) -> bool {
        self.problem.is_none()
    }

    /// `None` for an unknown subtopology, and for all of them when the configuration failed.
    pub fn subtopology(&self, id: &Str) -> Option<&ConfiguredSubtopology> {
        self.subtopologies.as_ref()?.get(id)
    }

    /// The tasks for the assignor: `None` unless the topology is ready.
    pub fn task_space(&self) -> Option<TaskSpace> {
        if !self.is_ready() {
            return None;
        }
        let subtopologies = self.subtopologies.as_ref()?;
        let tasks = |one: &ConfiguredSubtopology| u32::try_from(one.tasks).unwrap_or(0);
        Some(TaskSpace::new(
            subtopologies
                .iter()
                .map(|(id, one)| (id.clone(), tasks(one), !one.state_changelog_topics.is_empty())),
        ))
    }
}

/// Why a configuration ends early: a status of a response that succeeds, or a refusal of the request (T-16).
enum Stop {
    Problem(Problem),
    Refusal(Refusal),
}

/// T-10 to T-17, the first failure ends it. Only a topology that can never fit is an error.
pub fn configure(topology: &Topology, topics: &dyn Topics) -> Result<ConfiguredTopology, Refusal> {
    match (Configuration { topology, topics, decided: BTreeMap::new() }).run() {
        Ok(configured) => Ok(configured),
        Err(Stop::Refusal(refusal)) => Err(refusal),
        Err(Stop::Problem(problem)) => Ok(ConfiguredTopology {
            topology_epoch: topology.epoch(),
            subtopologies: None,
            topics_to_create: Vec::new(),
            problem: Some(problem),
        }),
    }
}

/// Repartition topics with a number of partitions that the client fixed; copartitioning leaves it as it is.
struct Fixed<'a> {
    topics: BTreeSet<&'a Str>,
    counts: BTreeSet<i32>,
}

struct Configuration<'a> {
    topology: &'a Topology,
    topics: &'a dyn Topics,
    /// Partition counts of internal topics, from whichever step decided last.
    decided: BTreeMap<&'a Str, i32>,
}

impl<'a> Configuration<'a> {
    fn run(mut self) -> Result<ConfiguredTopology, Stop> {
        self.source_topics_exist()?;
        self.decide_repartition_topics()?;
        self.enforce_copartitioning()?;
        self.decide_changelog_topics()?;
        self.few_enough_tasks()?;
        let subtopologies = self.configured_subtopologies();
        let topics_to_create = self.topics_to_create(&subtopologies)?;
        let problem = (!topics_to_create.is_empty()).then(|| Problem {
            status: TopicStatus::MissingInternalTopics,
            detail: format!(
                "Internal topics are missing: {}",
                summary(topics_to_create.iter().map(|it| &it.name))
            ),
            wanted: None,
        });
        Ok(ConfiguredTopology {
            topology_epoch: self.topology.epoch(),
            subtopologies: Some(subtopologies),
            topics_to_create,
            problem,
        })
    }

    /// T-10.
    fn source_topics_exist(&self) -> Result<(), Stop> {
        let sources = self.subtopologies().flat_map(|one| &one.source_topics);
        let missing: BTreeSet<&Str> = sources.filter(|topic| self.existing(topic).is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let detail = format!("Source topics {} are missing.", summary(missing.into_iter()));
        Err(Stop::Problem(Problem { status: TopicStatus::MissingSourceTopics, detail, wanted: None }))
    }

    /// T-11. A count is taken as soon as one input of the writing subtopology is known, like in Kafka: an
    /// input decided in a later pass does not raise it.
    fn decide_repartition_topics(&mut self) -> Result<(), Stop> {
        for topic in self.subtopologies().flat_map(|one| &one.repartition_source_topics) {
            if topic.partitions != 0 {
                self.decided.insert(&topic.name, topic.partitions);
            }
        }
        self.decide_sinks();
        if self
            .subtopologies()
            .flat_map(|one| &one.repartition_sink_topics)
            .any(|it| !self.decided.contains_key(it))
        {
            return Err(Stop::Refusal(Refusal::Topology(
                "Failed to compute number of partitions for all repartition topics. \
                 There may be loops in the topology that cannot be resolved."
                    .to_owned(),
            )));
        }
        let mut sources = self.subtopologies().flat_map(|one| &one.repartition_source_topics);
        if sources.any(|topic| !self.decided.contains_key(&topic.name)) {
            return Err(Stop::Refusal(Refusal::Topology(
                "Failed to compute number of partitions for all repartition topics, because a repartition \
                 source topic is never used as a sink topic."
                    .to_owned(),
            )));
        }
        Ok(())
    }

    /// As passes over all subtopologies would do it, what one decides being visible to the later ones of the same
    /// pass. Each is looked at once, when its turn comes after the first of its inputs is known: a chain of
    /// thousands may stand in any order.
    fn decide_sinks(&mut self) {
        let all: Vec<&Subtopology> = self.subtopologies().collect();
        let mut readers: BTreeMap<&Str, Vec<usize>> = BTreeMap::new();
        for (at, one) in all.iter().enumerate() {
            one.repartition_source_topics.iter().for_each(|it| readers.entry(&it.name).or_default().push(at));
        }
        let known =
            (0..all.len()).filter(|at| all.get(*at).is_some_and(|it| self.known_inputs_max(it).is_some()));
        let mut seen: BTreeSet<usize> = known.collect();
        let mut turns: BinaryHeap<_> = seen.iter().map(|at| Reverse((0_usize, *at))).collect();
        while let Some(Reverse((pass, at))) = turns.pop() {
            let Some(one) = all.get(at) else { continue };
            let Some(partitions) = self.known_inputs_max(one) else { continue };
            for sink in &one.repartition_sink_topics {
                if self.decided.contains_key(sink) {
                    continue;
                }
                self.decided.insert(sink, partitions);
                let next = readers.get(sink).into_iter().flatten().filter(|reader| seen.insert(**reader));
                turns.extend(next.map(|reader| Reverse((pass + usize::from(*reader < at), *reader))));
            }
        }
    }

    /// Decided counts of repartition topics and existing counts of external ones, not the other way round.
    fn known_inputs_max(&self, subtopology: &Subtopology) -> Option<i32> {
        let repartitions = subtopology
            .repartition_source_topics
            .iter()
            .filter_map(|topic| self.decided.get(&topic.name).copied());
        let sources = subtopology.source_topics.iter().filter_map(|topic| self.count(topic));
        repartitions.chain(sources).max()
    }

    /// T-12.
    fn enforce_copartitioning(&mut self) -> Result<(), Stop> {
        let mut repartition = BTreeSet::new();
        let mut fixed = BTreeSet::new();
        for topic in self.subtopologies().flat_map(|one| &one.repartition_source_topics) {
            repartition.insert(&topic.name);
            if topic.partitions != 0 {
                fixed.insert(&topic.name);
            }
        }
        let fixed_counts: BTreeSet<i32> = fixed.iter().map(|topic| self.count_or_zero(topic)).collect();
        let fixed = Fixed { topics: fixed, counts: fixed_counts };
        for subtopology in self.topology.subtopologies().values() {
            for group in &subtopology.copartition_groups {
                let members = subtopology.copartitioned(group);
                let (flexible_or_fixed, external): (Vec<_>, Vec<_>) =
                    members.into_iter().partition(|topic| repartition.contains(topic));
                if !flexible_or_fixed.is_empty() || !external.is_empty() {
                    self.enforce_group(&flexible_or_fixed, &external, &fixed)?;
                }
            }
        }
        Ok(())
    }

    fn enforce_group(
        &mut self,
        repartition: &[&'a Str],
        external: &[&'a Str],
        fixed: &Fixed<'a>,
    ) -> Result<(), Stop> {
        let partitions = if !external.is_empty() {
            self.same_count(external.iter().map(|topic| self.count_or_zero(topic)).collect(), external)?
        } else if fixed.topics.is_empty() {
            self.count_max(repartition)?
        } else {
            // Kafka compares the fixed topics of the whole topology here, and names those of the group.
            self.same_count(fixed.counts.iter().copied().take(2).collect(), repartition)?
        };
        for topic in repartition {
            let before = self.count_or_zero(topic);
            if fixed.topics.contains(topic) && before != partitions {
                return Err(incorrectly_partitioned(format!(
                    "Number of partitions [{before}] of repartition topic [{topic}] doesn't match number of \
                     partitions [{partitions}] of the source topic."
                )));
            }
        }
        self.decided.extend(repartition.iter().map(|topic| (*topic, partitions)));
        Ok(())
    }

    /// The one of `counts`; if there are several the detail shows `named`.
    fn same_count(&self, counts: BTreeSet<i32>, named: &[&Str]) -> Result<i32, Stop> {
        if counts.len() <= 1 {
            return Ok(counts.into_iter().next().unwrap_or(0));
        }
        let shown: Vec<String> =
            named.iter().map(|topic| format!("{topic}={}", self.count_or_zero(topic))).collect();
        Err(incorrectly_partitioned(format!(
            "Following topics do not have the same number of partitions: [{{{}}}]",
            shown.join(", ")
        )))
    }

    fn count_max(&self, topics: &[&Str]) -> Result<i32, Stop> {
        match topics.iter().map(|topic| self.count_or_zero(topic)).max() {
            Some(partitions) if partitions > 0 => Ok(partitions),
            Some(_) | None => {
                let names: Vec<String> = topics.iter().map(ToString::to_string).collect();
                Err(Stop::Refusal(Refusal::Topology(format!(
                    "All topics in the copartition group had undefined partition number: [{}]",
                    names.join(", ")
                ))))
            }
        }
    }

    /// T-13.
    fn decide_changelog_topics(&mut self) -> Result<(), Stop> {
        for (id, subtopology) in self.topology.subtopologies() {
            let Some(partitions) = self.tasks(subtopology) else {
                return Err(Stop::Refusal(Refusal::Topology(format!(
                    "No source topics found for subtopology {id}"
                ))));
            };
            let changelogs = subtopology.state_changelog_topics.iter().map(|topic| (&topic.name, partitions));
            self.decided.extend(changelogs);
        }
        Ok(())
    }

    /// A topology may read a large topic in thousands of subtopologies.
    fn few_enough_tasks(&self) -> Result<(), Stop> {
        let tasks = |one| i64::from(self.tasks(one).unwrap_or(0).max(0));
        let tasks: i64 = self.subtopologies().map(tasks).sum();
        if tasks <= TASKS_MAX {
            return Ok(());
        }
        let message =
            format!("The topology has {tasks} tasks, which is more than the {TASKS_MAX} that are possible.");
        Err(Stop::Refusal(Refusal::Topology(message)))
    }

    /// T-14; `None` without any input.
    fn tasks(&self, subtopology: &Subtopology) -> Option<i32> {
        subtopology.inputs().map(|topic| self.count_or_zero(topic)).max()
    }

    fn configured_subtopologies(&self) -> BTreeMap<Str, ConfiguredSubtopology> {
        let one = |subtopology: &Subtopology| ConfiguredSubtopology {
            tasks: self.tasks(subtopology).unwrap_or(0),
            source_topics: sorted(subtopology.source_topics.clone()),
            repartition_sink_topics: sorted(subtopology.repartition_sink_topics.clone()),
            repartition_source_topics: self.with_counts(&subtopology.repartition_source_topics),
            state_changelog_topics: self.with_counts(&subtopology.state_changelog_topics),
        };
        self.topology.subtopologies().iter().map(|(id, it)| (id.clone(), one(it))).collect()
    }

    /// A count that the client fixed stays, whatever copartitioning decided: a difference ended it before.
    fn with_counts(&self, list: &[InternalTopic]) -> Vec<InternalTopic> {
        let mut list = list.to_vec();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        for topic in list.iter_mut().filter(|topic| topic.partitions == 0) {
            topic.partitions = self.decided.get(&topic.name).copied().unwrap_or(0);
        }
        list
    }

    /// T-15. A changelog that is also a source topic exists already and is not created.
    fn topics_to_create(
        &self,
        subtopologies: &BTreeMap<Str, ConfiguredSubtopology>,
    ) -> Result<Vec<CreatableTopic>, Stop> {
        let mut expected = BTreeMap::new();
        for one in subtopologies.values() {
            let internal = one.repartition_source_topics.iter().chain(&one.state_changelog_topics);
            expected.extend(internal.map(|topic| (&topic.name, topic)));
        }
        let mut missing = Vec::new();
        for (name, topic) in expected {
            match self.existing(name) {
                None => missing.push(creatable(topic)),
                Some(found) if found == topic.partitions => {}
                Some(found) => {
                    let detail = format!(
                        "Existing topic {name} has different number of partitions: expected {}, found {found}",
                        topic.partitions
                    );
                    let wanted = Some((name.clone(), topic.partitions));
                    let status = TopicStatus::IncorrectlyPartitionedTopics;
                    return Err(Stop::Problem(Problem { status, detail, wanted }));
                }
            }
        }
        Ok(missing)
    }

    fn subtopologies(&self) -> impl Iterator<Item = &'a Subtopology> + use<'a> {
        self.topology.subtopologies().values()
    }

    fn existing(&self, topic: &Str) -> Option<i32> {
        self.topics.topic(&topic.to_str()).map(|it| it.partitions)
    }

    /// An existing topic wins over what was decided for it; T-15 reports the difference.
    fn count(&self, topic: &Str) -> Option<i32> {
        self.existing(topic).or_else(|| self.decided.get(topic).copied())
    }

    /// Every source topic exists (T-10) and every repartition topic is decided (T-11) where this is called.
    fn count_or_zero(&self, topic: &Str) -> i32 {
        self.count(topic).unwrap_or(0)
    }
}

/// T-17: nothing is added to what the client asked for, and the broker's default replication factor is -1.
fn creatable(topic: &InternalTopic) -> CreatableTopic {
    let config = |(key, value): &(Str, Str)| CreatableTopicConfig {
        name: key.clone(),
        value: Some(value.clone()),
        ..Default::default()
    };
    CreatableTopic {
        name: topic.name.clone(),
        num_partitions: topic.partitions,
        replication_factor: if topic.replication_factor == 0 { -1 } else { topic.replication_factor },
        configs: topic.configs.iter().map(config).collect(),
        ..Default::default()
    }
}

fn incorrectly_partitioned(detail: String) -> Stop {
    Stop::Problem(Problem { status: TopicStatus::IncorrectlyPartitionedTopics, detail, wanted: None })
}

fn sorted(mut names: Vec<Str>) -> Vec<Str> {
    names.sort();
    names
}

/// At most three names, then how many more there are.
fn summary<'a>(names: impl ExactSizeIterator<Item = &'a Str>) -> String {
    const SHOWN: usize = 3;
    let more = names.len().saturating_sub(SHOWN);
    let shown: Vec<String> = names.take(SHOWN).map(ToString::to_string).collect();
    let shown = shown.join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} additional topics") }
}

#[cfg(test)]
#[path = "configure_tests.rs"]
mod tests;
