//! Strings of decoded messages: short ones by value, long ones as slices of the frame that they came in (decision 13).

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use bytes::Bytes;

/// The longest string that is held by value: member ids (36 or 22 characters) and most names are not longer. It is
/// what fits beside the two bytes that say so into 40 bytes, the least that a slice of a frame takes too.
pub(crate) const SHORT_MAX: usize = 38;

/// A string that is cheap to clone: a short one is copied, a long one shares its memory with the frame and counts a
/// reference. Counting costs more than copying a few bytes, and a copy does not keep the frame.
///
/// The bytes are not checked on decode: Kafka does not refuse a request for a string that is not UTF-8, and most
/// strings are only compared or passed on. Use [`Str::as_str`] where a name is used as text.
///
/// **Trap**: a long `Str` keeps its whole frame (which may have 100 MB) in memory. Call [`Str::detach`] on what
/// outlives the request.
#[derive(Clone)]
pub struct Str(Held);

#[derive(Clone)]
enum Held {
    Short(Short),
    Shared(Bytes),
}

/// What stands behind `length` has no meaning.
#[derive(Clone, Copy)]
struct Short {
    length: u8,
    bytes: [u8; SHORT_MAX],
}

impl Short {
    #[expect(clippy::cast_possible_truncation, reason = "a short length fits")]
    const fn copied(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; SHORT_MAX];
        match bytes.split_at_mut_checked(text.len()) {
            Some((room, _)) => {
                room.copy_from_slice(text);
                Some(Self { length: text.len() as u8, bytes })
            }
            None => None,
        }
    }
}

impl Str {
    /// The empty string.
    pub const EMPTY: Self = Self(Held::Short(Short { length: 0, bytes: [0; SHORT_MAX] }));

    /// Takes the bytes as they are, valid or not.
    #[must_use]
    pub fn from_bytes(bytes: Bytes) -> Self {
        Self(Short::copied(&bytes).map_or(Held::Shared(bytes), Held::Short))
    }

    #[must_use]
    pub const fn from_static(text: &'static str) -> Self {
        match Short::copied(text.as_bytes()) {
            Some(it) => Self(Held::Short(it)),
            None => Self(Held::Shared(Bytes::from_static(text.as_bytes()))),
        }
    }

    /// The first `length` of the bytes, which has to be no more than there are, by value if they are short enough.
    #[expect(clippy::cast_possible_truncation, reason = "a short length fits")]
    #[inline]
    pub(crate) fn leading(bytes: &[u8], length: usize) -> Option<Self> {
        if length > SHORT_MAX {
            return None;
        }
        let short = match bytes.first_chunk() {
            // A copy of a size that is known does not call anything. What it takes too much is never looked at.
            Some(bytes) => Short { length: length as u8, bytes: *bytes },
            None => Short::copied(bytes.get(..length)?)?,
        };
        Some(Self(Held::Short(short)))
    }

    /// The bytes of a short string with what has no meaning, and how many have one.
    #[inline]
    pub(crate) const fn short(&self) -> Option<(&[u8; SHORT_MAX], usize)> {
        match &self.0 {
            Held::Short(it) => Some((&it.bytes, it.length as usize)),
            Held::Shared(_) => None,
        }
    }

    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Held::Short(it) => it.bytes.get(..usize::from(it.length)).unwrap_or_default(),
            Held::Shared(bytes) => bytes,
        }
    }

    /// The text, if it is UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()).ok()
    }

    /// The text, with U+FFFD for what is not UTF-8, as Java reads it.
    #[must_use]
    pub fn to_str(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.as_bytes())
    }

    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        match &self.0 {
            Held::Short(it) => it.length as usize,
            Held::Shared(bytes) => bytes.len(),
        }
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same string in memory of its own.
    #[must_use]
    pub fn detach(&self) -> Self {
        match &self.0 {
            Held::Short(_) => self.clone(),
            Held::Shared(bytes) => Self(Held::Shared(Bytes::copy_from_slice(bytes))),
        }
    }

    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        match self.0 {
            Held::Short(_) => Bytes::copy_from_slice(self.as_bytes()),
            Held::Shared(bytes) => bytes,
        }
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Self {
        let long = || Held::Shared(Bytes::copy_from_slice(text.as_bytes()));
        Self(Short::copied(text.as_bytes()).map_or_else(long, Held::Short))
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        let short = Short::copied(text.as_bytes());
        Self(short.map_or_else(|| Held::Shared(Bytes::from(text)), Held::Short))
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

impl Default for Str {
    #[inline]
    fn default() -> Self {
        Self::EMPTY
    }
}

impl AsRef<[u8]> for Str {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

// By the bytes alone, as `Borrow` demands, however they are held.

impl PartialEq for Str {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Str {}

impl PartialOrd for Str {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Str {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl PartialEq<str> for Str {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Str {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<String> for Str {
    fn eq(&self, other: &String) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<Str> for str {
    fn eq(&self, other: &Str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<Str> for &str {
    fn eq(&self, other: &Str) -> bool {
        self.as_bytes() == other.as_bytes()
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
        for length in [2, SHORT_MAX, SHORT_MAX + 1] {
            let str = Str::from_bytes(frame.slice(10..10 + length));
            assert_eq!(str.detach(), str);
            assert_ne!(str.detach().as_bytes().as_ptr(), str.as_bytes().as_ptr());
        }
        drop(Str::from_bytes(frame.slice(..SHORT_MAX + 1)));
        let _short = Str::from_bytes(frame.slice(..SHORT_MAX));
        assert!(frame.is_unique(), "a short string keeps no frame");
    }

    /// The two ways to hold a string differ in nothing that can be seen.
    #[test]
    fn short_and_long() {
        let text = "0123456789".repeat(5);
        for length in [0, 1, SHORT_MAX - 1, SHORT_MAX, SHORT_MAX + 1, text.len()] {
            let (frame, expected) = (Bytes::from(text.clone()), &text[..length]);
            let read = Str::leading(&frame, length).unwrap_or_else(|| Str::from_bytes(frame.slice(..length)));
            let exact = Str::leading(expected.as_bytes(), length);
            let ways =
                [read, exact.unwrap_or_else(|| expected.into()), expected.to_owned().into(), expected.into()];
            for it in &ways {
                assert_eq!((it.as_str(), it.len(), it.is_empty()), (Some(expected), length, length == 0));
                assert_eq!(it.short().is_some(), length <= SHORT_MAX);
                assert!(it.clone().into_bytes() == expected && ways.iter().all(|other| other == it));
            }
        }
        // What a sized copy took from behind the string is no part of it.
        assert_eq!(Str::leading(text.as_bytes(), 3), Str::leading(b"012!".repeat(20).as_slice(), 3));
        assert_eq!([size_of::<Str>(), size_of::<Option<Str>>()], [40, 40]);
    }
}
