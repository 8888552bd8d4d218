//! Commands of classic groups, and the member ids that the broker makes.

use bytes::Bytes;
use coordinator::group::GroupRequest;
use wire::join_group::request::JoinGroupRequestProtocol;
use wire::leave_group::request::MemberIdentity;
use wire::sync_group::request::SyncGroupRequestAssignment;
use wire::{
    ConsumerProtocolSubscription, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, Message, Str,
    SyncGroupRequest, Writer,
};

use crate::args::{Args, Parsed};
use crate::ask::unquoted;

/// Lengths of the groups of hex digits in a member id's random part.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// Random parts of member ids in the order in which they appeared: `client~1` in scripts is `client`
/// with the first one.
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
        while let Some(at) = rest.find('-') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let taken = random_part(rest);
            if taken == 0 {
                out.push('-');
                rest = &rest[1..];
                continue;
            }
            let random = &rest[..taken];
            let known = self.0.iter().position(|it| it == random);
            let number = known.unwrap_or_else(|| {
                self.0.push(random.to_owned());
                self.0.len() - 1
            });
            out.push_str(&format!("~{}", number + 1));
            rest = &rest[taken..];
        }
        out + rest
    }
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
    let topics = args.option("topics");
    let protocol = |text: &str| {
        let (name, metadata) = text.split_once(':').unwrap_or((text, ""));
        let metadata = match topics {
            Some(topics) => subscription(topics),
            None => Bytes::copy_from_slice(metadata.as_bytes()),
        };
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

/// What a consumer says, of version 1.
fn subscription(topics: &str) -> Bytes {
    let it = ConsumerProtocolSubscription {
        topics: topics.split(',').map(Str::from).collect(),
        ..Default::default()
    };
    let mut writer = Writer::new();
    writer.i16(1);
    it.encode(&mut writer, 1).expect("it fits");
    writer.into_bytes()
}

pub(crate) fn sync(args: &mut Args<'_>) -> Parsed<GroupRequest> {
    let (group, member) = (args.word("group")?, args.word("member")?);
    let assignment = |word: &str| {
        let (member, assignment) =
            word.split_once(':').ok_or_else(|| format!("not member:text: {word:?}"))?;
        Ok(SyncGroupRequestAssignment {
            member_id: member.into(),
            assignment: Bytes::copy_from_slice(assignment.as_bytes()),
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
        assignments: args.rest().into_iter().map(assignment).collect::<Parsed<_>>()?,
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
