//! `thalweg streams endpoints`: where interactive queries find which partitions.

use std::collections::{BTreeMap, BTreeSet};

use wire::json::Json;
use wire::streams_group_describe::response::{DescribedGroup, TaskIds};

use super::json::{list, object, text, texts};
use super::{numbers, or_nothing, table};

type Partitions = BTreeMap<String, BTreeSet<i32>>;

/// What is found at one `host:port`.
#[derive(Debug, Default)]
struct Endpoint {
    active: Partitions,
    /// Standbys and warm-ups.
    standby: Partitions,
    processes: BTreeSet<String>,
    members: Vec<String>,
}

fn endpoints(group: &DescribedGroup) -> BTreeMap<String, Endpoint> {
    let mut endpoints: BTreeMap<String, Endpoint> = BTreeMap::new();
    for member in &group.members {
        let Some(address) = &member.user_endpoint else { continue };
        let endpoint = endpoints.entry(format!("{}:{}", address.host, address.port)).or_default();
        let has = &member.assignment;
        add(group, &has.active_tasks, &mut endpoint.active);
        add(group, &has.standby_tasks, &mut endpoint.standby);
        add(group, &has.warmup_tasks, &mut endpoint.standby);
        endpoint.processes.insert(member.process_id.to_string());
        endpoint.members.push(member.member_id.to_string());
    }
    endpoints
}

/// The partitions that tasks read: of each topic of their subtopology that with their number.
fn add(group: &DescribedGroup, tasks: &[TaskIds], to: &mut Partitions) {
    let subtopologies = group.topology.iter().flat_map(|it| it.subtopologies.iter().flatten());
    for subtopology in subtopologies {
        let tasks = tasks.iter().filter(|it| it.subtopology_id == subtopology.subtopology_id);
        let partitions: Vec<i32> = tasks.flat_map(|it| it.partitions.iter().copied()).collect();
        if partitions.is_empty() {
            continue;
        }
        let internal = subtopology.repartition_source_topics.iter().map(|it| &it.name);
        for topic in subtopology.source_topics.iter().chain(internal) {
            to.entry(topic.to_string()).or_default().extend(&partitions);
        }
    }
}

pub(in crate::cli) fn text_page(group: &DescribedGroup) -> String {
    let partitions = |partitions: &Partitions| {
        let texts = partitions.iter().map(|(topic, numbers)| {
            format!("{topic}:{}", self::numbers(&numbers.iter().copied().collect::<Vec<_>>()))
        });
        or_nothing(texts.collect::<Vec<_>>().join(" "))
    };
    let rows: Vec<_> = endpoints(group)
        .iter()
        .map(|(address, it)| {
            let active = partitions(&it.active);
            [address.clone(), it.members.len().to_string(), active, partitions(&it.standby)]
        })
        .collect();
    if group.members.is_empty() {
        return "The group has no members, so there are no endpoints.\n".to_owned();
    }
    if rows.is_empty() {
        return "No member tells an endpoint: the application does not set application.server.\n".to_owned();
    }
    table(["ENDPOINT", "THREADS", "ACTIVE", "STANDBY"], &rows)
}

pub(in crate::cli) fn json_page(group: &DescribedGroup) -> Json {
    let partitions = |partitions: &Partitions| {
        let partitions: Vec<_> = partitions.iter().collect();
        list(&partitions, |(topic, numbers)| {
            let numbers: Vec<_> = numbers.iter().copied().collect();
            object([("topic", text(topic)), ("partitions", list(&numbers, |it| super::json::number(*it)))])
        })
    };
    let endpoints: Vec<_> = endpoints(group).into_iter().collect();
    let endpoints = list(&endpoints, |(address, it)| {
        object([
            ("endpoint", text(address)),
            ("processes", texts(&it.processes.iter().collect::<Vec<_>>())),
            ("members", texts(&it.members)),
            ("active", partitions(&it.active)),
            ("standby", partitions(&it.standby)),
        ])
    });
    object([("group", text(&group.group_id)), ("endpoints", endpoints)])
}
