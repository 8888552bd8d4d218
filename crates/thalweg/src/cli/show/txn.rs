//! `thalweg txn`.

use wire::Str;
use wire::describe_producers::response::ProducerState;
use wire::describe_transactions::response::TransactionState as Described;
use wire::json::Json;
use wire::list_transactions::response::TransactionState;

use super::json::{known, list, number, object, text, time};
use super::{NOTHING, or_nothing, rfc3339, table};

/// A transactional id with who coordinates it.
pub(in crate::cli) struct Listed {
    pub(in crate::cli) coordinator: i32,
    pub(in crate::cli) state: TransactionState,
}

/// An open transaction of a partition.
pub(in crate::cli) struct Open {
    pub(in crate::cli) topic: Str,
    pub(in crate::cli) partition: i32,
    pub(in crate::cli) producer: ProducerState,
}

impl Open {
    pub(in crate::cli) fn key(&self) -> (Str, i32, i64) {
        (self.topic.clone(), self.partition, self.producer.producer_id)
    }
}

pub(in crate::cli) fn list_text(listed: &[Listed]) -> String {
    let row = |it: &Listed| {
        [
            or_nothing(it.state.transactional_id.to_string()),
            it.coordinator.to_string(),
            it.state.producer_id.to_string(),
            it.state.transaction_state.to_string(),
        ]
    };
    let rows: Vec<_> = listed.iter().map(row).collect();
    table(["TRANSACTIONAL-ID", "COORDINATOR", "PRODUCER-ID", "STATE"], &rows)
}

pub(in crate::cli) fn list_json(listed: &[Listed]) -> Json {
    list(listed, |it| {
        object([
            ("transactionalId", text(&it.state.transactional_id)),
            ("coordinator", number(it.coordinator)),
            ("producerId", number(it.state.producer_id)),
            ("state", text(&it.state.transaction_state)),
        ])
    })
}

pub(in crate::cli) fn describe_text(it: &Described, now: i64) -> String {
    let started = it.transaction_start_time_ms;
    let is_open = matches!(&*it.transaction_state.to_str(), "Ongoing" | "PrepareCommit" | "PrepareAbort");
    let since = match (started, is_open) {
        (..0, _) => NOTHING.to_owned(),
        (started, false) => rfc3339(started),
        (started, true) => format!("{} ({})", rfc3339(started), duration(now - started)),
    };
    let partitions =
        it.topics.iter().flat_map(|topic| topic.partitions.iter().map(move |at| (&topic.topic, at)));
    let partitions: Vec<_> = partitions.map(|(topic, at)| format!("{topic}-{at}")).collect();
    let rows = [
        ("transactional id", it.transactional_id.to_string()),
        ("state", it.transaction_state.to_string()),
        ("producer id", it.producer_id.to_string()),
        ("producer epoch", it.producer_epoch.to_string()),
        ("timeout", duration(i64::from(it.transaction_timeout_ms))),
        ("began", since),
        ("partitions", or_nothing(partitions.join(", "))),
    ];
    rows.iter().fold(String::new(), |out, (name, value)| out + &format!("{name:<18}{value}\n"))
}

pub(in crate::cli) fn describe_json(it: &Described) -> Json {
    object([
        ("transactionalId", text(&it.transactional_id)),
        ("state", text(&it.transaction_state)),
        ("producerId", number(it.producer_id)),
        ("producerEpoch", number(it.producer_epoch)),
        ("timeoutMs", number(it.transaction_timeout_ms)),
        ("startTime", time(it.transaction_start_time_ms)),
        ("startTimeMs", known(it.transaction_start_time_ms)),
        (
            "topics",
            list(&it.topics, |topic| {
                object([
                    ("topic", text(&topic.topic)),
                    ("partitions", list(&topic.partitions, |at| number(*at))),
                ])
            }),
        ),
    ])
}

pub(in crate::cli) fn hanging_text(open: &[Open], now: i64) -> String {
    let row = |it: &Open| {
        let last = it.producer.last_timestamp;
        [
            it.topic.to_string(),
            it.partition.to_string(),
            it.producer.producer_id.to_string(),
            it.producer.producer_epoch.to_string(),
            it.producer.coordinator_epoch.to_string(),
            it.producer.current_txn_start_offset.to_string(),
            if last < 0 { NOTHING.to_owned() } else { duration(now - last) },
        ]
    };
    let header = [
        "TOPIC",
        "PARTITION",
        "PRODUCER-ID",
        "PRODUCER-EPOCH",
        "COORDINATOR-EPOCH",
        "START-OFFSET",
        "SILENT-FOR",
    ];
    table(header, &open.iter().map(row).collect::<Vec<_>>())
}

pub(in crate::cli) fn hanging_json(open: &[Open]) -> Json {
    list(open, |it| {
        object([
            ("topic", text(&it.topic)),
            ("partition", number(it.partition)),
            ("producerId", number(it.producer.producer_id)),
            ("producerEpoch", number(it.producer.producer_epoch)),
            ("coordinatorEpoch", known(it.producer.coordinator_epoch)),
            ("startOffset", number(it.producer.current_txn_start_offset)),
            ("lastTimestamp", time(it.producer.last_timestamp)),
            ("lastTimestampMs", known(it.producer.last_timestamp)),
        ])
    })
}

pub(in crate::cli) fn aborted_text(it: &Open) -> String {
    format!(
        "aborted the transaction of producer {} that begins at offset {} of {}-{}\n",
        it.producer.producer_id, it.producer.current_txn_start_offset, it.topic, it.partition
    )
}

/// `45s`, `2m05s`, `3h07m`, `4d02h`: two units are enough to judge by.
fn duration(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::describe_transactions::response::TopicData;

    fn described(state: &'static str) -> Described {
        let topics = vec![TopicData { topic: "out".into(), partitions: vec![0, 2], ..Default::default() }];
        Described {
            transactional_id: "app-1".into(),
            transaction_state: Str::from_static(state),
            transaction_timeout_ms: 60_000,
            transaction_start_time_ms: 1_700_000_000_000,
            producer_id: 1000,
            producer_epoch: 3,
            topics,
            ..Default::default()
        }
    }

    #[test]
    fn an_open_transaction_tells_for_how_long() {
        let expected = "\
transactional id  app-1
state             Ongoing
producer id       1000
producer epoch    3
timeout           1m00s
began             2023-11-14T22:13:20.000Z (1m05s)
partitions        out-0, out-2
";
        assert_eq!(describe_text(&described("Ongoing"), 1_700_000_065_000), expected);
        let ended = describe_text(&described("CompleteCommit"), 1_700_000_065_000);
        assert!(ended.contains("began             2023-11-14T22:13:20.000Z\n"), "{ended}");
        let json = "{\"transactionalId\":\"app-1\",\"state\":\"Ongoing\",\"producerId\":1000,\"producerEpoch\":3,\
            \"timeoutMs\":60000,\"startTime\":\"2023-11-14T22:13:20.000Z\",\"startTimeMs\":1700000000000,\
            \"topics\":[{\"topic\":\"out\",\"partitions\":[0,2]}]}";
        assert_eq!(describe_json(&described("Ongoing")).to_string(), json);
    }

    #[test]
    fn lists_are_tables() {
        let state = TransactionState {
            transactional_id: "app-1".into(),
            producer_id: 1000,
            transaction_state: "Empty".into(),
            ..Default::default()
        };
        let listed = [Listed { coordinator: 1, state }];
        let expected = "TRANSACTIONAL-ID  COORDINATOR  PRODUCER-ID  STATE\napp-1             1            1000         Empty\n";
        assert_eq!(list_text(&listed), expected);
        let json =
            "[{\"transactionalId\":\"app-1\",\"coordinator\":1,\"producerId\":1000,\"state\":\"Empty\"}]";
        assert_eq!(list_json(&listed).to_string(), json);
        let producer = ProducerState {
            producer_id: 7,
            producer_epoch: 2,
            last_timestamp: 1_000,
            coordinator_epoch: -1,
            current_txn_start_offset: 12,
            ..Default::default()
        };
        let open = [Open { topic: "t".into(), partition: 3, producer }];
        let text = hanging_text(&open, 93_601_000);
        assert!(
            text.ends_with(
                "t      3          7            2               -1                 12            1d02h\n"
            ),
            "{text}"
        );
        let json = "[{\"topic\":\"t\",\"partition\":3,\"producerId\":7,\"producerEpoch\":2,\"coordinatorEpoch\":null,\
            \"startOffset\":12,\"lastTimestamp\":\"1970-01-01T00:00:01.000Z\",\"lastTimestampMs\":1000}]";
        assert_eq!(hanging_json(&open).to_string(), json);
    }

    #[test]
    fn durations_have_two_units() {
        let shown = [0, 59_999, 60_000, 3_599_000, 7_260_000, 90_000_000].map(duration);
        assert_eq!(shown, ["0s", "59s", "1m00s", "59m59s", "2h01m", "1d01h"]);
    }
}
