//! Addresses in answers: found, and replaced by those of the proxy, so that clients stay on it.
//!
//! Brokers tell addresses in Metadata, FindCoordinator (all forms), DescribeCluster, and since KIP-951 in the node
//! endpoints of Produce, Fetch, ShareFetch and ShareAcknowledge. Hosts of clients (DescribeGroups), of applications
//! (StreamsGroupHeartbeat) and the listeners of controllers (DescribeQuorum) are no places where a client of a broker
//! goes; they stay as they are.

use bytes::Bytes;
use wire::frame::response_header_version;
use wire::{
    ApiVersionsRequest, Chunk, DecodeError, DescribeClusterResponse, FetchResponse, FindCoordinatorResponse,
    Message, MetadataResponse, ProduceResponse, Reader, Response, ResponseHeader, ShareAcknowledgeResponse,
    ShareFetchResponse, Str, chunk,
};

/// A broker's address as it was told.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// What became of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rewritten {
    /// No address is in it: it passes as it came.
    Same,
    /// The frame with its size, with other addresses.
    Changed(Bytes),
    /// It should have been rewritten but can't be; it passes as it came.
    Failed(String),
}

/// Whether an answer of this API and version may have addresses in it, so that it has to be read.
pub(crate) fn may_have_addresses(key: i16, version: i16) -> bool {
    match key {
        MetadataResponse::KEY | FindCoordinatorResponse::KEY | DescribeClusterResponse::KEY => true,
        ProduceResponse::KEY => version >= 10,
        FetchResponse::KEY => version >= 16,
        ShareFetchResponse::KEY | ShareAcknowledgeResponse::KEY => true,
        _ => false,
    }
}

/// Visits the addresses of an answer, which is a frame without its size, and replaces those for which `place` has
/// another one.
pub(crate) fn rewrite(
    key: i16,
    version: i16,
    answer: &Bytes,
    place: &mut dyn FnMut(&Address) -> Option<Address>,
) -> Rewritten {
    match key {
        MetadataResponse::KEY => one::<MetadataResponse>(version, answer, place, |it, with| {
            it.brokers.iter_mut().for_each(|it| with(&mut it.host, &mut it.port));
        }),
        FindCoordinatorResponse::KEY => one::<FindCoordinatorResponse>(version, answer, place, |it, with| {
            with(&mut it.host, &mut it.port);
            it.coordinators.iter_mut().for_each(|it| with(&mut it.host, &mut it.port));
        }),
        DescribeClusterResponse::KEY => one::<DescribeClusterResponse>(version, answer, place, |it, with| {
            it.brokers.iter_mut().for_each(|it| with(&mut it.host, &mut it.port));
        }),
        ProduceResponse::KEY => one::<ProduceResponse>(version, answer, place, |it, with| {
            it.node_endpoints.iter_mut().for_each(|it| with(&mut it.host, &mut it.port));
        }),
        FetchResponse::KEY => one::<FetchResponse>(version, answer, place, |it, with| {
            it.node_endpoints.iter_mut().for_each(|it| with(&mut it.host, &mut it.port));
        }),
        ShareFetchResponse::KEY => one::<ShareFetchResponse>(version, answer, place, |it, with| {
            it.node_endpoints.iter_mut().for_each(|it| with(&mut it.host, &mut it.port));
        }),
        ShareAcknowledgeResponse::KEY => {
            one::<ShareAcknowledgeResponse>(version, answer, place, |it, with| {
                it.node_endpoints.iter_mut().for_each(|it| with(&mut it.host, &mut it.port));
            })
        }
        _ => Rewritten::Same,
    }
}

/// Host and port of one place in an answer.
type With<'a> = &'a mut dyn FnMut(&mut Str, &mut i32);

fn one<R: Response>(
    version: i16,
    answer: &Bytes,
    place: &mut dyn FnMut(&Address) -> Option<Address>,
    each: impl FnOnce(&mut R, With<'_>),
) -> Rewritten {
    let Some(header_version) = response_header_version(R::KEY, version) else {
        return Rewritten::Failed(format!("{} v{version} is not known: addresses stay", R::NAME));
    };
    let (header, mut body) = match decode::<R>(answer, header_version, version) {
        Ok(decoded) => decoded,
        Err(problem) => return Rewritten::Failed(format!("{} v{version}: {problem}", R::NAME)),
    };
    let mut changed = false;
    let mut before = None;
    each(&mut body, &mut |host, port| {
        // An address that says that there is none: empty host, port -1.
        let Some(told) = told(host, *port) else { return };
        let Some(address) = place(&told) else { return };
        if address != told {
            changed = true;
            *host = Str::from(address.host);
            *port = i32::from(address.port);
        }
    });
    if !changed {
        return Rewritten::Same;
    }
    // The frame is written anew, so it must be one that is written like that: else other bytes would change too.
    let again = decode::<R>(answer, header_version, version)
        .ok()
        .and_then(|(header, body)| encode(&header, header_version, &body, version));
    if again.as_ref().map(|it| it.slice(4..)) != Some(answer.clone()) {
        before = Some(format!("{} v{version} is not in its plain form: addresses stay", R::NAME));
    }
    match (before, encode(&header, header_version, &body, version)) {
        (Some(problem), _) => Rewritten::Failed(problem),
        (None, Some(frame)) => Rewritten::Changed(frame),
        (None, None) => Rewritten::Failed(format!("{} v{version}: the new address does not fit", R::NAME)),
    }
}

fn told(host: &Str, port: i32) -> Option<Address> {
    let port = u16::try_from(port).ok().filter(|it| *it > 0)?;
    (!host.is_empty()).then(|| Address { host: host.to_str().into_owned(), port })
}

fn decode<R: Response>(
    answer: &Bytes,
    header_version: i16,
    version: i16,
) -> Result<(ResponseHeader, R), DecodeError> {
    let mut reader = Reader::new(answer.clone());
    let header = ResponseHeader::decode(&mut reader, header_version)?;
    let body = R::decode(&mut reader, version)?;
    if reader.remaining() > 0 {
        let kind = wire::DecodeErrorKind::TrailingBytes;
        return Err(DecodeError::at(reader.position(), kind));
    }
    Ok((header, body))
}

/// Header and body behind their size. Not `frame::encode_response`: the header may have tags, which stay.
fn encode<R: Response>(
    header: &ResponseHeader,
    header_version: i16,
    body: &R,
    version: i16,
) -> Option<Bytes> {
    let mut writer = wire::Writer::new();
    header.encode(&mut writer, header_version).ok()?;
    body.encode(&mut writer, version).ok()?;
    let content = writer.into_chunks();
    let size = i32::try_from(content.iter().map(Chunk::len).sum::<usize>()).ok()?;
    let mut chunks = vec![Chunk::Bytes(Bytes::copy_from_slice(&size.to_be_bytes()))];
    chunks.extend(content);
    Some(chunk::join(&chunks))
}

/// The version in which the body of an answer is written: ApiVersions falls back to 0 when it refuses the version
/// that was asked for (wire.md 3.3).
pub(crate) fn version_of_answer(key: i16, version: i16, answer: &Bytes) -> i16 {
    let refused = answer.get(4..6).is_some_and(|code| code == [0, 35]);
    if key == <ApiVersionsRequest as wire::Request>::KEY && refused { 0 } else { version }
}

/// The body of an answer, behind its header; nothing if API or version are unknown or the header is broken.
pub(crate) fn body_of_answer(key: i16, version: i16, answer: &Bytes) -> Option<Reader> {
    let mut reader = Reader::new(answer.clone());
    ResponseHeader::decode(&mut reader, response_header_version(key, version)?).ok()?;
    Some(reader)
}

#[cfg(test)]
mod tests {
    use wire::find_coordinator::response::Coordinator;
    use wire::metadata::response::MetadataResponseBroker;
    use wire::{fetch, frame, share_fetch};

    use super::*;

    fn bytes<R: Response>(response: &R, version: i16) -> Bytes {
        chunk::join(&frame::encode_response(response, version, 5).unwrap()).slice(4..)
    }

    fn to_proxy(address: &Address) -> Option<Address> {
        (address.host != "stays").then(|| Address { host: "127.0.0.1".to_owned(), port: address.port + 1 })
    }

    fn changed<R: Response>(before: &R, version: i16) -> R {
        match rewrite(R::KEY, version, &bytes(before, version), &mut to_proxy) {
            Rewritten::Changed(frame) => {
                assert_eq!(frame.len() - 4, u32::from_be_bytes(frame[..4].try_into().unwrap()) as usize);
                let header = response_header_version(R::KEY, version).unwrap();
                let (header, body) = decode::<R>(&frame.slice(4..), header, version).unwrap();
                assert_eq!(header.correlation_id, 5);
                body
            }
            other @ (Rewritten::Same | Rewritten::Failed(_)) => panic!("{other:?}"),
        }
    }

    #[test]
    fn metadata_in_all_versions() {
        for version in MetadataResponse::VERSIONS {
            let broker = |host: &str| MetadataResponseBroker {
                node_id: 1,
                host: host.into(),
                port: 9092,
                ..Default::default()
            };
            let before = MetadataResponse {
                brokers: vec![broker("a.long.name.of.a.host"), broker("stays"), broker("")],
                ..Default::default()
            };
            let after = changed(&before, version);
            let places: Vec<_> = after.brokers.iter().map(|it| (it.host.to_string(), it.port)).collect();
            let expected = [("127.0.0.1", 9093), ("stays", 9092), ("", 9092)];
            assert_eq!(places, expected.map(|(host, port)| (host.to_owned(), port)), "v{version}");
        }
    }

    /// Both forms: one coordinator up to version 3, a list from 4 on. -1 is no port.
    #[test]
    fn find_coordinator_in_all_versions() {
        for version in FindCoordinatorResponse::VERSIONS {
            let mut before = FindCoordinatorResponse::default();
            if version < 4 {
                (before.host, before.port) = ("broker".into(), 9092);
            } else {
                let found = |host: &str, port| Coordinator { host: host.into(), port, ..Default::default() };
                before.coordinators = vec![found("broker", 9092), found("", -1)];
            }
            let after = changed(&before, version);
            let first =
                after.coordinators.first().map_or((after.host, after.port), |it| (it.host.clone(), it.port));
            assert_eq!(first, ("127.0.0.1".into(), 9093), "v{version}");
            assert!(after.coordinators.get(1).is_none_or(|it| it.port == -1));
        }
    }

    #[test]
    fn node_endpoints_and_cluster() {
        use wire::describe_cluster::response::DescribeClusterBroker;
        let node = fetch::response::NodeEndpoint { host: "b".into(), port: 1, ..Default::default() };
        let before = FetchResponse { node_endpoints: vec![node], ..Default::default() };
        assert_eq!(changed(&before, 17).node_endpoints[0].port, 2);
        let node = share_fetch::response::NodeEndpoint { host: "b".into(), port: 1, ..Default::default() };
        let before = ShareFetchResponse { node_endpoints: vec![node], ..Default::default() };
        assert_eq!(changed(&before, 1).node_endpoints[0].host, "127.0.0.1");
        let node = wire::produce::response::NodeEndpoint { host: "b".into(), port: 1, ..Default::default() };
        let before = ProduceResponse { node_endpoints: vec![node], ..Default::default() };
        assert_eq!(changed(&before, 12).node_endpoints[0].host, "127.0.0.1");
        let node = wire::share_acknowledge::response::NodeEndpoint {
            host: "b".into(),
            port: 1,
            ..Default::default()
        };
        let before = ShareAcknowledgeResponse { node_endpoints: vec![node], ..Default::default() };
        assert_eq!(changed(&before, 1).node_endpoints[0].host, "127.0.0.1");
        let node = DescribeClusterBroker { host: "b".into(), port: 1, ..Default::default() };
        let before = DescribeClusterResponse { brokers: vec![node], ..Default::default() };
        assert_eq!(changed(&before, 1).brokers[0].port, 2);
    }

    /// Every field of an answer that is a host with a port, by the tables: a new one can't be forgotten.
    #[test]
    fn no_address_is_forgotten() {
        fn has_address(it: &'static wire::table::Struct) -> bool {
            let named = |name: &str| it.fields.iter().any(|it| it.name == name);
            let inner = it.fields.iter().any(|it| {
                if let wire::table::Type::Struct(inner) = it.ty { has_address(inner) } else { false }
            });
            (named("Host") && named("Port")) || inner
        }
        // Places where no client of a broker goes: see above.
        let others =
            ["DescribeQuorumResponse", "StreamsGroupHeartbeatResponse", "StreamsGroupDescribeResponse"];
        let of_brokers = wire::tables::APIS.iter().filter(|it| it.1.listeners.contains(&"broker"));
        for (key, _, response) in of_brokers.filter(|it| !it.2.is_own()) {
            let expected = has_address(&response.root) && !others.contains(&response.name);
            assert_eq!(may_have_addresses(*key, i16::MAX), expected, "{}", response.name);
        }
    }

    /// Nothing but addresses changes: what would be written otherwise passes with a word.
    #[test]
    fn other_bytes_stay() {
        let broker = MetadataResponseBroker { host: "b".into(), port: 1, ..Default::default() };
        let plain = bytes(&MetadataResponse { brokers: vec![broker], ..Default::default() }, 9);
        // The count of brokers, 1 + 1, as a varint of two bytes.
        let mut odd = plain.to_vec();
        let place = 4 + 1 + 4;
        assert_eq!(odd[place], 2);
        odd.splice(place..=place, [0x82, 0]);
        let result = rewrite(MetadataResponse::KEY, 9, &odd.into(), &mut to_proxy);
        assert!(matches!(result, Rewritten::Failed(problem) if problem.contains("plain form")));
        let unknown = rewrite(MetadataResponse::KEY, 99, &plain, &mut to_proxy);
        assert!(matches!(unknown, Rewritten::Failed(_)));
        let nothing = rewrite(MetadataResponse::KEY, 9, &plain, &mut |_| None);
        assert_eq!(nothing, Rewritten::Same);
    }
}
