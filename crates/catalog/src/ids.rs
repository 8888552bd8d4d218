//! Stand-ins for `wire::Uuid` and `wire::ErrorCode` until they land.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    pub const ZERO: Self = Self([0; 16]);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ErrorCode(pub i16);

impl ErrorCode {
    pub const NONE: Self = Self(0);
    pub const UNKNOWN_TOPIC_OR_PARTITION: Self = Self(3);
    pub const INVALID_TOPIC_EXCEPTION: Self = Self(17);
    pub const TOPIC_ALREADY_EXISTS: Self = Self(36);
    pub const INVALID_PARTITIONS: Self = Self(37);
    pub const INVALID_REPLICATION_FACTOR: Self = Self(38);
    pub const INVALID_REPLICA_ASSIGNMENT: Self = Self(39);
    pub const INVALID_CONFIG: Self = Self(40);
    pub const INVALID_REQUEST: Self = Self(42);
    pub const POLICY_VIOLATION: Self = Self(44);
    pub const TOPIC_DELETION_DISABLED: Self = Self(73);
    pub const INVALID_UPDATE_VERSION: Self = Self(95);
    pub const UNKNOWN_TOPIC_ID: Self = Self(100);
    pub const BROKER_ID_NOT_REGISTERED: Self = Self(102);
}
