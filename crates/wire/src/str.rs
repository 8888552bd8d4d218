//! Strings of decoded messages: slices of the frame that they came in (decision 13).

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;

use bytes::Bytes;

/// A string that shares its memory with the frame. Cloning counts a reference.
///
/// The bytes are not checked on decode: Kafka does not refuse a request for a string that is not UTF-8, and most
/// strings are only compared or passed on. Use [`Str::as_str`] where a name is used as text.
///
/// **Trap**: a `Str` keeps its whole frame (which may have 100 MB) in memory. Call [`Str::detach`] on what outlives
/// the request.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Str(Bytes);

impl Str {
    /// The empty string.
    pub const EMPTY: Self = Self(Bytes::new());

    /// Takes the bytes as they are, valid or not.
    #[must_use]
    pub const fn from_bytes(bytes: Bytes) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn from_static(text: &'static str) -> Self {
        Self(Bytes::from_static(text.as_bytes()))
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, if it is UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The text, with U+FFFD for what is not UTF-8, as Java reads it.
    #[must_use]
    pub fn to_str(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same string in memory of its own.
    #[must_use]
    pub fn detach(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Self(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        Self(Bytes::from(text))
    }
}

impl From<&String> for Str {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_str())
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str(), f)
    }
}

impl AsRef<[u8]> for Str {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq<str> for Str {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Str {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<String> for Str {
    fn eq(&self, other: &String) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<Str> for str {
    fn eq(&self, other: &Str) -> bool {
        self.as_bytes() == other.0
    }
}

impl PartialEq<Str> for &str {
    fn eq(&self, other: &Str) -> bool {
        self.as_bytes() == other.0
    }
}

impl PartialOrd<str> for Str {
    fn partial_cmp(&self, other: &str) -> Option<Ordering> {
        Some(self.as_bytes().cmp(other.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// wire.md 10: the bytes are kept, the text is replaced.
    #[test]
    fn not_utf8() {
        let str = Str::from_bytes(Bytes::from_static(b"\xffA"));
        assert_eq!(str.as_str(), None);
        assert_eq!(str.to_str(), "\u{fffd}A");
        assert_eq!(str.as_bytes(), b"\xffA");
    }

    #[test]
    fn maps_by_bytes() {
        let map = BTreeMap::from([(Str::from("b"), 1), (Str::from_static("a"), 2)]);
        assert_eq!(map.get(b"a".as_slice()), Some(&2));
        assert_eq!(map.keys().next().unwrap(), "a");
    }

    #[test]
    fn detached_memory_is_its_own() {
        let frame = Bytes::from(vec![b'x'; 100]);
        let str = Str::from_bytes(frame.slice(10..12));
        assert_eq!(str.detach(), str);
        assert_ne!(str.detach().as_bytes().as_ptr(), str.as_bytes().as_ptr());
    }
}
