//! `range` and `uniform` against slow assignors that are written down from the rules (14.4 to 14.6): each topic asks
//! every member anew, each step of balancing sorts anew, and no member shares anything with another.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a test")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use coordinator::Entropy;
use coordinator::assign::{Outlines, PartitionAssignor, PartitionSpec, Partitions, Subscriber, Topic};
use wire::{Str, Uuid};

/// Of each assignor.
const CASES: u64 = 10_000;

/// Topic and partition.
type Partition = (usize, i32);

#[derive(Debug, Clone, Default)]
struct Member {
    id: Str,
    instance: Option<Str>,
    topics: BTreeSet<usize>,
    target: Option<BTreeSet<Partition>>,
}

/// Topics of a target that are not here were deleted.
#[derive(Debug, Clone, Default)]
struct Group {
    topics: BTreeMap<usize, i32>,
    /// By id.
    members: Vec<Member>,
}

/// What each member gets.
type Assigned = Vec<BTreeSet<Partition>>;

impl Group {
    fn subscribers(&self, topic: usize) -> Vec<usize> {
        (0..self.members.len()).filter(|it| self.members[*it].topics.contains(&topic)).collect()
    }

    fn partitions(&self, topic: usize) -> impl Iterator<Item = Partition> + use<> {
        (0..self.topics[&topic]).map(move |it| (topic, it))
    }

    fn exists(&self, (topic, partition): &Partition) -> bool {
        self.topics.get(topic).is_some_and(|count| partition < count)
    }

    fn is_homogeneous(&self) -> bool {
        self.members.windows(2).all(|two| two[0].topics == two[1].topics)
    }

    /// 14.4.
    fn range(&self) -> Assigned {
        let mut result = vec![BTreeSet::new(); self.members.len()];
        for topic in self.topics.keys() {
            let mut subscribers = self.subscribers(*topic);
            subscribers.sort_by_key(|it| {
                let member = &self.members[*it];
                (member.instance.is_none(), member.instance.clone(), member.id.clone())
            });
            let mut partitions = self.partitions(*topic);
            let (all, count) = (partitions.size_hint().0, subscribers.len());
            for (at, member) in subscribers.into_iter().enumerate() {
                let share = all / count + usize::from(at < all % count);
                result[member].extend(partitions.by_ref().take(share));
            }
        }
        result
    }

    /// 14.5.
    fn homogeneous(&self) -> Assigned {
        let Some(first) = self.members.first() else { return Vec::new() };
        let by_id = |it: &Partition| (id(it.0), it.1);
        let known = first.topics.iter().filter(|it| self.topics.contains_key(it));
        let mut wanted: Vec<Partition> = known.flat_map(|it| self.partitions(*it)).collect();
        wanted.sort_by_key(by_id);
        let all = self.members.iter().filter_map(|it| it.target.as_ref()).flatten().collect::<BTreeSet<_>>();
        let mut free: Vec<Partition> = wanted.iter().filter(|it| !all.contains(it)).copied().collect();
        let count = self.members.len();
        let (least, mut extras) = (wanted.len() / count, wanted.len() % count);
        let mut seen = BTreeSet::new();
        let (mut result, mut unfilled) = (Vec::new(), Vec::new());
        for (at, member) in self.members.iter().enumerate() {
            let mut has_extra = extras > 0;
            let quota = least + usize::from(has_extra);
            let mut kept = BTreeSet::new();
            let mut target: Vec<&Partition> = member.target.iter().flatten().collect();
            target.sort_by_key(|it| by_id(it));
            for partition in target {
                if !self.exists(partition) || !member.topics.contains(&partition.0) {
                    continue;
                }
                // The first of two owners has it.
                if !seen.insert(*partition) {
                    continue;
                }
                if kept.len() < quota {
                    kept.insert(*partition);
                } else {
                    free.push(*partition);
                }
            }
            let mut lacks = quota - kept.len();
            if lacks > 0 && has_extra && count - at > extras {
                lacks -= 1;
                has_extra = false;
            }
            extras -= usize::from(has_extra);
            unfilled.push(lacks);
            result.push(kept);
        }
        let mut free = free.into_iter();
        for (target, lacks) in result.iter_mut().zip(unfilled) {
            target.extend(free.by_ref().take(lacks));
        }
        assert_eq!(free.next(), None);
        result
    }

    /// 14.6; members' numbers are the order of their ids.
    fn heterogeneous(&self) -> Assigned {
        let mut result: Assigned = vec![BTreeSet::new(); self.members.len()];
        let mut owned = BTreeSet::new();
        for (member, kept) in self.members.iter().zip(&mut result) {
            for partition in member.target.iter().flatten() {
                if self.exists(partition) && member.topics.contains(&partition.0) && owned.insert(*partition)
                {
                    kept.insert(*partition);
                }
            }
        }
        let mut order: Vec<usize> =
            self.topics.keys().filter(|it| !self.subscribers(**it).is_empty()).copied().collect();
        order.sort_by_key(|topic| {
            let subscribers = self.subscribers(*topic).len();
            let share = f64::from(self.topics[topic]) / subscribers as f64;
            (Reverse(share.to_bits()), subscribers, signed(id(*topic)))
        });
        for topic in &order {
            let mut levels = Levels::new(&self.subscribers(*topic), &result);
            for partition in self.partitions(*topic).filter(|it| !owned.contains(it)) {
                let member = levels.least(&result);
                result[member].insert(partition);
            }
        }
        order.retain(|topic| self.subscribers(*topic).len() > 1);
        let mut last = None;
        for _ in 0..16 {
            for topic in &order {
                if last == Some(*topic) {
                    return result;
                }
                if balance(*topic, &self.subscribers(*topic), &mut result) > 0 || last.is_none() {
                    last = Some(*topic);
                }
            }
        }
        result
    }
}

fn id(topic: usize) -> Uuid {
    // Some are negative as signed numbers, some differ in the second half alone.
    let mut id = [0; 16];
    id[0] = if topic % 3 == 2 { 0x80 } else { 0 };
    id[8] = if topic % 4 == 1 { 0xf0 } else { 0 };
    id[15] = u8::try_from(topic).unwrap();
    Uuid(id)
}

fn signed(id: Uuid) -> (i64, i64) {
    let (first, second) = id.0.split_at(8);
    (i64::from_be_bytes(first.try_into().unwrap()), i64::from_be_bytes(second.try_into().unwrap()))
}

/// The procedure of 14.6, step by step.
struct Levels {
    sorted: Vec<usize>,
    low: usize,
    low_end: usize,
    low_level: i64,
    high: i64,
    high_begin: usize,
    high_end: usize,
    high_level: i64,
}

fn size(of: usize, result: &Assigned) -> i64 {
    i64::try_from(result[of].len()).unwrap()
}

impl Levels {
    fn new(subscribers: &[usize], result: &Assigned) -> Self {
        let mut sorted = subscribers.to_vec();
        sorted.sort_by_key(|it| (size(*it, result), *it));
        let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
        Self {
            low: 0,
            low_end: 0,
            low_level: size(first, result) - 1,
            high: i64::try_from(sorted.len()).unwrap() - 1,
            high_begin: sorted.len(),
            high_end: sorted.len(),
            high_level: size(last, result) + 1,
            sorted,
        }
    }

    fn least(&mut self, result: &Assigned) -> usize {
        if self.low >= self.low_end {
            self.low_level += 1;
            while self.low_end < self.sorted.len()
                && size(self.sorted[self.low_end], result) == self.low_level
            {
                self.low_end += 1;
            }
            self.low = 0;
        }
        self.low += 1;
        self.sorted[self.low - 1]
    }

    fn most(&mut self, result: &Assigned) -> Option<usize> {
        if self.high < i64::try_from(self.high_begin).unwrap() {
            if self.high_end <= self.high_begin && self.high_begin > 0 {
                self.high_level = size(self.sorted[self.high_begin - 1], result);
            } else {
                self.high_level -= 1;
            }
            while self.high_begin > 0 && size(self.sorted[self.high_begin - 1], result) == self.high_level {
                self.high_begin -= 1;
            }
            self.high = i64::try_from(self.high_end).unwrap() - 1;
        }
        let at = usize::try_from(self.high).ok()?;
        self.high -= 1;
        Some(self.sorted[at])
    }

    fn exclude(&mut self) {
        self.sorted.swap(usize::try_from(self.high + 1).unwrap(), self.high_end - 1);
        self.high_end -= 1;
    }

    fn is_balanced(&self) -> bool {
        self.high_level - self.low_level <= 1
    }
}

/// How many moved.
fn balance(topic: usize, subscribers: &[usize], result: &mut Assigned) -> usize {
    let sizes = subscribers.iter().map(|it| size(*it, result));
    if sizes.clone().max() <= sizes.min().map(|it| it + 1) {
        return 0;
    }
    let mut levels = Levels::new(subscribers, result);
    let of_topic = |it: &BTreeSet<Partition>| it.range((topic, 0)..(topic + 1, 0)).copied().collect();
    let mut groups: Vec<Vec<Partition>> = result.iter().map(of_topic).collect();
    let mut moved = 0;
    while !levels.is_balanced() {
        let mut giver = levels.most(result);
        while giver.is_some_and(|it| groups[it].is_empty()) {
            levels.exclude();
            giver = levels.most(result);
        }
        let Some(giver) = giver else { break };
        let partition = groups[giver].pop().unwrap();
        let taker = levels.least(result);
        if levels.is_balanced() {
            break;
        }
        assert!(result[giver].remove(&partition));
        assert!(result[taker].insert(partition));
        moved += 1;
    }
    moved
}

fn partitions(of: &BTreeSet<Partition>) -> Partitions {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    of.iter().for_each(|(topic, partition)| topics.entry(id(*topic)).or_default().push(*partition));
    topics.into_iter().collect()
}

/// The assignor's answer, and whether it says of each target that it is the one that the member has.
fn fast(group: &Group, assignor: PartitionAssignor, homogeneous: bool) -> Vec<(Partitions, bool)> {
    let topic = |(number, count): (&usize, &i32)| Topic { id: id(*number), partitions: count.unsigned_abs() };
    let mut topics: Vec<Topic> = group.topics.iter().map(topic).collect();
    topics.sort_by_key(|it| it.id);
    // As the members of a group share them.
    let mut outlines = Outlines::default();
    let mut target = |it: &BTreeSet<Partition>| {
        let mut target = partitions(it);
        outlines.share(&mut target);
        target
    };
    let targets: Vec<Option<Partitions>> =
        group.members.iter().map(|it| it.target.as_ref().map(&mut target)).collect();
    let mut spec = PartitionSpec::new(topics);
    for (member, target) in group.members.iter().zip(&targets) {
        let subscription =
            spec.subscription(member.topics.iter().filter_map(|it| spec.place(id(*it))).collect());
        spec.add(Subscriber {
            id: &member.id,
            instance: member.instance.as_ref(),
            subscription,
            target: target.as_ref(),
        });
    }
    spec.homogeneous = homogeneous;
    let result = assignor.assign(&spec);
    let is_borrowed = |it: &std::borrow::Cow<'_, Partitions>| matches!(it, std::borrow::Cow::Borrowed(_));
    result.into_iter().map(|it| (it.clone().into_owned(), is_borrowed(&it))).collect()
}

struct Dice(Entropy);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.next_u64() % u64::try_from(bound).unwrap()).unwrap()
    }

    fn some_topics(&mut self, topics: usize) -> BTreeSet<usize> {
        let many = 1 + self.below(4);
        (0..topics).filter(|_| self.below(4) < many).collect()
    }

    /// `few`: members choose among few subscriptions; else each has its own, or all have the same one.
    fn group(&mut self, homogeneous: bool) -> Group {
        // Some are so large that what the assignors remember of those who came before has no room for all.
        let (topics_max, members_max) = if self.below(30) == 0 { (40, 140) } else { (8, 13) };
        let topics = 1 + self.below(topics_max);
        let large = self.below(3) == 0;
        let mut group = Group::default();
        for topic in 0..topics {
            let most = if large { 90 } else { 9 };
            if self.below(8) > 0 {
                group.topics.insert(topic, i32::try_from(self.below(most)).unwrap());
            }
        }
        let subscriptions = if homogeneous { 1 } else { [2, 3, 5, 40][self.below(4)] };
        let kinds: Vec<_> = (0..subscriptions).map(|_| self.some_topics(topics)).collect();
        for number in 0..self.below(members_max) {
            let mut member = Member { id: Str::from(format!("m{number:03}")), ..Member::default() };
            member.topics = kinds[self.below(kinds.len())].clone();
            if self.below(4) == 0 {
                member.instance = Some(Str::from(format!("i{}", 900 - number)));
            }
            group.members.push(member);
        }
        group
    }

    /// Targets that nobody would make: with doubles, of topics and partitions that are gone.
    fn odd_targets(&mut self, group: &mut Group) {
        let topics = group.topics.keys().last().map_or(1, |it| it + 2);
        for member in &mut group.members {
            let count = self.below(12);
            let target = (0..count).map(|_| (self.below(topics), i32::try_from(self.below(14)).unwrap()));
            let target: BTreeSet<Partition> = target.collect();
            member.target = (self.below(5) > 0).then_some(target);
        }
    }

    /// Targets that somebody made, and then something changed.
    fn grown_targets(&mut self, group: &mut Group, made: Assigned, homogeneous: bool) {
        for (member, target) in group.members.iter_mut().zip(made) {
            member.target = Some(target);
        }
        let topics = group.topics.keys().last().map_or(1, |it| it + 1);
        for _ in 0..=self.below(3) {
            match self.below(6) {
                0 => {
                    let at = self.below(group.members.len() + 1);
                    if at < group.members.len() {
                        group.members.remove(at);
                    }
                }
                1 => {
                    let topics = match group.members.first() {
                        Some(first) if homogeneous => first.topics.clone(),
                        Some(_) | None => self.some_topics(topics),
                    };
                    let id = Str::from(format!("n{:02}", self.below(99)));
                    group.members.push(Member { id, topics, ..Member::default() });
                }
                2 => drop(group.topics.remove(&self.below(topics))),
                3 => {
                    let topic = self.below(topics);
                    let more = i32::try_from(self.below(9)).unwrap();
                    group.topics.entry(topic).and_modify(|it| *it += more);
                }
                4 => {
                    let topics = self.some_topics(topics);
                    let at = self.below(group.members.len() + 1);
                    for (number, member) in group.members.iter_mut().enumerate() {
                        if homogeneous || number == at {
                            member.topics.clone_from(&topics);
                        }
                    }
                }
                _ => group.members.iter_mut().filter(|_| self.below(4) == 0).for_each(|it| it.target = None),
            }
        }
        group.members.sort_by_key(|it| it.id.clone());
        group.members.dedup_by_key(|it| it.id.clone());
    }
}

type Reference = fn(&Group) -> Assigned;

fn check(assignor: PartitionAssignor, homogeneous: bool, reference: Reference, alike: impl Fn(u64) -> bool) {
    let first = std::env::var("THALWEG_SEED").ok().and_then(|it| it.parse().ok());
    let seeds = first.map_or(0..CASES, |it: u64| it..it + 1);
    let (mut members, mut unchanged) = (0, 0);
    for seed in seeds {
        let mut dice = Dice(Entropy::seeded(seed));
        let mut group = dice.group(alike(seed));
        match dice.below(4) {
            0 => {}
            1 => dice.odd_targets(&mut group),
            _ => {
                let made = reference(&group);
                dice.grown_targets(&mut group, made, alike(seed));
            }
        }
        if homogeneous && !group.is_homogeneous() {
            continue;
        }
        let expected: Vec<Partitions> = reference(&group).iter().map(partitions).collect();
        let found = fast(&group, assignor, homogeneous);
        assert_eq!(found.len(), expected.len());
        for (number, ((found, is_known), expected)) in found.iter().zip(&expected).enumerate() {
            let context = || format!("{assignor:?} SEED={seed} member {number} of\n{group:#?}");
            assert_eq!(found, expected, "{}", context());
            let known = group.members[number].target.as_ref().map(partitions);
            assert!(!is_known || known.as_ref() == Some(expected), "{}", context());
            members += 1;
            unchanged += usize::from(*is_known);
        }
    }
    println!(
        "{assignor:?}, homogeneous: {homogeneous}: {members} members, {unchanged} unchanged; seeds 0 to {CASES}"
    );
    assert!(first.is_some() || (members > 10_000 && unchanged > members / 20), "{members} {unchanged}");
}

#[test]
fn range_is_what_its_rules_say() {
    check(PartitionAssignor::Range, false, Group::range, |seed| seed % 4 == 0);
}

#[test]
fn uniform_is_what_its_rules_say() {
    check(PartitionAssignor::Uniform, true, Group::homogeneous, |_| true);
}

/// Also of members that subscribe to the same, which is how one group with expressions looks.
#[test]
fn uniform_of_different_subscriptions_is_what_its_rules_say() {
    check(PartitionAssignor::Uniform, false, Group::heterogeneous, |seed| seed % 4 == 0);
}
