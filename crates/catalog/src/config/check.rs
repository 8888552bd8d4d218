//! Settings from outside: checks what files, environment and command line give, against the rows and against each
//! other. Start-up uses `load`; `thalweg config check` shows the findings.

use std::collections::BTreeSet;
use std::fmt;

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

impl Finding {
    /// Whether the setting asks for something that is not built yet, so that whoever gave it counts in vain on it.
    pub fn is_missed(&self) -> bool {
        self.verdict == Verdict::Accepted && self.reason.contains(" yet")
    }
}

impl fmt::Display for Finding {
    /// The reason, with the name in front where it does not say the name itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, reason, .. } = self;
        if reason.contains(name.as_str()) { f.write_str(reason) } else { write!(f, "{name}: {reason}") }
    }
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
    if let Some(twice) = listener_twice(name, value) {
        let reason = format!("{name}={value}: the listener name {twice} is used twice");
        return (None, Verdict::Invalid, reason);
    }
    match normalize(row, value) {
        Err(reason) => (None, Verdict::Invalid, reason),
        Ok(normal) => {
            let verdict = verdict(row, &normal);
            let reason = if row.mark == Mark::Honoured { "" } else { row.doc };
            (Some(normal), verdict, reason.to_owned())
        }
    }
}

/// The name that stands before two addresses. A list as such has each element once, so that this must be asked of what
/// was given.
fn listener_twice<'a>(name: &str, value: &'a str) -> Option<&'a str> {
    if !["listeners", "advertised.listeners"].contains(&name) {
        return None;
    }
    let names = value.split(',').filter_map(|it| Some(it.split_once("://")?.0.trim()));
    let mut seen = BTreeSet::new();
    names.into_iter().find(|it| !seen.insert(*it))
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
    // A person who gave one of them has to see what the others are, which may be defaults.
    let shown = |name: &str| format!("{name}={}", value(name));
    for kind in ["consumer", "share", "streams"] {
        for what in ["session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"] {
            let name = format!("group.{kind}.{what}");
            let (least, most) = (format!("group.{kind}.min.{what}"), format!("group.{kind}.max.{what}"));
            rule(
                &most,
                value(&most) >= value(&least),
                format!("{} must be greater than or equal to {}", shown(&most), shown(&least)),
            );
            let inside = (value(&least)..=value(&most)).contains(&value(&name));
            let reason = format!("{} must be between {} and {}", shown(&name), shown(&least), shown(&most));
            rule(&name, inside, reason);
        }
        let (heartbeat, session) =
            (format!("group.{kind}.heartbeat.interval.ms"), format!("group.{kind}.session.timeout.ms"));
        rule(
            &heartbeat,
            value(&heartbeat) < value(&session),
            format!("{} must be less than {}", shown(&heartbeat), shown(&session)),
        );
    }
    for (name, most) in [
        ("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
        ("group.streams.num.warmup.replicas", "group.streams.max.warmup.replicas"),
        ("group.streams.min.task.offset.interval.ms", "group.streams.task.offset.interval.ms"),
        ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
        ("group.share.max.size", "group.share.max.share.sessions"),
    ] {
        let reason = format!("{} must be less than or equal to {}", shown(name), shown(most));
        rule(name, value(name) <= value(most), reason);
    }
    if let (Some(node), Some(broker)) = (configs.get("node.id"), configs.get("broker.id")) {
        let reason =
            format!("node.id={node} and broker.id={broker} are names of one setting: give one of them");
        rule("broker.id", node == broker, reason);
    }
    let assignors = layers.get("group.streams.assignors").map_or_else(Vec::new, |(names, _)| items(names));
    for name in assignors {
        rule(
            "group.streams.assignors",
            ["sticky", "spread"].contains(&name),
            format!("group.streams.assignors: {name} is none of them; there are: sticky, spread"),
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

    /// A person reads the name once, and what the value was and may be.
    #[test]
    fn what_is_said_of_a_wrong_value_is_enough_to_mend_it() {
        let said = |name: &str, value: &str| {
            let fatal = load([(name, value)]).1.into_iter().find(|it| it.verdict.is_fatal());
            fatal.map(|it| it.to_string()).unwrap_or_default()
        };
        assert_eq!(
            said("group.streams.session.timeout.ms", "1000"),
            "group.streams.session.timeout.ms=1000 must be between group.streams.min.session.timeout.ms=45000 and \
             group.streams.max.session.timeout.ms=60000"
        );
        assert_eq!(
            said("group.streams.heartbeat.interval.ms", "10"),
            "group.streams.heartbeat.interval.ms=10 must be between group.streams.min.heartbeat.interval.ms=5000 and \
             group.streams.max.heartbeat.interval.ms=15000"
        );
        assert_eq!(
            said("group.streams.num.standby.replicas", "9"),
            "group.streams.num.standby.replicas=9 must be less than or equal to \
             group.streams.max.standby.replicas=2"
        );
        assert_eq!(
            said("num.partitions", "-1"),
            "Invalid value -1 for configuration num.partitions: Value must be at least 1"
        );
        assert_eq!(
            said("zookeeper.connect", "h:1"),
            "zookeeper.connect: There is no ZooKeeper any more; remove it and start with a new cluster."
        );
    }

    #[test]
    fn settings_of_what_is_not_there_yet_are_missed() {
        let is_missed = |name: &str, value: &str| load([(name, value)]).1[0].is_missed();
        assert!(is_missed("log.retention.hours", "168"));
        assert!(is_missed("ssl.keystore.location", "/k"));
        assert!(is_missed("sasl.enabled.mechanisms", "PLAIN"));
        assert!(!is_missed("num.io.threads", "8"));
        assert!(!is_missed("num.partitions", "8"));
    }

    #[test]
    fn two_ids_of_a_node_are_refused() {
        let fatal = |broker: &str| {
            let found = findings(&[("node.id", "5"), ("broker.id", broker)]);
            found.iter().any(|(_, verdict)| verdict.is_fatal())
        };
        assert!(fatal("4") && !fatal("5"));
    }

    #[test]
    fn two_addresses_of_one_listener_are_refused() {
        for name in ["listeners", "advertised.listeners"] {
            assert_eq!(verdict_of(name, "A://h:1,A://h:1"), Verdict::Invalid, "{name}");
            assert_eq!(verdict_of(name, "A://h:1,A://h:2"), Verdict::Invalid, "{name}");
            assert_ne!(verdict_of(name, "A://h:1,B://h:2"), Verdict::Invalid, "{name}");
        }
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
