//! Seeded chance, and what it does to bytes. `THALWEG_SEED=N` replays a run.
#![allow(clippy::print_stdout, reason = "a run without its seed can't be made again")]

use bytes::Bytes;

/// xorshift64*: enough chance for tests, the same on every machine.
pub struct Chance(u64);

impl Chance {
    /// The seed of the run, which is printed.
    pub fn seeded() -> Self {
        let seed = std::env::var("THALWEG_SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(44_2026);
        println!("seed {seed}");
        Self::new(seed)
    }

    /// The generator has no seed 0.
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 33) as usize % n.max(1)
    }
}

/// One to three changes: a byte replaced or one bit of it, a run of ff (huge lengths and counts), a huge or long varint,
/// a byte gone, a byte more, a tag section with a wrong tag, the end cut off.
pub fn mutate(bytes: &Bytes, chance: &mut Chance) -> Bytes {
    let mut out = bytes.to_vec();
    for _ in 0..=chance.below(3) {
        let at = chance.below(out.len());
        match chance.below(9) {
            0 => out.iter_mut().skip(at).take(1).for_each(|it| *it = chance.below(256) as u8),
            1 => out.iter_mut().skip(at).take(1).for_each(|it| *it ^= 1 << chance.below(8)),
            2 => out.iter_mut().skip(at).take(4).for_each(|it| *it = 0xff),
            3 => out.iter_mut().skip(at).take(4).zip([0x7f, 0xff, 0xff, 0xff]).for_each(|(it, to)| *it = to),
            4 => {
                drop(out.splice(at..at, [0xff, 0xff, 0xff, 0xff, 0x0f].into_iter().take(1 + chance.below(5))))
            }
            5 => drop(out.splice(at..at, [1, chance.below(12) as u8, chance.below(9) as u8])),
            6 if !out.is_empty() => drop(out.remove(at)),
            7 => out.truncate(at),
            _ => out.insert(at, chance.below(256) as u8),
        }
    }
    out.into()
}
