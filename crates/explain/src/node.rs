//! The tree: nodes over bytes, and what is wrong with them (wire.md 18.5 and 19).

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use wire::Uuid;
use wire::table::Message;

use crate::Api;

/// What the bytes were explained as.
#[derive(Debug, Clone)]
pub struct Explained {
    pub what: What,
    /// The API of a frame; none if its key is unknown.
    pub api: Option<Api>,
    /// The message of the body.
    pub message: Option<&'static Message>,
    pub version: Option<i16>,
    pub header_version: Option<i16>,
    pub mode: Mode,
    pub bytes: Bytes,
    /// Ranges of `bytes` that no output shows, ascending.
    pub hidden: Vec<Range<usize>>,
    pub root: Node,
}

/// Kinds of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A frame with its size.
    Frame(Direction),
    /// A message without frame and header.
    Body,
    /// Key of a record of an internal topic.
    RecordKey,
    /// Value of a record of an internal topic.
    RecordValue,
    /// Record batches.
    Records,
}

/// Who sent a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Request,
    Response,
}

/// Where the bytes come from (wire.md 17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Built: nothing null, one element per array.
    Sample,
    /// Built: null or empty wherever that is legal.
    Minimal,
    /// Captured.
    #[default]
    Decode,
}

/// A piece of the bytes: a field, a length, a struct, a header.
#[derive(Debug, Clone)]
pub struct Node {
    /// `Groups[0].Members[0].MemberId`, `Header.client_id`, `Frame.size`, `Groups[0].#1`.
    pub path: String,
    pub name: Cow<'static, str>,
    /// The type in words; empty where the name says it.
    pub ty: Cow<'static, str>,
    pub value: Value,
    /// What stands in parentheses behind the value.
    pub note: Cow<'static, str>,
    /// In the frame; in the inflated block if `inflated`.
    pub offset: usize,
    pub length: usize,
    /// The bytes exist only after decompression.
    pub inflated: bool,
    pub category: Category,
    pub description: Cow<'static, str>,
    pub diagnostics: Vec<Diagnostic>,
    pub children: Vec<Self>,
}

/// What a node's bytes say.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A group of nodes without a value of its own.
    None,
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Uuid(Uuid),
    /// A string; UTF-8 unless a diagnostic says otherwise.
    Text(Bytes),
    Bytes(Bytes),
    /// Bytes of a user, shown as text where they are printable.
    Data(Bytes),
    /// Bytes whose parts are the children.
    Whole(Bytes),
    /// A secret of so many bytes.
    Hidden(usize),
    Struct,
    /// An array of so many elements.
    Elements(usize),
}

/// What a byte belongs to (wire.md 19.1); the innermost wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    Frame,
    RpcHeader,
    RequestBody,
    ResponseBody,
    RecordBatch,
    Record,
    TaggedFields,
    Undecoded,
}

/// Something worth knowing about bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub id: Id,
    pub severity: Severity,
    pub path: String,
    pub offset: usize,
    /// The offset counts within an inflated block.
    pub inflated: bool,
    /// What was found, with its value.
    pub found: String,
}

/// How bad it is. Ordered: an error is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Note,
    /// Kafka accepts it, a strict peer may not.
    Warning,
    /// Nobody accepts it.
    Error,
}

macro_rules! ids {
    ($($name:ident $text:literal $severity:ident $rule:literal;)*) => {
        /// Kinds of diagnostics (wire.md 18.5).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Id {
            $(#[doc = $rule] $name,)*
        }

        impl Id {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// `E-LEN` and the like.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// How bad it is when nobody is strict.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)*
                }
            }

            /// The rule that the bytes break.
            #[must_use]
            pub const fn rule(self) -> &'static str {
                match self {
                    $(Self::$name => $rule,)*
                }
            }
        }
    };
}

ids! {
    Length "E-LEN" Error "a length or count fits into the bytes that remain";
    Null "E-NULL" Error "only a field that the version allows it for is null";
    Negative "E-NEG" Error "a length below -1 does not exist";
    Varint "E-VARINT" Error "a varint has at most 5 bytes for 32 bits and 10 for 64";
    TagVersion "E-TAG-VERSION" Error "a known tag stands only in the versions that have it";
    Crc "E-CRC" Error "the checksum is that of the bytes behind it";
    Magic "E-MAGIC" Error "the magic of records is 0, 1 or 2";
    Version "E-VERSION" Error "a message has only the versions of its schema";
    Api "E-API" Error "an API key is one that is known";
    Short "E-SHORT" Error "a value has all its bytes";
    Content "E-CONTENT" Error "content inside other content is what its place says";
    LongVarint "W-VARINT" Warning "a varint is written in as few bytes as it needs";
    TagOrder "W-TAG-ORDER" Warning "tags ascend";
    TagTwice "W-TAG-DUP" Warning "a tag stands once in a struct";
    TagSize "W-TAG-SIZE" Warning "a tagged field takes exactly its size";
    TagDefault "W-TAG-DEFAULT" Warning "a tagged field with its default is left out";
    Utf8 "W-UTF8" Warning "a string is UTF-8";
    Bool "W-BOOL" Warning "a bool is 0 or 1";
    Presence "W-PRESENCE" Warning "the byte before a nullable struct is -1 or 1";
    Trailing "W-TRAILING" Warning "a message ends with its last field";
    UnknownTag "N-UNKNOWN-TAG" Note "an unknown tag is kept as raw bytes";
    PartialBatch "N-PARTIAL-BATCH" Note "the last batch of a fetch may be cut off";
    Assumed "N-ASSUMED" Note "what the bytes do not say was guessed";
}

impl Explained {
    /// Whether compact lengths and tag sections are in use.
    #[must_use]
    pub fn is_flexible(&self) -> bool {
        self.message.zip(self.version).is_some_and(|(message, version)| message.flexible.contains(version))
    }

    /// All diagnostics in the order of the bytes.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<&Diagnostic> {
        let mut out = Vec::new();
        self.root.each(&mut |node| out.extend(&node.diagnostics));
        out
    }

    /// Whether anything is wrong enough for exit code 1.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics().iter().any(|it| it.severity == Severity::Error)
    }

    /// Nodes from the root to the leaf that holds the byte; empty beyond the end (19, invariant 5).
    #[must_use]
    pub fn at(&self, offset: usize) -> Vec<&Node> {
        let mut chain = Vec::new();
        let mut next = self.root.holds(offset).then_some(&self.root);
        while let Some(node) = next {
            chain.push(node);
            next = node.children.iter().find(|it| it.holds(offset));
        }
        chain
    }

    /// Nodes from the root to the one with this path; empty if there is none. Case matters only between several.
    #[must_use]
    pub fn find(&self, path: &str) -> Vec<&Node> {
        let mut chain = Vec::new();
        if !self.root.search(&|it| it == path, &mut chain) {
            self.root.search(&|it| it.eq_ignore_ascii_case(path), &mut chain);
        }
        chain
    }

    /// Error codes other than 0 with the paths of their fields.
    #[must_use]
    pub fn error_codes(&self) -> Vec<(&str, i16)> {
        let mut out = Vec::new();
        self.root.each(&mut |node| {
            if let Value::Int(code) = node.value
                && code != 0
                && node.ty == "int16"
                && node.name.ends_with("ErrorCode")
            {
                out.extend(i16::try_from(code).ok().map(|code| (node.path.as_str(), code)));
            }
        });
        out
    }
}

impl Node {
    /// Calls for the node and all below it, in the order of the bytes.
    pub fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        self.children.iter().for_each(|it| it.each(visit));
    }

    /// The nodes that divide the bytes among themselves: those without children on the wire.
    #[must_use]
    pub fn leaves(&self) -> Vec<&Self> {
        let mut out = Vec::new();
        self.each(&mut |node| {
            if !node.inflated && node.children.iter().all(|it| it.inflated) {
                out.push(node);
            }
        });
        out
    }

    fn holds(&self, offset: usize) -> bool {
        !self.inflated && self.offset <= offset && offset - self.offset < self.length
    }

    fn search<'a>(&'a self, wanted: &dyn Fn(&str) -> bool, chain: &mut Vec<&'a Self>) -> bool {
        chain.push(self);
        let found = wanted(&self.path) || self.children.iter().any(|it| it.search(wanted, chain));
        if !found {
            chain.pop();
        }
        found
    }
}

impl Category {
    /// All that the legend names, in its order (20.5).
    pub const LEGEND: [Self; 7] = [
        Self::Frame,
        Self::RpcHeader,
        Self::RequestBody,
        Self::RecordBatch,
        Self::Record,
        Self::ResponseBody,
        Self::TaggedFields,
    ];

    /// The name in legends and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::RpcHeader => "rpc header",
            Self::RequestBody => "request body",
            Self::ResponseBody => "response body",
            Self::RecordBatch => "RecordBatch",
            Self::Record => "Record",
            Self::TaggedFields => "tagged_fields",
            Self::Undecoded => "undecoded",
        }
    }

    /// The letter in the second block of a byte layout (20.4).
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Frame => 'F',
            Self::RpcHeader => 'H',
            Self::RequestBody => 'Q',
            Self::ResponseBody => 'R',
            Self::RecordBatch => 'B',
            Self::Record => 'C',
            Self::TaggedFields => 'T',
            Self::Undecoded => '?',
        }
    }
}

impl Direction {
    /// The word in JSON and in names.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

impl Mode {
    /// The word in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Minimal => "minimal",
            Self::Decode => "decode",
        }
    }
}

impl Severity {
    /// The word in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, tilde) = (self.id.as_str(), if self.inflated { "~" } else { "" });
        write!(f, "{} {id}", self.severity.as_str())?;
        if !self.path.is_empty() {
            write!(f, " {}", self.path)?;
        }
        write!(f, " at {tilde}0x{:04x}: {} (rule: {})", self.offset, self.found, self.id.rule())
    }
}
