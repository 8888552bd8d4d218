//! Clients that try again until they know: a producer of either protocol, and a reader of committed records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use client::Connection;
use tokio::time::{sleep, timeout};
use wire::add_partitions_to_txn::request::AddPartitionsToTxnTopic;
use wire::batch::control::Control;
use wire::batch::{BatchBuilder, Batches};
use wire::fetch::request::{FetchPartition, FetchTopic};
use wire::fetch::response::PartitionData;
use wire::offset_fetch::request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use wire::produce::request::{PartitionProduceData, TopicProduceData};
use wire::txn_offset_commit::request::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use wire::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, ErrorCode, FetchRequest,
    InitProducerIdRequest, OffsetFetchRequest, ProduceRequest, Records, Request, Str, TxnOffsetCommitRequest,
};

use crate::history::{Outcome, Place};

/// Longer than an answer may take; then the connection is given up.
const ANSWER: Duration = Duration::from_secs(5);
/// Pause before a question is asked again.
const AGAIN: Duration = Duration::from_millis(10);
pub(crate) const GROUP: &str = "g";

/// Where the broker is; it moves when it is started anew.
pub(crate) type Address = Arc<Mutex<String>>;

/// A connection that is made anew as often as it breaks.
pub(crate) struct Link {
    address: Address,
    connection: Option<Connection>,
}

impl Link {
    pub(crate) fn new(address: &Address) -> Self {
        Self { address: address.clone(), connection: None }
    }

    /// Asks until there is an answer.
    pub(crate) async fn ask<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        loop {
            match self.once(version, request).await {
                Some(answer) => return answer,
                None => {
                    self.connection = None;
                    sleep(AGAIN).await;
                }
            }
        }
    }

    async fn once<R: Request>(&mut self, version: i16, request: &R) -> Option<R::Response> {
        if self.connection.is_none() {
            let address = self.address.lock().unwrap().clone();
            self.connection = Connection::connect(address, Some("history")).await.ok();
        }
        let call = self.connection.as_mut()?.call(version, request);
        timeout(ANSWER, call).await.ok()?.ok()
    }
}

/// Why a transaction can't go on: it was aborted, or its producer replaced.
#[derive(Debug)]
pub(crate) struct Doomed;

/// An instance of a transactional producer.
#[derive(Clone)]
pub(crate) struct Producer {
    id: String,
    /// Transactions v2: partitions are added by the broker, and each transaction has an epoch.
    v2: bool,
    timeout_ms: i32,
    producer_id: i64,
    epoch: i16,
    sequences: BTreeMap<Place, i32>,
    added: BTreeSet<Place>,
}

fn is_passing(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::CONCURRENT_TRANSACTIONS
            | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
            | ErrorCode::COORDINATOR_NOT_AVAILABLE
            | ErrorCode::NOT_COORDINATOR
            | ErrorCode::NOT_ENOUGH_REPLICAS
            | ErrorCode::NOT_LEADER_OR_FOLLOWER
            | ErrorCode::REQUEST_TIMED_OUT
            | ErrorCode::UNSTABLE_OFFSET_COMMIT
    )
}

/// What tells a producer that its transaction is over.
fn doom(code: ErrorCode) -> Doomed {
    let expected = [
        ErrorCode::INVALID_PRODUCER_EPOCH,
        ErrorCode::PRODUCER_FENCED,
        ErrorCode::INVALID_TXN_STATE,
        ErrorCode::TRANSACTION_ABORTABLE,
        // A lost first batch of a transaction that was aborted meanwhile.
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
    ];
    assert!(expected.contains(&code), "a producer was told {code}");
    Doomed
}

impl Producer {
    /// A new instance, which fences all earlier ones.
    pub(crate) async fn start(link: &mut Link, id: &str, v2: bool, timeout_ms: i32) -> Self {
        let request = InitProducerIdRequest {
            transactional_id: Some(Str::from(id)),
            transaction_timeout_ms: timeout_ms,
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        };
        loop {
            let answer = link.ask(5, &request).await;
            if answer.error_code == ErrorCode::NONE {
                return Self {
                    id: id.to_owned(),
                    v2,
                    timeout_ms,
                    producer_id: answer.producer_id,
                    epoch: answer.producer_epoch,
                    sequences: BTreeMap::new(),
                    added: BTreeSet::new(),
                };
            }
            assert!(is_passing(answer.error_code), "init: {}", answer.error_code);
            sleep(AGAIN).await;
        }
    }

    pub(crate) async fn anew(&self, link: &mut Link) -> Self {
        Self::start(link, &self.id, self.v2, self.timeout_ms).await
    }

    /// Sends one value, again and again under the same sequence until there is an answer.
    pub(crate) async fn send(&mut self, link: &mut Link, place: Place, value: &str) -> Result<(), Doomed> {
        if !self.v2 {
            self.add(link, place).await?;
        }
        let sequence = self.sequences.get(&place).copied().unwrap_or(0);
        let (topic, index) = place;
        let batch = BatchBuilder::new().producer(self.producer_id, self.epoch, sequence).transactional();
        let records = Some(Records::from(batch.push(None, Some(value.as_bytes())).build()));
        let partition_data = vec![PartitionProduceData { index, records, ..Default::default() }];
        let topic = TopicProduceData { name: Str::from(topic), partition_data, ..Default::default() };
        let request = ProduceRequest {
            transactional_id: Some(Str::from(self.id.as_str())),
            acks: -1,
            timeout_ms: 5_000,
            topic_data: vec![topic],
            ..Default::default()
        };
        loop {
            let answer = link.ask(if self.v2 { 12 } else { 11 }, &request).await;
            match answer.responses[0].partition_responses[0].error_code {
                ErrorCode::NONE => break,
                code if is_passing(code) => sleep(AGAIN).await,
                code => return Err(doom(code)),
            }
        }
        self.sequences.insert(place, sequence + 1);
        Ok(())
    }

    async fn add(&mut self, link: &mut Link, place: Place) -> Result<(), Doomed> {
        if self.added.contains(&place) {
            return Ok(());
        }
        let topic = AddPartitionsToTxnTopic {
            name: Str::from(place.0),
            partitions: vec![place.1],
            ..Default::default()
        };
        let request = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: Str::from(self.id.as_str()),
            v3_and_below_producer_id: self.producer_id,
            v3_and_below_producer_epoch: self.epoch,
            v3_and_below_topics: vec![topic],
            ..Default::default()
        };
        loop {
            let answer = link.ask(3, &request).await;
            let topic = &answer.results_by_topic_v3_and_below[0];
            match topic.results_by_partition[0].partition_error_code {
                ErrorCode::NONE => break,
                code if is_passing(code) => sleep(AGAIN).await,
                code => return Err(doom(code)),
            }
        }
        self.added.insert(place);
        Ok(())
    }

    /// Commits a position of the group as part of the transaction.
    pub(crate) async fn commit_position(
        &mut self,
        link: &mut Link,
        place: Place,
        offset: i64,
    ) -> Result<(), Doomed> {
        if !self.v2 {
            let request = AddOffsetsToTxnRequest {
                transactional_id: Str::from(self.id.as_str()),
                producer_id: self.producer_id,
                producer_epoch: self.epoch,
                group_id: Str::from(GROUP),
                ..Default::default()
            };
            loop {
                match link.ask(3, &request).await.error_code {
                    ErrorCode::NONE => break,
                    code if is_passing(code) => sleep(AGAIN).await,
                    code => return Err(doom(code)),
                }
            }
        }
        let partition = TxnOffsetCommitRequestPartition {
            partition_index: place.1,
            committed_offset: offset,
            committed_metadata: Some(Str::default()),
            ..Default::default()
        };
        let topic = TxnOffsetCommitRequestTopic {
            name: Str::from(place.0),
            partitions: vec![partition],
            ..Default::default()
        };
        let request = TxnOffsetCommitRequest {
            transactional_id: Str::from(self.id.as_str()),
            group_id: Str::from(GROUP),
            producer_id: self.producer_id,
            producer_epoch: self.epoch,
            generation_id_or_member_epoch: -1,
            topics: vec![topic],
            ..Default::default()
        };
        loop {
            let answer = link.ask(if self.v2 { 5 } else { 3 }, &request).await;
            match answer.topics[0].partitions[0].error_code {
                ErrorCode::NONE => return Ok(()),
                code if is_passing(code) => sleep(AGAIN).await,
                code => return Err(doom(code)),
            }
        }
    }

    /// Ends the transaction, asking until the outcome is known. A refusal is one too: a decision to commit that was
    /// lost with the broker was none, and nobody but the coordinator aborted meanwhile.
    pub(crate) async fn end(&mut self, link: &mut Link, commit: bool) -> Outcome {
        let request = EndTxnRequest {
            transactional_id: Str::from(self.id.as_str()),
            producer_id: self.producer_id,
            producer_epoch: self.epoch,
            committed: commit,
            ..Default::default()
        };
        self.added.clear();
        loop {
            let answer = link.ask(if self.v2 { 5 } else { 4 }, &request).await;
            match answer.error_code {
                ErrorCode::NONE => {
                    if self.v2 {
                        (self.producer_id, self.epoch) = (answer.producer_id, answer.producer_epoch);
                        self.sequences.clear();
                    }
                    return if commit { Outcome::Committed } else { Outcome::Aborted };
                }
                code if is_passing(code) => sleep(AGAIN).await,
                code => {
                    let _: Doomed = doom(code);
                    *self = self.anew(link).await;
                    return Outcome::Aborted;
                }
            }
        }
    }
}

/// A reader of committed records of one partition.
pub(crate) struct Reader {
    pub(crate) place: Place,
    pub(crate) position: i64,
    last_stable: i64,
    high_watermark: i64,
}

impl Reader {
    pub(crate) fn new(place: Place, position: i64) -> Self {
        Self { place, position, last_stable: 0, high_watermark: 0 }
    }

    /// Everything up to the high watermark is decided and was read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.position == self.high_watermark
    }

    /// The next records with their offsets; `max_bytes` of 1 gives one batch.
    pub(crate) async fn poll(&mut self, link: &mut Link, max_bytes: i32) -> Vec<(i64, String)> {
        let partition = FetchPartition {
            partition: self.place.1,
            fetch_offset: self.position,
            partition_max_bytes: max_bytes,
            ..Default::default()
        };
        let topic =
            FetchTopic { topic: Str::from(self.place.0), partitions: vec![partition], ..Default::default() };
        let request = FetchRequest {
            max_wait_ms: 20,
            min_bytes: 1,
            max_bytes,
            isolation_level: 1,
            topics: vec![topic],
            ..Default::default()
        };
        let mut answer = link.ask(12, &request).await;
        let data = answer.responses.remove(0).partitions.remove(0);
        if data.error_code != ErrorCode::NONE {
            assert!(is_passing(data.error_code), "fetch of {:?}: {}", self.place, data.error_code);
            sleep(AGAIN).await;
            return Vec::new();
        }
        assert!(
            data.last_stable_offset >= self.last_stable,
            "the last stable offset of {:?} went back",
            self.place
        );
        assert!(
            data.high_watermark >= self.high_watermark,
            "the high watermark of {:?} went back",
            self.place
        );
        (self.last_stable, self.high_watermark) = (data.last_stable_offset, data.high_watermark);
        self.take(&data)
    }

    /// The rule of all consumers (13.3): a batch of a producer whose aborted transaction has begun is left out until
    /// its marker.
    fn take(&mut self, data: &PartitionData) -> Vec<(i64, String)> {
        let bytes: Bytes = data.records.as_ref().map(Records::bytes).unwrap_or_default();
        let mut begins: Vec<_> = data.aborted_transactions.iter().flatten().collect();
        begins.sort_by_key(|it| it.first_offset);
        let mut begins = begins.into_iter().peekable();
        let mut aborted = BTreeSet::new();
        let mut taken = Vec::new();
        for batch in Batches::new(bytes) {
            let batch = batch.unwrap();
            batch.verify().unwrap();
            let header = &batch.header;
            while let Some(it) = begins.next_if(|it| it.first_offset <= header.base_offset) {
                aborted.insert(it.producer_id);
            }
            for record in batch.records().unwrap() {
                let record = record.unwrap();
                if header.attributes.is_control() {
                    if matches!(Control::parse(&record).unwrap(), Control::Abort { .. }) {
                        aborted.remove(&header.producer_id);
                    }
                } else if record.offset >= self.position && !aborted.contains(&header.producer_id) {
                    let value = String::from_utf8(record.value.unwrap().to_vec()).unwrap();
                    taken.push((record.offset, value));
                }
            }
            self.position = self.position.max(header.next_offset());
        }
        taken
    }
}

/// The group's position, once no transaction may change it.
pub(crate) async fn position(link: &mut Link, place: Place) -> i64 {
    let topic = OffsetFetchRequestTopics {
        name: Str::from(place.0),
        partition_indexes: vec![place.1],
        ..Default::default()
    };
    let group = OffsetFetchRequestGroup {
        group_id: Str::from(GROUP),
        member_epoch: -1,
        topics: Some(vec![topic]),
        ..Default::default()
    };
    let request = OffsetFetchRequest { groups: vec![group], require_stable: true, ..Default::default() };
    loop {
        let answer = link.ask(8, &request).await;
        let group = &answer.groups[0];
        let code = match group.topics.first() {
            Some(topic) => topic.partitions[0].error_code,
            None => group.error_code,
        };
        if code == ErrorCode::NONE {
            return group.topics[0].partitions[0].committed_offset.max(0);
        }
        assert!(is_passing(code), "position of {place:?}: {code}");
        sleep(AGAIN).await;
    }
}
