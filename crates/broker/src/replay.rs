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

#[cfg(test)]
mod tests {
    use catalog::Image;
    use coordinator::Entropy;
    use coordinator::group::GroupShard;
    use wire::batch::BatchBuilder;
    use wire::batch::control::marker;
    use wire::consumer_offsets::{OffsetCommitKey, OffsetCommitValue, Record};
    use wire::{LogRecord as _, Str};

    use super::*;

    const GROUP: Str = Str::from_static("g");

    fn commit(partition: i32, offset: i64) -> (Bytes, Bytes) {
        let key = OffsetCommitKey { group: GROUP, topic: "t".into(), partition };
        let value = OffsetCommitValue { offset, ..Default::default() };
        let (key, value) = Record::OffsetCommit(key, Some(value)).encode().unwrap();
        (key, value.unwrap())
    }

    /// What is committed after a load of these batches, from an offset on, by partition.
    fn load(batches: &[Bytes], from: i64) -> Result<Vec<(i32, i64)>, String> {
        let mut driver = Driver::<GroupShard>::new(Entropy::seeded(1), 1 << 20);
        let end = replay_batches(&mut driver, batches.concat().into(), from)?;
        driver.loaded(end, 0, &Image::default());
        assert_eq!(driver.written(), end);
        let topics = driver.machine().hard().offsets().of_group(&GROUP);
        let partitions = topics.into_iter().flatten().flat_map(|(_, partitions)| partitions);
        Ok(partitions.map(|(partition, it)| (*partition, it.offset)).collect())
    }

    /// Scenario 309.
    #[test]
    fn what_no_release_knows_is_skipped() {
        let [(a, first), (b, second)] = [commit(1, 5), commit(2, 6)];
        let batch = BatchBuilder::new()
            .push(Some(&a), Some(&first))
            .push(Some(&[0, 99]), Some(&[1, 2, 3]))
            .push(Some(&b), Some(&second))
            .build();
        assert_eq!(load(&[batch], 0), Ok(vec![(1, 5), (2, 6)]));
    }

    /// Scenario 309.
    #[test]
    fn what_nobody_can_read_fails_the_load() {
        let (key, value) = commit(1, 5);
        let cut_key = &key[..key.len() - 1];
        let wrong = [
            (None, &value[..]),
            (Some(cut_key), &value[..]),
            (Some(&key[..]), &value[..9]),
            (Some(&key[..]), &[0, 99][..]),
        ];
        for (wrong_key, wrong_value) in wrong {
            let batch = BatchBuilder::new().push(Some(&key), Some(&value));
            let batch = batch.push(wrong_key, Some(wrong_value)).build();
            let problem = load(&[batch], 0).unwrap_err();
            assert!(problem.starts_with("record 1"), "{problem}");
        }
        let mut cut = BatchBuilder::new().push(Some(&key), Some(&value)).build().to_vec();
        cut[57..61].copy_from_slice(&2_i32.to_be_bytes());
        assert!(load(&[cut.into()], 0).is_err(), "there is no second record");
    }

    /// Scenario 309. Of markers those of transactions count; what stands below the start of the log does not.
    #[test]
    fn markers_end_transactions_and_other_control_records_do_nothing() {
        let of_producer = |id: i64, base: i64, (key, value): (Bytes, Bytes)| {
            let builder = BatchBuilder::new().base_offset(base).producer(id, 0, 0).transactional();
            builder.push(Some(&key), Some(&value)).build()
        };
        let end = |id: i64, base: i64, commits: bool| {
            let mut bytes = marker(id, 0, commits, 3, 0).to_vec();
            bytes[..8].copy_from_slice(&base.to_be_bytes());
            Bytes::from(bytes)
        };
        let other = BatchBuilder::new().base_offset(2).control().push(Some(&[0, 0, 0, 9]), None).build();
        let log = [
            of_producer(7, 0, commit(1, 5)),
            of_producer(8, 1, commit(2, 6)),
            other,
            end(7, 3, true),
            end(8, 4, false),
        ];
        assert_eq!(load(&log[..3], 0), Ok(vec![]));
        assert_eq!(load(&log, 0), Ok(vec![(1, 5)]));
        assert_eq!(load(&log, 1), Ok(vec![]));
    }
}
