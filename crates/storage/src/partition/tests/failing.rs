//! Logs that refuse.

use parking_lot::Mutex;

use super::*;
use crate::log::{Batches as Appends, BoxFuture, Found, LogSettings, PartitionSnapshot, Slices, Span};

/// A log that refuses the next append.
struct Failing {
    log: Arc<dyn Log>,
    next: Mutex<Option<Refused>>,
}

impl Log for Failing {
    fn append(&self, batches: Appends) -> Result<(), Refused> {
        self.next.lock().take().map_or_else(|| self.log.append(batches), Err)
    }

    fn ends(&self) -> watch::Receiver<Ends> {
        self.log.ends()
    }

    fn read(&self, span: Span) -> BoxFuture<'_, Result<Slices, Refused>> {
        self.log.read(span)
    }

    fn find(&self, timestamp: Millis) -> BoxFuture<'_, Result<Option<Found>, Refused>> {
        self.log.find(timestamp)
    }

    fn newest(&self) -> BoxFuture<'_, Result<Option<Found>, Refused>> {
        self.log.newest()
    }

    fn trim(&self, start: Offset) -> BoxFuture<'_, Result<(), Refused>> {
        self.log.trim(start)
    }

    fn save(&self, snapshot: PartitionSnapshot) -> Result<(), Refused> {
        self.log.save(snapshot)
    }

    fn saved(&self) -> Result<Option<PartitionSnapshot>, Refused> {
        self.log.saved()
    }

    fn configure(&self, settings: LogSettings) {
        self.log.configure(settings);
    }

    fn size(&self) -> u64 {
        self.log.size()
    }
}

async fn failing(refused: Refused) -> Partition {
    let log = Failing { log: Bench::new().await.log(), next: Mutex::new(Some(refused)) };
    Partition::open(Arc::new(log), Settings::default(), 0, NOW).await.unwrap()
}

/// storage.md 4 step 6: after `Full` nothing has changed, and the same append may be tried again.
#[tokio::test]
async fn a_full_disk_is_tried_again() {
    let partition = failing(Refused::Full).await;
    let batch = transactional(1, 0, 0, 2);
    assert_eq!(partition.append(&batch, CLIENT, NOW), Err(AppendError::Full));
    assert!(partition.producers().is_empty());
    assert_eq!(
        partition.append(&batch, CLIENT, NOW).map(|it| (it.base_offset, it.duplicate)),
        Ok((0, false))
    );
}

/// Any other refusal is the end, and every later append is told the same.
#[tokio::test]
async fn a_failed_device_is_the_end() {
    let partition = failing(Refused::from(std::io::Error::other("broken"))).await;
    let error = AppendError::Storage("storage failed: broken".to_owned());
    for records in [sequenced(1, 0, 0, 1), plain(&["a"])] {
        assert_eq!(partition.append(&records, CLIENT, NOW), Err(error.clone()));
    }
    assert_eq!(partition.append(&plain(&["a"]), COORDINATOR, NOW), Err(error));
    assert!(partition.producers().is_empty());
}

#[tokio::test]
async fn a_fenced_lane_is_the_end() {
    let partition = failing(Refused::Fenced).await;
    for _ in 0..2 {
        assert_eq!(partition.append(&plain(&["a"]), CLIENT, NOW), Err(AppendError::NotLeader));
    }
}
