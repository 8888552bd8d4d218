//! Work that transaction shards hand to their hosts: producer ids, and markers.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};

use catalog::Image;
use coordinator::txn::{TopicPartition, TxnShard, TxnTask, TxnTaskResult, WriteMarkers};
use tokio::sync::Notify;
use tracing::{info, warn};
use wire::ErrorCode;

use crate::broker::Broker;
use crate::host::RunTask;
use crate::markers::Marker;
use crate::txn::Endings;

/// Runs the tasks of transaction shards. The broker is made after it.
#[derive(Default)]
pub(crate) struct TxnTasks {
    broker: OnceLock<Weak<Broker>>,
    pub(crate) endings: Arc<Endings>,
}

impl TxnTasks {
    /// Before the first shard is loaded.
    pub(crate) fn serve(&self, broker: &Arc<Broker>) {
        // It is called once.
        let _ = self.broker.set(Arc::downgrade(broker));
    }
}

impl RunTask<TxnShard> for TxnTasks {
    fn run(&self, task: TxnTask, image: Arc<Image>) -> Pin<Box<dyn Future<Output = TxnTaskResult> + Send>> {
        let broker = self.broker.get().and_then(Weak::upgrade);
        Box::pin(async move {
            // Nobody waits for the answer of a broker that is gone.
            let Some(broker) = broker else { return pending().await };
            match task {
                TxnTask::NextId => TxnTaskResult::NextId(next_id(&broker).await),
                TxnTask::WriteMarkers(it) => write_markers(&broker, it, &image).await,
            }
        })
    }

    fn awaits(&self, result: &TxnTaskResult) -> Option<Arc<Notify>> {
        match result {
            TxnTaskResult::Markers { transactional_id, .. } => Some(self.endings.of(transactional_id)),
            TxnTaskResult::NextId(_) => None,
        }
    }
}

async fn next_id(broker: &Arc<Broker>) -> Option<i64> {
    let id = broker.producer_ids.next(&broker.catalog).await;
    id.inspect_err(
        |refusal| warn!(code = %refusal.code, message = refusal.message, "no producer id to be had"),
    )
    .ok()
}

/// The epoch of this coordinator is that of its partition's leader, which is the same for all.
async fn write_markers(broker: &Broker, task: WriteMarkers, image: &Image) -> TxnTaskResult {
    let marker = Marker {
        producer_id: task.producer_id,
        producer_epoch: task.producer_epoch,
        commit: task.commit,
        coordinator_epoch: broker.partitions.epoch(),
        transaction_version: task.transaction_version,
    };
    let places: Vec<_> = task.partitions.iter().map(|it| (it.topic.clone(), it.index)).collect();
    let outcomes = broker.markers.write(image, &marker, &places).await;
    let results: Vec<_> = task.partitions.into_iter().zip(outcomes).collect();
    for (TopicPartition { topic, index }, code) in results.iter().filter(|(_, code)| *code != ErrorCode::NONE)
    {
        info!(
            transactional_id = %task.transactional_id, %topic, index, %code,
            "no marker for this partition of a transaction that ends"
        );
    }
    TxnTaskResult::Markers { transactional_id: task.transactional_id, results }
}
