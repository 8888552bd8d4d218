//! Logs that refuse.

use parking_lot::Mutex;

use super::*;
use crate::faulty::RefusingLog;

/// Over a log that refuses the next append.
async fn failing(refused: Refused) -> Partition {
    let next = Mutex::new(Some(refused));
    let log = RefusingLog::new(Bench::new().await.log(), Arc::new(move || next.lock().take()));
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
