//! `thalweg streams tasks`: who runs each task in which role, how far it is behind, and where it goes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use wire::json::Json;
use wire::streams_group_describe::response::{
    DescribedGroup, Member, Subtopology, TaskIds, TaskOffset, TopicInfo,
};
use wire::{Str, explain_group};

use super::json::{list, number_or_null, object, text, texts};
use super::{NOTHING, or_nothing, short_ids, table};

/// Offsets that say something. A client that does not know an end yet sends the largest number, one that does not know
/// where it is a negative one.
const KNOWN: Range<i64> = 0..i64::MAX;

/// A partition of a topic.
pub(in crate::cli) type TopicPartition = (String, i32);

/// What is known of tasks beside the description of their group: of the topics that they read, and of who gives them up.
#[derive(Debug, Default)]
pub(in crate::cli) struct Inputs {
    /// Number of partitions of each topic.
    pub partitions: BTreeMap<String, i32>,
    pub committed: BTreeMap<TopicPartition, i64>,
    /// Also of changelogs.
    pub ends: BTreeMap<TopicPartition, i64>,
    /// What members were told to give up and have not; none if the broker does not tell.
    pub pending: Option<BTreeMap<Str, explain_group::response::Tasks>>,
}

impl Inputs {
    /// Records of a partition that are not processed yet; none if nobody can tell.
    fn lag(&self, it: &TopicPartition) -> Option<i64> {
        match (*self.ends.get(it)?, self.committed.get(it)) {
            (end, Some(committed)) => Some((end - committed).max(0)),
            // Nothing was ever written, so nothing can be committed.
            (0, None) => Some(0),
            (_, None) => None,
        }
    }
}

/// Where a task is: process and member.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli) struct Place {
    pub process: String,
    pub member: String,
}

/// Who has a task, by role.
#[derive(Debug, Default)]
pub(in crate::cli) struct Holders {
    pub active: BTreeSet<Place>,
    pub standby: BTreeSet<Place>,
    pub warmup: BTreeSet<Place>,
}

#[derive(Debug, Default)]
pub(in crate::cli) struct Row {
    pub has: Holders,
    /// Who was told to give it up and has not.
    pub revoking: Holders,
    /// Who shall have it as active.
    pub goes_to: BTreeSet<Place>,
    pub inputs: Vec<TopicPartition>,
    /// Records that are not processed yet; none if some input has no committed offset.
    pub lag: Option<i64>,
    /// The largest distance of a standby or warm-up from the end of its changelogs.
    pub changelog_lag: Option<i64>,
}

type Rows = BTreeMap<(String, i32), Row>;

/// Rows by subtopology and partition.
pub(in crate::cli) fn rows(group: &DescribedGroup, inputs: &Inputs) -> Rows {
    let mut rows = Rows::new();
    for subtopology in subtopologies(group) {
        let topics: Vec<String> = topics(subtopology).map(ToString::to_string).collect();
        let count = topics.iter().filter_map(|it| inputs.partitions.get(it)).max().copied().unwrap_or(0);
        for partition in 0..count {
            let has = |topic: &&String| inputs.partitions.get(*topic).is_some_and(|count| partition < *count);
            let read: Vec<_> = topics.iter().filter(has).map(|it| (it.clone(), partition)).collect();
            let lag = read.iter().map(|it| inputs.lag(it));
            let row = rows.entry((subtopology.subtopology_id.to_string(), partition)).or_default();
            row.lag = lag.sum();
            row.inputs = read;
        }
    }
    for member in &group.members {
        let (has, target) = (&member.assignment, &member.target_assignment);
        put(&mut rows, &has.active_tasks, member, |it| &mut it.has.active);
        put(&mut rows, &has.standby_tasks, member, |it| &mut it.has.standby);
        put(&mut rows, &has.warmup_tasks, member, |it| &mut it.has.warmup);
        put(&mut rows, &target.active_tasks, member, |it| &mut it.goes_to);
        if let Some(pending) = inputs.pending.as_ref().and_then(|it| it.get(&member.member_id)) {
            put(&mut rows, &pending.active, member, |it| &mut it.revoking.active);
            put(&mut rows, &pending.standby, member, |it| &mut it.revoking.standby);
            put(&mut rows, &pending.warmup, member, |it| &mut it.revoking.warmup);
        }
        follow(&mut rows, group, inputs, member);
    }
    rows
}

/// Writes a member into the rows of its tasks.
fn put(rows: &mut Rows, tasks: &[impl Ids], member: &Member, pick: fn(&mut Row) -> &mut BTreeSet<Place>) {
    let place = Place { process: member.process_id.to_string(), member: member.member_id.to_string() };
    for task in task_keys(tasks) {
        pick(rows.entry(task).or_default()).insert(place.clone());
    }
}

/// How far a member's copies are behind their changelogs: by the end that it told, or, as long as it knows none, by the
/// broker's. Of a warm-up that it told nothing of yet nothing is restored.
fn follow(rows: &mut Rows, group: &DescribedGroup, inputs: &Inputs, member: &Member) {
    let key = |it: &TaskOffset| (it.subtopology_id.to_string(), it.partition);
    let known = |offsets: &[TaskOffset]| -> BTreeMap<_, _> {
        offsets.iter().filter(|it| KNOWN.contains(&it.offset)).map(|it| (key(it), it.offset)).collect()
    };
    let (ends, offsets) = (known(&member.task_end_offsets), known(&member.task_offsets));
    let is_told = |task: &(String, i32)| member.task_offsets.iter().any(|it| key(it) == *task);
    let has = &member.assignment;
    let standbys = task_keys(&has.standby_tasks).map(|it| (it, None));
    let warmups = task_keys(&has.warmup_tasks).map(|it| (it, Some(0)));
    for (task, untold) in standbys.chain(warmups) {
        let offset = offsets.get(&task).copied().or_else(|| untold.filter(|_| !is_told(&task)));
        let end = ends.get(&task).copied().or_else(|| changelog_end(group, inputs, &task));
        let (Some(end), Some(offset)) = (end, offset) else { continue };
        let row = rows.entry(task).or_default();
        row.changelog_lag = row.changelog_lag.max(Some((end - offset).max(0)));
    }
}

/// Where the changelogs of a task end, added up as a client adds up where it is; none if one of them can't be asked.
fn changelog_end(
    group: &DescribedGroup,
    inputs: &Inputs,
    (subtopology, partition): &(String, i32),
) -> Option<i64> {
    let subtopology = subtopologies(group).find(|it| it.subtopology_id == **subtopology)?;
    let changelogs = &subtopology.state_changelog_topics;
    let end = |it: &TopicInfo| inputs.ends.get(&(it.name.to_string(), *partition)).copied();
    changelogs.iter().map(end).sum::<Option<i64>>().filter(|_| !changelogs.is_empty())
}

fn subtopologies(group: &DescribedGroup) -> impl Iterator<Item = &Subtopology> {
    group.topology.iter().flat_map(|it| it.subtopologies.iter().flatten())
}

/// The topics that a subtopology reads.
fn topics(subtopology: &Subtopology) -> impl Iterator<Item = &Str> {
    subtopology.source_topics.iter().chain(subtopology.repartition_source_topics.iter().map(|it| &it.name))
}

/// All topics whose ends tell something of the group's tasks: those that they read, and changelogs.
pub(in crate::cli) fn followed_topics(group: &DescribedGroup) -> BTreeSet<Str> {
    let changelogs = subtopologies(group).flat_map(|it| &it.state_changelog_topics).map(|it| &it.name);
    subtopologies(group).flat_map(topics).chain(changelogs).cloned().collect()
}

/// Tasks of a subtopology, as different answers have them.
trait Ids {
    fn ids(&self) -> (&Str, &[i32]);
}

impl Ids for TaskIds {
    fn ids(&self) -> (&Str, &[i32]) {
        (&self.subtopology_id, &self.partitions)
    }
}

impl Ids for explain_group::response::TaskIds {
    fn ids(&self) -> (&Str, &[i32]) {
        (&self.subtopology_id, &self.partitions)
    }
}

fn task_keys(tasks: &[impl Ids]) -> impl Iterator<Item = (String, i32)> {
    tasks.iter().flat_map(|it| {
        let (subtopology, partitions) = it.ids();
        partitions.iter().map(|partition| (subtopology.to_string(), *partition))
    })
}

pub(in crate::cli) fn text_page(group: &DescribedGroup, inputs: &Inputs) -> String {
    let rows = rows(group, inputs);
    let ids: Vec<String> =
        group.members.iter().flat_map(|it| [it.process_id.to_string(), it.member_id.to_string()]).collect();
    let short = short_ids(ids.iter().map(String::as_str));
    let name = |id: &str| short.get(id).cloned().unwrap_or_else(|| id.to_owned());
    let place = |it: &Place| format!("{}/{}", name(&it.process), name(&it.member));
    let places = |has: &BTreeSet<Place>, revoking: &BTreeSet<Place>| {
        let revoking = revoking.iter().map(|it| format!("[{} revoking]", place(it)));
        has.iter().map(place).chain(revoking).collect::<Vec<_>>().join(", ")
    };
    let number = |it: Option<i64>| it.map_or_else(|| NOTHING.to_owned(), |it| it.to_string());
    let line = |((subtopology, partition), row): (&(String, i32), &Row)| {
        let Row { has, revoking, goes_to, .. } = row;
        let moves = if *goes_to == has.active { String::new() } else { places(goes_to, &BTreeSet::new()) };
        let inputs: Vec<_> =
            row.inputs.iter().map(|(topic, partition)| format!("{topic}-{partition}")).collect();
        [
            format!("{subtopology}_{partition}"),
            or_nothing(places(&has.active, &revoking.active)),
            or_nothing(places(&has.standby, &revoking.standby)),
            or_nothing(places(&has.warmup, &revoking.warmup)),
            or_nothing(moves),
            number(row.lag),
            number(row.changelog_lag),
            or_nothing(inputs.join(" ")),
        ]
    };
    let header = ["TASK", "ACTIVE", "STANDBY", "WARM-UP", "GOES TO", "LAG", "CHANGELOG LAG", "READS"];
    let mut out = table(header, &rows.iter().map(line).collect::<Vec<_>>());
    out.push('\n');
    out.push_str(&processes(group, &name));
    out
}

/// The processes whose short names stand in the table.
fn processes(group: &DescribedGroup, name: &impl Fn(&str) -> String) -> String {
    let mut by_process: BTreeMap<String, Vec<&Member>> = BTreeMap::new();
    for member in &group.members {
        by_process.entry(member.process_id.to_string()).or_default().push(member);
    }
    let count = |members: &[&Member], tasks: fn(&Member) -> &[TaskIds]| {
        members.iter().map(|it| task_keys(tasks(it)).count()).sum::<usize>().to_string()
    };
    let row = |(process, members): (&String, &Vec<&Member>)| {
        let hosts: BTreeSet<_> = members.iter().map(|it| it.client_host.to_string()).collect();
        let hosts: Vec<_> = hosts.iter().map(|it| it.trim_start_matches('/')).collect();
        [
            name(process),
            process.clone(),
            hosts.join(", "),
            members.len().to_string(),
            count(members, |it| &it.assignment.active_tasks),
            count(members, |it| &it.assignment.standby_tasks),
            count(members, |it| &it.assignment.warmup_tasks),
        ]
    };
    let rows: Vec<_> = by_process.iter().map(row).collect();
    table(["PROCESS", "ID", "HOST", "THREADS", "ACTIVE", "STANDBY", "WARM-UP"], &rows)
}

pub(in crate::cli) fn json_page(group: &DescribedGroup, inputs: &Inputs) -> Json {
    let rows: Vec<_> = rows(group, inputs).into_iter().collect();
    let places = |places: &BTreeSet<Place>| {
        let places: Vec<_> = places.iter().collect();
        list(&places, |it| object([("process", text(&it.process)), ("member", text(&it.member))]))
    };
    let tasks = list(&rows, |((subtopology, partition), row)| {
        let Row { has, revoking, .. } = row;
        let pending = || {
            object([
                ("active", places(&revoking.active)),
                ("standby", places(&revoking.standby)),
                ("warmup", places(&revoking.warmup)),
            ])
        };
        object([
            ("task", text(format!("{subtopology}_{partition}"))),
            ("active", places(&has.active)),
            ("standby", places(&has.standby)),
            ("warmup", places(&has.warmup)),
            ("pending", inputs.pending.as_ref().map_or(Json::Null, |_| pending())),
            ("targetActive", places(&row.goes_to)),
            ("lag", number_or_null(row.lag)),
            ("changelogLag", number_or_null(row.changelog_lag)),
            ("reads", texts(&row.inputs.iter().map(|(it, n)| format!("{it}-{n}")).collect::<Vec<_>>())),
        ])
    });
    object([("group", text(&group.group_id)), ("state", text(&group.group_state)), ("tasks", tasks)])
}
