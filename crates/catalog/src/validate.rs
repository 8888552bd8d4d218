//! Whole sets of settings: names known, values valid, values consistent with each other and with the broker's bounds.

use crate::command::Refusal;
use crate::config::{
    BOUNDS, BrokerConfigs, Configs, Kind, Row, Scope, Update, base_name, broker_row, effective, items,
    normalize, number, row,
};
use crate::{ErrorCode, Image};

/// Longest value, in bytes. Kafka closes the connection above it (K-7); an error is kinder.
const VALUE_BYTES_MAX: usize = 32_767;

/// The settings of a new topic (`broker-core.md` 5.1, check 6).
pub(crate) fn topic_configs(image: &Image, wanted: &[(String, Option<String>)]) -> Result<Configs, Refusal> {
    let nulls: Vec<&str> =
        wanted.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| key.as_str()).collect();
    if !nulls.is_empty() {
        return Err(Refusal::invalid_config(format!(
            "Null value not supported for topic configs: {}",
            nulls.join(",")
        )));
    }
    let mut configs = Configs::new();
    for (key, value) in wanted {
        configs.insert(key.clone(), topic_value(key, value.as_deref().unwrap_or_default())?);
    }
    topic_set(image.broker_configs(), &configs)?;
    Ok(configs)
}

/// One value of a topic, in normal form.
pub(crate) fn topic_value(key: &str, value: &str) -> Result<String, Refusal> {
    let Some(row) = row(Scope::Topic, key) else {
        return Err(Refusal::invalid_config(format!("Unknown topic config name: {key}")));
    };
    checked(row, value)
}

/// Rules over several settings of a topic (`broker-core.md` 15).
pub(crate) fn topic_set(broker: &BrokerConfigs, configs: &Configs) -> Result<(), Refusal> {
    let value = |key: &str| {
        row(Scope::Topic, key).and_then(|row| effective(row, broker, configs)).map(|(value, _)| value)
    };
    let long = |key: &str| value(key).and_then(|value| value.parse::<i64>().ok()).unwrap_or_default();
    let (least, most) = (long("min.compaction.lag.ms"), long("max.compaction.lag.ms"));
    if least > most {
        return Err(Refusal::invalid_config(format!(
            "conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        )));
    }
    if configs.get("remote.storage.enable").is_some_and(|value| value == "true") {
        let message = "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.";
        return Err(Refusal::invalid_config(message));
    }
    Ok(())
}

/// One value of a group, in normal form and inside the broker's bounds (`streams-groups.md` 8.2, C-2).
pub(crate) fn group_value(broker: &BrokerConfigs, key: &str, value: &str) -> Result<String, Refusal> {
    let Some(row) = row(Scope::Group, key) else {
        return Err(Refusal::invalid_config(format!("Unknown group config name: {key}")));
    };
    let value = checked(row, value)?;
    let bounds = BOUNDS.iter().find(|bounds| bounds.name == key);
    if let (Some(bounds), Ok(number_set)) = (bounds, value.parse::<i64>()) {
        if let Some(name) = bounds.least
            && number(broker, name).is_some_and(|least| number_set < least)
        {
            return Err(Refusal::invalid_config(format!(
                "{key} must be greater than or equal to {name}, it is {value}"
            )));
        }
        if let Some(name) = bounds.most
            && number(broker, name).is_some_and(|most| number_set > most)
        {
            return Err(Refusal::invalid_config(format!(
                "{key} must be less than or equal to {name}, it is {value}"
            )));
        }
    }
    if key == "streams.assignor.name" {
        let known = broker.get("group.streams.assignors").map_or_else(Vec::new, |(names, _)| items(names));
        if !known.contains(&value.as_str()) {
            let message = format!("streams.assignor.name {value} is not one of {}", known.join(", "));
            return Err(Refusal::invalid_config(message));
        }
    }
    Ok(value)
}

/// A session must outlive a heartbeat interval, after merging with the other values.
pub(crate) fn group_set(broker: &BrokerConfigs, configs: &Configs) -> Result<(), Refusal> {
    for kind in ["consumer", "share", "streams"] {
        let (session, heartbeat) =
            (format!("{kind}.session.timeout.ms"), format!("{kind}.heartbeat.interval.ms"));
        let value = |key: &str| {
            let (value, _) = row(Scope::Group, key).and_then(|row| effective(row, broker, configs))?;
            value.parse::<i64>().ok()
        };
        let set = configs.contains_key(&session) || configs.contains_key(&heartbeat);
        if set && value(&session) <= value(&heartbeat) {
            return Err(Refusal::invalid_config(format!("{session} must be greater than {heartbeat}")));
        }
    }
    Ok(())
}

/// One dynamic value of a broker (`broker-core.md` 20.3). Errors are INVALID_REQUEST here (KAFKA-13609).
pub(crate) fn broker_value(name: &str, key: &str, value: &str) -> Result<String, Refusal> {
    let Some(row) = broker_row(key) else {
        // Names that nobody knows are allowed: Kafka's plug-ins have settings of their own.
        return sized(key, value).map(|()| value.to_owned());
    };
    if matches!(key, "listeners" | "listener.security.protocol.map") {
        return Err(Refusal::invalid_request(format!("{key} can not change while the broker runs")));
    }
    match row.update {
        Update::ReadOnly => {
            return Err(Refusal::invalid_request(format!("Cannot update these configs dynamically: {key}")));
        }
        Update::PerBroker if name.is_empty() => {
            let message = format!(
                "Cannot update these configs at default cluster level, broker id must be specified: {key}"
            );
            return Err(Refusal::invalid_request(message));
        }
        Update::PerBroker | Update::ClusterWide => {}
    }
    let store = ["ssl.keystore.", "ssl.truststore.", "ssl.key.password"]
        .iter()
        .any(|start| row.name.starts_with(start));
    if store && base_name(key).is_none() {
        let message = format!("These security configs can be updated only with a listener prefix: {key}");
        return Err(Refusal::invalid_request(message));
    }
    checked(row, value).map_err(|refusal| Refusal { code: ErrorCode::INVALID_REQUEST, ..refusal })
}

/// Settings that start threads may at most double or halve at a time.
pub(crate) fn broker_set(broker: &BrokerConfigs, configs: &Configs) -> Result<(), Refusal> {
    const THREADS: [&str; 5] = [
        "background.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
    ];
    for key in THREADS {
        let Some(wanted) = configs.get(key).and_then(|value| value.parse::<i64>().ok()) else { continue };
        let Some(present) = number(broker, key) else { continue };
        if wanted < present / 2 || wanted > present * 2 {
            let message = format!(
                "Dynamic thread count update validation failed: {key} is {present} and can at most be halved or doubled"
            );
            return Err(Refusal::invalid_request(message));
        }
    }
    Ok(())
}

/// One value of a client metrics subscription. Errors are INVALID_REQUEST (K-6), but for what is no number and for bad
/// patterns (6.6).
pub(crate) fn client_metrics_value(key: &str, value: &str) -> Result<String, Refusal> {
    let Some(row) = row(Scope::ClientMetrics, key) else {
        return Err(Refusal::invalid_request(format!("Unknown client metrics configuration {key}")));
    };
    if row.kind == Kind::Int && value.trim().parse::<i32>().is_err() {
        return checked(row, value);
    }
    let value =
        checked(row, value).map_err(|refusal| Refusal { code: ErrorCode::INVALID_REQUEST, ..refusal })?;
    if key == "match" {
        items(&value).into_iter().try_for_each(selector)?;
    }
    Ok(value)
}

/// `selector=pattern`. The pattern is compiled where it is used.
fn selector(item: &str) -> Result<(), Refusal> {
    const SELECTORS: [&str; 6] = [
        "client_id",
        "client_instance_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    ];
    match item.split_once('=') {
        Some((name, _)) if SELECTORS.contains(&name.trim()) => Ok(()),
        _ => Err(Refusal::invalid_config(format!("Illegal client matching pattern: {item}"))),
    }
}

fn checked(row: &Row, value: &str) -> Result<String, Refusal> {
    sized(row.name, value)?;
    normalize(row, value).map_err(Refusal::invalid_config)
}

/// Checked before anything is done with a value.
pub(crate) fn sized(key: &str, value: &str) -> Result<(), Refusal> {
    if value.len() > VALUE_BYTES_MAX {
        let message =
            format!("The value of {key} has {} bytes, at most {VALUE_BYTES_MAX} are allowed", value.len());
        return Err(Refusal::invalid_config(message));
    }
    Ok(())
}
