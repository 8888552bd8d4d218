//! A sorted map whose clones share what they have in common, so that an image can be copied for every change.

use std::borrow::Borrow;
use std::sync::Arc;

/// Entries per chunk at which it is split.
const CHUNK_MAX: usize = 64;

/// A sorted map in chunks. A look-up is two binary searches; a clone copies one pointer per chunk, and a change after
/// it copies one chunk. 100,000 entries are about 3,000 chunks.
#[derive(Debug, Clone)]
pub(crate) struct SharedMap<K, V> {
    /// In order, none of them empty.
    chunks: Vec<Arc<Vec<(K, V)>>>,
    len: usize,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<K: Ord + Clone + PartialEq, V: Clone + PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let chunk = self.chunks.get(self.chunk_of(key))?;
        let at = chunk.binary_search_by(|(k, _)| k.borrow().cmp(key)).ok()?;
        chunk.get(at).map(|(_, value)| value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter().map(|(key, value)| (key, value)))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        let index = self.chunk_of(&key);
        let Some(chunk) = self.chunks.get_mut(index) else {
            self.chunks.push(Arc::new(vec![(key, value)]));
            self.len += 1;
            return;
        };
        let chunk = Arc::make_mut(chunk);
        match chunk.binary_search_by(|(k, _)| k.cmp(&key)) {
            Ok(at) => {
                if let Some(entry) = chunk.get_mut(at) {
                    entry.1 = value;
                }
                return;
            }
            Err(at) => chunk.insert(at, (key, value)),
        }
        self.len += 1;
        if chunk.len() > CHUNK_MAX {
            let upper = chunk.split_off(CHUNK_MAX / 2);
            self.chunks.insert(index + 1, Arc::new(upper));
        }
    }

    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let index = self.chunk_of(key);
        let chunk = self.chunks.get_mut(index)?;
        let at = chunk.binary_search_by(|(k, _)| k.borrow().cmp(key)).ok()?;
        let (_, value) = Arc::make_mut(chunk).remove(at);
        if chunk.is_empty() {
            self.chunks.remove(index);
        }
        self.len -= 1;
        Some(value)
    }

    /// The chunk that holds the key, or would take it: the last one that begins at or before it.
    fn chunk_of<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        let after =
            self.chunks.partition_point(|chunk| chunk.first().is_some_and(|(k, _)| k.borrow() <= key));
        after.saturating_sub(1)
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SharedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(items: I) -> Self {
        let mut map = Self::default();
        for (key, value) in items {
            map.insert(key, value);
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Behaves as a `BTreeMap` under a long fixed sequence of changes, and old clones stay as they were.
    #[test]
    fn agrees_with_a_btree_map() {
        let (mut ours, mut theirs) = (SharedMap::default(), BTreeMap::new());
        let mut state: u64 = 1;
        let mut kept = Vec::new();
        for step in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = (state >> 33) % 700;
            if (state >> 20).is_multiple_of(3) {
                assert_eq!(ours.remove(&key), theirs.remove(&key));
            } else {
                ours.insert(key, step);
                theirs.insert(key, step);
            }
            assert_eq!(ours.len(), theirs.len());
            if step % 1000 == 0 {
                kept.push((ours.clone(), theirs.clone()));
            }
        }
        kept.push((ours, theirs));
        for (ours, theirs) in kept {
            assert!(ours.iter().eq(theirs.iter()));
            assert!((0..700).all(|key| ours.get(&key) == theirs.get(&key)));
            assert!(ours.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= CHUNK_MAX));
        }
    }
}
