//! JSON text to value and back (RFC 8259).

use std::fmt;

use super::{Json, JsonError};

/// Arrays and objects inside each other. Kafka's deepest message needs 12.
const DEPTH_MAX: usize = 64;

type Result<T> = std::result::Result<T, JsonError>;

/// Reads one value, with nothing but white space behind it.
///
/// # Errors
/// Text that is not JSON, or nested more than 64 deep.
pub fn parse(text: &str) -> Result<Json> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.space();
    if parser.at == text.len() { Ok(value) } else { parser.fail("something follows the value") }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn fail<T>(&self, problem: &str) -> Result<T> {
        Err(JsonError::new(format!("{problem} at byte {}", self.at)))
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json> {
        if depth > DEPTH_MAX {
            return self.fail("nested too deeply");
        }
        self.space();
        match self.rest().chars().next() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"') => self.string().map(Json::String),
            Some('-' | '0'..='9') => self.number(),
            _ if self.take("null") => Ok(Json::Null),
            _ if self.take("true") => Ok(Json::Bool(true)),
            _ if self.take("false") => Ok(Json::Bool(false)),
            _ => self.fail("expected a value"),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json> {
        self.at += 1;
        let mut entries = Vec::new();
        self.space();
        if self.take("}") {
            return Ok(Json::Object(entries));
        }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            if !self.take(":") {
                return self.fail("expected a colon");
            }
            entries.push((key.into(), self.value(depth + 1)?));
            self.space();
            if self.take("}") {
                return Ok(Json::Object(entries));
            }
            if !self.take(",") {
                return self.fail("expected a comma or the end of the object");
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json> {
        self.at += 1;
        let mut elements = Vec::new();
        self.space();
        if self.take("]") {
            return Ok(Json::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            self.space();
            if self.take("]") {
                return Ok(Json::Array(elements));
            }
            if !self.take(",") {
                return self.fail("expected a comma or the end of the array");
            }
        }
    }

    fn number(&mut self) -> Result<Json> {
        let rest = self.rest();
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().to_owned();
        let digits = text.trim_start_matches('-');
        let leading_zero =
            digits.starts_with('0') && digits.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
        let value = text.parse().map(Json::Int).or_else(|_| text.parse().map(Json::Float));
        match value {
            Ok(value) if !leading_zero && digits.starts_with(|c: char| c.is_ascii_digit()) => {
                self.at += text.len();
                Ok(value)
            }
            Ok(_) | Err(_) => self.fail("not a number"),
        }
    }

    fn string(&mut self) -> Result<String> {
        if !self.take("\"") {
            return self.fail("expected a string");
        }
        let mut out = String::new();
        loop {
            let plain = self.rest().find(['"', '\\']).map(|it| self.at + it);
            let Some(end) = plain else { return self.fail("a string is not closed") };
            let part = self.text.get(self.at..end).unwrap_or_default();
            if part.contains(|c: char| c < ' ') {
                return self.fail("a control character in a string");
            }
            out.push_str(part);
            self.at = end;
            if self.take("\"") {
                return Ok(out);
            }
            self.at += 1;
            out.push(self.escaped()?);
        }
    }

    fn escaped(&mut self) -> Result<char> {
        let Some(letter) = self.rest().chars().next() else { return self.fail("a string is not closed") };
        self.at += letter.len_utf8();
        Ok(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(),
            _ => return self.fail("an unknown escape"),
        })
    }

    /// Four hex digits, or two such in a row for what is beyond the basic plane. A half alone becomes U+FFFD.
    fn unicode(&mut self) -> Result<char> {
        let first = self.hex()?;
        let pair = (0xd800..0xdc00).contains(&first) && self.take("\\u");
        let code = if pair {
            let second = self.hex()?;
            0x10000 + ((first - 0xd800) << 10) + (second.wrapping_sub(0xdc00) & 0x3ff)
        } else {
            first
        };
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32> {
        let digits = self.rest().get(..4).filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
        let Some(code) = digits.and_then(|it| u32::from_str_radix(it, 16).ok()) else {
            return self.fail("expected four hex digits");
        };
        self.at += 4;
        Ok(code)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(it) => write!(f, "{it}"),
            Self::Int(it) => write!(f, "{it}"),
            Self::Float(it) if it.is_finite() => write!(f, "{it:?}"),
            Self::Float(it) if it.is_nan() => f.write_str("\"NaN\""),
            Self::Float(it) => f.write_str(if *it > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }),
            Self::String(it) => quote(f, it),
            Self::Array(elements) => {
                f.write_str("[")?;
                for (i, it) in elements.iter().enumerate() {
                    write!(f, "{}{it}", if i > 0 { "," } else { "" })?;
                }
                f.write_str("]")
            }
            Self::Object(entries) => {
                f.write_str("{")?;
                for (i, (key, it)) in entries.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    quote(f, key)?;
                    write!(f, ":{it}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn quote(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let texts = [
            r#"{"a":[1,-9223372036854775808,9223372036854775807],"b":{},"c":[]}"#,
            r#"[null,true,false,0.5,1e300,"\"\\\n\u0001é𝄞"]"#,
        ];
        for text in texts {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse(r#" "\ud834\udd1e\u00e9\/" "#), Ok(Json::String("𝄞é/".to_owned())));
    }

    #[test]
    fn refuses() {
        for text in
            ["", "{", "[1,]", "{\"a\"}", "01", "1 2", "\"a", "\"\\x\"", "nul", "-", "+1", ".5", "\"\n\""]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
