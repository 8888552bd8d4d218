//! The tail cache: recent batches of all logs, one budget for all, evicted oldest first.
//!
//! The batches themselves lie with their logs; here is the order in which they came.

use std::collections::VecDeque;
use std::sync::Weak;

use bytes::Bytes;
use parking_lot::Mutex;
use wire::batch::{BatchHeader, HEADER_LEN};

use super::log::LocalLog;
use crate::log::{Batch, Offset, Slice, Slices, Span};

/// Below this, a batch is copied into one piece: cheaper to send than two, and a small batch does not keep the
/// frame of a large request alive.
const JOIN_MAX: usize = 1_024;

/// A batch in memory.
pub(super) struct Cached {
    base: Offset,
    next: Offset,
    size: usize,
    /// Header and body, or both in the first.
    pieces: [Bytes; 2],
}

impl Cached {
    pub(super) fn new(batch: &Batch) -> Self {
        let pieces = if batch.body.len() <= JOIN_MAX {
            [batch.to_bytes(), Bytes::new()]
        } else {
            [Bytes::copy_from_slice(&batch.header.encode()), batch.body.clone()]
        };
        let BatchHeader { base_offset, .. } = batch.header;
        Self { base: base_offset, next: batch.header.next_offset(), size: batch.size(), pieces }
    }

    /// What is to be written or sent.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        self.pieces.iter().filter(|it| !it.is_empty())
    }

    /// Bytes that it keeps alive, about.
    fn weight(&self) -> u64 {
        (self.size.max(HEADER_LEN) + size_of::<Self>()) as u64
    }
}

/// The cached batches of one log, without a gap, up to its end.
#[derive(Default)]
pub(super) struct Tail {
    batches: VecDeque<Cached>,
}

impl Tail {
    /// Adds batches; gives their weight.
    pub(super) fn push(&mut self, batches: Vec<Cached>) -> u64 {
        let weight = batches.iter().map(Cached::weight).sum();
        self.batches.extend(batches);
        weight
    }

    /// Drops the oldest batches until `weight` is given back.
    pub(super) fn evict(&mut self, mut weight: u64) {
        while weight > 0 {
            let Some(batch) = self.batches.pop_front() else { break };
            weight = weight.saturating_sub(batch.weight());
        }
    }

    pub(super) fn clear(&mut self) {
        self.batches.clear();
    }

    /// The batches of a span, unless the span begins before the cache does.
    pub(super) fn read(&self, span: &Span) -> Option<Slices> {
        self.batches.front().filter(|it| it.base <= span.from)?;
        let mut out = Slices::default();
        let mut size: usize = 0;
        let first = self.batches.partition_point(|it| it.next <= span.from);
        for batch in self.batches.range(first..) {
            let fits = size.saturating_add(batch.size) <= span.max_bytes || (size == 0 && span.at_least_one);
            if batch.next > span.to || !fits {
                break;
            }
            size = size.saturating_add(batch.size);
            out.next = batch.next;
            out.items.extend(batch.pieces().cloned().map(Slice::Bytes));
        }
        Some(out)
    }
}

/// The order of all cached appends, and what they weigh.
pub(super) struct TailCache {
    max: u64,
    state: Mutex<Order>,
}

/// Appends, oldest first, and what they weigh together.
#[derive(Default)]
struct Order {
    weight: u64,
    appends: VecDeque<(Weak<LocalLog>, u64)>,
}

impl TailCache {
    pub(super) fn new(max: u64) -> Self {
        Self { max, state: Mutex::default() }
    }

    pub(super) fn is_off(&self) -> bool {
        self.max == 0
    }

    /// Counts an append. Called under the lock of its log, so that the order here is the order there.
    pub(super) fn count(&self, log: Weak<LocalLog>, weight: u64) {
        let mut state = self.state.lock();
        state.weight = state.weight.saturating_add(weight);
        state.appends.push_back((log, weight));
    }

    /// Makes room. Called without any lock of a log.
    pub(super) fn evict(&self) {
        loop {
            let (log, weight) = {
                let mut state = self.state.lock();
                if state.weight <= self.max {
                    return;
                }
                let Some((log, weight)) = state.appends.pop_front() else { return };
                state.weight = state.weight.saturating_sub(weight);
                (log, weight)
            };
            if let Some(log) = log.upgrade() {
                log.evict(weight);
            }
        }
    }
}
