//! What the first bytes of a request tell, and which request an answer belongs to.
//!
//! A broker answers the requests of a connection in their order (wire.md 1.5), so the requests under way are a queue.
//! Nothing here reads a whole message; quiet forwarding stands on these few bytes alone.

use std::collections::VecDeque;
use std::time::Instant;

use wire::frame::request_header_version;
use wire::{Message, ProduceRequest, Request, SaslHandshakeRequest};

/// Requests of one connection that wait for their answers. At the limit the client is not read any more.
pub(crate) const WAITING_MAX: usize = 4096;
/// The most bytes that are awaited before a request is given up as unreadable: two longest strings and some room.
const START_BYTES_MAX: usize = 2 * 32_767 + 64;

/// What the start of a request says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) key: i16,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    /// Empty if there is none, it is null, nobody asked for it, or the header could not be read.
    pub(crate) client_id: String,
    /// False for what a broker does not answer: Produce with acks 0 (wire.md 1.6).
    pub(crate) answered: bool,
    /// Whether API and version are in the schema.
    pub(crate) known: bool,
}

/// A look at the first bytes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// More bytes are needed to tell.
    More,
    Start(Start),
    /// No header fits into these bytes.
    NoRequest,
}

/// Looks at the bytes of a request behind its size, as far as they are there; `size` is what the frame will have. The
/// client id is read if `named`.
pub(crate) fn look(bytes: &[u8], size: usize, named: bool) -> Look {
    let complete = bytes.len() >= size || bytes.len() >= START_BYTES_MAX;
    let mut at = Cursor { bytes, at: 0 };
    let Some((key, version, correlation_id)) = at.fixed() else {
        return if complete { Look::NoRequest } else { Look::More };
    };
    let header = request_header_version(key, version);
    let known = header.is_some();
    let rest = header.map_or(Some((String::new(), true)), |header| at.rest(key, version, header, named));
    match rest {
        Some((client_id, answered)) => {
            Look::Start(Start { key, version, correlation_id, client_id, answered, known })
        }
        None if complete => {
            let client_id = String::new();
            Look::Start(Start { key, version, correlation_id, client_id, answered: true, known: false })
        }
        None => Look::More,
    }
}

/// A cursor that gives nothing where bytes are missing.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn i16(&mut self) -> Option<i16> {
        self.take(2).and_then(<[u8]>::first_chunk).map(|it| i16::from_be_bytes(*it))
    }

    fn i32(&mut self) -> Option<i32> {
        self.take(4).and_then(<[u8]>::first_chunk).map(|it| i32::from_be_bytes(*it))
    }

    fn uvarint(&mut self) -> Option<usize> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = *self.take(1)?.first()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Key, version and correlation id, which every header has in this place.
    fn fixed(&mut self) -> Option<(i16, i16, i32)> {
        Some((self.i16()?, self.i16()?, self.i32()?))
    }

    /// The client id, and whether the request is answered.
    fn rest(&mut self, key: i16, version: i16, header: i16, named: bool) -> Option<(String, bool)> {
        // The client id has an int16 length in every header version (wire.md 2.1).
        let length = usize::try_from(self.i16()?).unwrap_or(0);
        let client_id = self.take(length)?;
        let client_id = if named { String::from_utf8_lossy(client_id).into_owned() } else { String::new() };
        if key != ProduceRequest::KEY {
            return Some((client_id, true));
        }
        if header >= 2 {
            self.tags()?;
        }
        let flexible = ProduceRequest::TABLE.flexible.contains(version);
        let length = if flexible {
            self.uvarint()?.saturating_sub(1)
        } else {
            usize::try_from(self.i16()?).unwrap_or(0)
        };
        let _transactional_id = self.take(length)?;
        Some((client_id, self.i16()? != 0))
    }

    fn tags(&mut self) -> Option<()> {
        for _ in 0..self.uvarint()? {
            let _tag = self.uvarint()?;
            let size = self.uvarint()?;
            self.take(size)?;
        }
        Some(())
    }
}

/// A request that waits for its answer.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) start: Start,
    pub(crate) at: Instant,
    /// A raw SASL token: its answer has no correlation id.
    pub(crate) token: bool,
}

/// The requests of a connection that are under way.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    waiting: VecDeque<Asked>,
    /// After SaslHandshake version 0 frames without a header are tokens of the mechanism (wire.md 1.7).
    tokens: bool,
    touched: bool,
}

impl Pairs {
    /// Whether one more request may be read.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.len() < WAITING_MAX
    }

    /// Whether nothing was ever asked on this connection.
    pub(crate) const fn is_untouched(&self) -> bool {
        !self.touched
    }

    /// The request of this id that waits for its answer.
    pub(crate) fn waits_for(&self, correlation_id: i32) -> Option<&Start> {
        self.waiting.iter().map(|it| &it.start).find(|it| it.correlation_id == correlation_id)
    }

    /// Takes note of a request.
    pub(crate) fn asked(&mut self, start: &Start, at: Instant) {
        self.touched |= start.known;
        if start.key == SaslHandshakeRequest::KEY && start.version == 0 {
            self.tokens = true;
        }
        if start.answered {
            self.waiting.push_back(Asked { start: start.clone(), at, token: false });
        }
    }

    /// Whether a frame that is no known request is a raw SASL token; if so it is taken note of.
    pub(crate) fn token(&mut self, at: Instant) -> bool {
        if self.tokens {
            let start = Start {
                key: -1,
                version: 0,
                correlation_id: 0,
                client_id: String::new(),
                answered: true,
                known: false,
            };
            self.waiting.push_back(Asked { start, at, token: true });
        }
        self.tokens
    }

    /// Whether the next answer is one to a raw SASL token.
    pub(crate) fn token_is_next(&self) -> bool {
        self.waiting.front().is_some_and(|it| it.token)
    }

    /// The request that an answer belongs to. What was asked before it will not be answered any more.
    pub(crate) fn answered(&mut self, correlation_id: i32) -> Option<Asked> {
        if self.token_is_next() {
            return self.waiting.pop_front();
        }
        let place = self.waiting.iter().position(|it| it.start.correlation_id == correlation_id)?;
        self.waiting.drain(..place);
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use wire::{FetchRequest, Str, chunk, frame};

    use super::*;

    fn produce(acks: i16, transactional_id: Option<&str>, version: i16, client: &str) -> Vec<u8> {
        let request = ProduceRequest {
            acks,
            transactional_id: transactional_id.map(Str::from),
            ..ProduceRequest::default()
        };
        let frame = frame::encode_request(&request, version, 7, Some(Str::from(client))).unwrap();
        chunk::join(&frame)[4..].to_vec()
    }

    fn start(bytes: &[u8]) -> Start {
        match look(bytes, bytes.len(), true) {
            Look::Start(start) => start,
            other @ (Look::More | Look::NoRequest) => panic!("{other:?}"),
        }
    }

    /// wire.md 1.6, in both length forms.
    #[test]
    fn acks_0_is_not_answered() {
        for version in [3, 8, 9, 13] {
            for id in [None, Some("a transaction")] {
                for acks in [0, 1, -1] {
                    let found = start(&produce(acks, id, version, "client"));
                    assert_eq!((found.answered, found.client_id.as_str()), (acks != 0, "client"));
                    assert_eq!((found.correlation_id, found.known), (7, true));
                }
            }
        }
    }

    #[test]
    fn it_waits_for_what_it_needs() {
        let bytes = produce(0, Some("t"), 9, "c");
        let needed = (0..bytes.len()).find(|n| look(&bytes[..*n], bytes.len(), true) != Look::More).unwrap();
        assert!(needed < bytes.len() && !start(&bytes[..needed]).answered);
        assert_eq!(look(&bytes[..7], 7, true), Look::NoRequest);
    }

    #[test]
    fn unknown_apis_have_a_correlation_id_too() {
        let found = start(b"\x7f\x00\0\x01\0\0\0\x2a rest");
        assert_eq!((found.known, found.correlation_id, found.answered), (false, 42, true));
    }

    #[test]
    fn answers_find_their_requests() {
        let mut pairs = Pairs::default();
        let of = |correlation_id| Start {
            key: FetchRequest::KEY,
            version: 12,
            correlation_id,
            client_id: String::new(),
            answered: true,
            known: true,
        };
        (1..=4).for_each(|id| pairs.asked(&of(id), Instant::now()));
        assert_eq!(pairs.answered(1).unwrap().start.correlation_id, 1);
        // 2 was lost: it is not waited for any more.
        assert_eq!(pairs.answered(3).unwrap().start.correlation_id, 3);
        assert!(pairs.answered(2).is_none());
        assert_eq!(pairs.answered(4).unwrap().start.correlation_id, 4);
    }

    /// wire.md 1.7.
    #[test]
    fn tokens_after_the_old_handshake() {
        let mut pairs = Pairs::default();
        assert!(!pairs.token(Instant::now()));
        let mut handshake = start(&produce(1, None, 3, ""));
        (handshake.key, handshake.version, handshake.correlation_id) = (SaslHandshakeRequest::KEY, 0, 1);
        pairs.asked(&handshake, Instant::now());
        assert!(pairs.token(Instant::now()));
        assert!(!pairs.answered(1).unwrap().token);
        assert!(pairs.token_is_next() && pairs.answered(99).unwrap().token);
    }
}
