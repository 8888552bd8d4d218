//! Where the broker's settings come from: file, then environment, then `--override` (`cli.md` C2).
//!
//! What a value must look like is said by the settings table alone, not here.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use catalog::config::properties::{self, Malformed};
use catalog::config::{Configs, broker_row};

/// Where a broker listens that was told nothing: it has no authentication, so this machine alone.
const LISTENERS: &str = "PLAINTEXT://127.0.0.1:9092";
/// Where it keeps its data.
const LOG_DIRS: &str = "./thalweg-data";

/// Why settings can't be used; the process ends with code 2.
#[derive(Debug)]
pub(crate) enum Wrong {
    File(PathBuf, std::io::Error),
    Line(PathBuf, Malformed),
    Override(String),
    /// `KAFKA_X` and `THALWEG_X` say different things.
    Environment(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Line(path, malformed) => write!(f, "{}: {malformed}", path.display()),
            Self::Override(text) => write!(f, "--override {text:?} is not of the form name=value"),
            Self::Environment(name) => write!(f, "the environment gives {name} twice, with different values"),
        }
    }
}

/// Merges the sources. Names are not judged here.
pub(crate) fn gather(
    file: Option<&PathBuf>,
    environment: impl Iterator<Item = (String, String)>,
    overrides: &[String],
) -> Result<Configs, Wrong> {
    let mut given = Configs::new();
    if let Some(path) = file {
        let bytes = std::fs::read(path).map_err(|error| Wrong::File(path.clone(), error))?;
        let lines = properties::parse(&String::from_utf8_lossy(&bytes));
        let lines = lines.map_err(|malformed| Wrong::Line(path.clone(), malformed))?;
        given.extend(lines.into_iter().map(|line| (line.name, line.value)));
    }
    given.extend(from_environment(environment)?);
    for text in overrides {
        let pair = text.split_once('=').map(|(name, value)| (name.trim(), value));
        let (name, value) =
            pair.filter(|(name, _)| !name.is_empty()).ok_or_else(|| Wrong::Override(text.clone()))?;
        given.insert(name.to_owned(), value.to_owned());
    }
    Ok(given)
}

/// Adds what a broker needs and nobody gave.
pub(crate) fn add_defaults(configs: &mut Configs) {
    let mut add = |name: &str, value: &str| {
        configs.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    };
    add("listeners", LISTENERS);
    if !["log.dirs", "log.dir", "thalweg.storage"].iter().any(|name| configs.contains_key(*name)) {
        configs.insert("log.dirs".to_owned(), LOG_DIRS.to_owned());
    }
}

/// The id of the cluster is not a setting of Kafka's; its image takes it from the environment.
pub(crate) const CLUSTER_ID: &str = "cluster.id";

fn is_known(name: &str) -> bool {
    name == CLUSTER_ID || broker_row(name).is_some()
}

/// Settings in environment variables (`cli.md` 4.6). Variables that name no setting are not ours:
/// container images and shells are full of `KAFKA_HOME` and the like.
fn from_environment(
    environment: impl Iterator<Item = (String, String)>,
) -> Result<BTreeMap<String, String>, Wrong> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for (variable, value) in environment {
        let name = if let Some(rest) = variable.strip_prefix("KAFKA_") {
            Some(setting_name(rest)).filter(|it| is_known(it))
        } else if let Some(rest) = variable.strip_prefix("THALWEG_") {
            let name = setting_name(rest);
            let own = format!("thalweg.{name}");
            [own, name].into_iter().find(|it| is_known(it))
        } else if variable == "CLUSTER_ID" {
            Some(CLUSTER_ID.to_owned())
        } else {
            None
        };
        let Some(name) = name else { continue };
        match found.get(&name) {
            Some(other) if *other != value => return Err(Wrong::Environment(name)),
            Some(_) | None => found.insert(name, value),
        };
    }
    Ok(found)
}

/// Variables of the program that are no settings of the broker.
const OWN_VARIABLES: [&str; 4] =
    ["THALWEG_LOG", "THALWEG_BOOTSTRAP_SERVERS", "THALWEG_CONFIG", "THALWEG_PROFILE"];

/// Variables with our prefix that name nothing: a slip of the pen, since nobody else's environment has them.
pub(crate) fn unknown_variables(names: impl Iterator<Item = String>) -> Vec<String> {
    let is_unknown = |variable: &String| {
        let Some(rest) = variable.strip_prefix("THALWEG_") else { return false };
        let name = setting_name(rest);
        !OWN_VARIABLES.contains(&variable.as_str())
            && !is_known(&format!("thalweg.{name}"))
            && !is_known(&name)
    };
    names.filter(is_unknown).collect()
}

/// The rule of the apache/kafka image: `_` is a dot, `__` an underscore, `___` a dash.
fn setting_name(variable: &str) -> String {
    let lower = variable.to_lowercase();
    lower.replace("___", "-").replace("__", "\u{0}").replace('_', ".").replace('\u{0}', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(environment: &[(&str, &str)], overrides: &[&str]) -> Result<Configs, Wrong> {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let overrides: Vec<_> = overrides.iter().map(|it| (*it).to_owned()).collect();
        gather(None, environment, &overrides)
    }

    #[test]
    fn command_line_wins_over_environment() {
        let environment = [
            ("KAFKA_NUM_PARTITIONS", "3"),
            ("THALWEG_DURABILITY", "page-cache"),
            ("CLUSTER_ID", "x"),
            ("KAFKA_HOME", "/not/a/setting"),
        ];
        let given = gathered(&environment, &["num.partitions=5", "nonsense=1"]).unwrap();
        let pairs = [
            ("cluster.id", "x"),
            ("nonsense", "1"),
            ("num.partitions", "5"),
            ("thalweg.durability", "page-cache"),
        ];
        assert_eq!(given, pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }

    #[test]
    fn variables_with_our_prefix_that_name_nothing_are_told() {
        let names =
            ["THALWEG_DURABILTY", "THALWEG_DURABILITY", "THALWEG_LOG_DIRS", "THALWEG_LOG", "KAFKA_HOME"];
        let unknown = unknown_variables(names.into_iter().map(str::to_owned));
        assert_eq!(unknown, ["THALWEG_DURABILTY"]);
    }

    #[test]
    fn a_setting_given_twice_by_the_environment_is_an_error() {
        let twice = |b| gathered(&[("KAFKA_LOG_DIRS", "/a"), ("THALWEG_LOG_DIRS", b)], &[]);
        assert!(twice("/a").is_ok());
        assert!(matches!(twice("/b"), Err(Wrong::Environment(name)) if name == "log.dirs"));
    }

    #[test]
    fn an_override_without_a_name_or_a_value_is_an_error() {
        for wrong in ["num.partitions", "=x", " =x", ""] {
            assert!(matches!(gathered(&[], &[wrong]), Err(Wrong::Override(_))), "{wrong:?}");
        }
    }

    #[test]
    fn defaults_fill_only_what_is_missing() {
        let filled = |pairs: &[&str]| {
            let mut configs = gathered(&[], pairs).unwrap();
            add_defaults(&mut configs);
            ["listeners", "log.dirs"].map(|name| configs.get(name).cloned().unwrap_or_default())
        };
        assert_eq!(filled(&[]), [LISTENERS, LOG_DIRS]);
        assert_eq!(filled(&["listeners=A://:1", "log.dir=/x"]), ["A://:1", ""]);
    }

    #[test]
    fn names_of_the_environment_follow_the_image() {
        assert_eq!(setting_name("A_B__C___D"), "a.b_c-d");
    }
}
