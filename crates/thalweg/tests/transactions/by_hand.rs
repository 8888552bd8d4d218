//! `thalweg txn abort` beside producers that live.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Address, Broker, Link, Outcome, PATIENCE, Producer, prepare, read_all, timeout};

/// Aborts the transaction of partition `in-0` that begins at offset 0.
fn abort(address: &Address, more: &[&str]) -> Output {
    let address = address.lock().unwrap().clone();
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(["txn", "abort", "in", "0", "--start-offset", "0", "--bootstrap-server", &address]);
    command.args(more).env_clear().output().unwrap()
}

async fn begin() -> (Broker, Link, Producer) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("thalweg-by-hand-{}-{number}", std::process::id());
    let broker = Broker::start(std::env::temp_dir().join(name));
    timeout(PATIENCE, prepare(&broker.address)).await.unwrap();
    let mut link = Link::new(&broker.address);
    let mut producer = Producer::start(&mut link, "alive", true, 60_000).await;
    assert!(producer.send(&mut link, ("in", 0), "value").await.is_ok());
    (broker, link, producer)
}

/// A producer that lives would be told that its commit is done, and its records would be gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_coordinator_will_end_is_not_aborted() {
    let (broker, mut link, mut producer) = begin().await;
    let answer = abort(&broker.address, &[]);
    let told = String::from_utf8(answer.stderr).unwrap();
    assert_eq!(answer.status.code(), Some(1), "{told}");
    assert!(told.contains("will end it"), "{told}");
    assert!(matches!(producer.end(&mut link, true).await, Outcome::Committed));
    let all = timeout(PATIENCE, read_all(&broker.address, ("in", 0))).await.unwrap();
    assert_eq!(all.into_values().collect::<Vec<_>>(), ["value"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_can_be_forced() {
    let (broker, _link, _producer) = begin().await;
    let answer = abort(&broker.address, &["--force"]);
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    let all = timeout(PATIENCE, read_all(&broker.address, ("in", 0))).await.unwrap();
    assert!(all.is_empty(), "{all:?}");
}
