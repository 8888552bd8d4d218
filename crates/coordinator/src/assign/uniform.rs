//! Assignor `uniform`: balance first, then as few moves as possible. If all members subscribe to the same
//! topics each gets a quota and keeps what fits into it (14.5); otherwise see [`super::uniform_mixed`] (14.6).
//!
//! Where Kafka goes by the order of a hash table, members go here by id and topics by their ids.
//!
//! Cost: O(topics of the targets + partitions / 64 + what moves).

use std::borrow::Cow;

use super::Partitions;
use super::partition_set::Builder;
use super::partitions::{PartitionSpec, Piece, Place, Topic};
use super::table::Table;

/// A topic that nobody wants, among [`Place`]s.
const UNWANTED: Place = Place(u32::MAX);

/// 14.5.
pub(super) fn assign<'a>(spec: &PartitionSpec<'a>) -> Vec<Cow<'a, Partitions>> {
    let Some(first) = spec.members.rows().first() else { return Vec::new() };
    let subscribed = spec.subscribed();
    let wanted = subscribed[first.subscription];
    let total: u64 = wanted.iter().map(|it| u64::from(spec.topics[*it].partitions)).sum();
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    let members = spec.members.len();
    let (least, mut extras) = (total / members, total % members);

    let owned = Owned::new(spec, wanted);
    let free = owned.bits.unset(wanted, &spec.topics);
    let mut release = Release { spec, free, taken: owned.taken(spec), kept: Builder::default() };
    let mut places = owned.places.into_iter();
    let mut targets = Vec::with_capacity(members);
    let mut unfilled = Vec::new();
    for (index, member) in spec.members.rows().iter().enumerate() {
        let mut has_extra = extras > 0;
        let mut quota = least + usize::from(has_extra);
        let target = match member.target {
            None => Cow::Owned(Partitions::new()),
            Some(target) => release.keep(target, places.by_ref(), &mut quota),
        };
        // Leave the extra one to a later member that has it already, as long as there are enough of them.
        if quota > 0 && has_extra && members - index > extras {
            quota -= 1;
            has_extra = false;
        }
        extras -= usize::from(has_extra);
        if quota > 0 {
            unfilled.push((index, quota));
        }
        targets.push(target);
    }
    fill(spec, &mut targets, &unfilled, &release.free);
    targets
}

/// What the targets say.
struct Owned {
    /// Of each topic of each target, in their order.
    places: Vec<Place>,
    bits: Bits,
    /// Some partition stands in two targets.
    has_doubles: bool,
}

impl Owned {
    fn new(spec: &PartitionSpec<'_>, wanted: &[Place]) -> Self {
        let mut owned = Self { places: Vec::new(), bits: Bits::new(&spec.topics), has_doubles: false };
        for target in spec.members.rows().iter().filter_map(|it| it.target) {
            let mut finder = spec.finder(wanted);
            for (topic, partitions) in target {
                let place = finder.find(topic).unwrap_or(UNWANTED);
                owned.places.push(place);
                if place != UNWANTED {
                    let partitions = existing(partitions, &spec.topics[place]);
                    owned.has_doubles |= owned.bits.set(place, partitions);
                }
            }
        }
        owned
    }

    /// Nothing yet; not needed if each partition has one owner.
    fn taken(&self, spec: &PartitionSpec<'_>) -> Option<Bits> {
        self.has_doubles.then(|| Bits::new(&spec.topics))
    }
}

/// Those that the topic has.
fn existing<'p>(partitions: &'p [i32], topic: &Topic) -> &'p [i32] {
    let from = partitions.partition_point(|it| *it < 0);
    let partitions = partitions.get(from..).unwrap_or_default();
    match partitions.last() {
        Some(last) if last.cast_unsigned() >= topic.partitions => {
            let to = partitions.partition_point(|it| it.cast_unsigned() < topic.partitions);
            partitions.get(..to).unwrap_or_default()
        }
        Some(_) | None => partitions,
    }
}

/// A bit for each partition; a topic begins with a word.
struct Bits {
    starts: Table<Place, usize>,
    words: Vec<u64>,
}

impl Bits {
    fn new(topics: &Table<Place, Topic>) -> Self {
        let mut end = 0;
        let mut start = |topic: &Topic| {
            let start = end;
            end += topic.partitions.div_ceil(u64::BITS) as usize;
            start
        };
        let starts = Table::new(topics.rows().iter().map(&mut start).collect());
        Self { starts, words: vec![0; end] }
    }

    fn word(&mut self, place: Place, partition: u32) -> Option<&mut u64> {
        self.words.get_mut(self.starts[place] + (partition / u64::BITS) as usize)
    }

    /// Partitions that exist. True if one of them was set before.
    fn set(&mut self, place: Place, partitions: &[i32]) -> bool {
        let mut some = false;
        let (Some(first), Some(last)) = (partitions.first(), partitions.last()) else { return false };
        let (first, last) = (first.cast_unsigned(), last.cast_unsigned());
        if (last - first) as usize + 1 == partitions.len() {
            // No gaps: word by word.
            let mut at = first;
            while at <= last {
                let end = last.min(at | (u64::BITS - 1));
                let mask = (u64::MAX >> (u64::BITS - 1 - (end - at))) << (at % u64::BITS);
                some |= self.put(place, at, mask);
                at = end + 1;
            }
            return some;
        }
        for partition in partitions {
            let partition = partition.cast_unsigned();
            some |= self.put(place, partition, 1 << (partition % u64::BITS));
        }
        some
    }

    fn put(&mut self, place: Place, partition: u32, mask: u64) -> bool {
        let Some(word) = self.word(place, partition) else { return false };
        let some = *word & mask != 0;
        *word |= mask;
        some
    }

    /// Partitions that are not set, in order.
    fn unset(&self, wanted: &[Place], topics: &Table<Place, Topic>) -> Vec<Piece> {
        let mut free = Vec::new();
        for place in wanted {
            let count = topics[*place].partitions;
            let words = self.words.get(self.starts[*place]..).unwrap_or_default();
            for (first, word) in (0..count).step_by(u64::BITS as usize).zip(words) {
                let mut left = !word;
                if count - first < u64::BITS {
                    left &= (1 << (count - first)) - 1;
                }
                while left != 0 {
                    let start = left.trailing_zeros();
                    let len = (left >> start).trailing_ones();
                    append(&mut free, *place, first + start, first + start + len);
                    left &= u64::MAX.checked_shl(start + len).unwrap_or(0);
                }
            }
        }
        free
    }
}

/// Makes one piece of two that follow each other.
fn append(pieces: &mut Vec<Piece>, place: Place, start: u32, end: u32) {
    match pieces.last_mut() {
        Some(last) if last.place == place && last.end == start => last.end = end,
        Some(_) | None => pieces.push(Piece { place, start, end }),
    }
}

/// What becomes free.
struct Release<'s, 'a> {
    spec: &'s PartitionSpec<'a>,
    free: Vec<Piece>,
    taken: Option<Bits>,
    kept: Builder,
}

impl<'a> Release<'_, 'a> {
    /// As many of a target as the quota allows; the others become free. A partition that an earlier member has
    /// too, or that does not exist, is dropped. `places` are those of all that follows.
    fn keep(
        &mut self,
        target: &'a Partitions,
        places: impl Iterator<Item = Place>,
        quota: &mut usize,
    ) -> Cow<'a, Partitions> {
        let mut is_changed = false;
        for (at, ((topic, partitions), place)) in target.iter().zip(places).enumerate() {
            let own = match place {
                UNWANTED => &[][..],
                _ => existing(partitions, &self.spec.topics[place]),
            };
            let own = self.first_comes(place, own);
            let (keeps, released) = own.split_at_checked(*quota).unwrap_or((&own, &[]));
            *quota -= keeps.len();
            for partition in released.iter().map(|it| it.cast_unsigned()) {
                append(&mut self.free, place, partition, partition + 1);
            }
            if !is_changed && keeps.len() != partitions.len() {
                // Up to here all was kept.
                is_changed = true;
                target.iter().take(at).for_each(|(topic, it)| self.kept.push(topic, it.iter().copied()));
            }
            if is_changed {
                self.kept.push(topic, keeps.iter().copied());
            }
        }
        if is_changed { Cow::Owned(self.kept.finish()) } else { Cow::Borrowed(target) }
    }

    /// Without what an earlier member has.
    fn first_comes<'p>(&mut self, place: Place, partitions: &'p [i32]) -> Cow<'p, [i32]> {
        let Some(taken) = &mut self.taken else { return Cow::Borrowed(partitions) };
        let is_first = |it: &&i32| !taken.set(place, std::slice::from_ref(*it));
        Cow::Owned(partitions.iter().filter(is_first).copied().collect())
    }
}

/// Gives what is free, in its order, to those that are below their quota.
fn fill(
    spec: &PartitionSpec<'_>,
    targets: &mut [Cow<'_, Partitions>],
    unfilled: &[(usize, usize)],
    free: &[Piece],
) {
    let mut free = free.iter().copied();
    let mut rest = Piece { place: UNWANTED, start: 0, end: 0 };
    let (mut given, mut builder) = (Vec::new(), Builder::default());
    for (index, quota) in unfilled {
        given.clear();
        let mut quota = u32::try_from(*quota).unwrap_or(u32::MAX);
        while quota > 0 {
            if rest.is_empty() {
                let Some(next) = free.next() else { break };
                rest = next;
            }
            let count = quota.min(rest.len());
            given.push(Piece { end: rest.start + count, ..rest });
            rest.start += count;
            quota -= count;
        }
        let Some(target) = targets.get_mut(*index).filter(|_| !given.is_empty()) else { continue };
        given.sort_unstable();
        spec.push(&given, &mut builder);
        let mut all = builder.finish();
        if !target.is_empty() {
            builder.push_merged(target, &all);
            all = builder.finish();
        }
        *target = Cow::Owned(all);
    }
}
