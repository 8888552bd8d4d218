//! Columns indexed by a typed id, so that a task can't be used where a member is meant.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A dense id: the row number in a [`Table`].
pub(super) trait Id: Copy {
    fn row(self) -> usize;
}

/// A column with one value for each of the ids `0..len`.
#[derive(Debug, Clone)]
pub(super) struct Table<I, T> {
    rows: Vec<T>,
    id: PhantomData<fn(I)>,
}

impl<I: Id, T> Table<I, T> {
    pub(super) fn new(rows: Vec<T>) -> Self {
        Self { rows, id: PhantomData }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn push(&mut self, value: T) {
        self.rows.push(value);
    }

    pub(super) fn rows(&self) -> &[T] {
        &self.rows
    }

    pub(super) fn into_rows(self) -> Vec<T> {
        self.rows
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self { rows: Vec::new(), id: PhantomData }
    }
}

impl<I: Id, T: Clone> Table<I, T> {
    pub(super) fn filled(len: usize, value: T) -> Self {
        Self::new(vec![value; len])
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    #[expect(clippy::indexing_slicing, reason = "ids are made together with the tables that they index")]
    fn index(&self, id: I) -> &T {
        &self.rows[id.row()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[expect(clippy::indexing_slicing, reason = "ids are made together with the tables that they index")]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.row()]
    }
}

/// For each id a list, all lists in one allocation.
#[derive(Debug, Clone)]
pub(super) struct Lists<I, T> {
    starts: Vec<u32>,
    items: Vec<T>,
    id: PhantomData<fn(I)>,
}

impl<I: Id, T: Copy> Lists<I, T> {
    /// Groups `pairs` by id; within a list their order stays.
    pub(super) fn group(ids: usize, pairs: impl Iterator<Item = (I, T)> + Clone) -> Self {
        let mut starts = vec![0_u32; ids + 1];
        let mut items = Vec::new();
        for (id, item) in pairs.clone() {
            // Any value reserves the place; the second pass puts the right one there.
            items.push(item);
            if let Some(count) = starts.get_mut(id.row() + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        for (id, item) in pairs {
            let Some(place) = next.get_mut(id.row()) else { continue };
            if let Some(slot) = items.get_mut(*place as usize) {
                *slot = item;
            }
            *place += 1;
        }
        Self { starts, items, id: PhantomData }
    }

    /// Groups `pairs` by id, of which each has as many as `lens` say; `any` value reserves their places.
    pub(super) fn sized(
        lens: impl Iterator<Item = u32>,
        any: T,
        pairs: impl Iterator<Item = (I, T)>,
    ) -> Self {
        let mut end = 0;
        let ends = lens.map(|len| {
            end += len;
            end
        });
        let starts: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let mut next = starts.clone();
        let mut items = vec![any; end as usize];
        pairs.for_each(|(id, item)| {
            if let Some(place) = next.get_mut(id.row()) {
                items.get_mut(*place as usize).into_iter().for_each(|it| *it = item);
                *place += 1;
            }
        });
        Self { starts, items, id: PhantomData }
    }

    pub(super) fn of(&self, id: I) -> &[T] {
        let bounds = self.starts.get(id.row()).zip(self.starts.get(id.row() + 1));
        bounds.and_then(|(from, to)| self.items.get(*from as usize..*to as usize)).unwrap_or_default()
    }

    pub(super) fn of_mut(&mut self, id: I) -> &mut [T] {
        let bounds = self.starts.get(id.row()).zip(self.starts.get(id.row() + 1));
        bounds.and_then(|(from, to)| self.items.get_mut(*from as usize..*to as usize)).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
