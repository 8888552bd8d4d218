//! Where the journal lies among the data directories.
//!
//! It is looked for in all of them, since their order may change. It is made only where nothing of an earlier life
//! is: without its journal every partition would look like a leftover.

use std::fs;
use std::path::{Path, PathBuf};

use super::dir::{
    Claimed, METADATA, StartError, is_half_made, metadata_text, parse_folder, parse_metadata, read_if_there,
};
use super::disk::Disk;
use super::lane::JOURNAL_ID;
use crate::log::Uuid;

/// Beside the journal, if there are several directories: the id of each that was in use, and where it was.
const DIRECTORIES: &str = "thalweg.directories";
/// Folder of the journal.
const FOLDER: &str = "__thalweg_journal-0";

/// Number of the directory with the journal, which is made if all directories are new.
pub(super) fn place(dirs: &[Claimed], disk: &Disk) -> Result<usize, StartError> {
    let mut found = None;
    for (number, dir) in dirs.iter().enumerate() {
        if !holds_journal(&dir.path)? {
            continue;
        }
        if let Some(first) = found.replace(number).and_then(|it: usize| dirs.get(it)) {
            return Err(StartError::TwoJournals {
                first: first.path.join(FOLDER),
                second: dir.path.join(FOLDER),
            });
        }
    }
    if let Some(number) = found {
        return Ok(number);
    }
    for dir in dirs {
        if let Some(evidence) = earlier_life(dir)? {
            return Err(StartError::NoJournal { evidence });
        }
    }
    if let Some(first) = dirs.first() {
        make(&first.path, disk).map_err(StartError::io(&first.path))?;
    }
    Ok(0)
}

/// Refuses to start without a directory that was in use: its partitions would be made anew in the others.
pub(super) fn all_there(dirs: &[Claimed], journal: usize) -> Result<(), StartError> {
    let Some(home) = dirs.get(journal) else { return Ok(()) };
    let list = home.path.join(DIRECTORIES);
    let text = read_if_there(&list).map_err(StartError::io(&list))?.unwrap_or_default();
    for (id, place) in text.lines().filter_map(|it| it.split_once(' ')) {
        let is_it = |dir: &Claimed| dir.identity.as_ref().is_some_and(|it| it.directory_id.to_string() == id);
        if !dirs.iter().any(is_it) {
            return Err(StartError::MissingDirectory { id: id.to_owned(), place: place.to_owned(), list });
        }
    }
    Ok(())
}

/// Notes which directories are in use, before anything is put into them.
pub(super) fn note(home: &Path, dirs: &[(Uuid, PathBuf)], disk: &Disk) -> std::io::Result<()> {
    let path = home.join(DIRECTORIES);
    let lines = dirs.iter().map(|(id, place)| format!("{id} {}\n", place.display()));
    let text: String = lines.collect();
    let before = read_if_there(&path)?;
    if before.as_ref() == Some(&text) || (before.is_none() && dirs.len() < 2) {
        return Ok(());
    }
    disk.replace(&path, text.as_bytes())?;
    disk.sync_path(home)
}

fn holds_journal(dir: &Path) -> Result<bool, StartError> {
    let path = dir.join(FOLDER).join(METADATA);
    let text = read_if_there(&path).map_err(StartError::io(&path))?;
    Ok(text.and_then(|it| parse_metadata(&it)) == Some(JOURNAL_ID))
}

/// A file or folder that says that a directory was in use, by us or by Kafka.
fn earlier_life(dir: &Claimed) -> Result<Option<PathBuf>, StartError> {
    if let Some(file) = dir.evidence() {
        return Ok(Some(file));
    }
    for entry in fs::read_dir(&dir.path).map_err(StartError::io(&dir.path))? {
        let path = entry.map_err(StartError::io(&dir.path))?.path();
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        let ours = parse_folder(name).is_some() && path.is_dir();
        let lost = name == FOLDER && !is_half_made(&path);
        if ours && (lost || (name != FOLDER && path.join(METADATA).exists())) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Makes the journal's folder durable before anything says that the directory is in use.
fn make(dir: &Path, disk: &Disk) -> std::io::Result<()> {
    let path = dir.join(FOLDER);
    if !path.exists() {
        disk.create_dir(&path)?;
    }
    let metadata = path.join(METADATA);
    disk.replace(&metadata, metadata_text(JOURNAL_ID).as_bytes())?;
    disk.sync_path(&metadata)?;
    disk.sync_path(&path)?;
    disk.sync_path(dir)
}
