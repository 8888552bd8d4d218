//! Partitions of topics, in two columns: large groups are bound by memory, and a list of its own for each topic of
//! each member is most of what such an assignment costs. Members of a large group mostly have one of a few sets of
//! topics, with as many partitions of each, so that column is shared.

use std::borrow::Cow;
use std::sync::Arc;

use wire::Uuid;

/// Topic ids that ascend, and where the partitions of each end in the other column.
pub(super) type Outline = Arc<[(Uuid, u32)]>;

/// At a glance if they are shared.
fn is_same(ours: &[(Uuid, u32)], theirs: &[(Uuid, u32)]) -> bool {
    std::ptr::eq(ours, theirs) || ours == theirs
}

/// Partitions by topic id: topics and the partitions of each ascend, and no topic stands here without any.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Partitions {
    topics: Outline,
    all: Vec<i32>,
}

impl Partitions {
    pub fn new() -> Self {
        Self::default()
    }

    /// The `known` ones if they are these.
    pub(super) fn known_or<'a>(known: Option<&'a Self>, outline: &mut Outline, all: &[i32]) -> Cow<'a, Self> {
        match known.filter(|it| it.all == all && is_same(&it.topics, outline)) {
            Some(known) => {
                // The same memory is the same at a glance, and most of those that follow have it too.
                outline.clone_from(&known.topics);
                Cow::Borrowed(known)
            }
            None => Cow::Owned(Self { topics: outline.clone(), all: all.to_vec() }),
        }
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

    pub fn get(&self, topic: Uuid) -> Option<&[i32]> {
        let at = self.topics.binary_search_by_key(&topic, |it| it.0).ok()?;
        let start = at.checked_sub(1).and_then(|it| self.topics.get(it)).map_or(0, |it| it.1);
        self.all.get(start as usize..self.topics.get(at)?.1 as usize)
    }

    pub fn contains(&self, topic: Uuid, partition: i32) -> bool {
        self.get(topic).is_some_and(|it| it.binary_search(&partition).is_ok())
    }

    /// The topics, and where the partitions of each end.
    pub(super) fn outline(&self) -> &[(Uuid, u32)] {
        &self.topics
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
        let mut builder = Builder::default();
        topics.into_iter().for_each(|(topic, partitions)| builder.push(topic, partitions));
        Self { topics: builder.topics.into(), all: builder.all }
    }
}

/// Writes the partitions of one member after those of another.
#[derive(Debug, Default)]
pub(super) struct Builder {
    topics: Vec<(Uuid, u32)>,
    all: Vec<i32>,
    outlines: Outlines,
}

impl Builder {
    /// Puts partitions at the end: what is pushed ascends, also over several calls.
    #[inline]
    pub(super) fn push(&mut self, topic: Uuid, partitions: impl IntoIterator<Item = i32>) {
        let start = self.all.len();
        self.all.extend(partitions);
        self.close(topic, start);
    }

    /// What stands in `all` from `start` on is of this topic.
    #[inline]
    fn close(&mut self, topic: Uuid, start: usize) {
        let end = self.all.len();
        if end == start {
            return;
        }
        let end = super::id(end);
        match self.topics.last_mut() {
            Some((last, last_end)) if *last == topic => *last_end = end,
            Some(_) | None => self.topics.push((topic, end)),
        }
    }

    /// Puts both at the end, which have no partition in common.
    pub(super) fn push_merged(&mut self, ours: &Partitions, theirs: &Partitions) {
        let (mut ours, mut theirs) = (ours.iter().peekable(), theirs.iter().peekable());
        loop {
            let (topic, lists) = match (ours.peek().copied(), theirs.peek().copied()) {
                (None, None) => return,
                (Some((a, list)), Some((b, more))) if a == b => (a, [list, more]),
                (Some((a, list)), Some((b, _))) if a < b => (a, [list, &[]]),
                (Some((a, list)), None) => (a, [list, &[]]),
                (_, Some((b, more))) => (b, [&[], more]),
            };
            ours.next_if(|it| it.0 == topic);
            theirs.next_if(|it| it.0 == topic);
            let start = self.all.len();
            lists.iter().for_each(|it| self.all.extend_from_slice(it));
            // Two sorted stretches, which the stable sort finds.
            self.all.get_mut(start..).unwrap_or_default().sort();
            self.close(topic, start);
        }
    }

    /// What was pushed since the last one.
    pub(super) fn finish(&mut self) -> Partitions {
        let made = Partitions { topics: self.outlines.find(&self.topics), all: self.all.clone() };
        self.topics.clear();
        self.all.clear();
        made
    }
}

/// What the members that came last had, by which those that follow are done faster.
#[derive(Debug, Clone)]
pub(super) struct Recent<T> {
    kept: Vec<T>,
    /// The one that goes next when there is no room.
    oldest: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), oldest: 0 }
    }
}

impl<T> Recent<T> {
    /// Members of a few subscriptions, whose shares differ by one topic or partition.
    const MAX: usize = 16;

    /// The first that is the one, or a new one.
    #[expect(clippy::indexing_slicing, reason = "the place was found or made before")]
    pub(super) fn find(&mut self, is_it: impl FnMut(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
        let at = match self.kept.iter().position(is_it) {
            Some(known) => known,
            None if self.kept.len() < Self::MAX => {
                self.kept.push(new());
                self.kept.len() - 1
            }
            None => {
                self.oldest = (self.oldest + 1) % Self::MAX;
                self.kept[self.oldest] = new();
                self.oldest
            }
        };
        &mut self.kept[at]
    }
}

/// The outlines of the targets that came last, so that those of the same topics share one. What is in here changes no
/// answer.
#[derive(Debug, Clone, Default)]
pub struct Outlines(Recent<Outline>);

impl Outlines {
    /// Lets these share their topics with others.
    pub fn share(&mut self, partitions: &mut Partitions) {
        partitions.topics = self.find(&partitions.topics);
    }

    fn find(&mut self, topics: &[(Uuid, u32)]) -> Outline {
        if topics.is_empty() {
            return Outline::default();
        }
        // Those that differ mostly do at one of their ends.
        let is_it = |it: &Outline| {
            it.len() == topics.len()
                && it.first() == topics.first()
                && it.last() == topics.last()
                && is_same(it, topics)
        };
        self.0.find(is_it, || Outline::from(topics)).clone()
    }
}

impl PartialEq for Outlines {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(topics: &[(u8, &[i32])]) -> Partitions {
        topics.iter().map(|(topic, list)| (Uuid([*topic; 16]), list.iter().copied())).collect()
    }

    #[test]
    fn the_same_topics_are_shared() {
        let mut outlines = Outlines::default();
        let mut all =
            [of(&[(1, &[0]), (2, &[4])]), of(&[(1, &[7]), (2, &[8])]), of(&[(1, &[0]), (2, &[4, 5])])];
        let before = all.clone();
        all.iter_mut().for_each(|it| outlines.share(it));
        assert_eq!(all, before);
        let [first, second, third] = &all;
        assert!(std::ptr::eq(first.outline(), second.outline()));
        assert_eq!(third.iter().collect::<Vec<_>>(), before[2].iter().collect::<Vec<_>>());
        assert_ne!(first, second);
    }

    #[test]
    fn what_came_long_ago_is_forgotten() {
        let mut recent = Recent::default();
        let mut made = 0;
        for number in (0..40).chain(24..40).chain(0..1) {
            let new = || {
                made += 1;
                number
            };
            assert_eq!(*recent.find(|it| *it == number, new), number);
        }
        assert_eq!((made, recent.kept.len()), (41, Recent::<i32>::MAX));
    }
}
