//! What people have bytes in: hex in all its dresses, base-64, or the bytes themselves (wire.md 18.1).

use bytes::Bytes;
use wire::base64;

/// How bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Text is hex if it can be, else base-64; what is not text is raw.
    #[default]
    Auto,
    Hex,
    Base64,
    Raw,
}

/// Bytes of a row in dumps that print offsets.
const ROW: usize = 16;

/// The bytes that an input means.
///
/// # Errors
/// Text that is neither hex nor base-64; what is wrong, for people.
pub fn bytes(input: &Bytes, encoding: Encoding) -> Result<Bytes, String> {
    let text = || std::str::from_utf8(input).map_err(|_| "the input is not text".to_owned());
    match encoding {
        Encoding::Raw => Ok(input.clone()),
        Encoding::Hex => hex(text()?).map(Bytes::from),
        Encoding::Base64 => base_64(text()?).map(Bytes::from).ok_or_else(|| "not base-64".to_owned()),
        Encoding::Auto => match text() {
            Ok(text) if !text.chars().any(|it| it.is_control() && !it.is_whitespace()) => {
                let problem = match hex(text) {
                    Ok(bytes) => return Ok(bytes.into()),
                    Err(problem) => problem,
                };
                base_64(text).map(Bytes::from).ok_or_else(|| format!("not base-64, and as hex: {problem}"))
            }
            Ok(_) | Err(_) => Ok(input.clone()),
        },
    }
}

fn base_64(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|it| !it.is_whitespace()).collect();
    base64::decode(&text, base64::STANDARD)
        .or_else(|| base64::decode(text.trim_end_matches('='), base64::URL))
}

/// Hex digits with whatever dumps put around them: offsets, gutters, `0x`, commas, bars.
///
/// # Errors
/// The word that is no hex, with its line.
pub fn hex(text: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        one_line(line, &mut out).map_err(|word| format!("line {}: {:?} is no hex", i + 1, short(&word)))?;
    }
    Ok(out)
}

/// The begin of a word, which may be a file without white space.
fn short(word: &str) -> String {
    const LETTERS_MAX: usize = 40;
    match word.char_indices().nth(LETTERS_MAX) {
        Some((end, _)) => format!("{}…", word.get(..end).unwrap_or_default()),
        None => word.to_owned(),
    }
}

fn one_line(line: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let line = line.trim_end();
    // Titles and legends of our own layout, its column heads and its letters.
    let own = line.starts_with("byte layout (") || line.starts_with("F frame, ");
    if own || line.split_whitespace().all(|it| it.chars().count() == 1) {
        return Ok(());
    }
    let (offset, rest) = without_offset(line, out.len());
    let rest = without_gutter(rest, offset);
    let before = out.len();
    for word in rest.split(|it: char| it.is_whitespace() || matches!(it, ',' | '|' | ';' | '{' | '}')) {
        if offset && out.len() - before >= ROW {
            break;
        }
        for part in word.split("\\x").flat_map(|it| it.split(':')) {
            let digits = part.trim_start_matches("0x").trim_start_matches("0X");
            let digits = digits.trim_matches('"');
            decode(digits, out).ok_or_else(|| word.to_owned())?;
        }
    }
    Ok(())
}

fn decode(digits: &str, out: &mut Vec<u8>) -> Option<()> {
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|it| it.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = digits.as_bytes().chunks(2).filter_map(|it| std::str::from_utf8(it).ok());
    out.extend(pairs.filter_map(|it| u8::from_str_radix(it, 16).ok()));
    Some(())
}

/// An offset is the first word of a line: it ends with a colon, or it says how many bytes stand before the line.
fn without_offset(line: &str, so_far: usize) -> (bool, &str) {
    let trimmed = line.trim_start();
    let end = trimmed.find(char::is_whitespace).unwrap_or(trimmed.len());
    let (word, rest) = trimmed.split_at(end);
    let digits = word.trim_end_matches(':');
    let Ok(offset) = usize::from_str_radix(digits.trim_start_matches("0x"), 16) else { return (false, line) };
    // Offsets have four digits or more, and a wider gap behind them than bytes have.
    let apart = rest.starts_with("  ") || rest.starts_with('\t');
    let colon = word.ends_with(':') && word.matches(':').count() == 1;
    // hexdump says at last where the bytes end.
    let last = rest.is_empty() && digits.len() >= 7 && so_far > 0 && offset == so_far;
    let found = digits.len() >= 4 && (colon || (apart && offset == so_far)) || last;
    if found { (true, rest) } else { (false, line) }
}

/// What stands at the right is the same bytes as text: between bars, or behind a gap.
fn without_gutter(line: &str, offset: bool) -> &str {
    if let Some(inner) = line.strip_suffix('|')
        && let Some(bar) = inner.find('|')
        && offset
    {
        return line.get(..bar).unwrap_or(line);
    }
    if !offset {
        return line;
    }
    let start = line.len() - line.trim_start().len();
    let mut from = start;
    // hexdump leaves a gap of two in the middle of a row.
    while let Some(gap) = line.get(from..).and_then(|it| it.find("  ")).map(|it| it + from) {
        let head = line.get(start..gap).unwrap_or_default();
        let bytes = head.chars().filter(char::is_ascii_hexdigit).count() / 2;
        let width = line.get(gap..).map_or(0, |it| it.len() - it.trim_start().len());
        if bytes != ROW / 2 || width != 2 {
            return line.get(..gap).unwrap_or(line);
        }
        from = gap + width;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// wire.md 18.1: every dress of the same 19 bytes.
    #[test]
    fn dresses() {
        let plain = "0000000f000f0006000000000000000201 0000";
        let expected = hex(plain).unwrap();
        assert_eq!(expected.len(), 19);
        let xxd = "00000000: 0000 000f 000f 0006 0000 0000 0000 0002  ................\n\
                   00000010: 0100 00                                  ...\n";
        let hexdump = "00000000  00 00 00 0f 00 0f 00 06  00 00 00 00 00 00 00 02  |................|\n\
                       00000010  01 00 00                                          |...|\n00000013\n";
        let tcpdump = "\t0x0000:  0000 000f 000f 0006 0000 0000 0000 0002  ................\n\
                       \t0x0010:  0100 00                                  ...\n";
        let wireshark = "0000   00 00 00 0f 00 0f 00 06 00 00 00 00 00 00 00 02   ................\n\
                         0010   01 00 00                                          ...\n";
        let ours = "byte layout (19 bytes, 16 bytes per row)\n\
                    \x20     0  1  2  3  4  5  6  7  8  9  A  B  C  D  E  F\n\
                    0000  00 00 00 0f 00 0f 00 06 00 00 00 00 00 00 00 02\n0010  01 00 00\n\
                    \x20     F  F  F  F  H  H  H  H  H  H  H  H  H  H  T  Q\n      Q  Q  T\n\
                    F frame, H rpc header\n";
        let c = "{ 0x00, 0x00, 0x00, 0x0f, 0x00, 0x0f, 0x00, 0x06, 0x00, 0x00,\n 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x01, 0x00, 0x00 }";
        let python = r"\x00\x00\x00\x0f\x00\x0f\x00\x06\x00\x00\x00\x00\x00\x00\x00\x02\x01\x00\x00";
        let bars = "0000000f | 000f 0006 | 00000000 | 0000 | 00 | 02 | 01 | 00 | 00";
        let colons = "00:00:00:0f:00:0f:00:06:00:00:00:00:00:00:00:02:01:00:00";
        let prefixed = "0x0000000f000f00060000000000000002010000";
        for (i, text) in [xxd, hexdump, tcpdump, wireshark, ours, c, python, bars, colons, prefixed]
            .into_iter()
            .enumerate()
        {
            assert_eq!(hex(text).as_deref(), Ok(expected.as_slice()), "{i}: {text}");
        }
        let base64 = Bytes::from_static(b"AAAADwAPAAYAAAAAAAAAAgEA\nAA==\n");
        assert_eq!(bytes(&base64, Encoding::Auto).unwrap(), expected);
        assert_eq!(bytes(&Bytes::from(expected.clone()), Encoding::Auto).unwrap(), expected);
        assert!(bytes(&Bytes::from_static(b"no bytes!"), Encoding::Auto).is_err());
        assert!(hex("000").is_err());
        assert_eq!(hex(&"g".repeat(1 << 20)), Err(format!("line 1: \"{}…\" is no hex", "g".repeat(40))));
    }
}
