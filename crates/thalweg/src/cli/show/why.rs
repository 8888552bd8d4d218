//! `thalweg groups why`: one page that says what a group waits for.

use std::fmt::Write as _;

use coordinator::group::why::span;
use wire::ExplainGroupResponse;
use wire::explain_group::response::{Finding, Member, TaskIds, Tasks, Topic};
use wire::json::Json;

use super::json::{known, list, object, text, text_or_null, texts, time};
use super::{NOTHING, clock, events, indented, or_nothing, short_ids, table, wrapped};

/// Type of groups whose members have tasks and processes; those of other types have partitions and clients.
const STREAMS: &str = "streams";
/// Type of groups that have generations.
const CLASSIC: &str = "classic";
/// Members of a page for people; the others are counted.
const MEMBERS_MAX: usize = 30;
const EVENTS_SHOWN: usize = 12;

pub(in crate::cli) fn text_page(it: &ExplainGroupResponse) -> String {
    let mut out =
        format!("{}  {}  {}{}\n", it.group_id, it.group_type, it.group_state, ago(it, it.state_since));
    match &*it.group_type.to_str() {
        _ if it.group_epoch < 0 => {}
        CLASSIC => {
            let _ = writeln!(out, "generation: {}", it.group_epoch);
        }
        _ => out.push_str(&epochs(it)),
    }
    for finding in &it.findings {
        out.push('\n');
        out.push_str(&finding_text(it, finding));
    }
    if !it.members.is_empty() {
        out.push_str("\nmembers\n");
        out.push_str(&indented(&members(it)));
    }
    let wrong: Vec<_> = it.topics.iter().filter(|it| it.found < 0 || !fits(it)).collect();
    if !wrong.is_empty() {
        out.push_str("\ntopics that are not in order\n");
        out.push_str(&indented(&topics(&wrong)));
    }
    if !it.events.is_empty() {
        out.push_str("\nlast events (UTC)\n");
        let skipped = it.events.len().saturating_sub(EVENTS_SHOWN);
        for event in it.events.iter().skip(skipped) {
            let _ = writeln!(out, "  {}", events::line(event, false));
        }
    }
    out
}

/// ` since 4 min 2 s (10:31:05.210Z)`, or nothing if unknown.
fn ago(it: &ExplainGroupResponse, since: i64) -> String {
    if since < 0 { String::new() } else { format!("  since {} ({}Z)", span(it.now - since), clock(since)) }
}

fn epochs(it: &ExplainGroupResponse) -> String {
    let members = it.members.iter().map(|it| it.epoch);
    let members = match (members.clone().min(), members.max()) {
        (Some(low), Some(high)) if low == high => format!(", members {low}"),
        (Some(low), Some(high)) => format!(", members {low} to {high}"),
        _ => String::new(),
    };
    let topology = match it.topology_epoch {
        ..0 => String::new(),
        epoch => format!(", topology {epoch}"),
    };
    format!("epochs: group {}, target {}{members}{topology}\n", it.group_epoch, it.assignment_epoch)
}

fn is_streams(it: &ExplainGroupResponse) -> bool {
    it.group_type == *STREAMS
}

/// Stands between the subtopology, or topic, and the number.
fn joint(it: &ExplainGroupResponse) -> char {
    if is_streams(it) { '_' } else { '-' }
}

fn finding_text(it: &ExplainGroupResponse, finding: &Finding) -> String {
    let mut out = format!(
        "{}  {}{}\n",
        finding.severity.to_string().to_uppercase(),
        finding.code,
        ago(it, finding.since)
    );
    out.push_str(&wrapped(&finding.sentence.to_str(), "  "));
    if !finding.advice.is_empty() {
        out.push_str(&wrapped(&format!("> {}", finding.advice), "  "));
    }
    out
}

fn members(it: &ExplainGroupResponse) -> String {
    let ids = it.members.iter().flat_map(|it| [it.member_id.to_string(), it.process_id.to_string()]);
    let ids: Vec<String> = ids.collect();
    let short = short_ids(ids.iter().map(String::as_str));
    let name = |id: &wire::Str| short.get(&*id.to_str()).cloned().unwrap_or_else(|| id.to_string());
    let row = |member: &Member| {
        let host = member.client_host.to_string();
        let heard = if member.last_heartbeat < 0 {
            NOTHING.to_owned()
        } else {
            format!("{} ago", span(it.now - member.last_heartbeat))
        };
        [
            name(&member.member_id),
            if is_streams(it) { name(&member.process_id) } else { member.client_id.to_string() },
            host.trim_start_matches('/').to_owned(),
            member.epoch.to_string(),
            heard,
            tasks_text(&member.assigned, joint(it)),
            tasks_text(&member.pending, joint(it)),
            waits(member, joint(it), &name),
        ]
    };
    let rows: Vec<_> = it.members.iter().take(MEMBERS_MAX).map(row).collect();
    let runs = if is_streams(it) { "PROCESS" } else { "CLIENT" };
    let epoch = if it.group_type == *CLASSIC { "GENERATION" } else { "EPOCH" };
    let header = ["MEMBER", runs, "HOST", epoch, "HEARD", "HAS", "GIVES UP", "WAITS FOR"];
    let mut out = table(header, &rows);
    if it.members.len() > MEMBERS_MAX {
        let _ = writeln!(out, "and {} more", it.members.len() - MEMBERS_MAX);
    }
    out
}

/// `0_0 0_1 S:0_2 W:0_3`; standbys and warm-ups are marked.
fn tasks_text(tasks: &Tasks, joint: char) -> String {
    const SHOWN: usize = 8;
    let roles = [("", &tasks.active), ("S:", &tasks.standby), ("W:", &tasks.warmup)];
    let names =
        roles.iter().flat_map(|(mark, tasks)| task_names(tasks, joint).map(move |it| format!("{mark}{it}")));
    let names: Vec<_> = names.collect();
    match names.split_at_checked(SHOWN) {
        Some((first, rest)) if !rest.is_empty() => format!("{} +{}", first.join(" "), rest.len()),
        Some(_) | None => or_nothing(names.join(" ")),
    }
}

fn task_names(tasks: &[TaskIds], joint: char) -> impl Iterator<Item = String> {
    let name = move |id: &wire::Str, partition: &i32| format!("{id}{joint}{partition}");
    tasks
        .iter()
        .flat_map(move |it| it.partitions.iter().map(move |partition| name(&it.subtopology_id, partition)))
}

fn waits(member: &Member, joint: char, name: &impl Fn(&wire::Str) -> String) -> String {
    const SHOWN: usize = 3;
    let texts: Vec<_> = member
        .waits_for
        .iter()
        .filter(|it| !it.holders.is_empty())
        .map(|it| {
            let holders: Vec<_> = it.holders.iter().map(name).collect();
            format!("{}{joint}{} of {}", it.subtopology_id, it.partition, holders.join(","))
        })
        .collect();
    match texts.split_at_checked(SHOWN) {
        Some((first, rest)) if !rest.is_empty() => format!("{} +{}", first.join(", "), rest.len()),
        Some(_) | None => or_nothing(texts.join(", ")),
    }
}

fn fits(it: &Topic) -> bool {
    it.wanted < 0 || it.wanted == it.found
}

fn topics(topics: &[&Topic]) -> String {
    let count = |it: i32| if it < 0 { NOTHING.to_owned() } else { it.to_string() };
    let row = |it: &&Topic| {
        let state = if it.found < 0 { "MISSING" } else { "WRONG PARTITIONS" };
        [
            it.name.to_string(),
            if it.subtopology_id.is_empty() {
                it.role.to_string()
            } else {
                format!("{} of {}", it.role, it.subtopology_id)
            },
            count(it.wanted),
            count(it.found),
            state.to_owned(),
        ]
    };
    let rows: Vec<_> = topics.iter().map(row).collect();
    table(["TOPIC", "ROLE", "WANTED", "HAS", "STATE"], &rows)
}

pub(in crate::cli) fn json_page(it: &ExplainGroupResponse) -> Json {
    object([
        ("group", text(&it.group_id)),
        ("type", text(&it.group_type)),
        ("state", text(&it.group_state)),
        ("stateSince", time(it.state_since)),
        ("now", time(it.now)),
        ("loadedAt", time(it.loaded_at)),
        ("groupEpoch", known(it.group_epoch)),
        ("assignmentEpoch", known(it.assignment_epoch)),
        ("topologyEpoch", known(it.topology_epoch)),
        ("endpointEpoch", known(it.endpoint_epoch)),
        ("findings", list(&it.findings, finding_json)),
        ("members", list(&it.members, |member| member_json(member, it))),
        ("topics", list(&it.topics, topic_json)),
        ("events", list(&it.events, events::json)),
    ])
}

fn finding_json(it: &Finding) -> Json {
    object([
        ("code", text(&it.code)),
        ("severity", text(&it.severity)),
        ("sentence", text(&it.sentence)),
        ("advice", text_or_null(&it.advice)),
        ("since", time(it.since)),
        ("until", time(it.until)),
        ("members", texts(&it.members)),
        ("tasks", texts(&it.tasks)),
        ("topics", texts(&it.topics)),
    ])
}

/// Where other groups have partitions, the names are those of streams groups: so there is one form.
fn member_json(it: &Member, group: &ExplainGroupResponse) -> Json {
    let joint = joint(group);
    object([
        ("member", text(&it.member_id)),
        ("instance", it.instance_id.as_ref().map_or(Json::Null, text_or_null)),
        ("process", text_or_null(&it.process_id)),
        ("clientId", text(&it.client_id)),
        ("clientHost", text(&it.client_host)),
        ("state", text(&it.state)),
        ("epoch", known(it.epoch)),
        ("topologyEpoch", known(it.topology_epoch)),
        ("lastHeartbeat", time(it.last_heartbeat)),
        ("sessionEnds", time(it.session_ends)),
        ("revokeSince", time(it.revoke_since)),
        ("revokeUntil", time(it.revoke_until)),
        ("assigned", tasks_json(&it.assigned, joint)),
        ("pending", tasks_json(&it.pending, joint)),
        ("target", tasks_json(&it.target, joint)),
        (
            "waitsFor",
            list(&it.waits_for, |it| {
                object([
                    ("task", text(format!("{}{joint}{}", it.subtopology_id, it.partition))),
                    ("role", text(&it.role)),
                    ("holders", texts(&it.holders)),
                ])
            }),
        ),
    ])
}

fn tasks_json(it: &Tasks, joint: char) -> Json {
    let names = |tasks: &[TaskIds]| texts(&task_names(tasks, joint).collect::<Vec<_>>());
    object([("active", names(&it.active)), ("standby", names(&it.standby)), ("warmup", names(&it.warmup))])
}

fn topic_json(it: &Topic) -> Json {
    object([
        ("topic", text(&it.name)),
        ("subtopology", text_or_null(&it.subtopology_id)),
        ("role", text(&it.role)),
        ("wantedPartitions", known(it.wanted)),
        ("partitions", known(it.found)),
    ])
}
