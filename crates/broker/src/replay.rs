//! Loads a machine: reads its partition from start to end, and applies what it reads.

use bytes::Bytes;
use coordinator::{At, Driver, Encoded, Machine};
use storage::partition::{Isolation, Partition, ReadSpec};
use storage::{Slice, Slices};
use tracing::warn;
use wire::batch::control::Control;
use wire::batch::{Batches, RecordRef};

/// Bytes of one read.
const LOAD_BYTES: usize = 1024 * 1024;

/// Feeds every record of the log to the driver, and gives the log's end.
///
/// # Errors
/// The log can't be read, or holds what no coordinator wrote.
pub async fn replay<M: Machine>(driver: &mut Driver<M>, partition: &Partition) -> Result<i64, String> {
    for_each_read(partition, |bytes, from| replay_batches(driver, bytes, from)).await
}

/// Reads the whole log, many batches at a time, and gives its end. `take` is told from which offset on records count,
/// and says where it ended.
///
/// # Errors
/// The log can't be read; those of `take`.
pub async fn for_each_read(
    partition: &Partition,
    mut take: impl FnMut(Bytes, i64) -> Result<i64, String>,
) -> Result<i64, String> {
    let ends = partition.ends_now();
    // What a machine before this one appended may not be durable yet.
    partition.wait_durable(ends.end).await.map_err(|error| error.to_string())?;
    let mut from = ends.start;
    while from < ends.end {
        let spec = ReadSpec {
            from,
            max_bytes: LOAD_BYTES,
            at_least_one: true,
            isolation: Isolation::ReadUncommitted,
            settle: false,
        };
        let read = partition.read(spec).await.map_err(|error| error.to_string())?;
        let next = take(load(read.slices).await?, from)?;
        if next <= from {
            return Err(format!("the log ends at {from}, before its end {}", ends.end));
        }
        from = next;
    }
    Ok(ends.end)
}

/// Slices in files are read where a slow disk holds nobody up.
async fn load(slices: Slices) -> Result<Bytes, String> {
    if slices.items.iter().all(|slice| matches!(slice, Slice::Bytes(_))) {
        return slices.load().map_err(|error| error.to_string());
    }
    let loaded = tokio::task::spawn_blocking(move || slices.load()).await;
    loaded.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

fn replay_batches<M: Machine>(driver: &mut Driver<M>, bytes: Bytes, mut from: i64) -> Result<i64, String> {
    for batch in Batches::new(bytes) {
        let batch = batch.map_err(|error| error.to_string())?;
        let header = &batch.header;
        let next = header.next_offset();
        if header.attributes.is_control() {
            replay_control(driver, &batch, from)?;
        } else {
            let transactional = header.attributes.is_transactional();
            let producer = transactional.then_some((header.producer_id, header.producer_epoch));
            let block = batch.block().map_err(|error| error.to_string())?;
            for record in block.records() {
                let record = record.map_err(|error| error.to_string())?;
                if record.offset >= from {
                    replay_record(driver, &record, producer)?;
                }
            }
        }
        from = next;
    }
    Ok(from)
}

/// Markers end transactions; other control records mean nothing to a machine.
fn replay_control<M: Machine>(
    driver: &mut Driver<M>,
    batch: &wire::batch::Batch,
    from: i64,
) -> Result<(), String> {
    let producer = (batch.header.producer_id, batch.header.producer_epoch);
    for record in batch.records().map_err(|error| error.to_string())? {
        let record = record.map_err(|error| error.to_string())?;
        let commit = match Control::parse(&record).map_err(|error| error.to_string())? {
            Control::Commit { .. } => true,
            Control::Abort { .. } => false,
            Control::Other(_) => continue,
        };
        if record.offset >= from {
            let at = At { offset: record.offset, timestamp: record.timestamp, producer: Some(producer) };
            driver.marker(at, producer.0, commit);
        }
    }
    Ok(())
}

fn replay_record<M: Machine>(
    driver: &mut Driver<M>,
    record: &RecordRef<'_>,
    producer: Option<(i64, i16)>,
) -> Result<(), String> {
    let offset = record.offset;
    let encoded = Encoded::new(*record).ok_or_else(|| format!("record {offset} has no key"))?;
    let at = At { offset, timestamp: record.timestamp, producer };
    let known = driver.replay_encoded(at, encoded);
    if !known.map_err(|error| format!("record {offset}: {error:?}"))? {
        // A later release wrote it; Kafka skips such records too.
        warn!(offset, "record of an unknown type skipped");
    }
    Ok(())
}
