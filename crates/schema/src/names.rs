//! Kafka's names in Rust's writing.

/// `ReplicationFactor` and `replicationFactor` become `replication_factor`; `KRaftVersion` becomes
/// `k_raft_version`.
pub(crate) fn snake(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, c) in chars.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| chars.get(i));
        let lower_after = chars.get(i + 1).is_some_and(char::is_ascii_lowercase);
        let starts_word =
            c.is_ascii_uppercase() && before.is_some_and(|b| !b.is_ascii_uppercase() || lower_after);
        if starts_word {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// `config_source` and `ConfigSource` become `CONFIG_SOURCE`.
pub(crate) fn upper(name: &str) -> String {
    snake(name).to_ascii_uppercase()
}

/// The name of a Rust field: keywords get their `r#`.
pub(crate) fn field(name: &str) -> String {
    let name = snake(name);
    match name.as_str() {
        "type" | "match" | "ref" | "move" | "in" | "use" | "mod" | "loop" => format!("r#{name}"),
        _ => name,
    }
}

/// The key of a field in Kafka's JSON: the first letter in lower case.
pub(crate) fn json(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing() {
        assert_eq!(snake("ThrottleTimeMs"), "throttle_time_ms");
        assert_eq!(snake("timeoutMs"), "timeout_ms");
        assert_eq!(snake("KRaftVersionFeature"), "k_raft_version_feature");
        assert_eq!(field("Type"), "r#type");
        assert_eq!(json("KRaftVersion"), "kRaftVersion");
        assert_eq!(upper("ConfigSource"), "CONFIG_SOURCE");
    }
}
