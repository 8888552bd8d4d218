//! IncrementalAlterConfigs and the older AlterConfigs, for TOPIC, BROKER, GROUP and CLIENT_METRICS. Checks per resource
//! (`broker-core.md` 6.2; authorization and BROKER_LOGGER are the handler's):
//!
//! 1. resource once in the request                 else INVALID_REQUEST
//! 2. setting once in the resource                 else INVALID_REQUEST
//! 3. a value, or DELETE                           else INVALID_REQUEST
//! 4. known operation and resource type            else INVALID_REQUEST
//! 6. TOPIC, GROUP, CLIENT_METRICS have a name     else INVALID_REQUEST
//! 7. TOPIC exists                                 else UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION
//! 8. BROKER "" or this broker; setting is dynamic else INVALID_REQUEST
//! 9. APPEND and SUBTRACT only on lists            else INVALID_CONFIG
//! 10. what results is valid                       else INVALID_CONFIG; INVALID_REQUEST for BROKER, CLIENT_METRICS

use std::collections::{BTreeMap, BTreeSet};

use super::{Command, Decision, Entropy, Refusal, check_size};
use crate::config::{Configs, Kind, Row, Scope, broker_row, items, row};
use crate::entry::{Entry, Resource};
use crate::{ErrorCode, Image, topic_name, validate};

/// Changes to the dynamic settings of resources. A resource changes as a whole or not at all, each for itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AlterConfigs {
    pub resources: Vec<AlterResource>,
    /// Only check.
    pub validate_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterResource {
    /// Kafka's number: 2 TOPIC, 4 BROKER, 16 CLIENT_METRICS, 32 GROUP.
    pub kind: i8,
    pub name: String,
    pub ops: Vec<ConfigOp>,
}

impl AlterResource {
    /// Checks 2, 3 and the operations of 4: what can be said without knowing the resource, and comes before
    /// authorization.
    ///
    /// # Errors
    /// INVALID_REQUEST.
    pub fn check_form(&self) -> Result<(), Refusal> {
        check_keys(self.ops.iter().map(|op| op.name.as_str()))?;
        let nulls = self.ops.iter().filter(|op| op.value.is_none() && op.op != 1).map(|op| op.name.as_str());
        check_nulls(nulls.collect())?;
        if let Some(unknown) = self.ops.iter().find(|op| !matches!(op.op, 0..=3)) {
            return Err(Refusal::invalid_request(format!("Unknown operation type {}", unknown.op)));
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigOp {
    pub name: String,
    /// Kafka's number: 0 SET, 1 DELETE, 2 APPEND, 3 SUBTRACT.
    pub op: i8,
    pub value: Option<String>,
}

/// AlterConfigs: the given settings replace all dynamic ones of the resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplaceConfigs {
    pub resources: Vec<ReplaceResource>,
    /// Only check.
    pub validate_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaceResource {
    pub kind: i8,
    pub name: String,
    pub configs: Vec<(String, Option<String>)>,
}

impl ReplaceResource {
    /// Checks 2 and 3: what can be said without knowing the resource, and comes before authorization.
    ///
    /// # Errors
    /// INVALID_REQUEST.
    pub fn check_form(&self) -> Result<(), Refusal> {
        check_keys(self.configs.iter().map(|(name, _)| name.as_str()))?;
        check_nulls(self.configs.iter().filter(|it| it.1.is_none()).map(|it| it.0.as_str()).collect())
    }
}

impl Command for AlterConfigs {
    /// One result per resource of the request, in its order.
    type Reply = Vec<Result<(), Refusal>>;

    fn decide(&self, image: &Image, _entropy: Entropy<'_>) -> Result<Decision<Self::Reply>, Refusal> {
        let keys: Vec<(i8, &str)> = self.resources.iter().map(|it| (it.kind, it.name.as_str())).collect();
        decide(&keys, self.validate_only, |index| {
            let Some(resource) = self.resources.get(index) else { return Ok(Vec::new()) };
            alter(image, resource)
        })
    }
}

impl Command for ReplaceConfigs {
    /// One result per resource of the request, in its order.
    type Reply = Vec<Result<(), Refusal>>;

    fn decide(&self, image: &Image, _entropy: Entropy<'_>) -> Result<Decision<Self::Reply>, Refusal> {
        let keys: Vec<(i8, &str)> = self.resources.iter().map(|it| (it.kind, it.name.as_str())).collect();
        decide(&keys, self.validate_only, |index| {
            let Some(resource) = self.resources.get(index) else { return Ok(Vec::new()) };
            replace(image, resource)
        })
    }
}

fn decide(
    keys: &[(i8, &str)],
    validate_only: bool,
    plan: impl Fn(usize) -> Result<Vec<Entry>, Refusal>,
) -> Result<Decision<Vec<Result<(), Refusal>>>, Refusal> {
    let (mut entries, mut reply) = (Vec::new(), Vec::new());
    let mut times: BTreeMap<(i8, &str), usize> = BTreeMap::new();
    for key in keys {
        *times.entry(*key).or_default() += 1;
    }
    for (index, key) in keys.iter().enumerate() {
        let planned = if times.get(key).is_some_and(|count| *count > 1) {
            Err(Refusal::invalid_request("Each resource must appear at most once"))
        } else {
            plan(index)
        };
        reply.push(planned.as_ref().map(|_| ()).map_err(Clone::clone));
        entries.extend(planned.unwrap_or_default());
    }
    check_size(entries.len())?;
    if validate_only {
        entries.clear();
    }
    Ok(Decision { entries, reply })
}

fn alter(image: &Image, request: &AlterResource) -> Result<Vec<Entry>, Refusal> {
    request.check_form()?;
    let resource = Target::find(image, request.kind, &request.name)?;
    let mut configs = resource.configs(image);
    for op in &request.ops {
        let value = op.value.as_deref().unwrap_or_default();
        validate::sized(&op.name, value)?;
        match op.op {
            1 => {
                configs.remove(&op.name);
                continue;
            }
            2 | 3 => {
                let row = resource.list_row(op)?;
                let present =
                    configs.get(&op.name).map_or_else(|| row.default.unwrap_or_default(), String::as_str);
                let value = edit_list(present, value, op.op == 2);
                configs.insert(op.name.clone(), resource.value(image, &op.name, &value)?);
            }
            _ => {
                configs.insert(op.name.clone(), resource.value(image, &op.name, value)?);
            }
        }
    }
    resource.check(image, &configs)?;
    Ok(resource.entries(image, &configs))
}

fn replace(image: &Image, request: &ReplaceResource) -> Result<Vec<Entry>, Refusal> {
    request.check_form()?;
    let resource = Target::find(image, request.kind, &request.name)?;
    let mut configs = Configs::new();
    for (name, value) in &request.configs {
        configs.insert(name.clone(), resource.value(image, name, value.as_deref().unwrap_or_default())?);
    }
    resource.check(image, &configs)?;
    Ok(resource.entries(image, &configs))
}

fn check_keys<'a>(keys: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for key in keys {
        if !seen.insert(key) {
            return Err(Refusal::invalid_request(format!("Error due to duplicate config keys: {key}")));
        }
    }
    Ok(())
}

fn check_nulls(nulls: Vec<&str>) -> Result<(), Refusal> {
    if nulls.is_empty() {
        return Ok(());
    }
    Err(Refusal::invalid_request(format!("Null value not supported for: {}", nulls.join(","))))
}

/// The list with items added that it lacks, or without items that it has; the rest keeps its order.
fn edit_list(present: &str, change: &str, append: bool) -> String {
    let mut list = items(present);
    if append {
        list.extend(items(change));
        return items(&list.join(",")).join(",");
    }
    let gone: BTreeSet<&str> = items(change).into_iter().collect();
    list.retain(|item| !gone.contains(item));
    list.join(",")
}

/// A resource that exists, or needs not to.
struct Target(Resource);

impl Target {
    fn find(image: &Image, kind: i8, name: &str) -> Result<Self, Refusal> {
        let named = |what: &str| {
            if name.is_empty() {
                Err(Refusal::invalid_request(format!("Default {what} resources are not allowed")))
            } else {
                Ok(())
            }
        };
        match kind {
            2 => {
                named("topic")?;
                topic_name::check(name)
                    .map_err(|why| Refusal::new(ErrorCode::INVALID_TOPIC_EXCEPTION, why))?;
                if image.topic(name).is_none() {
                    let message = format!("The topic '{name}' does not exist");
                    return Err(Refusal::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, message));
                }
                Ok(Self(Resource::Topic(name.to_owned())))
            }
            4 => {
                if !name.is_empty() && name.parse() != Ok(image.node_id()) {
                    let message = format!(
                        "Unexpected broker id, expected {} or empty string, but received {name}",
                        image.node_id()
                    );
                    return Err(Refusal::invalid_request(message));
                }
                Ok(Self(Resource::Broker(name.to_owned())))
            }
            16 => named("client metrics").map(|()| Self(Resource::ClientMetrics(name.to_owned()))),
            32 => named("group").map(|()| Self(Resource::Group(name.to_owned()))),
            _ => Err(Refusal::invalid_request(format!("Unexpected resource type {kind}"))),
        }
    }

    /// Its dynamic settings now.
    fn configs(&self, image: &Image) -> Configs {
        let configs = match &self.0 {
            Resource::Topic(name) => image.topic(name).map(|topic| &topic.configs),
            Resource::Broker(name) => image.dynamic_configs(name),
            Resource::Group(id) => image.group_configs(id),
            Resource::ClientMetrics(name) => image.client_metrics(name),
        };
        configs.cloned().unwrap_or_default()
    }

    /// The row of a setting that can be appended to.
    fn list_row(&self, op: &ConfigOp) -> Result<&'static Row, Refusal> {
        let row = match &self.0 {
            Resource::Topic(_) => row(Scope::Topic, &op.name),
            Resource::Broker(_) => broker_row(&op.name),
            Resource::Group(_) => row(Scope::Group, &op.name),
            // K-6: Kafka knows no lists here.
            Resource::ClientMetrics(_) => None,
        };
        row.filter(|row| row.kind == Kind::List).ok_or_else(|| {
            let verb = if op.op == 2 { "APPEND" } else { "SUBTRACT" };
            Refusal::invalid_config(format!("Can't {verb} to key {} because its type is not LIST", op.name))
        })
    }

    fn value(&self, image: &Image, key: &str, value: &str) -> Result<String, Refusal> {
        match &self.0 {
            Resource::Topic(_) => validate::topic_value(key, value),
            Resource::Broker(name) => validate::broker_value(name, key, value),
            Resource::Group(_) => validate::group_value(image.broker_configs(), key, value),
            Resource::ClientMetrics(_) => validate::client_metrics_value(key, value),
        }
    }

    fn check(&self, image: &Image, configs: &Configs) -> Result<(), Refusal> {
        let broker = image.broker_configs();
        match &self.0 {
            Resource::Topic(_) => validate::topic_set(broker, configs),
            Resource::Broker(_) => validate::broker_set(broker, configs),
            Resource::Group(_) => validate::group_set(broker, configs),
            Resource::ClientMetrics(_) => Ok(()),
        }
    }

    /// What leads from the present settings to these.
    fn entries(&self, image: &Image, configs: &Configs) -> Vec<Entry> {
        let present = self.configs(image);
        let entry = |key: &String, value: Option<String>| Entry::Config {
            resource: self.0.clone(),
            key: key.clone(),
            value,
        };
        let removed = present.keys().filter(|key| !configs.contains_key(*key)).map(|key| entry(key, None));
        let changed = configs.iter().filter(|(key, value)| present.get(*key) != Some(*value));
        removed.chain(changed.map(|(key, value)| entry(key, Some(value.clone())))).collect()
    }
}
