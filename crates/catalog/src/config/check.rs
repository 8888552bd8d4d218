//! Settings from outside: checks what files, environment and command line give, against the rows and against each
//! other. Start-up uses `load`; `thalweg config check` shows the findings.

use super::group_settings::number;
use super::{
    BrokerConfigs, Configs, Mark, Row, Scope, StaticConfigs, base_name, broker_row, items, normalize, row,
};

/// What is to be said about one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub name: String,
    pub verdict: Verdict,
    /// Why; empty where there is nothing to say.
    pub reason: String,
}

/// The marks of rule C3, and what is no setting of Kafka's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Honoured,
    Mapped,
    Accepted,
    /// The broker does not start.
    Refused,
    /// The value is wrong, or does not fit to others; the broker does not start.
    Invalid,
    /// Nobody knows the name: a warning, or an error with `--strict`.
    Unknown,
}

impl Verdict {
    /// Whether the broker does not start with it.
    pub fn is_fatal(self) -> bool {
        matches!(self, Self::Refused | Self::Invalid)
    }
}

/// Names that Kafka had or has beside the table, and what becomes of them.
const OTHERS: &[(&str, Verdict, &str)] = &[
    (
        "zookeeper.connect",
        Verdict::Refused,
        "There is no ZooKeeper any more; remove it and start with a new cluster.",
    ),
    ("inter.broker.protocol.version", Verdict::Accepted, "Feature levels took its place."),
    ("log.message.format.version", Verdict::Accepted, "There is one message format."),
    ("cluster.id", Verdict::Mapped, "Used at the first start of a directory."),
    (
        "auto.include.jmx.reporter",
        Verdict::Accepted,
        "Metrics are served over HTTP, not by reporter classes.",
    ),
];

/// Checks settings. Gives them in normal form as far as they are valid (unknown ones as they came), and a finding for
/// each, then one for each rule that they break together.
pub fn load<'a>(given: impl IntoIterator<Item = (&'a str, &'a str)>) -> (StaticConfigs, Vec<Finding>) {
    // The last of equal names counts.
    let given: Configs = given.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let (mut configs, mut findings) = (StaticConfigs::new(), Vec::new());
    for (name, value) in &given {
        let (normal, verdict, reason) = judge(name, value);
        if let Some(normal) = normal {
            configs.insert(name.clone(), normal);
        }
        findings.push(Finding { name: name.clone(), verdict, reason });
    }
    findings.extend(conflicts(&configs));
    (configs, findings)
}

fn judge(name: &str, value: &str) -> (Option<String>, Verdict, String) {
    let Some(row) = broker_row(name) else {
        let other = OTHERS.iter().find(|(other, _, _)| *other == name);
        let (verdict, reason) = match other {
            Some((_, verdict, reason)) => (*verdict, *reason),
            None if name.starts_with("zookeeper.") => (Verdict::Accepted, "There is no ZooKeeper any more."),
            None => (Verdict::Unknown, "No setting of this name is known."),
        };
        return (Some(value.to_owned()), verdict, reason.to_owned());
    };
    match normalize(row, value) {
        Err(reason) => (None, Verdict::Invalid, reason),
        Ok(normal) => {
            let verdict = verdict(row, &normal);
            let reason = if row.mark == Mark::Honoured { "" } else { row.doc };
            (Some(normal), verdict, reason.to_owned())
        }
    }
}

fn verdict(row: &Row, value: &str) -> Verdict {
    match row.mark {
        Mark::Honoured => Verdict::Honoured,
        Mark::Mapped => Verdict::Mapped,
        Mark::Accepted => Verdict::Accepted,
        Mark::Refused if row.default == Some(value) => Verdict::Accepted,
        Mark::Refused => Verdict::Refused,
    }
}

/// Rules over several settings (`streams-groups.md` C-1, `classic-and-consumer-groups.md` 23.1).
fn conflicts(configs: &StaticConfigs) -> Vec<Finding> {
    let layers = BrokerConfigs { fixed: configs.clone(), ..BrokerConfigs::default() };
    let mut findings = Vec::new();
    let mut rule = |name: &str, holds: bool, reason: String| {
        if !holds {
            findings.push(Finding { name: name.to_owned(), verdict: Verdict::Invalid, reason });
        }
    };
    let value = |name: &str| number(&layers, name).unwrap_or_default();
    for kind in ["consumer", "share", "streams"] {
        for what in ["session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"] {
            let name = format!("group.{kind}.{what}");
            let (least, most) = (format!("group.{kind}.min.{what}"), format!("group.{kind}.max.{what}"));
            rule(
                &most,
                value(&most) >= value(&least),
                format!("{most} must be greater than or equal to {least}"),
            );
            let inside = (value(&least)..=value(&most)).contains(&value(&name));
            rule(&name, inside, format!("{name} must be between {least} and {most}"));
        }
        let (heartbeat, session) =
            (format!("group.{kind}.heartbeat.interval.ms"), format!("group.{kind}.session.timeout.ms"));
        rule(
            &heartbeat,
            value(&heartbeat) < value(&session),
            format!("{heartbeat} must be less than {session}"),
        );
    }
    for (name, most) in [
        ("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
        ("group.streams.num.warmup.replicas", "group.streams.max.warmup.replicas"),
        ("group.streams.min.task.offset.interval.ms", "group.streams.task.offset.interval.ms"),
        ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
        ("group.share.max.size", "group.share.max.share.sessions"),
    ] {
        rule(name, value(name) <= value(most), format!("{name} must be less than or equal to {most}"));
    }
    let assignors = layers.get("group.streams.assignors").map_or_else(Vec::new, |(names, _)| items(names));
    for name in assignors {
        rule(
            "group.streams.assignors",
            ["sticky", "spread"].contains(&name),
            format!("{name} is no assignor of streams groups; there are: sticky, spread"),
        );
    }
    findings
}

/// What `thalweg config explain` and `config check` say about a name: its row, also with a listener prefix.
pub fn explain(name: &str) -> Option<&'static Row> {
    [Scope::Broker, Scope::Topic, Scope::Group, Scope::ClientMetrics]
        .into_iter()
        .find_map(|scope| row(scope, name))
        .or_else(|| base_name(name).and_then(|base| row(Scope::Broker, base)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(given: &[(&str, &str)]) -> Vec<(String, Verdict)> {
        load(given.iter().copied()).1.into_iter().map(|it| (it.name, it.verdict)).collect()
    }

    fn verdict_of(name: &str, value: &str) -> Verdict {
        findings(&[(name, value)])[0].1
    }

    #[test]
    fn every_setting_gets_its_mark() {
        assert_eq!(verdict_of("num.partitions", "3"), Verdict::Honoured);
        assert_eq!(verdict_of("process.roles", "broker,controller"), Verdict::Mapped);
        assert_eq!(verdict_of("num.io.threads", "8"), Verdict::Accepted);
        assert_eq!(verdict_of("authorizer.class.name", ""), Verdict::Accepted);
        assert_eq!(verdict_of("authorizer.class.name", "org.example.Own"), Verdict::Refused);
        assert_eq!(verdict_of("zookeeper.connect", "localhost:2181"), Verdict::Refused);
        assert_eq!(verdict_of("zookeeper.session.timeout.ms", "1"), Verdict::Accepted);
        assert_eq!(verdict_of("num.partitoins", "3"), Verdict::Unknown);
        assert_eq!(verdict_of("num.partitions", "0"), Verdict::Invalid);
        assert_eq!(verdict_of("listener.name.tls.ssl.keystore.location", "/k"), Verdict::Accepted);
    }

    #[test]
    fn values_come_back_in_normal_form() {
        let (configs, _) = load([("num.partitions", " 3 "), ("own.name", " x "), ("max.connections", "-1")]);
        assert_eq!(
            configs.into_iter().collect::<Vec<_>>(),
            [("num.partitions".to_owned(), "3".to_owned()), ("own.name".to_owned(), " x ".to_owned()),]
        );
    }

    /// streams-groups scenario 317, and the same for other group types.
    #[test]
    fn settings_that_contradict_each_other_stop_the_start() {
        for (name, value) in [
            ("group.streams.max.session.timeout.ms", "44000"),
            ("group.streams.session.timeout.ms", "44000"),
            ("group.streams.session.timeout.ms", "61000"),
            ("group.streams.heartbeat.interval.ms", "4000"),
            ("group.streams.assignment.interval.ms", "15001"),
            ("group.streams.num.standby.replicas", "3"),
            ("group.streams.num.warmup.replicas", "21"),
            ("group.streams.task.offset.interval.ms", "14999"),
            ("group.streams.assignors", "org.example.Assignor"),
            ("group.consumer.session.timeout.ms", "1000"),
            ("group.max.session.timeout.ms", "5999"),
        ] {
            assert!(
                findings(&[(name, value)]).iter().any(|(_, verdict)| verdict.is_fatal()),
                "{name}={value}"
            );
        }
        let heartbeat_at_session = [
            ("group.streams.max.heartbeat.interval.ms", "50000"),
            ("group.streams.heartbeat.interval.ms", "45000"),
        ];
        assert!(findings(&heartbeat_at_session).iter().any(|(_, verdict)| verdict.is_fatal()));
        assert!(findings(&[]).is_empty(), "the defaults fit together");
    }
}
