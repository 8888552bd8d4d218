//! The support matrix: every API with the versions that exist and those that are served.

use super::{NOTE, api, cell, line};

/// The first page of the protocol.
pub(super) fn page() -> String {
    let mut out = String::new();
    let (mut clients, mut controllers, mut own) = (Vec::new(), Vec::new(), Vec::new());
    for it in api::all() {
        let listed = match it.1 {
            request if request.is_own() => &mut own,
            request if request.listeners.contains(&"broker") => &mut clients,
            _ => &mut controllers,
        };
        listed.push(it);
    }
    let served = |list: &[api::Api]| list.iter().filter(|it| api::served(it.0).is_some()).count();
    line!(out, "# Protocol\n\n{NOTE}\n");
    line!(
        out,
        "Thalweg speaks Kafka's protocol as of Apache Kafka 4.4.0 and serves {} of its {} APIs for clients. A page per API \
         has the fields of every version, the smallest legal bytes, and, where it is served, what is checked in which order.\n",
        served(&clients),
        clients.len()
    );
    line!(
        out,
        "Beside these pages: [headers and embedded data](embedded.md), [drafts](drafts.md) that were never released, [records of internal topics](../records.md), [settings](../config.md), [deliberate deviations](../design/deviations.md).\n"
    );
    line!(out, "## APIs for clients\n");
    table(&mut out, &clients, "Kafka 4.4.0");
    line!(out, "\n## Our own\n\nTold by ApiVersions to our own tools alone.\n");
    table(&mut out, &own, "Versions");
    line!(
        out,
        "\n## Between brokers and controllers\n\nNot served: one process is broker and controller. The tools can read them.\n"
    );
    table(&mut out, &controllers, "Kafka 4.4.0");
    line!(out, "\n## How to read the pages\n");
    for text in [
        "Fields stand in the order of the wire; those of a struct below it, with a dash per level. A struct that occurs again is not told again.",
        "Versions: `0+` is open; a field is on the wire in these versions only.",
        "Nullable: null may be sent (in the versions named). Tag N: a tagged field, absent while it has its default.",
        "Ignorable: a value that the version can't carry is dropped. Without the word, writing one is an error.",
        "No default named: zero, false, empty.",
    ] {
        line!(out, "* {text}");
    }
    out
}

fn table(out: &mut String, list: &[api::Api], versions: &str) {
    line!(out, "| Key | API | {versions} | Served | |");
    line!(out, "|---|---|---|---|---|");
    for (key, request, _) in list {
        let exist = api::span(request.versions.low, request.versions.high);
        let unstable = if request.unstable.is_some() { "*" } else { "" };
        let served = api::served(*key).unwrap_or_else(|| "–".to_owned());
        let name = api::name(request);
        line!(
            out,
            "| {key} | [{name}]({}) | {exist}{unstable} | {served} | {} |",
            api::file(*key),
            cell(request.doc)
        );
    }
    if list.iter().any(|it| it.1.unstable.is_some()) {
        line!(out, "\n\\* The newest version is not stable: brokers neither tell nor take it.");
    }
}
