//! Names of numbers: error codes and the enumerations of the schema.

use wire::table::{Field, Type};
use wire::{ErrorCode, enums};

/// The name of a number in a field, if the field's numbers have names. Zero is shown bare (wire.md 21.3).
pub(crate) fn of(within: &str, field: &Field, value: i64) -> Option<&'static str> {
    match field.ty {
        _ if value == 0 => None,
        Type::Int16 if field.name.ends_with("ErrorCode") => {
            Some(ErrorCode(i16::try_from(value).ok()?).name())
        }
        Type::Int8 => enumeration(within, field.name)?(i8::try_from(value).ok()?),
        Type::Bool
        | Type::Int16
        | Type::Uint16
        | Type::Int32
        | Type::Uint32
        | Type::Int64
        | Type::Float64
        | Type::Uuid
        | Type::String
        | Type::Bytes
        | Type::Records
        | Type::Struct(_) => None,
    }
}

/// The enumeration of an int8 field, by its own name and that of the struct around it.
fn enumeration(within: &str, field: &str) -> Option<fn(i8) -> Option<&'static str>> {
    Some(match (within, field) {
        ("Status", "StatusCode") => enums::streams_heartbeat_status::name,
        (_, "ResourceType" | "ResourceTypes") if within.contains("Config") => {
            enums::config_resource_type::name
        }
        (_, "ResourceType" | "ResourceTypeFilter") => enums::resource_type::name,
        (_, "PatternType" | "PatternTypeFilter" | "ResourcePatternType") => enums::pattern_type::name,
        (_, "Operation") => enums::acl_operation::name,
        (_, "PermissionType") => enums::acl_permission_type::name,
        (_, "ConfigSource" | "Source") => enums::config_source::name,
        (_, "ConfigType") => enums::config_type::name,
        (_, "ConfigOperation") => enums::alter_config_op::name,
        (_, "UpgradeType") => enums::feature_upgrade_type::name,
        (_, "ElectionType") => enums::election_type::name,
        (_, "KeyType") => enums::coordinator_type::name,
        (_, "IsolationLevel") => enums::isolation_level::name,
        (_, "Mechanism") => enums::scram_mechanism::name,
        (_, "EndpointType") => enums::endpoint_type::name,
        (_, "TransactionStatus") => enums::transaction_state::name,
        (_, "MatchType") => enums::quota_match_type::name,
        (_, "AcknowledgeTypes") => enums::share_acknowledge_type::name,
        (_, "DeliveryState") => enums::share_record_state::name,
        (_, "CompressionType" | "AcceptedCompressionTypes") => enums::compression_type::name,
        (_, "TopologyDescriptionStatus") => enums::streams_topology_description_status::name,
        (_, _) => return None,
    })
}
