//! Ids of the brokers that hold a partition, where they are listed for every partition.

use std::fmt;
use std::ops::Deref;

/// How many ids are held by value: the replication factor that nearly all topics have.
pub(crate) const FEW_MAX: usize = 3;

/// A list of broker ids, as good as a slice. A few take no allocation: Metadata has three lists for each partition.
#[derive(Clone)]
pub struct BrokerIds(Held);

#[derive(Clone)]
enum Held {
    /// What stands behind `length` has no meaning.
    Few {
        length: u8,
        ids: [i32; FEW_MAX],
    },
    Many(Vec<i32>),
}

impl BrokerIds {
    /// No brokers.
    pub const EMPTY: Self = Self(Held::Few { length: 0, ids: [0; FEW_MAX] });

    /// A few ids with what has no meaning, and how many have one.
    #[inline]
    pub(crate) const fn few(&self) -> Option<(&[i32; FEW_MAX], usize)> {
        match &self.0 {
            Held::Few { length, ids } => Some((ids, *length as usize)),
            Held::Many(_) => None,
        }
    }

    /// The ids in four bytes each.
    pub(crate) fn from_be_bytes(bytes: &[u8]) -> Self {
        let ids = bytes.as_chunks().0;
        ids.iter().copied().map(i32::from_be_bytes).collect()
    }
}

impl Default for BrokerIds {
    #[inline]
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Deref for BrokerIds {
    type Target = [i32];

    #[inline]
    fn deref(&self) -> &[i32] {
        match &self.0 {
            Held::Few { length, ids } => ids.get(..usize::from(*length)).unwrap_or_default(),
            Held::Many(ids) => ids,
        }
    }
}

impl FromIterator<i32> for BrokerIds {
    #[inline]
    fn from_iter<I: IntoIterator<Item = i32>>(from: I) -> Self {
        let mut from = from.into_iter();
        let (mut length, mut few) = (0, [0; FEW_MAX]);
        for (place, id) in few.iter_mut().zip(&mut from) {
            *place = id;
            length += 1;
        }
        match from.next() {
            None => Self(Held::Few { length, ids: few }),
            Some(next) => Self(Held::Many(few.into_iter().chain([next]).chain(from).collect())),
        }
    }
}

impl From<Vec<i32>> for BrokerIds {
    fn from(ids: Vec<i32>) -> Self {
        if ids.len() > FEW_MAX { Self(Held::Many(ids)) } else { ids.into_iter().collect() }
    }
}

impl From<&[i32]> for BrokerIds {
    fn from(ids: &[i32]) -> Self {
        ids.iter().copied().collect()
    }
}

impl PartialEq for BrokerIds {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for BrokerIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two ways to hold ids differ in nothing that can be seen.
    #[test]
    fn few_and_many() {
        for count in 0..6 {
            let ids: Vec<i32> = (5..5 + count).collect();
            let bytes: Vec<u8> = ids.iter().flat_map(|it| it.to_be_bytes()).collect();
            let ways = [ids.clone().into(), ids.as_slice().into(), BrokerIds::from_be_bytes(&bytes)];
            for it in ways {
                assert_eq!(*it, *ids);
                assert_eq!(it.clone(), BrokerIds::from_iter(ids.clone()));
                assert_eq!(matches!(it.0, Held::Few { .. }), ids.len() <= FEW_MAX);
            }
        }
        assert_eq!([size_of::<BrokerIds>(), size_of::<Option<BrokerIds>>()], [24, 24]);
    }
}
