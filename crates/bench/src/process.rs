//! Processes that are measured, and the CPU that they have taken.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// `/proc/PID/stat` counts in hundredths of a second on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;
/// What servers of this crate and of `thalweg` listen on.
const LOOPBACK: &str = "127.0.0.1:";

/// A process that is measured. One that was started here ends with the value.
#[derive(Debug)]
pub struct Peer {
    process: Option<Child>,
    id: u32,
    pub address: String,
    /// Its data. Dropped after the process was ended.
    _directory: Option<Directory>,
}

/// CPU in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cpu {
    pub user: f64,
    pub system: f64,
}

impl Cpu {
    #[must_use]
    pub fn total(self) -> f64 {
        self.user + self.system
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // It may have ended.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Peer {
    /// Starts a process that prints its address in its first line.
    ///
    /// # Errors
    /// It can't be started, or says no address.
    pub fn start(command: Command) -> Result<Self, String> {
        Self::start_with(command, None)
    }

    /// The broker in a directory of its own that goes with it, with Kafka's own promise of durability.
    ///
    /// # Errors
    /// As [`Peer::start`].
    pub fn broker(path: &Path, parent: &Path, settings: &[&str]) -> Result<Self, String> {
        let directory = Directory::new(parent)?;
        let mut command = Command::new(path);
        command.args(["serve", "--print", "json", "--override", "listeners=PLAINTEXT://127.0.0.1:0"]);
        command.args(["--override", &format!("log.dirs={}", directory.path.display())]);
        for setting in ["thalweg.durability=page-cache"].iter().chain(settings) {
            command.args(["--override", setting]);
        }
        let peer = Self::start_with(command, Some(directory));
        peer.map_err(|problem| format!("{} serve: {problem}", path.display()))
    }

    fn start_with(mut command: Command, directory: Option<Directory>) -> Result<Self, String> {
        let text = |problem: std::io::Error| problem.to_string();
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(text)?;
        let id = process.id();
        let out = process.stdout.take();
        let mut peer = Self { process: Some(process), id, address: String::new(), _directory: directory };
        let mut line = String::new();
        BufReader::new(out.ok_or("no output")?).read_line(&mut line).map_err(text)?;
        peer.address = address_in(&line).ok_or_else(|| format!("no address in {line:?}"))?;
        Ok(peer)
    }

    /// A process that runs already, and goes on.
    #[must_use]
    pub fn of(id: u32, address: &str) -> Self {
        Self { process: None, id, address: address.to_owned(), _directory: None }
    }

    /// CPU of all its threads, those that have ended too; in steps of 10 ms.
    ///
    /// # Errors
    /// The process is gone.
    pub fn cpu(&self) -> Result<Cpu, String> {
        let path = format!("/proc/{}/stat", self.id);
        let text = std::fs::read_to_string(&path).map_err(|problem| format!("{path}: {problem}"))?;
        cpu_in(&text).ok_or_else(|| format!("{path}: {text:?}"))
    }

    /// CPU of the threads that live now, in seconds and in steps of the scheduler, for short turns of processes whose
    /// threads stay.
    ///
    /// # Errors
    /// The process is gone.
    pub fn cpu_of_living_threads(&self) -> Result<f64, String> {
        let folder = format!("/proc/{}/task", self.id);
        let tasks = std::fs::read_dir(&folder).map_err(|problem| format!("{folder}: {problem}"))?;
        let mut nanoseconds = 0.0;
        for task in tasks.flatten() {
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            nanoseconds +=
                text.split_whitespace().next().and_then(|it| it.parse::<f64>().ok()).unwrap_or(0.0);
        }
        Ok(nanoseconds / 1e9)
    }
}

/// Either alone, or within a sentence or JSON.
fn address_in(line: &str) -> Option<String> {
    let rest = line.split_once(LOOPBACK)?.1;
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!port.is_empty()).then(|| format!("{LOOPBACK}{port}"))
}

/// The name of the program may hold spaces and parentheses, so that fields are counted from the last one.
fn cpu_in(stat: &str) -> Option<Cpu> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut seconds = || Some(fields.next()?.parse::<f64>().ok()? / TICKS_PER_SECOND);
    Some(Cpu { user: seconds()?, system: seconds()? })
}

/// A new directory that goes with the value.
#[derive(Debug)]
pub struct Directory {
    pub path: PathBuf,
}

impl Directory {
    /// # Errors
    /// It can't be made.
    pub fn new(parent: &Path) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("thalweg-bench-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).map_err(|problem| format!("{}: {problem}", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What is left is in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_every_form() {
        for line in [
            "127.0.0.1:81\n",
            "listening on 127.0.0.1:81 for x\n",
            "{\"name\":\"P\",\"address\":\"127.0.0.1:81\"}",
        ] {
            assert_eq!(address_in(line).as_deref(), Some("127.0.0.1:81"));
        }
        assert_eq!(address_in("127.0.0.1:"), None);
    }

    #[test]
    fn cpu_is_counted_behind_any_name() {
        let stat = "7 (a) b) R 1 7 7 0 -1 4194304 100 0 0 0 250 75 9 9 20 0 3 0 100 1 1";
        assert_eq!(cpu_in(stat), Some(Cpu { user: 2.5, system: 0.75 }));
        assert_eq!(cpu_in("7 (a) R 1"), None);
    }
}
