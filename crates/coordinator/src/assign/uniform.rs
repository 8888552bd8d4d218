//! Assignor `uniform`: balance first, then as few moves as possible (14.5, 14.6).
//!
//! If all members subscribe to the same topics each gets a quota and keeps what fits into it. Otherwise
//! topics are filled one after the other, each to its least loaded subscribers, and then balanced by
//! moving partitions from the most to the least loaded subscriber of a topic; that is balanced for each
//! topic, but not always as a whole.
//!
//! Where Kafka goes by the order of a hash table, members go here by id and topics by their ids.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::partitions::{Builder, PartitionSpec, Partitions, Topic};
use wire::Uuid;

/// Rounds of balancing.
const ROUNDS_MAX: usize = 16;

/// 14.5.
pub(super) fn homogeneous<'a>(spec: &PartitionSpec<'a>) -> Vec<Cow<'a, Partitions>> {
    let Some(first) = spec.members.first() else { return Vec::new() };
    let mut wanted = vec![false; spec.topics.len()];
    let topics: Vec<(usize, &Topic)> =
        first.topics.iter().filter_map(|it| Some((usize::try_from(*it).ok()?, spec.topic(*it)?))).collect();
    topics.iter().filter_map(|(place, _)| Some(place).copied()).for_each(|place| {
        wanted.get_mut(place).into_iter().for_each(|it| *it = true);
    });
    let total: u64 = topics.iter().map(|(_, topic)| u64::from(topic.partitions)).sum();
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    let members = spec.members.len();
    let (least, mut extras) = (total / members, total % members);
    let mut free = unowned(spec, &topics);
    let mut taken = spec.cells(false);
    let mut targets = Vec::with_capacity(members);
    let mut unfilled = Vec::new();
    for (index, member) in spec.members.iter().enumerate() {
        let mut has_extra = extras > 0;
        let mut quota = least + usize::from(has_extra);
        let mut kept = Kept::default();
        for (topic, partitions) in member.target.into_iter().flatten() {
            let place = spec.place(*topic).and_then(|it| usize::try_from(it).ok());
            let place = place.filter(|it| wanted.get(*it).copied().unwrap_or(false));
            let Some(cells) = place.and_then(|it| taken.get_mut(it)) else {
                kept.is_changed = true;
                continue;
            };
            kept.take(*topic, partitions, cells, &mut quota, &mut free);
        }
        // Leave the extra one to a later member that has it already, as long as there are enough of them.
        if quota > 0 && has_extra && members - index > extras {
            quota -= 1;
            has_extra = false;
        }
        extras -= usize::from(has_extra);
        if quota > 0 {
            unfilled.push((index, quota));
        }
        targets.push(match member.target {
            Some(target) if !kept.is_changed && quota == 0 => Cow::Borrowed(target),
            Some(_) | None => Cow::Owned(kept.partitions),
        });
    }
    fill(&mut targets, &unfilled, free);
    targets
}

/// What a member keeps of its target.
#[derive(Default)]
struct Kept {
    partitions: Partitions,
    is_changed: bool,
}

impl Kept {
    /// As many as the quota allows; the others become free. A partition that another member has too,
    /// or that does not exist, is dropped.
    fn take(
        &mut self,
        topic: Uuid,
        partitions: &[i32],
        cells: &mut [bool],
        quota: &mut usize,
        free: &mut Vec<(Uuid, i32)>,
    ) {
        let mut list = Vec::with_capacity(partitions.len().min(*quota));
        for partition in partitions {
            let cell = usize::try_from(*partition).ok().and_then(|it| cells.get_mut(it));
            let Some(cell) = cell.filter(|it| !**it) else {
                self.is_changed = true;
                continue;
            };
            *cell = true;
            if *quota == 0 {
                self.is_changed = true;
                free.push((topic, *partition));
                continue;
            }
            *quota -= 1;
            list.push(*partition);
        }
        if !list.is_empty() {
            self.partitions.insert(topic, list);
        }
    }
}

/// Partitions that stand in no target.
fn unowned(spec: &PartitionSpec<'_>, topics: &[(usize, &Topic)]) -> Vec<(Uuid, i32)> {
    let mut owned = spec.cells(false);
    for (topic, partitions) in spec.members.iter().filter_map(|it| it.target).flatten() {
        let place = spec.place(*topic).and_then(|it| usize::try_from(it).ok());
        let Some(cells) = place.and_then(|it| owned.get_mut(it)) else { continue };
        for partition in partitions {
            let cell = usize::try_from(*partition).ok().and_then(|it| cells.get_mut(it));
            cell.into_iter().for_each(|it| *it = true);
        }
    }
    let mut free = Vec::new();
    for (place, topic) in topics {
        let cells = owned.get(*place).into_iter().flatten();
        free.extend(
            (0..).zip(cells).filter(|(_, owned)| !**owned).map(|(partition, _)| (topic.id, partition)),
        );
    }
    free
}

fn fill(targets: &mut [Cow<'_, Partitions>], unfilled: &[(usize, usize)], free: Vec<(Uuid, i32)>) {
    let mut free = free.into_iter();
    for (index, quota) in unfilled {
        let Some(target) = targets.get_mut(*index) else { continue };
        let target = target.to_mut();
        let mut given: Vec<_> = free.by_ref().take(*quota).collect();
        given.sort_unstable();
        for piece in given.chunk_by(|a, b| a.0 == b.0) {
            let Some((topic, _)) = piece.first() else { continue };
            let list = target.entry(*topic).or_default();
            list.extend(piece.iter().map(|(_, partition)| *partition));
            list.sort_unstable();
        }
    }
}

/// Nobody, in an array of owners.
const NOBODY: u32 = u32::MAX;

/// 14.6.
pub(super) fn heterogeneous<'a>(spec: &PartitionSpec<'a>) -> Vec<Cow<'a, Partitions>> {
    let mut state = Heterogeneous::new(spec);
    let order = state.order();
    for place in &order {
        state.fill(*place);
    }
    state.balance(&order);
    let mut builder = Builder::new(spec.members.len());
    for (topic, owners) in spec.topics.iter().zip(&state.owners) {
        for (partition, owner) in (0..).zip(owners).filter(|(_, owner)| **owner != NOBODY) {
            let member = usize::try_from(*owner).unwrap_or(usize::MAX);
            builder.push(member, topic.id, [partition]);
        }
    }
    builder.build(spec)
}

struct Heterogeneous<'s, 'a> {
    spec: &'s PartitionSpec<'a>,
    /// Members by topic, ascending.
    subscribers: Vec<Vec<u32>>,
    /// Owner by topic and partition.
    owners: Vec<Vec<u32>>,
    levels: Levels,
}

impl<'s, 'a> Heterogeneous<'s, 'a> {
    /// Each member keeps what it has of the topics that it subscribes to.
    fn new(spec: &'s PartitionSpec<'a>) -> Self {
        let mut subscribers = vec![Vec::new(); spec.topics.len()];
        let mut owners = spec.cells(NOBODY);
        let mut levels = Levels { size: vec![0; spec.members.len()], ..Levels::default() };
        for (number, member) in (0_u32..).zip(&spec.members) {
            for place in member.topics.iter() {
                let topic = usize::try_from(*place).ok().and_then(|it| subscribers.get_mut(it));
                topic.into_iter().for_each(|it| it.push(number));
            }
            for (topic, partitions) in member.target.into_iter().flatten() {
                let place = spec.place(*topic).filter(|it| member.topics.binary_search(it).is_ok());
                let cells = place.and_then(|it| owners.get_mut(usize::try_from(it).ok()?));
                let Some(cells) = cells else { continue };
                for partition in partitions {
                    let cell = usize::try_from(*partition).ok().and_then(|it| cells.get_mut(it));
                    if let Some(cell) = cell.filter(|it| **it == NOBODY) {
                        *cell = number;
                        levels.change(number, 1);
                    }
                }
            }
        }
        Self { spec, subscribers, owners, levels }
    }

    /// Topics with the most partitions for a subscriber first, then those with few subscribers, then by
    /// id as two signed numbers.
    fn order(&self) -> Vec<usize> {
        let key = |place: &usize| {
            let subscribers = self.subscribers.get(*place).map_or(0, Vec::len);
            let topic = self.spec.topics.get(*place).copied();
            let topic = topic.unwrap_or(Topic { id: Uuid::ZERO, partitions: 0 });
            let share =
                f64::from(topic.partitions) / f64::from(u32::try_from(subscribers).unwrap_or(u32::MAX));
            // No share is negative, so its bits are in order.
            (Reverse(share.to_bits()), subscribers, signed(topic.id))
        };
        let is_wanted = |place: &usize| self.subscribers.get(*place).is_some_and(|it| !it.is_empty());
        let mut order: Vec<usize> = (0..self.spec.topics.len()).filter(is_wanted).collect();
        order.sort_by_cached_key(key);
        order
    }

    fn fill(&mut self, place: usize) {
        let (Some(subscribers), Some(owners)) = (self.subscribers.get(place), self.owners.get_mut(place))
        else {
            return;
        };
        if !owners.contains(&NOBODY) {
            return;
        }
        self.levels.begin(subscribers);
        for owner in owners.iter_mut().filter(|it| **it == NOBODY) {
            let Some(member) = self.levels.least() else { return };
            *owner = member;
            self.levels.change(member, 1);
        }
    }

    fn balance(&mut self, order: &[usize]) {
        let shared = |place: &&usize| self.subscribers.get(**place).is_some_and(|it| it.len() > 1);
        let order: Vec<usize> = order.iter().filter(shared).copied().collect();
        let mut last = None;
        for _ in 0..ROUNDS_MAX {
            for place in &order {
                if last == Some(*place) {
                    return;
                }
                if self.balance_topic(*place) || last.is_none() {
                    last = Some(*place);
                }
            }
        }
    }

    /// True if a partition moved.
    fn balance_topic(&mut self, place: usize) -> bool {
        let (Some(subscribers), Some(owners)) = (self.subscribers.get(place), self.owners.get_mut(place))
        else {
            return false;
        };
        let levels = &mut self.levels;
        if levels.begin(subscribers) <= 1 {
            return false;
        }
        let mut groups: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (partition, owner) in owners.iter().enumerate() {
            groups.entry(*owner).or_default().push(partition);
        }
        let mut is_moved = false;
        while !levels.is_balanced() {
            let giver = loop {
                let Some(member) = levels.most() else { return is_moved };
                match groups.get_mut(&member).and_then(Vec::pop) {
                    Some(partition) => break (member, partition),
                    None => levels.exclude(),
                }
            };
            let Some(taker) = levels.least() else { return is_moved };
            if levels.is_balanced() {
                break;
            }
            let (member, partition) = giver;
            owners.get_mut(partition).into_iter().for_each(|it| *it = taker);
            levels.change(member, -1);
            levels.change(taker, 1);
            is_moved = true;
        }
        is_moved
    }
}

fn signed(id: Uuid) -> (i64, i64) {
    let number = u128::from_be_bytes(id.0);
    let half = |it: u128| u64::try_from(it & u128::from(u64::MAX)).unwrap_or(0).cast_signed();
    (half(number >> 64), half(number))
}

/// The subscribers of one topic by load. From the low end come those who get the next partition, level
/// by level; from the high end those who give one.
#[derive(Default)]
struct Levels {
    /// Partitions of each member of the group.
    size: Vec<i64>,
    sorted: Vec<u32>,
    low: usize,
    low_end: usize,
    low_level: i64,
    /// One more than the place of the next member at the high end.
    high: usize,
    high_begin: usize,
    high_end: usize,
    high_level: i64,
}

impl Levels {
    fn change(&mut self, member: u32, by: i64) {
        let size = usize::try_from(member).ok().and_then(|it| self.size.get_mut(it));
        size.into_iter().for_each(|it| *it += by);
    }

    fn size_of(&self, member: u32) -> i64 {
        usize::try_from(member).ok().and_then(|it| self.size.get(it)).copied().unwrap_or(0)
    }

    fn size_at(&self, place: usize) -> Option<i64> {
        self.sorted.get(place).map(|member| self.size_of(*member))
    }

    /// Begins with a topic, and gives how far its subscribers are apart.
    fn begin(&mut self, subscribers: &[u32]) -> i64 {
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.clear();
        sorted.extend_from_slice(subscribers);
        sorted.sort_unstable_by_key(|member| (self.size_of(*member), *member));
        self.sorted = sorted;
        let count = self.sorted.len();
        let (least, most) = (self.size_at(0).unwrap_or(0), self.size_at(count.wrapping_sub(1)).unwrap_or(0));
        (self.low, self.low_end, self.low_level) = (0, 0, least - 1);
        (self.high, self.high_begin, self.high_end, self.high_level) = (count, count, count, most + 1);
        most - least
    }

    fn least(&mut self) -> Option<u32> {
        if self.low >= self.low_end {
            self.low_level += 1;
            while self.size_at(self.low_end) == Some(self.low_level) {
                self.low_end += 1;
            }
            self.low = 0;
        }
        let member = self.sorted.get(self.low).copied();
        self.low += 1;
        member
    }

    fn most(&mut self) -> Option<u32> {
        if self.high <= self.high_begin {
            let below = |it: &Self| it.high_begin.checked_sub(1).and_then(|place| it.size_at(place));
            self.high_level = match below(self) {
                Some(level) if self.high_end <= self.high_begin => level,
                Some(_) | None => self.high_level - 1,
            };
            while below(self) == Some(self.high_level) {
                self.high_begin -= 1;
            }
            self.high = self.high_end;
        }
        self.high = self.high.checked_sub(1)?;
        self.sorted.get(self.high).copied()
    }

    /// The member that [`Levels::most`] gave last has nothing more to give.
    fn exclude(&mut self) {
        self.high_end -= 1;
        self.sorted.swap(self.high, self.high_end);
    }

    fn is_balanced(&self) -> bool {
        self.high_level - self.low_level <= 1
    }
}
