//! Values of settings: from text to checked, normal text. The rules are those of Kafka's `ConfigDef`: surrounding
//! blanks count for nothing, booleans in any case, lists by commas, an element twice counts once (KIP-1161).

use std::collections::BTreeSet;

use super::row::{Kind, Row, Valid};

/// Checks a value by its row and gives it the form in which it is stored and shown. The error names the setting, the
/// value (unless it is a secret) and what is allowed.
pub fn normalize(row: &Row, text: &str) -> Result<String, String> {
    check(row, text).map_err(|why| {
        let shown = if row.is_sensitive() { "[hidden]" } else { text };
        format!("Invalid value {shown} for configuration {}: {why}", row.name)
    })
}

/// The elements of a list: split at commas, trimmed, each once.
pub fn items(text: &str) -> Vec<&str> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    text.split(',').map(str::trim).filter(|item| seen.insert(*item)).collect()
}

fn check(row: &Row, text: &str) -> Result<String, String> {
    // A password keeps its blanks.
    let trimmed = if row.kind == Kind::Password { text } else { text.trim() };
    match row.kind {
        Kind::Boolean => boolean(trimmed),
        Kind::Int => integer::<i32>(row, trimmed, "int"),
        Kind::Short => integer::<i16>(row, trimmed, "short"),
        Kind::Long => integer::<i64>(row, trimmed, "long"),
        Kind::Double => double(row, trimmed),
        Kind::List => list(row, trimmed),
        Kind::String | Kind::Class | Kind::Password => string(row, trimmed),
    }
}

fn boolean(text: &str) -> Result<String, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Ok("true".to_owned()),
        "false" => Ok("false".to_owned()),
        _ => Err("Expected value to be either true or false".to_owned()),
    }
}

fn integer<T: std::str::FromStr + Into<i64>>(row: &Row, text: &str, name: &str) -> Result<String, String> {
    let number: i64 =
        text.parse::<T>().map_err(|_| format!("Not a number of type {}", name.to_uppercase()))?.into();
    match row.valid {
        Valid::Between(least, most) => within(number, least, most)?,
        Valid::BetweenOr(_, _, other) if number == other => {}
        Valid::BetweenOr(least, most, other) => {
            within(number, least, most).map_err(|why| format!("{why}, or {other}"))?;
        }
        Valid::Any
        | Valid::Decimal(..)
        | Valid::OneOf(_)
        | Valid::OneOfNoCase(_)
        | Valid::NonEmpty
        | Valid::NonEmptyList
        | Valid::Items(..)
        | Valid::ThrottledReplicas
        | Valid::OffsetReset
        | Valid::HostPorts
        | Valid::Voters => {}
    }
    Ok(number.to_string())
}

fn within(number: i64, least: i64, most: i64) -> Result<(), String> {
    if number < least {
        return Err(format!("Value must be at least {least}"));
    }
    if number > most {
        return Err(format!("Value must be no more than {most}"));
    }
    Ok(())
}

fn double(row: &Row, text: &str) -> Result<String, String> {
    let number = text.parse::<f64>().map_err(|_| "Not a number of type DOUBLE".to_owned())?;
    if let Valid::Decimal(least, most) = row.valid
        && !(least..=most).contains(&number)
    {
        return Err(format!("Value must be between {least} and {most}"));
    }
    // Java writes 1 as 1.0, and large numbers with an exponent; the text that came is kept where it is a decimal.
    Ok(if text.contains(['.', 'e', 'E']) { text.to_owned() } else { format!("{number:.1}") })
}

fn list(row: &Row, text: &str) -> Result<String, String> {
    let items = items(text);
    if items.contains(&"") {
        return Err("values must not be empty".to_owned());
    }
    match row.valid {
        Valid::NonEmptyList if items.is_empty() => return Err("must not be empty".to_owned()),
        Valid::Items(_, false) if items.is_empty() => return Err("must not be empty".to_owned()),
        Valid::Items(allowed, _) => {
            if let Some(wrong) = items.iter().find(|item| !allowed.contains(item)) {
                return Err(format!("{wrong} is not one of {}", allowed.join(", ")));
            }
        }
        Valid::ThrottledReplicas => throttled_replicas(&items)?,
        Valid::HostPorts => each(&items, "host:port", host_port)?,
        Valid::Voters => each(&items, "id@host:port", voter)?,
        Valid::Any
        | Valid::Between(..)
        | Valid::Decimal(..)
        | Valid::BetweenOr(..)
        | Valid::OneOf(_)
        | Valid::OneOfNoCase(_)
        | Valid::NonEmpty
        | Valid::NonEmptyList
        | Valid::OffsetReset => {}
    }
    Ok(items.join(","))
}

fn string(row: &Row, text: &str) -> Result<String, String> {
    match row.valid {
        Valid::OneOf(allowed) if !allowed.contains(&text) => {
            return Err(format!("String must be one of: {}", allowed.join(", ")));
        }
        Valid::OneOfNoCase(allowed) if !allowed.iter().any(|one| one.eq_ignore_ascii_case(text)) => {
            return Err(format!("String must be one of (case insensitive): {}", allowed.join(", ")));
        }
        Valid::NonEmpty if text.is_empty() => return Err("String must be non-empty".to_owned()),
        Valid::OffsetReset => offset_reset(text)?,
        Valid::Any
        | Valid::Between(..)
        | Valid::Decimal(..)
        | Valid::BetweenOr(..)
        | Valid::OneOf(_)
        | Valid::OneOfNoCase(_)
        | Valid::NonEmpty
        | Valid::NonEmptyList
        | Valid::Items(..)
        | Valid::ThrottledReplicas
        | Valid::HostPorts
        | Valid::Voters => {}
    }
    Ok(text.to_owned())
}

fn throttled_replicas(items: &[&str]) -> Result<(), String> {
    if *items == ["*"] || *items == ["none"] {
        return Ok(());
    }
    each(items, "partition:broker, or *", |item| {
        item.split_once(':').is_some_and(|(p, b)| p.parse::<u32>().is_ok() && b.parse::<u32>().is_ok())
    })
}

fn each(items: &[&str], form: &str, good: fn(&str) -> bool) -> Result<(), String> {
    match items.iter().find(|item| !good(item)) {
        Some(wrong) => Err(format!("{wrong} does not have the form {form}")),
        None => Ok(()),
    }
}

fn host_port(item: &str) -> bool {
    item.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

fn voter(item: &str) -> bool {
    item.split_once('@').is_some_and(|(id, address)| id.parse::<u32>().is_ok() && host_port(address))
}

/// `by_duration:` takes an ISO 8601 duration that is not negative.
fn offset_reset(text: &str) -> Result<(), String> {
    let lower = text.to_ascii_lowercase();
    if lower == "latest" || lower == "earliest" {
        return Ok(());
    }
    match lower.strip_prefix("by_duration:") {
        Some(duration) if is_duration(duration) => Ok(()),
        Some(_) => Err("the duration must be an ISO 8601 duration that is not negative".to_owned()),
        None => Err("must be latest, earliest or by_duration:<duration>".to_owned()),
    }
}

/// `PnDTnHnMn.nS`, at least one part.
fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('p') else { return false };
    let (days, time) = rest.split_once('t').map_or((rest, None), |(days, time)| (days, Some(time)));
    let days_good = days.is_empty() || days.strip_suffix('d').is_some_and(is_whole);
    let time_good = time.is_none_or(is_time);
    days_good && time_good && !(days.is_empty() && time.is_none())
}

fn is_time(text: &str) -> bool {
    let mut rest = text;
    for unit in ['h', 'm', 's'] {
        if let Some((number, after)) = rest.split_once(unit) {
            let whole =
                if unit == 's' { number.split_once('.').map_or(number, |(whole, _)| whole) } else { number };
            if !is_whole(whole) || (unit == 's' && number.parse::<f64>().is_err()) {
                return false;
            }
            rest = after;
        }
    }
    rest.is_empty() && !text.is_empty()
}

fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::{Scope, row};
    use super::*;

    fn check(scope: Scope, name: &str, text: &str) -> Result<String, String> {
        normalize(row(scope, name).unwrap(), text)
    }

    #[test]
    fn values_get_their_normal_form() {
        let topic = |name, text| check(Scope::Topic, name, text).unwrap();
        assert_eq!(topic("retention.ms", " 1000 "), "1000");
        assert_eq!(topic("retention.ms", "+5"), "5");
        assert_eq!(topic("preallocate", "TRUE"), "true");
        assert_eq!(topic("cleanup.policy", " compact , delete,compact"), "compact,delete");
        assert_eq!(topic("min.cleanable.dirty.ratio", "1"), "1.0");
        assert_eq!(topic("compression.gzip.level", "-1"), "-1");
    }

    /// broker-core K-4: an empty cleanup policy is legal since KIP-1161.
    #[test]
    fn cleanup_policy_may_be_empty() {
        assert_eq!(check(Scope::Topic, "cleanup.policy", "").as_deref(), Ok(""));
    }

    #[test]
    fn wrong_values_are_named_with_what_is_allowed() {
        let bad = |scope, name, text| check(scope, name, text).unwrap_err();
        assert_eq!(
            bad(Scope::Topic, "retention.ms", "-2"),
            "Invalid value -2 for configuration retention.ms: Value must be at least -1"
        );
        assert!(bad(Scope::Topic, "retention.ms", "soon").ends_with("Not a number of type LONG"));
        assert!(bad(Scope::Topic, "max.message.bytes", "3000000000").ends_with("type INT"));
        assert!(bad(Scope::Topic, "segment.bytes", "1048575").ends_with("at least 1048576"));
        assert!(bad(Scope::Topic, "cleanup.policy", "shred").contains("compact, delete"));
        assert!(bad(Scope::Topic, "compression.type", "GZIP").contains("must be one of"));
        assert!(bad(Scope::Topic, "compression.gzip.level", "0").contains("or -1"));
        assert!(bad(Scope::Topic, "min.cleanable.dirty.ratio", "1.1").contains("between"));
        assert!(
            bad(Scope::Topic, "leader.replication.throttled.replicas", "1-2").contains("partition:broker")
        );
        assert!(bad(Scope::Group, "streams.rack.aware.assignment.tags", "zone,,cluster").contains("empty"));
        assert!(bad(Scope::Group, "share.auto.offset.reset", "by_duration:-PT1H").contains("not negative"));
        assert!(bad(Scope::Broker, "auto.create.topics.enable", "yes").contains("true or false"));
        assert!(bad(Scope::ClientMetrics, "interval.ms", "99").contains("at least 100"));
    }

    #[test]
    fn durations_of_share_offset_reset() {
        for good in ["latest", "earliest", "by_duration:PT1H30M", "by_duration:P2DT0.5S", "by_duration:P1D"] {
            assert!(check(Scope::Group, "share.auto.offset.reset", good).is_ok(), "{good}");
        }
        for bad in ["none", "by_duration:", "by_duration:P", "by_duration:1h", "by_duration:PT"] {
            assert!(check(Scope::Group, "share.auto.offset.reset", bad).is_err(), "{bad}");
        }
    }
}
