//! The subscribers of one topic by load, for `uniform` (14.6). From the low end come those who get the next partition,
//! level by level; from the high end those who give one.

use super::table::Table;
use super::{Member, Owner};

/// A member by how many partitions it has, then by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Load(u64);

impl Load {
    pub(super) fn new(size: u32, member: Member) -> Self {
        Self(u64::from(size) << 32 | u64::from(member.0))
    }

    pub(super) fn size(self) -> u32 {
        u32::try_from(self.0 >> 32).unwrap_or(u32::MAX)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low half")]
    pub(super) fn member(self) -> Member {
        Member(self.0 as u32)
    }
}

/// How many members have how many partitions, in one subscription.
#[derive(Debug, Clone, Default)]
pub(super) struct Spread {
    members: Vec<u32>,
    least: u32,
    most: u32,
}

impl Spread {
    pub(super) fn add(&mut self, size: u32) {
        let is_first = self.members.is_empty();
        *self.members_with(size) += 1;
        self.least = if is_first { size } else { self.least.min(size) };
        self.most = self.most.max(size);
    }

    /// 0 without members.
    pub(super) fn least(&self) -> u32 {
        self.least
    }

    pub(super) fn most(&self) -> u32 {
        self.most
    }

    /// A member gets or gives one partition.
    pub(super) fn move_one(&mut self, from: u32, to: u32) {
        *self.members_with(from) -= 1;
        *self.members_with(to) += 1;
        // Sizes change by one, so nobody is further away than the one who moved.
        let is_empty = *self.members_with(from) == 0;
        if to < self.least || (is_empty && from == self.least) {
            self.least = to;
        }
        if to > self.most || (is_empty && from == self.most) {
            self.most = to;
        }
    }

    fn members_with(&mut self, size: u32) -> &mut u32 {
        let at = size as usize;
        if self.members.len() <= at {
            self.members.resize(at + 1, 0);
        }
        self.members.get_mut(at).expect("it was made long enough")
    }
}

/// Nobody, nothing more: a partition that is none.
const NONE: u32 = u32::MAX;

pub(super) struct Levels {
    sorted: Vec<Load>,
    low: usize,
    low_end: usize,
    low_level: i64,
    /// One more than the place of the next member at the high end.
    high: usize,
    high_begin: usize,
    high_end: usize,
    high_level: i64,
    /// The last partition of the topic that each subscriber can give.
    last: Table<Member, u32>,
    /// The one before each partition that the same member can give.
    before: Vec<u32>,
}

impl Levels {
    pub(super) fn new(members: usize) -> Self {
        Self {
            sorted: Vec::new(),
            low: 0,
            low_end: 0,
            low_level: 0,
            high: 0,
            high_begin: 0,
            high_end: 0,
            high_level: 0,
            last: Table::filled(members, NONE),
            before: Vec::new(),
        }
    }

    /// Begins with a topic.
    pub(super) fn begin(&mut self, subscribers: impl Iterator<Item = Member>, size: &Table<Member, u32>) {
        self.sorted.clear();
        for member in subscribers {
            self.sorted.push(Load::new(size[member], member));
            self.last[member] = NONE;
        }
        self.sorted.sort_unstable();
        let level = |it: Option<&Load>| it.map_or(0, |it| i64::from(it.size()));
        let (least, most) = (level(self.sorted.first()), level(self.sorted.last()));
        let count = self.sorted.len();
        (self.low, self.low_end, self.low_level) = (0, 0, least - 1);
        (self.high, self.high_begin, self.high_end, self.high_level) = (count, count, count, most + 1);
    }

    /// The partitions that can be given are these, which subscribers have.
    pub(super) fn group(&mut self, owners: &[Owner]) {
        self.before.clear();
        for (partition, owner) in (0..).zip(owners) {
            self.before
                .push(owner.member().map_or(NONE, |it| std::mem::replace(&mut self.last[it], partition)));
        }
    }

    /// The last partition of the topic that a member had, each once.
    pub(super) fn take_from(&mut self, member: Member) -> Option<usize> {
        let partition = self.last[member] as usize;
        self.last[member] = *self.before.get(partition)?;
        Some(partition)
    }

    fn size_at(&self, place: usize, size: &Table<Member, u32>) -> Option<i64> {
        self.sorted.get(place).map(|it| i64::from(size[it.member()]))
    }

    pub(super) fn least(&mut self, size: &Table<Member, u32>) -> Option<Member> {
        if self.low >= self.low_end {
            self.low_level += 1;
            while self.size_at(self.low_end, size) == Some(self.low_level) {
                self.low_end += 1;
            }
            self.low = 0;
        }
        let member = self.sorted.get(self.low)?.member();
        self.low += 1;
        Some(member)
    }

    pub(super) fn most(&mut self, size: &Table<Member, u32>) -> Option<Member> {
        if self.high <= self.high_begin {
            let below = |it: &Self| it.high_begin.checked_sub(1).and_then(|place| it.size_at(place, size));
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
        self.sorted.get(self.high).map(|it| it.member())
    }

    /// The member that [`Levels::most`] gave last has nothing more to give.
    pub(super) fn exclude(&mut self) {
        self.high_end -= 1;
        self.sorted.swap(self.high, self.high_end);
    }

    pub(super) fn is_balanced(&self) -> bool {
        self.high_level - self.low_level <= 1
    }
}
