//! Which bytes are passwords, tokens and keys (wire.md 15): they are masked unless asked for.

use wire::table::{Field, Message};

/// Message without its last word, and the field in it.
const FIELDS: &[(&str, &str)] = &[
    ("SaslAuthenticate", "AuthBytes"),
    ("AlterUserScramCredentials", "Salt"),
    ("AlterUserScramCredentials", "SaltedPassword"),
    ("CreateDelegationToken", "Hmac"),
    ("RenewDelegationToken", "Hmac"),
    ("ExpireDelegationToken", "Hmac"),
    ("DescribeDelegationToken", "Hmac"),
];

/// Messages with configs, whose names tell secrets.
const CONFIGS: &[&str] = &["AlterConfigs", "IncrementalAlterConfigs", "DescribeConfigs"];

fn family(message: &Message) -> &str {
    let name = message.name;
    name.strip_suffix("Request").or_else(|| name.strip_suffix("Response")).unwrap_or(name)
}

/// Whether a field of a message is a secret. `name` is the value of the field called `Name` that stands before it.
#[must_use]
pub fn is_secret(message: &Message, field: &Field, name: &[u8]) -> bool {
    let family = family(message);
    FIELDS.contains(&(family, field.name))
        || (field.name == "Value" && CONFIGS.contains(&family) && names_secret(name))
}

/// Whether undecoded bytes of a message may be secrets.
#[must_use]
pub fn holds_secrets(message: &Message) -> bool {
    let family = family(message);
    CONFIGS.contains(&family) || FIELDS.iter().any(|it| it.0 == family)
}

fn names_secret(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    ["password", "secret", "jaas", "token", "keystore.key"].iter().any(|it| name.contains(it))
}
