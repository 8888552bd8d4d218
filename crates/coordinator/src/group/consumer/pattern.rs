//! Regular expressions of subscriptions: RE2's syntax, matched by the crate `regex` (13.5).
//!
//! Kafka compiles with RE2/J. Both engines are linear in the text, but they disagree about rare syntax,
//! so an expression is read here by RE2's rules and written anew in a form that means the same to
//! `regex`. What RE2 refuses is refused with RE2's words, because clients show them to their users.
//!
//! Bounds: [`LENGTH_MAX`] characters, [`SIZE_MAX`] bytes when compiled, [`DEPTH_MAX`] levels.
//! An expression that is fine for RE2 but above a bound is refused as `expression too large`; that is the
//! only difference left. Topic names are ASCII, so what the engines do about other text does not matter.
//! The rules, one by one, stand in `docs/design/group-patterns.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};

/// Characters of an expression.
pub const LENGTH_MAX: usize = 16 * 1024;
/// Memory of a compiled expression; nested repetitions can ask for any amount.
pub const SIZE_MAX: usize = 2 * 1024 * 1024;
/// Groups, repetitions, choices and sequences in each other. The compiler of `regex` goes down into each of them, so
/// this bounds the stack.
pub const DEPTH_MAX: u32 = 250;
/// Largest count in `{n,m}`, as in RE2.
const REPEAT_MAX: u32 = 1000;

const BRACKET: &str = "missing closing ]";
const PAREN: &str = "missing closing )";
const NO_PAREN: &str = "unexpected )";
const NO_ARGUMENT: &str = "missing argument to repetition operator";
const NESTED: &str = "invalid nested repetition operator";
const COUNT: &str = "invalid repeat count";
const ESCAPE: &str = "invalid escape sequence";
const CLASS: &str = "invalid character class range";
const PERL: &str = "invalid or unsupported Perl syntax";
const NAME: &str = "invalid named capture";
const NAME_TWICE: &str = "duplicate capture group name";
const BACKSLASH: &str = "trailing backslash at end of expression";
const TOO_LARGE: &str = "expression too large";

/// An expression that matches whole topic names. The error is RE2's reason.
pub fn compile(text: &str) -> Result<Regex, &'static str> {
    if text.chars().count() > LENGTH_MAX {
        return Err(TOO_LARGE);
    }
    let translated = translate(text)?;
    let text = format!("\\A(?:{translated})\\z");
    // Nothing but size and depth can be left to be refused.
    RegexBuilder::new(&text).size_limit(SIZE_MAX).nest_limit(DEPTH_MAX).build().map_err(|_| TOO_LARGE)
}

/// The same expression in the syntax of `regex`.
fn translate(text: &str) -> Result<String, &'static str> {
    let mut translator = Translator {
        rest: text.chars().collect::<Vec<_>>().into_iter(),
        out: String::with_capacity(text.len() + 16),
        depth: 0,
        last: Last::Nothing,
        names: BTreeSet::new(),
    };
    while let Some(next) = translator.rest.next() {
        translator.item(next)?;
    }
    if translator.depth > 0 {
        return Err(PAREN);
    }
    Ok(translator.out)
}

/// What stands before a repetition operator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Nothing that could be repeated.
    Nothing,
    Atom,
    Repetition,
}

struct Translator {
    rest: std::vec::IntoIter<char>,
    out: String,
    depth: usize,
    last: Last,
    names: BTreeSet<String>,
}

impl Translator {
    fn item(&mut self, next: char) -> Result<(), &'static str> {
        match next {
            '\\' => self.escape(),
            '(' => self.open(),
            ')' => {
                self.depth = self.depth.checked_sub(1).ok_or(NO_PAREN)?;
                self.atom(")");
                Ok(())
            }
            '|' => {
                self.out.push('|');
                self.last = Last::Nothing;
                Ok(())
            }
            '*' | '+' | '?' => self.repeat(&next.to_string()),
            '{' => match self.braces()? {
                Some(operator) => self.repeat(&operator),
                None => {
                    self.literal('{');
                    Ok(())
                }
            },
            '[' => self.class(),
            '^' | '$' | '.' => {
                self.atom(&next.to_string());
                Ok(())
            }
            other => {
                self.literal(other);
                Ok(())
            }
        }
    }

    fn atom(&mut self, text: &str) {
        self.out.push_str(text);
        self.last = Last::Atom;
    }

    fn literal(&mut self, char: char) {
        put_char(&mut self.out, char);
        self.last = Last::Atom;
    }

    fn peek(&self) -> Option<char> {
        self.rest.as_slice().first().copied()
    }

    fn take_if(&mut self, wanted: char) -> bool {
        let is_it = self.peek() == Some(wanted);
        if is_it {
            self.rest.next();
        }
        is_it
    }

    /// The operator, and a `?` behind it that makes it lazy.
    fn repeat(&mut self, operator: &str) -> Result<(), &'static str> {
        match self.last {
            Last::Nothing => return Err(NO_ARGUMENT),
            Last::Repetition => return Err(NESTED),
            Last::Atom => self.out.push_str(operator),
        }
        if self.take_if('?') {
            self.out.push('?');
        }
        self.last = Last::Repetition;
        Ok(())
    }

    /// `{n}`, `{n,}` or `{n,m}` behind its brace; anything else leaves the brace a literal.
    fn braces(&mut self) -> Result<Option<String>, &'static str> {
        let rest = self.rest.as_slice();
        let Some(end) = rest.iter().take(16).position(|it| *it == '}') else { return Ok(None) };
        let inner: String = rest.iter().take(end).collect();
        let (low, high) = match inner.split_once(',') {
            Some((low, high)) => (low, Some(high)),
            None => (inner.as_str(), None),
        };
        let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
        if !is_number(low) || high.is_some_and(|it| !it.is_empty() && !is_number(it)) {
            return Ok(None);
        }
        let count = |it: &str| it.parse::<u32>().ok().filter(|it| *it <= REPEAT_MAX).ok_or(COUNT);
        let least = count(low)?;
        if let Some(high) = high.filter(|it| !it.is_empty())
            && count(high)? < least
        {
            return Err(COUNT);
        }
        self.rest.nth(end);
        Ok(Some(format!("{{{inner}}}")))
    }

    /// Behind `(`. No group captures: nobody asks what it matched.
    fn open(&mut self) -> Result<(), &'static str> {
        if !self.take_if('?') {
            return self.group("(?:");
        }
        match self.rest.as_slice() {
            ['P', '<', ..] => {
                self.rest.nth(1);
                self.name()
            }
            ['<', '=' | '!', ..] => Err(PERL),
            ['<', ..] => {
                self.rest.next();
                self.name()
            }
            _ => self.flags(),
        }
    }

    fn group(&mut self, opening: &str) -> Result<(), &'static str> {
        self.out.push_str(opening);
        self.depth += 1;
        self.last = Last::Nothing;
        Ok(())
    }

    fn name(&mut self) -> Result<(), &'static str> {
        let mut name = String::new();
        loop {
            match self.rest.next() {
                Some('>') => break,
                Some(it) if it == '_' || it.is_ascii_alphanumeric() => name.push(it),
                Some(_) | None => return Err(NAME),
            }
        }
        if name.is_empty() {
            return Err(NAME);
        }
        if !self.names.insert(name) {
            return Err(NAME_TWICE);
        }
        self.group("(?:")
    }

    /// `(?flags)` and `(?flags:`; whatever else begins with `(?` is Perl's.
    fn flags(&mut self) -> Result<(), &'static str> {
        let (mut flags, mut negated, mut seen) = (String::new(), false, false);
        loop {
            match self.rest.next() {
                Some(flag @ ('i' | 'm' | 's' | 'U')) => {
                    if !flags.contains(flag) {
                        flags.push(flag);
                    }
                    seen = true;
                }
                Some('-') if !negated => {
                    flags.push('-');
                    (negated, seen) = (true, false);
                }
                Some(end @ (':' | ')')) if !negated || seen => {
                    let is_group = end == ':';
                    if is_group {
                        return self.group(&format!("(?{flags}:"));
                    }
                    if !flags.is_empty() {
                        let _ = write!(self.out, "(?{flags})");
                    }
                    self.last = Last::Nothing;
                    return Ok(());
                }
                Some(_) | None => return Err(PERL),
            }
        }
    }

    fn escape(&mut self) -> Result<(), &'static str> {
        match self.rest.as_slice() {
            [] => return Err(BACKSLASH),
            ['Q', ..] => {
                self.rest.next();
                self.quoted();
                return Ok(());
            }
            // In parentheses, because `\b{` is an operator of `regex`.
            [kind @ ('b' | 'B'), ..] => {
                let text = format!("(?:\\{kind})");
                self.atom(&text);
            }
            [kind @ ('A' | 'z' | 'd' | 'D' | 's' | 'S' | 'w' | 'W'), ..] => {
                let text = format!("\\{kind}");
                self.atom(&text);
            }
            ['p' | 'P', ..] => {
                let class = self.unicode_class()?;
                self.atom(&class);
                return Ok(());
            }
            _ => {
                let char = self.escaped_char()?;
                self.literal(char);
                return Ok(());
            }
        }
        self.rest.next();
        Ok(())
    }

    /// Behind `\Q`: literals up to `\E` or the end.
    fn quoted(&mut self) {
        while let Some(char) = self.rest.next() {
            if char == '\\' && self.take_if('E') {
                return;
            }
            self.literal(char);
        }
    }

    /// `pN`, `p{Name}` and `p{^Name}`, behind the backslash.
    fn unicode_class(&mut self) -> Result<String, &'static str> {
        let mut negated = self.rest.next() == Some('P');
        let name: String = match self.rest.next() {
            Some('{') => {
                let end = self.rest.as_slice().iter().position(|it| *it == '}').ok_or(CLASS)?;
                let name = self.rest.as_slice().iter().take(end).collect();
                self.rest.nth(end);
                name
            }
            Some(letter) => letter.to_string(),
            None => return Err(CLASS),
        };
        let bare = name.strip_prefix('^');
        negated ^= bare.is_some();
        let name = bare.unwrap_or(&name);
        if !is_unicode_class(name) {
            return Err(CLASS);
        }
        // Two that `regex` lacks: half characters, and those without a script. No topic name has them.
        if matches!(name, "Cs" | "Unknown") {
            return Ok(if negated { "[\\s\\S]" } else { "[^\\s\\S]" }.to_owned());
        }
        Ok(format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' }))
    }

    /// One character, behind the backslash.
    fn escaped_char(&mut self) -> Result<char, &'static str> {
        let next = self.rest.next().ok_or(BACKSLASH)?;
        match next {
            // A single digit is a back-reference; with another octal digit it is a character.
            '1'..='7' if !matches!(self.peek(), Some('0'..='7')) => Err(ESCAPE),
            '0'..='7' => {
                let mut code = next.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.peek().and_then(|it| it.to_digit(8)) else { break };
                    code = code * 8 + digit;
                    self.rest.next();
                }
                char::from_u32(code).ok_or(ESCAPE)
            }
            'x' => self.hexadecimal(),
            'a' => Ok('\u{7}'),
            'f' => Ok('\u{c}'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\u{b}'),
            other if !other.is_ascii_alphanumeric() => Ok(other),
            _ => Err(ESCAPE),
        }
    }

    /// `hh` or `{h…}`, behind `\x`.
    fn hexadecimal(&mut self) -> Result<char, &'static str> {
        let is_braced = self.take_if('{');
        let digits: String = if is_braced {
            let end = self.rest.as_slice().iter().position(|it| *it == '}').ok_or(ESCAPE)?;
            let digits = self.rest.as_slice().iter().take(end).collect();
            self.rest.nth(end);
            digits
        } else {
            self.rest.by_ref().take(2).collect()
        };
        let is_long_enough = if is_braced { (1..=8).contains(&digits.len()) } else { digits.len() == 2 };
        if !is_long_enough || !digits.bytes().all(|it| it.is_ascii_hexdigit()) {
            return Err(ESCAPE);
        }
        u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).ok_or(ESCAPE)
    }

    /// Behind `[`. Characters are written as numbers: `&&`, `--` and `[` mean nothing to RE2 here.
    fn class(&mut self) -> Result<(), &'static str> {
        self.out.push('[');
        if self.take_if('^') {
            self.out.push('^');
        }
        let (mut first, mut any) = (true, false);
        while first || self.peek() != Some(']') {
            first = false;
            any |= self.class_item()?;
        }
        self.rest.next();
        if !any {
            return Err(CLASS);
        }
        self.atom("]");
        Ok(())
    }

    fn class_item(&mut self) -> Result<bool, &'static str> {
        match self.rest.as_slice() {
            [] => return Err(BRACKET),
            ['[', ':', rest @ ..] => {
                let end = rest.iter().zip(rest.iter().skip(1)).position(|it| it == (&':', &']'));
                if let Some(end) = end {
                    let name: String = rest.iter().take(end).collect();
                    self.rest.nth(end + 3);
                    let bare = name.strip_prefix('^').unwrap_or(&name);
                    if !POSIX.contains(&bare) {
                        return Err(CLASS);
                    }
                    let _ = write!(self.out, "[:{name}:]");
                    return Ok(true);
                }
            }
            ['\\', kind @ ('d' | 'D' | 's' | 'S' | 'w' | 'W'), ..] => {
                let _ = write!(self.out, "\\{kind}");
                self.rest.nth(1);
                return Ok(true);
            }
            ['\\', 'p' | 'P', ..] => {
                self.rest.next();
                let class = self.unicode_class()?;
                self.out.push_str(&class);
                return Ok(true);
            }
            _ => {}
        }
        let low = self.class_char()?;
        let is_range = matches!(self.rest.as_slice(), ['-', end, ..] if *end != ']');
        put_number(&mut self.out, low);
        if is_range {
            self.rest.next();
            let high = self.class_char()?;
            if high < low {
                return Err(CLASS);
            }
            self.out.push('-');
            put_number(&mut self.out, high);
        }
        Ok(true)
    }

    fn class_char(&mut self) -> Result<char, &'static str> {
        match self.rest.next() {
            None => Err(BRACKET),
            Some('\\') => self.escaped_char(),
            Some(other) => Ok(other),
        }
    }
}

/// Names in `[[:name:]]`.
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// General categories that `\p{..}` knows.
const CATEGORIES: &str = "C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm \
    So Z Zl Zp Zs";
/// Scripts that it knows, those of Unicode 6.0.
const SCRIPTS: &str = "Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille Buginese Buhid \
    Canadian_Aboriginal Carian Cham Cherokee Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari \
    Egyptian_Hieroglyphs Ethiopic Georgian Glagolitic Gothic Greek Gujarati Gurmukhi Han Hangul Hanunoo Hebrew \
    Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada \
    Katakana Kayah_Li Kharoshthi Khmer Lao Latin Lepcha Limbu Linear_B Lisu Lycian Lydian Malayalam Mandaic \
    Meetei_Mayek Mongolian Myanmar New_Tai_Lue Nko Ogham Ol_Chiki Old_Italic Old_Persian Old_South_Arabian \
    Old_Turkic Oriya Osmanya Phags_Pa Phoenician Rejang Runic Samaritan Saurashtra Shavian Sinhala Sundanese \
    Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Tamil Telugu Thaana Thai Tibetan Tifinagh \
    Ugaritic Unknown Vai Yi";

/// As it is written: `regex` would also take `greek` and `IsGreek`.
fn is_unicode_class(name: &str) -> bool {
    name == "Any" || CATEGORIES.split(' ').chain(SCRIPTS.split(' ')).any(|it| it == name)
}

fn put_char(out: &mut String, char: char) {
    match char.is_ascii_alphanumeric() {
        true => out.push(char),
        false => put_number(out, char),
    }
}

fn put_number(out: &mut String, char: char) {
    let _ = write!(out, "\\x{{{:x}}}", u32::from(char));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(regex: &str, topic: &str) -> bool {
        compile(regex).unwrap_or_else(|reason| panic!("{regex}: {reason}")).is_match(topic)
    }

    /// 13.5: the whole name must match, and nothing escapes the anchors.
    #[test]
    fn whole_names_match() {
        for (regex, yes, no) in [
            ("foo", "foo", "foobar"),
            ("foo*", "foooo", "foobar"),
            ("foo.*", "foobar", "afoobar"),
            ("a|b", "b", "ab"),
            ("^a$", "a", "aa"),
            ("", "", "a"),
            ("(?i)FOO", "foo", "fob"),
            ("(?i:F)oo", "foo", "fOO"),
            ("[a-c]+", "abc", "abd"),
            ("[^a-c]", "d", "a"),
            ("[]a]", "]", "b"),
            ("[a-]", "-", "b"),
            ("[a&&b]", "&", "c"),
            ("[+--]", ",", "a"),
            ("[[:alpha:]_]+", "ab_", "a1"),
            ("[[:^alpha:]]", "1", "a"),
            ("[a[b]", "[", "c"),
            ("\\Qa.b\\E.", "a.bc", "axbc"),
            ("\\Qa.b", "a.b", "axb"),
            ("\\Qab\\E*", "abbb", "abab"),
            ("\\x41\\x{42}\\103", "ABC", "abc"),
            ("a{2}", "aa", "a{2}"),
            ("a{,5}", "a{,5}", "aa"),
            ("a{", "a{", "a"),
            ("x{a}", "x{a}", "x"),
            ("a{2,}?b", "aaab", "ab"),
            ("(?P<n>a)(?<m>b)", "ab", "a"),
            ("\\d\\D\\w", "1xy", "x1y"),
            ("\\pN\\p{L}\\p{^N}", "1ab", "ab1"),
            ("a\\.b", "a.b", "axb"),
            ("a\\b{1}", "a", "b"),
            ("()", "", "x"),
            ("(?)a", "a", "b"),
            ("\\<a\\>", "<a>", "a"),
            ("\\ü", "ü", "u"),
            ("\\p{Any}", "a", "ab"),
            ("\\p{Latin}\\p{Common}", "a1", "1a"),
            ("[--a]", "A", "b"),
            ("[]-a]", "^", "b"),
            ("[a-z-9]+", "b-9", "8"),
            ("[\\pL-]", "-", "1"),
            ("(?i)(?-i)a", "a", "A"),
            ("(?s-im:a)b", "ab", "AB"),
            ("\\Qab\\E{2}", "abb", "abab"),
            ("a\\Q*\\E*", "a**", "aa"),
            ("a{0}", "", "a"),
            ("a{01}", "a", "aa"),
            ("|a", "", "b"),
        ] {
            assert!(matches(regex, yes), "{regex} does not match {yes}");
            assert!(!matches(regex, no), "{regex} matches {no}");
        }
    }

    #[test]
    fn refusals_have_the_words_of_re2() {
        for (regex, reason) in [
            ("[", BRACKET),
            ("[a", BRACKET),
            ("[]", BRACKET),
            ("(", PAREN),
            (")", NO_PAREN),
            ("a)|(b", NO_PAREN),
            ("*", NO_ARGUMENT),
            ("a|+", NO_ARGUMENT),
            ("a**", NESTED),
            ("a++", NESTED),
            ("a{2}{3}", NESTED),
            ("a{2,1}", COUNT),
            ("a{1001}", COUNT),
            ("\\q", ESCAPE),
            ("\\1", ESCAPE),
            ("\\8", ESCAPE),
            ("\\Z", ESCAPE),
            ("\\xg1", ESCAPE),
            ("[b-a]", CLASS),
            ("[[:nope:]]", CLASS),
            ("\\p{Nope}", CLASS),
            ("(?=a)", PERL),
            ("(?<=a)", PERL),
            ("(?<!a)", PERL),
            ("(?>a)", PERL),
            ("(?x)a", PERL),
            ("(?i-)a", PERL),
            ("(?P<1-2>a)", NAME),
            ("(?P<a>x)(?P<a>y)", NAME_TWICE),
            ("(?<a>x)(?P<a>y)", NAME_TWICE),
            ("(?P<ü>a)", NAME),
            ("(?P<n", NAME),
            ("(?P=n)", PERL),
            ("(?#c)", PERL),
            ("(?", PERL),
            ("\\x4", ESCAPE),
            ("\\x", ESCAPE),
            ("\\x{}", ESCAPE),
            ("\\x{110000}", ESCAPE),
            ("\\18", ESCAPE),
            ("\\u0041", ESCAPE),
            ("[\\b]", ESCAPE),
            ("[a-\\d]", ESCAPE),
            ("[a-\\pL]", ESCAPE),
            ("[a--]", CLASS),
            ("[z-[:alpha:]]", CLASS),
            ("\\p{greek}", CLASS),
            ("\\p{IsGreek}", CLASS),
            ("\\p{LC}", CLASS),
            ("\\p{Script=Greek}", CLASS),
            ("\\pA", CLASS),
            ("\\p^L", CLASS),
            ("\\p", CLASS),
            ("\\p{", CLASS),
            ("a\\", BACKSLASH),
            ("((((a{1000}){1000}){1000}){1000})", TOO_LARGE),
        ] {
            assert_eq!(compile(regex).err(), Some(reason), "{regex}");
        }
        assert_eq!(compile(&"a".repeat(LENGTH_MAX + 1)).err(), Some(TOO_LARGE));
    }

    /// Each class by its name, which `regex` must know too.
    #[test]
    fn unicode_classes_are_those_of_re2() {
        for name in CATEGORIES.split_whitespace().chain(SCRIPTS.split_whitespace()) {
            assert!(compile(&format!("\\p{{{name}}}[\\P{{^{name}}}]")).is_ok(), "{name}");
        }
        assert_eq!((CATEGORIES.split(' ').count(), SCRIPTS.split(' ').count()), (36, 96));
    }

    /// As deep as may be in each form, on a stack as the shards have it, and deeper.
    #[test]
    fn depth_is_bounded() {
        let nested =
            |open: &str, close: &str, levels: usize| open.repeat(levels) + "x" + &close.repeat(levels);
        for (open, close, most) in [("(", ")", 240), ("(?:", ")*", 120), ("(a|b", ")*c", 60)] {
            assert!(compile(&nested(open, close, most)).is_ok(), "{open} {most}");
            for levels in [most + 10, 1_000, LENGTH_MAX / 7] {
                assert_eq!(compile(&nested(open, close, levels)).err(), Some(TOO_LARGE), "{open} {levels}");
            }
        }
    }

    /// What makes engines hang that go back and forth, or makes them ask for all memory. The time is far from
    /// what a healthy engine needs, and far below what a broken one does.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "it is about time that passes")]
    fn hostile_expressions_end() {
        let (begin, name) = (std::time::Instant::now(), format!("{}b", "a".repeat(248)));
        for (regex, is_small) in [
            ("(a+)+", true),
            ("(a*)*c", true),
            ("(a|aa)+c", true),
            ("(a|a?)+c", true),
            ("(.*)(.*)(.*)(.*)(.*)(.*)(.*)c", true),
            ("([a-z]+)*c", true),
            ("(a?){250}a{250}", true),
            (".{1000}.{1000}", true),
            ("((a{100}){100}){100}", false),
            ("(a{0,1000}){1000}", false),
            ("((((((a{9}){9}){9}){9}){9}){9}){9}", false),
            ("(\\pL{1000}){1000}", false),
            ("(?i)(\\w{1000}){100}", false),
        ] {
            match compile(regex) {
                Ok(compiled) => assert!(is_small && !compiled.is_match(&name), "{regex}"),
                Err(reason) => assert!(!is_small && reason == TOO_LARGE, "{regex}: {reason}"),
            }
        }
        let long: String = "(a|".repeat(80) + &"b*c?|".repeat(3_000) + &")".repeat(80);
        assert!(compile(&long).is_ok_and(|it| !it.is_match(&name)));
        assert!(begin.elapsed() < std::time::Duration::from_secs(20));
    }
}
