//! The compact form of tasks and topologies.

use wire::streams_group_heartbeat::request::{
    CopartitionGroup, KeyValue, Subtopology, TaskIds, TaskOffset, TopicInfo, Topology,
};
use wire::{Str, consumer_offsets::StreamsGroupTopologyValue};

use crate::args::{Parsed, number};

/// `0_0,0_1,1_0`; `-` is the empty list.
pub(crate) fn tasks(text: &str) -> Parsed<Vec<TaskIds>> {
    let mut tasks: Vec<TaskIds> = Vec::new();
    for (subtopology, partition) in each_task(text)? {
        match tasks.iter_mut().find(|it| it.subtopology_id == subtopology) {
            Some(it) => it.partitions.push(partition),
            None => tasks.push(TaskIds {
                subtopology_id: subtopology.into(),
                partitions: vec![partition],
                ..Default::default()
            }),
        }
    }
    Ok(tasks)
}

fn each_task(text: &str) -> Parsed<Vec<(&str, i32)>> {
    let tasks = text.split(',').filter(|it| !matches!(*it, "-" | ""));
    tasks
        .map(|it| {
            let (id, partition) = it.rsplit_once('_').ok_or_else(|| format!("not a task: {it:?}"))?;
            Ok((id, number(partition)?))
        })
        .collect()
}

/// `0_0:100,0_1:7`; `-` is the empty list.
pub(crate) fn task_offsets(text: &str) -> Parsed<Vec<TaskOffset>> {
    let offsets = text.split(',').filter(|it| !matches!(*it, "-" | ""));
    offsets
        .map(|it| {
            let (task, offset) = it.split_once(':').ok_or_else(|| format!("no offset: {it:?}"))?;
            let task = each_task(task)?.into_iter().next();
            let (id, partition) = task.ok_or_else(|| format!("not a task: {it:?}"))?;
            Ok(TaskOffset {
                subtopology_id: id.into(),
                partition,
                offset: number(offset)?,
                ..Default::default()
            })
        })
        .collect()
}

/// `0_0,0_1`, with their epochs `0_0@1` where those are given; `-` if there are none.
pub(crate) fn show_tasks<'a>(
    lists: impl IntoIterator<Item = (&'a Str, &'a [i32], Option<&'a Vec<i32>>)>,
) -> String {
    let mut out = Vec::new();
    for (id, partitions, epochs) in lists {
        for (at, partition) in partitions.iter().enumerate() {
            let epoch = epochs.and_then(|it| it.get(at)).map_or_else(String::new, |it| format!("@{it}"));
            out.push(format!("{id}_{partition}{epoch}"));
        }
    }
    if out.is_empty() { "-".to_owned() } else { out.join(",") }
}

/// `EPOCH:SUBTOPOLOGY;SUBTOPOLOGY…`, each `ID=ITEM,ITEM…`; `1:in` is short for `1:0=in`. Items:
/// `t` source, `/r` source by regular expression, `>t` repartition sink, `<t` or `<t*4` repartition
/// source (with its number of partitions), `~t` changelog, `&a&b` sources that are copartitioned
/// (`<` marks repartition sources). `<` and `~` may go on with `^3` (replication) and `!k:v` (config).
pub(crate) fn topology(text: &str) -> Parsed<Topology> {
    let (epoch, list) = text.split_once(':').ok_or("a topology is EPOCH:SUBTOPOLOGIES")?;
    let subtopologies = list.split(';').filter(|it| !it.is_empty()).map(subtopology);
    Ok(Topology {
        epoch: number(epoch)?,
        subtopologies: subtopologies.collect::<Parsed<_>>()?,
        ..Default::default()
    })
}

fn subtopology(text: &str) -> Parsed<Subtopology> {
    let (id, items) = text.split_once('=').unwrap_or(("0", text));
    let mut parsed = Subtopology { subtopology_id: id.into(), ..Default::default() };
    for item in items.split(',').filter(|it| !it.is_empty()) {
        let rest = item.get(1..).unwrap_or_default();
        match item.as_bytes().first() {
            Some(b'/') => parsed.source_topic_regex.push(rest.into()),
            Some(b'>') => parsed.repartition_sink_topics.push(rest.into()),
            Some(b'<') => parsed.repartition_source_topics.push(topic_info(rest)?),
            Some(b'~') => parsed.state_changelog_topics.push(topic_info(rest)?),
            Some(b'&') => {
                let group = copartition(&parsed, rest)?;
                parsed.copartition_groups.push(group);
            }
            Some(_) | None => parsed.source_topics.push(item.into()),
        }
    }
    Ok(parsed)
}

fn topic_info(text: &str) -> Parsed<TopicInfo> {
    let mut parts = text.split('!');
    let head = parts.next().unwrap_or_default();
    let (head, replication) = head.split_once('^').unwrap_or((head, "0"));
    let (name, partitions) = head.split_once('*').unwrap_or((head, "0"));
    let config = |it: &str| {
        let (key, value) = it.split_once(':').ok_or_else(|| format!("not key:value: {it:?}"))?;
        Ok(KeyValue { key: key.into(), value: value.into(), ..Default::default() })
    };
    Ok(TopicInfo {
        name: name.into(),
        partitions: number(partitions)?,
        replication_factor: number(replication)?,
        topic_configs: parts.map(config).collect::<Parsed<_>>()?,
        ..Default::default()
    })
}

/// Places of the named topics in the lists that stand before the group.
fn copartition(of: &Subtopology, text: &str) -> Parsed<CopartitionGroup> {
    let mut group = CopartitionGroup::default();
    let place = |at: Option<usize>, name: &str| {
        let at = at.ok_or_else(|| format!("{name:?} is no source before its copartition group"))?;
        i16::try_from(at).map_err(|error| error.to_string())
    };
    for name in text.split('&') {
        if let Some(name) = name.strip_prefix('<') {
            let at = of.repartition_source_topics.iter().position(|it| it.name == name);
            group.repartition_source_topics.push(place(at, name)?);
        } else {
            let at = of.source_topics.iter().position(|it| it.as_bytes() == name.as_bytes());
            group.source_topics.push(place(at, name)?);
        }
    }
    Ok(group)
}

/// The form that [`topology`] reads, of the record.
pub(crate) fn show_topology(value: &StreamsGroupTopologyValue) -> String {
    let subtopologies = value.subtopologies.iter().map(|it| {
        let info = |mark: char, name: &Str, partitions: i32, replication: i16| {
            let partitions = if partitions == 0 { String::new() } else { format!("*{partitions}") };
            let replication = if replication == 0 { String::new() } else { format!("^{replication}") };
            format!("{mark}{name}{partitions}{replication}")
        };
        let mut items: Vec<String> = it.source_topics.iter().map(ToString::to_string).collect();
        items.extend(it.source_topic_regex.iter().map(|name| format!("/{name}")));
        items.extend(it.repartition_sink_topics.iter().map(|name| format!(">{name}")));
        for (mark, infos) in [('<', &it.repartition_source_topics), ('~', &it.state_changelog_topics)] {
            items.extend(infos.iter().map(|topic| {
                let configs = topic.topic_configs.iter().map(|it| format!("!{}:{}", it.key, it.value));
                let head = info(mark, &topic.name, topic.partitions, topic.replication_factor);
                head + &configs.collect::<String>()
            }));
        }
        items.extend(it.copartition_groups.iter().map(|group| {
            let at = |at: &i16| usize::try_from(*at).unwrap_or(usize::MAX);
            let sources = group.source_topics.iter().map(|index| it.source_topics.get(at(index)));
            let sources = sources.map(|it| format!("&{}", it.map_or_else(|| "?".into(), Str::to_str)));
            let repartition = group.repartition_source_topics.iter();
            let repartition = repartition.map(|index| it.repartition_source_topics.get(at(index)));
            let repartition =
                repartition.map(|it| format!("&<{}", it.map_or_else(|| "?".into(), |it| it.name.to_str())));
            sources.chain(repartition).collect()
        }));
        format!("{}={}", it.subtopology_id, items.join(","))
    });
    format!("{}:{}", value.epoch, subtopologies.collect::<Vec<_>>().join(";"))
}
