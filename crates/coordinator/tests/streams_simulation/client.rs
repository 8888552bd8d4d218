//! A stream thread: what a Kafka Streams client does with the responses it sees.

use std::collections::{BTreeMap, BTreeSet};

use wire::streams_group_heartbeat::request::{Subtopology, TaskIds, TaskOffset, TopicInfo, Topology};
use wire::streams_group_heartbeat::response;
use wire::{ErrorCode, Str, StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse};

use coordinator::Millis;

use crate::world::FIRST_END;

pub(crate) type Task = (String, i32);

/// Active, standby and warm-up tasks.
pub(crate) type Roles = [BTreeSet<Task>; 3];

#[derive(Debug)]
pub(crate) struct Client {
    pub id: String,
    pub process: String,
    /// A static member's.
    pub instance: Option<String>,
    /// 0: it joins with its next heartbeat.
    pub epoch: i32,
    pub owned: Roles,
    pub target: Roles,
    /// The lists go into the next heartbeat: they changed, or a response was lost.
    pub tells: bool,
    /// It is dead, and the coordinator does not know yet.
    pub dead: bool,
    pub kind: Kind,
    pub line: Line,
}

/// What the coordinator can know of the client's process.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Line {
    /// The connection of its heartbeats; 0: it opens one for the next.
    pub connection: u64,
    /// The one on which the coordinator heard it last, and when.
    pub known: u64,
    pub heard: Millis,
    /// The coordinator was told then that the connection was closed, and has to believe it.
    pub closed: Option<Millis>,
}

/// How a client deals with offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 4.1 to 4.3: it never reports any.
    Older,
    /// 4.4.
    Reports,
    /// 4.4, but it restores nothing.
    Stuck,
}

/// What clients of a process have restored, and where changelogs end, as their clients see it.
pub(crate) struct Offsets<'a> {
    pub disk: &'a BTreeMap<Task, i64>,
    pub ends: &'a BTreeMap<Task, i64>,
    /// The changelogs are quiet: clients know no end.
    pub quiet: bool,
}

impl Client {
    pub(crate) fn new(id: String, process: String, instance: Option<String>, kind: Kind) -> Self {
        Self {
            id,
            process,
            instance,
            epoch: 0,
            owned: Roles::default(),
            target: Roles::default(),
            tells: false,
            dead: false,
            kind,
            line: Line::default(),
        }
    }

    pub(crate) fn api_version(&self) -> i16 {
        if self.kind == Kind::Older { 0 } else { 1 }
    }

    /// The request with the offsets of all state on disk, but for tasks that run (CR-48).
    pub(crate) fn with_offsets(&self, offsets: &Offsets<'_>) -> StreamsGroupHeartbeatRequest {
        if self.kind == Kind::Older {
            return self.request();
        }
        let restored = offsets.disk.iter().filter(|(task, _)| !self.owned[0].contains(*task));
        let restored: Vec<_> = restored.map(|(task, offset)| (task, *offset)).collect();
        let copies = self.owned[1].iter().chain(&self.owned[2]);
        let end = |task| {
            if offsets.quiet { i64::MAX } else { offsets.ends.get(task).map_or(FIRST_END, |it| it - 1) }
        };
        let ends: Vec<_> = copies.map(|task| (task, end(task))).collect();
        StreamsGroupHeartbeatRequest {
            task_offsets: Some(restored.into_iter().map(task_offset).collect()),
            task_end_offsets: (self.epoch > 0).then(|| ends.into_iter().map(task_offset).collect()),
            ..self.request()
        }
    }

    pub(crate) fn request(&self) -> StreamsGroupHeartbeatRequest {
        let joins = self.epoch == 0;
        let lists = (self.tells || joins).then(|| self.owned.each_ref().map(task_ids));
        let [active, standby, warmup] = lists.map_or([const { None }; 3], |lists| lists.map(Some));
        StreamsGroupHeartbeatRequest {
            group_id: Str::from("g"),
            member_id: Str::from(&*self.id),
            member_epoch: self.epoch,
            instance_id: self.instance.as_deref().map(Str::from),
            rebalance_timeout_ms: if joins { 300_000 } else { -1 },
            process_id: joins.then(|| Str::from(&*self.process)),
            topology: joins.then(topology),
            active_tasks: active,
            standby_tasks: standby,
            warmup_tasks: warmup,
            ..Default::default()
        }
    }

    /// Tasks that it is about to take over it must not report as not owned: the coordinator gives
    /// them to others at once (R-5, scenario 187), and the response that says so may be lost. Kafka
    /// leaves that gap; a model that goes through it finds nothing else.
    pub(crate) fn before_heartbeat(&mut self) {
        if self.tells {
            self.owned = self.target.clone();
        }
    }

    /// The request arrived, the response did not: everything is told again.
    pub(crate) fn lost_response(&mut self) {
        self.tells = true;
    }

    pub(crate) fn response(&mut self, response: &StreamsGroupHeartbeatResponse) {
        match response.error_code {
            ErrorCode::NONE => {}
            ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::GROUP_ID_NOT_FOUND => {
                return self.rejoin();
            }
            // Its own place, which it lost without going away: free when the session ends.
            ErrorCode::UNRELEASED_INSTANCE_ID => return self.rejoin(),
            // A topic came back with fewer partitions than the member has tasks (H-29): fatal for it.
            ErrorCode::INVALID_REQUEST => {
                self.dead = true;
                return;
            }
            other => panic!("{} got {}: {:?}", self.id, other.name(), response.error_message),
        }
        assert!(response.member_epoch > 0, "a joined member sees no epoch {}", response.member_epoch);
        // 366.
        let Some(statuses) = &response.status else { panic!("statuses are a list") };
        let interval = response.heartbeat_interval_ms;
        assert!((200..=5000).contains(&interval), "I-1, CR-9: told {interval} ms");
        let is_missing = statuses.iter().any(|it| it.status_code == 1);
        assert!(!is_missing || interval == 5000, "CR-10: told {interval} ms while source topics are missing");
        assert!(response.member_epoch >= self.epoch, "{} goes back from {}", self.id, self.epoch);
        self.epoch = response.member_epoch;
        self.tells = false;
        match (&response.active_tasks, &response.standby_tasks, &response.warmup_tasks) {
            (Some(active), Some(standby), Some(warmup)) => {
                self.target = [active, standby, warmup].map(|list| tasks(list));
                let all: BTreeSet<_> = self.target.iter().flatten().collect();
                let count: usize = self.target.iter().map(BTreeSet::len).sum();
                assert_eq!(all.len(), count, "CR-41: {} has a task in two roles: {:?}", self.id, self.target);
                // It acknowledges also a target that it has already.
                self.tells = true;
            }
            (None, None, None) => {}
            lists => panic!("not all lists or none: {lists:?}"),
        }
    }

    /// Takes over and gives up tasks; tells so with its next heartbeat.
    pub(crate) fn reconcile(&mut self) {
        if self.owned != self.target {
            self.owned = self.target.clone();
            self.tells = true;
        }
    }

    pub(crate) fn rejoin(&mut self) {
        let fresh = Self::new(self.id.clone(), self.process.clone(), self.instance.clone(), self.kind);
        *self = Self { line: self.line, ..fresh };
    }
}

/// `0` reads `in` and writes `r`; `1` reads `r` and has state.
fn topology() -> Topology {
    let internal = |name: &str| vec![TopicInfo { name: Str::from(name), ..Default::default() }];
    let subtopologies = vec![
        Subtopology {
            subtopology_id: Str::from("0"),
            source_topics: vec![Str::from("in")],
            repartition_sink_topics: vec![Str::from("r")],
            ..Default::default()
        },
        Subtopology {
            subtopology_id: Str::from("1"),
            repartition_source_topics: internal("r"),
            state_changelog_topics: internal("c"),
            ..Default::default()
        },
    ];
    Topology { epoch: 0, subtopologies, ..Default::default() }
}

fn task_ids(tasks: &BTreeSet<Task>) -> Vec<TaskIds> {
    let mut lists: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (subtopology, partition) in tasks {
        lists.entry(subtopology).or_default().push(*partition);
    }
    let list = |(id, partitions): (&str, _)| TaskIds {
        subtopology_id: Str::from(id),
        partitions,
        ..Default::default()
    };
    lists.into_iter().map(list).collect()
}

fn task_offset((task, offset): (&Task, i64)) -> TaskOffset {
    TaskOffset { subtopology_id: Str::from(&*task.0), partition: task.1, offset, ..Default::default() }
}

fn tasks(lists: &[response::TaskIds]) -> BTreeSet<Task> {
    let tasks = |it: &response::TaskIds| {
        let id = it.subtopology_id.to_string();
        it.partitions.iter().map(move |partition| (id.clone(), *partition)).collect::<Vec<_>>()
    };
    lists.iter().flat_map(tasks).collect()
}
