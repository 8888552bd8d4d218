//! The members of a subscription by how many partitions they have, for `uniform` (14.6).
//!
//! Filling a topic lifts the least loaded to a level, and leaves nobody below it; so but for those whom no topic has
//! reached yet all members have as many partitions as the least loaded one, or one more. Two sets of bits hold these.

use super::Member;
use super::levels::Load;

/// Members by load, then by their number.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By number.
    members: Vec<Member>,
    /// Nobody in the queue has fewer.
    level: u32,
    /// Who has so many.
    low: Bits,
    /// Who has one more.
    high: Bits,
    /// Who has more than that, with the most loaded first.
    rest: Vec<(Load, u32)>,
}

/// A member that was taken out of its queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) member: Member,
    /// Its place in the queue.
    at: u32,
}

impl Queue {
    /// `members` ascend by number.
    pub(super) fn new(members: Vec<Load>) -> Self {
        let mut rest: Vec<_> = members.iter().copied().zip(0..).collect();
        rest.sort_unstable_by(|a, b| b.cmp(a));
        let mut queue = Self {
            low: Bits::new(members.len()),
            high: Bits::new(members.len()),
            members: members.into_iter().map(Load::member).collect(),
            level: rest.last().map_or(0, |it| it.0.size()),
            rest,
        };
        queue.reach();
        queue
    }

    /// The least loaded one. Looking lifts nobody: who was taken out may still come back below it.
    pub(super) fn first(&mut self) -> Option<Load> {
        let load = |level, at: u32| Some(Load::new(level, *self.members.get(at as usize)?));
        if let Some(at) = self.low.first() {
            return load(self.level, at);
        }
        match self.high.first() {
            Some(at) => load(self.level + 1, at),
            None => self.rest.last().map(|it| it.0),
        }
    }

    /// Takes the least loaded one out. Whoever is out has as many by now.
    pub(super) fn pop(&mut self) -> Option<Turn> {
        if self.low.is_empty() {
            let level = if self.high.is_empty() { self.rest.last()?.0.size() } else { self.level + 1 };
            self.lift(level);
        }
        let at = self.low.first()?;
        self.low.remove(at);
        Some(Turn { member: *self.members.get(at as usize)?, at })
    }

    /// Whether so many or more have as many as the least loaded one.
    pub(super) fn has_least_loaded(&mut self, count: u32) -> bool {
        if self.low.is_empty()
            && let Some(first) = self.first()
        {
            self.lift(first.size());
        }
        self.low.count >= count as usize
    }

    /// Gives one more to so many of the least loaded ones, who all have the same.
    pub(super) fn serve(&mut self, count: u32, mut give: impl FnMut(Member)) {
        self.low.move_first(count, &mut self.high, |at| {
            self.members.get(at as usize).into_iter().for_each(|it| give(*it));
        });
    }

    /// Puts one back that has `size` by now, which is `level` or one more. Nobody in the queue has fewer.
    pub(super) fn push(&mut self, turn: Turn, size: u32, level: u32) {
        self.lift(level);
        let set = if size == self.level { &mut self.low } else { &mut self.high };
        set.insert(turn.at);
    }

    /// To a level that nobody is below.
    fn lift(&mut self, level: u32) {
        if level <= self.level {
            return;
        }
        // A level further up than the next one finds both sets empty.
        std::mem::swap(&mut self.low, &mut self.high);
        self.level = level;
        self.reach();
    }

    /// Those of the rest that the two levels reach.
    fn reach(&mut self) {
        while let Some((load, at)) = self.rest.pop_if(|it| it.0.size() <= self.level + 1) {
            let set = if load.size() == self.level { &mut self.low } else { &mut self.high };
            set.insert(at);
        }
    }
}

/// A set of small numbers.
#[derive(Debug, Default)]
struct Bits {
    words: Vec<u64>,
    /// The words before this one are empty.
    from: usize,
    count: usize,
}

impl Bits {
    fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(u64::BITS as usize)], from: 0, count: 0 }
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn insert(&mut self, at: u32) {
        let word = (at / u64::BITS) as usize;
        self.from = self.from.min(word);
        self.count += 1;
        self.words.get_mut(word).into_iter().for_each(|it| *it |= 1 << (at % u64::BITS));
    }

    fn remove(&mut self, at: u32) {
        let word = (at / u64::BITS) as usize;
        self.count -= 1;
        self.words.get_mut(word).into_iter().for_each(|it| *it &= !(1 << (at % u64::BITS)));
    }

    /// So many of the first ones, word by word.
    fn move_first(&mut self, count: u32, to: &mut Self, mut each: impl FnMut(u32)) {
        let mut left = count;
        to.from = to.from.min(self.from);
        for ((number, from), to) in (0..).zip(&mut self.words).zip(&mut to.words).skip(self.from) {
            let before = *from;
            while *from != 0 && left > 0 {
                each(number * u64::BITS + from.trailing_zeros());
                *from &= *from - 1;
                left -= 1;
            }
            *to |= before & !*from;
            if left == 0 {
                break;
            }
        }
        let moved = (count - left) as usize;
        self.count -= moved;
        to.count += moved;
    }

    fn first(&mut self) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        while *self.words.get(self.from)? == 0 {
            self.from += 1;
        }
        let word = super::id(self.from);
        Some(word * u64::BITS + self.words.get(self.from)?.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::machine::Entropy;

    /// Topics take from the queue and lift whom they took, as `uniform` does; a sorted set says who is next.
    #[test]
    fn members_come_by_load_and_number() {
        let mut served_members = 0;
        for seed in 0..200 {
            let mut dice = Entropy::seeded(seed);
            let mut below = |end: u64| u32::try_from(dice.next_u64() % end).unwrap();
            let gap = u64::from(1 + below(9));
            let count = 1 + below(150);
            let members: Vec<_> = (0..count).map(|it| Load::new(below(gap), Member(it * 3))).collect();
            let mut expected: BTreeSet<Load> = members.iter().copied().collect();
            let mut queue = Queue::new(members);
            for topic in 0..40 {
                let one_each = below(150);
                if below(2) == 0 && queue.has_least_loaded(one_each) {
                    let least = expected.first().map_or(0, |it| it.size());
                    let mut wanted = Vec::new();
                    for _ in 0..one_each {
                        let next = expected.pop_first().unwrap();
                        assert_eq!(next.size(), least, "seed {seed}, topic {topic}");
                        wanted.push(next.member());
                    }
                    expected.extend(wanted.iter().map(|it| Load::new(least + 1, *it)));
                    let mut served = Vec::new();
                    queue.serve(one_each, |it| served.push(it));
                    assert_eq!(served, wanted, "seed {seed}, topic {topic}");
                    served_members += served.len();
                }
                // Another subscription may have somebody who has fewer.
                let mut level = expected.first().map_or(0, |it| it.size()).saturating_sub(below(3));
                let rounds = below(4);
                let mut given = Vec::new();
                for round in 0..=rounds {
                    let most = if round == rounds { below(150) } else { u32::MAX };
                    let mut served = 0;
                    let returning = given.iter_mut().map(|(_, size): &mut (Turn, u32)| size);
                    for size in returning.take(most as usize) {
                        *size += 1;
                        served += 1;
                    }
                    while served < most && queue.first().is_some_and(|it| it.size() <= level) {
                        let next = expected.pop_first().unwrap();
                        assert_eq!(queue.first(), Some(next), "seed {seed}, topic {topic}");
                        let turn = queue.pop().unwrap();
                        assert_eq!(turn.member, next.member());
                        given.push((turn, next.size() + 1));
                        served += 1;
                    }
                    level += u32::from(round < rounds);
                }
                for (turn, size) in given {
                    queue.push(turn, size, level);
                    expected.insert(Load::new(size, turn.member));
                }
                assert_eq!(queue.first(), expected.first().copied(), "seed {seed}, topic {topic}");
            }
        }
        assert!(served_members > 1_000, "{served_members}");
    }
}
