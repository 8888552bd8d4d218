//! What a response may be whose request is not known (wire.md 18.3).

use bytes::Bytes;

use crate::scan::Scan;
use crate::{Api, Lookup, Options, versions_of};

/// An API and version in which a response decodes to its last byte.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    pub api: Api,
    pub version: i16,
    /// Warnings on the way.
    pub troubles: usize,
}

/// All that fit, the best first: fewest warnings, then the lowest key and the highest version. Each pair is tried
/// once, so time is the number of pairs times the size.
#[must_use]
pub fn candidates(frame: &Bytes, options: &Options) -> Vec<Candidate> {
    let lookup = Lookup::of(options);
    let pairs = lookup.apis().flat_map(|api| versions_of(api.response).map(move |version| (api, version)));
    let mut found: Vec<Candidate> =
        pairs.filter_map(|(api, version)| attempt(frame, api, version, options)).collect();
    found.sort_by_key(|it| (it.troubles, it.api.key, std::cmp::Reverse(it.version)));
    found
}

fn attempt(frame: &Bytes, api: Api, version: i16, options: &Options) -> Option<Candidate> {
    let mut scan = Scan::new(frame, options);
    scan.quiet = true;
    scan.take::<4>().ok()?;
    scan.response_parts(&api, version).ok()?;
    (scan.at == frame.len()).then_some(Candidate { api, version, troubles: scan.troubles })
}
