//! The smallest instance of an API: the newest version explained, the others by their size.

use explain::smallest::Build;
use explain::{Api, Options, text};
use wire::table::Message;

use super::{api, line};

/// Bytes and tree of the newest version, sizes of all.
pub(super) fn instances(out: &mut String, (key, request, response): api::Api) {
    let (api, build, options) = (Api { key, request, response }, Build::default(), Options::default());
    let version = newest(request);
    let style = text::Style::default();
    line!(out, "\n## Smallest frames\n");
    line!(out, "What `thalweg wire smallest {} --version {version}` shows:\n", api::name(request));
    for explained in
        [build.explain_request(&api, version, &options), build.explain_response(&api, version, &options)]
    {
        line!(out, "```text\n{}```\n", text::page(&explained, style));
    }
    let sizes = (request.versions.low..=request.versions.high).map(|version| {
        format!(
            "{version}: {} and {}",
            build.request(&api, version).len(),
            build.response(&api, version).len()
        )
    });
    line!(out, "Bytes of request and response by version: {}.", sizes.collect::<Vec<_>>().join("; "));
}

/// The newest stable version.
fn newest(request: &'static Message) -> i16 {
    let (low, high) = (request.versions.low, request.versions.high);
    if request.unstable == Some(high) && low < high { high - 1 } else { high }
}
