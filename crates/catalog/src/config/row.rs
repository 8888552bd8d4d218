//! What is known about one setting. Every setting of Kafka 4.4.0 and of Thalweg is one `Row`; parsing, validation,
//! DescribeConfigs, `thalweg config check` and the documentation read the rows, and nothing else states a default.

/// Type of a value, with the number that DescribeConfigs v3+ sends for it (KIP-569).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Boolean = 1,
    String = 2,
    Int = 3,
    Short = 4,
    Long = 5,
    Double = 6,
    List = 7,
    Class = 8,
    Password = 9,
}

impl Kind {
    /// The number on the wire.
    pub fn code(self) -> i8 {
        self as i8
    }

    /// Kafka's name of the type, as its documentation writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::String => "string",
            Self::Int => "int",
            Self::Short => "short",
            Self::Long => "long",
            Self::Double => "double",
            Self::List => "list",
            Self::Class => "class",
            Self::Password => "password",
        }
    }
}

/// Which values are allowed beside what the kind says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Valid {
    Any,
    /// Both ends included.
    Between(i64, i64),
    /// Both ends included.
    Decimal(f64, f64),
    /// A range, or one more value.
    BetweenOr(i64, i64, i64),
    OneOf(&'static [&'static str]),
    /// As `OneOf`, without regard to case.
    OneOfNoCase(&'static [&'static str]),
    NonEmpty,
    /// A list that must have an element.
    NonEmptyList,
    /// A list of some of these. `true`: it may be empty.
    Items(&'static [&'static str], bool),
    /// `*`, or a list of partition:broker.
    ThrottledReplicas,
    /// `latest`, `earliest` or `by_duration:<ISO 8601>` (KIP-932).
    OffsetReset,
    /// A list of host:port.
    HostPorts,
    /// A list of id@host:port.
    Voters,
}

/// Where a setting belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Broker,
    Topic,
    Group,
    ClientMetrics,
}

/// Whether a broker setting can change while the broker runs (`broker-core.md` 20.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    ReadOnly,
    /// For one broker only, not as the cluster's default.
    PerBroker,
    /// For one broker, or as the default of all.
    ClusterWide,
}

/// What Thalweg does with a setting (rule C3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Honoured,
    /// Its purpose is reached by other means.
    Mapped,
    /// Accepted without effect.
    Accepted,
    /// Start-up refuses a value other than the default: to ignore it would mislead.
    Refused,
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    pub name: &'static str,
    pub kind: Kind,
    /// In the form of DescribeConfigs. `None`: null.
    pub default: Option<&'static str>,
    /// The file must give it. (`node.id` and the like: Thalweg has defaults of its own for them.)
    pub required: bool,
    pub valid: Valid,
    pub scope: Scope,
    pub update: Update,
    /// Broker settings that give the value when the topic or group has none, by precedence, and the factor to this
    /// setting's unit.
    pub synonyms: &'static [(&'static str, i64)],
    pub mark: Mark,
    /// Kafka's documentation does not show it; DescribeConfigs lists it only where it is set.
    pub internal: bool,
    /// What it does here; for `Mapped`, `Accepted` and `Refused`: why.
    pub doc: &'static str,
}

impl Row {
    const fn new(
        name: &'static str,
        kind: Kind,
        default: Option<&'static str>,
        scope: Scope,
        update: Update,
    ) -> Self {
        let (required, valid, synonyms, internal) = (false, Valid::Any, &[] as &[(&str, i64)], false);
        let (mark, doc) = (Mark::Accepted, "");
        Self { name, kind, default, required, valid, scope, update, synonyms, mark, internal, doc }
    }

    pub(super) const fn broker(name: &'static str, kind: Kind, default: Option<&'static str>) -> Self {
        Self::new(name, kind, default, Scope::Broker, Update::ReadOnly)
    }

    pub(super) const fn topic(name: &'static str, kind: Kind, default: Option<&'static str>) -> Self {
        Self::new(name, kind, default, Scope::Topic, Update::ClusterWide)
    }

    pub(super) const fn group(name: &'static str, kind: Kind, default: Option<&'static str>) -> Self {
        Self::new(name, kind, default, Scope::Group, Update::ClusterWide)
    }

    pub(super) const fn client_metrics(
        name: &'static str,
        kind: Kind,
        default: Option<&'static str>,
    ) -> Self {
        Self::new(name, kind, default, Scope::ClientMetrics, Update::ClusterWide)
    }

    pub(super) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub(super) const fn internal(mut self) -> Self {
        self.internal = true;
        self
    }

    pub(super) const fn per_broker(mut self) -> Self {
        self.update = Update::PerBroker;
        self
    }

    pub(super) const fn cluster_wide(mut self) -> Self {
        self.update = Update::ClusterWide;
        self
    }

    pub(super) const fn synonyms(mut self, synonyms: &'static [(&'static str, i64)]) -> Self {
        self.synonyms = synonyms;
        self
    }

    pub(super) const fn valid(mut self, valid: Valid) -> Self {
        self.valid = valid;
        self
    }

    pub(super) const fn at_least(self, least: i64) -> Self {
        self.valid(Valid::Between(least, i64::MAX))
    }

    pub(super) const fn between(self, least: i64, most: i64) -> Self {
        self.valid(Valid::Between(least, most))
    }

    pub(super) const fn honoured(self, doc: &'static str) -> Self {
        self.marked(Mark::Honoured, doc)
    }

    pub(super) const fn mapped(self, doc: &'static str) -> Self {
        self.marked(Mark::Mapped, doc)
    }

    pub(super) const fn accepted(self, doc: &'static str) -> Self {
        self.marked(Mark::Accepted, doc)
    }

    pub(super) const fn refused(self, doc: &'static str) -> Self {
        self.marked(Mark::Refused, doc)
    }

    const fn marked(mut self, mark: Mark, doc: &'static str) -> Self {
        self.mark = mark;
        self.doc = doc;
        self
    }

    /// Its value is never shown.
    pub fn is_sensitive(&self) -> bool {
        self.kind == Kind::Password
    }
}
