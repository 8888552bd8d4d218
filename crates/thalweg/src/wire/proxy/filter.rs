//! `--filter`: which frames are printed.
//!
//! Conditions stand beside each other and must all hold: `api=Fetch,Produce client=app latency>5 error`. A condition on
//! what only an answer has (`error`, `latency`) is false for requests. `!` before a condition turns it round.

use std::str::FromStr;
use std::time::Duration;

use explain::Direction;

use super::line::Line;

/// Conditions of a filter, at most.
const CONDITIONS_MAX: usize = 32;

/// The condition that a printed frame meets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Filter(Vec<(bool, Condition)>);

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    Api(Vec<String>),
    Client(Vec<String>),
    Connection(Order, f64),
    Version(Order, f64),
    Size(Order, f64),
    /// In milliseconds.
    Latency(Order, f64),
    /// Any error, or one of these by name or number.
    Error(Vec<String>),
    Request,
    Response,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Equal,
    Above,
    Below,
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = text.split_whitespace().filter(|it| *it != "and");
        let conditions = words.map(condition).collect::<Result<Vec<_>, _>>()?;
        if conditions.is_empty() || conditions.len() > CONDITIONS_MAX {
            return Err(format!("a filter has 1 to {CONDITIONS_MAX} conditions"));
        }
        Ok(Self(conditions))
    }
}

fn condition(word: &str) -> Result<(bool, Condition), String> {
    let (wanted, word) = word.strip_prefix('!').map_or((true, word), |rest| (false, rest));
    let place = word.find(['=', '<', '>']).unwrap_or(word.len());
    let (name, rest) = word.split_at(place);
    let (order, value) = match rest.chars().next() {
        Some('>') => (Order::Above, rest.get(1..).unwrap_or_default()),
        Some('<') => (Order::Below, rest.get(1..).unwrap_or_default()),
        _ => (Order::Equal, rest.get(1..).unwrap_or_default()),
    };
    let number = || {
        let number = value.parse::<f64>().ok().filter(|it| it.is_finite());
        number.ok_or_else(|| format!("{word}: {value:?} is not a number"))
    };
    let list = || value.split(',').map(str::to_owned).collect::<Vec<_>>();
    if !rest.is_empty() && value.split(',').any(str::is_empty) {
        return Err(format!("{word}: a value is missing"));
    }
    let condition = match (name, rest.is_empty()) {
        ("request", true) => Condition::Request,
        ("response", true) => Condition::Response,
        ("error", true) => Condition::Error(Vec::new()),
        ("error", false) if order == Order::Equal => Condition::Error(known_errors(list())?),
        ("api", false) if order == Order::Equal => Condition::Api(known_apis(list())?),
        ("client", false) if order == Order::Equal => Condition::Client(list()),
        ("connection", false) => Condition::Connection(order, number()?),
        ("version", false) => Condition::Version(order, number()?),
        ("size", false) => Condition::Size(order, number()?),
        ("latency", false) => Condition::Latency(order, number()?),
        _ => {
            return Err(format!(
                "{word}: expected api=, client=, connection=, version=, size>, latency>, error, error=, request \
                 or response"
            ));
        }
    };
    Ok((wanted, condition))
}

/// A name that is misspelt would silence everything.
fn known_apis(names: Vec<String>) -> Result<Vec<String>, String> {
    let known = |name: &String| {
        let found = wire::tables::APIS.iter().any(|it| same_api(name, it.0));
        if found { Ok(()) } else { Err(format!("no API {name}")) }
    };
    names.iter().try_for_each(known)?;
    Ok(names)
}

fn known_errors(names: Vec<String>) -> Result<Vec<String>, String> {
    let known = |name: &String| {
        let listed = wire::error_code::ERROR_CODES.iter().any(|it| name.eq_ignore_ascii_case(it.1));
        // A number may be a code that is newer than this program.
        if listed || name.parse::<i16>().is_ok() { Ok(()) } else { Err(format!("no error {name}")) }
    };
    names.iter().try_for_each(known)?;
    Ok(names)
}

fn same_api(name: &str, key: i16) -> bool {
    name.eq_ignore_ascii_case(&super::line::api_name(key)) || name.parse() == Ok(key)
}

impl Order {
    fn holds(self, found: f64, than: f64) -> bool {
        match self {
            Self::Equal => (found - than).abs() < f64::EPSILON,
            Self::Above => found > than,
            Self::Below => found < than,
        }
    }
}

impl Filter {
    /// Whether the line is to be printed.
    pub(crate) fn matches(&self, line: &Line) -> bool {
        self.0.iter().all(|(wanted, condition)| condition.holds(line) == *wanted)
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes and numbers of connections stay below 2^52")]
impl Condition {
    fn holds(&self, line: &Line) -> bool {
        let version = line.api.map(|it| f64::from(it.version));
        match self {
            Self::Api(names) => line.api.is_some_and(|it| names.iter().any(|name| same_api(name, it.key))),
            Self::Client(names) => names.iter().any(|it| line.client_id.contains(it.as_str())),
            Self::Connection(order, than) => order.holds(line.connection as f64, *than),
            Self::Version(order, than) => version.is_some_and(|it| order.holds(it, *than)),
            Self::Size(order, than) => order.holds(line.size as f64, *than),
            Self::Latency(order, than) => {
                let found = line.latency.as_ref().map(Duration::as_secs_f64);
                found.is_some_and(|it| order.holds(it * 1000.0, *than))
            }
            Self::Error(names) => {
                let named = |code: wire::ErrorCode| {
                    names
                        .iter()
                        .any(|it| it.eq_ignore_ascii_case(code.name()) || it.parse() == Ok(code.code()))
                };
                line.errors.listed.iter().any(|it| names.is_empty() || named(it.code))
            }
            Self::Request => line.direction == Direction::Request,
            Self::Response => line.direction == Direction::Response,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::tests::answer;
    use super::*;

    fn matches(filter: &str) -> bool {
        filter.parse::<Filter>().unwrap().matches(&answer())
    }

    #[test]
    fn conditions() {
        let hold = [
            "api=fetch",
            "api=Produce,Fetch",
            "api=1",
            "!api=Produce",
            "client=client",
            "connection=2",
            "version>16",
            "version=17",
            "size>119 and size<121",
            "latency>1",
            "!latency>2",
            "error",
            "error=FENCED_LEADER_EPOCH",
            "error=74",
            "response !request",
        ];
        for filter in hold {
            assert!(matches(filter), "{filter}");
        }
        for filter in ["api=Produce", "api=Fetch size>200", "!error", "error=1", "request", "client=other"] {
            assert!(!matches(filter), "{filter}");
        }
        let request = Line { latency: None, direction: Direction::Request, ..answer() };
        assert!(!"latency>0".parse::<Filter>().unwrap().matches(&request));
    }

    #[test]
    fn what_is_no_filter() {
        for text in [
            "",
            "api=Fetsh",
            "api>1",
            "size>many",
            "size>nan",
            "latency<inf",
            "latency",
            "foo=1",
            "error>1",
            "error=",
            "error=FENCED",
            "error=99999",
            "client=",
            "client=a,",
            "!",
        ] {
            assert!(text.parse::<Filter>().is_err(), "{text}");
        }
    }
}
