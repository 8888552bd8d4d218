//! Every change of a file goes through here, so that a test can refuse it, or look at what a crash would leave.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::syncfs;
use rustix::io::{Errno, pwritev};

/// Slices of one `pwritev`: what Linux takes at most.
const SLICES_MAX: usize = 1_024;

/// What is about to be done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// A write of batches.
    Append,
    /// A whole small file written under a temporary name.
    Write,
    /// A new file or folder.
    Create,
    /// A file cut to a size.
    Cut,
    /// `fdatasync` of a file, or `fsync` of a folder.
    Sync,
    /// `syncfs`.
    SyncAll,
    /// A change of a name.
    Rename,
    /// A file or folder removed.
    Remove,
}

/// Called before each change; an error is taken for the kernel's. For tests.
pub type Faults = Arc<dyn Fn(Op, &Path) -> io::Result<()> + Send + Sync>;

/// The disk.
#[derive(Clone, Default)]
pub(super) struct Disk {
    pub(super) faults: Option<Faults>,
}

impl Disk {
    fn ask(&self, op: Op, path: &Path) -> io::Result<()> {
        self.faults.as_ref().map_or(Ok(()), |faults| faults(op, path))
    }

    pub(super) fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.ask(Op::Create, path)?;
        fs::create_dir(path)
    }

    /// A new, empty file; what had the name before is nothing of worth.
    pub(super) fn create(&self, path: &Path) -> io::Result<File> {
        self.ask(Op::Create, path)?;
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)
    }

    /// Writes all pieces at `offset`, in order.
    pub(super) fn append(&self, path: &Path, file: &File, offset: u64, pieces: &[Bytes]) -> io::Result<()> {
        self.ask(Op::Append, path)?;
        let mut at = offset;
        for pieces in pieces.chunks(SLICES_MAX) {
            let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|it| IoSlice::new(it)).collect();
            let mut rest = slices.as_mut_slice();
            while rest.iter().any(|it| !it.is_empty()) {
                match pwritev(file, rest, at) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => {
                        at = at.saturating_add(written as u64);
                        IoSlice::advance_slices(&mut rest, written);
                    }
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    pub(super) fn cut(&self, path: &Path, file: &File, size: u64) -> io::Result<()> {
        self.ask(Op::Cut, path)?;
        file.set_len(size)
    }

    pub(super) fn sync(&self, path: &Path, file: &File) -> io::Result<()> {
        self.ask(Op::Sync, path)?;
        file.sync_data()
    }

    pub(super) fn sync_path(&self, path: &Path) -> io::Result<()> {
        self.ask(Op::Sync, path)?;
        File::open(path)?.sync_all()
    }

    /// Flushes the whole file system that `dir` is on, new names included.
    pub(super) fn sync_all(&self, path: &Path, dir: &File) -> io::Result<()> {
        self.ask(Op::SyncAll, path)?;
        Ok(syncfs(dir)?)
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.ask(Op::Rename, from)?;
        fs::rename(from, to)
    }

    /// Removes a file; that it is gone already is fine.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        self.ask(Op::Remove, path)?;
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Err(_) | Ok(()) => Ok(()),
        }
    }

    pub(super) fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.ask(Op::Remove, path)?;
        fs::remove_dir_all(path)
    }

    /// Removes a folder that holds no more than these files. Needs no file descriptor.
    pub(super) fn remove_made(&self, path: &Path, files: &[&str]) -> io::Result<()> {
        files.iter().try_for_each(|it| self.remove(&path.join(it)))?;
        self.ask(Op::Remove, path)?;
        fs::remove_dir(path)
    }

    /// Writes the file that is to replace `path`, without a flush; gives its temporary name.
    pub(super) fn write_beside(&self, path: &Path, content: &[u8]) -> io::Result<PathBuf> {
        self.ask(Op::Write, path)?;
        let mut name = path.as_os_str().to_owned();
        name.push(".tmp");
        let name = PathBuf::from(name);
        fs::write(&name, content)?;
        Ok(name)
    }

    /// Replaces a small file so that after a crash either the old or the new content is there. The folder
    /// still has to be flushed for the new one to be certain.
    pub(super) fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let beside = self.write_beside(path, content)?;
        self.sync_path(&beside)?;
        self.rename(&beside, path)
    }
}

/// Whether the error means that there is no room: nothing has changed, and the same may be tried again.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        || is_out_of_files(error)
}

/// Whether the process, or the machine, has too many files open. That passes, and says nothing of the disk.
pub(super) fn is_out_of_files(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|it| it == Errno::MFILE || it == Errno::NFILE)
}
