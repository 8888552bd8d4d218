//! An answer of the recording against the answer now, field by field.

use bytes::Bytes;
use wire::base64;
use wire::batch::control::Control;
use wire::batch::{Batch, Batches, Record, TimestampType};
use wire::json::{self, Json};
use wire::table::{self, Field, Message, Struct, Type};

use super::ids::{Ids, Meaning, Realm, meaning};
use crate::wire::proxy::rewrite::{body_of_answer, version_of_answer};

/// Differences of one answer that are told.
const DIFFERENCES_MAX: usize = 20;
/// Letters of a value that are told.
const VALUE_MAX: usize = 80;

/// A field that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// `Topics[0].Partitions[1].ErrorCode`; empty for the answer as a whole.
    pub(super) path: String,
    pub(super) recorded: String,
    pub(super) now: String,
}

/// Compares two answers, which are frames without their sizes, and learns from them which id is which. Secrets are told
/// only if they are to be.
pub(super) fn compare(
    (key, version): (i16, i16),
    recorded: &Bytes,
    now: &Bytes,
    ids: &mut Ids,
    show_secrets: bool,
) -> Vec<Difference> {
    let (path, found, name) = (String::new(), Vec::new(), String::new());
    let mut comparison = Comparison { ids, message: None, show_secrets, name, path, found };
    match (decode(key, version, recorded), decode(key, version, now)) {
        (Ok((table, before, old)), Ok((_, after, new))) => {
            comparison.message = Some(table);
            if old != new {
                comparison.differ(&format!("answered in version {old}"), &format!("in version {new}"));
            } else {
                comparison.structure(&table.root, old, &before, &after);
            }
        }
        (Err(before), Err(after)) if before == after => {
            // What can't be read can still be the same: behind the correlation id.
            if recorded.get(4..) != now.get(4..) {
                comparison.differ(&before, &after);
            }
        }
        (before, after) => {
            let told = |it: Result<_, String>| it.err().unwrap_or_else(|| "an answer".to_owned());
            comparison.differ(&told(before.map(|_| ())), &told(after.map(|_| ())));
        }
    }
    comparison.found
}

type Decoded = (&'static Message, Json, i16);

fn decode(key: i16, version: i16, answer: &Bytes) -> Result<Decoded, String> {
    let Some((_, table)) = table::api(key) else { return Err(format!("API {key} is not known")) };
    let version = version_of_answer(key, version, answer);
    let reader = body_of_answer(key, version, answer);
    let mut reader = reader.ok_or_else(|| format!("{} v{version} is not known", table.name))?;
    let json = json::decode(table, version, &mut reader).map_err(|problem| problem.to_string())?;
    if reader.remaining() > 0 {
        return Err(format!("{} bytes behind the message", reader.remaining()));
    }
    Ok((table, json, version))
}

struct Comparison<'a> {
    ids: &'a mut Ids,
    message: Option<&'static Message>,
    show_secrets: bool,
    /// The last field called `Name`, then and now: that of a setting tells whether its value is a secret.
    name: String,
    path: String,
    found: Vec<Difference>,
}

impl Comparison<'_> {
    fn differ(&mut self, recorded: &str, now: &str) {
        let short = |text: &str| match text.char_indices().nth(VALUE_MAX) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text.to_owned(),
        };
        if self.found.len() < DIFFERENCES_MAX {
            let path = self.path.clone();
            self.found.push(Difference { path, recorded: short(recorded), now: short(now) });
        }
    }

    /// A value in words, unless it is a secret.
    fn told(&self, field: &Field, value: &Json) -> String {
        let is_secret = |it| explain::is_secret(it, field, self.name.as_bytes());
        let hidden = !self.show_secrets && *value != Json::Null && self.message.is_some_and(is_secret);
        if hidden { "a secret".to_owned() } else { value.to_string() }
    }

    /// Several values of which one may be a secret.
    fn told_whole(&self, value: &Json) -> String {
        let hidden = !self.show_secrets && self.message.is_some_and(explain::holds_secrets);
        if hidden { "with secrets".to_owned() } else { value.to_string() }
    }

    fn at(&mut self, step: &str, then: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        if !self.path.is_empty() && !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(step);
        then(self);
        self.path.truncate(length);
    }

    fn structure(&mut self, it: &'static Struct, version: i16, recorded: &Json, now: &Json) {
        if let (Some(Json::String(before)), Some(Json::String(after))) =
            (recorded.get("name"), now.get("name"))
        {
            self.name = format!("{before} {after}");
        }
        for field in it.fields.iter().filter(|it| it.versions.contains(version)) {
            let (before, after) = (recorded.get(field.json), now.get(field.json));
            if before.is_none() && after.is_none() {
                continue;
            }
            // A tagged field that is not there has its default; only one that differs from it is ever written.
            let absent = Json::Null;
            let (before, after) = (before.unwrap_or(&absent), after.unwrap_or(&absent));
            self.at(field.name, |this| this.field(field, version, before, after));
        }
        let unknown = json::UNKNOWN_TAGS;
        if recorded.get(unknown) != now.get(unknown) {
            let text =
                |it: &Json| it.get(unknown).map_or_else(|| "none".to_owned(), |it| self.told_whole(it));
            let (before, after) = (text(recorded), text(now));
            self.at(unknown, |this| this.differ(&before, &after));
        }
    }

    fn field(&mut self, field: &'static Field, version: i16, recorded: &Json, now: &Json) {
        match (recorded, now) {
            (Json::Array(before), Json::Array(after)) if field.array => {
                self.array(field, version, before, after);
            }
            _ => self.one(field, version, recorded, now),
        }
    }

    /// Elements with keys are met by their keys, in any order; others by their place.
    fn array(&mut self, field: &'static Field, version: i16, recorded: &[Json], now: &[Json]) {
        if recorded.len() != now.len() {
            self.differ(&format!("{} elements", recorded.len()), &format!("{} elements", now.len()));
        }
        let keys = keys(field, version);
        let mut taken = vec![false; now.len()];
        for (i, before) in recorded.iter().enumerate() {
            let same = |after: &Json| keys.iter().all(|key| before.get(key) == after.get(key));
            let by_key = now.iter().zip(&taken).position(|(after, taken)| !taken && same(after));
            let place = if keys.is_empty() { Some(i) } else { by_key };
            let found = place.and_then(|place| Some((place, now.get(place)?)));
            let Some((place, after)) = found else {
                if recorded.len() == now.len() {
                    let before = self.told_whole(before);
                    self.at(&format!("[{i}]"), |this| this.differ(&before, "not there"));
                }
                continue;
            };
            taken.iter_mut().skip(place).take(1).for_each(|it| *it = true);
            self.at(&format!("[{i}]"), |this| this.one(field, version, before, after));
        }
    }

    /// A value or an element.
    fn one(&mut self, field: &'static Field, version: i16, recorded: &Json, now: &Json) {
        if let (Type::Struct(it), Json::Object(_), Json::Object(_)) = (field.ty, recorded, now) {
            return self.structure(it, version, recorded, now);
        }
        let equal = match meaning(field) {
            Meaning::Plain => recorded == now,
            Meaning::Id(realm) => self.ids.learn(realm, recorded, now),
            Meaning::Time => is_set(recorded) == is_set(now),
            Meaning::Masked => true,
            Meaning::Records => return self.records(recorded, now),
        };
        if !equal {
            let (before, after) = (self.told(field, recorded), self.told(field, now));
            self.differ(&before, &after);
        }
    }

    fn records(&mut self, recorded: &Json, now: &Json) {
        let (Some(before), Some(after)) = (batches(recorded), batches(now)) else {
            if recorded != now {
                self.differ(&recorded.to_string(), &now.to_string());
            }
            return;
        };
        if before.len() != after.len() {
            self.differ(&format!("{} batches", before.len()), &format!("{} batches", after.len()));
            return;
        }
        for (i, (before, after)) in before.iter().zip(&after).enumerate() {
            self.at(&format!("[{i}]"), |this| this.batch(before, after));
        }
    }

    /// Leader epoch and checksum are the broker's own; times are only if the broker set them: those of a batch with
    /// log append time, and of a control batch, which no client writes.
    fn batch(&mut self, recorded: &Batch, now: &Batch) {
        let producer = |it: &Batch| Json::Int(it.header.producer_id);
        if !self.ids.learn(Realm::Producer, &producer(recorded), &producer(now)) {
            self.at("producerId", |this| {
                this.differ(&producer(recorded).to_string(), &producer(now).to_string());
            });
        }
        let masked = is_stamped(recorded) && is_stamped(now);
        let times =
            |it: &Batch| if masked { (0, 0) } else { (it.header.base_timestamp, it.header.max_timestamp) };
        let fields = |it: &Batch| {
            let header = it.header;
            [
                ("baseOffset", header.base_offset),
                ("attributes", header.attributes.0.into()),
                ("lastOffsetDelta", header.last_offset_delta.into()),
                ("baseTimestamp", times(it).0),
                ("maxTimestamp", times(it).1),
                ("producerEpoch", header.producer_epoch.into()),
                ("baseSequence", header.base_sequence.into()),
                ("recordCount", header.record_count.into()),
            ]
        };
        for ((name, before), (_, after)) in fields(recorded).into_iter().zip(fields(now)) {
            if before != after {
                self.at(name, |this| this.differ(&before.to_string(), &after.to_string()));
            }
        }
        if recorded.payload() == now.payload() {
            return;
        }
        let (before, after) = (markers(recorded), markers(now));
        if before.is_none() || before != after {
            let plain = |it: &Batch| format!("{} bytes of records", it.payload().len());
            let text = |it: &Batch, markers| named(markers).unwrap_or_else(|| plain(it));
            self.at("records", |this| this.differ(&text(recorded, before), &text(now, after)));
        }
    }
}

/// Whether the broker wrote the times of a batch.
fn is_stamped(batch: &Batch) -> bool {
    let attributes = batch.header.attributes;
    attributes.is_control() || attributes.timestamp_type() == TimestampType::LogAppendTime
}

/// The records of a control batch without what is the broker's own: their times, and the epoch of the coordinator that
/// wrote them, which grows with every start of a broker. Nothing for other batches, and what can't be read as markers.
fn markers(batch: &Batch) -> Option<Vec<(Control, Record)>> {
    /// Where the epoch stands in the value: behind the version.
    const EPOCH: std::ops::Range<usize> = 2..6;
    if !batch.header.attributes.is_control() {
        return None;
    }
    let marker = |record: Record| {
        let control = match Control::parse(&record).ok()? {
            Control::Commit { .. } => Control::Commit { coordinator_epoch: 0 },
            Control::Abort { .. } => Control::Abort { coordinator_epoch: 0 },
            Control::Other(_) => return None,
        };
        let mut value = record.value.as_deref().unwrap_or_default().to_vec();
        value.get_mut(EPOCH)?.fill(0);
        Some((control, Record { timestamp: 0, value: Some(value.into()), ..record }))
    };
    batch.records().ok()?.map(|it| marker(it.ok()?)).collect()
}

/// What markers say, in words.
fn named(markers: Option<Vec<(Control, Record)>>) -> Option<String> {
    let word = |it: &(Control, Record)| match it.0 {
        Control::Commit { .. } => "commit",
        Control::Abort { .. } => "abort",
        Control::Other(_) => "other",
    };
    Some(markers?.iter().map(word).collect::<Vec<_>>().join(", "))
}

/// The keys by which elements are met, unless one of them is an id that has another name now.
fn keys(field: &Field, version: i16) -> Vec<&'static str> {
    let Type::Struct(it) = field.ty else { return Vec::new() };
    let keys: Vec<_> = it.fields.iter().filter(|it| it.map_key && it.versions.contains(version)).collect();
    let plain = keys.iter().all(|it| meaning(it) == Meaning::Plain);
    if plain { keys.iter().map(|it| it.json).collect() } else { Vec::new() }
}

fn is_set(time: &Json) -> bool {
    !matches!(time, Json::Int(it) if *it < 0) && *time != Json::Null
}

/// The whole batches of a records field; nothing if it is null or holds something else.
fn batches(value: &Json) -> Option<Vec<Batch>> {
    let Json::String(text) = value else { return None };
    let bytes = base64::decode(text, base64::STANDARD)?;
    Batches::new(Bytes::from(bytes)).collect::<Result<_, _>>().ok()
}

#[cfg(test)]
mod tests {
    use wire::batch::BatchBuilder;
    use wire::batch::control::marker;
    use wire::describe_configs::response::{DescribeConfigsResourceResult, DescribeConfigsResult};
    use wire::fetch::response::{FetchableTopicResponse, PartitionData};
    use wire::metadata::response::{MetadataResponseBroker, MetadataResponseTopic};
    use wire::{
        DescribeConfigsResponse, ErrorCode, FetchResponse, JoinGroupResponse, MetadataResponse, Records,
        Response, SaslAuthenticateResponse, Uuid, chunk, frame,
    };

    use super::*;

    fn bytes<R: Response>(response: &R, version: i16) -> Bytes {
        chunk::join(&frame::encode_response(response, version, 5).unwrap()).slice(4..)
    }

    fn differences<R: Response>(before: &R, after: &R, version: i16, ids: &mut Ids) -> Vec<String> {
        let (before, after) = (bytes(before, version), bytes(after, version));
        let found = compare((R::KEY, version), &before, &after, ids, false);
        found.iter().map(|it| format!("{}: {} -> {}", it.path, it.recorded, it.now)).collect()
    }

    fn metadata(node_id: i32, host: &str, topics: &[(&str, u8)]) -> MetadataResponse {
        let topic = |(name, id): &(&str, u8)| MetadataResponseTopic {
            name: Some((*name).into()),
            topic_id: Uuid([*id; 16]),
            ..Default::default()
        };
        MetadataResponse {
            brokers: vec![MetadataResponseBroker {
                node_id,
                host: host.into(),
                port: 1,
                ..Default::default()
            }],
            cluster_id: Some(host.into()),
            controller_id: node_id,
            topics: topics.iter().map(topic).collect(),
            ..Default::default()
        }
    }

    #[test]
    fn ids_places_and_order_do_not_count() {
        let mut ids = Ids::default();
        let before = metadata(1, "a", &[("t", 1), ("u", 2)]);
        assert_eq!(differences(&before, &metadata(7, "b", &[("u", 9), ("t", 8)]), 12, &mut ids), [""; 0]);
        // Now t is 8.
        let found = differences(&before, &metadata(7, "b", &[("t", 9), ("u", 8)]), 12, &mut ids);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("Topics[0].TopicId: "), "{found:?}");
        let found = differences(&before, &metadata(7, "b", &[("t", 8)]), 12, &mut ids);
        assert_eq!(found, ["Topics: 2 elements -> 1 elements"]);
    }

    #[test]
    fn what_differs_has_a_path() {
        let mut after = metadata(1, "a", &[("t", 1)]);
        after.topics[0].error_code = ErrorCode::LEADER_NOT_AVAILABLE;
        let found = differences(&metadata(1, "a", &[("t", 1)]), &after, 12, &mut Ids::default());
        assert_eq!(found, ["Topics[0].ErrorCode: 0 -> 5"]);
        let join = |generation| JoinGroupResponse { generation_id: generation, ..Default::default() };
        let found = differences(&join(1), &join(2), 9, &mut Ids::default());
        assert_eq!(found, ["GenerationId: 1 -> 2"]);
    }

    fn fetched(producer: i64, epoch: i32, value: &[u8]) -> FetchResponse {
        let batch = BatchBuilder::new()
            .producer(producer, 0, 0)
            .leader_epoch(epoch)
            .timestamp(10)
            .push(None, Some(value))
            .build();
        let partition = PartitionData { records: Some(Records::from(batch)), ..Default::default() };
        let topic = FetchableTopicResponse { partitions: vec![partition], ..Default::default() };
        FetchResponse { session_id: epoch, responses: vec![topic], ..Default::default() }
    }

    #[test]
    fn batches_by_their_fields() {
        let mut ids = Ids::default();
        let before = fetched(5, 1, b"value");
        assert_eq!(differences(&before, &fetched(6, 2, b"value"), 17, &mut ids), [""; 0]);
        assert_eq!(ids.now(Realm::Producer, &Json::Int(5)), Some(&Json::Int(6)));
        let found = differences(&before, &fetched(6, 2, b"other"), 17, &mut ids);
        let expected =
            "Responses[0].Partitions[0].Records[0].records: 12 bytes of records -> 12 bytes of records";
        assert_eq!(found, [expected]);
    }

    /// Markers and log append times have the times of the broker; create times are the client's.
    #[test]
    fn times_of_batches_by_who_wrote_them() {
        let with = |batch: Bytes| {
            let partition = PartitionData { records: Some(Records::from(batch)), ..Default::default() };
            let topic = FetchableTopicResponse { partitions: vec![partition], ..Default::default() };
            FetchResponse { responses: vec![topic], ..Default::default() }
        };
        let found = |before: Bytes, after: Bytes| {
            let at = "Responses[0].Partitions[0].Records[0].";
            let found = differences(&with(before), &with(after), 17, &mut Ids::default());
            found.iter().map(|it| it.replace(at, "")).collect::<Vec<_>>()
        };
        assert_eq!(found(marker(5, 0, true, 3, 1_000), marker(7, 0, true, 4, 2_000)), [""; 0]);
        assert_eq!(
            found(marker(5, 0, true, 3, 1_000), marker(5, 1, true, 3, 1_000)),
            ["producerEpoch: 0 -> 1"]
        );
        assert_eq!(
            found(marker(5, 0, true, 3, 1_000), marker(5, 0, false, 3, 1_000)),
            ["records: commit -> abort"]
        );
        let at = |kind, time| {
            BatchBuilder::new().timestamp_type(kind).timestamp(time).push(None, Some(b"v")).build()
        };
        let (create, append) = (TimestampType::CreateTime, TimestampType::LogAppendTime);
        assert_eq!(found(at(append, 1_000), at(append, 2_000)), [""; 0]);
        let times = ["baseTimestamp: 1000 -> 2000", "maxTimestamp: 1000 -> 2000"];
        assert_eq!(found(at(create, 1_000), at(create, 2_000)), times);
        // Who of the two set the time is something that the client sees.
        assert_eq!(found(at(create, 1_000), at(append, 1_000)), ["attributes: 0 -> 8"]);
        // A batch is only a marker if both say so.
        let data = BatchBuilder::new().producer(5, 0, -1).transactional().timestamp(2_000);
        let found = found(marker(5, 0, true, 3, 1_000), data.push(None, Some(b"v")).build());
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[3].starts_with("records: commit -> 8 bytes of records"), "{found:?}");
    }

    /// wire.md 15: that two passwords differ is told, not which they are.
    #[test]
    fn secrets_stay_secrets() {
        let answer = |secret: &'static [u8]| SaslAuthenticateResponse {
            auth_bytes: Bytes::from_static(secret),
            ..Default::default()
        };
        let (before, after) = (answer(b"v=one"), answer(b"v=two"));
        let found = differences(&before, &after, 2, &mut Ids::default());
        assert_eq!(found, ["AuthBytes: a secret -> a secret"]);
        let (before, after) = (bytes(&before, 2), bytes(&after, 2));
        let shown = compare((36, 2), &before, &after, &mut Ids::default(), true);
        assert_eq!(shown[0].recorded, "\"dj1vbmU=\"");
        let setting = |name: &str, value: &str| {
            let setting = DescribeConfigsResourceResult {
                name: name.into(),
                value: Some(value.into()),
                ..Default::default()
            };
            let result = DescribeConfigsResult { configs: vec![setting], ..Default::default() };
            DescribeConfigsResponse { results: vec![result], ..Default::default() }
        };
        for (name, expected) in [("ssl.key.password", "a secret -> a secret"), ("log.dirs", "\"a\" -> \"b\"")]
        {
            let found = differences(&setting(name, "a"), &setting(name, "b"), 4, &mut Ids::default());
            assert_eq!(found, [format!("Results[0].Configs[0].Value: {expected}")]);
        }
        let found = differences(&setting("plain", "s3"), &setting("b.secret", "s4"), 4, &mut Ids::default());
        assert_eq!(found[1], "Results[0].Configs[0].Value: a secret -> a secret", "{found:?}");
    }

    #[test]
    fn what_cannot_be_read_is_compared_as_it_is() {
        let mut ids = Ids::default();
        let of = |bytes: &'static [u8]| Bytes::from_static(bytes);
        assert!(compare((9999, 0), &of(b"\0\0\0\x01x"), &of(b"\0\0\0\x02x"), &mut ids, false).is_empty());
        assert_eq!(compare((9999, 0), &of(b"\0\0\0\x01x"), &of(b"\0\0\0\x01y"), &mut ids, false).len(), 1);
        let good = bytes(&metadata(1, "a", &[]), 12);
        assert_eq!(compare((3, 12), &good, &good.slice(..9), &mut ids, false).len(), 1);
    }
}
