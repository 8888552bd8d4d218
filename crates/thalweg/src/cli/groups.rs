//! `thalweg groups`: list, why, events.

use std::time::Duration;

use clap::Subcommand;
use client::{Broker, Trouble};
use tokio::time::{Instant, sleep};
use wire::list_groups::response::ListedGroup;
use wire::{ErrorCode, ExplainGroupRequest, ExplainGroupResponse, ListGroupsRequest, MetadataRequest, Str};

use super::absence::Absence;
use super::{FAILED, Failure, Output, Target, print, show, tell};

/// Pause between two questions for news.
const FOLLOW_EVERY: Duration = Duration::from_millis(500);
/// Events of one answer.
const EVENTS_MAX: i32 = 1000;

/// Types of groups, as a person writes them.
const TYPES: [&str; 4] = ["classic", "consumer", "share", "streams"];
/// States that groups of some type have.
const STATES: [&str; 8] = [
    "Stable",
    "Empty",
    "Dead",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
    "NotReady",
];

/// Groups of all types.
#[derive(Debug, Subcommand)]
pub(crate) enum Groups {
    /// All groups of the cluster.
    List(List),
    /// What a group waits for, which member blocks it, since when, and what to do.
    Why(One),
    /// What happened to a group of late.
    Events(Events),
}

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    target: Target,
    /// Groups in these states only.
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = STATES, ignore_case = true)]
    state: Vec<String>,
    /// Groups of these types only.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = TYPES, ignore_case = true)]
    types: Vec<String>,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    output: Output,
}

/// A command about one group.
#[derive(Debug, clap::Args)]
pub(crate) struct One {
    /// Id of the group.
    pub group: String,
    #[command(flatten)]
    pub target: Target,
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub output: Output,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Events {
    #[command(flatten)]
    one: One,
    /// Go on with what happens from now on, until interrupted; a broker that is gone is waited for.
    #[arg(short, long)]
    follow: bool,
    /// Events of before to begin with.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 100)]
    lines: i32,
}

pub(crate) async fn run(command: Groups) -> Result<(), Failure> {
    match command {
        Groups::List(it) => it.target.patient(list(&it)).await,
        Groups::Why(it) => it.target.patient(why(&it)).await,
        Groups::Events(it) => events(&it).await,
    }
}

/// Each broker knows its own groups.
async fn list(arguments: &List) -> Result<(), Failure> {
    let mut broker = arguments.target.broker().await?;
    let asked =
        MetadataRequest { topics: Some(Vec::new()), allow_auto_topic_creation: false, ..Default::default() };
    let metadata = broker.call(4, 12, &asked).await?;
    let mut groups: Vec<ListedGroup> = Vec::new();
    for one in &metadata.brokers {
        let mut one = broker.other(&one.host.to_str(), one.port).await?;
        let texts = |texts: &[String]| texts.iter().map(Str::from).collect();
        let asked = ListGroupsRequest {
            states_filter: texts(&arguments.state),
            types_filter: texts(&arguments.types),
            ..Default::default()
        };
        // The filters came with these versions; without one any will do.
        let min = if !arguments.types.is_empty() { 5 } else { 4 * i16::from(!arguments.state.is_empty()) };
        let answer = one.call(min, 5, &asked).await?;
        if answer.error_code != ErrorCode::NONE {
            return Err(Failure::refused("groups", answer.error_code, None));
        }
        groups.extend(answer.groups);
    }
    groups.sort_by(|a, b| a.group_id.cmp(&b.group_id));
    match arguments.output {
        Output::Text => print(&show::list::text_page(&groups))?,
        Output::Json => print(&show::list::json_page(&groups).to_string())?,
    };
    Ok(())
}

async fn why(arguments: &One) -> Result<(), Failure> {
    let mut broker = arguments.target.coordinator(&arguments.group).await?;
    let asked = question(&arguments.group, true, -1, EVENTS_MAX);
    let answer = explain(&mut broker, &asked).await?;
    match arguments.output {
        Output::Text => print(&show::why::text_page(&answer))?,
        Output::Json => print(&show::why::json_page(&answer).to_string())?,
    };
    Ok(())
}

pub(super) fn question(
    group: &str,
    include_state: bool,
    after_sequence: i64,
    max_events: i32,
) -> ExplainGroupRequest {
    ExplainGroupRequest {
        group_id: Str::from(group),
        include_state,
        after_sequence,
        max_events,
        ..Default::default()
    }
}

/// Asks again while the coordinator loads.
pub(super) async fn explain(
    broker: &mut Broker,
    asked: &ExplainGroupRequest,
) -> Result<ExplainGroupResponse, Failure> {
    loop {
        let answer = broker.call(0, 0, asked).await.map_err(|trouble| {
            if matches!(trouble, Trouble::NotServed(_)) {
                let message = "this broker can't tell: only Thalweg keeps what happened to a group";
                return Failure::new(FAILED, message);
            }
            Failure::from(trouble)
        })?;
        if answer.error_code != ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
            return match answer.error_code {
                ErrorCode::NONE => Ok(answer),
                code => Err(Failure::refused("group", code, answer.error_message.as_ref())),
            };
        }
        broker.pause().await?;
    }
}

async fn events(arguments: &Events) -> Result<(), Failure> {
    let one = &arguments.one;
    let lines = arguments.lines.clamp(0, EVENTS_MAX);
    let first = async {
        let mut broker = one.target.coordinator(&one.group).await?;
        let first = explain(&mut broker, &question(&one.group, false, -1, lines)).await?;
        Ok::<_, Failure>((broker, first))
    };
    let (broker, first) = one.target.patient(first).await?;
    let (mut loaded_at, mut last) = (first.loaded_at, first.last_sequence);
    // A document for those who ask once, a line each for those who follow.
    if one.output == Output::Json && !arguments.follow {
        let events: Vec<_> = first.events.iter().map(show::events::json).collect();
        print(&wire::json::Json::Array(events).to_string())?;
        return Ok(());
    }
    let mut goes_on = print_events(&first, one.output)?;
    let (mut broker, mut absence) = (Some(broker), Absence::new(FOLLOW_EVERY));
    while arguments.follow && goes_on {
        sleep(absence.pause()).await;
        let news = match news(one, &mut broker, last).await {
            Ok(news) => news,
            Err(failure) if failure.is_absence() => {
                absence.failed(&failure, Instant::now()).iter().for_each(tell);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        absence.over().iter().for_each(tell);
        if news.loaded_at != loaded_at {
            tell("the coordinator was loaded anew: what happened before is forgotten");
        }
        // Numbers begin anew with a load, and with a group that was deleted: all of it is news.
        if news.loaded_at != loaded_at || news.last_sequence < last {
            (loaded_at, last) = (news.loaded_at, 0);
            continue;
        }
        last = news.events.last().map_or(last, |it| it.sequence);
        goes_on = print_events(&news, one.output)?;
    }
    Ok(())
}

/// Events after that one. If the broker does not answer it is looked for once more the next time: it or the coordinator
/// may have moved.
async fn news(one: &One, known: &mut Option<Broker>, last: i64) -> Result<ExplainGroupResponse, Failure> {
    let mut broker = match known.take() {
        Some(broker) => broker,
        None => one.target.coordinator(&one.group).await?,
    };
    broker.until(one.target.deadline());
    let answer = explain(&mut broker, &question(&one.group, false, last, EVENTS_MAX)).await?;
    *known = Some(broker);
    Ok(answer)
}

fn print_events(answer: &ExplainGroupResponse, output: Output) -> Result<bool, Failure> {
    let mut text = String::new();
    for event in &answer.events {
        match output {
            Output::Text => text.push_str(&show::events::line(event, true)),
            Output::Json => text.push_str(&show::events::json(event).to_string()),
        }
        text.push('\n');
    }
    print(&text)
}
