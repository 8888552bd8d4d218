//! What consumers of the classic protocol say to each other inside JoinGroup and SyncGroup (4.15). The
//! coordinator reads it where such consumers share a group with those of the consumer protocol, and then
//! writes their assignments itself.
//!
//! The bytes begin with a version. A newer one than is known here is read, and written, as the newest
//! known; what follows the known fields is left alone.

use std::collections::BTreeMap;

use bytes::Bytes;
use catalog::Image;
use wire::consumer_protocol_assignment::TopicPartition;
use wire::{ConsumerProtocolAssignment, ConsumerProtocolSubscription, Message, Reader, Str, Writer};

use crate::group::consumer::partitions::{Partitions, partitions};

/// The bytes are not what a consumer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// What a member wants and has.
#[derive(Debug, PartialEq)]
pub(super) struct Subscription {
    pub topics: Vec<Str>,
    /// None also for an empty one.
    pub rack_id: Option<Str>,
    /// By topic name, as it came.
    owned: Vec<(Str, Vec<i32>)>,
}

impl Subscription {
    pub(super) fn read(bytes: &Bytes) -> Result<Self, Malformed> {
        let it: ConsumerProtocolSubscription = read(bytes)?;
        Ok(Self {
            topics: it.topics.iter().map(Str::detach).collect(),
            rack_id: it.rack_id.filter(|it| !it.is_empty()).map(|it| it.detach()),
            owned: it.owned_partitions.into_iter().map(|it| (it.topic.detach(), it.partitions)).collect(),
        })
    }

    /// What the member says it owns, of topics that exist.
    pub(super) fn owned(&self, image: &Image) -> Partitions {
        by_id(image, &self.owned)
    }
}

/// An assignment, of topics that exist. `None` if it carries something of an assignor of the clients',
/// which nobody here could carry on.
pub(super) fn read_assignment(bytes: &Bytes, image: &Image) -> Result<Option<Partitions>, Malformed> {
    if bytes.is_empty() {
        // The member joined and never got one.
        return Ok(Some(Partitions::new()));
    }
    let it: ConsumerProtocolAssignment = read(bytes)?;
    if it.user_data.is_some_and(|it| !it.is_empty()) {
        return Ok(None);
    }
    let topics: Vec<_> = it.assigned_partitions.into_iter().map(|it| (it.topic, it.partitions)).collect();
    Ok(Some(by_id(image, &topics)))
}

/// Writes an assignment in the version in which the member speaks. Topics that are gone are left out.
pub(super) fn write_assignment(
    image: &Image,
    partitions: &Partitions,
    metadata: &Bytes,
) -> Result<Bytes, Malformed> {
    let version = version::<ConsumerProtocolAssignment>(metadata)?;
    let topics: BTreeMap<&str, &[i32]> = partitions
        .iter()
        .filter_map(|(id, partitions)| Some((&*image.topic_by_id(id)?.name, partitions)))
        .collect();
    let assigned_partitions = topics
        .into_iter()
        .map(|(name, partitions)| TopicPartition { topic: Str::from(name), partitions: partitions.to_vec() })
        .collect();
    let assignment = ConsumerProtocolAssignment { assigned_partitions, user_data: None };
    let mut writer = Writer::new();
    writer.i16(version);
    assignment.encode(&mut writer, version).map_err(|_| Malformed)?;
    Ok(writer.into_bytes())
}

fn version<M: Message>(bytes: &Bytes) -> Result<i16, Malformed> {
    let head = bytes.first_chunk().ok_or(Malformed)?;
    match i16::from_be_bytes(*head) {
        ..0 => Err(Malformed),
        version => Ok(version.min(*M::VERSIONS.end())),
    }
}

fn read<M: Message>(bytes: &Bytes) -> Result<M, Malformed> {
    let version = version::<M>(bytes)?;
    M::decode(&mut Reader::new(bytes.slice(2..)), version).map_err(|_| Malformed)
}

fn by_id(image: &Image, topics: &[(Str, Vec<i32>)]) -> Partitions {
    let id = |name: &Str| Some(image.topic(name.as_str()?)?.id);
    partitions(topics.iter().filter_map(|(name, list)| Some((id(name)?, list.as_slice()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of 4.15.
    const SUBSCRIPTION: &[u8] = &[
        0, 3, 0, 0, 0, 1, 0, 3, b'f', b'o', b'o', 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff,
    ];

    #[test]
    fn a_subscription_of_any_version_is_read() {
        let foo = |rack_id: Option<&str>| Subscription {
            topics: vec!["foo".into()],
            rack_id: rack_id.map(Str::from),
            owned: Vec::new(),
        };
        let read = |bytes: &[u8]| Subscription::read(&Bytes::copy_from_slice(bytes));
        assert_eq!(read(SUBSCRIPTION), Ok(foo(None)));
        // Version 0 ends before the owned partitions.
        assert_eq!(read(&[&[0, 0], &SUBSCRIPTION[2..15]].concat()), Ok(foo(None)));
        // Version 7 has something that is not known here.
        assert_eq!(read(&[&[0, 7], &SUBSCRIPTION[2..], &[1, 2]].concat()), Ok(foo(None)));
        let with_rack = [&SUBSCRIPTION[..23], &[0, 1, b'r']].concat();
        assert_eq!(read(&with_rack), Ok(foo(Some("r"))));
        let empty_rack = [&SUBSCRIPTION[..23], &[0, 0]].concat();
        assert_eq!(read(&empty_rack), Ok(foo(None)));
        for malformed in [&[][..], &[0], &[0xff, 0xff], &[0, 3, 0, 0], &SUBSCRIPTION[..24]] {
            assert_eq!(read(malformed), Err(Malformed), "{malformed:?}");
        }
    }

    #[test]
    fn an_assignment_has_the_version_of_its_member() {
        let image = Image::default();
        let write = |version: &'static [u8]| {
            let bytes = write_assignment(&image, &Partitions::new(), &Bytes::from_static(version));
            bytes.map(|it| it.to_vec())
        };
        for version in 0..=3 {
            let bytes = write(&[[0, 0], [0, 1], [0, 2], [0, 3]][usize::from(version)]).unwrap();
            assert_eq!(bytes, [0, version, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        }
        assert_eq!(write(&[0, 9]).unwrap()[1], 3);
        assert_eq!(write(&[0x80, 0]), Err(Malformed));
        assert_eq!(write(&[]), Err(Malformed));
        let read = |bytes: &'static [u8]| read_assignment(&Bytes::from_static(bytes), &image);
        assert_eq!(read(&[]), Ok(Some(Partitions::new())));
        assert_eq!(read(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 9]), Ok(None));
        assert_eq!(read(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), Ok(Some(Partitions::new())));
        assert_eq!(read(&[0, 1, 0]), Err(Malformed));
    }
}
