//! Reading from segments: file slices for a span, and batches by time.
//!
//! Positions come from the sparse index and from walking headers from there; records are never looked at.

use std::sync::Arc;

use wire::batch::BatchHeader;

use super::segment::{Limits, Segment};
use super::walk::Walk;
use crate::log::{Ends, Found, Millis, Offset, Refused, Slice, Slices, Span};

/// The segment that holds `from`, and the one after, where the batch is if the first has none at or above it.
pub(super) fn covering(segments: &[Arc<Segment>], from: Offset) -> Vec<Arc<Segment>> {
    let at = segments.partition_point(|it| it.base <= from).saturating_sub(1);
    segments.iter().skip(at).take(2).cloned().collect()
}

/// A slice of the first segment that has a batch of the span.
pub(super) fn read(segments: &[Arc<Segment>], span: &Span, limits: &Limits) -> Result<Slices, Refused> {
    for segment in segments {
        let mut at = Place::seek(segment, span.from, limits)?;
        let Some((from, first)) = at.next()? else { continue };
        if first.next_offset() > span.to {
            break;
        }
        if first.size() > span.max_bytes {
            let len = if span.at_least_one { first.size() } else { 0 };
            return at.slice(from, from.saturating_add(len as u64), first.next_offset());
        }
        let bound = from.saturating_add(span.max_bytes as u64);
        // Jump to the last known boundary inside both bounds, then walk on.
        let known = segment.with_index(limits, |it| it.boundary(bound, span.to))?;
        let mut end = from.saturating_add(first.size() as u64).max(known);
        at.walk_from(end);
        let mut next_offset = first.next_offset();
        while let Some((position, header)) = at.next()? {
            let next = position.saturating_add(header.size() as u64);
            if next > bound || header.next_offset() > span.to {
                // After the jump this is all that is known about the last batch.
                next_offset = header.base_offset;
                break;
            }
            end = next;
            next_offset = header.next_offset();
        }
        return at.slice(from, end, next_offset);
    }
    Ok(Slices::default())
}

/// The first durable batch above the start whose largest timestamp is at or above `timestamp`.
pub(super) fn find(
    segments: &[Arc<Segment>],
    ends: &Ends,
    timestamp: Millis,
    limits: &Limits,
) -> Result<Option<Found>, Refused> {
    for segment in segments {
        if segment.largest(limits)?.is_none_or(|it| it.timestamp < timestamp) {
            continue;
        }
        let from = segment.with_index(limits, |it| it.offset_before(timestamp))?.max(ends.start);
        let mut at = Place::seek(segment, from, limits)?;
        while let Some((_, header)) = at.next()? {
            if header.next_offset() > ends.durable {
                return Ok(None);
            }
            if header.max_timestamp >= timestamp && header.next_offset() > ends.start {
                return Ok(Some(found(&header)));
            }
        }
    }
    Ok(None)
}

/// The first durable batch above the start with the largest timestamp.
pub(super) fn newest(
    segments: &[Arc<Segment>],
    ends: &Ends,
    limits: &Limits,
) -> Result<Option<Found>, Refused> {
    let mut newest: Option<Found> = None;
    for segment in segments {
        let Some(largest) = segment.largest(limits)? else { continue };
        if newest.is_some_and(|it| it.max_timestamp >= largest.timestamp) {
            continue;
        }
        let inside = largest.offset >= ends.start && largest.offset < ends.durable;
        // Only a segment that is cut by one of the bounds may have to be walked.
        let mut at = Place::seek(segment, if inside { largest.offset } else { ends.start }, limits)?;
        while let Some((_, header)) = at.next()? {
            if header.next_offset() > ends.durable {
                break;
            }
            if newest.is_none_or(|it| header.max_timestamp > it.max_timestamp) {
                newest = Some(found(&header));
            }
            if inside {
                break;
            }
        }
    }
    Ok(newest)
}

fn found(header: &BatchHeader) -> Found {
    Found { offset: header.base_offset, max_timestamp: header.max_timestamp }
}

/// A place between two batches of a segment.
struct Place<'a> {
    segment: &'a Segment,
    walk: Walk,
    /// The batch that `seek` found.
    found: Option<(u64, BatchHeader)>,
}

impl<'a> Place<'a> {
    /// Before the first batch that ends above `offset`.
    fn seek(segment: &'a Arc<Segment>, offset: Offset, limits: &Limits) -> Result<Self, Refused> {
        let file = segment.open(&limits.files)?;
        let position = segment.with_index(limits, |it| it.position(offset))?;
        let mut place = Self { segment, walk: Walk::new(file, position, segment.size()), found: None };
        place.found = loop {
            match place.next()? {
                Some((_, header)) if header.next_offset() <= offset => {}
                found => break found,
            }
        };
        Ok(place)
    }

    fn walk_from(&mut self, position: u64) {
        self.walk.position = position;
        self.found = None;
    }

    fn next(&mut self) -> Result<Option<(u64, BatchHeader)>, Refused> {
        if let Some(found) = self.found.take() {
            return Ok(Some(found));
        }
        let at = self.walk.position;
        self.walk.next().map_err(|it| it.refused(&self.segment.path, at, self.segment.base))
    }

    fn slice(self, from: u64, to: u64, next: Offset) -> Result<Slices, Refused> {
        let len = u32::try_from(to.saturating_sub(from)).unwrap_or(u32::MAX);
        if len == 0 {
            return Ok(Slices::default());
        }
        Ok(Slices { items: vec![Slice::File { file: self.walk.file, offset: from, len }], next })
    }
}
