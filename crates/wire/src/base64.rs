//! Base-64 in its two alphabets: the standard one with padding (bytes in JSON), and the URL-safe one without
//! (uuids). Own code, because these thirty lines are all that the crate would need a library for.

/// An alphabet and whether it pads.
#[derive(Debug, Clone, Copy)]
pub struct Alphabet {
    letters: &'static [u8; 64],
    pads: bool,
}

/// `+`, `/` and padding.
pub const STANDARD: Alphabet =
    Alphabet { letters: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", pads: true };
/// `-`, `_` and no padding.
pub const URL: Alphabet =
    Alphabet { letters: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", pads: false };

/// The text of bytes.
#[must_use]
pub fn encode(bytes: &[u8], alphabet: Alphabet) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, i| bits << 8 | u32::from(group.get(i).copied().unwrap_or(0)));
        for i in 0..4usize {
            let letter = alphabet.letters.get((bits >> (18 - 6 * i)) as usize & 63);
            match letter {
                Some(letter) if i <= group.len() => out.push(char::from(*letter)),
                Some(_) | None if alphabet.pads => out.push('='),
                Some(_) | None => {}
            }
        }
    }
    out
}

/// Nothing if a letter is foreign, the padding is wrong, or the last group is incomplete or has loose bits.
#[must_use]
pub fn decode(text: &str, alphabet: Alphabet) -> Option<Vec<u8>> {
    let trimmed = if alphabet.pads { text.trim_end_matches('=') } else { text };
    if alphabet.pads && (!text.len().is_multiple_of(4) || text.len() - trimmed.len() > 2) {
        return None;
    }
    let mut out = Vec::with_capacity(trimmed.len() / 4 * 3 + 2);
    for group in trimmed.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for letter in group {
            let value = alphabet.letters.iter().position(|it| it == letter)?;
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        bits <<= 6 * (4 - group.len());
        let whole = group.len().checked_sub(1).filter(|it| *it > 0)?;
        let [_, bytes @ ..] = bits.to_be_bytes();
        let (kept, loose) = bytes.split_at_checked(whole)?;
        if loose.iter().any(|it| *it != 0) {
            return None;
        }
        out.extend_from_slice(kept);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(encode(bytes.as_bytes(), STANDARD), text);
            assert_eq!(decode(text, STANDARD).as_deref(), Some(bytes.as_bytes()));
        }
        for wrong in ["Z", "Zg", "Zg=", "Zh==", "Zg==Zg==", "Z-==", "===="] {
            assert_eq!(decode(wrong, STANDARD), None, "{wrong}");
        }
    }
}
