//! `bench assign`: what the assignors of consumer groups take, in milliseconds of one thread, the least of several runs:
//! rows with a budget, how the time grows with the partitions and with the bytes that go in and come out, and with
//! `--full` the grid of Apache Kafka's own benchmark. `full` assigns to fresh members, `join` when one more member joins
//! the result of that. The input stands ready and the output is what the group keeps; what a group adds to that is
//! `--example target_cost` of the coordinator.

use std::hint::black_box;
use std::time::{Duration, Instant};

use coordinator::assign::{PartitionAssignor, PartitionSpec, Partitions, Subscriber, Topic};
use wire::{Str, Uuid};

use crate::options::Options;
use crate::report::{Report, Value, exponent};

/// Growth with the partitions, at most.
const EXPONENT_MAX: f64 = 1.15;
/// Runs of a case: small ones as many as take so long, as a core needs some time to get fast, and large ones fewer if
/// they take longer than that.
const RUNS: u32 = 15;
const RUNS_TIME_MIN: Duration = Duration::from_millis(20);
const RUNS_TIME_MAX: Duration = Duration::from_secs(2);
/// Turns of the cases of a growth, so that what else the machine does meets all of them.
const TURNS: u32 = 3;
/// What a topic takes in a target, as in its record: an id and a count of partitions. Members and topics themselves
/// count as much.
const TOPIC_BYTES: usize = 20;
const PARTITION_BYTES: usize = 4;
/// The largest buffer that glibc takes as a hint.
const KEPT_BYTES: usize = 31 << 20;
/// Sets of topics that no two members share in part.
const BUCKETS: u32 = 5;

#[derive(Debug, Clone, Copy)]
struct Case {
    assignor: PartitionAssignor,
    /// 1: all members subscribe to all topics.
    buckets: u32,
    members: u32,
    topics: u32,
    partitions_of_each: u32,
}

/// A case with its budgets for `full` and `join`.
const BUDGETS: [(Case, [f64; 2]); 4] = [
    (case(PartitionAssignor::Uniform, 1, 10_000, 1_000, 1_000), [30.0, 8.0]),
    (case(PartitionAssignor::Uniform, BUCKETS, 1_000, 100, 500), [8.0, 3.0]),
    (case(PartitionAssignor::Uniform, BUCKETS, 10_000, 1_000, 1_000), [200.0, 30.0]),
    (case(PartitionAssignor::Range, 1, 10_000, 1_000, 1_000), [30.0, 30.0]),
];

const fn case(
    assignor: PartitionAssignor,
    buckets: u32,
    members: u32,
    topics: u32,
    partitions_of_each: u32,
) -> Case {
    Case { assignor, buckets, members, topics, partitions_of_each }
}

impl Case {
    fn name(self) -> String {
        let subscriptions = if self.buckets == 1 { "one subscription" } else { "5 disjoint subscriptions" };
        format!("{}, {subscriptions}", self.assignor.name())
    }

    fn partitions(self) -> u32 {
        self.topics * self.partitions_of_each
    }

    fn values(self) -> Vec<(&'static str, Value)> {
        vec![
            ("members", self.members.into()),
            ("partitions", self.partitions().into()),
            ("topics", self.topics.into()),
        ]
    }
}

/// What members bring.
struct World {
    case: Case,
    /// One more than the case has.
    ids: Vec<Str>,
    topics: Vec<Topic>,
}

impl World {
    fn new(case: Case) -> Self {
        let topic = |number: u32| {
            let mut id = [0; 16];
            id.iter_mut().zip(number.to_be_bytes()).for_each(|(to, from)| *to = from);
            Topic { id: Uuid(id), partitions: case.partitions_of_each }
        };
        Self {
            case,
            ids: (0..=case.members).map(|it| Str::from(format!("member-{it:08}"))).collect(),
            topics: (0..case.topics).map(topic).collect(),
        }
    }

    fn spec<'a>(&'a self, targets: Option<&'a [Partitions]>) -> PartitionSpec<'a> {
        let mut spec = PartitionSpec::new(self.topics.clone());
        spec.homogeneous = self.case.buckets == 1;
        let joins = usize::from(targets.is_some());
        let members = self.ids.len() - 1 + joins;
        let places: Vec<_> = self.topics.iter().filter_map(|it| spec.place(it.id)).collect();
        let of = |bucket| places.iter().copied().skip(bucket).step_by(self.case.buckets as usize).collect();
        let subscriptions: Vec<_> =
            (0..self.case.buckets as usize).map(|bucket| spec.subscription(of(bucket))).collect();
        for ((number, id), subscription) in
            self.ids.iter().enumerate().zip(subscriptions.into_iter().cycle()).take(members)
        {
            let target = targets.and_then(|it| it.get(number));
            spec.add(Subscriber { id, instance: None, subscription, target });
        }
        spec
    }

    fn measure(&self) -> Measured {
        let assignor = self.case.assignor;
        let full = self.spec(None);
        let first = least(|| assignor.assign(&full));
        let targets: Vec<Partitions> = assignor.assign(&full).into_iter().map(|it| it.into_owned()).collect();
        let joined = self.spec(Some(&targets));
        let in_targets = |it: &Partitions| it.len() * TOPIC_BYTES + it.count() * PARTITION_BYTES;
        let size =
            (targets.len() + self.topics.len()) * TOPIC_BYTES + targets.iter().map(in_targets).sum::<usize>();
        Measured { full: first, join: least(|| assignor.assign(&joined)), size: size as f64 }
    }
}

/// Milliseconds.
#[derive(Debug, Clone, Copy)]
struct Measured {
    full: f64,
    join: f64,
    /// Bytes of what goes in and comes out: topics, members, and in each target the partitions and the topics that have
    /// some.
    size: f64,
}

impl Measured {
    /// Of two turns of the same case.
    fn least(self, other: Self) -> Self {
        Self { full: self.full.min(other.full), join: self.join.min(other.join), size: self.size }
    }
}

/// Milliseconds of the fastest run, without the time to drop what it gives.
fn least<T>(run: impl Fn() -> T) -> f64 {
    let (mut least, begin) = (Duration::MAX, Instant::now());
    for number in 1.. {
        let start = Instant::now();
        let result = black_box(run());
        least = least.min(start.elapsed());
        drop(result);
        let spent = begin.elapsed();
        if spent > RUNS_TIME_MAX || (number >= RUNS && spent > RUNS_TIME_MIN) {
            break;
        }
    }
    least.as_secs_f64() * 1e3
}

/// Lets glibc keep what is freed, as it does in a process that has freed a large buffer once. Otherwise what a run gave
/// back is fetched anew from the system by the next one, and only in the large cases.
fn keep_memory() {
    drop(black_box(vec![1_u8; KEPT_BYTES]));
}

fn grid() -> Vec<Case> {
    let mut grid = Vec::new();
    for assignor in PartitionAssignor::ALL {
        for buckets in [1, BUCKETS] {
            for members in [100, 1_000, 10_000] {
                for of_each_member in [5, 10, 50] {
                    for topics in [10, 100, 1_000] {
                        let each = (members * of_each_member / topics).max(1);
                        grid.push(case(assignor, buckets, members, topics, each));
                    }
                }
            }
        }
    }
    grid
}

/// How a group gets large.
#[derive(Debug, Clone, Copy)]
enum Growth {
    /// The partitions of its hundred topics.
    Partitions,
    /// Members too, one for a hundred partitions.
    Members,
    /// Topics, of a thousand partitions each, and members, one for a hundred partitions: the topics in the targets grow
    /// with topics × members, until each member has single partitions of its topics.
    Topics,
}

impl Growth {
    const ALL: [Self; 3] = [Self::Partitions, Self::Members, Self::Topics];

    fn name(self) -> &'static str {
        match self {
            Self::Partitions => "1000 members",
            Self::Members => "partitions/100 members",
            Self::Topics => "partitions/100 members, partitions/1000 topics",
        }
    }

    fn cases(self, assignor: PartitionAssignor, buckets: u32) -> Vec<Case> {
        let of = |members, topics, each| case(assignor, buckets, members, topics, each);
        match self {
            Self::Partitions => [10, 100, 1_000, 10_000].map(|each| of(1_000, 100, each)).to_vec(),
            Self::Members => [10, 100, 1_000, 10_000].map(|each| of(each, 100, each)).to_vec(),
            Self::Topics => [5, 20, 100, 500, 1_000].map(|topics| of(topics * 10, topics, 1_000)).to_vec(),
        }
    }
}

/// From a thousand partitions to a million.
fn growth(growth: Growth, assignor: PartitionAssignor, buckets: u32, report: &Report) {
    let worlds: Vec<_> = growth.cases(assignor, buckets).into_iter().map(World::new).collect();
    let mut all: Vec<(f64, Measured)> = Vec::new();
    for _ in 0..TURNS {
        for (number, world) in worlds.iter().enumerate() {
            let partitions = world.case.partitions();
            report.progress(&format!("growth of {}: {partitions} partitions", assignor.name()));
            let measured = world.measure();
            match all.get_mut(number) {
                Some((_, least)) => *least = least.least(measured),
                None => all.push((f64::from(partitions), measured)),
            }
        }
    }
    let of = |point: fn(&(f64, Measured)) -> (f64, f64)| exponent(&all.iter().map(point).collect::<Vec<_>>());
    let values = [
        ("grows", growth.name().into()),
        ("full_exponent", of(|(partitions, it)| (*partitions, it.full)).into()),
        ("join_exponent", of(|(partitions, it)| (*partitions, it.join)).into()),
        ("wanted_max", EXPONENT_MAX.into()),
        ("size_exponent", of(|(partitions, it)| (*partitions, it.size)).into()),
        ("full_exponent_by_size", of(|(_, it)| (it.size, it.full)).into()),
        ("join_exponent_by_size", of(|(_, it)| (it.size, it.join)).into()),
    ];
    report.row(&format!("growth of {}", case(assignor, buckets, 0, 0, 0).name()), &values);
}

/// Measures and prints.
///
/// # Errors
/// None; the others have some.
pub fn run(options: &Options) -> Result<(), String> {
    let report = Report::new(options.json);
    keep_memory();
    for (case, [full_max, join_max]) in BUDGETS {
        report.progress(&case.name());
        let Measured { full, join, .. } = World::new(case).measure();
        let mut values = case.values();
        values.extend([
            ("full_ms", full.into()),
            ("wanted_max", full_max.into()),
            ("join_ms", join.into()),
            ("join_wanted_max", join_max.into()),
        ]);
        report.row(&case.name(), &values);
    }
    for assignor in PartitionAssignor::ALL {
        for buckets in [1, BUCKETS] {
            for how in Growth::ALL {
                growth(how, assignor, buckets, &report);
            }
        }
    }
    if options.full {
        for case in grid() {
            report.progress(&case.name());
            let Measured { full, join, .. } = World::new(case).measure();
            let mut values = case.values();
            values.extend([("full_ms", full.into()), ("join_ms", join.into())]);
            report.row(&case.name(), &values);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_partitions_are_assigned() {
        for assignor in PartitionAssignor::ALL {
            for buckets in [1, BUCKETS] {
                let world = World::new(case(assignor, buckets, 20, 10, 7));
                let owned = |targets: &[Partitions]| -> usize { targets.iter().map(Partitions::count).sum() };
                let first: Vec<_> =
                    assignor.assign(&world.spec(None)).into_iter().map(|it| it.into_owned()).collect();
                assert_eq!((first.len(), owned(&first)), (20, 70));
                let joined = assignor.assign(&world.spec(Some(&first)));
                let joined: Vec<_> = joined.into_iter().map(|it| it.into_owned()).collect();
                assert_eq!((joined.len(), owned(&joined)), (21, 70));
            }
        }
    }
}
