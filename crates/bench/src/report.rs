//! Rows of a measurement as text or as lines of JSON, and the few numbers that are made of many.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its user")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// From when on a run says what it does.
const SILENT: Duration = Duration::from_secs(1);

/// Prints what was measured.
#[derive(Debug)]
pub struct Report {
    json: bool,
    started: Instant,
}

/// A value of a row.
#[derive(Debug, Clone)]
pub enum Value {
    Text(String),
    Number(f64),
    /// In the order of their size: median, least, most.
    Spread([f64; 3]),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(f64::from(number))
    }
}

impl Report {
    #[must_use]
    pub fn new(json: bool) -> Self {
        Self { json, started: Instant::now() }
    }

    /// Says on standard error what is done now, once the run takes longer than a moment.
    pub fn progress(&self, what: &str) {
        if self.started.elapsed() > SILENT {
            eprintln!("[{:>4.0} s] {what}", self.started.elapsed().as_secs_f64());
        }
    }

    pub fn row(&self, name: &str, values: &[(&str, Value)]) {
        println!("{}", if self.json { json(name, values) } else { text(name, values) });
    }
}

fn text(name: &str, values: &[(&str, Value)]) -> String {
    let mut line = format!("{name:<34}");
    for (key, value) in values {
        // Writing to a string can't fail.
        let _ = match value {
            Value::Text(text) => write!(line, "  {key} {text}"),
            Value::Number(number) => write!(line, "  {key} {}", short(*number)),
            Value::Spread([median, least, most]) => {
                write!(line, "  {key} {} ({} to {})", short(*median), short(*least), short(*most))
            }
        };
    }
    line
}

fn json(name: &str, values: &[(&str, Value)]) -> String {
    let mut line = format!("{{\"name\":{}", quoted(name));
    for (key, value) in values {
        let key = quoted(key);
        let _ = match value {
            Value::Text(text) => write!(line, ",{key}:{}", quoted(text)),
            Value::Number(number) => write!(line, ",{key}:{}", plain(*number)),
            Value::Spread([median, least, most]) => {
                let [median, least, most] = [median, least, most].map(|it| plain(*it));
                write!(line, ",{key}:{{\"median\":{median},\"least\":{least},\"most\":{most}}}")
            }
        };
    }
    line.push('}');
    line
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => quoted.push(' '),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

fn plain(number: f64) -> String {
    if number.is_finite() { format!("{number:.4}") } else { "null".to_owned() }
}

fn short(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.2}") }
}

/// The value in the middle; no number if there is none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Median, least and most.
#[must_use]
pub fn spread(values: &[f64]) -> Value {
    let mut values = values.to_vec();
    let median = median(&mut values);
    let at = |value: Option<&f64>| value.copied().unwrap_or(f64::NAN);
    Value::Spread([median, at(values.first()), at(values.last())])
}

/// The line through the points that is nearest by least squares: where it begins, and its slope.
#[must_use]
pub fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.iter().map(|_| 1.0).sum::<f64>();
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let (mut both, mut square) = (0.0, 0.0);
    for point in points {
        both += (point.0 - x) * (point.1 - y);
        square += (point.0 - x) * (point.0 - x);
    }
    let slope = both / square;
    (y - slope * x, slope)
}

/// With which power of the size the cost grows.
#[must_use]
pub fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<_> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    line(&logs).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_two_forms() {
        let values = [("us", spread(&[3.0, 1.0, 2.5])), ("note", "a \"b\"".into()), ("n", f64::NAN.into())];
        assert_eq!(
            text("x", &values[..1]).split_whitespace().collect::<Vec<_>>().join(" "),
            "x us 2.50 (1 to 3)"
        );
        assert_eq!(
            json("x", &values),
            r#"{"name":"x","us":{"median":2.5000,"least":1.0000,"most":3.0000},"note":"a \"b\"","n":null}"#
        );
    }

    #[test]
    fn growth_is_fitted() {
        let square: Vec<_> = [1.0, 4.0, 16.0].iter().map(|it| (*it, 3.0 * it * it)).collect();
        assert!((exponent(&square) - 2.0).abs() < 1e-9);
        let (start, slope) = line(&[(1.0, 12.0), (4.0, 18.0), (16.0, 42.0)]);
        assert!((start - 10.0).abs() < 1e-9 && (slope - 2.0).abs() < 1e-9);
    }
}
