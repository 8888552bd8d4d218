//! The metadata hash of a group (T-30): changes whenever a required topic changes.
//!
//! Byte for byte what Kafka computes, so that a log taken over from it causes no extra rebalance and the
//! records can be compared: XXH3-64 with seed 0 over little-endian numbers; a string is its UTF-16 code
//! units followed by their number as int32.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::Xxh3;

use super::configure::Topics;
use wire::Str;

/// First byte of what a topic hash covers; Kafka counts it up when the rest changes.
const MAGIC: u8 = 0;

/// Hashes of topics, shared by the groups of a shard (T-31). Holds topics that exist and that some group
/// required, at most.
#[derive(Debug, Default)]
pub struct TopicHashes {
    hashes: BTreeMap<Str, i64>,
}

impl TopicHashes {
    /// The hash of a group that requires `required`, which must be sorted. 0 if none of them exists.
    pub fn group_hash<'a>(
        &mut self,
        required: impl IntoIterator<Item = &'a Str>,
        topics: &dyn Topics,
    ) -> i64 {
        group_hash(required.into_iter().filter_map(|name| self.topic_hash(name, topics)))
    }

    /// To be called for every topic that was created, changed or deleted.
    pub fn forget(&mut self, topic: &str) {
        self.hashes.remove(topic.as_bytes());
    }

    /// To be called when the racks of brokers changed.
    pub fn clear(&mut self) {
        self.hashes.clear();
    }

    fn topic_hash(&mut self, name: &Str, topics: &dyn Topics) -> Option<i64> {
        if let Some(hash) = self.hashes.get(name) {
            return Some(*hash);
        }
        let hash = topic_hash(&name.to_str(), topics)?;
        self.hashes.insert(name.clone(), hash);
        Some(hash)
    }
}

/// Hash of a group from the hashes of its required topics that exist, in the order of their names.
pub fn group_hash(topic_hashes: impl IntoIterator<Item = i64>) -> i64 {
    let mut hasher = Xxh3::new();
    let mut any = false;
    for hash in topic_hashes {
        any = true;
        hasher.update(&hash.to_le_bytes());
    }
    if any { hasher.digest().cast_signed() } else { 0 }
}

/// `None` if the topic does not exist.
pub fn topic_hash(name: &str, topics: &dyn Topics) -> Option<i64> {
    let topic = topics.topic(name)?;
    let mut hasher = Xxh3::new();
    hasher.update(&[MAGIC]);
    // Kafka feeds the two halves of the id as int64, so each half comes in reversed byte order.
    let (most, least) = topic.id.split_at(8);
    for half in [most, least] {
        let reversed: Vec<u8> = half.iter().rev().copied().collect();
        hasher.update(&reversed);
    }
    put_string(&mut hasher, name);
    put_int(&mut hasher, topic.partitions);
    for partition in 0..topic.partitions {
        put_int(&mut hasher, partition);
        let mut racks = topics.racks(name, partition);
        racks.sort();
        for rack in racks {
            // The length stands before and, as part of the string, behind it.
            put_int(&mut hasher, utf16_len(&rack));
            put_string(&mut hasher, &rack);
        }
    }
    Some(hasher.digest().cast_signed())
}

fn put_int(hasher: &mut Xxh3, value: i32) {
    hasher.update(&value.to_le_bytes());
}

fn put_string(hasher: &mut Xxh3, value: &str) {
    for unit in value.encode_utf16() {
        hasher.update(&unit.to_le_bytes());
    }
    put_int(hasher, utf16_len(value));
}

fn utf16_len(value: &str) -> i32 {
    i32::try_from(value.encode_utf16().count()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::streams::configure::TopicView;

    struct One {
        name: &'static str,
        topic: TopicView,
        racks: Vec<Vec<&'static str>>,
    }

    impl Topics for One {
        fn topic(&self, name: &str) -> Option<TopicView> {
            (name == self.name).then_some(self.topic)
        }

        fn racks(&self, _: &str, partition: i32) -> Vec<String> {
            let Some(row) = usize::try_from(partition).unwrap().checked_rem(self.racks.len()) else {
                return Vec::new();
            };
            self.racks[row].iter().map(ToString::to_string).collect()
        }
    }

    const ID: u128 = 0x0102_0304_0506_0708_1112_1314_1516_1718;

    /// The expected values were computed with hash4j 0.22.0, the library that Kafka 4.4.0 uses.
    #[test]
    fn topic_hashes_are_kafkas() {
        let check = |name, id: u128, partitions, racks: Vec<Vec<&'static str>>, expected| {
            let topics = One { name, topic: TopicView { id: id.to_be_bytes(), partitions }, racks };
            assert_eq!(topic_hash(name, &topics), Some(expected), "{name} with {partitions} partitions");
        };
        check("foo", ID, 1, vec![], 8_963_112_548_072_796_245);
        check("foo", ID, 2, vec![vec!["rack1", "rack0"], vec!["rack1", "rack2"]], 150_434_294_479_754_265);
        check("foo", ID, 3, vec![vec!["räck-\u{1D11E}"]], 1_521_075_245_409_840_506);
        let max = (u128::from(u64::MAX) << 64) | u128::from(u64::MAX - 1);
        check("long.topic-name", max, 100, vec![vec!["r1"]], 8_734_636_043_012_767_763);
        check("big", ID, 1000, vec![], 3_903_323_170_367_701_079);
    }

    /// Lengths around the block borders of XXH3; the values as above.
    #[test]
    fn group_hashes_are_kafkas() {
        let expected = [
            (1, -4_072_596_861_322_023_719),
            (2, 6_474_677_130_954_818_427),
            (3, -2_656_516_011_607_974_605),
            (16, 4_261_207_424_869_488_331),
            (40, -8_206_696_101_380_364_437),
            (300, 1_773_912_731_412_852_473),
        ];
        for (topics, expected) in expected {
            let hashes = (0..topics).map(|i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).cast_signed());
            assert_eq!(group_hash(hashes), expected, "{topics} topics");
        }
    }

    #[test]
    fn absent_topics_contribute_nothing() {
        let topics =
            One { name: "foo", topic: TopicView { id: ID.to_be_bytes(), partitions: 1 }, racks: vec![] };
        let names: Vec<Str> = ["bar", "foo"].map(Str::from).to_vec();
        let mut cache = TopicHashes::default();
        assert_eq!(cache.group_hash(&names[..1], &topics), 0);
        assert_eq!(cache.group_hash(&names, &topics), group_hash([8_963_112_548_072_796_245]));
    }

    #[test]
    fn a_changed_topic_must_be_forgotten() {
        let mut topics =
            One { name: "foo", topic: TopicView { id: ID.to_be_bytes(), partitions: 1 }, racks: vec![] };
        let names = [Str::from("foo")];
        let mut cache = TopicHashes::default();
        let before = cache.group_hash(&names, &topics);
        topics.topic.partitions = 2;
        assert_eq!(cache.group_hash(&names, &topics), before);
        cache.forget("foo");
        assert_ne!(cache.group_hash(&names, &topics), before);
    }
}
