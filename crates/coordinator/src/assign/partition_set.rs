//! Partitions of topics, in two columns: large groups are bound by memory, and a list of its own for each topic of
//! each member is most of what such an assignment costs.

use std::ops::Range;

use wire::Uuid;

/// Partitions by topic id: topics and the partitions of each ascend, and no topic stands here without any.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Partitions {
    /// And where the partitions of each end.
    topics: Vec<(Uuid, u32)>,
    all: Vec<i32>,
}

impl Partitions {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with_capacity(topics: usize, partitions: usize) -> Self {
        Self { topics: Vec::with_capacity(topics), all: Vec::with_capacity(partitions) }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Number of topics.
    pub fn len(&self) -> usize {
        self.topics.len()
    }

    /// Number of partitions.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Puts partitions at the end: what is pushed ascends, also over several calls.
    pub fn push(&mut self, topic: Uuid, partitions: impl IntoIterator<Item = i32>) {
        let start = self.all.len();
        self.all.extend(partitions);
        self.close(topic, start);
    }

    /// Partitions without gaps, of topics that ascend; none is empty. Both columns are written from front to end,
    /// which is what a target of many topics costs.
    pub(super) fn of_ranges(ranges: impl ExactSizeIterator<Item = (Uuid, Range<u32>)> + Clone) -> Self {
        let mut end = 0;
        let close = |(topic, range): (Uuid, Range<u32>)| {
            end += range.end - range.start;
            (topic, end)
        };
        let topics: Vec<_> = ranges.clone().map(close).collect();
        let all = if topics.len() == end as usize {
            ranges.map(|it| it.1.start.cast_signed()).collect()
        } else {
            let mut all = Vec::with_capacity(end as usize);
            ranges.for_each(|it| all.extend(it.1.map(u32::cast_signed)));
            all
        };
        Self { topics, all }
    }

    fn end(&self) -> u32 {
        u32::try_from(self.all.len()).expect("there are fewer partitions in a cluster")
    }

    /// What stands in `all` from `start` on is of this topic.
    fn close(&mut self, topic: Uuid, start: usize) {
        if self.all.len() == start {
            return;
        }
        let end = self.end();
        match self.topics.last_mut() {
            Some((last, last_end)) if *last == topic => *last_end = end,
            Some(_) | None => self.topics.push((topic, end)),
        }
    }

    pub fn get(&self, topic: Uuid) -> Option<&[i32]> {
        let at = self.topics.binary_search_by_key(&topic, |it| it.0).ok()?;
        let start = at.checked_sub(1).and_then(|it| self.topics.get(it)).map_or(0, |it| it.1);
        self.all.get(start as usize..self.topics.get(at)?.1 as usize)
    }

    pub fn contains(&self, topic: Uuid, partition: i32) -> bool {
        self.get(topic).is_some_and(|it| it.binary_search(&partition).is_ok())
    }

    /// Both, which have no partition in common.
    pub(super) fn merged(&self, other: &Self) -> Self {
        let mut all = Self::with_capacity(self.len() + other.len(), self.count() + other.count());
        let (mut ours, mut theirs) = (self.iter().peekable(), other.iter().peekable());
        loop {
            let (topic, lists) = match (ours.peek().copied(), theirs.peek().copied()) {
                (None, None) => return all,
                (Some((a, list)), Some((b, more))) if a == b => (a, [list, more]),
                (Some((a, list)), Some((b, _))) if a < b => (a, [list, &[]]),
                (Some((a, list)), None) => (a, [list, &[]]),
                (_, Some((b, more))) => (b, [&[], more]),
            };
            ours.next_if(|it| it.0 == topic);
            theirs.next_if(|it| it.0 == topic);
            let start = all.all.len();
            lists.iter().for_each(|it| all.all.extend_from_slice(it));
            // Two sorted stretches, which the stable sort finds.
            all.all.get_mut(start..).unwrap_or_default().sort();
            all.close(topic, start);
        }
    }

    pub fn topics(&self) -> impl Iterator<Item = Uuid> {
        self.topics.iter().map(|it| it.0)
    }

    /// One by one.
    pub fn each(&self) -> impl Iterator<Item = (Uuid, i32)> {
        self.iter().flat_map(|(topic, partitions)| partitions.iter().map(move |it| (topic, *it)))
    }

    pub fn iter(&self) -> Iter<'_> {
        Iter { topics: self.topics.iter(), rest: &self.all, start: 0 }
    }
}

/// Topics and their partitions.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    topics: std::slice::Iter<'a, (Uuid, u32)>,
    rest: &'a [i32],
    start: u32,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (Uuid, &'a [i32]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (topic, end) = self.topics.next()?;
        let (partitions, rest) = self.rest.split_at_checked((end - self.start) as usize)?;
        (self.rest, self.start) = (rest, *end);
        Some((*topic, partitions))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.topics.size_hint()
    }
}

impl<'a> IntoIterator for &'a Partitions {
    type Item = (Uuid, &'a [i32]);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// From what ascends.
impl<const N: usize> From<[(Uuid, Vec<i32>); N]> for Partitions {
    fn from(topics: [(Uuid, Vec<i32>); N]) -> Self {
        topics.into_iter().collect()
    }
}

/// From what ascends.
impl<L: IntoIterator<Item = i32>> FromIterator<(Uuid, L)> for Partitions {
    fn from_iter<T: IntoIterator<Item = (Uuid, L)>>(topics: T) -> Self {
        let mut all = Self::new();
        topics.into_iter().for_each(|(topic, partitions)| all.push(topic, partitions));
        all
    }
}
