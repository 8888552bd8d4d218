//! Uuids in Kafka's text form: URL-safe base-64 without padding.

use std::fmt;
use std::str::FromStr;

use crate::base64;

/// 16 bytes; zero means "none".
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// No uuid.
    pub const ZERO: Self = Self([0; 16]);
    /// Kafka's name for the metadata topic; also "no value" in `ReplicaDirectoryId`.
    pub const ONE: Self = Self([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

    /// Whether this is [`Uuid::ZERO`].
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64::encode(&self.0, base64::URL))
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is no uuid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoUuid;

impl fmt::Display for NoUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected 22 characters of URL-safe base-64")
    }
}

impl std::error::Error for NoUuid {}

impl FromStr for Uuid {
    type Err = NoUuid;

    fn from_str(text: &str) -> Result<Self, NoUuid> {
        let bytes = base64::decode(text, base64::URL).ok_or(NoUuid)?;
        bytes.try_into().map(Self).map_err(|_| NoUuid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// wire.md 4: the text forms of zero and one.
    #[test]
    fn text() {
        assert_eq!(Uuid::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(Uuid::ONE.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        let some = Uuid([0xfb, 0xff, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        assert_eq!(some.to_string().parse(), Ok(some));
        assert_eq!("AAAA".parse::<Uuid>(), Err(NoUuid));
        assert_eq!("AAAAAAAAAAAAAAAAAAAA+A".parse::<Uuid>(), Err(NoUuid));
    }
}
