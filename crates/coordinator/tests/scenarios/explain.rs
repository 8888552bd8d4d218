//! `why` and `events`: the question, and its answer as lines.

use std::fmt::{Display, Write as _};

use coordinator::group::GroupRequest;
use wire::explain_group::response::{Event, Finding, Member, TaskIds, Tasks, Topic};
use wire::{ErrorCode, ExplainGroupRequest, ExplainGroupResponse, Str};

use crate::args::{Args, Parsed};
use crate::ask::unquoted;
use crate::clock::since_start;
use crate::tasks::show_tasks;

/// `why G`: state, findings, members and topics.
pub(crate) fn why(args: &mut Args<'_>) -> Parsed<GroupRequest> {
    let group_id = unquoted(args.word("group")?);
    let request = ExplainGroupRequest { group_id, include_state: true, ..Default::default() };
    Ok(GroupRequest::ExplainGroup(ExplainGroupRequest { after_sequence: -1, ..request }))
}

/// `events G`, with `after=` and `max=`.
pub(crate) fn events(args: &mut Args<'_>) -> Parsed<GroupRequest> {
    Ok(GroupRequest::ExplainGroup(ExplainGroupRequest {
        group_id: unquoted(args.word("group")?),
        include_state: false,
        after_sequence: args.number("after")?.unwrap_or(-1),
        max_events: args.number("max")?.unwrap_or(100),
        ..Default::default()
    }))
}

/// Lines of an answer.
pub(crate) fn lines(response: &ExplainGroupResponse) -> Vec<String> {
    if response.error_code != ErrorCode::NONE {
        let message = response.error_message.as_ref().map_or_else(String::new, |it| format!(" {it:?}"));
        return vec![format!("{}{message}", response.error_code.name())];
    }
    let mut lines = Vec::new();
    let mut head = format!("{} {}", response.group_type, response.group_state);
    time(&mut head, "since", response.state_since);
    for (name, epoch) in [("epoch", response.group_epoch), ("assignment-epoch", response.assignment_epoch)] {
        if epoch >= 0 {
            let _ = write!(head, " {name}={epoch}");
        }
    }
    lines.push(head);
    lines.extend(response.findings.iter().map(finding));
    lines.extend(response.members.iter().map(member));
    lines.extend(response.topics.iter().map(topic));
    lines.extend(response.events.iter().map(event));
    lines
}

fn time(line: &mut String, name: &str, time: i64) {
    if time >= 0 {
        let _ = write!(line, " {name}={}", since_start(time));
    }
}

fn list<T: Display>(line: &mut String, name: &str, items: &[T]) {
    if !items.is_empty() {
        let items: Vec<_> = items.iter().map(ToString::to_string).collect();
        let _ = write!(line, " {name}={}", items.join(","));
    }
}

fn finding(it: &Finding) -> String {
    let mut line = format!("  {} {}", it.severity, it.code);
    time(&mut line, "since", it.since);
    time(&mut line, "until", it.until);
    list(&mut line, "members", &it.members);
    list(&mut line, "tasks", &it.tasks);
    list(&mut line, "topics", &it.topics);
    let _ = write!(line, " {:?}", it.sentence);
    if !it.advice.is_empty() {
        let _ = write!(line, " -> {:?}", it.advice);
    }
    line
}

fn member(it: &Member) -> String {
    let mut line = format!("  member {} {} epoch={}", it.member_id, it.state, it.epoch);
    time(&mut line, "heard", it.last_heartbeat);
    time(&mut line, "ends", it.session_ends);
    time(&mut line, "revoke-since", it.revoke_since);
    time(&mut line, "revoke-until", it.revoke_until);
    for (name, tasks) in [("has", &it.assigned), ("pending", &it.pending), ("target", &it.target)] {
        show(&mut line, name, tasks);
    }
    let wait = |it: &wire::explain_group::response::Wait| {
        let holders: Vec<_> = it.holders.iter().map(ToString::to_string).collect();
        format!("{}_{}/{}@{}", it.subtopology_id, it.partition, it.role, holders.join("+"))
    };
    list(&mut line, "waits", &it.waits_for.iter().map(wait).collect::<Vec<_>>());
    line
}

fn show(line: &mut String, name: &str, tasks: &Tasks) {
    let roles = [("", &tasks.active), ("-standby", &tasks.standby), ("-warmup", &tasks.warmup)];
    for (role, tasks) in roles {
        let text = |tasks: &[TaskIds]| {
            show_tasks(tasks.iter().map(|it| (&it.subtopology_id, it.partitions.as_slice(), None)))
        };
        if !tasks.is_empty() {
            let _ = write!(line, " {name}{role}={}", text(tasks));
        }
    }
}

fn topic(it: &Topic) -> String {
    let number = |it: i32| if it < 0 { "-".to_owned() } else { it.to_string() };
    format!(
        "  topic {} {} {} wanted={} found={}",
        it.subtopology_id,
        it.role,
        it.name,
        number(it.wanted),
        number(it.found)
    )
}

fn event(it: &Event) -> String {
    let mut line = format!("  #{} {} {}", it.sequence, since_start(it.time), it.kind);
    if let Some(member) = &it.member_id {
        let _ = write!(line, " {member}");
    }
    let optional = [
        ("epoch", (it.epoch >= 0).then(|| it.epoch.to_string())),
        ("cause", (it.cause != Str::EMPTY).then(|| it.cause.to_string())),
        ("code", (it.error_code != ErrorCode::NONE).then(|| it.error_code.name().to_owned())),
        ("tasks", (it.tasks > 0).then(|| it.tasks.to_string())),
        ("count", (it.count > 1).then(|| it.count.to_string())),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            let _ = write!(line, " {name}={value}");
        }
    }
    if !it.detail.is_empty() {
        let _ = write!(line, " {:?}", it.detail);
    }
    line
}
