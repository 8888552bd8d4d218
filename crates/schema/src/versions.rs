//! Closed ranges of versions, as the notation writes them.

/// The upper end of an open range (`3+`).
pub(crate) const OPEN: i16 = i16::MAX;

/// A range of versions with both ends included; empty when `low > high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    pub low: i16,
    pub high: i16,
}

/// Whether a range holds in all, none, or some versions of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    Always,
    Never,
    /// A Rust condition on the variable `v`.
    If(String),
}

impl Versions {
    pub const NONE: Self = Self { low: 0, high: -1 };

    #[must_use]
    pub const fn new(low: i16, high: i16) -> Self {
        Self { low, high }
    }

    /// Reads `none`, `N`, `N-M` or `N+`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse::<i16>().ok().filter(|it| *it >= 0);
        if text == "none" {
            return Some(Self::NONE);
        }
        if let Some(low) = text.strip_suffix('+') {
            return Some(Self::new(number(low)?, OPEN));
        }
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let range = Self::new(number(low)?, number(high)?);
        (!range.is_empty()).then_some(range)
    }

    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.low > self.high
    }

    #[must_use]
    pub const fn contains(self, version: i16) -> bool {
        self.low <= version && version <= self.high
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let range = Self::new(self.low.max(other.low), self.high.min(other.high));
        if range.is_empty() { Self::NONE } else { range }
    }

    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        other.is_empty() || (self.low <= other.low && other.high <= self.high)
    }

    /// What is left of this range without `other`, which must reach to one of its ends.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        let cut = self.and(other);
        if cut.is_empty() {
            self
        } else if cut.low <= self.low {
            if cut.high >= self.high { Self::NONE } else { Self::new(cut.high + 1, self.high) }
        } else {
            Self::new(self.low, cut.low - 1)
        }
    }

    /// The test for this range that is left to do when the version is known to lie in `known`.
    #[must_use]
    pub fn within(self, known: Self) -> Holds {
        let range = self.and(known);
        if range.is_empty() {
            return Holds::Never;
        }
        match (range.low > known.low, range.high < known.high) {
            (false, false) => Holds::Always,
            (true, false) => Holds::If(format!("v >= {}", range.low)),
            (false, true) => Holds::If(format!("v <= {}", range.high)),
            (true, true) if range.low == range.high => Holds::If(format!("v == {}", range.low)),
            (true, true) => Holds::If(format!("v >= {} && v <= {}", range.low, range.high)),
        }
    }
}

impl Holds {
    /// The condition as a Rust expression.
    #[must_use]
    pub fn expression(&self) -> String {
        match self {
            Self::Always => "true".to_owned(),
            Self::Never => "false".to_owned(),
            Self::If(condition) => condition.clone(),
        }
    }
}
