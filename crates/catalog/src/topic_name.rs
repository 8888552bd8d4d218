//! Names of topics (`broker-core.md` 5).

const LENGTH_MAX: usize = 249;

/// Checks a topic name; the error says what is wrong with it.
///
/// # Errors
/// The name is empty, too long, `.`, `..`, or has a character outside of `[a-zA-Z0-9._-]`.
pub fn check(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("The topic name must not be empty".to_owned());
    }
    if name == "." || name == ".." {
        return Err(format!("The topic name must not be {name:?}"));
    }
    if name.len() > LENGTH_MAX {
        return Err(format!(
            "The topic name has {} characters, at most {LENGTH_MAX} are allowed",
            name.len()
        ));
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')) {
        return Err(format!(
            "The topic name {name:?} has characters other than a-z, A-Z, 0-9, '.', '_' and '-'"
        ));
    }
    Ok(())
}

/// What names of metrics make of a topic name: two topics must not share it.
pub(crate) fn collision_key(name: &str) -> String {
    name.replace('.', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legal_names() {
        for name in ["a", "a.b_c-D9", "...", "__consumer_offsets", &"a".repeat(249)] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for name in ["", ".", "..", "a/b", "a b", "ä", "a\0", &"a".repeat(250)] {
            assert!(check(name).is_err(), "{name}");
        }
    }
}
