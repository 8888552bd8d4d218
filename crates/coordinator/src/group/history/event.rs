//! The kinds of events, their causes, and one event without its time.

use std::mem::size_of;

use super::{DETAIL_MAX, MEMBER_MAX};
use wire::{ErrorCode, Str};

/// What can happen. The names are stable: tools filter by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    MemberJoined,
    /// A member told something else about itself than before.
    MemberChanged,
    /// A member is gone; the cause says how.
    MemberLeft,
    /// A member must abandon its tasks and join again; the code says why.
    MemberFenced,
    /// A heartbeat was refused for another reason.
    HeartbeatRefused,
    JoinRefused,
    SyncRefused,
    /// The client of a member closed its connection and has no other one: its session ends sooner.
    ConnectionClosed,
    /// Too many connections closed at once for anybody to be taken for gone (L-6).
    ClosedTogether,
    EpochMoved,
    /// The members of a classic group are called to join.
    RebalanceBegan,
    /// They joined: the next generation begins, and its leader shall assign.
    GenerationBegan,
    /// A target assignment was computed for `epoch`; `tasks` of it are held by somebody else now.
    TargetComputed,
    /// A member was told to give up `tasks`.
    MustRevoke,
    /// It did.
    Revoked,
    /// A member shall get tasks that others hold.
    WaitsForTasks,
    WaitsForPartitions,
    /// A member has all tasks of `epoch`.
    MemberSettled,
    TopicsMissing,
    TopicsWronglyPartitioned,
    InternalTopicsMissing,
    TopicsInOrder,
    /// Which topics a regular expression means is known, for the first time or anew.
    RegexResolved,
    WarmupStarted,
    WarmupCaughtUp,
    WarmupGaveUp,
    CommitRefused,
    /// Nobody used these offsets for the time of retention.
    OffsetsExpired,
    ShutdownRequested,
    /// The group is of another type now, by the detail.
    TypeChanged,
    StateChanged,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::MemberJoined => "member-joined",
            Self::MemberChanged => "member-changed",
            Self::MemberLeft => "member-left",
            Self::MemberFenced => "member-fenced",
            Self::HeartbeatRefused => "heartbeat-refused",
            Self::JoinRefused => "join-refused",
            Self::SyncRefused => "sync-refused",
            Self::ConnectionClosed => "connection-closed",
            Self::ClosedTogether => "closed-together",
            Self::EpochMoved => "epoch-moved",
            Self::RebalanceBegan => "rebalance-began",
            Self::GenerationBegan => "generation-began",
            Self::TargetComputed => "target-computed",
            Self::MustRevoke => "must-revoke",
            Self::Revoked => "revoked",
            Self::WaitsForTasks => "waits-for-tasks",
            Self::WaitsForPartitions => "waits-for-partitions",
            Self::MemberSettled => "member-settled",
            Self::TopicsMissing => "topics-missing",
            Self::TopicsWronglyPartitioned => "topics-wrongly-partitioned",
            Self::InternalTopicsMissing => "internal-topics-missing",
            Self::TopicsInOrder => "topics-in-order",
            Self::RegexResolved => "regex-resolved",
            Self::WarmupStarted => "warmup-started",
            Self::WarmupCaughtUp => "warmup-caught-up",
            Self::WarmupGaveUp => "warmup-gave-up",
            Self::CommitRefused => "commit-refused",
            Self::OffsetsExpired => "offsets-expired",
            Self::ShutdownRequested => "shutdown-requested",
            Self::TypeChanged => "type-changed",
            Self::StateChanged => "state-changed",
        }
    }

    /// A client may repeat these many times a second.
    fn is_repeatable(self) -> bool {
        matches!(
            self,
            Self::MemberFenced
                | Self::HeartbeatRefused
                | Self::JoinRefused
                | Self::SyncRefused
                | Self::CommitRefused
                | Self::ShutdownRequested
        )
    }
}

/// Why something happened. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cause {
    /// The event says it all, or nobody knows.
    #[default]
    None,
    MemberJoined,
    MemberLeft,
    MemberChanged,
    /// Another process took the place of a static member.
    MemberReplaced,
    SessionOver,
    /// Its client closed the connection and did not come back within the grace (L-1).
    ConnectionClosed,
    RebalanceOver,
    /// Topics that the group needs came, went or changed.
    Topics,
    Topology,
    /// A regular expression means other topics than before.
    Regex,
    Settings,
    InitialDelayOver,
    /// Processes restored state, or did not in time: other tasks move now.
    Warmups,
    /// An administrator's request.
    Admin,
}

impl Cause {
    /// This cause, or another one if nothing is known of it.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self == Self::None { other } else { self }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::MemberJoined => "member-joined",
            Self::MemberLeft => "member-left",
            Self::MemberChanged => "member-changed",
            Self::MemberReplaced => "member-replaced",
            Self::SessionOver => "session-over",
            Self::ConnectionClosed => "connection-closed",
            Self::RebalanceOver => "rebalance-over",
            Self::Topics => "topics",
            Self::Topology => "topology",
            Self::Regex => "regular-expression",
            Self::Settings => "settings",
            Self::InitialDelayOver => "initial-delay-over",
            Self::Warmups => "warmups",
            Self::Admin => "admin",
        }
    }
}

/// An event without its time and number. All strings own their bytes and are bounded.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    pub kind: Kind,
    pub cause: Cause,
    pub code: ErrorCode,
    /// -1 if there is none.
    pub epoch: i32,
    pub tasks: u32,
    pub member: Option<Box<[u8]>>,
    pub detail: Option<Box<str>>,
}

impl Happened {
    pub fn new(kind: Kind) -> Self {
        let (cause, code) = (Cause::None, ErrorCode::NONE);
        Self { kind, cause, code, epoch: -1, tasks: 0, member: None, detail: None }
    }

    /// An empty id is none.
    #[must_use]
    pub fn member(self, id: &Str) -> Self {
        let kept = id.as_bytes().get(..MEMBER_MAX).unwrap_or(id.as_bytes());
        Self { member: (!kept.is_empty()).then(|| Box::from(kept)), ..self }
    }

    #[must_use]
    pub fn cause(self, cause: Cause) -> Self {
        Self { cause, ..self }
    }

    #[must_use]
    pub fn code(self, code: ErrorCode) -> Self {
        Self { code, ..self }
    }

    #[must_use]
    pub fn epoch(self, epoch: i32) -> Self {
        Self { epoch, ..self }
    }

    #[must_use]
    pub fn tasks(self, tasks: usize) -> Self {
        Self { tasks: u32::try_from(tasks).unwrap_or(u32::MAX), ..self }
    }

    /// An empty text is none.
    #[must_use]
    pub fn detail(self, text: &str) -> Self {
        let kept = &text[..text.floor_char_boundary(DETAIL_MAX)];
        Self { detail: (!kept.is_empty()).then(|| Box::from(kept)), ..self }
    }

    /// The same refusal of the same member: counted, not told twice.
    pub(super) fn is_same_refusal(&self, other: &Self) -> bool {
        self.kind.is_repeatable()
            && self.kind == other.kind
            && self.code == other.code
            && self.member == other.member
    }

    pub(super) fn string_bytes(&self) -> usize {
        let member = self.member.as_ref().map_or(0, |it| it.len());
        let detail = self.detail.as_ref().map_or(0, |it| it.len());
        // What an allocator adds to each.
        member + detail + size_of::<usize>() * 2 * (usize::from(member > 0) + usize::from(detail > 0))
    }
}
