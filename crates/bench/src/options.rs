//! Options of the measurements that take some.

use std::path::PathBuf;
use std::str::FromStr;

/// What the measurements that take options are told.
#[derive(Debug, Clone)]
pub struct Options {
    /// The broker's binary. Without one it is the one beside this program.
    pub broker: Option<PathBuf>,
    /// Address of a running Kafka, and its process.
    pub against: Option<(String, u32)>,
    pub json: bool,
    pub members: u32,
    pub tasks: u32,
    /// Of the largest group, where sizes are compared.
    pub most_members: u32,
    /// Of the largest log.
    pub records: u32,
    pub rounds: u32,
    /// Length of a turn, and of the time before the first one.
    pub seconds: f64,
    pub warm_up: f64,
    /// Where directories with data are made.
    pub directory: PathBuf,
    /// The whole grid.
    pub full: bool,
    /// Be the floor server instead of measuring it.
    pub serve: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            broker: None,
            against: None,
            json: false,
            members: 1000,
            tasks: 1000,
            most_members: 100_000,
            records: 10_000_000,
            rounds: 5,
            seconds: 5.0,
            warm_up: 2.0,
            directory: std::env::temp_dir(),
            full: false,
            serve: false,
        }
    }
}

impl Options {
    /// # Errors
    /// An unknown word, or a value that is none.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let (mut against, mut process) = (None, None);
        let mut words = words.iter();
        while let Some(name) = words.next() {
            let mut value = || words.next().copied().ok_or_else(|| format!("{name} wants a value"));
            match *name {
                "--broker" => options.broker = Some(PathBuf::from(value()?)),
                "--against" => against = Some(value()?.to_owned()),
                "--against-pid" => process = Some(number(name, value()?, 1, u32::MAX)?),
                "-o" => options.json = json(value()?)?,
                "--members" => options.members = number(name, value()?, 1, 1_000_000)?,
                "--most-members" => options.most_members = number(name, value()?, 100, 1_000_000)?,
                "--tasks" => options.tasks = number(name, value()?, 1, 100_000)?,
                "--records" => options.records = number(name, value()?, 10_000, 1_000_000_000)?,
                "--rounds" => options.rounds = number(name, value()?, 1, 1000)?,
                "--seconds" => options.seconds = number(name, value()?, 0.01, 600.0)?,
                "--warm-up" => options.warm_up = number(name, value()?, 0.0, 600.0)?,
                "--dir" => options.directory = PathBuf::from(value()?),
                "--full" => options.full = true,
                "--serve" => options.serve = true,
                _ => return Err(format!("unknown: {name}")),
            }
        }
        options.against = match (against, process) {
            (Some(address), Some(process)) => Some((address, process)),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                return Err("--against and --against-pid go together".to_owned());
            }
        };
        Ok(options)
    }

    /// The binary to measure.
    ///
    /// # Errors
    /// This program does not know where it is.
    pub fn broker(&self) -> Result<PathBuf, String> {
        match &self.broker {
            Some(path) => Ok(path.clone()),
            None => {
                let this = std::env::current_exe().map_err(|problem| problem.to_string())?;
                Ok(this.with_file_name("thalweg"))
            }
        }
    }
}

fn json(form: &str) -> Result<bool, String> {
    match form {
        "json" => Ok(true),
        "text" => Ok(false),
        _ => Err(format!("-o {form}: text or json")),
    }
}

fn number<N: FromStr + PartialOrd + std::fmt::Display>(
    name: &str,
    text: &str,
    least: N,
    most: N,
) -> Result<N, String> {
    let range = least..=most;
    let parsed = text.parse().ok().filter(|it| range.contains(it));
    parsed.ok_or_else(|| format!("{name} {text}: a number from {} to {}", range.start(), range.end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked() {
        let options = Options::parse(&["--members", "7", "-o", "json", "--seconds", "0.5"]).unwrap();
        assert_eq!((options.members, options.json, options.rounds), (7, true, 5));
        for wrong in [
            &["--members", "0"][..],
            &["--members"],
            &["--seconds", "NaN"],
            &["-o", "xml"],
            &["--against", "h:1"],
            &["--against-pid", "1"],
            &["x"],
        ] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
