//! Records of the internal topics, and data inside other data.

use wire::table::{Kind, Message};
use wire::tables::{DRAFTS, MESSAGES, RECORDS};

use super::{NOTE, api, fields, line};

/// `docs/records.md`.
pub(super) fn page() -> String {
    let mut out = String::new();
    line!(out, "# Records of internal topics\n\n{NOTE}\n");
    line!(
        out,
        "Coordinators keep their state in compacted topics, in the records that Kafka 4.4.0 writes. A key begins with an \
         int16, the type of the record, and is never flexible; a value begins with an int16, its version. A key without a \
         value deletes what was there. How to read the tables: [protocol](protocol/README.md).\n"
    );
    let mut topics: Vec<&str> = RECORDS.iter().map(|it| it.0).collect();
    topics.dedup();
    for topic in topics {
        line!(out, "## __{topic}\n");
        line!(out, "| Type | Record | Value versions | |\n|---|---|---|---|");
        for (_, id, key, value) in RECORDS.iter().filter(|it| it.0 == topic) {
            let versions = api::span(value.versions.low, value.versions.high);
            line!(
                out,
                "| {id} | [{0}](#{id}-{1}) | {versions} | {2} |",
                name(key),
                name(key).to_lowercase(),
                key.doc
            );
        }
        for (_, id, key, value) in RECORDS.iter().filter(|it| it.0 == topic) {
            line!(out, "\n### {id} {}\n\n{} {}\n", name(key), key.doc, value.doc);
            line!(out, "Key:\n");
            fields::table(&mut out, key);
            line!(out, "\nValue:\n");
            fields::table(&mut out, value);
            changes(&mut out, value);
        }
        line!(out);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn name(key: &'static Message) -> &'static str {
    key.name.trim_end_matches("Key")
}

fn changes(out: &mut String, message: &'static Message) {
    for version in message.versions.low + 1..=message.versions.high {
        if version == message.versions.low + 1 {
            line!(out);
        }
        let found = fields::changes(message, version);
        line!(out, "* {version}: {}", if found.is_empty() { "the same bytes" } else { &found });
    }
}

/// `docs/protocol/embedded.md`.
pub(super) fn embedded() -> String {
    let mut out = String::new();
    line!(out, "# Headers and embedded data\n\n{NOTE}\n");
    line!(
        out,
        "A frame is an int32, the bytes that follow, then a header, then the message of the API's version."
    );
    for it in MESSAGES.iter().filter(|it| matches!(it.kind, Kind::Header | Kind::Data)) {
        line!(out, "\n## {}\n\n{}\n", it.name, it.doc);
        let versions = api::span(it.versions.low, it.versions.high);
        line!(out, "Versions: {versions}. Flexible: {}.\n", it.flexible);
        fields::table(&mut out, it);
        changes(&mut out, it);
    }
    out
}

/// `docs/protocol/drafts.md`.
pub(super) fn drafts() -> String {
    let mut out = String::new();
    line!(out, "# Drafts\n\n{NOTE}\n");
    line!(
        out,
        "Early revisions of KIP-1071 that circulate in old texts and prototypes. They were never released and are not \
         served; the keys and record types belong to other messages today. The tools read them: `thalweg wire smallest \
         StreamsGroupInitialize --draft`, `thalweg wire diff StreamsGroupHeartbeat newer 0`."
    );
    for draft in DRAFTS.iter().rev() {
        line!(out, "\n## The {} draft", draft.name);
        for (key, request, response) in draft.apis {
            line!(out, "\n### {} ({key}), {}\n\n{}\n", api::name(request), draft.name, request.doc);
            line!(out, "Request:\n");
            fields::table(&mut out, request);
            line!(out, "\nResponse:\n");
            fields::table(&mut out, response);
        }
        line!(out, "\n### Records of __consumer_offsets, {}", draft.name);
        for (id, key, value) in draft.records {
            let keys: Vec<&str> = key.root.fields.iter().map(|it| it.name).collect();
            line!(out, "\n**{id} {}**, key {}: {}\n", name(key), keys.join(", "), value.doc);
            fields::table(&mut out, value);
        }
    }
    out
}
