//! The cursor over the bytes, and the tree that grows while it moves.
//!
//! It reads what Kafka reads, which is more than is right: what is odd but readable becomes a warning at its node, and
//! only what can't be read stops. A failed read leaves the cursor where the refused value begins.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use bytes::Bytes;
use wire::table::{Message, Struct};

use crate::embed::Context;
use crate::node::{Category, Diagnostic, Id, Mode, Node, Severity, Value};
use crate::{Lookup, Options};

/// Nodes of one tree. What comes after them is one node "not shown" per struct, and its bytes are still checked.
const NODES_MAX: usize = 500_000;

/// Diagnostics of one kind in a tree. How many more there are is told at the root.
const DIAGNOSTICS_MAX: usize = 1_000;

/// Bytes that all batches of one call may inflate to.
pub(crate) const INFLATED_MAX: usize = 64 << 20;

/// The first diagnostic with which reading can't go on.
pub(crate) type Stop = Box<Diagnostic>;
pub(crate) type Step<T> = Result<T, Stop>;
type Text = Cow<'static, str>;

pub(crate) struct Scan<'a> {
    pub(crate) options: &'a Options,
    pub(crate) mode: Mode,
    pub(crate) bytes: Bytes,
    pub(crate) at: usize,
    /// Where the region ends that is read now.
    pub(crate) end: usize,
    /// The bytes are an inflated block.
    pub(crate) inflated: bool,
    /// Bytes that may still be inflated.
    pub(crate) inflate_left: usize,
    pub(crate) category: Category,
    /// Path of the node that is read now.
    pub(crate) path: String,
    /// The message that is read now, its version, and the struct in it.
    pub(crate) message: Option<&'static Message>,
    pub(crate) structure: Option<&'static Struct>,
    pub(crate) version: i16,
    pub(crate) flexible: bool,
    pub(crate) context: Context,
    /// Messages inside of messages.
    pub(crate) depth: usize,
    /// The frame is incomplete, which was said at its size.
    pub(crate) cut_off: bool,
    /// Where the header that was read last begins.
    pub(crate) header_at: usize,
    /// Only warnings and errors are wanted, no nodes.
    pub(crate) quiet: bool,
    pub(crate) hidden: Vec<Range<usize>>,
    /// Warnings and worse seen so far.
    pub(crate) troubles: usize,
    open: Vec<Node>,
    /// Opened after the last node that the tree may have.
    ghosts: usize,
    nodes: usize,
    pending: Vec<Diagnostic>,
    /// Diagnostics by kind, listed or not.
    told: [usize; Id::ALL.len()],
}

impl<'a> Scan<'a> {
    pub(crate) fn new(bytes: &Bytes, options: &'a Options) -> Self {
        Self {
            options,
            mode: Mode::Decode,
            bytes: bytes.clone(),
            at: 0,
            end: bytes.len(),
            inflated: false,
            inflate_left: INFLATED_MAX,
            category: Category::Undecoded,
            path: String::new(),
            message: None,
            structure: None,
            version: 0,
            flexible: false,
            context: Context::new(options.topic.clone()),
            depth: 0,
            cut_off: false,
            header_at: 0,
            quiet: false,
            hidden: Vec::new(),
            troubles: 0,
            open: Vec::new(),
            ghosts: 0,
            nodes: 0,
            pending: Vec::new(),
            told: [0; Id::ALL.len()],
        }
    }

    pub(crate) fn lookup(&self) -> Lookup {
        Lookup::of(self.options)
    }

    /// The finished tree.
    pub(crate) fn finish(mut self) -> (Node, Vec<Range<usize>>) {
        while self.open.len() > 1 {
            self.close(Value::None, "");
        }
        let mut root = self.open.pop().unwrap_or_else(|| self.node(0, "", "", Value::None));
        root.length = self.at.saturating_sub(root.offset);
        root.diagnostics.append(&mut self.pending);
        self.path.clear();
        for (id, told) in Id::ALL.iter().zip(self.told).filter(|it| it.1 > DIAGNOSTICS_MAX) {
            let found = format!("{} more of this kind are not listed", told - DIAGNOSTICS_MAX);
            root.diagnostics.push(self.diagnostic(*id, 0, found));
        }
        (root, self.hidden)
    }

    // Nodes.

    fn node(&self, offset: usize, name: impl Into<Text>, ty: impl Into<Text>, value: Value) -> Node {
        Node {
            path: self.path.clone(),
            name: name.into(),
            ty: ty.into(),
            value,
            note: Cow::Borrowed(""),
            offset,
            length: self.at.saturating_sub(offset),
            inflated: self.inflated,
            category: self.category,
            description: Cow::Borrowed(""),
            diagnostics: Vec::new(),
            children: Vec::new(),
        }
    }

    /// Begins a node; what follows until `close` is its children.
    pub(crate) fn open(&mut self, name: impl Into<Text>, ty: impl Into<Text>, description: impl Into<Text>) {
        if self.quiet {
            return;
        }
        if self.ghosts > 0 || self.nodes >= NODES_MAX {
            self.ghosts += 1;
            return;
        }
        self.nodes += 1;
        let mut node = self.node(self.at, name, ty, Value::None);
        node.description = description.into();
        self.open.push(node);
    }

    /// Ends the innermost node. One without bytes is dropped, but for a body without fields (19, invariant 3).
    pub(crate) fn close(&mut self, value: Value, note: impl Into<Text>) {
        self.close_node(value, note.into(), true);
    }

    fn close_node(&mut self, value: Value, note: Text, whole: bool) {
        if self.quiet {
            return;
        }
        if self.ghosts > 0 {
            self.ghosts -= 1;
            return;
        }
        let Some(mut node) = self.open.pop() else { return };
        node.length = self.at.saturating_sub(node.offset);
        node.value = value;
        node.note = note;
        let Some(parent) = self.open.last_mut() else {
            self.open.push(node);
            return;
        };
        if node.length > 0 || (whole && node.ty == "struct") {
            node.diagnostics.append(&mut self.pending);
            parent.children.push(node);
        } else {
            parent.diagnostics.append(&mut node.diagnostics);
        }
    }

    /// A node without children over the bytes from `start` on.
    pub(crate) fn leaf(
        &mut self,
        start: usize,
        name: impl Into<Text>,
        ty: impl Into<Text>,
        value: Value,
        note: impl Into<Text>,
        description: impl Into<Text>,
    ) {
        if self.quiet {
            return;
        }
        if self.ghosts > 0 || self.nodes >= NODES_MAX {
            self.not_shown(start);
            return;
        }
        self.nodes += 1;
        let mut node = self.node(start, name, ty, value);
        node.note = note.into();
        node.description = description.into();
        node.diagnostics = std::mem::take(&mut self.pending);
        if let Some(parent) = self.open.last_mut() {
            parent.children.push(node);
        }
    }

    /// Bytes beyond the limit of nodes: one node that grows.
    fn not_shown(&mut self, start: usize) {
        const NAME: &str = "not shown";
        let node = self.node(start, NAME, "bytes", Value::None);
        let (at, inflated) = (self.at, self.inflated);
        let Some(parent) = self.open.last_mut() else { return };
        match parent.children.last_mut() {
            Some(last) if last.name == NAME && last.inflated == inflated => {
                last.length = at.saturating_sub(last.offset);
                last.diagnostics.append(&mut self.pending);
            }
            Some(_) | None => parent.children.push(node),
        }
    }

    /// The node that was finished last in the open one.
    pub(crate) fn last(&self) -> Option<&Node> {
        self.open.last().and_then(|it| it.children.last())
    }

    pub(crate) fn opened(&self) -> usize {
        self.open.len() + self.ghosts
    }

    /// Closes what was opened since `opened` had this value.
    pub(crate) fn close_to(&mut self, opened: usize) {
        while self.opened() > opened && !self.quiet {
            let value = match self.open.last() {
                Some(it) if it.ty.starts_with("[]") => {
                    Value::Elements(it.children.iter().filter(|it| it.path.ends_with(']')).count())
                }
                Some(it) if it.ty.starts_with(|letter: char| letter.is_ascii_uppercase()) => Value::Struct,
                Some(_) | None => Value::None,
            };
            self.close_node(value, Cow::Borrowed(""), false);
        }
    }

    // Paths.

    /// Goes into a field; give the result to `leave`.
    pub(crate) fn enter(&mut self, name: &str) -> usize {
        let before = self.path.len();
        if before > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        before
    }

    pub(crate) fn enter_index(&mut self, index: usize) -> usize {
        let before = self.path.len();
        let _ = write!(self.path, "[{index}]");
        before
    }

    pub(crate) fn leave(&mut self, before: usize) {
        self.path.truncate(before);
    }

    // Diagnostics.

    pub(crate) fn diagnostic(&self, id: Id, offset: usize, found: impl Into<String>) -> Diagnostic {
        let severity = match id.severity() {
            Severity::Warning if self.options.strict => Severity::Error,
            it @ (Severity::Note | Severity::Warning | Severity::Error) => it,
        };
        let (path, inflated) = (self.path.clone(), self.inflated);
        Diagnostic { id, severity, path, offset, inflated, found: found.into() }
    }

    /// Something odd; it goes to the next node that is finished.
    pub(crate) fn remark(&mut self, id: Id, offset: usize, found: impl Into<String>) {
        self.troubles += usize::from(id.severity() > Severity::Note);
        if !self.quiet && self.is_listed(id) {
            let diagnostic = self.diagnostic(id, offset, found);
            self.pending.push(diagnostic);
        }
    }

    /// Counts a diagnostic; whether it is one of the first of its kind.
    fn is_listed(&mut self, id: Id) -> bool {
        self.told.get_mut(id as usize).is_some_and(|it| {
            *it += 1;
            *it <= DIAGNOSTICS_MAX
        })
    }

    /// Gives what was remarked since to the node that was finished last.
    pub(crate) fn settle(&mut self) {
        let last = self.open.last_mut().and_then(|it| it.children.last_mut());
        if let Some(last) = last {
            last.diagnostics.append(&mut self.pending);
        }
    }

    pub(crate) fn stop<T>(&self, id: Id, offset: usize, found: impl Into<String>) -> Step<T> {
        Err(Box::new(self.diagnostic(id, offset, found)))
    }

    // Bytes.

    pub(crate) fn remaining(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    /// The bytes of a range of what is read now.
    pub(crate) fn slice(&self, range: Range<usize>) -> Bytes {
        let end = range.end.min(self.bytes.len());
        self.bytes.slice(range.start.min(end)..end)
    }

    pub(crate) fn peek<const N: usize>(&self, ahead: usize) -> Option<[u8; N]> {
        let region = self.bytes.get(self.at..self.end)?;
        region.get(ahead..).and_then(<[u8]>::first_chunk).copied()
    }

    pub(crate) fn take<const N: usize>(&mut self) -> Step<[u8; N]> {
        let Some(found) = self.peek::<N>(0) else {
            let left = self.remaining();
            return self.stop(Id::Short, self.at, format!("{N} bytes are needed, {left} remain"));
        };
        self.at += N;
        Ok(found)
    }

    pub(crate) fn i8(&mut self) -> Step<i8> {
        self.take().map(i8::from_be_bytes)
    }

    pub(crate) fn i16(&mut self) -> Step<i16> {
        self.take().map(i16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Step<i32> {
        self.take().map(i32::from_be_bytes)
    }

    pub(crate) fn i64(&mut self) -> Step<i64> {
        self.take().map(i64::from_be_bytes)
    }

    /// Base 128, least significant group first (wire.md 5).
    fn base128(&mut self, bits: u32) -> Step<u64> {
        let start = self.at;
        let mut value = 0u128;
        for (i, shift) in (0..bits).step_by(7).enumerate() {
            let Some([byte]) = self.peek::<1>(i) else {
                return self.stop(Id::Short, start, format!("a varint ends after {i} bytes"));
            };
            value |= u128::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                self.at += i + 1;
                if i > 0 && byte == 0 {
                    self.remark(Id::LongVarint, start, format!("{value} in {} bytes", i + 1));
                }
                if value >> bits != 0 {
                    self.at = start;
                    return self.stop(Id::Varint, start, format!("{value} has more than {bits} bits"));
                }
                return Ok(u64::try_from(value).unwrap_or(u64::MAX));
            }
        }
        self.stop(Id::Varint, start, format!("more than {} bytes", bits.div_ceil(7)))
    }

    pub(crate) fn uvarint(&mut self) -> Step<u32> {
        self.base128(32).map(|it| u32::try_from(it).unwrap_or(u32::MAX))
    }

    /// Zig-zag of 32 or 64 bits.
    pub(crate) fn varint(&mut self, bits: u32) -> Step<i64> {
        self.base128(bits).map(|it| (it >> 1).cast_signed() ^ -(it & 1).cast_signed())
    }

    // Regions.

    /// Reads up to `end` and no further. What can't be read becomes one node with the diagnostic, what is left one
    /// with a warning; so reading goes on behind the region whatever is in it. False if it could not be read.
    pub(crate) fn region(&mut self, end: usize, read: impl FnOnce(&mut Self) -> Step<()>) -> bool {
        let (outer, opened, path) = (self.end, self.opened(), self.path.len());
        let around = (self.message, self.structure, self.version, self.flexible, self.category);
        self.end = end.min(outer);
        let result = read(self);
        let read = result.is_ok();
        if let Err(diagnostic) = result {
            self.close_to(opened);
            self.leave(path);
            self.undecoded(*diagnostic);
        } else if self.at < self.end {
            let left = self.end - self.at;
            self.remark(Id::Trailing, self.at, format!("{left} bytes after the end of the message"));
            self.rest("trailing");
        }
        self.end = outer;
        (self.message, self.structure, self.version, self.flexible, self.category) = around;
        read
    }

    /// The rest of the region as raw bytes.
    pub(crate) fn rest(&mut self, name: &'static str) {
        let (start, end) = (self.at, self.end);
        let value = Value::Bytes(self.advance(end - start));
        let value = self.conceal_unknown(value);
        let before = self.enter(name);
        self.leaf(start, name, "bytes", value, "", "");
        self.leave(before);
    }

    /// The rest of the region, which could not be read.
    fn undecoded(&mut self, diagnostic: Diagnostic) {
        self.troubles += 1;
        let cut_off = self.cut_off && !self.inflated && self.end == self.bytes.len();
        let follows = cut_off && matches!(diagnostic.id, Id::Short | Id::Length);
        if !self.quiet && !follows && self.is_listed(diagnostic.id) {
            self.pending.push(diagnostic);
        }
        if self.at < self.end {
            self.category = Category::Undecoded;
            self.rest("undecoded bytes");
        } else if let Some(open) = self.open.last_mut() {
            open.diagnostics.append(&mut self.pending);
        }
    }

    /// Bytes up to the cursor that nobody can read: in a message with secrets they may be one.
    pub(crate) fn conceal_unknown(&mut self, value: Value) -> Value {
        if self.message.is_some_and(crate::secrets::holds_secrets) { self.conceal(value) } else { value }
    }

    /// A secret that ends where the cursor is: its bytes are not shown unless that is wanted.
    pub(crate) fn conceal(&mut self, value: Value) -> Value {
        let (Value::Text(it) | Value::Bytes(it)) = &value else { return value };
        let length = it.len();
        if self.options.show_secrets || length == 0 {
            return value;
        }
        if !self.inflated && !self.quiet {
            self.hidden.push(self.at - length..self.at);
        }
        Value::Hidden(length)
    }
}
