//! Assignors of consumer groups: tables (scenarios 266 to 274) and properties of random groups.

use std::collections::{BTreeMap, BTreeSet};

use super::{PartitionAssignor, PartitionSpec, Partitions, Subscriber, Topic};
use crate::machine::Entropy;
use wire::{Str, Uuid};

/// A group in short: what members subscribe to, their instance ids and their targets.
#[derive(Clone, Default, Debug)]
struct Group {
    /// Partitions of topic 1, 2, …
    topics: Vec<u32>,
    members: BTreeMap<Str, Member>,
}

#[derive(Clone, Default, Debug)]
struct Member {
    instance: Option<Str>,
    topics: BTreeSet<u8>,
    target: Option<Partitions>,
}

fn topic_id(number: u8) -> Uuid {
    let mut id = [0; 16];
    id[15] = number;
    Uuid(id)
}

/// `1:0,1 2:0`, or nothing.
fn partitions(text: &str) -> Partitions {
    text.split_whitespace()
        .map(|topic| {
            let (topic, list) = topic.split_once(':').unwrap();
            (topic_id(topic.parse().unwrap()), list.split(',').map(|it| it.parse().unwrap()))
        })
        .collect()
}

fn shown(partitions: &Partitions) -> String {
    let topic = |(topic, list): (Uuid, &[i32])| {
        let list: Vec<_> = list.iter().map(ToString::to_string).collect();
        format!("{}:{}", topic.0[15], list.join(","))
    };
    partitions.iter().map(topic).collect::<Vec<_>>().join(" ")
}

impl Group {
    fn new(topics: &[u32]) -> Self {
        Self { topics: topics.to_vec(), ..Self::default() }
    }

    fn member(mut self, id: &str, topics: &[u8], target: &str) -> Self {
        let target = Some(partitions(target)).filter(|it| !it.is_empty());
        let member = Member { topics: topics.iter().copied().collect(), target, instance: None };
        self.members.insert(Str::from(id), member);
        self
    }

    fn instance(mut self, id: &str, instance: &str) -> Self {
        self.members.get_mut(&Str::from(id)).unwrap().instance = Some(Str::from(instance));
        self
    }

    fn is_homogeneous(&self) -> bool {
        let mut sets = self.members.values().map(|it| &it.topics);
        let first = sets.next();
        sets.all(|it| Some(it) == first)
    }

    fn assign_as(&self, assignor: PartitionAssignor, homogeneous: bool) -> BTreeMap<Str, Partitions> {
        let exists = |number: &u8| usize::from(*number) <= self.topics.len();
        let topics =
            (1..).zip(&self.topics).map(|(number, it)| Topic { id: topic_id(number), partitions: *it });
        let mut spec = PartitionSpec::new(topics.collect());
        for (id, member) in &self.members {
            let wanted = member.topics.iter().filter(|it| exists(it));
            let wanted = wanted.map(|it| spec.place(topic_id(*it)).unwrap()).collect();
            let subscription = spec.subscription(wanted);
            spec.add(Subscriber {
                id,
                instance: member.instance.as_ref(),
                subscription,
                target: member.target.as_ref(),
            });
        }
        spec.homogeneous = homogeneous;
        let targets = assignor.assign(&spec);
        assert_eq!(targets.len(), self.members.len());
        self.members.keys().cloned().zip(targets.into_iter().map(|it| it.into_owned())).collect()
    }

    fn assign(&self, assignor: PartitionAssignor) -> BTreeMap<Str, Partitions> {
        self.assign_as(assignor, self.is_homogeneous())
    }

    #[track_caller]
    fn check(&self, assignor: PartitionAssignor, expected: &[(&str, &str)]) {
        let targets = self.assign(assignor);
        let found: Vec<_> = targets.iter().map(|(id, it)| (id.to_string(), shown(it))).collect();
        let expected: Vec<_> = expected.iter().map(|(id, it)| ((*id).to_owned(), (*it).to_owned())).collect();
        assert_eq!(found, expected);
    }

    fn follow(&mut self, targets: BTreeMap<Str, Partitions>) {
        for (id, target) in targets {
            self.members.get_mut(&id).unwrap().target = Some(target);
        }
    }
}

const UNIFORM: PartitionAssignor = PartitionAssignor::Uniform;
const RANGE: PartitionAssignor = PartitionAssignor::Range;

/// 14.4 and scenarios 266, 267.
#[test]
fn range_gives_contiguous_pieces() {
    Group::new(&[3, 2])
        .member("A", &[1, 2], "")
        .member("B", &[1, 2], "")
        .check(RANGE, &[("A", "1:0,1 2:0"), ("B", "1:2 2:1")]);
    Group::new(&[3, 3, 2])
        .member("A", &[1, 2], "")
        .member("B", &[3], "")
        .member("C", &[2, 3], "")
        .check(RANGE, &[("A", "1:0,1,2 2:0,1"), ("B", "3:0"), ("C", "2:2 3:1")]);
    Group::new(&[3, 2])
        .member("A", &[1, 2], "")
        .member("B", &[1, 2], "")
        .member("C", &[1, 2], "")
        .check(RANGE, &[("A", "1:0 2:0"), ("B", "1:1 2:1"), ("C", "1:2")]);
    Group::new(&[3]).member("A", &[], "").member("B", &[9], "").check(RANGE, &[("A", ""), ("B", "")]);
}

/// Scenario 268: what members had counts for nothing.
#[test]
fn range_after_changes() {
    Group::new(&[4, 4])
        .member("A", &[1, 2], "1:0,1 2:0,1")
        .member("B", &[1, 2], "1:2 2:2")
        .check(RANGE, &[("A", "1:0,1 2:0,1"), ("B", "1:2,3 2:2,3")]);
    Group::new(&[3, 3])
        .member("A", &[1, 2], "1:0,1 2:0,1")
        .member("B", &[1, 2], "1:2 2:2")
        .member("C", &[1, 2], "")
        .check(RANGE, &[("A", "1:0 2:0"), ("B", "1:1 2:1"), ("C", "1:2 2:2")]);
    Group::new(&[3, 3]).member("B", &[1, 2], "1:2 2:2").check(RANGE, &[("B", "1:0,1,2 2:0,1,2")]);
    Group::new(&[3, 3, 2])
        .member("A", &[1], "1:0,1 2:0,1")
        .member("B", &[2, 3], "1:2 3:0")
        .check(RANGE, &[("A", "1:0,1,2"), ("B", "2:0,1,2 3:0,1")]);
}

/// Scenario 269: static members first, in the order of their instance ids.
#[test]
fn range_keeps_the_ranges_of_static_members() {
    let group = Group::new(&[3]).member("z", &[1], "").member("y", &[1], "").member("a", &[1], "");
    let group = group.instance("z", "i1").instance("y", "i2");
    group.check(RANGE, &[("a", "1:2"), ("y", "1:1"), ("z", "1:0")]);
    let again = Group::new(&[3]).member("b", &[1], "").member("c", &[1], "").member("a", &[1], "");
    let again = again.instance("b", "i2").instance("c", "i1");
    again.check(RANGE, &[("a", "1:2"), ("b", "1:1"), ("c", "1:0")]);
}

/// 14.5 and scenario 271.
#[test]
fn uniform_balances_and_keeps() {
    Group::new(&[3, 2])
        .member("A", &[1, 2], "")
        .member("B", &[1, 2], "")
        .check(UNIFORM, &[("A", "1:0,1"), ("B", "1:2 2:0,1")]);
    Group::new(&[3, 3])
        .member("A", &[1, 2], "1:0,1 2:0,1")
        .member("B", &[1, 2], "1:2 2:2")
        .check(UNIFORM, &[("A", "1:0,1 2:0"), ("B", "1:2 2:1,2")]);
    Group::new(&[3, 3])
        .member("A", &[1, 2], "1:0,2 2:0")
        .member("B", &[1, 2], "1:1 2:1,2")
        .member("C", &[1, 2], "")
        .check(UNIFORM, &[("A", "1:0,2"), ("B", "1:1 2:1"), ("C", "2:0,2")]);
    // Fewer partitions than members; partitions added; a topic that all dropped; one that is gone.
    Group::new(&[2])
        .member("A", &[1], "")
        .member("B", &[1], "")
        .member("C", &[1], "")
        .check(UNIFORM, &[("A", ""), ("B", "1:0"), ("C", "1:1")]);
    Group::new(&[4])
        .member("A", &[1], "1:0")
        .member("B", &[1], "1:1")
        .check(UNIFORM, &[("A", "1:0,2"), ("B", "1:1,3")]);
    Group::new(&[2, 2])
        .member("A", &[2], "1:0 2:0")
        .member("B", &[2], "1:1 2:1")
        .check(UNIFORM, &[("A", "2:0"), ("B", "2:1")]);
    Group::new(&[2]).member("A", &[1], "1:0 9:0,1,2").check(UNIFORM, &[("A", "1:0,1")]);
    Group::new(&[2]).member("A", &[], "1:0").check(UNIFORM, &[("A", "")]);
}

/// 14.5: an extra partition stays with a later member that has it.
#[test]
fn uniform_leaves_the_extra_partition_where_it_is() {
    Group::new(&[5])
        .member("A", &[1], "1:0,1")
        .member("B", &[1], "1:2,3,4")
        .check(UNIFORM, &[("A", "1:0,1"), ("B", "1:2,3,4")]);
    Group::new(&[5])
        .member("A", &[1], "1:0,1")
        .member("B", &[1], "1:2,3")
        .member("C", &[1], "")
        .check(UNIFORM, &[("A", "1:0,1"), ("B", "1:2,3"), ("C", "1:4")]);
}

/// 14.6 and scenario 273.
#[test]
fn uniform_of_different_subscriptions() {
    Group::new(&[3, 3, 6])
        .member("A", &[1, 3], "")
        .member("B", &[3], "")
        .check(UNIFORM, &[("A", "1:0,1,2 3:4"), ("B", "3:0,1,2,3,5")]);
    Group::new(&[6, 4, 4])
        .member("A", &[1], "1:0,1,2")
        .member("B", &[1, 2], "1:3 2:0")
        .member("C", &[1, 2, 3], "1:4,5 2:1,2,3 3:0,1,2,3")
        .check(UNIFORM, &[("A", "1:0,1,2,5"), ("B", "1:3 2:0,1,2,3"), ("C", "1:4 3:0,1,2,3")]);
    Group::new(&[2, 2])
        .member("A", &[1, 2], "")
        .member("B", &[], "")
        .check(UNIFORM, &[("A", "1:0,1 2:0,1"), ("B", "")]);
    Group::new(&[2, 2])
        .member("A", &[1], "1:0 2:0,1")
        .member("B", &[1, 2], "")
        .check(UNIFORM, &[("A", "1:0,1"), ("B", "2:0,1")]);
}

/// 14.6, third row: the procedure also runs over members that subscribe to the same.
#[test]
fn uniform_of_different_subscriptions_moves_the_last_of_the_fullest() {
    let all = "1:0,1 2:0,1 3:0,1";
    let group = Group::new(&[2, 2, 2]).member("A", &[1, 2, 3], all).member("B", &[1, 2, 3], "");
    let targets = group.assign_as(UNIFORM, false);
    assert_eq!(shown(&targets[&Str::from("A")]), "2:0 3:0,1");
    assert_eq!(shown(&targets[&Str::from("B")]), "1:0,1 2:1");
}

/// Draws a group, and changes it as members come, go and change their minds.
struct Dice(Entropy);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    fn topics(&mut self, count: u64) -> BTreeSet<u8> {
        (1..=count).filter(|_| self.below(3) > 0).map(|it| u8::try_from(it).unwrap()).collect()
    }

    fn change(&mut self, group: &mut Group, homogeneous: bool) {
        let count = u64::try_from(group.topics.len()).unwrap();
        match self.below(5) {
            0 | 1 => {
                let id = Str::from(format!("m{}", self.below(1000)));
                let topics = match group.members.values().next() {
                    Some(first) if homogeneous => first.topics.clone(),
                    Some(_) | None => self.topics(count),
                };
                group.members.entry(id).or_insert(Member { topics, ..Member::default() });
            }
            2 if group.members.len() > 1 => {
                let at = usize::try_from(self.below(u64::try_from(group.members.len()).unwrap())).unwrap();
                let id = group.members.keys().nth(at).unwrap().clone();
                group.members.remove(&id);
            }
            3 => {
                let at = usize::try_from(self.below(count)).unwrap();
                group.topics[at] += u32::try_from(self.below(4)).unwrap();
            }
            _ => {
                let topics = self.topics(count);
                for (at, member) in group.members.values_mut().enumerate() {
                    if homogeneous || at == 0 {
                        member.topics = topics.clone();
                    }
                }
            }
        }
    }
}

/// Each partition that somebody wants has one owner who wants it, and none else.
fn check_whole(group: &Group, targets: &BTreeMap<Str, Partitions>) {
    let mut owners = BTreeMap::new();
    for (id, target) in targets {
        for (topic, list) in target {
            assert!(!list.is_empty() && list.is_sorted_by(|a, b| a < b), "{group:?} {target:?}");
            assert!(group.members[id].topics.contains(&topic.0[15]), "{group:?} {targets:?}");
            for partition in list {
                assert!(owners.insert((topic.0[15], *partition), id).is_none(), "two owners in {targets:?}");
            }
        }
    }
    let wanted = |number: u8| group.members.values().any(|it| it.topics.contains(&number));
    let all: u32 = (1..).zip(&group.topics).filter(|(number, _)| wanted(*number)).map(|(_, it)| *it).sum();
    assert_eq!(owners.len(), usize::try_from(all).unwrap(), "{group:?} {targets:?}");
}

fn size(target: &Partitions) -> usize {
    target.count()
}

fn kept(old: &Partitions, new: &Partitions) -> usize {
    let both = |(topic, list): (Uuid, &[i32])| list.iter().filter(|it| new.contains(topic, **it)).count();
    old.iter().map(both).sum()
}

/// Scenarios 272 and 274: whole, balanced, sticky, and at rest on its own result.
#[test]
fn random_groups() {
    for seed in 0..60 {
        let mut dice = Dice(Entropy::seeded(seed));
        let homogeneous = seed % 2 == 0;
        let mut group = Group::default();
        for _ in 0..1 + dice.below(5) {
            group.topics.push(u32::try_from(1 + dice.below(12)).unwrap());
        }
        for _ in 0..30 {
            dice.change(&mut group, homogeneous);
            if group.members.is_empty() {
                continue;
            }
            check_whole(&group, &group.assign(RANGE));
            let targets = group.assign(UNIFORM);
            check_whole(&group, &targets);
            if group.is_homogeneous() {
                let sizes = targets.values().map(size);
                assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1, "{seed}: {targets:?}");
                // A member gives up only what is above its share, or what nobody wants any more.
                for (id, target) in &targets {
                    let member = &group.members[id];
                    let old = member.target.clone().unwrap_or_default();
                    let wanted = old.iter().filter(|(topic, _)| member.topics.contains(&topic.0[15]));
                    let old = wanted.map(|(topic, list)| (topic, list.to_vec())).collect();
                    let most = targets.values().map(size).min().unwrap();
                    assert!(kept(&old, target) >= size(&old).min(most), "{seed}: {old:?} {target:?}");
                }
            }
            group.follow(targets.clone());
            assert_eq!(group.assign(UNIFORM), targets, "seed {seed} is not at rest");
        }
    }
}

/// Scenario 272, a large group: everything once, sizes differ by one at most. The different
/// subscriptions end too.
#[test]
fn large_groups() {
    let mut group = Group::new(&[50; 50]);
    let all: Vec<u8> = (1..=50).collect();
    for number in 0..333 {
        group = group.member(&format!("m{number}"), &all, "");
    }
    let targets = group.assign(UNIFORM);
    check_whole(&group, &targets);
    let sizes = targets.values().map(size);
    assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
    for (at, member) in group.members.values_mut().enumerate() {
        member.topics.retain(|it| usize::from(*it) % 5 == at % 5);
    }
    let targets = group.assign(UNIFORM);
    check_whole(&group, &targets);
    for kind in 0..5 {
        let sizes = targets.values().skip(kind).step_by(5).map(size);
        assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1, "kind {kind}");
    }
}
