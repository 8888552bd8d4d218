//! The catalog in a running broker: topics and their partitions, restarts, other writers of the journal.

use crate::common::{Disk, TestBroker};
use broker::Broker;
use bytes::Bytes;
use catalog::command::{CreateTopics, DeleteTopics, NewTopic, TopicRef};
use catalog::{Entry, Topic};
use storage::Journal;
use storage::partition::{Isolation, Origin, ReadSpec};
use wire::batch::{BatchBuilder, records};

async fn create(broker: &Broker, name: &str, partitions: i32) -> Topic {
    let topic = NewTopic { num_partitions: partitions, ..NewTopic::with_defaults(name) };
    let created =
        broker.catalog.submit(CreateTopics { topics: vec![topic], validate_only: false }).await.unwrap();
    created[0].1.as_ref().unwrap();
    broker.catalog.image().topic(name).unwrap().clone()
}

async fn delete(broker: &Broker, name: &str) {
    let topics = vec![TopicRef::Name(name.to_owned())];
    broker.catalog.submit(DeleteTopics { topics }).await.unwrap();
}

fn append(broker: &Broker, topic: &Topic, index: i32, value: &str) {
    let batch = BatchBuilder::new().timestamp(1_000).push(None, Some(value.as_bytes())).build();
    let partition = broker.partitions.get(topic.id, index).unwrap();
    partition.append(&batch, Origin::Client, broker.clock.now()).unwrap();
}

async fn values(broker: &Broker, topic: &Topic, index: i32) -> Vec<Bytes> {
    let spec = ReadSpec {
        from: 0,
        max_bytes: 1 << 20,
        at_least_one: true,
        isolation: Isolation::ReadUncommitted,
        settle: true,
    };
    let read = broker.partitions.get(topic.id, index).unwrap().read(spec).await.unwrap();
    let bytes = read.slices.load().unwrap();
    records(&bytes).map(|it| it.unwrap().value.unwrap()).collect()
}

#[tokio::test]
async fn a_topic_can_be_used_as_soon_as_it_is_created() {
    let broker = TestBroker::start().await;
    let topic = create(broker.broker(), "t", 3).await;
    for index in 0..3 {
        append(broker.broker(), &topic, index, "v");
    }
    assert!(broker.broker().partitions.get(topic.id, 3).is_none());
    broker.stop().await;
}

#[tokio::test]
async fn topics_and_records_are_there_after_a_restart() {
    let broker = TestBroker::start().await;
    let topic = create(broker.broker(), "t", 2).await;
    append(broker.broker(), &topic, 0, "a");
    append(broker.broker(), &topic, 1, "b");
    let broker = broker.restart().await;
    let again = broker.broker().catalog.image().topic("t").unwrap().clone();
    assert_eq!((again.id, again.partitions.len()), (topic.id, 2));
    assert_eq!(values(broker.broker(), &again, 0).await, ["a"]);
    assert_eq!(values(broker.broker(), &again, 1).await, ["b"]);
    // `decisions.md` 18: each start leads with a higher epoch.
    assert_eq!(broker.broker().partitions.get(again.id, 0).unwrap().epoch(), 1);
    broker.stop().await;
}

/// `broker-core.md` 25, trap 48: a topic with the same name begins empty and has another id.
#[tokio::test]
async fn a_deleted_topic_leaves_nothing_behind() {
    let broker = TestBroker::start().await;
    let first = create(broker.broker(), "t", 1).await;
    append(broker.broker(), &first, 0, "old");
    let held = broker.broker().partitions.get(first.id, 0).unwrap();
    delete(broker.broker(), "t").await;
    assert!(broker.broker().partitions.get(first.id, 0).is_none());
    let batch = BatchBuilder::new().push(None, Some(b"late")).build();
    assert!(held.append(&batch, Origin::Client, 1).is_err(), "who held it can't write to it");
    let second = create(broker.broker(), "t", 1).await;
    assert_ne!(first.id, second.id);
    assert_eq!(values(broker.broker(), &second, 0).await, Vec::<Bytes>::new());
    let lane = &broker.broker().partitions.lanes()[0];
    assert!(lane.partitions().iter().all(|it| it.id.topic_id != first.id));
    broker.stop().await;
}

#[tokio::test]
async fn producer_ids_never_come_twice() {
    let broker = TestBroker::start().await;
    let mut ids = Vec::new();
    for _ in 0..1_500 {
        ids.push(broker.broker().producer_ids.next(&broker.broker().catalog).await.unwrap());
    }
    let broker = broker.restart().await;
    ids.push(broker.broker().producer_ids.next(&broker.broker().catalog).await.unwrap());
    assert!(ids.is_sorted_by(|a, b| a < b));
    broker.stop().await;
}

/// The journal says `Behind`: read on, apply, decide again.
#[tokio::test]
async fn a_change_by_another_broker_comes_first() {
    let disk = Disk::new();
    let broker = TestBroker::on(&disk).await;
    let head = disk.journal.head();
    let other = Entry::ProducerIds { next: 5_000 };
    disk.journal.append(head, vec![other.encode()]).await.unwrap();
    assert_eq!(broker.broker().producer_ids.next(&broker.broker().catalog).await.unwrap(), 5_000);
    create(broker.broker(), "t", 1).await;
    assert_eq!(broker.broker().catalog.image().version(), disk.journal.head());
    broker.stop().await;
}

#[tokio::test]
async fn many_changes_are_kept_as_a_snapshot() {
    let disk = Disk::new();
    let broker = TestBroker::on(&disk).await;
    for round in 0..1_100 {
        broker.broker().catalog.submit(catalog::command::AllocateProducerIds).await.unwrap();
        if round == 500 {
            create(broker.broker(), "t", 1).await;
        }
    }
    let version = broker.broker().catalog.image().version();
    let broker = broker.restart().await;
    let since = disk.journal.read(0).await.unwrap();
    assert!(since.snapshot.is_some_and(|(at, _)| at >= 1_000));
    assert!(since.entries.len() < 200);
    let image = broker.broker().catalog.image();
    assert_eq!(image.version(), version + 1, "the broker registered with its new port");
    assert!(image.topic("t").is_some());
    broker.stop().await;
}
