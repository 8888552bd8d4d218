//! Seeds of random runs: from the environment variable `SEED`, or a new one; always printed, so
//! that a failure can be run again exactly.

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::panic::{RefUnwindSafe, catch_unwind};

/// The seed of this run. Prints the line that runs it again, which the test harness shows when the
/// test fails.
#[expect(clippy::print_stdout, reason = "a test without its seed cannot be run again")]
pub fn seed() -> u64 {
    let seed = env::var("SEED").ok().map_or_else(fresh, |text| parse(&text));
    println!("SEED={seed}");
    seed
}

/// Runs the seeds that are kept, and then `runs` from [`seed`] on. The one that fails is named.
pub fn each(kept: &[u64], runs: u64, run: impl Fn(u64) + RefUnwindSafe) {
    let first = seed();
    for seed in kept.iter().copied().chain(first..first.saturating_add(runs)) {
        let outcome = catch_unwind(|| run(seed));
        assert!(outcome.is_ok(), "run again with SEED={seed}");
    }
}

fn parse(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("SEED is not a number: {text:?}"))
}

/// A new seed: the standard library gives each hasher random keys.
fn fresh() -> u64 {
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_seeds_differ() {
        assert_ne!(fresh(), fresh());
    }

    #[test]
    #[should_panic(expected = "run again with SEED=7")]
    fn the_seed_that_fails_is_named() {
        each(&[5, 7, 9], 0, |seed| assert_ne!(seed, 7));
    }

    #[test]
    fn a_given_seed_is_taken() {
        assert_eq!(parse("17"), 17);
    }

    #[test]
    #[should_panic(expected = "SEED is not a number")]
    fn a_seed_that_is_no_number_is_refused() {
        parse("many");
    }
}
