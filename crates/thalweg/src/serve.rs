//! `thalweg serve`: settings, storage, broker, and an orderly end.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use broker::auth::AllowAll;
use broker::{Running, Settings, Storage};
use catalog::config::check::{self, Finding, Verdict};
use catalog::config::{self, BrokerSettings, Configs};
use catalog::{Image, Local};
use storage::local::{LocalConfig, LocalEngine};
use storage::{Durability, Engine};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{error, info, warn};

use crate::settings::{CLUSTER_ID, add_defaults, gather, unknown_variables};
use crate::{Print, Serve};

/// Codes by which a supervisor tells what to do (`cli.md` 4.3).
const FAILED: u8 = 1;
const WRONG_SETTINGS: u8 = 2;
const INTERRUPTED_TWICE: u8 = 130;
/// What blocking work gets to end after the broker has stopped.
const RUNTIME_PATIENCE: Duration = Duration::from_secs(1);
/// The one kind of storage that is served.
const LOCAL: &str = "file:";

/// Runs a broker until it is told to stop.
pub(crate) fn run(arguments: &Serve) -> ExitCode {
    crate::logging::start();
    let plan = match plan(arguments) {
        Ok(plan) => plan,
        Err(problems) => {
            problems.iter().for_each(|problem| error!("{problem}"));
            return ExitCode::from(WRONG_SETTINGS);
        }
    };
    let runtime = match Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(problem) => {
            error!(%problem, "no runtime");
            return ExitCode::from(FAILED);
        }
    };
    let code = runtime.block_on(serve(plan, arguments.print)).unwrap_or_else(|problem| {
        error!("{problem}");
        FAILED
    });
    runtime.shutdown_timeout(RUNTIME_PATIENCE);
    ExitCode::from(code)
}

/// All that is known before anything is touched.
struct Plan {
    settings: Settings,
    storage: LocalConfig,
}

/// Reads and checks the settings. The errors name each setting that can't be used.
fn plan(arguments: &Serve) -> Result<Plan, Vec<String>> {
    let given = gather(arguments.config.as_ref(), std::env::vars(), &arguments.overrides);
    let mut given = given.map_err(|wrong| vec![wrong.to_string()])?;
    add_defaults(&mut given);
    let (mut configs, findings) = check::load(given.iter().map(|(name, value)| (&**name, &**value)));
    let fatal: Vec<_> = findings.iter().filter(|it| it.verdict.is_fatal()).collect();
    if !fatal.is_empty() {
        return Err(fatal.iter().map(ToString::to_string).collect());
    }
    warn_of(&findings, &configs);
    let cluster_id = configs.remove(CLUSTER_ID);
    let settings = Settings::new(configs).map_err(|invalid| vec![invalid.to_string()])?;
    let storage = storage_config(&settings, cluster_id).map_err(|problem| vec![problem])?;
    Ok(Plan { settings, storage })
}

/// What an operator may count on and does not get, a line for each kind.
fn warn_of(findings: &[Finding], configs: &Configs) {
    let names = |kind: &dyn Fn(&Finding) -> bool| {
        findings.iter().filter(|it| kind(it)).map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let unknown = names(&|it| it.verdict == Verdict::Unknown);
    if !unknown.is_empty() {
        warn!(names = unknown, "unknown settings have no effect");
    }
    let variables = unknown_variables(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()));
    if !variables.is_empty() {
        warn!(names = variables.join(", "), "unknown environment variables have no effect");
    }
    let missed = names(&Finding::is_missed);
    if !missed.is_empty() {
        warn!(names = missed, "settings of what is not there yet are accepted, and have no effect");
    }
    let above_one = |it: &Finding| {
        it.verdict == Verdict::Mapped
            && it.name.ends_with(".replication.factor")
            && configs.get(&it.name).is_some_and(|it| it != "1")
    };
    let factors = names(&above_one);
    if !factors.is_empty() {
        info!(names = factors, "this broker keeps each partition of these topics once");
    }
}

fn storage_config(settings: &Settings, cluster_id: Option<String>) -> Result<LocalConfig, String> {
    let broker = broker_settings(&settings.fixed);
    let defaults = LocalConfig::new(directories(&broker)?);
    Ok(LocalConfig {
        node_id: settings.node_id,
        cluster_id,
        durability: match broker.thalweg_durability {
            config::Durability::Fsync => Durability::Fsync,
            config::Durability::PageCache => Durability::PageCache,
        },
        flush_background: milliseconds(broker.thalweg_flush_background_ms),
        checkpoint_every: milliseconds(broker.thalweg_snapshot_ms),
        tail_cache_bytes: broker
            .thalweg_tail_cache_bytes
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(defaults.tail_cache_bytes),
        // The setting is an upper bound; what the process may open is another.
        open_files_max: u64::try_from(broker.thalweg_open_files_max)
            .map_or(defaults.open_files_max, |max| max.min(defaults.open_files_max)),
        ..defaults
    })
}

/// The broker's settings as types: an image without metadata has nothing else in it.
fn broker_settings(fixed: &Configs) -> BrokerSettings {
    Image::new(Local { configs: fixed.clone(), ..Local::default() }).broker().clone()
}

fn directories(broker: &BrokerSettings) -> Result<Vec<PathBuf>, String> {
    let Some(url) = &broker.thalweg_storage else {
        let named = broker.log_dirs.as_ref().unwrap_or(&broker.log_dir);
        return Ok(named.iter().map(PathBuf::from).collect());
    };
    let list = url.strip_prefix(LOCAL);
    let list =
        list.ok_or_else(|| format!("thalweg.storage={url}: only {LOCAL}DIR[,DIR...] is served yet"))?;
    Ok(config::items(list).into_iter().map(PathBuf::from).collect())
}

fn milliseconds(value: i64) -> Duration {
    Duration::from_millis(u64::try_from(value).unwrap_or(0))
}

/// Opens storage, starts the broker, waits for a signal, stops. Gives the exit code.
async fn serve(plan: Plan, print: Option<Print>) -> Result<u8, String> {
    let mut signals = Signals::new().map_err(|problem| format!("signals: {problem}"))?;
    // Nothing else runs yet, so recovery may block this thread. The engine lives until the end:
    // it holds the locks of the directories.
    let engine = LocalEngine::start(plan.storage).map_err(|problem| problem.to_string())?;
    let storage = open(&engine).await?;
    let mut offline = engine.journal_offline();
    let running = Running::start(plan.settings, storage, Arc::new(AllowAll)).await;
    let running = running.map_err(|problem| problem.to_string())?;
    if print == Some(Print::Json) {
        print_addresses(&running);
    }
    tokio::select! {
        () = signals.next() => {}
        // The metadata can't change any more, and with one directory nothing can: whoever watches the process
        // has to see it. An orderly stop could not write anything either.
        _ = offline.wait_for(|it| *it) => {
            return Err("the data directory with the metadata journal is offline".to_owned());
        }
    }
    info!("stopping");
    tokio::select! {
        () = running.stop() => {
            info!("stopped");
            Ok(0)
        }
        () = signals.interrupted() => Ok(INTERRUPTED_TWICE),
    }
}

async fn open(engine: &LocalEngine) -> Result<Storage, String> {
    let grant = engine.grant();
    let mut lanes = Vec::new();
    for lane in 0..engine.lanes() {
        lanes.push(engine.open(lane, grant).await.map_err(|refused| refused.to_string())?);
    }
    let journal = engine.journal().map_err(|refused| refused.to_string())?;
    Ok(Storage { lanes, journal, epoch: grant.epoch, cluster_id: engine.cluster_id().to_owned() })
}

/// One line for whoever started the process: it needs the real port when it asked for port 0.
fn print_addresses(running: &Running) {
    let mut line = String::from("{\"listeners\":[");
    for (index, (name, address)) in running.addresses().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let name = name.to_string();
        // Writing to a string can't fail.
        let _ = write!(line, "{comma}{{\"name\":{name:?},\"address\":\"{address}\"}}");
    }
    line.push_str("]}");
    let mut out = std::io::stdout();
    // Who does not read the line does not want to know.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The signals that end the process.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// The terminal is gone. Kafka ends then too.
    hangup: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }

    async fn interrupted(&mut self) {
        self.interrupt.recv().await;
    }
}
