//! Commands of classic groups, and the member ids that the broker makes.

use bytes::Bytes;
use coordinator::group::GroupRequest;
use wire::join_group::request::JoinGroupRequestProtocol;
use wire::leave_group::request::MemberIdentity;
use wire::sync_group::request::SyncGroupRequestAssignment;
use wire::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, HeartbeatRequest, JoinGroupRequest,
    LeaveGroupRequest, Message, Reader, Str, SyncGroupRequest, Writer,
    consumer_protocol_assignment as assignment, consumer_protocol_subscription as subscription,
};

use crate::args::{Args, Parsed, number};
use crate::ask::unquoted;

/// Length of a member id of the consumer protocol: the text of a uuid.
const BASE64: usize = 22;
/// Lengths of the groups of hex digits in a member id's random part.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// Random parts of member ids in the order in which they appeared: `client~1` in scripts is `client`
/// with the first one. An id that is random as a whole is `~1`.
#[derive(Default)]
pub(crate) struct MemberIds(Vec<String>);

impl MemberIds {
    /// `client~1` to the id itself.
    pub(crate) fn expand(&self, line: &str) -> String {
        let mut line = line.to_owned();
        for (at, random) in self.0.iter().enumerate().rev() {
            line = line.replace(&format!("~{}", at + 1), random);
        }
        line
    }

    /// The opposite; new ids get the next numbers.
    pub(crate) fn shorten(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        let mut is_word_start = true;
        while let Some(next) = rest.chars().next() {
            let taken = if is_word_start { whole_id(rest) } else { 0 }.max(random_part(rest));
            if taken == 0 {
                is_word_start = !is_of_id(next);
                out.push(next);
                rest = &rest[next.len_utf8()..];
                continue;
            }
            out.push_str(&format!("~{}", self.number(&rest[..taken])));
            rest = &rest[taken..];
            is_word_start = false;
        }
        out
    }

    fn number(&mut self, random: &str) -> usize {
        let known = self.0.iter().position(|it| it == random);
        known.unwrap_or_else(|| {
            self.0.push(random.to_owned());
            self.0.len() - 1
        }) + 1
    }
}

fn is_of_id(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '-' || it == '_'
}

/// Length of a random id that the text begins with, or 0. Words are told apart by their letters.
fn whole_id(text: &str) -> usize {
    let word = &text[..text.find(|it| !is_of_id(it)).unwrap_or(text.len())];
    let has = |what: fn(&u8) -> bool| word.bytes().any(|it| what(&it));
    let is_random = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    if word.len() == BASE64 && is_random { BASE64 } else { 0 }
}

/// Length of `-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` at the beginning of the text, or 0.
fn random_part(text: &str) -> usize {
    let mut at = 0;
    for digits in UUID {
        let Some(group) = text.get(at + 1..at + 1 + digits) else { return 0 };
        if !text.get(at..).is_some_and(|it| it.starts_with('-'))
            || !group.bytes().all(|it| it.is_ascii_hexdigit())
        {
            return 0;
        }
        at += 1 + digits;
    }
    at
}

fn millis(args: &mut Args<'_>, name: &str, default: i64) -> Parsed<i32> {
    let millis = args.duration(name)?.unwrap_or(default);
    i32::try_from(millis).map_err(|it| it.to_string())
}

pub(crate) fn join(args: &mut Args<'_>) -> Parsed<GroupRequest> {
    let group = args.word("group")?;
    let consumer = args.option("topics");
    let (owned, rack, version) =
        (args.option("owned"), args.option("rack"), args.number("meta")?.unwrap_or(1));
    let consumer = consumer.map(|topics| subscription(topics, owned, rack, version)).transpose()?;
    let protocol = |text: &str| {
        let (name, metadata) = text.split_once(':').unwrap_or((text, ""));
        let metadata = consumer.clone().unwrap_or_else(|| Bytes::copy_from_slice(metadata.as_bytes()));
        JoinGroupRequestProtocol { name: name.into(), metadata, ..Default::default() }
    };
    let protocols = args.option("protocols").unwrap_or("range");
    Ok(GroupRequest::JoinGroup(Box::new(JoinGroupRequest {
        group_id: unquoted(group),
        member_id: unquoted(args.rest().first().copied().unwrap_or("''")),
        group_instance_id: args.option("instance").map(Str::from),
        protocol_type: args.option("type").map_or_else(|| "consumer".into(), unquoted),
        protocols: protocols.split(',').filter(|it| *it != "-").map(protocol).collect(),
        session_timeout_ms: millis(args, "session", 10_000)?,
        rebalance_timeout_ms: millis(args, "rebalance", 20_000)?,
        ..Default::default()
    })))
}

/// What a consumer says.
fn subscription(topics: &str, owned: Option<&str>, rack: Option<&str>, version: i16) -> Parsed<Bytes> {
    let owned = named(owned.unwrap_or("-"))?.into_iter();
    Ok(versioned(
        version,
        &ConsumerProtocolSubscription {
            topics: topics.split(',').filter(|it| *it != "-").map(Str::from).collect(),
            owned_partitions: owned
                .map(|(topic, partitions)| subscription::TopicPartition { topic, partitions })
                .collect(),
            rack_id: rack.map(unquoted),
            ..Default::default()
        },
    ))
}

/// What the leader of consumers assigns: `foo:0,1;bar:2`, or `-`; after a `+` the bytes of an assignor.
fn assignment(text: &str) -> Parsed<Bytes> {
    let (topics, user_data) = match text.split_once('+') {
        Some((topics, data)) => (topics, Some(Bytes::copy_from_slice(data.as_bytes()))),
        None => (text, None),
    };
    let assigned = named(topics)?.into_iter();
    let assigned_partitions =
        assigned.map(|(topic, partitions)| assignment::TopicPartition { topic, partitions }).collect();
    Ok(versioned(1, &ConsumerProtocolAssignment { assigned_partitions, user_data }))
}

fn named(text: &str) -> Parsed<Vec<(Str, Vec<i32>)>> {
    let topic = |text: &str| {
        let (topic, partitions) = text.split_once(':').ok_or_else(|| format!("not topic:0,1: {text:?}"))?;
        Ok((topic.into(), partitions.split(',').map(number).collect::<Parsed<_>>()?))
    };
    text.split(';').filter(|it| *it != "-").map(topic).collect()
}

fn versioned(version: i16, it: &impl Message) -> Bytes {
    let mut writer = Writer::new();
    writer.i16(version);
    it.encode(&mut writer, version.clamp(0, 3)).expect("it fits");
    writer.into_bytes()
}

/// An assignment as `v1=foo:0,1`, if it is one of consumers.
pub(crate) fn assigned(bytes: &Bytes) -> Option<String> {
    let version = i16::from_be_bytes(*bytes.first_chunk()?);
    let it = ConsumerProtocolAssignment::decode(&mut Reader::new(bytes.slice(2..)), version).ok()?;
    if versioned(version, &it) != *bytes {
        return None;
    }
    let topics = it.assigned_partitions.iter();
    let topics: Vec<_> =
        topics.map(|it| format!("{}:{:?}", it.topic, it.partitions).replace(['[', ']', ' '], "")).collect();
    let data = it.user_data.map(|it| format!("+{}", String::from_utf8_lossy(&it))).unwrap_or_default();
    Some(format!("v{version}={}{data}", if topics.is_empty() { "-".into() } else { topics.join(";") }))
}

pub(crate) fn sync(args: &mut Args<'_>) -> Parsed<GroupRequest> {
    let (group, member) = (args.word("group")?, args.word("member")?);
    let given = |word: &str| {
        let (member, text) = word.split_once(':').ok_or_else(|| format!("not member:text: {word:?}"))?;
        Ok(SyncGroupRequestAssignment {
            member_id: member.into(),
            assignment: match text.strip_prefix('=') {
                Some(text) => assignment(text)?,
                None => Bytes::copy_from_slice(text.as_bytes()),
            },
            ..Default::default()
        })
    };
    Ok(GroupRequest::SyncGroup(Box::new(SyncGroupRequest {
        group_id: unquoted(group),
        member_id: unquoted(member),
        generation_id: args.number("gen")?.ok_or("gen= is missing")?,
        group_instance_id: args.option("instance").map(Str::from),
        protocol_type: args.option("type").map(Str::from),
        protocol_name: args.option("protocol").map(Str::from),
        assignments: args.rest().into_iter().map(given).collect::<Parsed<_>>()?,
        ..Default::default()
    })))
}

pub(crate) fn heartbeat(args: &mut Args<'_>) -> Parsed<GroupRequest> {
    Ok(GroupRequest::Heartbeat(HeartbeatRequest {
        group_id: unquoted(args.word("group")?),
        member_id: unquoted(args.word("member")?),
        generation_id: args.number("gen")?.ok_or("gen= is missing")?,
        group_instance_id: args.option("instance").map(Str::from),
        ..Default::default()
    }))
}

/// Members as `id`, `id/instance` or `/instance`.
pub(crate) fn leave(args: &mut Args<'_>) -> Parsed<GroupRequest> {
    let group_id = unquoted(args.word("group")?);
    let member = |word: &str| {
        let (member, instance) = match word.split_once('/') {
            Some((member, instance)) => (member, Some(instance.into())),
            None => (word, None),
        };
        MemberIdentity { member_id: unquoted(member), group_instance_id: instance, ..Default::default() }
    };
    let members = args.rest().into_iter().map(member).collect();
    Ok(GroupRequest::LeaveGroup(LeaveGroupRequest { group_id, members, ..Default::default() }))
}
