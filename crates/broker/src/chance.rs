//! Random bytes for ids. Machines get theirs from a seed that is drawn here.

use std::hash::{BuildHasher, RandomState};

/// A source of random numbers: a keyed hash of a counter, with a key from the system.
#[derive(Debug, Default)]
pub struct Chance {
    key: RandomState,
    drawn: u64,
}

impl Chance {
    /// 64 bits that can't be guessed from others.
    pub fn number(&mut self) -> u64 {
        self.drawn += 1;
        self.key.hash_one(self.drawn)
    }

    /// 128 bits, as an id needs them.
    pub fn bytes(&mut self) -> [u8; 16] {
        let halves = u128::from(self.number()) << 64 | u128::from(self.number());
        halves.to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sources_give_different_numbers() {
        let (mut a, mut b) = (Chance::default(), Chance::default());
        assert_ne!(a.bytes(), a.bytes());
        assert_ne!(a.bytes(), b.bytes());
    }
}
