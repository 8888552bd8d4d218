//! How long `thalweg serve` takes from its start to the first answered request, and what it keeps in memory when idle.
//! Each run has an empty directory of its own.

use crate::run;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ExitCode, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 15;
/// How long the broker is left alone before its memory is read.
const IDLE: Duration = Duration::from_millis(500);
const START_MAX: Duration = Duration::from_secs(10);

/// ApiVersions version 0, correlation id 1, no client id, with its length in front.
const API_VERSIONS: [u8; 14] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff];

pub(crate) fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("footprint: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), String> {
    let program = run::build_broker(true)?;
    let (mut starts, mut memory) = (Vec::new(), Vec::new());
    for number in 0..RUNS {
        let directory =
            std::env::temp_dir().join(format!("thalweg-footprint-{}-{number}", std::process::id()));
        let result = once(&program, &directory);
        // The folder is the system's to clean if this fails.
        let _ = std::fs::remove_dir_all(&directory);
        let (start, kilobytes) = result?;
        starts.push(start.as_secs_f64() * 1e3);
        memory.push(kilobytes / 1024.0);
    }
    print_row("start to first answered request", "ms", &mut starts);
    print_row("resident memory when idle", "MiB", &mut memory);
    Ok(())
}

fn print_row(name: &str, unit: &str, values: &mut [f64]) {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    let (least, middle, most) = (at(0), at(values.len() / 2), at(values.len().saturating_sub(1)));
    println!("{name}: min {least:.1} median {middle:.1} max {most:.1} {unit} ({} runs)", values.len());
}

fn once(program: &Path, directory: &Path) -> Result<(Duration, f64), String> {
    let port = free_port().map_err(|problem| problem.to_string())?;
    let start = Instant::now();
    let mut process = run::command(&program.to_string_lossy())
        .args(["serve", "--override", &format!("listeners=PLAINTEXT://127.0.0.1:{port}")])
        .args(["--override", &format!("log.dirs={}", directory.display())])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|problem| problem.to_string())?;
    let result = first_answer(port, start).and_then(|took| {
        std::thread::sleep(IDLE);
        Ok((took, resident_kilobytes(&process)?))
    });
    // Ends only the process started above.
    let _ = process.kill();
    let _ = process.wait();
    result
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn first_answer(port: u16, start: Instant) -> Result<Duration, String> {
    loop {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            let mut length = [0; 4];
            stream
                .write_all(&API_VERSIONS)
                .and_then(|()| stream.read_exact(&mut length))
                .map_err(|p| p.to_string())?;
            return Ok(start.elapsed());
        }
        if start.elapsed() > START_MAX {
            return Err("the broker did not start".to_owned());
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn resident_kilobytes(process: &Child) -> Result<f64, String> {
    let path = format!("/proc/{}/status", process.id());
    let status = std::fs::read_to_string(&path).map_err(|problem| format!("{path}: {problem}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    line.trim().trim_end_matches(" kB").trim().parse().map_err(|_| format!("unreadable: {line}"))
}
