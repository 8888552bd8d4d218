//! Java's properties format (rule C1): what `server.properties` may look like.

/// A file that is not in the format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// From 1.
    pub line: usize,
    pub problem: String,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for Malformed {}

/// One `name = value` and the line on which it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    pub name: String,
    pub value: String,
    pub line: usize,
}

/// Reads a file. Names may stand more than once; the last counts, and all are returned.
///
/// # Errors
/// A `\u` without four hexadecimal digits.
pub fn parse(text: &str) -> Result<Vec<Property>, Malformed> {
    let mut properties = Vec::new();
    let mut lines = text.split(['\n']).map(|line| line.strip_suffix('\r').unwrap_or(line)).zip(1..);
    while let Some((first, line)) = lines.next() {
        let mut logical = trim_start(first).to_owned();
        if logical.is_empty() || logical.starts_with(['#', '!']) {
            continue;
        }
        while continues(&logical) {
            logical.pop();
            // A comment sign has no meaning on a continued line.
            match lines.next() {
                Some((next, _)) => logical.push_str(trim_start(next)),
                None => break,
            }
        }
        let (name, value) = split(&logical);
        properties.push(Property { name: unescape(name, line)?, value: unescape(value, line)?, line });
    }
    Ok(properties)
}

fn trim_start(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\x0c'])
}

/// Whether the line ends in an odd number of backslashes.
fn continues(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Name and value, still escaped: the name ends at the first `=`, `:` or blank that no backslash stands before.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|c: char| {
        let ends = !escaped && matches!(c, '=' | ':' | ' ' | '\t' | '\x0c');
        escaped = !escaped && c == '\\';
        ends
    });
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = trim_start(rest);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (name, trim_start(value))
}

fn unescape(text: &str, line: usize) -> Result<String, Malformed> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let c = if c == '\\' { chars.next().unwrap_or('\\') } else { push(&mut units, c) };
        match c {
            PUSHED => {}
            't' => units.push(9),
            'n' => units.push(10),
            'f' => units.push(12),
            'r' => units.push(13),
            'u' => units.push(unicode(&mut chars, line)?),
            other => {
                push(&mut units, other);
            }
        }
    }
    // Java's strings are UTF-16, so a character beyond 16 bits is written as two escapes.
    Ok(String::from_utf16_lossy(&units))
}

/// Stands for a character that is already in the output; never part of a text.
const PUSHED: char = '\u{10ffff}';

fn push(units: &mut Vec<u16>, c: char) -> char {
    units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    PUSHED
}

fn unicode(chars: &mut std::str::Chars<'_>, line: usize) -> Result<u16, Malformed> {
    let digits: String = chars.by_ref().take(4).collect();
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Malformed {
            line,
            problem: format!("\\u{digits} is not \\u and four hexadecimal digits"),
        });
    }
    u16::from_str_radix(&digits, 16).map_err(|why| Malformed { line, problem: why.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let found = parse(text).unwrap();
        let pairs: Vec<(&str, &str)> = found.iter().map(|it| (it.name.as_str(), it.value.as_str())).collect();
        assert_eq!(pairs, expected, "{text:?}");
    }

    #[test]
    fn separators_blanks_and_comments() {
        check(
            "a=1\nb : 2\nc 3\n\td\t=\t4  \n\n# e=5\n  ! f=6\n",
            &[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4  ")],
        );
        check("a==1\nb=\nc\nd = = x", &[("a", "=1"), ("b", ""), ("c", ""), ("d", "= x")]);
        check("listeners=PLAINTEXT://:9092\r\nx=y\r\n", &[("listeners", "PLAINTEXT://:9092"), ("x", "y")]);
    }

    #[test]
    fn continued_lines() {
        check("a=1,\\\n   2,\\\n  3\nb=2", &[("a", "1,2,3"), ("b", "2")]);
        check("a=x\\\\\nb=2", &[("a", "x\\"), ("b", "2")]);
        check("a=1\\\n# no comment\nb=2", &[("a", "1# no comment"), ("b", "2")]);
        check("a=1\\", &[("a", "1")]);
    }

    #[test]
    fn escapes() {
        check("a\\ b\\=c=d\\te\\n", &[("a b=c", "d\te\n")]);
        check("a=\\u00e4\\u20AC\\ud83d\\ude00\\q", &[("a", "ä€😀q")]);
        check("a=C:\\\\dir", &[("a", "C:\\dir")]);
        let wrong = parse("x=1\na=\\u00g1").unwrap_err();
        assert_eq!(wrong.line, 2);
    }

    #[test]
    fn a_name_may_stand_twice() {
        check("a=1\na=2", &[("a", "1"), ("a", "2")]);
    }
}
