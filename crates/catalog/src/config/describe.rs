//! DescribeConfigs' pure part (`broker-core.md` 6.1): which settings a resource shows, with value, source and synonyms.
//!
//! 1. GROUP, CLIENT_METRICS have a name   else INVALID_REQUEST
//! 2. TOPIC: the name is legal            else INVALID_TOPIC_EXCEPTION
//! 3. TOPIC exists                        else UNKNOWN_TOPIC_OR_PARTITION
//! 4. BROKER is "" or this broker         else INVALID_REQUEST
//!
//! What Kafka does and one would not guess: a topic's synonyms begin with the first broker setting (`log.retention.ms`),
//! and where that one has no value the list is empty, although the hours give the value.

use std::collections::BTreeSet;

use super::layers::{broker_synonyms, is_sensitive};
use super::topic_settings::effective;
use super::{BrokerConfigs, Configs, Mark, Profile, Row, Scope, Source, Update, broker_row, row, rows};
use crate::command::Refusal;
use crate::{ErrorCode, Image, topic_name};

/// One setting as DescribeConfigs and CreateTopics v5+ show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    pub name: String,
    /// `None`: null, or a secret.
    pub value: Option<String>,
    pub read_only: bool,
    pub source: Source,
    pub is_sensitive: bool,
    /// By precedence. The handler leaves them out where the request does not ask for them.
    pub synonyms: Vec<Synonym>,
    /// Kafka's number of the type, 0 unknown.
    pub kind: i8,
    /// The handler leaves it out where the request does not ask for it.
    pub documentation: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synonym {
    pub name: String,
    pub value: Option<String>,
    pub source: Source,
}

/// Settings of a resource, by name: `keys`, or all. Keys that the resource does not have are left out.
///
/// # Errors
/// As DescribeConfigs answers for the resource. Other kinds than TOPIC, BROKER, CLIENT_METRICS and GROUP are the
/// handler's: loggers are not catalogued, and an unknown kind fails the request.
pub fn resource(
    image: &Image,
    kind: i8,
    name: &str,
    keys: Option<&[&str]>,
) -> Result<Vec<ConfigEntry>, Refusal> {
    let mut entries = match kind {
        2 => topic(image, name)?,
        4 if name.is_empty() => cluster_defaults(image),
        4 => broker(image, name)?,
        16 if name.is_empty() => {
            return Err(Refusal::invalid_request("Client metrics subscription name must not be empty"));
        }
        16 => client_metrics(image, name),
        32 if name.is_empty() => return Err(Refusal::invalid_request("Group name must not be empty")),
        32 => group(image, name),
        _ => return Err(Refusal::invalid_request(format!("Unsupported resource type: {kind}"))),
    };
    if let Some(keys) = keys {
        let keys: BTreeSet<&str> = keys.iter().copied().collect();
        entries.retain(|entry| keys.contains(entry.name.as_str()));
    }
    Ok(entries)
}

/// The settings of a topic as CreateTopics answers them: read only by what was decided, sources as in DescribeConfigs.
pub(crate) fn created_topic(image: &Image, own: &Configs) -> Vec<ConfigEntry> {
    listed(Scope::Topic, image, own).map(|row| entry_of_effective(row, image.broker_configs(), own)).collect()
}

fn topic(image: &Image, name: &str) -> Result<Vec<ConfigEntry>, Refusal> {
    topic_name::check(name).map_err(|why| Refusal::new(ErrorCode::INVALID_TOPIC_EXCEPTION, why))?;
    let Some(topic) = image.topic(name) else {
        return Err(Refusal::new(
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            "This server does not host this topic",
        ));
    };
    let layers = image.broker_configs();
    Ok(listed(Scope::Topic, image, &topic.configs).map(|row| of_row(row, layers, &topic.configs)).collect())
}

fn group(image: &Image, id: &str) -> Vec<ConfigEntry> {
    let none = Configs::new();
    let own = image.group_configs(id).unwrap_or(&none);
    let layers = image.broker_configs();
    let mut entries: Vec<ConfigEntry> =
        listed(Scope::Group, image, own).map(|row| of_row(row, layers, own)).collect();
    // The broker's synonym is a list, the group's value its first element.
    if let Some(entry) = entries.iter_mut().find(|entry| entry.name == "streams.assignor.name")
        && !own.contains_key("streams.assignor.name")
    {
        entry.value = Some(image.group_settings(id).streams.assignor_name.clone());
    }
    entries
}

fn client_metrics(image: &Image, name: &str) -> Vec<ConfigEntry> {
    let none = Configs::new();
    let own = image.client_metrics(name).unwrap_or(&none);
    rows(Scope::ClientMetrics).map(|row| of_row(row, image.broker_configs(), own)).collect()
}

/// BROKER "": only what is set there.
fn cluster_defaults(image: &Image) -> Vec<ConfigEntry> {
    let layers = image.broker_configs();
    let entries = layers.cluster.keys().map(|name| {
        let mut entry = of_broker(name, layers);
        entry.synonyms.retain(|synonym| synonym.source == Source::DynamicDefaultBroker);
        entry.value = if entry.is_sensitive { None } else { layers.cluster.get(name).cloned() };
        entry.source = Source::DynamicDefaultBroker;
        entry
    });
    entries.collect()
}

fn broker(image: &Image, name: &str) -> Result<Vec<ConfigEntry>, Refusal> {
    let Ok(id) = name.parse::<i32>() else {
        return Err(Refusal::invalid_request(format!("Broker id must be an integer, but it is: {name}")));
    };
    if id != image.node_id() {
        let message =
            format!("Unexpected broker id, expected {} or empty string, but received {id}", image.node_id());
        return Err(Refusal::invalid_request(message));
    }
    let layers = image.broker_configs();
    let own_shown = image.broker().thalweg_profile == Profile::Thalweg;
    let shown = |row: &&Row| !row.internal && (own_shown || !row.name.starts_with("thalweg."));
    let mut names: Vec<&str> = rows(Scope::Broker).filter(shown).map(|row| row.name).collect();
    names.extend(
        layers.fixed.keys().chain(layers.cluster.keys()).chain(layers.own.keys()).map(String::as_str),
    );
    names.sort_unstable();
    names.dedup();
    Ok(names.into_iter().map(|name| of_broker(name, layers)).collect())
}

/// Rows that a topic or group shows: all but the internal ones that are not set. Internal group settings that have an
/// effect here are shown too (`streams-groups.md` K-9), unless the profile is Kafka's.
fn listed<'a>(scope: Scope, image: &'a Image, own: &'a Configs) -> impl Iterator<Item = &'static Row> + 'a {
    let more = scope == Scope::Group && image.broker().thalweg_profile == Profile::Thalweg;
    rows(scope).filter(move |row| {
        !row.internal || own.contains_key(row.name) || (more && row.mark == Mark::Honoured)
    })
}

/// A setting of a topic, a group or a subscription.
fn of_row(row: &Row, layers: &BrokerConfigs, own: &Configs) -> ConfigEntry {
    let mut entry = entry_of_effective(row, layers, own);
    let own_synonym = own.contains_key(row.name).then(|| Synonym {
        name: row.name.to_owned(),
        value: entry.value.clone(),
        source: entry.source,
    });
    let from_broker = match row.synonyms.first() {
        Some((first, _)) => synonyms(first, layers),
        // A group's setting that the broker has no setting for is its own synonym, unlike a topic's.
        None if row.scope == Scope::Group => own_default(row),
        None => Vec::new(),
    };
    entry.synonyms = own_synonym.into_iter().chain(from_broker).collect();
    entry.source = entry.synonyms.first().map_or(Source::Default, |synonym| synonym.source);
    entry
}

fn own_default(row: &Row) -> Vec<Synonym> {
    let value = row.default.map(str::to_owned);
    vec![Synonym { name: row.name.to_owned(), value, source: Source::Default }]
}

fn entry_of_effective(row: &Row, layers: &BrokerConfigs, own: &Configs) -> ConfigEntry {
    let (value, source) =
        effective(row, layers, own).map_or((None, Source::Default), |(value, source)| (Some(value), source));
    ConfigEntry {
        name: row.name.to_owned(),
        value: value.filter(|_| !row.is_sensitive()),
        read_only: false,
        source,
        is_sensitive: row.is_sensitive(),
        synonyms: Vec::new(),
        kind: row.kind.code(),
        documentation: Some(row.doc),
    }
}

fn of_broker(name: &str, layers: &BrokerConfigs) -> ConfigEntry {
    let row = broker_row(name);
    let sensitive = is_sensitive(name);
    let synonyms = synonyms(name, layers);
    let value = layers.get(name).map(|(value, _)| value.to_owned());
    ConfigEntry {
        name: name.to_owned(),
        value: value.filter(|_| !sensitive),
        read_only: row.is_none_or(|row| row.update == Update::ReadOnly),
        source: synonyms.first().map_or(Source::Default, |synonym| synonym.source),
        is_sensitive: sensitive,
        synonyms,
        kind: row.map_or(0, |row| row.kind.code()),
        documentation: row.map(|row| row.doc),
    }
}

/// What gives a broker setting its value, by precedence. Begins with the setting itself; if it has no value anywhere,
/// the list is empty.
fn synonyms(name: &str, layers: &BrokerConfigs) -> Vec<Synonym> {
    let names = broker_synonyms(name);
    let all = layers.all(&names).skip_while(|(found, _, _)| *found != name);
    let synonym = |(name, value, source): (&str, &str, Source)| Synonym {
        name: name.to_owned(),
        value: (!is_sensitive(name)).then(|| value.to_owned()),
        source,
    };
    all.map(synonym).collect()
}

/// Documentation of a setting, for `thalweg config explain`.
pub fn documentation(scope: Scope, name: &str) -> Option<&'static str> {
    row(scope, name).map(|row| row.doc)
}
