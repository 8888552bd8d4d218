//! ListGroups (16), DescribeGroups (15) and what the typed describes have in common.
//!
//! These are reads of the newest state; their replies wait until what they saw is durable, so no
//! client learns of a group that a crash takes back (D-4, L-4).
//!
//! DescribeGroups, v0–6, describes classic groups only. Anything else is `Dead` without members:
//! without error in v0–5, where old tools take Dead for "does not exist", and with
//! GROUP_ID_NOT_FOUND and a message from v6 on (KIP-1043).

use crate::group::classic::{self, Live};
use crate::group::consumer;
use crate::group::fail::Fail;
use crate::group::state::Group;
use crate::group::step::Step;
use crate::group::streams;
use wire::list_groups::response::ListedGroup;
use wire::{
    ErrorCode, ListGroupsRequest, ListGroupsResponse, Str, consumer_group_describe, describe_groups,
    error_message, streams_group_describe,
};

/// First version of DescribeGroups that tells why a group is Dead.
const NOT_FOUND_VERSION: i16 = 6;

impl Group {
    /// `GroupType` on the wire.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Simple | Self::Classic(_) => "classic",
            Self::Consumer(_) => "consumer",
            Self::Streams(_) => "streams",
        }
    }

    /// `ProtocolType` on the wire; a simple group has none. `live` is the group's entry in
    /// [`super::Soft::classic`].
    pub fn protocol_type(&self, live: Option<&Live>) -> Str {
        match self {
            Self::Simple | Self::Classic(_) => {
                live.and_then(Live::protocol_type).cloned().unwrap_or_default()
            }
            Self::Consumer(_) => Str::from_static("consumer"),
            Self::Streams(_) => Str::from_static("streams"),
        }
    }

    /// `GroupState` on the wire.
    pub fn state_name(&self, live: Option<&Live>) -> &'static str {
        match self {
            Self::Simple | Self::Classic(_) => live.map_or("Empty", Live::state_name),
            Self::Consumer(group) => group.state_name(),
            Self::Streams(group) => group.state_name(),
        }
    }

    /// True without members.
    pub fn is_empty(&self, live: Option<&Live>) -> bool {
        match self {
            Self::Simple | Self::Classic(_) => live.is_none_or(Live::is_empty),
            Self::Consumer(group) => group.is_empty(),
            Self::Streams(group) => group.is_empty(),
        }
    }

    /// True if members read the topic: its offsets are neither deleted nor do they expire (9.6, 9.7, O-7, O-8).
    pub fn subscribes_to(&self, topic: &Str, live: Option<&Live>) -> bool {
        match self {
            Self::Simple | Self::Classic(_) => live.is_some_and(|it| it.subscribes_to(topic)),
            Self::Consumer(group) => group.subscribes_to(topic),
            Self::Streams(group) => group.subscribes_to(topic),
        }
    }
}

/// ListGroups: both filters must match, an empty one matches all. A name that no state or type has
/// matches nothing and is no error.
pub(super) fn list(step: &Step<'_>, request: &ListGroupsRequest) -> ListGroupsResponse {
    let states: Vec<_> = request.states_filter.iter().map(|it| state_words(&it.to_str())).collect();
    let types: Vec<_> = request.types_filter.iter().map(|it| it.to_str().to_lowercase()).collect();
    let live = |id: &Str| step.soft.classic.get(id);
    let groups = step.hard.groups().filter(|(id, group)| {
        (states.is_empty() || states.contains(&state_words(group.state_name(live(id)))))
            && (types.is_empty() || types.iter().any(|it| it == group.type_name()))
    });
    let groups = groups.map(|(id, group)| ListedGroup {
        group_id: id.clone(),
        protocol_type: group.protocol_type(live(id)),
        group_state: Str::from_static(group.state_name(live(id))),
        group_type: Str::from_static(group.type_name()),
        ..Default::default()
    });
    ListGroupsResponse { groups: groups.collect(), ..Default::default() }
}

/// L-3 and K-4: `NotReady`, `notready` and `not_ready` are one state; what Java's `trim` takes away does not count.
fn state_words(text: &str) -> String {
    let words = text.trim_matches(|it| it <= ' ').to_lowercase();
    if words == "not_ready" { "notready".to_owned() } else { words }
}

/// One group of DescribeGroups.
pub(super) fn describe(
    step: &Step<'_>,
    api_version: i16,
    id: &Str,
) -> describe_groups::response::DescribedGroup {
    let described = describe_groups::response::DescribedGroup { group_id: id.clone(), ..Default::default() };
    let message = match step.hard.group(id) {
        Some(Group::Simple | Group::Classic(_)) => return classic::describe(step, id),
        Some(Group::Consumer(_) | Group::Streams(_)) => format!("Group {id} is not a classic group."),
        None => format!("Group {id} not found."),
    };
    let dead =
        describe_groups::response::DescribedGroup { group_state: Str::from_static("Dead"), ..described };
    if api_version < NOT_FOUND_VERSION {
        return dead;
    }
    describe_groups::response::DescribedGroup {
        error_code: ErrorCode::GROUP_ID_NOT_FOUND,
        error_message: Some(Str::from(error_message(message))),
        ..dead
    }
}

/// One group of StreamsGroupDescribe (D-2, D-3).
pub(super) fn describe_streams(
    step: &Step<'_>,
    id: &Str,
) -> streams_group_describe::response::DescribedGroup {
    let fail = match step.hard.group(id) {
        _ if id.is_empty() => Fail::from(ErrorCode::INVALID_GROUP_ID),
        Some(Group::Streams(group)) => return streams::describe(step, id, group),
        Some(Group::Simple | Group::Classic(_) | Group::Consumer(_)) => {
            Fail::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {id} is not a streams group."))
        }
        None => Fail::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {id} not found.")),
    };
    streams_group_describe::response::DescribedGroup {
        group_id: id.clone(),
        error_code: fail.code,
        error_message: fail.message.map(Str::from),
        ..Default::default()
    }
}

/// One group of ConsumerGroupDescribe (17).
pub(super) fn describe_consumer(
    step: &Step<'_>,
    id: &Str,
) -> consumer_group_describe::response::DescribedGroup {
    let fail = match step.hard.group(id) {
        _ if id.is_empty() => Fail::from(ErrorCode::INVALID_GROUP_ID),
        Some(Group::Consumer(group)) => return consumer::describe(step, id, group),
        Some(Group::Simple | Group::Classic(_) | Group::Streams(_)) => {
            Fail::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {id} is not a consumer group."))
        }
        None => Fail::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {id} not found.")),
    };
    consumer_group_describe::response::DescribedGroup {
        group_id: id.clone(),
        error_code: fail.code,
        error_message: fail.message.map(Str::from),
        ..Default::default()
    }
}
