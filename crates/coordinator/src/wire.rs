//! Stand-in for the generated wire types until they land. Generated; not to be kept.
#![allow(dead_code, missing_docs, unused_imports, clippy::all)]
pub use bytes::Bytes;
use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Str(Arc<str>);
impl Str {
    pub fn from_static(s: &'static str) -> Self {
        Self(Arc::from(s))
    }
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
    pub fn to_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub fn len(&self) -> usize {
        self.0.len()
    }
    pub fn detach(&self) -> Self {
        self.clone()
    }
}
impl Default for Str {
    fn default() -> Self {
        Self(Arc::from(""))
    }
}
impl From<&str> for Str {
    fn from(s: &str) -> Self {
        Self(Arc::from(s))
    }
}
impl From<String> for Str {
    fn from(s: String) -> Self {
        Self(Arc::from(s))
    }
}
impl PartialEq<str> for Str {
    fn eq(&self, o: &str) -> bool {
        &*self.0 == o
    }
}
impl PartialEq<&str> for Str {
    fn eq(&self, o: &&str) -> bool {
        &*self.0 == *o
    }
}
impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}
impl AsRef<[u8]> for Str {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}
impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid(pub [u8; 16]);
impl Uuid {
    pub const ZERO: Self = Self([0; 16]);
}
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ErrorCode(pub i16);
#[derive(Debug, Clone, PartialEq)]
pub struct RawTag;
#[derive(Debug)]
pub struct EncodeError;
#[derive(Debug)]
pub struct DecodeError;
pub trait LogRecord: Sized {
    fn encode(&self) -> Result<(Bytes, Option<Bytes>), EncodeError>;
    fn decode(key: &Bytes, value: Option<&Bytes>) -> Result<Option<Self>, DecodeError>;
}
#[allow(non_upper_case_globals)]
impl ErrorCode {
    pub fn code(self) -> i16 {
        self.0
    }
    pub const UNKNOWN_SERVER_ERROR: Self = Self(-1);
    pub const NONE: Self = Self(0);
    pub const OFFSET_OUT_OF_RANGE: Self = Self(1);
    pub const CORRUPT_MESSAGE: Self = Self(2);
    pub const UNKNOWN_TOPIC_OR_PARTITION: Self = Self(3);
    pub const INVALID_FETCH_SIZE: Self = Self(4);
    pub const LEADER_NOT_AVAILABLE: Self = Self(5);
    pub const NOT_LEADER_OR_FOLLOWER: Self = Self(6);
    pub const REQUEST_TIMED_OUT: Self = Self(7);
    pub const BROKER_NOT_AVAILABLE: Self = Self(8);
    pub const REPLICA_NOT_AVAILABLE: Self = Self(9);
    pub const MESSAGE_TOO_LARGE: Self = Self(10);
    pub const STALE_CONTROLLER_EPOCH: Self = Self(11);
    pub const OFFSET_METADATA_TOO_LARGE: Self = Self(12);
    pub const NETWORK_EXCEPTION: Self = Self(13);
    pub const COORDINATOR_LOAD_IN_PROGRESS: Self = Self(14);
    pub const COORDINATOR_NOT_AVAILABLE: Self = Self(15);
    pub const NOT_COORDINATOR: Self = Self(16);
    pub const INVALID_TOPIC_EXCEPTION: Self = Self(17);
    pub const RECORD_LIST_TOO_LARGE: Self = Self(18);
    pub const NOT_ENOUGH_REPLICAS: Self = Self(19);
    pub const NOT_ENOUGH_REPLICAS_AFTER_APPEND: Self = Self(20);
    pub const INVALID_REQUIRED_ACKS: Self = Self(21);
    pub const ILLEGAL_GENERATION: Self = Self(22);
    pub const INCONSISTENT_GROUP_PROTOCOL: Self = Self(23);
    pub const INVALID_GROUP_ID: Self = Self(24);
    pub const UNKNOWN_MEMBER_ID: Self = Self(25);
    pub const INVALID_SESSION_TIMEOUT: Self = Self(26);
    pub const REBALANCE_IN_PROGRESS: Self = Self(27);
    pub const INVALID_COMMIT_OFFSET_SIZE: Self = Self(28);
    pub const TOPIC_AUTHORIZATION_FAILED: Self = Self(29);
    pub const GROUP_AUTHORIZATION_FAILED: Self = Self(30);
    pub const CLUSTER_AUTHORIZATION_FAILED: Self = Self(31);
    pub const INVALID_TIMESTAMP: Self = Self(32);
    pub const UNSUPPORTED_SASL_MECHANISM: Self = Self(33);
    pub const ILLEGAL_SASL_STATE: Self = Self(34);
    pub const UNSUPPORTED_VERSION: Self = Self(35);
    pub const TOPIC_ALREADY_EXISTS: Self = Self(36);
    pub const INVALID_PARTITIONS: Self = Self(37);
    pub const INVALID_REPLICATION_FACTOR: Self = Self(38);
    pub const INVALID_REPLICA_ASSIGNMENT: Self = Self(39);
    pub const INVALID_CONFIG: Self = Self(40);
    pub const NOT_CONTROLLER: Self = Self(41);
    pub const INVALID_REQUEST: Self = Self(42);
    pub const UNSUPPORTED_FOR_MESSAGE_FORMAT: Self = Self(43);
    pub const POLICY_VIOLATION: Self = Self(44);
    pub const OUT_OF_ORDER_SEQUENCE_NUMBER: Self = Self(45);
    pub const DUPLICATE_SEQUENCE_NUMBER: Self = Self(46);
    pub const INVALID_PRODUCER_EPOCH: Self = Self(47);
    pub const INVALID_TXN_STATE: Self = Self(48);
    pub const INVALID_PRODUCER_ID_MAPPING: Self = Self(49);
    pub const INVALID_TRANSACTION_TIMEOUT: Self = Self(50);
    pub const CONCURRENT_TRANSACTIONS: Self = Self(51);
    pub const TRANSACTION_COORDINATOR_FENCED: Self = Self(52);
    pub const TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Self = Self(53);
    pub const SECURITY_DISABLED: Self = Self(54);
    pub const OPERATION_NOT_ATTEMPTED: Self = Self(55);
    pub const KAFKA_STORAGE_ERROR: Self = Self(56);
    pub const LOG_DIR_NOT_FOUND: Self = Self(57);
    pub const SASL_AUTHENTICATION_FAILED: Self = Self(58);
    pub const UNKNOWN_PRODUCER_ID: Self = Self(59);
    pub const REASSIGNMENT_IN_PROGRESS: Self = Self(60);
    pub const DELEGATION_TOKEN_AUTH_DISABLED: Self = Self(61);
    pub const DELEGATION_TOKEN_NOT_FOUND: Self = Self(62);
    pub const DELEGATION_TOKEN_OWNER_MISMATCH: Self = Self(63);
    pub const DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: Self = Self(64);
    pub const DELEGATION_TOKEN_AUTHORIZATION_FAILED: Self = Self(65);
    pub const DELEGATION_TOKEN_EXPIRED: Self = Self(66);
    pub const INVALID_PRINCIPAL_TYPE: Self = Self(67);
    pub const NON_EMPTY_GROUP: Self = Self(68);
    pub const GROUP_ID_NOT_FOUND: Self = Self(69);
    pub const FETCH_SESSION_ID_NOT_FOUND: Self = Self(70);
    pub const INVALID_FETCH_SESSION_EPOCH: Self = Self(71);
    pub const LISTENER_NOT_FOUND: Self = Self(72);
    pub const TOPIC_DELETION_DISABLED: Self = Self(73);
    pub const FENCED_LEADER_EPOCH: Self = Self(74);
    pub const UNKNOWN_LEADER_EPOCH: Self = Self(75);
    pub const UNSUPPORTED_COMPRESSION_TYPE: Self = Self(76);
    pub const STALE_BROKER_EPOCH: Self = Self(77);
    pub const OFFSET_NOT_AVAILABLE: Self = Self(78);
    pub const MEMBER_ID_REQUIRED: Self = Self(79);
    pub const PREFERRED_LEADER_NOT_AVAILABLE: Self = Self(80);
    pub const GROUP_MAX_SIZE_REACHED: Self = Self(81);
    pub const FENCED_INSTANCE_ID: Self = Self(82);
    pub const ELIGIBLE_LEADERS_NOT_AVAILABLE: Self = Self(83);
    pub const ELECTION_NOT_NEEDED: Self = Self(84);
    pub const NO_REASSIGNMENT_IN_PROGRESS: Self = Self(85);
    pub const GROUP_SUBSCRIBED_TO_TOPIC: Self = Self(86);
    pub const INVALID_RECORD: Self = Self(87);
    pub const UNSTABLE_OFFSET_COMMIT: Self = Self(88);
    pub const THROTTLING_QUOTA_EXCEEDED: Self = Self(89);
    pub const PRODUCER_FENCED: Self = Self(90);
    pub const RESOURCE_NOT_FOUND: Self = Self(91);
    pub const DUPLICATE_RESOURCE: Self = Self(92);
    pub const UNACCEPTABLE_CREDENTIAL: Self = Self(93);
    pub const INCONSISTENT_VOTER_SET: Self = Self(94);
    pub const INVALID_UPDATE_VERSION: Self = Self(95);
    pub const FEATURE_UPDATE_FAILED: Self = Self(96);
    pub const PRINCIPAL_DESERIALIZATION_FAILURE: Self = Self(97);
    pub const SNAPSHOT_NOT_FOUND: Self = Self(98);
    pub const POSITION_OUT_OF_RANGE: Self = Self(99);
    pub const UNKNOWN_TOPIC_ID: Self = Self(100);
    pub const DUPLICATE_BROKER_REGISTRATION: Self = Self(101);
    pub const BROKER_ID_NOT_REGISTERED: Self = Self(102);
    pub const INCONSISTENT_TOPIC_ID: Self = Self(103);
    pub const INCONSISTENT_CLUSTER_ID: Self = Self(104);
    pub const TRANSACTIONAL_ID_NOT_FOUND: Self = Self(105);
    pub const FETCH_SESSION_TOPIC_ID_ERROR: Self = Self(106);
    pub const INELIGIBLE_REPLICA: Self = Self(107);
    pub const NEW_LEADER_ELECTED: Self = Self(108);
    pub const OFFSET_MOVED_TO_TIERED_STORAGE: Self = Self(109);
    pub const FENCED_MEMBER_EPOCH: Self = Self(110);
    pub const UNRELEASED_INSTANCE_ID: Self = Self(111);
    pub const UNSUPPORTED_ASSIGNOR: Self = Self(112);
    pub const STALE_MEMBER_EPOCH: Self = Self(113);
    pub const MISMATCHED_ENDPOINT_TYPE: Self = Self(114);
    pub const UNSUPPORTED_ENDPOINT_TYPE: Self = Self(115);
    pub const UNKNOWN_CONTROLLER_ID: Self = Self(116);
    pub const UNKNOWN_SUBSCRIPTION_ID: Self = Self(117);
    pub const TELEMETRY_TOO_LARGE: Self = Self(118);
    pub const INVALID_REGISTRATION: Self = Self(119);
    pub const TRANSACTION_ABORTABLE: Self = Self(120);
    pub const INVALID_RECORD_STATE: Self = Self(121);
    pub const SHARE_SESSION_NOT_FOUND: Self = Self(122);
    pub const INVALID_SHARE_SESSION_EPOCH: Self = Self(123);
    pub const FENCED_STATE_EPOCH: Self = Self(124);
    pub const INVALID_VOTER_KEY: Self = Self(125);
    pub const DUPLICATE_VOTER: Self = Self(126);
    pub const VOTER_NOT_FOUND: Self = Self(127);
    pub const INVALID_REGULAR_EXPRESSION: Self = Self(128);
    pub const REBOOTSTRAP_REQUIRED: Self = Self(129);
    pub const STREAMS_INVALID_TOPOLOGY: Self = Self(130);
    pub const STREAMS_INVALID_TOPOLOGY_EPOCH: Self = Self(131);
    pub const STREAMS_TOPOLOGY_FENCED: Self = Self(132);
    pub const SHARE_SESSION_LIMIT_REACHED: Self = Self(133);
    pub const GROUP_DELETION_FAILED: Self = Self(134);
    pub const STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED: Self = Self(135);
    pub const CONTROLLER_ID_NOT_REGISTERED: Self = Self(136);
    pub fn name(self) -> &'static str {
        match self {
            Self::UNKNOWN_SERVER_ERROR => "UNKNOWN_SERVER_ERROR",
            Self::NONE => "NONE",
            Self::OFFSET_OUT_OF_RANGE => "OFFSET_OUT_OF_RANGE",
            Self::CORRUPT_MESSAGE => "CORRUPT_MESSAGE",
            Self::UNKNOWN_TOPIC_OR_PARTITION => "UNKNOWN_TOPIC_OR_PARTITION",
            Self::INVALID_FETCH_SIZE => "INVALID_FETCH_SIZE",
            Self::LEADER_NOT_AVAILABLE => "LEADER_NOT_AVAILABLE",
            Self::NOT_LEADER_OR_FOLLOWER => "NOT_LEADER_OR_FOLLOWER",
            Self::REQUEST_TIMED_OUT => "REQUEST_TIMED_OUT",
            Self::BROKER_NOT_AVAILABLE => "BROKER_NOT_AVAILABLE",
            Self::REPLICA_NOT_AVAILABLE => "REPLICA_NOT_AVAILABLE",
            Self::MESSAGE_TOO_LARGE => "MESSAGE_TOO_LARGE",
            Self::STALE_CONTROLLER_EPOCH => "STALE_CONTROLLER_EPOCH",
            Self::OFFSET_METADATA_TOO_LARGE => "OFFSET_METADATA_TOO_LARGE",
            Self::NETWORK_EXCEPTION => "NETWORK_EXCEPTION",
            Self::COORDINATOR_LOAD_IN_PROGRESS => "COORDINATOR_LOAD_IN_PROGRESS",
            Self::COORDINATOR_NOT_AVAILABLE => "COORDINATOR_NOT_AVAILABLE",
            Self::NOT_COORDINATOR => "NOT_COORDINATOR",
            Self::INVALID_TOPIC_EXCEPTION => "INVALID_TOPIC_EXCEPTION",
            Self::RECORD_LIST_TOO_LARGE => "RECORD_LIST_TOO_LARGE",
            Self::NOT_ENOUGH_REPLICAS => "NOT_ENOUGH_REPLICAS",
            Self::NOT_ENOUGH_REPLICAS_AFTER_APPEND => "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
            Self::INVALID_REQUIRED_ACKS => "INVALID_REQUIRED_ACKS",
            Self::ILLEGAL_GENERATION => "ILLEGAL_GENERATION",
            Self::INCONSISTENT_GROUP_PROTOCOL => "INCONSISTENT_GROUP_PROTOCOL",
            Self::INVALID_GROUP_ID => "INVALID_GROUP_ID",
            Self::UNKNOWN_MEMBER_ID => "UNKNOWN_MEMBER_ID",
            Self::INVALID_SESSION_TIMEOUT => "INVALID_SESSION_TIMEOUT",
            Self::REBALANCE_IN_PROGRESS => "REBALANCE_IN_PROGRESS",
            Self::INVALID_COMMIT_OFFSET_SIZE => "INVALID_COMMIT_OFFSET_SIZE",
            Self::TOPIC_AUTHORIZATION_FAILED => "TOPIC_AUTHORIZATION_FAILED",
            Self::GROUP_AUTHORIZATION_FAILED => "GROUP_AUTHORIZATION_FAILED",
            Self::CLUSTER_AUTHORIZATION_FAILED => "CLUSTER_AUTHORIZATION_FAILED",
            Self::INVALID_TIMESTAMP => "INVALID_TIMESTAMP",
            Self::UNSUPPORTED_SASL_MECHANISM => "UNSUPPORTED_SASL_MECHANISM",
            Self::ILLEGAL_SASL_STATE => "ILLEGAL_SASL_STATE",
            Self::UNSUPPORTED_VERSION => "UNSUPPORTED_VERSION",
            Self::TOPIC_ALREADY_EXISTS => "TOPIC_ALREADY_EXISTS",
            Self::INVALID_PARTITIONS => "INVALID_PARTITIONS",
            Self::INVALID_REPLICATION_FACTOR => "INVALID_REPLICATION_FACTOR",
            Self::INVALID_REPLICA_ASSIGNMENT => "INVALID_REPLICA_ASSIGNMENT",
            Self::INVALID_CONFIG => "INVALID_CONFIG",
            Self::NOT_CONTROLLER => "NOT_CONTROLLER",
            Self::INVALID_REQUEST => "INVALID_REQUEST",
            Self::UNSUPPORTED_FOR_MESSAGE_FORMAT => "UNSUPPORTED_FOR_MESSAGE_FORMAT",
            Self::POLICY_VIOLATION => "POLICY_VIOLATION",
            Self::OUT_OF_ORDER_SEQUENCE_NUMBER => "OUT_OF_ORDER_SEQUENCE_NUMBER",
            Self::DUPLICATE_SEQUENCE_NUMBER => "DUPLICATE_SEQUENCE_NUMBER",
            Self::INVALID_PRODUCER_EPOCH => "INVALID_PRODUCER_EPOCH",
            Self::INVALID_TXN_STATE => "INVALID_TXN_STATE",
            Self::INVALID_PRODUCER_ID_MAPPING => "INVALID_PRODUCER_ID_MAPPING",
            Self::INVALID_TRANSACTION_TIMEOUT => "INVALID_TRANSACTION_TIMEOUT",
            Self::CONCURRENT_TRANSACTIONS => "CONCURRENT_TRANSACTIONS",
            Self::TRANSACTION_COORDINATOR_FENCED => "TRANSACTION_COORDINATOR_FENCED",
            Self::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
            Self::SECURITY_DISABLED => "SECURITY_DISABLED",
            Self::OPERATION_NOT_ATTEMPTED => "OPERATION_NOT_ATTEMPTED",
            Self::KAFKA_STORAGE_ERROR => "KAFKA_STORAGE_ERROR",
            Self::LOG_DIR_NOT_FOUND => "LOG_DIR_NOT_FOUND",
            Self::SASL_AUTHENTICATION_FAILED => "SASL_AUTHENTICATION_FAILED",
            Self::UNKNOWN_PRODUCER_ID => "UNKNOWN_PRODUCER_ID",
            Self::REASSIGNMENT_IN_PROGRESS => "REASSIGNMENT_IN_PROGRESS",
            Self::DELEGATION_TOKEN_AUTH_DISABLED => "DELEGATION_TOKEN_AUTH_DISABLED",
            Self::DELEGATION_TOKEN_NOT_FOUND => "DELEGATION_TOKEN_NOT_FOUND",
            Self::DELEGATION_TOKEN_OWNER_MISMATCH => "DELEGATION_TOKEN_OWNER_MISMATCH",
            Self::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED => "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
            Self::DELEGATION_TOKEN_AUTHORIZATION_FAILED => "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
            Self::DELEGATION_TOKEN_EXPIRED => "DELEGATION_TOKEN_EXPIRED",
            Self::INVALID_PRINCIPAL_TYPE => "INVALID_PRINCIPAL_TYPE",
            Self::NON_EMPTY_GROUP => "NON_EMPTY_GROUP",
            Self::GROUP_ID_NOT_FOUND => "GROUP_ID_NOT_FOUND",
            Self::FETCH_SESSION_ID_NOT_FOUND => "FETCH_SESSION_ID_NOT_FOUND",
            Self::INVALID_FETCH_SESSION_EPOCH => "INVALID_FETCH_SESSION_EPOCH",
            Self::LISTENER_NOT_FOUND => "LISTENER_NOT_FOUND",
            Self::TOPIC_DELETION_DISABLED => "TOPIC_DELETION_DISABLED",
            Self::FENCED_LEADER_EPOCH => "FENCED_LEADER_EPOCH",
            Self::UNKNOWN_LEADER_EPOCH => "UNKNOWN_LEADER_EPOCH",
            Self::UNSUPPORTED_COMPRESSION_TYPE => "UNSUPPORTED_COMPRESSION_TYPE",
            Self::STALE_BROKER_EPOCH => "STALE_BROKER_EPOCH",
            Self::OFFSET_NOT_AVAILABLE => "OFFSET_NOT_AVAILABLE",
            Self::MEMBER_ID_REQUIRED => "MEMBER_ID_REQUIRED",
            Self::PREFERRED_LEADER_NOT_AVAILABLE => "PREFERRED_LEADER_NOT_AVAILABLE",
            Self::GROUP_MAX_SIZE_REACHED => "GROUP_MAX_SIZE_REACHED",
            Self::FENCED_INSTANCE_ID => "FENCED_INSTANCE_ID",
            Self::ELIGIBLE_LEADERS_NOT_AVAILABLE => "ELIGIBLE_LEADERS_NOT_AVAILABLE",
            Self::ELECTION_NOT_NEEDED => "ELECTION_NOT_NEEDED",
            Self::NO_REASSIGNMENT_IN_PROGRESS => "NO_REASSIGNMENT_IN_PROGRESS",
            Self::GROUP_SUBSCRIBED_TO_TOPIC => "GROUP_SUBSCRIBED_TO_TOPIC",
            Self::INVALID_RECORD => "INVALID_RECORD",
            Self::UNSTABLE_OFFSET_COMMIT => "UNSTABLE_OFFSET_COMMIT",
            Self::THROTTLING_QUOTA_EXCEEDED => "THROTTLING_QUOTA_EXCEEDED",
            Self::PRODUCER_FENCED => "PRODUCER_FENCED",
            Self::RESOURCE_NOT_FOUND => "RESOURCE_NOT_FOUND",
            Self::DUPLICATE_RESOURCE => "DUPLICATE_RESOURCE",
            Self::UNACCEPTABLE_CREDENTIAL => "UNACCEPTABLE_CREDENTIAL",
            Self::INCONSISTENT_VOTER_SET => "INCONSISTENT_VOTER_SET",
            Self::INVALID_UPDATE_VERSION => "INVALID_UPDATE_VERSION",
            Self::FEATURE_UPDATE_FAILED => "FEATURE_UPDATE_FAILED",
            Self::PRINCIPAL_DESERIALIZATION_FAILURE => "PRINCIPAL_DESERIALIZATION_FAILURE",
            Self::SNAPSHOT_NOT_FOUND => "SNAPSHOT_NOT_FOUND",
            Self::POSITION_OUT_OF_RANGE => "POSITION_OUT_OF_RANGE",
            Self::UNKNOWN_TOPIC_ID => "UNKNOWN_TOPIC_ID",
            Self::DUPLICATE_BROKER_REGISTRATION => "DUPLICATE_BROKER_REGISTRATION",
            Self::BROKER_ID_NOT_REGISTERED => "BROKER_ID_NOT_REGISTERED",
            Self::INCONSISTENT_TOPIC_ID => "INCONSISTENT_TOPIC_ID",
            Self::INCONSISTENT_CLUSTER_ID => "INCONSISTENT_CLUSTER_ID",
            Self::TRANSACTIONAL_ID_NOT_FOUND => "TRANSACTIONAL_ID_NOT_FOUND",
            Self::FETCH_SESSION_TOPIC_ID_ERROR => "FETCH_SESSION_TOPIC_ID_ERROR",
            Self::INELIGIBLE_REPLICA => "INELIGIBLE_REPLICA",
            Self::NEW_LEADER_ELECTED => "NEW_LEADER_ELECTED",
            Self::OFFSET_MOVED_TO_TIERED_STORAGE => "OFFSET_MOVED_TO_TIERED_STORAGE",
            Self::FENCED_MEMBER_EPOCH => "FENCED_MEMBER_EPOCH",
            Self::UNRELEASED_INSTANCE_ID => "UNRELEASED_INSTANCE_ID",
            Self::UNSUPPORTED_ASSIGNOR => "UNSUPPORTED_ASSIGNOR",
            Self::STALE_MEMBER_EPOCH => "STALE_MEMBER_EPOCH",
            Self::MISMATCHED_ENDPOINT_TYPE => "MISMATCHED_ENDPOINT_TYPE",
            Self::UNSUPPORTED_ENDPOINT_TYPE => "UNSUPPORTED_ENDPOINT_TYPE",
            Self::UNKNOWN_CONTROLLER_ID => "UNKNOWN_CONTROLLER_ID",
            Self::UNKNOWN_SUBSCRIPTION_ID => "UNKNOWN_SUBSCRIPTION_ID",
            Self::TELEMETRY_TOO_LARGE => "TELEMETRY_TOO_LARGE",
            Self::INVALID_REGISTRATION => "INVALID_REGISTRATION",
            Self::TRANSACTION_ABORTABLE => "TRANSACTION_ABORTABLE",
            Self::INVALID_RECORD_STATE => "INVALID_RECORD_STATE",
            Self::SHARE_SESSION_NOT_FOUND => "SHARE_SESSION_NOT_FOUND",
            Self::INVALID_SHARE_SESSION_EPOCH => "INVALID_SHARE_SESSION_EPOCH",
            Self::FENCED_STATE_EPOCH => "FENCED_STATE_EPOCH",
            Self::INVALID_VOTER_KEY => "INVALID_VOTER_KEY",
            Self::DUPLICATE_VOTER => "DUPLICATE_VOTER",
            Self::VOTER_NOT_FOUND => "VOTER_NOT_FOUND",
            Self::INVALID_REGULAR_EXPRESSION => "INVALID_REGULAR_EXPRESSION",
            Self::REBOOTSTRAP_REQUIRED => "REBOOTSTRAP_REQUIRED",
            Self::STREAMS_INVALID_TOPOLOGY => "STREAMS_INVALID_TOPOLOGY",
            Self::STREAMS_INVALID_TOPOLOGY_EPOCH => "STREAMS_INVALID_TOPOLOGY_EPOCH",
            Self::STREAMS_TOPOLOGY_FENCED => "STREAMS_TOPOLOGY_FENCED",
            Self::SHARE_SESSION_LIMIT_REACHED => "SHARE_SESSION_LIMIT_REACHED",
            Self::GROUP_DELETION_FAILED => "GROUP_DELETION_FAILED",
            Self::STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED => "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED",
            Self::CONTROLLER_ID_NOT_REGISTERED => "CONTROLLER_ID_NOT_REGISTERED",
            _ => "?",
        }
    }
}

pub mod offset_commit {
    pub mod request {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetCommitRequest {
            pub group_id: Str,
            pub generation_id_or_member_epoch: i32,
            pub member_id: Str,
            pub group_instance_id: Option<Str>,
            pub retention_time_ms: i64,
            pub topics: Vec<OffsetCommitRequestTopic>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetCommitRequest {
            fn default() -> Self {
                Self {
                    group_id: Default::default(),
                    generation_id_or_member_epoch: -1,
                    member_id: Default::default(),
                    group_instance_id: Default::default(),
                    retention_time_ms: -1,
                    topics: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetCommitRequestTopic {
            pub name: Str,
            pub topic_id: Uuid,
            pub partitions: Vec<OffsetCommitRequestPartition>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetCommitRequestTopic {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    topic_id: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetCommitRequestPartition {
            pub partition_index: i32,
            pub committed_offset: i64,
            pub committed_leader_epoch: i32,
            pub committed_metadata: Option<Str>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetCommitRequestPartition {
            fn default() -> Self {
                Self {
                    partition_index: Default::default(),
                    committed_offset: Default::default(),
                    committed_leader_epoch: -1,
                    committed_metadata: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub mod response {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetCommitResponse {
            pub throttle_time_ms: i32,
            pub topics: Vec<OffsetCommitResponseTopic>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetCommitResponse {
            fn default() -> Self {
                Self {
                    throttle_time_ms: Default::default(),
                    topics: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetCommitResponseTopic {
            pub name: Str,
            pub topic_id: Uuid,
            pub partitions: Vec<OffsetCommitResponsePartition>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetCommitResponseTopic {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    topic_id: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetCommitResponsePartition {
            pub partition_index: i32,
            pub error_code: ErrorCode,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetCommitResponsePartition {
            fn default() -> Self {
                Self {
                    partition_index: Default::default(),
                    error_code: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
}
pub mod offset_fetch {
    pub mod request {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetFetchRequest {
            pub group_id: Str,
            pub topics: Option<Vec<OffsetFetchRequestTopic>>,
            pub groups: Vec<OffsetFetchRequestGroup>,
            pub require_stable: bool,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetFetchRequest {
            fn default() -> Self {
                Self {
                    group_id: Default::default(),
                    topics: Default::default(),
                    groups: Default::default(),
                    require_stable: false,
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetFetchRequestTopic {
            pub name: Str,
            pub partition_indexes: Vec<i32>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetFetchRequestTopic {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    partition_indexes: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetFetchRequestGroup {
            pub group_id: Str,
            pub member_id: Option<Str>,
            pub member_epoch: i32,
            pub topics: Option<Vec<OffsetFetchRequestTopics>>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetFetchRequestGroup {
            fn default() -> Self {
                Self {
                    group_id: Default::default(),
                    member_id: Default::default(),
                    member_epoch: -1,
                    topics: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetFetchRequestTopics {
            pub name: Str,
            pub topic_id: Uuid,
            pub partition_indexes: Vec<i32>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetFetchRequestTopics {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    topic_id: Default::default(),
                    partition_indexes: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub mod response {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetFetchResponse {
            pub throttle_time_ms: i32,
            pub topics: Vec<OffsetFetchResponseTopic>,
            pub error_code: ErrorCode,
            pub groups: Vec<OffsetFetchResponseGroup>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetFetchResponse {
            fn default() -> Self {
                Self {
                    throttle_time_ms: Default::default(),
                    topics: Default::default(),
                    error_code: Default::default(),
                    groups: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetFetchResponseTopic {
            pub name: Str,
            pub partitions: Vec<OffsetFetchResponsePartition>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetFetchResponseTopic {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetFetchResponsePartition {
            pub partition_index: i32,
            pub committed_offset: i64,
            pub committed_leader_epoch: i32,
            pub metadata: Option<Str>,
            pub error_code: ErrorCode,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetFetchResponsePartition {
            fn default() -> Self {
                Self {
                    partition_index: Default::default(),
                    committed_offset: Default::default(),
                    committed_leader_epoch: -1,
                    metadata: Default::default(),
                    error_code: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetFetchResponseGroup {
            pub group_id: Str,
            pub topics: Vec<OffsetFetchResponseTopics>,
            pub error_code: ErrorCode,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetFetchResponseGroup {
            fn default() -> Self {
                Self {
                    group_id: Default::default(),
                    topics: Default::default(),
                    error_code: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetFetchResponseTopics {
            pub name: Str,
            pub topic_id: Uuid,
            pub partitions: Vec<OffsetFetchResponsePartitions>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetFetchResponseTopics {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    topic_id: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetFetchResponsePartitions {
            pub partition_index: i32,
            pub committed_offset: i64,
            pub committed_leader_epoch: i32,
            pub metadata: Option<Str>,
            pub error_code: ErrorCode,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetFetchResponsePartitions {
            fn default() -> Self {
                Self {
                    partition_index: Default::default(),
                    committed_offset: Default::default(),
                    committed_leader_epoch: -1,
                    metadata: Default::default(),
                    error_code: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
}
pub mod delete_groups {
    pub mod request {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct DeleteGroupsRequest {
            pub groups_names: Vec<Str>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for DeleteGroupsRequest {
            fn default() -> Self {
                Self { groups_names: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
    }
    pub mod response {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct DeleteGroupsResponse {
            pub throttle_time_ms: i32,
            pub results: Vec<DeletableGroupResult>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for DeleteGroupsResponse {
            fn default() -> Self {
                Self {
                    throttle_time_ms: Default::default(),
                    results: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct DeletableGroupResult {
            pub group_id: Str,
            pub error_code: ErrorCode,
            pub error_message: Option<Str>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for DeletableGroupResult {
            fn default() -> Self {
                Self {
                    group_id: Default::default(),
                    error_code: Default::default(),
                    error_message: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
}
pub mod describe_groups {
    pub mod request {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct DescribeGroupsRequest {
            pub groups: Vec<Str>,
            pub include_authorized_operations: bool,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for DescribeGroupsRequest {
            fn default() -> Self {
                Self {
                    groups: Default::default(),
                    include_authorized_operations: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub mod response {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct DescribeGroupsResponse {
            pub throttle_time_ms: i32,
            pub groups: Vec<DescribedGroup>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for DescribeGroupsResponse {
            fn default() -> Self {
                Self {
                    throttle_time_ms: Default::default(),
                    groups: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct DescribedGroup {
            pub error_code: ErrorCode,
            pub error_message: Option<Str>,
            pub group_id: Str,
            pub group_state: Str,
            pub protocol_type: Str,
            pub protocol_data: Str,
            pub members: Vec<DescribedGroupMember>,
            pub authorized_operations: i32,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for DescribedGroup {
            fn default() -> Self {
                Self {
                    error_code: Default::default(),
                    error_message: Default::default(),
                    group_id: Default::default(),
                    group_state: Default::default(),
                    protocol_type: Default::default(),
                    protocol_data: Default::default(),
                    members: Default::default(),
                    authorized_operations: -2147483648,
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct DescribedGroupMember {
            pub member_id: Str,
            pub group_instance_id: Option<Str>,
            pub client_id: Str,
            pub client_host: Str,
            pub member_metadata: Bytes,
            pub member_assignment: Bytes,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for DescribedGroupMember {
            fn default() -> Self {
                Self {
                    member_id: Default::default(),
                    group_instance_id: Default::default(),
                    client_id: Default::default(),
                    client_host: Default::default(),
                    member_metadata: Default::default(),
                    member_assignment: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
}
pub mod list_groups {
    pub mod request {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ListGroupsRequest {
            pub states_filter: Vec<Str>,
            pub types_filter: Vec<Str>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ListGroupsRequest {
            fn default() -> Self {
                Self {
                    states_filter: Default::default(),
                    types_filter: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub mod response {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ListGroupsResponse {
            pub throttle_time_ms: i32,
            pub error_code: ErrorCode,
            pub groups: Vec<ListedGroup>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ListGroupsResponse {
            fn default() -> Self {
                Self {
                    throttle_time_ms: Default::default(),
                    error_code: Default::default(),
                    groups: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct ListedGroup {
            pub group_id: Str,
            pub protocol_type: Str,
            pub group_state: Str,
            pub group_type: Str,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ListedGroup {
            fn default() -> Self {
                Self {
                    group_id: Default::default(),
                    protocol_type: Default::default(),
                    group_state: Default::default(),
                    group_type: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
}
pub mod offset_delete {
    pub mod request {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetDeleteRequest {
            pub group_id: Str,
            pub topics: Vec<OffsetDeleteRequestTopic>,
        }
        impl Default for OffsetDeleteRequest {
            fn default() -> Self {
                Self { group_id: Default::default(), topics: Default::default() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetDeleteRequestTopic {
            pub name: Str,
            pub partitions: Vec<OffsetDeleteRequestPartition>,
        }
        impl Default for OffsetDeleteRequestTopic {
            fn default() -> Self {
                Self { name: Default::default(), partitions: Default::default() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetDeleteRequestPartition {
            pub partition_index: i32,
        }
        impl Default for OffsetDeleteRequestPartition {
            fn default() -> Self {
                Self { partition_index: Default::default() }
            }
        }
    }
    pub mod response {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetDeleteResponse {
            pub error_code: ErrorCode,
            pub throttle_time_ms: i32,
            pub topics: Vec<OffsetDeleteResponseTopic>,
        }
        impl Default for OffsetDeleteResponse {
            fn default() -> Self {
                Self {
                    error_code: Default::default(),
                    throttle_time_ms: Default::default(),
                    topics: Default::default(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetDeleteResponseTopic {
            pub name: Str,
            pub partitions: Vec<OffsetDeleteResponsePartition>,
        }
        impl Default for OffsetDeleteResponseTopic {
            fn default() -> Self {
                Self { name: Default::default(), partitions: Default::default() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetDeleteResponsePartition {
            pub partition_index: i32,
            pub error_code: ErrorCode,
        }
        impl Default for OffsetDeleteResponsePartition {
            fn default() -> Self {
                Self { partition_index: Default::default(), error_code: Default::default() }
            }
        }
    }
}
pub mod streams_group_heartbeat {
    pub mod request {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupHeartbeatRequest {
            pub group_id: Str,
            pub member_id: Str,
            pub member_epoch: i32,
            pub endpoint_information_epoch: i32,
            pub instance_id: Option<Str>,
            pub rack_id: Option<Str>,
            pub rebalance_timeout_ms: i32,
            pub topology: Option<Topology>,
            pub active_tasks: Option<Vec<TaskIds>>,
            pub standby_tasks: Option<Vec<TaskIds>>,
            pub warmup_tasks: Option<Vec<TaskIds>>,
            pub process_id: Option<Str>,
            pub user_endpoint: Option<Endpoint>,
            pub client_tags: Option<Vec<KeyValue>>,
            pub task_offsets: Option<Vec<TaskOffset>>,
            pub task_end_offsets: Option<Vec<TaskOffset>>,
            pub shutdown_application: bool,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for StreamsGroupHeartbeatRequest {
            fn default() -> Self {
                Self {
                    group_id: Default::default(),
                    member_id: Default::default(),
                    member_epoch: Default::default(),
                    endpoint_information_epoch: Default::default(),
                    instance_id: Default::default(),
                    rack_id: Default::default(),
                    rebalance_timeout_ms: -1,
                    topology: Default::default(),
                    active_tasks: Default::default(),
                    standby_tasks: Default::default(),
                    warmup_tasks: Default::default(),
                    process_id: Default::default(),
                    user_endpoint: Default::default(),
                    client_tags: Default::default(),
                    task_offsets: Default::default(),
                    task_end_offsets: Default::default(),
                    shutdown_application: false,
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct KeyValue {
            pub key: Str,
            pub value: Str,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for KeyValue {
            fn default() -> Self {
                Self { key: Default::default(), value: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopicInfo {
            pub name: Str,
            pub partitions: i32,
            pub replication_factor: i16,
            pub topic_configs: Vec<KeyValue>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopicInfo {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    partitions: Default::default(),
                    replication_factor: Default::default(),
                    topic_configs: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct Endpoint {
            pub host: Str,
            pub port: u16,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for Endpoint {
            fn default() -> Self {
                Self { host: Default::default(), port: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TaskOffset {
            pub subtopology_id: Str,
            pub partition: i32,
            pub offset: i64,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TaskOffset {
            fn default() -> Self {
                Self {
                    subtopology_id: Default::default(),
                    partition: Default::default(),
                    offset: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TaskIds {
            pub subtopology_id: Str,
            pub partitions: Vec<i32>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TaskIds {
            fn default() -> Self {
                Self {
                    subtopology_id: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct Topology {
            pub epoch: i32,
            pub subtopologies: Vec<Subtopology>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for Topology {
            fn default() -> Self {
                Self {
                    epoch: Default::default(),
                    subtopologies: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct Subtopology {
            pub subtopology_id: Str,
            pub source_topics: Vec<Str>,
            pub source_topic_regex: Vec<Str>,
            pub state_changelog_topics: Vec<TopicInfo>,
            pub repartition_sink_topics: Vec<Str>,
            pub repartition_source_topics: Vec<TopicInfo>,
            pub copartition_groups: Vec<CopartitionGroup>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for Subtopology {
            fn default() -> Self {
                Self {
                    subtopology_id: Default::default(),
                    source_topics: Default::default(),
                    source_topic_regex: Default::default(),
                    state_changelog_topics: Default::default(),
                    repartition_sink_topics: Default::default(),
                    repartition_source_topics: Default::default(),
                    copartition_groups: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct CopartitionGroup {
            pub source_topics: Vec<i16>,
            pub source_topic_regex: Vec<i16>,
            pub repartition_source_topics: Vec<i16>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for CopartitionGroup {
            fn default() -> Self {
                Self {
                    source_topics: Default::default(),
                    source_topic_regex: Default::default(),
                    repartition_source_topics: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub mod response {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupHeartbeatResponse {
            pub throttle_time_ms: i32,
            pub error_code: ErrorCode,
            pub error_message: Option<Str>,
            pub member_id: Str,
            pub member_epoch: i32,
            pub heartbeat_interval_ms: i32,
            pub acceptable_recovery_lag_legacy: i32,
            pub task_offset_interval_ms: i32,
            pub acceptable_recovery_lag: i64,
            pub status: Option<Vec<Status>>,
            pub active_tasks: Option<Vec<TaskIds>>,
            pub standby_tasks: Option<Vec<TaskIds>>,
            pub warmup_tasks: Option<Vec<TaskIds>>,
            pub topology_description_required: bool,
            pub endpoint_information_epoch: i32,
            pub partitions_by_user_endpoint: Option<Vec<EndpointToPartitions>>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for StreamsGroupHeartbeatResponse {
            fn default() -> Self {
                Self {
                    throttle_time_ms: Default::default(),
                    error_code: Default::default(),
                    error_message: Default::default(),
                    member_id: Default::default(),
                    member_epoch: Default::default(),
                    heartbeat_interval_ms: Default::default(),
                    acceptable_recovery_lag_legacy: Default::default(),
                    task_offset_interval_ms: Default::default(),
                    acceptable_recovery_lag: -1,
                    status: Default::default(),
                    active_tasks: Default::default(),
                    standby_tasks: Default::default(),
                    warmup_tasks: Default::default(),
                    topology_description_required: false,
                    endpoint_information_epoch: Default::default(),
                    partitions_by_user_endpoint: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct Status {
            pub status_code: i8,
            pub status_detail: Str,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for Status {
            fn default() -> Self {
                Self {
                    status_code: Default::default(),
                    status_detail: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopicPartition {
            pub topic: Str,
            pub partitions: Vec<i32>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopicPartition {
            fn default() -> Self {
                Self {
                    topic: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TaskIds {
            pub subtopology_id: Str,
            pub partitions: Vec<i32>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TaskIds {
            fn default() -> Self {
                Self {
                    subtopology_id: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct Endpoint {
            pub host: Str,
            pub port: u16,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for Endpoint {
            fn default() -> Self {
                Self { host: Default::default(), port: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct EndpointToPartitions {
            pub user_endpoint: Endpoint,
            pub active_partitions: Vec<TopicPartition>,
            pub standby_partitions: Vec<TopicPartition>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for EndpointToPartitions {
            fn default() -> Self {
                Self {
                    user_endpoint: Default::default(),
                    active_partitions: Default::default(),
                    standby_partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
}
pub mod streams_group_describe {
    pub mod request {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupDescribeRequest {
            pub group_ids: Vec<Str>,
            pub include_authorized_operations: bool,
            pub include_topology_description: bool,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for StreamsGroupDescribeRequest {
            fn default() -> Self {
                Self {
                    group_ids: Default::default(),
                    include_authorized_operations: Default::default(),
                    include_topology_description: false,
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub mod response {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupDescribeResponse {
            pub throttle_time_ms: i32,
            pub groups: Vec<DescribedGroup>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for StreamsGroupDescribeResponse {
            fn default() -> Self {
                Self {
                    throttle_time_ms: Default::default(),
                    groups: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct Endpoint {
            pub host: Str,
            pub port: u16,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for Endpoint {
            fn default() -> Self {
                Self { host: Default::default(), port: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TaskOffset {
            pub subtopology_id: Str,
            pub partition: i32,
            pub offset: i64,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TaskOffset {
            fn default() -> Self {
                Self {
                    subtopology_id: Default::default(),
                    partition: Default::default(),
                    offset: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct Assignment {
            pub active_tasks: Vec<TaskIds>,
            pub standby_tasks: Vec<TaskIds>,
            pub warmup_tasks: Vec<TaskIds>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for Assignment {
            fn default() -> Self {
                Self {
                    active_tasks: Default::default(),
                    standby_tasks: Default::default(),
                    warmup_tasks: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TaskIds {
            pub subtopology_id: Str,
            pub partitions: Vec<i32>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TaskIds {
            fn default() -> Self {
                Self {
                    subtopology_id: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct KeyValue {
            pub key: Str,
            pub value: Str,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for KeyValue {
            fn default() -> Self {
                Self { key: Default::default(), value: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopicInfo {
            pub name: Str,
            pub partitions: i32,
            pub replication_factor: i16,
            pub topic_configs: Vec<KeyValue>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopicInfo {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    partitions: Default::default(),
                    replication_factor: Default::default(),
                    topic_configs: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopologyDescription {
            pub subtopologies: Vec<TopologyDescriptionSubtopology>,
            pub global_stores: Vec<TopologyDescriptionGlobalStore>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopologyDescription {
            fn default() -> Self {
                Self {
                    subtopologies: Default::default(),
                    global_stores: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopologyDescriptionSubtopology {
            pub subtopology_id: Str,
            pub nodes: Vec<TopologyDescriptionNode>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopologyDescriptionSubtopology {
            fn default() -> Self {
                Self {
                    subtopology_id: Default::default(),
                    nodes: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopologyDescriptionGlobalStore {
            pub source: TopologyDescriptionNode,
            pub processor: TopologyDescriptionNode,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopologyDescriptionGlobalStore {
            fn default() -> Self {
                Self {
                    source: Default::default(),
                    processor: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopologyDescriptionNode {
            pub name: Str,
            pub node_type: i8,
            pub source_topics: Vec<Str>,
            pub sink_topic: Option<Str>,
            pub stores: Vec<Str>,
            pub successors: Vec<Str>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopologyDescriptionNode {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    node_type: Default::default(),
                    source_topics: Default::default(),
                    sink_topic: Default::default(),
                    stores: Default::default(),
                    successors: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct DescribedGroup {
            pub error_code: ErrorCode,
            pub error_message: Option<Str>,
            pub group_id: Str,
            pub group_state: Str,
            pub group_epoch: i32,
            pub assignment_epoch: i32,
            pub topology: Option<Topology>,
            pub members: Vec<Member>,
            pub authorized_operations: i32,
            pub topology_description: Option<TopologyDescription>,
            pub topology_description_status: i8,
            pub assignor_name: Option<Str>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for DescribedGroup {
            fn default() -> Self {
                Self {
                    error_code: Default::default(),
                    error_message: Default::default(),
                    group_id: Default::default(),
                    group_state: Default::default(),
                    group_epoch: Default::default(),
                    assignment_epoch: Default::default(),
                    topology: Default::default(),
                    members: Default::default(),
                    authorized_operations: -2147483648,
                    topology_description: Default::default(),
                    topology_description_status: 0,
                    assignor_name: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct Topology {
            pub epoch: i32,
            pub subtopologies: Option<Vec<Subtopology>>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for Topology {
            fn default() -> Self {
                Self {
                    epoch: Default::default(),
                    subtopologies: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct Subtopology {
            pub subtopology_id: Str,
            pub source_topics: Vec<Str>,
            pub repartition_sink_topics: Vec<Str>,
            pub state_changelog_topics: Vec<TopicInfo>,
            pub repartition_source_topics: Vec<TopicInfo>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for Subtopology {
            fn default() -> Self {
                Self {
                    subtopology_id: Default::default(),
                    source_topics: Default::default(),
                    repartition_sink_topics: Default::default(),
                    state_changelog_topics: Default::default(),
                    repartition_source_topics: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct Member {
            pub member_id: Str,
            pub member_epoch: i32,
            pub instance_id: Option<Str>,
            pub rack_id: Option<Str>,
            pub client_id: Str,
            pub client_host: Str,
            pub topology_epoch: i32,
            pub process_id: Str,
            pub user_endpoint: Option<Endpoint>,
            pub client_tags: Vec<KeyValue>,
            pub task_offsets: Vec<TaskOffset>,
            pub task_end_offsets: Vec<TaskOffset>,
            pub assignment: Assignment,
            pub target_assignment: Assignment,
            pub is_classic: bool,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for Member {
            fn default() -> Self {
                Self {
                    member_id: Default::default(),
                    member_epoch: Default::default(),
                    instance_id: Default::default(),
                    rack_id: Default::default(),
                    client_id: Default::default(),
                    client_host: Default::default(),
                    topology_epoch: Default::default(),
                    process_id: Default::default(),
                    user_endpoint: Default::default(),
                    client_tags: Default::default(),
                    task_offsets: Default::default(),
                    task_end_offsets: Default::default(),
                    assignment: Default::default(),
                    target_assignment: Default::default(),
                    is_classic: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
}
pub mod create_topics {
    pub mod request {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct CreateTopicsRequest {
            pub topics: Vec<CreatableTopic>,
            pub timeout_ms: i32,
            pub validate_only: bool,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for CreateTopicsRequest {
            fn default() -> Self {
                Self {
                    topics: Default::default(),
                    timeout_ms: 60000,
                    validate_only: false,
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct CreatableTopic {
            pub name: Str,
            pub num_partitions: i32,
            pub replication_factor: i16,
            pub assignments: Vec<CreatableReplicaAssignment>,
            pub configs: Vec<CreatableTopicConfig>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for CreatableTopic {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    num_partitions: Default::default(),
                    replication_factor: Default::default(),
                    assignments: Default::default(),
                    configs: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct CreatableReplicaAssignment {
            pub partition_index: i32,
            pub broker_ids: Vec<i32>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for CreatableReplicaAssignment {
            fn default() -> Self {
                Self {
                    partition_index: Default::default(),
                    broker_ids: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct CreatableTopicConfig {
            pub name: Str,
            pub value: Option<Str>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for CreatableTopicConfig {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    value: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub mod response {
        use super::super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct CreateTopicsResponse {
            pub throttle_time_ms: i32,
            pub topics: Vec<CreatableTopicResult>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for CreateTopicsResponse {
            fn default() -> Self {
                Self {
                    throttle_time_ms: Default::default(),
                    topics: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct CreatableTopicResult {
            pub name: Str,
            pub topic_id: Uuid,
            pub error_code: ErrorCode,
            pub error_message: Option<Str>,
            pub topic_config_error_code: ErrorCode,
            pub num_partitions: i32,
            pub replication_factor: i16,
            pub configs: Option<Vec<CreatableTopicConfigs>>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for CreatableTopicResult {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    topic_id: Default::default(),
                    error_code: Default::default(),
                    error_message: Default::default(),
                    topic_config_error_code: Default::default(),
                    num_partitions: -1,
                    replication_factor: -1,
                    configs: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct CreatableTopicConfigs {
            pub name: Str,
            pub value: Option<Str>,
            pub read_only: bool,
            pub config_source: i8,
            pub is_sensitive: bool,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for CreatableTopicConfigs {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    value: Default::default(),
                    read_only: Default::default(),
                    config_source: -1,
                    is_sensitive: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
}
pub use create_topics::request::CreateTopicsRequest;
pub use create_topics::response::CreateTopicsResponse;
pub use delete_groups::request::DeleteGroupsRequest;
pub use delete_groups::response::DeleteGroupsResponse;
pub use describe_groups::request::DescribeGroupsRequest;
pub use describe_groups::response::DescribeGroupsResponse;
pub use list_groups::request::ListGroupsRequest;
pub use list_groups::response::ListGroupsResponse;
pub use offset_commit::request::OffsetCommitRequest;
pub use offset_commit::response::OffsetCommitResponse;
pub use offset_delete::request::OffsetDeleteRequest;
pub use offset_delete::response::OffsetDeleteResponse;
pub use offset_fetch::request::OffsetFetchRequest;
pub use offset_fetch::response::OffsetFetchResponse;
pub use streams_group_describe::request::StreamsGroupDescribeRequest;
pub use streams_group_describe::response::StreamsGroupDescribeResponse;
pub use streams_group_heartbeat::request::StreamsGroupHeartbeatRequest;
pub use streams_group_heartbeat::response::StreamsGroupHeartbeatResponse;
pub mod consumer_offsets {
    use super::*;
    pub mod legacy_offset_commit_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct LegacyOffsetCommitKey {
            pub group: Str,
            pub topic: Str,
            pub partition: i32,
        }
        impl Default for LegacyOffsetCommitKey {
            fn default() -> Self {
                Self { group: Default::default(), topic: Default::default(), partition: Default::default() }
            }
        }
    }
    pub use legacy_offset_commit_key::LegacyOffsetCommitKey;
    pub mod legacy_offset_commit_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct LegacyOffsetCommitValue {
            pub offset: i64,
            pub metadata: Str,
            pub commit_timestamp: i64,
        }
        impl Default for LegacyOffsetCommitValue {
            fn default() -> Self {
                Self {
                    offset: Default::default(),
                    metadata: Default::default(),
                    commit_timestamp: Default::default(),
                }
            }
        }
    }
    pub use legacy_offset_commit_value::LegacyOffsetCommitValue;
    pub mod offset_commit_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetCommitKey {
            pub group: Str,
            pub topic: Str,
            pub partition: i32,
        }
        impl Default for OffsetCommitKey {
            fn default() -> Self {
                Self { group: Default::default(), topic: Default::default(), partition: Default::default() }
            }
        }
    }
    pub use offset_commit_key::OffsetCommitKey;
    pub mod offset_commit_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct OffsetCommitValue {
            pub offset: i64,
            pub leader_epoch: i32,
            pub metadata: Str,
            pub commit_timestamp: i64,
            pub expire_timestamp: i64,
            pub topic_id: Uuid,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for OffsetCommitValue {
            fn default() -> Self {
                Self {
                    offset: Default::default(),
                    leader_epoch: -1,
                    metadata: Default::default(),
                    commit_timestamp: Default::default(),
                    expire_timestamp: -1,
                    topic_id: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use offset_commit_value::OffsetCommitValue;
    pub mod group_metadata_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct GroupMetadataKey {
            pub group: Str,
        }
        impl Default for GroupMetadataKey {
            fn default() -> Self {
                Self { group: Default::default() }
            }
        }
    }
    pub use group_metadata_key::GroupMetadataKey;
    pub mod group_metadata_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct GroupMetadataValue {
            pub protocol_type: Str,
            pub generation: i32,
            pub protocol: Option<Str>,
            pub leader: Option<Str>,
            pub current_state_timestamp: i64,
            pub members: Vec<MemberMetadata>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for GroupMetadataValue {
            fn default() -> Self {
                Self {
                    protocol_type: Default::default(),
                    generation: Default::default(),
                    protocol: Default::default(),
                    leader: Default::default(),
                    current_state_timestamp: -1,
                    members: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct MemberMetadata {
            pub member_id: Str,
            pub group_instance_id: Option<Str>,
            pub client_id: Str,
            pub client_host: Str,
            pub rebalance_timeout: i32,
            pub session_timeout: i32,
            pub subscription: Bytes,
            pub assignment: Bytes,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for MemberMetadata {
            fn default() -> Self {
                Self {
                    member_id: Default::default(),
                    group_instance_id: Default::default(),
                    client_id: Default::default(),
                    client_host: Default::default(),
                    rebalance_timeout: -1,
                    session_timeout: Default::default(),
                    subscription: Default::default(),
                    assignment: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use group_metadata_value::GroupMetadataValue;
    pub mod consumer_group_metadata_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupMetadataKey {
            pub group_id: Str,
        }
        impl Default for ConsumerGroupMetadataKey {
            fn default() -> Self {
                Self { group_id: Default::default() }
            }
        }
    }
    pub use consumer_group_metadata_key::ConsumerGroupMetadataKey;
    pub mod consumer_group_metadata_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupMetadataValue {
            pub epoch: i32,
            pub metadata_hash: i64,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ConsumerGroupMetadataValue {
            fn default() -> Self {
                Self { epoch: Default::default(), metadata_hash: 0, unknown_tagged_fields: Vec::new() }
            }
        }
    }
    pub use consumer_group_metadata_value::ConsumerGroupMetadataValue;
    pub mod consumer_group_partition_metadata_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupPartitionMetadataKey {
            pub group_id: Str,
        }
        impl Default for ConsumerGroupPartitionMetadataKey {
            fn default() -> Self {
                Self { group_id: Default::default() }
            }
        }
    }
    pub use consumer_group_partition_metadata_key::ConsumerGroupPartitionMetadataKey;
    pub mod consumer_group_partition_metadata_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupPartitionMetadataValue {
            pub topics: Vec<TopicMetadata>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ConsumerGroupPartitionMetadataValue {
            fn default() -> Self {
                Self { topics: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopicMetadata {
            pub topic_id: Uuid,
            pub topic_name: Str,
            pub num_partitions: i32,
            pub partition_metadata: Vec<PartitionMetadata>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopicMetadata {
            fn default() -> Self {
                Self {
                    topic_id: Default::default(),
                    topic_name: Default::default(),
                    num_partitions: Default::default(),
                    partition_metadata: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct PartitionMetadata {
            pub partition: i32,
            pub racks: Vec<Str>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for PartitionMetadata {
            fn default() -> Self {
                Self {
                    partition: Default::default(),
                    racks: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use consumer_group_partition_metadata_value::ConsumerGroupPartitionMetadataValue;
    pub mod consumer_group_member_metadata_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupMemberMetadataKey {
            pub group_id: Str,
            pub member_id: Str,
        }
        impl Default for ConsumerGroupMemberMetadataKey {
            fn default() -> Self {
                Self { group_id: Default::default(), member_id: Default::default() }
            }
        }
    }
    pub use consumer_group_member_metadata_key::ConsumerGroupMemberMetadataKey;
    pub mod consumer_group_member_metadata_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupMemberMetadataValue {
            pub instance_id: Option<Str>,
            pub rack_id: Option<Str>,
            pub client_id: Str,
            pub client_host: Str,
            pub subscribed_topic_names: Vec<Str>,
            pub subscribed_topic_regex: Option<Str>,
            pub rebalance_timeout_ms: i32,
            pub server_assignor: Option<Str>,
            pub classic_member_metadata: Option<ClassicMemberMetadata>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ConsumerGroupMemberMetadataValue {
            fn default() -> Self {
                Self {
                    instance_id: Default::default(),
                    rack_id: Default::default(),
                    client_id: Default::default(),
                    client_host: Default::default(),
                    subscribed_topic_names: Default::default(),
                    subscribed_topic_regex: Default::default(),
                    rebalance_timeout_ms: -1,
                    server_assignor: Default::default(),
                    classic_member_metadata: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct ClassicMemberMetadata {
            pub session_timeout_ms: i32,
            pub supported_protocols: Vec<ClassicProtocol>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ClassicMemberMetadata {
            fn default() -> Self {
                Self {
                    session_timeout_ms: Default::default(),
                    supported_protocols: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct ClassicProtocol {
            pub name: Str,
            pub metadata: Bytes,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ClassicProtocol {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    metadata: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use consumer_group_member_metadata_value::ConsumerGroupMemberMetadataValue;
    pub mod consumer_group_target_assignment_metadata_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupTargetAssignmentMetadataKey {
            pub group_id: Str,
        }
        impl Default for ConsumerGroupTargetAssignmentMetadataKey {
            fn default() -> Self {
                Self { group_id: Default::default() }
            }
        }
    }
    pub use consumer_group_target_assignment_metadata_key::ConsumerGroupTargetAssignmentMetadataKey;
    pub mod consumer_group_target_assignment_metadata_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupTargetAssignmentMetadataValue {
            pub assignment_epoch: i32,
            pub assignment_timestamp: i64,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ConsumerGroupTargetAssignmentMetadataValue {
            fn default() -> Self {
                Self {
                    assignment_epoch: Default::default(),
                    assignment_timestamp: 0,
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use consumer_group_target_assignment_metadata_value::ConsumerGroupTargetAssignmentMetadataValue;
    pub mod consumer_group_target_assignment_member_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupTargetAssignmentMemberKey {
            pub group_id: Str,
            pub member_id: Str,
        }
        impl Default for ConsumerGroupTargetAssignmentMemberKey {
            fn default() -> Self {
                Self { group_id: Default::default(), member_id: Default::default() }
            }
        }
    }
    pub use consumer_group_target_assignment_member_key::ConsumerGroupTargetAssignmentMemberKey;
    pub mod consumer_group_target_assignment_member_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupTargetAssignmentMemberValue {
            pub topic_partitions: Vec<TopicPartition>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ConsumerGroupTargetAssignmentMemberValue {
            fn default() -> Self {
                Self { topic_partitions: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopicPartition {
            pub topic_id: Uuid,
            pub partitions: Vec<i32>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopicPartition {
            fn default() -> Self {
                Self {
                    topic_id: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use consumer_group_target_assignment_member_value::ConsumerGroupTargetAssignmentMemberValue;
    pub mod consumer_group_current_member_assignment_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupCurrentMemberAssignmentKey {
            pub group_id: Str,
            pub member_id: Str,
        }
        impl Default for ConsumerGroupCurrentMemberAssignmentKey {
            fn default() -> Self {
                Self { group_id: Default::default(), member_id: Default::default() }
            }
        }
    }
    pub use consumer_group_current_member_assignment_key::ConsumerGroupCurrentMemberAssignmentKey;
    pub mod consumer_group_current_member_assignment_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupCurrentMemberAssignmentValue {
            pub member_epoch: i32,
            pub previous_member_epoch: i32,
            pub state: i8,
            pub assigned_partitions: Vec<TopicPartitions>,
            pub partitions_pending_revocation: Vec<TopicPartitions>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ConsumerGroupCurrentMemberAssignmentValue {
            fn default() -> Self {
                Self {
                    member_epoch: Default::default(),
                    previous_member_epoch: Default::default(),
                    state: Default::default(),
                    assigned_partitions: Default::default(),
                    partitions_pending_revocation: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopicPartitions {
            pub topic_id: Uuid,
            pub partitions: Vec<i32>,
            pub assignment_epochs: Option<Vec<i32>>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopicPartitions {
            fn default() -> Self {
                Self {
                    topic_id: Default::default(),
                    partitions: Default::default(),
                    assignment_epochs: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use consumer_group_current_member_assignment_value::ConsumerGroupCurrentMemberAssignmentValue;
    pub mod share_group_member_metadata_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ShareGroupMemberMetadataKey {
            pub group_id: Str,
            pub member_id: Str,
        }
        impl Default for ShareGroupMemberMetadataKey {
            fn default() -> Self {
                Self { group_id: Default::default(), member_id: Default::default() }
            }
        }
    }
    pub use share_group_member_metadata_key::ShareGroupMemberMetadataKey;
    pub mod share_group_member_metadata_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ShareGroupMemberMetadataValue {
            pub rack_id: Option<Str>,
            pub client_id: Str,
            pub client_host: Str,
            pub subscribed_topic_names: Vec<Str>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ShareGroupMemberMetadataValue {
            fn default() -> Self {
                Self {
                    rack_id: Default::default(),
                    client_id: Default::default(),
                    client_host: Default::default(),
                    subscribed_topic_names: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use share_group_member_metadata_value::ShareGroupMemberMetadataValue;
    pub mod share_group_metadata_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ShareGroupMetadataKey {
            pub group_id: Str,
        }
        impl Default for ShareGroupMetadataKey {
            fn default() -> Self {
                Self { group_id: Default::default() }
            }
        }
    }
    pub use share_group_metadata_key::ShareGroupMetadataKey;
    pub mod share_group_metadata_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ShareGroupMetadataValue {
            pub epoch: i32,
            pub metadata_hash: i64,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ShareGroupMetadataValue {
            fn default() -> Self {
                Self {
                    epoch: Default::default(),
                    metadata_hash: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use share_group_metadata_value::ShareGroupMetadataValue;
    pub mod share_group_target_assignment_metadata_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ShareGroupTargetAssignmentMetadataKey {
            pub group_id: Str,
        }
        impl Default for ShareGroupTargetAssignmentMetadataKey {
            fn default() -> Self {
                Self { group_id: Default::default() }
            }
        }
    }
    pub use share_group_target_assignment_metadata_key::ShareGroupTargetAssignmentMetadataKey;
    pub mod share_group_target_assignment_metadata_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ShareGroupTargetAssignmentMetadataValue {
            pub assignment_epoch: i32,
            pub assignment_timestamp: i64,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ShareGroupTargetAssignmentMetadataValue {
            fn default() -> Self {
                Self {
                    assignment_epoch: Default::default(),
                    assignment_timestamp: 0,
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use share_group_target_assignment_metadata_value::ShareGroupTargetAssignmentMetadataValue;
    pub mod share_group_target_assignment_member_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ShareGroupTargetAssignmentMemberKey {
            pub group_id: Str,
            pub member_id: Str,
        }
        impl Default for ShareGroupTargetAssignmentMemberKey {
            fn default() -> Self {
                Self { group_id: Default::default(), member_id: Default::default() }
            }
        }
    }
    pub use share_group_target_assignment_member_key::ShareGroupTargetAssignmentMemberKey;
    pub mod share_group_target_assignment_member_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ShareGroupTargetAssignmentMemberValue {
            pub topic_partitions: Vec<TopicPartition>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ShareGroupTargetAssignmentMemberValue {
            fn default() -> Self {
                Self { topic_partitions: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopicPartition {
            pub topic_id: Uuid,
            pub partitions: Vec<i32>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopicPartition {
            fn default() -> Self {
                Self {
                    topic_id: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use share_group_target_assignment_member_value::ShareGroupTargetAssignmentMemberValue;
    pub mod share_group_current_member_assignment_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ShareGroupCurrentMemberAssignmentKey {
            pub group_id: Str,
            pub member_id: Str,
        }
        impl Default for ShareGroupCurrentMemberAssignmentKey {
            fn default() -> Self {
                Self { group_id: Default::default(), member_id: Default::default() }
            }
        }
    }
    pub use share_group_current_member_assignment_key::ShareGroupCurrentMemberAssignmentKey;
    pub mod share_group_current_member_assignment_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ShareGroupCurrentMemberAssignmentValue {
            pub member_epoch: i32,
            pub previous_member_epoch: i32,
            pub state: i8,
            pub assigned_partitions: Vec<TopicPartitions>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ShareGroupCurrentMemberAssignmentValue {
            fn default() -> Self {
                Self {
                    member_epoch: Default::default(),
                    previous_member_epoch: Default::default(),
                    state: Default::default(),
                    assigned_partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopicPartitions {
            pub topic_id: Uuid,
            pub partitions: Vec<i32>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopicPartitions {
            fn default() -> Self {
                Self {
                    topic_id: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use share_group_current_member_assignment_value::ShareGroupCurrentMemberAssignmentValue;
    pub mod share_group_state_partition_metadata_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ShareGroupStatePartitionMetadataKey {
            pub group_id: Str,
        }
        impl Default for ShareGroupStatePartitionMetadataKey {
            fn default() -> Self {
                Self { group_id: Default::default() }
            }
        }
    }
    pub use share_group_state_partition_metadata_key::ShareGroupStatePartitionMetadataKey;
    pub mod share_group_state_partition_metadata_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ShareGroupStatePartitionMetadataValue {
            pub initializing_topics: Vec<TopicPartitionsInfo>,
            pub initialized_topics: Vec<TopicPartitionsInfo>,
            pub deleting_topics: Vec<TopicInfo>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ShareGroupStatePartitionMetadataValue {
            fn default() -> Self {
                Self {
                    initializing_topics: Default::default(),
                    initialized_topics: Default::default(),
                    deleting_topics: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopicPartitionsInfo {
            pub topic_id: Uuid,
            pub topic_name: Str,
            pub partitions: Vec<i32>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopicPartitionsInfo {
            fn default() -> Self {
                Self {
                    topic_id: Default::default(),
                    topic_name: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopicInfo {
            pub topic_id: Uuid,
            pub topic_name: Str,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopicInfo {
            fn default() -> Self {
                Self {
                    topic_id: Default::default(),
                    topic_name: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use share_group_state_partition_metadata_value::ShareGroupStatePartitionMetadataValue;
    pub mod consumer_group_regular_expression_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupRegularExpressionKey {
            pub group_id: Str,
            pub regular_expression: Str,
        }
        impl Default for ConsumerGroupRegularExpressionKey {
            fn default() -> Self {
                Self { group_id: Default::default(), regular_expression: Default::default() }
            }
        }
    }
    pub use consumer_group_regular_expression_key::ConsumerGroupRegularExpressionKey;
    pub mod consumer_group_regular_expression_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct ConsumerGroupRegularExpressionValue {
            pub topics: Vec<Str>,
            pub version: i64,
            pub timestamp: i64,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for ConsumerGroupRegularExpressionValue {
            fn default() -> Self {
                Self {
                    topics: Default::default(),
                    version: Default::default(),
                    timestamp: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use consumer_group_regular_expression_value::ConsumerGroupRegularExpressionValue;
    pub mod streams_group_metadata_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupMetadataKey {
            pub group_id: Str,
        }
        impl Default for StreamsGroupMetadataKey {
            fn default() -> Self {
                Self { group_id: Default::default() }
            }
        }
    }
    pub use streams_group_metadata_key::StreamsGroupMetadataKey;
    pub mod streams_group_metadata_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupMetadataValue {
            pub epoch: i32,
            pub metadata_hash: i64,
            pub validated_topology_epoch: i32,
            pub last_assignment_configs: Option<Vec<LastAssignmentConfig>>,
            pub stored_description_topology_epoch: i32,
            pub failed_description_topology_epoch: i32,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for StreamsGroupMetadataValue {
            fn default() -> Self {
                Self {
                    epoch: Default::default(),
                    metadata_hash: Default::default(),
                    validated_topology_epoch: -1,
                    last_assignment_configs: Default::default(),
                    stored_description_topology_epoch: -1,
                    failed_description_topology_epoch: -1,
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct LastAssignmentConfig {
            pub key: Str,
            pub value: Str,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for LastAssignmentConfig {
            fn default() -> Self {
                Self { key: Default::default(), value: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
    }
    pub use streams_group_metadata_value::StreamsGroupMetadataValue;
    pub mod streams_group_member_metadata_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupMemberMetadataKey {
            pub group_id: Str,
            pub member_id: Str,
        }
        impl Default for StreamsGroupMemberMetadataKey {
            fn default() -> Self {
                Self { group_id: Default::default(), member_id: Default::default() }
            }
        }
    }
    pub use streams_group_member_metadata_key::StreamsGroupMemberMetadataKey;
    pub mod streams_group_member_metadata_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupMemberMetadataValue {
            pub instance_id: Option<Str>,
            pub rack_id: Option<Str>,
            pub client_id: Str,
            pub client_host: Str,
            pub rebalance_timeout_ms: i32,
            pub topology_epoch: i32,
            pub process_id: Str,
            pub user_endpoint: Option<Endpoint>,
            pub client_tags: Vec<KeyValue>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for StreamsGroupMemberMetadataValue {
            fn default() -> Self {
                Self {
                    instance_id: Default::default(),
                    rack_id: Default::default(),
                    client_id: Default::default(),
                    client_host: Default::default(),
                    rebalance_timeout_ms: -1,
                    topology_epoch: Default::default(),
                    process_id: Default::default(),
                    user_endpoint: Default::default(),
                    client_tags: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct Endpoint {
            pub host: Str,
            pub port: u16,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for Endpoint {
            fn default() -> Self {
                Self { host: Default::default(), port: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct KeyValue {
            pub key: Str,
            pub value: Str,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for KeyValue {
            fn default() -> Self {
                Self { key: Default::default(), value: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
    }
    pub use streams_group_member_metadata_value::StreamsGroupMemberMetadataValue;
    pub mod streams_group_target_assignment_metadata_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupTargetAssignmentMetadataKey {
            pub group_id: Str,
        }
        impl Default for StreamsGroupTargetAssignmentMetadataKey {
            fn default() -> Self {
                Self { group_id: Default::default() }
            }
        }
    }
    pub use streams_group_target_assignment_metadata_key::StreamsGroupTargetAssignmentMetadataKey;
    pub mod streams_group_target_assignment_metadata_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupTargetAssignmentMetadataValue {
            pub assignment_epoch: i32,
            pub assignment_timestamp: i64,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for StreamsGroupTargetAssignmentMetadataValue {
            fn default() -> Self {
                Self {
                    assignment_epoch: Default::default(),
                    assignment_timestamp: 0,
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use streams_group_target_assignment_metadata_value::StreamsGroupTargetAssignmentMetadataValue;
    pub mod streams_group_target_assignment_member_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupTargetAssignmentMemberKey {
            pub group_id: Str,
            pub member_id: Str,
        }
        impl Default for StreamsGroupTargetAssignmentMemberKey {
            fn default() -> Self {
                Self { group_id: Default::default(), member_id: Default::default() }
            }
        }
    }
    pub use streams_group_target_assignment_member_key::StreamsGroupTargetAssignmentMemberKey;
    pub mod streams_group_target_assignment_member_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupTargetAssignmentMemberValue {
            pub active_tasks: Vec<TaskIds>,
            pub standby_tasks: Vec<TaskIds>,
            pub warmup_tasks: Vec<TaskIds>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for StreamsGroupTargetAssignmentMemberValue {
            fn default() -> Self {
                Self {
                    active_tasks: Default::default(),
                    standby_tasks: Default::default(),
                    warmup_tasks: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TaskIds {
            pub subtopology_id: Str,
            pub partitions: Vec<i32>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TaskIds {
            fn default() -> Self {
                Self {
                    subtopology_id: Default::default(),
                    partitions: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use streams_group_target_assignment_member_value::StreamsGroupTargetAssignmentMemberValue;
    pub mod streams_group_current_member_assignment_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupCurrentMemberAssignmentKey {
            pub group_id: Str,
            pub member_id: Str,
        }
        impl Default for StreamsGroupCurrentMemberAssignmentKey {
            fn default() -> Self {
                Self { group_id: Default::default(), member_id: Default::default() }
            }
        }
    }
    pub use streams_group_current_member_assignment_key::StreamsGroupCurrentMemberAssignmentKey;
    pub mod streams_group_current_member_assignment_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupCurrentMemberAssignmentValue {
            pub member_epoch: i32,
            pub previous_member_epoch: i32,
            pub state: i8,
            pub active_tasks: Vec<TaskIds>,
            pub standby_tasks: Vec<TaskIds>,
            pub warmup_tasks: Vec<TaskIds>,
            pub active_tasks_pending_revocation: Vec<TaskIds>,
            pub standby_tasks_pending_revocation: Vec<TaskIds>,
            pub warmup_tasks_pending_revocation: Vec<TaskIds>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for StreamsGroupCurrentMemberAssignmentValue {
            fn default() -> Self {
                Self {
                    member_epoch: Default::default(),
                    previous_member_epoch: Default::default(),
                    state: Default::default(),
                    active_tasks: Default::default(),
                    standby_tasks: Default::default(),
                    warmup_tasks: Default::default(),
                    active_tasks_pending_revocation: Default::default(),
                    standby_tasks_pending_revocation: Default::default(),
                    warmup_tasks_pending_revocation: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TaskIds {
            pub subtopology_id: Str,
            pub partitions: Vec<i32>,
            pub assignment_epochs: Option<Vec<i32>>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TaskIds {
            fn default() -> Self {
                Self {
                    subtopology_id: Default::default(),
                    partitions: Default::default(),
                    assignment_epochs: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use streams_group_current_member_assignment_value::StreamsGroupCurrentMemberAssignmentValue;
    pub mod streams_group_topology_key {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupTopologyKey {
            pub group_id: Str,
        }
        impl Default for StreamsGroupTopologyKey {
            fn default() -> Self {
                Self { group_id: Default::default() }
            }
        }
    }
    pub use streams_group_topology_key::StreamsGroupTopologyKey;
    pub mod streams_group_topology_value {
        use super::*;
        #[derive(Debug, Clone, PartialEq)]
        pub struct StreamsGroupTopologyValue {
            pub epoch: i32,
            pub subtopologies: Vec<Subtopology>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for StreamsGroupTopologyValue {
            fn default() -> Self {
                Self {
                    epoch: Default::default(),
                    subtopologies: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopicConfig {
            pub key: Str,
            pub value: Str,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopicConfig {
            fn default() -> Self {
                Self { key: Default::default(), value: Default::default(), unknown_tagged_fields: Vec::new() }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct TopicInfo {
            pub name: Str,
            pub partitions: i32,
            pub replication_factor: i16,
            pub topic_configs: Vec<TopicConfig>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for TopicInfo {
            fn default() -> Self {
                Self {
                    name: Default::default(),
                    partitions: Default::default(),
                    replication_factor: Default::default(),
                    topic_configs: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct Subtopology {
            pub subtopology_id: Str,
            pub source_topics: Vec<Str>,
            pub source_topic_regex: Vec<Str>,
            pub state_changelog_topics: Vec<TopicInfo>,
            pub repartition_sink_topics: Vec<Str>,
            pub repartition_source_topics: Vec<TopicInfo>,
            pub copartition_groups: Vec<CopartitionGroup>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for Subtopology {
            fn default() -> Self {
                Self {
                    subtopology_id: Default::default(),
                    source_topics: Default::default(),
                    source_topic_regex: Default::default(),
                    state_changelog_topics: Default::default(),
                    repartition_sink_topics: Default::default(),
                    repartition_source_topics: Default::default(),
                    copartition_groups: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
        #[derive(Debug, Clone, PartialEq)]
        pub struct CopartitionGroup {
            pub source_topics: Vec<i16>,
            pub source_topic_regex: Vec<i16>,
            pub repartition_source_topics: Vec<i16>,
            pub unknown_tagged_fields: Vec<RawTag>,
        }
        impl Default for CopartitionGroup {
            fn default() -> Self {
                Self {
                    source_topics: Default::default(),
                    source_topic_regex: Default::default(),
                    repartition_source_topics: Default::default(),
                    unknown_tagged_fields: Vec::new(),
                }
            }
        }
    }
    pub use streams_group_topology_value::StreamsGroupTopologyValue;
    #[derive(Debug, Clone, PartialEq)]
    pub enum Record {
        LegacyOffsetCommit(LegacyOffsetCommitKey, Option<LegacyOffsetCommitValue>),
        OffsetCommit(OffsetCommitKey, Option<OffsetCommitValue>),
        GroupMetadata(GroupMetadataKey, Option<GroupMetadataValue>),
        ConsumerGroupMetadata(ConsumerGroupMetadataKey, Option<ConsumerGroupMetadataValue>),
        ConsumerGroupPartitionMetadata(
            ConsumerGroupPartitionMetadataKey,
            Option<ConsumerGroupPartitionMetadataValue>,
        ),
        ConsumerGroupMemberMetadata(ConsumerGroupMemberMetadataKey, Option<ConsumerGroupMemberMetadataValue>),
        ConsumerGroupTargetAssignmentMetadata(
            ConsumerGroupTargetAssignmentMetadataKey,
            Option<ConsumerGroupTargetAssignmentMetadataValue>,
        ),
        ConsumerGroupTargetAssignmentMember(
            ConsumerGroupTargetAssignmentMemberKey,
            Option<ConsumerGroupTargetAssignmentMemberValue>,
        ),
        ConsumerGroupCurrentMemberAssignment(
            ConsumerGroupCurrentMemberAssignmentKey,
            Option<ConsumerGroupCurrentMemberAssignmentValue>,
        ),
        ShareGroupMemberMetadata(ShareGroupMemberMetadataKey, Option<ShareGroupMemberMetadataValue>),
        ShareGroupMetadata(ShareGroupMetadataKey, Option<ShareGroupMetadataValue>),
        ShareGroupTargetAssignmentMetadata(
            ShareGroupTargetAssignmentMetadataKey,
            Option<ShareGroupTargetAssignmentMetadataValue>,
        ),
        ShareGroupTargetAssignmentMember(
            ShareGroupTargetAssignmentMemberKey,
            Option<ShareGroupTargetAssignmentMemberValue>,
        ),
        ShareGroupCurrentMemberAssignment(
            ShareGroupCurrentMemberAssignmentKey,
            Option<ShareGroupCurrentMemberAssignmentValue>,
        ),
        ShareGroupStatePartitionMetadata(
            ShareGroupStatePartitionMetadataKey,
            Option<ShareGroupStatePartitionMetadataValue>,
        ),
        ConsumerGroupRegularExpression(
            ConsumerGroupRegularExpressionKey,
            Option<ConsumerGroupRegularExpressionValue>,
        ),
        StreamsGroupMetadata(StreamsGroupMetadataKey, Option<StreamsGroupMetadataValue>),
        StreamsGroupMemberMetadata(StreamsGroupMemberMetadataKey, Option<StreamsGroupMemberMetadataValue>),
        StreamsGroupTargetAssignmentMetadata(
            StreamsGroupTargetAssignmentMetadataKey,
            Option<StreamsGroupTargetAssignmentMetadataValue>,
        ),
        StreamsGroupTargetAssignmentMember(
            StreamsGroupTargetAssignmentMemberKey,
            Option<StreamsGroupTargetAssignmentMemberValue>,
        ),
        StreamsGroupCurrentMemberAssignment(
            StreamsGroupCurrentMemberAssignmentKey,
            Option<StreamsGroupCurrentMemberAssignmentValue>,
        ),
        StreamsGroupTopology(StreamsGroupTopologyKey, Option<StreamsGroupTopologyValue>),
    }
    static SEEN: std::sync::Mutex<std::collections::BTreeMap<String, Record>> =
        std::sync::Mutex::new(std::collections::BTreeMap::new());
    impl LogRecord for Record {
        fn encode(&self) -> Result<(Bytes, Option<Bytes>), EncodeError> {
            let text = format!("{self:?}");
            SEEN.lock().unwrap().insert(text.clone(), self.clone());
            Ok((Bytes::from(text), None))
        }
        fn decode(key: &Bytes, _: Option<&Bytes>) -> Result<Option<Self>, DecodeError> {
            Ok(SEEN.lock().unwrap().get(std::str::from_utf8(key).unwrap()).cloned())
        }
    }
}
