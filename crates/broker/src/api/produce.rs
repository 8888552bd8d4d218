//! Produce (key 0), v3–13, advertised from 0 since old clients take a lack of v0 for a lack of codecs.
//!
//! v3 transactional id, magic 2; v5 log start offset; v6 throttles after the answer; v7 zstd; v8 record errors
//! (KIP-467); v9 flexible; v10 current leader (KIP-951); v11, v12 transactions (KIP-890); v13 topic ids.
//!
//! Of the whole request:
//! 1. a batch is transactional: an id is given and WRITE on it  else TRANSACTIONAL_ID_AUTHORIZATION_FAILED for all
//! 8. its transactional batches are of one producer and epoch   else INVALID_PRODUCER_ID_MAPPING for all
//!
//! Of each partition, in the order of the request:
//! 2. v13: the topic id is known           else UNKNOWN_TOPIC_ID
//! 3. WRITE on the topic                   else TOPIC_AUTHORIZATION_FAILED
//! 4. the partition exists                 else UNKNOWN_TOPIC_OR_PARTITION
//! 5. the records are one batch, magic 2   else INVALID_RECORD (also for null, which Kafka never answers), or
//!    CORRUPT_MESSAGE (K-8)
//! 6. below v7 the codec is not zstd       else UNSUPPORTED_COMPRESSION_TYPE
//! 7. acks are -1, 0 or 1                  else INVALID_REQUIRED_ACKS
//! 9. the topic is not internal, unless the client is `__admin_client`  else INVALID_TOPIC_EXCEPTION
//! 10. its log is open                     else KAFKA_STORAGE_ERROR
//! 10a. a batch that begins a transaction on it: the coordinator knows that, or hears of it (v12), `verify.rs`
//!     else INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, INVALID_TXN_STATE (below v11) or
//!     TRANSACTION_ABORTABLE (v11), CONCURRENT_TRANSACTIONS (v12); NOT_ENOUGH_REPLICAS if it can't be asked now
//! 11. what the partition checks: INVALID_RECORD, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE,
//!     INVALID_TIMESTAMP, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE,
//!     NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR
//! 12. acks -1: durable in time            else REQUEST_TIMED_OUT; the records stay
//!
//! Everything is appended before the future is returned, hence in arrival order, which idempotent producers with
//! several requests in flight rely on. A transactional request may have to wait for rule 10a; then those behind it on
//! its connection wait for it. With acks 0 nothing is answered; a failure closes the connection.
//!
//! Cost per partition: no copy of records, no system call beside the log's write, one look-up of the topic and one
//! of the log, one entry of the answer. Per request three vectors, and one wait per partition with acks -1.

use std::collections::BTreeMap;
use std::future::Future;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::{Image, PartitionInfo, Topic};
use coordinator::Millis;
use coordinator::txn::TopicPartition;
use storage::Offset;
use storage::partition::{AppendError, Appended, FirstBatch, Guard, Partition, RecordError, single};
use tokio::time::{Instant, timeout_at};
use wire::batch::{Attributes, BatchHeader, Codec};
use wire::produce::request::TopicProduceData;
use wire::produce::response::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, TopicProduceResponse,
};
use wire::{ErrorCode, ProduceRequest, ProduceResponse, Records, Str, Uuid};

use super::{Handler, current_leader};
use crate::auth::{Operation, Resource};
use crate::call::Call;
use crate::verify::{self, Mode, Question};

/// Client id of Kafka's own tools, which may write internal topics.
const ADMIN_CLIENT: &[u8] = b"__admin_client";
/// Told for null records.
const NO_RECORDS: &str = "The partition has no records.";
/// Told for rule 8.
const TWO_PRODUCERS: &str = "The transactional batches of a request are of one producer and epoch.";
/// With one replica Kafka has committed a record as soon as it is appended, so clients with tiny timeouts never
/// see REQUEST_TIMED_OUT there. A flush must not make them.
const FLUSH_PATIENCE_MIN_MS: i32 = 1_000;

impl Handler for ProduceRequest {
    const SERVED: RangeInclusive<i16> = 3..=13;
    const ADVERTISED_MIN: i16 = 0;

    fn handle(call: Call, request: Self) -> impl Future<Output = ProduceResponse> + Send + 'static {
        let timeout_ms = request.timeout_ms.max(FLUSH_PATIENCE_MIN_MS);
        let mut produce = Produce::new(call, &request);
        let mut turn = produce.call.link.produce_turn();
        let (mut waiting, mut responses) = (None, Vec::new());
        if turn.is_some() && !produce.transactional {
            responses = produce.append(request);
            turn = None;
        } else {
            waiting = Some(request);
        }
        async move {
            if let Some(request) = waiting {
                let turn = match turn {
                    Some(turn) => turn,
                    None => produce.call.link.next_produce_turn().await,
                };
                produce.verify(&request).await;
                responses = produce.append(request);
                drop(turn);
            }
            let deadline = Instant::now() + Duration::from_millis(timeout_ms.unsigned_abs().into());
            produce.settle(&mut responses, deadline).await;
            ProduceResponse { responses, node_endpoints: produce.endpoints, ..Default::default() }
        }
    }

    fn answered(&self) -> bool {
        self.acks != 0
    }

    fn closes(response: &ProduceResponse) -> bool {
        let mut partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
        partitions.any(|it| it.error_code != ErrorCode::NONE)
    }
}

/// One request on its way.
struct Produce {
    call: Call,
    image: Arc<Image>,
    now: Millis,
    acks: i16,
    /// Some batch is transactional.
    transactional: bool,
    /// Rule 1 or 8 failed.
    forbidden: Option<ErrorCode>,
    /// What rule 10a says of batches that begin a transaction, by topic and entry.
    verdicts: BTreeMap<(usize, usize), Result<Guard, Failure>>,
    pending: Vec<Pending>,
    endpoints: Vec<NodeEndpoint>,
}

/// Records that are appended and must become durable before the answer.
struct Pending {
    topic: usize,
    entry: usize,
    partition: Arc<Partition>,
    offset: Offset,
    id: (Uuid, i32),
}

/// A batch that passed the rules before the log's own.
struct Ready {
    log: Arc<Partition>,
    records: Bytes,
    header: BatchHeader,
}

impl Ready {
    /// Whether the batch is part of a transaction. Without producer it is not, whatever it claims.
    fn is_transactional(&self) -> bool {
        self.header.attributes.is_transactional() && self.header.has_producer()
    }
}

/// Why a partition was refused, as its entry tells it.
struct Failure {
    code: ErrorCode,
    message: Option<String>,
    records: Vec<RecordError>,
    log_start: Offset,
}

impl Failure {
    fn new(code: ErrorCode) -> Self {
        Self { code, message: None, records: Vec::new(), log_start: -1 }
    }

    fn invalid_record(message: &str) -> Self {
        Self { message: Some(message.to_owned()), ..Self::new(ErrorCode::INVALID_RECORD) }
    }
}

impl Produce {
    fn new(call: Call, request: &ProduceRequest) -> Self {
        let (image, now) = (call.image(), call.now());
        let id = request.transactional_id.as_ref();
        let allowed =
            || id.is_some_and(|id| call.allow(Operation::Write, Resource::TransactionalId(id.as_bytes())));
        let transactional = is_transactional(request);
        let forbidden = transactional && !allowed();
        Self {
            call,
            image,
            now,
            acks: request.acks,
            transactional,
            forbidden: forbidden.then_some(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
            verdicts: BTreeMap::new(),
            pending: Vec::new(),
            endpoints: Vec::new(),
        }
    }

    /// Rules 8 and 10a.
    async fn verify(&mut self, request: &ProduceRequest) {
        let mode = Mode::of_produce(self.call.version);
        let (Some(id), None) = (&request.transactional_id, self.forbidden) else { return };
        let firsts = self.transactional_batches(request);
        let mut producers = firsts.iter().map(|(.., it)| (it.header.producer_id, it.header.producer_epoch));
        let Some((producer_id, producer_epoch)) = producers.next() else { return };
        if producers.any(|it| it != (producer_id, producer_epoch)) {
            self.forbidden = Some(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
            return;
        }
        if mode != Mode::Add && !self.image.broker().transaction_partition_verification_enable {
            return;
        }
        let mut asked = Vec::new();
        let mut partitions = Vec::new();
        for (place, partition, Ready { log, header, .. }) in firsts {
            let first = FirstBatch {
                producer_id,
                epoch: producer_epoch,
                sequence: header.base_sequence,
                bumps_epoch: mode == Mode::Add,
            };
            match log.begin_verification(first, self.now) {
                Ok(Some(guard)) => {
                    asked.push((place, guard));
                    partitions.push(partition);
                }
                Ok(None) => {}
                Err(error) => drop(self.verdicts.insert(place, Err(failure(error, -1)))),
            }
        }
        if partitions.is_empty() {
            return;
        }
        let question = Question { transactional_id: id, producer_id, producer_epoch, mode };
        let codes = verify::ask(&self.call.broker, &question, &partitions).await;
        for ((place, guard), code) in asked.into_iter().zip(codes) {
            let verdict = if code == ErrorCode::NONE { Ok(guard) } else { Err(unverified(code, mode)) };
            self.verdicts.insert(place, verdict);
        }
        // Topics may have come and gone meanwhile.
        (self.image, self.now) = (self.call.image(), self.call.now());
    }

    /// The transactional batches that pass rules 2 to 10, each with its place in the request and its partition.
    fn transactional_batches(
        &self,
        request: &ProduceRequest,
    ) -> Vec<((usize, usize), TopicPartition, Ready)> {
        let mut batches = Vec::new();
        for (at, data) in request.topic_data.iter().enumerate() {
            let Ok(topic) = self.find(&self.image, data) else { continue };
            for (entry, partition) in data.partition_data.iter().enumerate() {
                let index = partition.index;
                if let Ok(ready) = self.ready(topic, index, partition.records.as_ref())
                    && ready.is_transactional()
                {
                    let name = Str::from(&*topic.name);
                    batches.push(((at, entry), TopicPartition { topic: name, index }, ready));
                }
            }
        }
        batches
    }

    fn append(&mut self, request: ProduceRequest) -> Vec<TopicProduceResponse> {
        let topics = request.topic_data.into_iter().enumerate();
        topics.map(|(at, topic)| self.topic(at, topic)).collect()
    }

    fn topic(&mut self, at: usize, data: TopicProduceData) -> TopicProduceResponse {
        let image = self.image.clone();
        let topic = self.find(&image, &data);
        let mut partition_responses = Vec::with_capacity(data.partition_data.len());
        for (entry, partition) in data.partition_data.into_iter().enumerate() {
            let index = partition.index;
            let verdict = self.verdicts.remove(&(at, entry));
            let appended = topic
                .map_err(|code| self.unfound(code))
                .and_then(|topic| self.partition(topic, index, partition.records, verdict));
            partition_responses.push(match appended {
                Ok((topic, log, appended)) => {
                    if let Some(offset) = appended.durable_before_answer(self.acks) {
                        let id = (topic.id, index);
                        self.pending.push(Pending { topic: at, entry, partition: log, offset, id });
                    }
                    success(index, &appended)
                }
                Err(failure) => {
                    self.refused(topic.ok().and_then(|topic| topic.partition(index)), index, failure)
                }
            });
        }
        TopicProduceResponse {
            name: data.name,
            topic_id: data.topic_id,
            partition_responses,
            ..Default::default()
        }
    }

    /// Rules 1 to 3. A name that is no UTF-8 names nothing.
    fn find<'a>(&self, image: &'a Image, data: &TopicProduceData) -> Result<&'a Topic, ErrorCode> {
        if let Some(code) = self.forbidden {
            return Err(code);
        }
        let may_write = |name: &[u8]| self.call.allow(Operation::Write, Resource::Topic(name));
        if self.call.version >= 13 {
            let topic = image.topic_by_id(data.topic_id).ok_or(ErrorCode::UNKNOWN_TOPIC_ID)?;
            return may_write(topic.name.as_bytes())
                .then_some(topic)
                .ok_or(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
        }
        if !may_write(data.name.as_bytes()) {
            return Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
        }
        data.name.as_str().and_then(|name| image.topic(name)).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
    }

    /// Rules 1 to 3 and 8; only the last comes with a message, as in Kafka.
    fn unfound(&self, code: ErrorCode) -> Failure {
        let message = (self.forbidden == Some(ErrorCode::INVALID_PRODUCER_ID_MAPPING))
            .then(|| TWO_PRODUCERS.to_owned());
        Failure { message, ..Failure::new(code) }
    }

    /// Rules 4 to 11.
    fn partition<'a>(
        &self,
        topic: &'a Topic,
        index: i32,
        records: Option<Records>,
        verdict: Option<Result<Guard, Failure>>,
    ) -> Result<(&'a Topic, Arc<Partition>, Appended), Failure> {
        let Ready { log, records, .. } = self.ready(topic, index, records.as_ref())?;
        let guard = verdict.transpose()?;
        let append = || log.append_verified(&records, guard, self.now);
        let appended = match log.inflates(&records, self.now) {
            true => self.call.broker.heavy.run(append),
            false => append(),
        };
        match appended {
            Ok(appended) => Ok((topic, log, appended)),
            Err(error) => Err(failure(error, log.log_start())),
        }
    }

    /// Rules 4 to 10.
    fn ready(&self, topic: &Topic, index: i32, records: Option<&Records>) -> Result<Ready, Failure> {
        if topic.partition(index).is_none() {
            return Err(Failure::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
        }
        let records = records.ok_or_else(|| Failure::invalid_record(NO_RECORDS))?.bytes();
        let header = single(&records).map_err(malformed)?.header;
        if self.call.version < 7 && header.attributes.codec() == Ok(Codec::Zstd) {
            return Err(Failure::new(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE));
        }
        if !(-1..=1).contains(&self.acks) {
            return Err(Failure::new(ErrorCode::INVALID_REQUIRED_ACKS));
        }
        if topic.internal && self.call.caller.client_id.as_bytes() != ADMIN_CLIENT {
            return Err(Failure::new(ErrorCode::INVALID_TOPIC_EXCEPTION));
        }
        let log = self.call.broker.partitions.get(topic.id, index);
        let log = log.ok_or_else(|| Failure::new(ErrorCode::KAFKA_STORAGE_ERROR))?;
        Ok(Ready { log, records, header })
    }

    /// Rule 12. The answer waits for all, and the deadline is one for all.
    async fn settle(&mut self, responses: &mut [TopicProduceResponse], deadline: Instant) {
        for Pending { topic, entry, partition, offset, id } in std::mem::take(&mut self.pending) {
            let code = match timeout_at(deadline, partition.wait_durable(offset)).await {
                Ok(Ok(())) => continue,
                Ok(Err(_)) => ErrorCode::NOT_LEADER_OR_FOLLOWER,
                Err(_elapsed) => ErrorCode::REQUEST_TIMED_OUT,
            };
            let image = self.call.image();
            let info = image.topic_by_id(id.0).and_then(|topic| topic.partition(id.1));
            let refused = self.refused(info, id.1, Failure::new(code));
            if let Some(place) = responses.get_mut(topic).and_then(|it| it.partition_responses.get_mut(entry))
            {
                *place = refused;
            }
        }
    }

    fn refused(
        &mut self,
        info: Option<&PartitionInfo>,
        index: i32,
        failure: Failure,
    ) -> PartitionProduceResponse {
        let Failure { code, message, records, log_start } = failure;
        let mut refused = PartitionProduceResponse {
            index,
            error_code: code,
            base_offset: -1,
            log_start_offset: log_start,
            record_errors: records.into_iter().map(record_error).collect(),
            error_message: message.map(Str::from),
            ..Default::default()
        };
        if code == ErrorCode::NOT_LEADER_OR_FOLLOWER
            && self.call.version >= 10
            && let Some(info) = info
        {
            refused.current_leader = self.leader(info);
        }
        refused
    }

    /// The leader, whose address goes into the answer once.
    fn leader(&mut self, info: &PartitionInfo) -> LeaderIdAndEpoch {
        let known = self.endpoints.iter().any(|it| it.node_id == info.leader);
        if !known && let Some(node) = current_leader::endpoint(&self.call, &self.image, info) {
            let (host, port, rack) = (node.host, node.port, node.rack);
            self.endpoints.push(NodeEndpoint { node_id: node.id, host, port, rack, ..Default::default() });
        }
        LeaderIdAndEpoch { leader_id: info.leader, leader_epoch: info.leader_epoch, ..Default::default() }
    }
}

/// Rule 10a: what a client makes of the coordinator's answer (`broker-core.md` 9.5). An error of another coordinator
/// is nothing that every client takes from Produce; this one all of them try again, without looking for a new leader.
fn unverified(code: ErrorCode, mode: Mode) -> Failure {
    let told = |code, message: String| Failure { message: Some(message), ..Failure::new(code) };
    match code {
        ErrorCode::INVALID_TXN_STATE => told(code, "The transaction does not have the partition.".to_owned()),
        ErrorCode::NETWORK_EXCEPTION
        | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        | ErrorCode::COORDINATOR_NOT_AVAILABLE
        | ErrorCode::NOT_COORDINATOR => told(ErrorCode::NOT_ENOUGH_REPLICAS, unasked(code)),
        ErrorCode::CONCURRENT_TRANSACTIONS if mode != Mode::Add => {
            told(ErrorCode::NOT_ENOUGH_REPLICAS, unasked(code))
        }
        other => Failure::new(other),
    }
}

fn unasked(code: ErrorCode) -> String {
    format!(
        "The transaction coordinator did not say whether the transaction has the partition: {}.",
        code.name()
    )
}

fn is_transactional(request: &ProduceRequest) -> bool {
    let partitions = request.topic_data.iter().flat_map(|topic| &topic.partition_data);
    let records = partitions.filter_map(|it| it.records.as_ref());
    records.filter_map(|it| attributes(&it.bytes())).any(Attributes::is_transactional)
}

/// Attributes of the first batch, if that is one.
fn attributes(records: &Bytes) -> Option<Attributes> {
    BatchHeader::parse(records).ok().map(|header| header.attributes)
}

fn success(index: i32, appended: &Appended) -> PartitionProduceResponse {
    PartitionProduceResponse {
        index,
        base_offset: appended.base_offset,
        log_append_time_ms: appended.log_append_time,
        log_start_offset: appended.log_start,
        ..Default::default()
    }
}

/// Rule 5: nothing is told of the log, and a message only about what can't be read at all.
fn malformed(error: AppendError) -> Failure {
    let message = matches!(error, AppendError::Corrupt(_)).then(|| error.to_string());
    Failure { message, ..failure(error, -1) }
}

/// Kafka tells the start of the log with errors of records and of producers, but not where it failed before or beside
/// them (K-10). Java producers decide by it what a lost producer id means. A message comes with single records only.
fn failure(error: AppendError, log_start: Offset) -> Failure {
    let code = match &error {
        AppendError::InvalidRecord { .. } => ErrorCode::INVALID_RECORD,
        AppendError::InvalidTimestamp { .. } => ErrorCode::INVALID_TIMESTAMP,
        AppendError::Corrupt(_) => ErrorCode::CORRUPT_MESSAGE,
        AppendError::TooLarge(_) => ErrorCode::MESSAGE_TOO_LARGE,
        AppendError::LargerThanSegment(_) => ErrorCode::RECORD_LIST_TOO_LARGE,
        AppendError::OutOfOrderSequence(_) => ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
        AppendError::StaleProducerEpoch(_) => ErrorCode::INVALID_PRODUCER_EPOCH,
        AppendError::TransactionOpen(_) | AppendError::NotInTransaction(_) => ErrorCode::INVALID_TXN_STATE,
        AppendError::CoordinatorFenced(_) => ErrorCode::TRANSACTION_COORDINATOR_FENCED,
        AppendError::Full | AppendError::Storage(_) => ErrorCode::KAFKA_STORAGE_ERROR,
        AppendError::NotLeader => ErrorCode::NOT_LEADER_OR_FOLLOWER,
    };
    match error {
        AppendError::InvalidRecord { message, records }
        | AppendError::InvalidTimestamp { message, records } => {
            let message = (!records.is_empty()).then_some(message);
            Failure { code, message, records, log_start }
        }
        AppendError::OutOfOrderSequence(_)
        | AppendError::StaleProducerEpoch(_)
        | AppendError::TransactionOpen(_)
        | AppendError::NotInTransaction(_)
        | AppendError::CoordinatorFenced(_) => Failure { log_start, ..Failure::new(code) },
        AppendError::Corrupt(_)
        | AppendError::TooLarge(_)
        | AppendError::LargerThanSegment(_)
        | AppendError::Full
        | AppendError::Storage(_)
        | AppendError::NotLeader => Failure::new(code),
    }
}

fn record_error(error: RecordError) -> BatchIndexAndErrorMessage {
    BatchIndexAndErrorMessage {
        batch_index: error.batch_index,
        batch_index_error_message: Some(Str::from(error.message)),
        ..Default::default()
    }
}
