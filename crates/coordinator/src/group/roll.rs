//! Members by their ids: found by hash, gone through in the order of the ids.
//!
//! A tree alone would do, but each of its levels is memory that is in no cache when a group is large, and a heartbeat
//! of one member does nothing but find it.

#![expect(
    clippy::disallowed_types,
    reason = "members are found by id; their order is that of the set beside it"
)]

use std::collections::{BTreeSet, HashMap, btree_set};

use wire::Str;

/// What is kept of each member of a group. Nobody goes through the hash map in its own order, which chance decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Roll<V> {
    by_id: HashMap<Str, Box<V>>,
    ids: BTreeSet<Str>,
}

/// Members in the order of their ids.
#[derive(Debug, Clone)]
pub struct Iter<'a, V> {
    by_id: &'a HashMap<Str, Box<V>>,
    ids: btree_set::Iter<'a, Str>,
}

impl<V> Default for Roll<V> {
    fn default() -> Self {
        Self { by_id: HashMap::new(), ids: BTreeSet::new() }
    }
}

impl<V> Roll<V> {
    pub fn contains_key(&self, id: &Str) -> bool {
        self.by_id.contains_key(id)
    }

    pub fn get(&self, id: &Str) -> Option<&V> {
        self.by_id.get(id).map(|it| &**it)
    }

    pub fn get_mut(&mut self, id: &Str) -> Option<&mut V> {
        self.by_id.get_mut(id).map(|it| &mut **it)
    }

    /// With the id as it is kept here, which does not hold the frame of a request.
    pub fn get_key_value(&self, id: &Str) -> Option<(&Str, &V)> {
        self.by_id.get_key_value(id).map(|(id, it)| (id, &**it))
    }

    pub fn insert(&mut self, id: Str, value: V) {
        match self.by_id.get_mut(&id) {
            Some(known) => **known = value,
            None => {
                self.ids.insert(id.clone());
                self.by_id.insert(id, Box::new(value));
            }
        }
    }

    /// What is kept of a member, made if there is nothing.
    pub fn or_default(&mut self, id: Str) -> &mut V
    where
        V: Default,
    {
        if !self.by_id.contains_key(&id) {
            self.ids.insert(id.clone());
        }
        self.by_id.entry(id).or_default()
    }

    pub fn remove(&mut self, id: &Str) -> Option<V> {
        let value = self.by_id.remove(id)?;
        self.ids.remove(id);
        Some(*value)
    }

    /// Keeps those of which this is true.
    pub fn retain(&mut self, keeps: impl Fn(&Str) -> bool) {
        self.ids.retain(&keeps);
        self.by_id.retain(|id, _| keeps(id));
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub fn keys(&self) -> btree_set::Iter<'_, Str> {
        self.ids.iter()
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, it)| it)
    }

    pub fn iter(&self) -> Iter<'_, V> {
        Iter { by_id: &self.by_id, ids: self.ids.iter() }
    }

    pub fn for_each_mut(&mut self, mut change: impl FnMut(&Str, &mut V)) {
        for id in &self.ids {
            if let Some(value) = self.by_id.get_mut(id) {
                change(id, value);
            }
        }
    }
}

impl<'a, V> Iterator for Iter<'a, V> {
    type Item = (&'a Str, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        let id = self.ids.next()?;
        let value = self.by_id.get(id).expect("who has an id here is there");
        Some((id, value))
    }
}

impl<'a, V> IntoIterator for &'a Roll<V> {
    type Item = (&'a Str, &'a V);
    type IntoIter = Iter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_and_stand_in_order() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(Str::from_static);
        let mut roll = Roll::default();
        for (id, value) in [(&c, 3), (&a, 1), (&b, 7), (&b, 2)] {
            roll.insert(id.clone(), value);
        }
        *roll.or_default(d.clone()) += 4;
        *roll.or_default(d.clone()) += 1;
        assert_eq!(roll.iter().collect::<Vec<_>>(), [(&a, &1), (&b, &2), (&c, &3), (&d, &5)]);
        assert!(roll.keys().eq([&a, &b, &c, &d]) && roll.values().eq(&[1, 2, 3, 5]));
        let mut seen = Vec::new();
        roll.for_each_mut(|id, value| {
            *value *= 10;
            seen.push(id.clone());
        });
        assert_eq!(seen, [a.clone(), b.clone(), c.clone(), d.clone()]);
        *roll.get_mut(&c).unwrap() += 1;
        assert_eq!((roll.remove(&b), roll.remove(&b)), (Some(20), None));
        assert_eq!((roll.len(), roll.contains_key(&b), roll.get(&c)), (3, false, Some(&31)));
        assert_eq!(roll.get_key_value(&a), Some((&a, &10)));
        roll.retain(|id| *id == a || *id == d);
        assert_eq!(roll.iter().collect::<Vec<_>>(), [(&a, &10), (&d, &50)]);
        assert_eq!((roll.len(), roll.get(&c)), (2, None));
        roll.retain(|_| false);
        assert!(roll.is_empty() && roll.iter().next().is_none());
    }
}
