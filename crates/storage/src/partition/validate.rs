//! Checks of records before they are appended, in Kafka's order (`broker-core` 8.1 A5, C6–C15). No lock is held.
//!
//! Cost for a batch that is stored as sent: the checksum over its bytes and a copy of its header; the records
//! are neither copied nor looked at. Kafka reads every record of every batch; we do so only where a rule needs
//! it (null keys, a bound for old timestamps, another codec) or with [`Validate::Full`]. So a batch with a right
//! checksum but broken records is stored, and its consumer is the first to notice.

use bytes::Bytes;
use wire::batch::{Attributes, Batch, BatchBuilder, BatchHeader, Batches, Codec, Record, TimestampType};

use super::error::{AppendError, RecordError};
use super::settings::{Compression, Settings, Validate};
use crate::log::{self, Millis};

/// Records of one batch that are named in a refusal, so that a large batch does not make a large answer.
const RECORD_ERRORS_MAX: usize = 100;

/// A small batch may inflate to much; `max.message.bytes` times this is what we take (`broker-core` 7.4). Text that
/// repeats itself packs 20 to 1; a batch that is nothing but zeros is an attack on our memory.
const INFLATE_FACTOR: usize = 64;

/// The one batch of a client's records (A5): null, none, several and old magics are refused. Up to 11 bytes
/// behind the batch are ignored (K-8).
pub fn single(records: &Bytes) -> Result<Batch, AppendError> {
    let mut batches = Batches::new(records.clone());
    let Some(batch) = batches.next() else {
        return Err(AppendError::invalid("no complete record batch in the records of the partition"));
    };
    let batch = batch?;
    match batches.next() {
        None => Ok(batch),
        Some(Ok(_)) => Err(AppendError::invalid("more than one record batch for the partition")),
        Some(Err(invalid)) => Err(invalid.into()),
    }
}

/// Whether `client` has to inflate the batch, which can take long and much memory.
pub(super) fn inflates(records: &Bytes, settings: &Settings, now: Millis) -> bool {
    let Ok(batch) = single(records) else { return false };
    let codec = batch.header.attributes.codec();
    codec.is_ok_and(|codec| codec != Codec::None && looks_inside(&batch.header, codec, settings, now))
}

/// The codec that the batch is stored with.
fn target(codec: Codec, settings: &Settings) -> Codec {
    match settings.compression {
        Compression::Producer => codec,
        Compression::To { codec, .. } => codec,
    }
}

fn looks_inside(header: &BatchHeader, codec: Codec, settings: &Settings, now: Millis) -> bool {
    codec != target(codec, settings) || needs_records(settings) || header_is_suspicious(header, settings, now)
}

/// Checks a client's batch and makes of it what is to be stored, but for its offset and leader epoch.
pub(super) fn client(records: &Bytes, settings: &Settings, now: Millis) -> Result<log::Batch, AppendError> {
    let batch = single(records)?;
    let header = &batch.header;
    if header.base_offset != 0 {
        return Err(AppendError::invalid(format!("the base offset is {} and not 0", header.base_offset)));
    }
    check_size(header.size(), settings)?;
    batch.verify()?;
    check_header(header)?;
    let codec = header.attributes.codec()?;
    let target = target(codec, settings);
    let stored = if looks_inside(header, codec, settings, now) {
        with_records(&batch, target, settings, now)?
    } else {
        in_place(&batch, settings, now, header.max_timestamp)
    };
    check_size(stored.size(), settings)?;
    check_segment(stored.size(), settings)?;
    Ok(stored)
}

/// Splits what a coordinator appends. It built the batches itself, so only their form is checked; neither
/// `max.message.bytes` nor timestamps bound it, since its state is in memory already.
pub(super) fn coordinator(records: &Bytes) -> Result<Vec<log::Batch>, AppendError> {
    let mut batches = Batches::new(records.clone());
    let mut items = Vec::new();
    for batch in batches.by_ref() {
        let batch = batch?;
        items.push(log::Batch { header: batch.header, body: batch.payload() });
    }
    if items.is_empty() || !batches.rest().is_empty() {
        return Err(AppendError::invalid("no complete record batch"));
    }
    Ok(items)
}

fn check_size(size: usize, settings: &Settings) -> Result<(), AppendError> {
    if size <= settings.max_message_bytes as usize {
        return Ok(());
    }
    Err(AppendError::TooLarge(format!(
        "the record batch has {size} bytes, more than the {} of max.message.bytes",
        settings.max_message_bytes
    )))
}

fn check_segment(size: usize, settings: &Settings) -> Result<(), AppendError> {
    if size <= settings.log.segment_bytes as usize {
        return Ok(());
    }
    Err(AppendError::LargerThanSegment(format!(
        "the record batch has {size} bytes, more than the {} of a segment",
        settings.log.segment_bytes
    )))
}

/// C9, in Kafka's order.
fn check_header(header: &BatchHeader) -> Result<(), AppendError> {
    let spans = i64::from(header.last_offset_delta) + 1;
    if spans <= 0 {
        return Err(AppendError::invalid(format!("the batch spans {spans} offsets")));
    }
    if header.record_count <= 0 {
        return Err(AppendError::invalid(format!("the batch claims {} records", header.record_count)));
    }
    if spans != i64::from(header.record_count) {
        return Err(AppendError::invalid(format!(
            "the batch spans {spans} offsets but claims {} records",
            header.record_count
        )));
    }
    if header.attributes.is_control() {
        return Err(AppendError::invalid("clients may not write control records"));
    }
    if header.has_producer() && header.base_sequence < 0 {
        return Err(AppendError::invalid(format!(
            "sequence {} in a batch with producer id {}",
            header.base_sequence, header.producer_id
        )));
    }
    Ok(())
}

/// Whether the header speaks against the timestamps (C13). The records decide, and tell which of them are to
/// blame; a header whose largest timestamp is wrong is set right on the way.
fn header_is_suspicious(header: &BatchHeader, settings: &Settings, now: Millis) -> bool {
    let claims_append_time = header.attributes.timestamp_type() == TimestampType::LogAppendTime;
    settings.timestamp_type == TimestampType::CreateTime
        && timestamp_fault(header.max_timestamp, claims_append_time, settings, now).is_some()
}

/// K-9: a claim of LogAppendTime is dropped silently unless there is no timestamp at all.
fn timestamp_fault(at: Millis, claims_append_time: bool, settings: &Settings, now: Millis) -> Option<String> {
    if at == -1 {
        return claims_append_time.then(|| "log append time without a timestamp".to_owned());
    }
    let too_old = now.saturating_sub(at) > settings.timestamp_before_max_ms;
    let too_new = at.saturating_sub(now) > settings.timestamp_after_max_ms;
    (too_old || too_new).then(|| {
        format!(
            "timestamp {at} is out of range: the broker's time is {now}, and it takes {} ms before and {} ms after",
            settings.timestamp_before_max_ms, settings.timestamp_after_max_ms
        )
    })
}

/// Whether a rule makes us look at the records of every batch.
fn needs_records(settings: &Settings) -> bool {
    let bounds_old = settings.timestamp_type == TimestampType::CreateTime
        && settings.timestamp_before_max_ms != Millis::MAX;
    settings.compacted || bounds_old || settings.validate == Validate::Full
}

/// The batch as it came, with the topic's timestamp type. The checksum is computed anew only if the header
/// changes in what it covers.
fn in_place(batch: &Batch, settings: &Settings, now: Millis, max_timestamp: Millis) -> log::Batch {
    let mut header = batch.header;
    header.attributes = header.attributes.with_timestamp_type(settings.timestamp_type);
    header.max_timestamp = match settings.timestamp_type {
        TimestampType::CreateTime => max_timestamp,
        TimestampType::LogAppendTime => now,
    };
    let body = batch.payload();
    if header != batch.header {
        header.crc = header.checksum(&body);
    }
    log::Batch { header, body }
}

/// Reads every record: checks C11 to C13, and packs the batch anew if its codec or its offsets ask for it.
fn with_records(
    batch: &Batch,
    target: Codec,
    settings: &Settings,
    now: Millis,
) -> Result<log::Batch, AppendError> {
    let limit = (settings.max_message_bytes as usize).saturating_mul(INFLATE_FACTOR);
    let mut faults = Faults::default();
    let mut max_timestamp = -1;
    let mut consecutive = true;
    let mut repack = (batch.header.attributes.codec()? != target).then(|| repack(batch, target, settings));
    let claims_append_time = batch.header.attributes.timestamp_type() == TimestampType::LogAppendTime;
    for (index, record) in (0_i64..).zip(batch.records_within(limit)?) {
        let record = record?;
        max_timestamp = max_timestamp.max(record.timestamp);
        consecutive &= record.offset == index;
        faults.look_at(index, &record, claims_append_time, settings, now);
        if let Some(repack) = &mut repack {
            add(repack, &record, settings, now);
        }
    }
    faults.into_result()?;
    match repack {
        None if consecutive => Ok(in_place(batch, settings, now, max_timestamp)),
        // Inner offsets that are not 0, 1, 2 … are written anew, else readers would see them.
        None => pack(batch, target, settings, now, limit),
        Some(repack) => finish(repack),
    }
}

fn pack(
    batch: &Batch,
    target: Codec,
    settings: &Settings,
    now: Millis,
    limit: usize,
) -> Result<log::Batch, AppendError> {
    let mut repack = repack(batch, target, settings);
    for record in batch.records_within(limit)? {
        add(&mut repack, &record?, settings, now);
    }
    finish(repack)
}

/// Producer, sequence and transaction of the batch are kept (`broker-core` 7.5).
fn repack(batch: &Batch, target: Codec, settings: &Settings) -> BatchBuilder {
    let level = match settings.compression {
        Compression::To { codec, level } if codec == target => level,
        Compression::To { .. } | Compression::Producer => None,
    };
    let flags = Attributes::default().with_transactional(batch.header.attributes.is_transactional());
    BatchBuilder::like(&BatchHeader { attributes: flags, ..batch.header })
        .timestamp_type(settings.timestamp_type)
        .codec(target)
        .level(level)
}

fn add(repack: &mut BatchBuilder, record: &Record, settings: &Settings, now: Millis) {
    let timestamp = match settings.timestamp_type {
        TimestampType::CreateTime => record.timestamp,
        TimestampType::LogAppendTime => now,
    };
    repack.add(timestamp, record.key.as_deref(), record.value.as_deref(), &record.headers);
}

fn finish(repack: BatchBuilder) -> Result<log::Batch, AppendError> {
    log::Batch::from_bytes(&repack.build())
        .ok_or_else(|| AppendError::invalid("the batch can't be packed anew"))
}

/// What is wrong with single records.
#[derive(Default)]
struct Faults {
    records: Vec<RecordError>,
    count: usize,
    timestamps: bool,
}

impl Faults {
    fn look_at(
        &mut self,
        index: i64,
        record: &Record,
        claims_append_time: bool,
        settings: &Settings,
        now: Millis,
    ) {
        if settings.compacted && record.key.is_none() {
            self.note(index, "a record of a compacted topic needs a key".to_owned());
        }
        if settings.timestamp_type == TimestampType::CreateTime
            && let Some(fault) = timestamp_fault(record.timestamp, claims_append_time, settings, now)
        {
            self.timestamps = true;
            self.note(index, fault);
        }
    }

    fn note(&mut self, index: i64, message: String) {
        self.count += 1;
        if self.records.len() < RECORD_ERRORS_MAX {
            self.records.push(RecordError { batch_index: i32::try_from(index).unwrap_or(i32::MAX), message });
        }
    }

    /// With both kinds of faults the code is that of timestamps (`broker-core` 8.1).
    fn into_result(self) -> Result<(), AppendError> {
        let Self { records, count, timestamps } = self;
        if count == 0 {
            return Ok(());
        }
        let message = format!("{count} records of the batch were refused");
        if timestamps {
            Err(AppendError::InvalidTimestamp { message, records })
        } else {
            Err(AppendError::InvalidRecord { message, records })
        }
    }
}
