//! The page of one API: what it is, its fields, what its versions changed, its smallest bytes, and what the broker
//! checks.

use wire::frame::{request_header_version, response_header_version};
use wire::table::Message;
use wire::tables::APIS;

use super::{NOTE, fields, handlers, line};

/// Key, request, response.
pub(super) type Api = (i16, &'static Message, &'static Message);

/// Every API that has a version.
pub(super) fn all() -> impl Iterator<Item = Api> {
    APIS.iter().copied().filter(|it| !it.1.versions.is_empty())
}

/// The name of an API.
pub(super) fn name(request: &'static Message) -> &'static str {
    request.name.trim_end_matches("Request")
}

/// The file of an API's page.
pub(super) fn file(key: i16) -> String {
    let request = APIS.iter().find(|it| it.0 == key).map_or("", |it| name(it.1));
    format!("{request}.md")
}

/// Versions that the broker accepts, as text.
pub(super) fn served(key: i16) -> Option<String> {
    let api = broker::api::Api::by_key(key)?;
    let text = span(*api.served.start(), *api.served.end());
    Some(if api.advertised { text } else { format!("{text}, not told") })
}

/// A closed range of versions as text.
pub(super) fn span(low: i16, high: i16) -> String {
    if low == high { low.to_string() } else { format!("{low}–{high}") }
}

/// The page.
pub(super) fn page((key, request, response): Api) -> String {
    let mut out = String::new();
    line!(out, "# {} ({key})\n\n{NOTE}\n", name(request));
    line!(out, "{} Answer: {}\n", request.doc, lower(response.doc));
    facts(&mut out, key, request);
    line!(out, "\n## Request\n");
    fields::table(&mut out, request);
    line!(out, "\n## Response\n");
    fields::table(&mut out, response);
    versions(&mut out, request, response);
    super::smallest::instances(&mut out, (key, request, response));
    if let Some(handler) = handlers::of(key) {
        line!(out);
        handler.page(&mut out);
    }
    out
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next();
    // `ApiVersions` and the like stay as they are.
    let is_name = chars.clone().next().is_some_and(|it| it.is_ascii_uppercase());
    match first {
        Some(first) if !is_name => first.to_lowercase().chain(chars).collect(),
        Some(_) | None => text.to_owned(),
    }
}

fn facts(out: &mut String, key: i16, request: &'static Message) {
    let versions = request.versions;
    let whose = if request.is_own() { "Thalweg's own" } else { "Kafka 4.4.0" };
    let unstable = request.unstable.map_or_else(String::new, |it| format!(" ({it} is unstable)"));
    let here = served(key).unwrap_or_else(|| "none".to_owned());
    line!(out, "* Versions: {}{unstable} ({whose}); served here: {here}", span(versions.low, versions.high));
    line!(out, "* Flexible versions: {}", request.flexible);
    let headers = |of: fn(i16, i16) -> Option<i16>| {
        let mut runs: Vec<(i16, i16, i16)> = Vec::new();
        for version in versions.low..=versions.high {
            let Some(header) = of(key, version) else { continue };
            match runs.last_mut() {
                Some(run) if run.2 == header => run.1 = version,
                Some(_) | None => runs.push((version, version, header)),
            }
        }
        let all = runs.len() == 1;
        let text = runs.iter().map(|(low, high, header)| {
            if all { format!("v{header}") } else { format!("v{header} ({})", span(*low, *high)) }
        });
        text.collect::<Vec<_>>().join(", ")
    };
    line!(
        out,
        "* Request header: {}; response header: {}",
        headers(request_header_version),
        headers(response_header_version)
    );
    line!(out, "* Listeners: {}", request.listeners.join(", "));
}

fn versions(out: &mut String, request: &'static Message, response: &'static Message) {
    if request.versions.low == request.versions.high {
        return;
    }
    line!(out, "\n## What the versions changed\n");
    for version in request.versions.low + 1..=request.versions.high {
        let (asked, answered) = (fields::changes(request, version), fields::changes(response, version));
        let text = match (asked, answered) {
            (a, b) if a.is_empty() && b.is_empty() => "the same bytes".to_owned(),
            (a, b) if a == b => a,
            (a, b) if b.is_empty() => format!("request {a}"),
            (a, b) if a.is_empty() => format!("response {b}"),
            (a, b) => format!("request {a} · response {b}"),
        };
        line!(out, "* {version}: {text}");
    }
}
