//! The settings, by scope and by what Thalweg does with them.

use catalog::config::{Mark, Row, Scope, Update, Valid, rows};

use super::{NOTE, cell, line};

/// `docs/config.md`.
pub(super) fn page() -> String {
    let mut out = String::new();
    line!(out, "# Settings\n\n{NOTE}\n");
    line!(
        out,
        "Every setting of Apache Kafka 4.4.0 and of Thalweg. They stand in a `server.properties` file, in `--override \
         NAME=VALUE`, and for topics, groups and some of the broker in IncrementalAlterConfigs. What Kafka does not know \
         begins with `thalweg.`.\n"
    );
    line!(
        out,
        "* Changes: `start` at the next start; `broker` at run time, for one broker; `cluster` at run time, for one or for all."
    );
    line!(
        out,
        "* Honoured: it does what Kafka says. Mapped: its purpose is reached by other means. Accepted: it may be set and has no effect. Refused: the broker does not start with a value other than the default."
    );
    let is_own = |row: &&'static Row| row.name.starts_with("thalweg.");
    line!(out, "\n## Thalweg's own\n");
    let own = rows(Scope::Broker).filter(is_own);
    table(&mut out, own.collect(), true);
    for (scope, name) in [
        (Scope::Broker, "Broker"),
        (Scope::Topic, "Topics"),
        (Scope::Group, "Groups"),
        (Scope::ClientMetrics, "Client metrics subscriptions"),
    ] {
        line!(out, "\n## {name}");
        for (mark, title) in [
            (Mark::Honoured, "Honoured"),
            (Mark::Mapped, "Mapped"),
            (Mark::Refused, "Refused"),
            (Mark::Accepted, "Accepted"),
        ] {
            let own = |row: &&'static Row| scope == Scope::Broker && is_own(row);
            let list: Vec<_> = rows(scope).filter(|it| it.mark == mark && !own(it)).collect();
            if !list.is_empty() {
                line!(out, "\n### {name}: {}\n", title.to_lowercase());
                let told = list.iter().any(|it| !it.doc.is_empty());
                table(&mut out, list, told);
            }
        }
    }
    out
}

fn table(out: &mut String, list: Vec<&'static Row>, told: bool) {
    let (head, rule) = if told { (" Meaning |", "---|") } else { ("", "") };
    line!(out, "| Setting | Type | Default | Range | Changes |{head}\n|---|---|---|---|---|{rule}");
    for row in list {
        let meaning = if told { format!(" {} |", cell(row.doc)) } else { String::new() };
        line!(
            out,
            "| `{}` | {} | {} | {} | {} |{meaning}",
            row.name,
            row.kind.name(),
            default(row),
            valid(row.valid),
            changes(row)
        );
    }
}

fn default(row: &'static Row) -> String {
    match row.default {
        None => "null".to_owned(),
        Some("") => "empty".to_owned(),
        Some(value) => format!("`{}`", cell(value)),
    }
}

/// Topics, groups and subscriptions change at run time, always.
const fn changes(row: &'static Row) -> &'static str {
    match (row.scope, row.update) {
        (Scope::Broker, Update::ReadOnly) => "start",
        (Scope::Broker, Update::PerBroker) => "broker",
        (Scope::Broker, Update::ClusterWide) => "cluster",
        (Scope::Topic | Scope::Group | Scope::ClientMetrics, _) => "run time",
    }
}

fn valid(valid: Valid) -> String {
    let listed =
        |words: &[&str]| words.iter().map(|it| format!("`{}`", cell(it))).collect::<Vec<_>>().join(", ");
    match valid {
        Valid::Any => String::new(),
        Valid::Between(low, high) => between(low, high),
        Valid::Decimal(low, high) => format!("{low} to {high}"),
        Valid::BetweenOr(low, high, other) => format!("{}, or {other}", between(low, high)),
        Valid::OneOf(words) => listed(words),
        Valid::OneOfNoCase(words) => format!("{} in any case", listed(words)),
        Valid::NonEmpty => "not empty".to_owned(),
        Valid::NonEmptyList => "at least one".to_owned(),
        Valid::Items(words, true) => format!("any of {}", listed(words)),
        Valid::Items(words, false) => format!("at least one of {}", listed(words)),
        Valid::ThrottledReplicas => "`*`, or partition:broker, …".to_owned(),
        Valid::OffsetReset => "`latest`, `earliest`, `by_duration:<ISO 8601>`".to_owned(),
        Valid::HostPorts => "host:port, …".to_owned(),
        Valid::Voters => "id@host:port, …".to_owned(),
    }
}

fn between(low: i64, high: i64) -> String {
    let open = [i64::MAX, i64::from(i32::MAX)].contains(&high);
    match (low == i64::MIN, open) {
        (true, true) => String::new(),
        (true, false) => format!("at most {high}"),
        (false, true) => format!("{low} or more"),
        (false, false) => format!("{low} to {high}"),
    }
}
