//! The folder `schema/` as one checked value.

use std::fs;
use std::path::{Path, PathBuf};

use crate::check;
use crate::model::{Enum, ErrorLine, Feature, Message, MessageKind};
use crate::parse::{self, ParseError};

/// All files of the folder.
#[derive(Debug)]
pub struct Schema {
    /// Ordered by API key.
    pub apis: Vec<Api>,
    /// One per folder of `records/`, ordered by name.
    pub topics: Vec<Topic>,
    /// One per folder of `draft/`, ordered by name.
    pub drafts: Vec<Draft>,
    pub headers: Vec<Message>,
    pub embedded: Vec<Message>,
    pub errors: Vec<ErrorLine>,
    pub enums: Vec<Enum>,
    pub features: Vec<Feature>,
}

/// One API: a file of `api/`, `internal/` or `thalweg/`.
#[derive(Debug)]
pub struct Api {
    pub key: i16,
    /// The file's name without number and ending; the name of the Rust module.
    pub stem: String,
    pub request: Message,
    pub response: Message,
}

/// A revision of a proposal before its release: a folder of `draft/`. It becomes tables and nothing else, so no
/// broker can serve it.
#[derive(Debug)]
pub struct Draft {
    pub name: String,
    /// Ordered by API key. Keys and names may be those of released APIs that look different.
    pub apis: Vec<Api>,
    /// Ordered by record type.
    pub types: Vec<RecordType>,
}

/// The record types of an internal topic.
#[derive(Debug)]
pub struct Topic {
    pub name: String,
    /// Ordered by record type.
    pub types: Vec<RecordType>,
}

/// One record type: a file of `records/<topic>/`.
#[derive(Debug)]
pub struct RecordType {
    pub id: i16,
    pub key: Message,
    pub value: Message,
}

/// Reads and checks the folder.
///
/// # Errors
/// File, line and problem of the first thing that is wrong.
pub fn load(folder: &Path) -> Result<Schema, String> {
    let mut apis = Vec::new();
    for part in ["api", "internal", "thalweg"] {
        for file in files(&folder.join(part))? {
            apis.push(api(&file)?);
        }
    }
    apis.sort_by_key(|it| it.key);
    let mut topics = Vec::new();
    for topic in entries(&folder.join("records"))? {
        topics.push(self::topic(&topic)?);
    }
    let mut drafts = Vec::new();
    for revision in entries(&folder.join("draft"))?.iter().filter(|it| it.is_dir()) {
        drafts.push(draft(revision)?);
    }
    let (enums, features) = located(&folder.join("enums.wire"), parse::enums)?;
    let schema = Schema {
        apis,
        topics,
        drafts,
        headers: messages(&folder.join("headers.wire"))?,
        embedded: messages(&folder.join("embedded.wire"))?,
        errors: located(&folder.join("errors.wire"), parse::errors)?,
        enums,
        features,
    };
    check::names(&schema)?;
    Ok(schema)
}

fn api(file: &Path) -> Result<Api, String> {
    let (number, stem) = file_name(file)?;
    let [request, mut response] = pair(file, [MessageKind::Request, MessageKind::Response], number)?;
    // Written once, on the request, but meant for both.
    response.unstable = request.unstable;
    response.listeners.clone_from(&request.listeners);
    Ok(Api { key: number, stem, request, response })
}

fn topic(folder: &Path) -> Result<Topic, String> {
    Ok(Topic { name: folder_name(folder), types: record_types(folder)? })
}

fn draft(folder: &Path) -> Result<Draft, String> {
    let mut apis = Vec::new();
    for file in files(folder)? {
        apis.push(api(&file)?);
    }
    apis.sort_by_key(|it| it.key);
    Ok(Draft { name: folder_name(folder), apis, types: record_types(&folder.join("records"))? })
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn record_types(folder: &Path) -> Result<Vec<RecordType>, String> {
    let mut types = Vec::new();
    for file in files(folder)? {
        let (id, _) = file_name(&file)?;
        let [key, value] = pair(&file, [MessageKind::Key, MessageKind::Value], id)?;
        types.push(RecordType { id, key, value });
    }
    types.sort_by_key(|it| it.id);
    Ok(types)
}

/// The two messages of a file, whose number must be the file's.
fn pair(file: &Path, kinds: [MessageKind; 2], number: i16) -> Result<[Message; 2], String> {
    let found: [Message; 2] =
        messages(file)?.try_into().map_err(|_| format!("{}: expected two messages", file.display()))?;
    let right = found.iter().zip(kinds).all(|(it, kind)| it.kind == kind && it.id == Some(number));
    if right { Ok(found) } else { Err(format!("{}: expected {kinds:?} with id={number}", file.display())) }
}

/// `88_streams_group_heartbeat.wire` is (88, `streams_group_heartbeat`).
fn file_name(file: &Path) -> Result<(i16, String), String> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let parts = stem.split_once('_').and_then(|(number, name)| Some((number.parse().ok()?, name.to_owned())));
    parts.ok_or_else(|| format!("{}: expected NN_name.wire", file.display()))
}

fn messages(file: &Path) -> Result<Vec<Message>, String> {
    located(file, |text| {
        let messages = parse::messages(text)?;
        messages.iter().try_for_each(check::message)?;
        messages.iter().try_for_each(check::described)?;
        Ok(messages)
    })
}

fn located<T>(file: &Path, read: impl Fn(&str) -> Result<T, ParseError>) -> Result<T, String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    read(&text).map_err(|e| format!("{}: {e}", file.display()))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let all = entries(folder)?;
    Ok(all.into_iter().filter(|it| it.extension().is_some_and(|it| it == "wire")).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |e| format!("{}: {e}", folder.display());
    let entries: Result<Vec<_>, _> =
        fs::read_dir(folder).map_err(failed)?.map(|it| it.map(|it| it.path())).collect();
    let mut entries = entries.map_err(failed)?;
    entries.sort();
    Ok(entries)
}
