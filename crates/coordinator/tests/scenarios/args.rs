//! One command line: its words, `name=value` pairs and durations.

use std::collections::BTreeMap;

use coordinator::Millis;

/// The words of a command. A word `name=value` is an option, unless its name has a colon: then it
/// is about a partition, as `in:0=100`.
pub(crate) struct Args<'a> {
    words: std::vec::IntoIter<&'a str>,
    options: BTreeMap<&'a str, &'a str>,
}

pub(crate) type Parsed<T> = Result<T, String>;

impl<'a> Args<'a> {
    pub(crate) fn new(line: &'a str) -> Self {
        let option = |word: &&'a str| match word.split_once('=') {
            Some((name, value)) if !name.contains(':') => Some((name, value)),
            Some(_) | None => None,
        };
        let (options, words): (Vec<_>, Vec<_>) =
            line.split_whitespace().partition(|word| option(word).is_some());
        Self { words: words.into_iter(), options: options.iter().filter_map(option).collect() }
    }

    pub(crate) fn word(&mut self, what: &str) -> Parsed<&'a str> {
        self.words.next().ok_or_else(|| format!("{what} is missing"))
    }

    /// All words that are left.
    pub(crate) fn rest(&mut self) -> Vec<&'a str> {
        self.words.by_ref().collect()
    }

    /// True if the next word is this one, which is then taken.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let mut words: Vec<_> = self.words.by_ref().collect();
        let found = words.iter().position(|it| *it == name);
        if let Some(at) = found {
            words.remove(at);
        }
        self.words = words.into_iter();
        found.is_some()
    }

    pub(crate) fn option(&mut self, name: &str) -> Option<&'a str> {
        self.options.remove(name)
    }

    /// The value of an option, which stays.
    pub(crate) fn peek(&self, name: &str) -> Option<&'a str> {
        self.options.get(name).copied()
    }

    pub(crate) fn number<T: std::str::FromStr>(&mut self, name: &str) -> Parsed<Option<T>> {
        self.option(name).map(|text| number(text)).transpose()
    }

    pub(crate) fn duration(&mut self, name: &str) -> Parsed<Option<Millis>> {
        self.option(name).map(duration).transpose()
    }

    /// All options that are left, in the order of their names.
    pub(crate) fn options(&mut self) -> BTreeMap<&'a str, &'a str> {
        std::mem::take(&mut self.options)
    }

    /// Nothing may be left, so that a misspelt option is noticed.
    pub(crate) fn done(mut self) -> Parsed<()> {
        if let Some(word) = self.words.next() {
            return Err(format!("what is {word:?} here?"));
        }
        match self.options.first_key_value() {
            Some((name, _)) => Err(format!("there is no option {name:?} here")),
            None => Ok(()),
        }
    }
}

pub(crate) fn number<T: std::str::FromStr>(text: &str) -> Parsed<T> {
    text.parse().map_err(|_| format!("not a number: {text:?}"))
}

/// `250`, `250ms`, `3s`, `5m`, `1h`, `7d`.
pub(crate) fn duration(text: &str) -> Parsed<Millis> {
    let end = text.find(|it: char| it.is_ascii_alphabetic()).unwrap_or(text.len());
    let (count, unit) = text.split_at(end);
    let millis = match unit {
        "" | "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(format!("not a unit of time: {unit:?}")),
    };
    number::<Millis>(count).map(|it| it * millis)
}

/// `45s`, `1s250`, as short as exact.
pub(crate) fn show_duration(millis: Millis) -> String {
    if millis < 0 {
        return format!("-{}", show_duration(-millis));
    }
    match (millis / 1000, millis % 1000) {
        (0, rest) if rest != 0 => format!("{rest}ms"),
        (seconds, 0) => format!("{seconds}s"),
        (seconds, rest) => format!("{seconds}s{rest:03}"),
    }
}

/// `in:0=100` → (`in`, `0`, `100`); the value may be absent.
pub(crate) fn partition(word: &str) -> Parsed<(&str, &str, Option<&str>)> {
    let (place, value) = match word.split_once('=') {
        Some((place, value)) => (place, Some(value)),
        None => (word, None),
    };
    let (topic, index) = place.rsplit_once(':').ok_or_else(|| format!("not topic:partition: {word:?}"))?;
    Ok((topic, index, value))
}
