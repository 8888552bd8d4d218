//! Captures of a network: files of pcap and pcapng to frames in their order, with latencies and errors.
//!
//! Ethernet (with VLANs), loopback, raw IP and Linux's "any" device; IPv4 and IPv6. Fragments of IP packets are not put
//! together: a connection's loss of bytes is told, and reading goes on where a frame begins again.

mod half;
mod streams;

use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_parser::pcapng::Block;
use pcap_parser::{Linktype, PcapBlockOwned, PcapError, create_reader};

pub(crate) use streams::Captured;
use streams::{Segment, Streams};

/// Room for the largest block of a capture; larger ones make the file unreadable.
const BLOCK_BYTES_MAX: usize = 16 << 20;
/// Room to begin with.
const BLOCK_BYTES: usize = 256 << 10;
/// Interfaces of one section of a pcapng file.
const INTERFACES_MAX: usize = 1024;

/// Whether a file begins as a capture does.
pub(crate) fn is_capture(start: &[u8]) -> bool {
    let magics: [&[u8]; 5] = [
        &[0xa1, 0xb2, 0xc3, 0xd4],
        &[0xd4, 0xc3, 0xb2, 0xa1],
        &[0xa1, 0xb2, 0x3c, 0x4d],
        &[0x4d, 0x3c, 0xb2, 0xa1],
        &[0x0a, 0x0d, 0x0d, 0x0a],
    ];
    magics.iter().any(|it| start.starts_with(it))
}

/// Reads a capture, which `file` names, and gives what is in it to `each`, which ends the reading by an error.
///
/// # Errors
/// It can't be read, or is none of these formats: the reason. Or what `each` failed with.
pub(crate) fn read<E: From<String>>(
    file: &Path,
    input: impl Read + Send,
    each: &mut dyn FnMut(Captured) -> Result<(), E>,
) -> Result<(), E> {
    let problem = |it: String| E::from(format!("{}: {it}", file.display()));
    let mut capture = Capture::default();
    let mut reader = create_reader(BLOCK_BYTES, input).map_err(|it| problem(it.to_string()))?;
    let (mut room, mut last) = (BLOCK_BYTES, None);
    loop {
        match reader.next() {
            Ok((offset, block)) => {
                capture.block(&block);
                reader.consume(offset);
                last = None;
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_) | PcapError::UnexpectedEof) => {
                let there = (reader.consumed(), reader.data().len());
                if reader.reader_exhausted() || last == Some(there) {
                    capture.cut();
                    break;
                }
                last = Some(there);
                if there.1 >= room {
                    room = grown(room).ok_or_else(|| problem("a block is too large".to_owned()))?;
                    reader.grow(room);
                }
                reader.refill().map_err(|it| problem(it.to_string()))?;
            }
            Err(PcapError::BufferTooSmall) => {
                room = grown(room).ok_or_else(|| problem("a block is too large".to_owned()))?;
                reader.grow(room);
            }
            Err(it) => return Err(problem(it.to_string())),
        }
        capture.out.drain(..).try_for_each(&mut *each)?;
    }
    capture.streams.finish(&mut capture.out);
    capture.out.drain(..).try_for_each(each)
}

fn grown(room: usize) -> Option<usize> {
    (room < BLOCK_BYTES_MAX).then(|| room * 2)
}

/// An interface: its link type, and the unit and zero of its times.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Units per second.
    resolution: u64,
    /// Seconds that are added.
    offset: i64,
}

#[derive(Debug, Default)]
struct Capture {
    interfaces: Vec<Interface>,
    streams: Streams,
    out: Vec<Captured>,
}

impl Capture {
    fn block(&mut self, block: &PcapBlockOwned<'_>) {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let resolution = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
                self.interfaces = vec![Interface { link: header.network, resolution, offset: 0 }];
            }
            PcapBlockOwned::Legacy(packet) => {
                let Some(interface) = self.interfaces.first().copied() else { return };
                let parts = u64::from(packet.ts_usec);
                let us = u64::from(packet.ts_sec) * 1_000_000 + parts * 1_000_000 / interface.resolution;
                self.packet(interface.link, us, captured(packet.data, packet.caplen));
            }
            PcapBlockOwned::NG(block) => self.modern(block),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "statistics, names, secrets: nothing that was sent")]
    fn modern(&mut self, block: &Block<'_>) {
        match block {
            Block::SectionHeader(_) => self.interfaces.clear(),
            Block::InterfaceDescription(it) if self.interfaces.len() < INTERFACES_MAX => {
                let resolution = it.ts_resolution().filter(|it| *it > 0).unwrap_or(1_000_000);
                self.interfaces.push(Interface { link: it.linktype, resolution, offset: it.if_tsoffset });
            }
            Block::EnhancedPacket(it) => {
                let interface =
                    usize::try_from(it.if_id).ok().and_then(|id| self.interfaces.get(id).copied());
                let Some(interface) = interface else { return };
                let units = u64::from(it.ts_high) << 32 | u64::from(it.ts_low);
                let us = u128::from(units) * 1_000_000 / u128::from(interface.resolution);
                let us = u64::try_from(us).unwrap_or(0);
                let us = us.saturating_add_signed(interface.offset.saturating_mul(1_000_000));
                self.packet(interface.link, us, captured(it.data, it.caplen));
            }
            Block::SimplePacket(it) => {
                let Some(interface) = self.interfaces.first().copied() else { return };
                self.packet(interface.link, 0, captured(it.data, it.origlen));
            }
            _ => {}
        }
    }

    fn packet(&mut self, link: Linktype, at_us: u64, bytes: &[u8]) {
        let Some(packet) = sliced(link, bytes) else { return };
        let Some(TransportSlice::Tcp(tcp)) = &packet.transport else { return };
        let (from, to): (IpAddr, IpAddr) = match &packet.net {
            Some(LaxNetSlice::Ipv4(ip)) => {
                (ip.header().source_addr().into(), ip.header().destination_addr().into())
            }
            Some(LaxNetSlice::Ipv6(ip)) => {
                (ip.header().source_addr().into(), ip.header().destination_addr().into())
            }
            Some(LaxNetSlice::Arp(_)) | None => return,
        };
        let segment = Segment {
            at_us,
            from: SocketAddr::new(from, tcp.source_port()),
            to: SocketAddr::new(to, tcp.destination_port()),
            sequence: tcp.sequence_number(),
            syn: tcp.syn(),
            ack: tcp.ack(),
            end: tcp.fin() || tcp.rst(),
            payload: tcp.payload(),
        };
        self.streams.segment(&segment, &mut self.out);
    }

    /// The file ends within a block.
    fn cut(&mut self) {
        let text = "the file ends within a packet".to_owned();
        self.out.push(Captured::Note { at_us: 0, connection: 0, text });
    }
}

/// The bytes of a packet without what fills its block up.
fn captured(data: &[u8], length: u32) -> &[u8] {
    usize::try_from(length).ok().and_then(|it| data.get(..it)).unwrap_or(data)
}

/// The layers of a packet; nothing for link types that are not known.
fn sliced(link: Linktype, bytes: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    let ip = |skip: usize| bytes.get(skip..).and_then(|it| LaxSlicedPacket::from_ip(it).ok());
    match link {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(bytes).ok(),
        // Four bytes for the address family, in the order of the machine or of the network.
        Linktype::NULL | Linktype::LOOP => ip(4),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => ip(0),
        Linktype::LINUX_SLL => ip(16),
        Linktype::LINUX_SLL2 => ip(20),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
