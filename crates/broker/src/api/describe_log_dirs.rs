//! DescribeLogDirs (key 35), v1–5 (KIP-113): what each data directory holds, how large it is and what room is left.
//!
//! v2 flexible; v3 error of the whole answer; v4 size and free room of the volume (KIP-827); v5 cordoned directories
//! (KIP-1066), of which there are none.
//!
//! 1. DESCRIBE on the cluster      else CLUSTER_AUTHORIZATION_FAILED, and no directory
//! 2. the directory works          else KAFKA_STORAGE_ERROR for it, and nothing of what it holds
//!
//! Partitions that do not exist, or are offline, are left out; topics without a partition in a directory too.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use storage::Lane;
use wire::describe_log_dirs::request::DescribableLogDirTopic;
use wire::describe_log_dirs::response::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use wire::{DescribeLogDirsRequest, DescribeLogDirsResponse, ErrorCode, Str};

use super::Handler;
use crate::auth::{Operation, Resource};
use crate::call::Call;

impl Handler for DescribeLogDirsRequest {
    const SERVED: RangeInclusive<i16> = 1..=5;

    async fn handle(call: Call, request: Self) -> DescribeLogDirsResponse {
        if !call.allow(Operation::Describe, Resource::Cluster) {
            let error_code = ErrorCode::CLUSTER_AUTHORIZATION_FAILED;
            return DescribeLogDirsResponse { error_code, ..Default::default() };
        }
        let wanted = request.topics.as_deref().map(wanted);
        let lanes = call.broker.partitions.lanes();
        let results = lanes.iter().map(|lane| directory(&call, lane, wanted.as_ref())).collect();
        DescribeLogDirsResponse { results, ..Default::default() }
    }
}

fn wanted(topics: &[DescribableLogDirTopic]) -> BTreeSet<(&[u8], i32)> {
    topics.iter().flat_map(|it| it.partitions.iter().map(|index| (it.topic.as_bytes(), *index))).collect()
}

fn directory(
    call: &Call,
    lane: &Arc<dyn Lane>,
    wanted: Option<&BTreeSet<(&[u8], i32)>>,
) -> DescribeLogDirsResult {
    let place = lane.place();
    let log_dir = Str::from(absolute(&place));
    if *lane.fenced().borrow() {
        return DescribeLogDirsResult {
            error_code: ErrorCode::KAFKA_STORAGE_ERROR,
            log_dir,
            ..Default::default()
        };
    }
    let mut topics: BTreeMap<Arc<str>, Vec<DescribeLogDirsPartition>> = BTreeMap::new();
    for (id, partition, held_by) in call.broker.partitions.all() {
        let is_wanted = wanted.is_none_or(|it| it.contains(&(id.topic.as_bytes(), id.index)));
        if Arc::ptr_eq(&held_by, lane) && is_wanted {
            topics.entry(id.topic).or_default().push(DescribeLogDirsPartition {
                partition_index: id.index,
                partition_size: i64::try_from(partition.size()).unwrap_or(i64::MAX),
                ..Default::default()
            });
        }
    }
    let topic = |(name, mut partitions): (Arc<str>, Vec<DescribeLogDirsPartition>)| {
        partitions.sort_unstable_by_key(|it| it.partition_index);
        DescribeLogDirsTopic { name: Str::from(&*name), partitions, ..Default::default() }
    };
    let (total_bytes, usable_bytes) = room(Path::new(&place)).unwrap_or((-1, -1));
    DescribeLogDirsResult {
        log_dir,
        topics: topics.into_iter().map(topic).collect(),
        total_bytes,
        usable_bytes,
        ..Default::default()
    }
}

/// The whole path of a directory. Storage that is none keeps its name.
fn absolute(place: &str) -> String {
    let path = Path::new(place);
    let whole = std::path::absolute(path).ok().filter(|_| path.is_dir());
    whole.map_or_else(|| place.to_owned(), |it| it.display().to_string())
}

/// Size of a volume, and what a program that is not root may still write.
fn room(path: &Path) -> Option<(i64, i64)> {
    let volume = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| i64::try_from(blocks.saturating_mul(volume.f_frsize)).unwrap_or(i64::MAX);
    Some((bytes(volume.f_blocks), bytes(volume.f_bavail)))
}
