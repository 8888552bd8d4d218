//! What a schema says, after parsing: messages, structs and fields; error codes, enumerations, features.

use crate::versions::Versions;

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    Request,
    Response,
    Header,
    Data,
    Key,
    Value,
}

/// One message: a request, a response, a header, a record's key or value, or data inside other data.
#[derive(Debug, Clone)]
pub struct Message {
    pub kind: MessageKind,
    pub name: String,
    /// The API key, or for keys and values the record type.
    pub id: Option<i16>,
    pub versions: Versions,
    pub flexible: Versions,
    pub listeners: Vec<String>,
    /// The version that is neither advertised nor accepted unless asked for.
    pub unstable: Option<i16>,
    pub deprecated: Versions,
    pub doc: String,
    pub fields: Vec<Field>,
    /// All nested structs, in the order of their definition, none inside another.
    pub structs: Vec<Struct>,
    pub line: usize,
}

/// A nested struct. Its name is local to the message.
#[derive(Debug, Clone)]
pub struct Struct {
    pub name: String,
    /// The versions in which it can occur, cut to those of what encloses it.
    pub versions: Versions,
    pub fields: Vec<Field>,
    pub line: usize,
}

#[derive(Debug, Clone)]
pub struct Field {
    pub name: String,
    pub array: bool,
    pub ty: Type,
    /// Where the field exists, as written.
    pub versions: Versions,
    pub nullable: Versions,
    pub tag: Option<Tag>,
    pub default: Default,
    pub ignorable: bool,
    pub map_key: bool,
    pub entity: Option<String>,
    /// False for the one field that keeps the old length form in a flexible message.
    pub flexible: bool,
    pub doc: String,
    pub line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    pub number: u32,
    pub versions: Versions,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    Bool,
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Float64,
    Uuid,
    String,
    Bytes,
    Records,
    Struct(String),
}

/// The value of a field that nobody set.
#[derive(Debug, Clone, PartialEq)]
pub enum Default {
    /// Zero, false, empty; null for records.
    OfType,
    Null,
    Bool(bool),
    Int(i64),
    String(String),
}

/// One line of `errors.wire`.
#[derive(Debug, Clone)]
pub struct ErrorLine {
    pub code: i16,
    pub name: String,
    pub retriable: bool,
    pub doc: String,
}

/// A block of `enums.wire`.
#[derive(Debug, Clone)]
pub struct Enum {
    pub name: String,
    pub values: Vec<EnumValue>,
}

#[derive(Debug, Clone)]
pub struct EnumValue {
    pub name: String,
    /// The value as written: a number, `true`, or text.
    pub value: Literal,
    /// `int8` and the like.
    pub ty: Type,
    /// What stands for the number in text.
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Bool(bool),
    Int(i64),
    String(String),
}

/// A feature and its levels.
#[derive(Debug, Clone)]
pub struct Feature {
    pub name: String,
    pub min: i16,
    pub latest: i16,
    pub levels: Vec<FeatureLevel>,
}

#[derive(Debug, Clone)]
pub struct FeatureLevel {
    pub level: i16,
    pub name: String,
    /// Set for `metadata.version`: the release name (`4.4-IV2`).
    pub release: Option<String>,
    /// The metadata version that has this level at the first start.
    pub bootstrap_metadata: Option<i16>,
    /// The metadata version that this level needs.
    pub needs_metadata: Option<i16>,
}

impl Message {
    /// The struct of that name, if the message defines one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Struct> {
        self.structs.iter().find(|it| it.name == name)
    }
}

impl Type {
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "bool" => Self::Bool,
            "int8" => Self::Int8,
            "int16" => Self::Int16,
            "uint16" => Self::Uint16,
            "int32" => Self::Int32,
            "uint32" => Self::Uint32,
            "int64" => Self::Int64,
            "float64" => Self::Float64,
            "uuid" => Self::Uuid,
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "records" => Self::Records,
            name if name.starts_with(|c: char| c.is_ascii_uppercase()) => Self::Struct(name.to_owned()),
            _ => return None,
        })
    }

    /// The bytes of a value whose size never changes.
    #[must_use]
    pub const fn fixed_size(&self) -> Option<usize> {
        match self {
            Self::Bool | Self::Int8 => Some(1),
            Self::Int16 | Self::Uint16 => Some(2),
            Self::Int32 | Self::Uint32 => Some(4),
            Self::Int64 | Self::Float64 => Some(8),
            Self::Uuid => Some(16),
            Self::String | Self::Bytes | Self::Records | Self::Struct(_) => None,
        }
    }

    /// The range of an integer type.
    #[must_use]
    pub const fn int_range(&self) -> Option<(i64, i64)> {
        match self {
            Self::Int8 => Some((i8::MIN as i64, i8::MAX as i64)),
            Self::Int16 => Some((i16::MIN as i64, i16::MAX as i64)),
            Self::Uint16 => Some((0, u16::MAX as i64)),
            Self::Int32 => Some((i32::MIN as i64, i32::MAX as i64)),
            Self::Uint32 => Some((0, u32::MAX as i64)),
            Self::Int64 => Some((i64::MIN, i64::MAX)),
            Self::Bool
            | Self::Float64
            | Self::Uuid
            | Self::String
            | Self::Bytes
            | Self::Records
            | Self::Struct(_) => None,
        }
    }
}

impl Field {
    /// An int16 field whose name says that it is an error code gets the type `ErrorCode`.
    #[must_use]
    pub fn is_error_code(&self) -> bool {
        self.ty == Type::Int16 && !self.array && self.name.ends_with("ErrorCode")
    }

    /// The brokers of a partition get the type `BrokerIds`: they are few, and listed for every partition.
    #[must_use]
    pub fn is_broker_ids(&self) -> bool {
        self.array && self.ty == Type::Int32 && self.entity.as_deref() == Some("brokerId")
    }

    #[must_use]
    pub fn is_nullable(&self) -> bool {
        !self.nullable.is_empty() || self.ty == Type::Records
    }
}
